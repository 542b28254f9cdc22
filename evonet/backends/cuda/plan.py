"""The cost model: which kernel evaluates a workload, with how many threads.

Every way to launch is priced, and the cheapest taken. A price is the time in cycles in which one
multiprocessor could finish its part of the work, whichever of three things it runs out of first:

  issue    instructions of all its warps, four per cycle
  shared   accesses to shared memory, 128 bytes per cycle
  latency  the waits of one team after the other, as many at a time as fit

A team is the threads that evaluate one genome on one tile of samples. The constants are counted in
the SASS of the kernels, docs/gpu.md has the table; latencies are rounded from public measurements.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import numpy as np

from evonet.backends.cuda.workload import DeviceLimits, Workload
from evonet.errors import DeviceError, check_option
from evonet.functions import LOSSES

__all__ = ["DeviceLimits", "LaunchPlan", "Workload", "plan_forward", "plan_loss"]

MAPPINGS: Final = ("auto", "levels", "samples")

WARP: Final = 32
CHUNK: Final = 512  # bytes of links that a warp of forward_samples stages
SYSTEM_SHARED: Final = 1024  # bytes of each block that CUDA takes for itself
NARROW_THREADS: Final = 128  # of a block of forward_levels that holds several teams
MOST_TEAM: Final = 512
MOST_TILE: Final = 32
MOST_TEAMS: Final = 2**31 - 2**20  # kernels count them in 32 bits

# Warp instructions, by the SASS of sm_86.
LINK, LINK_MORE = 3, 1  # a link of one sample, and of each more that a thread has
NODE, ACTIVATION = 30, 30
INPUT, OUTPUT = 8, 10
# Cycles.
LINK_WAIT, NODE_WAIT, BARRIER_WAIT, TEAM_WAIT = 12, 250, 40, 2000
GLOBAL_WAIT = 10  # times as long for values in global memory


@dataclasses.dataclass(frozen=True)
class LaunchPlan:
    """One launch of a kernel, all but its arguments.

    Attributes:
        kernel: Name of the .cu file and of its entry point.
        mapping: "levels", "samples" or, of a sum of losses, "loss".
        defines: What the kernel is compiled with.
        grid: Blocks.
        block: Threads of a block.
        shared_mem: Bytes of dynamic shared memory of a block.
        scratch_nbytes: Bytes of global memory to lend it.
        team_size: Threads that share a genome and a tile.
        tile: Samples that a team evaluates at a time.
        team_values: Numbers that a team keeps.
        cycles: The price.
    """

    kernel: str
    mapping: str
    defines: Mapping[str, int | str]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_mem: int
    scratch_nbytes: int
    team_size: int
    tile: int
    team_values: int
    cycles: float


def option_sets() -> list[tuple[str, dict[str, int | str]]]:
    """Every kernel with every set of defines that a plan may ask for."""
    sets: list[tuple[str, dict[str, int | str]]] = []
    for real, vectors in (("float", (4, 2, 1)), ("double", (2, 1))):
        sets += [
            ("forward_samples", {"REAL": real, "GLOBAL_VALUES": 0, "VECTOR": vector})
            for vector in vectors
        ]
        sets.append(("forward_samples", {"REAL": real, "GLOBAL_VALUES": 1, "VECTOR": vectors[0]}))
        sets += [
            ("forward_levels", {"REAL": real, "GLOBAL_VALUES": in_global, "WIDE_TEAM": wide})
            for in_global, wide in ((0, 0), (0, 1), (1, 1))
        ]
        sets += [("loss", {"REAL": real, "LOSS": loss}) for loss in range(len(LOSSES))]
    return sets


@functools.lru_cache(maxsize=1024)
def plan_forward(
    work: Workload,
    limits: DeviceLimits,
    mapping: Literal["auto", "levels", "samples"] = "auto",
) -> LaunchPlan:
    """Chooses the cheapest launch for a workload that is not empty.

    Raises:
        OptionError: There is no such mapping.
        DeviceError: The workload is too large for one launch.
    """
    best = min(candidate_plans(work, limits, mapping), key=lambda plan: plan.cycles)
    if max(work.num_genomes * -(-work.num_samples // best.tile), work.num_samples) > MOST_TEAMS:
        raise DeviceError(
            f"{work.num_genomes} genomes on {work.num_samples} samples are too much for one launch "
            f"of {best.kernel}. Evaluate the samples in parts."
        )
    return best


def plan_loss(work: Workload, limits: DeviceLimits, loss: int) -> LaunchPlan:
    """Lays out the sum of losses: a warp per genome, whatever the GPU.

    Args:
        work: What `plan_forward` was asked for; its outputs are there already.
        limits: The GPU.
        loss: A position in `evonet.functions.LOSSES`.
    """
    warps = 4
    return LaunchPlan(
        kernel="loss",
        mapping="loss",
        defines={"REAL": _real(work.dtype), "LOSS": loss},
        grid=(-(-work.num_genomes // warps),),
        block=(WARP * warps,),
        shared_mem=0,
        scratch_nbytes=0,
        team_size=WARP,
        tile=WARP,
        team_values=0,
        cycles=0.0,
    )


def candidate_plans(work: Workload, limits: DeviceLimits, mapping: str) -> list[LaunchPlan]:
    """All launches that could do a workload; any of them gives the same bits.

    Raises:
        OptionError: There is no such mapping.
    """
    check_option("mapping", mapping, MAPPINGS)
    return [
        plan
        for name, candidates in (("samples", _samples_plans), ("levels", _levels_plans))
        if mapping in ("auto", name)
        for plan in candidates(work, limits)
    ]


def _samples_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    size = work.dtype.itemsize
    widest = 16 // size
    for vector in (4, 2, 1) if size == 4 else (2, 1):
        values = _whole_chunks(work.max_slots * WARP * vector, size)
        if CHUNK + values * size <= limits.shared_per_block_optin:
            yield _plan_samples(work, limits, vector, values, in_global=False)
    if CHUNK + work.max_slots * WARP * size > limits.shared_per_block_optin:
        values = work.max_slots * WARP * widest
        yield _plan_samples(work, limits, widest, values, in_global=True)


def _real(dtype: np.dtype[Any]) -> str:
    return "float" if dtype == np.float32 else "double"


def _whole_chunks(values: int, size: int) -> int:
    """Chunks of links must start at a multiple of their size, for every warp."""
    return -(-values * size // CHUNK) * CHUNK // size


def _plan_samples(
    work: Workload, limits: DeviceLimits, vector: int, values: int, *, in_global: bool
) -> LaunchPlan:
    tile = WARP * vector
    num_teams = work.num_genomes * -(-work.num_samples // tile)
    team_shared = CHUNK + (0 if in_global else values * work.dtype.itemsize)
    block_warps = max(1, min(4, limits.shared_per_block_optin // 2 // team_shared))
    resident = _resident_blocks(limits, WARP * block_warps, team_shared * block_warps) * block_warps
    per_genome = 1 / work.num_genomes
    links, nodes = work.num_edges * per_genome, work.num_nodes * per_genome
    issue = (
        links * (LINK + LINK_MORE * vector)
        + nodes * (NODE + ACTIVATION * vector)
        + (work.num_inputs * INPUT + work.num_outputs * OUTPUT) * vector
    )
    shared = links * (vector + 0.5)
    wait = (links * LINK_WAIT + nodes * NODE_WAIT) * (GLOBAL_WAIT if in_global else 1) + TEAM_WAIT
    return _finish(
        work,
        limits,
        mapping="samples",
        defines={"VECTOR": vector},
        teams_per_block=block_warps,
        team_size=WARP,
        tile=tile,
        num_teams=num_teams,
        team_values=values,
        team_shared=team_shared,
        in_global=in_global,
        resident=resident,
        issue=issue,
        shared=shared,
        wait=wait,
    )


def _levels_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    found = False
    tile = 1
    while tile <= MOST_TILE and (tile == 1 or tile < 2 * work.num_samples):
        values = work.max_slots * tile
        if values * work.dtype.itemsize <= limits.shared_per_block_optin:
            found = True
            for team in _team_sizes(work, tile):
                yield _plan_levels(work, limits, team, tile, in_global=False)
        tile *= 2
    if not found:
        for tile in (1, 8, 32):
            if tile == 1 or tile < 2 * work.num_samples:
                yield _plan_levels(work, limits, MOST_TEAM, tile, in_global=True)


def _team_sizes(work: Workload, tile: int) -> Iterator[int]:
    team = max(8, tile)
    while team <= MOST_TEAM:
        yield team
        if team >= work.max_level_width * tile:
            return
        team *= 2


def _plan_levels(
    work: Workload, limits: DeviceLimits, team: int, tile: int, *, in_global: bool
) -> LaunchPlan:
    size = work.dtype.itemsize
    values = work.max_slots * tile
    if team < WARP:
        # Teams of a warp should find their values in different banks.
        values += (tile - values) % WARP
    num_teams = work.num_genomes * -(-work.num_samples // tile)
    team_shared = 0 if in_global else values * size
    wide = team > WARP
    fitting = limits.shared_per_block_optin // max(team_shared, 1)
    teams_per_block = 1 if wide else max(1, min(NARROW_THREADS // team, fitting))
    resident = teams_per_block * _resident_blocks(
        limits, team * teams_per_block, team_shared * teams_per_block
    )
    per_genome = 1 / work.num_genomes
    links, nodes, levels = (
        count * per_genome for count in (work.num_edges, work.num_nodes, work.num_levels)
    )
    warps = team / WARP
    rounds = max(levels, nodes * tile / team)  # of a team over a level, all levels together
    links_per_node = links / max(nodes, 1)
    round_issue = NODE + ACTIVATION + links_per_node * (LINK + LINK_MORE)
    copies = (work.num_inputs * INPUT + work.num_outputs * OUTPUT) * tile / WARP
    issue = rounds * warps * round_issue + copies
    shared = rounds * warps * links_per_node * 1.5
    wait = (
        rounds * (NODE_WAIT + links_per_node * 4 * LINK_WAIT) * (GLOBAL_WAIT if in_global else 1)
        + levels * BARRIER_WAIT
        + TEAM_WAIT
    )
    return _finish(
        work,
        limits,
        mapping="levels",
        defines={"WIDE_TEAM": int(wide)},
        teams_per_block=teams_per_block,
        team_size=team,
        tile=tile,
        num_teams=num_teams,
        team_values=values,
        team_shared=team_shared,
        in_global=in_global,
        resident=resident,
        issue=issue,
        shared=shared,
        wait=wait,
    )


def _resident_blocks(limits: DeviceLimits, threads: int, shared: int) -> int:
    return max(
        1,
        min(
            limits.max_blocks_per_sm,
            limits.max_threads_per_sm // threads,
            limits.shared_per_sm // (shared + SYSTEM_SHARED),
        ),
    )


def _finish(
    work: Workload,
    limits: DeviceLimits,
    *,
    mapping: str,
    defines: dict[str, int | str],
    teams_per_block: int,
    team_size: int,
    tile: int,
    num_teams: int,
    team_values: int,
    team_shared: int,
    in_global: bool,
    resident: int,
    issue: float,
    shared: float,
    wait: float,
) -> LaunchPlan:
    blocks = -(-num_teams // teams_per_block)
    if in_global:  # Teams take turns, so that they need memory only once.
        blocks = min(blocks, limits.num_sms * -(-resident // teams_per_block))
    teams_per_sm = -(-num_teams // limits.num_sms)
    return LaunchPlan(
        kernel=f"forward_{mapping}",
        mapping=mapping,
        defines={
            "REAL": _real(work.dtype),
            "GLOBAL_VALUES": int(in_global),
            **defines,
        },
        grid=(blocks,),
        block=(team_size * teams_per_block,),
        shared_mem=team_shared * teams_per_block,
        scratch_nbytes=in_global * blocks * teams_per_block * team_values * work.dtype.itemsize,
        team_size=team_size,
        tile=tile,
        team_values=team_values,
        cycles=max(
            teams_per_sm * issue / 4, teams_per_sm * shared, -(-teams_per_sm // resident) * wait
        ),
    )
