"""The cost model: how many cycles a launch takes, so that `plan` can choose the cheapest.

`Workload` is what a launch has to do, `DeviceLimits` what a GPU can. A team is the threads that
evaluate one genome on one tile of samples. Its work is counted in five currencies, and a launch
costs what the scarcest of them costs, plus a tenth of the sum, because they overlap but not quite:

  issue    instructions of its warps; a multiprocessor issues four per cycle
  shared   cycles of shared memory and the first-level cache, which are one; 128 bytes in each
  fetch    bytes that come from farther away; teams of a block that share a genome fetch it once
  doubles  float64 instructions, of which most GPUs do few
  wait     cycles that the team needs if it is alone; other teams fill them, as many as fit

Instructions were counted in the SASS of sm_86 (`python -m benchmarks.cuda_cost` prints them), with
sigmoid for the activation; waits are rounded from public measurements of latencies.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.census import Census, take_census
from evonet.backends.cuda.compiler import custom_functions
from evonet.backends.cuda.limits import DeviceLimits

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.schedule.schedule import Schedule

WARP: Final = 32
SYSTEM_SHARED: Final = 1024  # bytes of each block that CUDA takes for itself

# Instructions of a warp: a link, and more for each sample that a thread has; a node likewise.
SAMPLES_LINK, SAMPLES_LINK_SAMPLE = 3.25, 1.0
LEVELS_LINK: Final = 5.0
NODE, NODE_SAMPLE = 50.0, 30.0
COPY: Final = 7.0  # an input or output of one sample
DOUBLE: Final = 2.0  # float64 takes about twice the instructions
NODE_DOUBLES: Final = 60.0  # of them arithmetic, in one node

# Cycles of waiting, beside issuing.
SAMPLES_LINK_WAIT, LEVELS_LINK_WAIT = 15.0, 35.0
SAMPLES_NODE_WAIT, LEVELS_NODE_WAIT = 150.0, 450.0
BARRIER_WAIT, TEAM_WAIT = 40.0, 1500.0
GLOBAL_LINK_WAIT: Final = 100.0  # if values are in global memory
LAUNCH: Final = 3000.0  # from one launch of a graph to the next
STAGED_UNITS: Final = 512  # bytes of shared memory that a warp of forward_wide has
ONLY_CACHE: Final = 28 << 10  # bytes of the first-level cache that cannot be shared memory
FETCHED: Final = 24.0  # bytes that reach a multiprocessor from the second-level cache in a cycle

# Float64 instructions that a multiprocessor does in a cycle, times threads; others do 2.
DOUBLES_PER_CYCLE = {"sm_80": 32, "sm_90": 64, "sm_100": 64}


@dataclasses.dataclass(frozen=True)
class Workload:
    """The sizes of some genomes and their samples."""

    num_genomes: int  # P
    num_inputs: int  # I
    num_outputs: int  # O
    num_samples: int  # B
    shared_x: bool  # whether all genomes see the same samples, [B, I] and not [P, B, I]
    dtype: np.dtype[Any]  # float32 or float64
    num_nodes: int  # live nodes of all genomes
    num_edges: int  # their links
    num_levels: int  # levels of all genomes
    max_slots: int  # slots of the largest genome: inputs, live nodes and the states of these
    max_level_width: int  # nodes of the widest level
    has_memory: bool = False  # whether nodes have states
    functions: str = ""  # the custom functions that a kernel must know; see `custom_functions`
    num_steps: int = 1  # T, of one call of networks with memory

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        begin: int,
        end: int,
        num_samples: int,
        shared_x: bool,
        census: Census | None = None,
    ) -> Workload:
        """Measures the genomes [begin, end) of a schedule, unless a census has counted them."""
        s = schedule
        counted = take_census(s, begin, end) if census is None else census
        first, last = int(s.node_start[begin]), int(s.node_start[end])
        return cls(
            num_genomes=end - begin,
            num_inputs=s.num_inputs,
            num_outputs=s.num_outputs,
            num_samples=num_samples,
            shared_x=shared_x,
            dtype=s.dtype,
            num_nodes=last - first,
            num_edges=int(s.edge_start[last] - s.edge_start[first]),
            num_levels=int(s.level_start[end] - s.level_start[begin]),
            max_slots=max(counted.max_slots, s.num_inputs),
            max_level_width=counted.max_level_width,
            has_memory=s.dynamics.has_memory,
            functions=custom_functions(s),
            num_steps=s.dynamics.steps,
        )


@dataclasses.dataclass(frozen=True)
class RolloutWorkload:
    """The sizes of some genomes and the episodes that they play."""

    control: str  # name of the task
    num_genomes: int  # K
    num_episodes: int  # E, of each
    max_slots: int  # slots of the largest genome: inputs, live nodes and the states of these
    dtype: np.dtype[Any]  # float32 or float64
    has_memory: bool = False  # whether nodes have states
    functions: str = ""  # the custom functions that the kernel must know; see `custom_functions`

    @classmethod
    def of(
        cls, schedule: Schedule, episodes: Episodes, genomes: npt.NDArray[np.int64]
    ) -> RolloutWorkload:
        """Measures the genomes that play, at least one."""
        return cls(
            control=episodes.control,
            num_genomes=len(genomes),
            num_episodes=episodes.count,
            max_slots=int(schedule.num_slots[genomes].max()),
            dtype=schedule.dtype,
            has_memory=schedule.dynamics.has_memory,
            functions=custom_functions(schedule),
        )


@dataclasses.dataclass(frozen=True)
class TeamWork:
    """The work of one team, in the five currencies."""

    issue: float
    shared: float
    fetch: float
    doubles: float
    wait: float


def samples_work(work: Workload, vector: int, *, in_global: bool) -> TeamWork:
    """A warp of forward_samples: a genome of average size on 32 * vector samples."""
    links, nodes = work.num_edges / work.num_genomes, work.num_nodes / work.num_genomes
    scale = _scale(work)
    link = (SAMPLES_LINK + SAMPLES_LINK_SAMPLE * vector) * scale
    node = NODE + NODE_SAMPLE * vector * scale
    copies = (work.num_inputs + work.num_outputs) * COPY * vector
    row = vector * work.dtype.itemsize / 4  # cycles of shared memory for the values of a link
    link_wait = GLOBAL_LINK_WAIT if in_global else SAMPLES_LINK_WAIT
    return TeamWork(
        issue=links * link + nodes * node + copies,
        shared=links * (row * 128 / FETCHED if in_global else row + 0.5),
        fetch=_genome_bytes(work, links, nodes),
        doubles=_doubles(work, links, nodes) * vector,
        wait=links * (link_wait + link) + nodes * (SAMPLES_NODE_WAIT + node) + copies + TEAM_WAIT,
    )


def levels_work(work: Workload, team: int, tile: int, *, in_global: bool) -> TeamWork:
    """A team of forward_levels: a genome of average size on a tile of samples."""
    links, nodes = work.num_edges / work.num_genomes, work.num_nodes / work.num_genomes
    levels = work.num_levels / work.num_genomes
    scale = _scale(work)
    warps = max(1.0, team / WARP)
    # The team goes over every level, as often as its threads need for all nodes.
    rounds = levels * math.ceil(nodes / max(levels, 1.0) * tile / team)
    links_per_node = links / max(nodes, 1.0)
    node = NODE + (NODE_SAMPLE + links_per_node * LEVELS_LINK) * scale
    copies = (work.num_inputs + work.num_outputs) * tile / team
    link_wait = GLOBAL_LINK_WAIT if in_global else LEVELS_LINK_WAIT
    busy = min(1.0, team / WARP)  # teams of a warp share its instructions
    size = work.dtype.itemsize / 4
    accesses = rounds * warps * links_per_node * size * busy
    value = 128 / FETCHED if in_global else 1.0  # cycles of a warp's access to its values
    link = max(0.5, 4.0 / tile)  # and of one to links of 32 / tile nodes, two at a time
    return TeamWork(
        issue=(rounds * node + copies * COPY) * warps * busy,
        shared=accesses * (value + link),
        fetch=_genome_bytes(work, links, nodes),
        doubles=_doubles(work, links_per_node, 1.0) * rounds * warps * busy,
        wait=rounds * (LEVELS_NODE_WAIT + links_per_node * link_wait + node)
        + levels * BARRIER_WAIT
        + copies * 2 * COPY
        + TEAM_WAIT,
    )


def wide_cycles(
    work: Workload,
    vector: int,
    warps: int,
    strip: int,
    columns: int,
    resident: int,
    limits: DeviceLimits,
) -> float:
    """All launches of forward_wide: every level of an average genome, for all samples.

    A multiprocessor holds `resident` blocks at a time. Each warp of a block has a strip of nodes,
    and all have the same 32 * vector samples.
    """
    levels = max(work.num_levels / work.num_genomes, 1.0)
    width, links_per_node = work.num_nodes / work.num_genomes / levels, 0.0
    if work.num_nodes:
        links_per_node = work.num_edges / work.num_nodes
    nodes = max(min(strip, width), 1.0)
    links = nodes * links_per_node
    scale = _scale(work)
    link = (SAMPLES_LINK + SAMPLES_LINK_SAMPLE * vector) * scale
    node = NODE + NODE_SAMPLE * vector * scale
    row = WARP * vector * work.dtype.itemsize  # bytes
    # Rows that a block's warps read several times come from afar once, as far as the first-level
    # cache holds those of all blocks; it shares its memory with shared memory.
    sources = min(links * warps, max(work.max_level_width, work.num_inputs))
    cache = limits.shared_per_sm + ONLY_CACHE - resident * warps * STAGED_UNITS
    held = min(1.0, cache / max(resident * sources * row, 1.0))
    fetched = held * sources / warps + (1 - held) * links
    team = TeamWork(
        issue=links * link + nodes * node,
        shared=links * (row / 128 + 0.5),
        fetch=fetched * row + nodes * row + _genome_bytes(work, links, nodes),
        doubles=_doubles(work, links, nodes) * vector,
        wait=links * (SAMPLES_LINK_WAIT + link) + nodes * (SAMPLES_NODE_WAIT + node) + TEAM_WAIT,
    )
    teams = work.num_genomes * math.ceil(width / strip) * (columns // (WARP * vector))
    pieces = -(-work.num_samples // columns)
    copies = (
        COPY
        * (work.num_inputs + work.num_outputs)
        * work.num_genomes
        * work.num_samples
        / (WARP * limits.num_sms)
    )
    level = launch_cycles(team, teams, resident * warps, 1, limits) + LAUNCH
    return pieces * levels * level * work.num_steps + copies


def resident_blocks(limits: DeviceLimits, threads: int, registers: int, shared: int) -> int:
    """Blocks that a multiprocessor holds at a time."""
    return max(
        1,
        min(
            limits.max_blocks_per_sm,
            limits.max_threads_per_sm // threads,
            limits.registers_per_sm // (registers * max(threads, WARP)),
            limits.shared_per_sm // (shared + SYSTEM_SHARED),
        ),
    )


def launch_cycles(
    team: TeamWork, num_teams: int, resident_teams: int, sharing: int, limits: DeviceLimits
) -> float:
    """Cycles until all teams are done.

    A multiprocessor holds `resident_teams` at a time; `sharing` teams of a block share a genome.
    """
    teams = -(-num_teams // limits.num_sms)
    doubles_per_cycle = DOUBLES_PER_CYCLE.get(limits.arch, 2)
    costs = (
        teams * team.issue / 4,
        teams * team.shared,
        teams * team.fetch / sharing / FETCHED,
        teams * team.doubles * WARP / doubles_per_cycle,
        -(-teams // resident_teams) * team.wait,
    )
    return max(costs) + 0.1 * sum(costs)


def _genome_bytes(work: Workload, links: float, nodes: float) -> float:
    return (2 * links + 4 * nodes) * work.dtype.itemsize


def _scale(work: Workload) -> float:
    return 1.0 if work.dtype.itemsize == 4 else DOUBLE


def _doubles(work: Workload, links: float, nodes: float) -> float:
    return 0.0 if work.dtype.itemsize == 4 else 2 * links + NODE_DOUBLES * nodes
