"""Which kernel evaluates a workload, with how many threads: the cheapest of all launches.

`price` tells what a launch costs. Whatever is chosen, the bits are the same.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import numpy as np

from evonet.backends.cuda.custom_functions import macro_of
from evonet.backends.cuda.price import (
    WARP,
    TeamWork,
    levels_work,
    price,
    resident_blocks,
    samples_work,
)
from evonet.backends.cuda.workload import DeviceLimits, Workload
from evonet.definitions.controls import CONTROLS
from evonet.errors import DeviceError, check_option
from evonet.functions.registry import LOSSES

__all__ = ["DeviceLimits", "LaunchPlan", "Workload", "plan_forward", "plan_loss"]

MAPPINGS: Final = ("auto", "levels", "samples")

# What the kernels are made for.
CHUNK: Final = 512  # bytes of units that a warp of forward_samples stages
STATIC_SHARED: Final = 64  # bytes that a kernel may declare beside
BLOCK: Final = 128  # threads of a block that holds several teams
LEAST_TEAM, MOST_TEAM = 8, 512
MOST_TILE: Final = 32
MOST_TEAMS: Final = 2**31 - 2**20  # kernels count them in 32 bits
VECTORS: Final = {4: (4, 2, 1), 8: (2, 1)}  # samples per thread, by bytes of a number


@dataclasses.dataclass(frozen=True)
class LaunchPlan:
    """One launch of a kernel, all but its arguments.

    Attributes:
        kernel: Name of the .cu file and of its entry point.
        mapping: "levels", "samples" or, of a sum of losses, "loss"; of episodes, "rollout".
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
    for real, vectors in (("float", VECTORS[4]), ("double", VECTORS[8])):
        sets += [("loss", {"REAL": real, "LOSS": loss}) for loss in range(len(LOSSES))]
        for memory in (0, 1):
            every: dict[str, int | str] = {"REAL": real, "MEMORY": memory}
            sets += [
                ("forward_samples", {**every, "GLOBAL_VALUES": in_global, "VECTOR": vector})
                for in_global, vector in (*((0, vector) for vector in vectors), (1, vectors[0]))
            ]
            sets += [
                ("forward_levels", {**every, "GLOBAL_VALUES": in_global, "WIDE_TEAM": wide})
                for in_global, wide in ((0, 0), (0, 1), (1, 1))
            ]
            sets += [
                ("rollout", {**every, "GLOBAL_VALUES": in_global, "CONTROL": control.name})
                for control in CONTROLS
                for in_global in (0, 1)
            ]
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
    plans = candidate_plans(work, limits, mapping)
    if not plans:
        raise DeviceError(
            f"{work.num_genomes} genomes on {work.num_samples} samples are too much for one "
            "launch. Evaluate the samples in parts."
        )
    return min(plans, key=lambda plan: plan.cycles)


def plan_loss(work: Workload, limits: DeviceLimits, loss: int) -> LaunchPlan:
    """Lays out the sum of losses: a warp per genome, whatever the GPU.

    Args:
        work: What `plan_forward` was asked for; its outputs are there already.
        limits: The GPU.
        loss: A position in `evonet.functions.registry.LOSSES`.
    """
    return LaunchPlan(
        kernel="loss",
        mapping="loss",
        defines={"REAL": real_name(work.dtype), "LOSS": loss},
        grid=(-(-work.num_genomes * WARP // BLOCK),),
        block=(BLOCK,),
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
    dynamic = limits.shared_per_block_optin - STATIC_SHARED
    limits = dataclasses.replace(limits, shared_per_block_optin=dynamic)
    return [
        plan
        for name, candidates in (("samples", _samples_plans), ("levels", _levels_plans))
        if mapping in ("auto", name)
        for plan in candidates(work, limits)
        if max(work.num_genomes * -(-work.num_samples // plan.tile), work.num_samples) <= MOST_TEAMS
    ]


def _samples_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    size = work.dtype.itemsize
    fits = False
    for vector in VECTORS[size]:
        row = WARP * vector
        # Chunks start at a multiple of their size, for every warp.
        values = -(-work.max_slots * row * size // CHUNK) * CHUNK // size
        team_shared = CHUNK + values * size
        if team_shared > limits.shared_per_block_optin and (fits or vector > 1):
            continue
        in_global = team_shared > limits.shared_per_block_optin
        fits = not in_global
        if in_global:
            vector, row = VECTORS[size][0], WARP * VECTORS[size][0]
            values, team_shared = work.max_slots * row, CHUNK
        yield _plan(
            work,
            limits,
            samples_work(work, vector, in_global=in_global),
            mapping="samples",
            defines={"VECTOR": vector},
            in_global=in_global,
            most_teams=BLOCK // WARP,
            team_size=WARP,
            tile=row,
            team_values=values,
            team_shared=team_shared,
            registers=96 if work.has_memory else 64 if size == 8 or in_global else 48,
        )


def _levels_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    size = work.dtype.itemsize
    in_global = work.max_slots * size > limits.shared_per_block_optin
    tile = 1
    while tile <= MOST_TILE and tile < 2 * work.num_samples:
        sizes = (MOST_TEAM,) if in_global else _team_sizes(work, tile)
        for team in sizes:
            values = work.max_slots * tile
            if not in_global and values * size > limits.shared_per_block_optin:
                continue
            # Teams of a warp should find their values in different banks.
            padding = (tile - values) % WARP if team < WARP else 0
            if (values + padding) * size <= limits.shared_per_block_optin:
                values += padding
            team_shared = 0 if in_global else values * size
            wide = team > WARP
            yield _plan(
                work,
                limits,
                levels_work(work, team, tile, in_global=in_global),
                mapping="levels",
                defines={"WIDE_TEAM": int(wide)},
                in_global=in_global,
                most_teams=1 if wide else BLOCK // team,
                team_size=team,
                tile=tile,
                team_values=values,
                team_shared=team_shared,
                registers=128 if in_global else 64,
            )
        tile *= 2


def _team_sizes(work: Workload, tile: int) -> Iterator[int]:
    """From the smallest to the one that has a thread for all of the widest level."""
    team = max(LEAST_TEAM, tile)
    while team <= MOST_TEAM:
        yield team
        if team >= work.max_level_width * tile:
            return
        team *= 2


def _plan(
    work: Workload,
    limits: DeviceLimits,
    team_work: TeamWork,
    *,
    mapping: str,
    defines: dict[str, int | str],
    in_global: bool,
    most_teams: int,
    team_size: int,
    tile: int,
    team_values: int,
    team_shared: int,
    registers: int,
) -> LaunchPlan:
    num_tiles = -(-work.num_samples // tile)
    num_teams = work.num_genomes * num_tiles
    # As many teams in a block as keep most of them in flight.
    resident, teams_per_block = max(
        (resident_blocks(limits, team_size * teams, registers, team_shared * teams) * teams, teams)
        for teams in powers_of_2(most_teams)
        if teams == 1 or team_shared * teams <= limits.shared_per_block_optin
    )
    blocks = -(-num_teams // teams_per_block)
    scratch = 0
    if in_global:  # Teams take turns, so that they need memory only once.
        blocks = min(blocks, limits.num_sms * (resident // teams_per_block))
        scratch = blocks * teams_per_block * team_values * work.dtype.itemsize
    return LaunchPlan(
        kernel=f"forward_{mapping}",
        mapping=mapping,
        defines={
            "REAL": real_name(work.dtype),
            "MEMORY": int(work.has_memory),
            "GLOBAL_VALUES": int(in_global),
            **defines,
            **macro_of(work.functions),
        },
        grid=(blocks,),
        block=(team_size * teams_per_block,),
        shared_mem=team_shared * teams_per_block,
        scratch_nbytes=scratch,
        team_size=team_size,
        tile=tile,
        team_values=team_values,
        cycles=price(team_work, num_teams, resident, min(num_tiles, teams_per_block), limits),
    )


def powers_of_2(most: int) -> Iterator[int]:
    """1, 2, 4, ..., none above the most."""
    power = 1
    while power <= most:
        yield power
        power *= 2


def real_name(dtype: np.dtype[Any]) -> str:
    """What C calls float32 or float64."""
    return "float" if dtype == np.float32 else "double"
