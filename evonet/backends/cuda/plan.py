"""Launch plans: which kernel runs a workload, with how many threads and how much memory.

A forward pass takes the cheapest of all launches that could do it, by the cost model. A loss takes
a warp per genome, and a rollout a thread per episode. Whatever is chosen, the bits are the same.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Final

from evonet.backends.base import Episodes
from evonet.backends.cuda.compiler import functions_define
from evonet.backends.cuda.cost import (
    FETCHED,
    LEVELS_LINK_WAIT,
    WARP,
    RolloutWorkload,
    TeamWork,
    Workload,
    launch_cycles,
    levels_work,
    resident_blocks,
    samples_work,
    wide_cycles,
)
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.layout import real_name
from evonet.backends.cuda.limits import DeviceLimits
from evonet.definitions.backends import MAPPINGS, Mapping
from evonet.definitions.controls import CONTROLS
from evonet.errors import DeviceError, check_option
from evonet.functions.registry import LOSSES

# What the kernels are made for.
STAGED: Final = 512  # bytes of units that a warp of forward_samples keeps in shared memory
STATIC_SHARED: Final = 64  # bytes of shared memory that a kernel may declare itself
BLOCK: Final = 128  # threads of a block that holds several teams
LEAST_TEAM, MOST_TEAM = 8, 512
MOST_TILE: Final = 32
MOST_TEAMS: Final = 2**31 - 2**20  # kernels count them in 32 bits
VECTORS: Final = {4: (4, 2, 1), 8: (2, 1)}  # samples per thread, by bytes of a number
WIDE_WARPS: Final = {4: (8, 16, 32), 8: (8, 16)}  # of a block of forward_wide, for each of VECTORS
WIDE_REGISTERS: Final = {4: 80, 8: 104}  # of a thread, by bytes of a number
GRID_COPIES: Final = ("grid_inputs", "grid_outputs", "grid_compact")
MOST_STRIP: Final = 64  # nodes of a warp of forward_wide
MOST_COLUMNS: Final = 2**20  # samples of a piece: rows of values have offsets of 32 bits
CACHED: Final = 32 << 20  # bytes of values that stay in the second-level cache of large GPUs
MOST_THREADS: Final = 2**30  # of a rollout: the kernel counts them in 32 bits and looks one ahead
# Registers of a thread of a rollout, by bytes of a number and whether nodes have states.
ROLLOUT_REGISTERS: Final = {(4, False): 64, (4, True): 168, (8, False): 128, (8, True): 255}
WAVES: Final = 4  # of a rollout's threads, so that multiprocessors that end early find more to do


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
        sets += [
            ("forward_wide", {"REAL": real, "GLOBAL_VALUES": 1, "VECTOR": v, "WARPS": w})
            for v, w in zip(vectors, WIDE_WARPS[4 if real == "float" else 8], strict=True)
        ]
        sets += [(kernel, {"REAL": real}) for kernel in GRID_COPIES]
        sets.append(("grid_states", {"REAL": real, "GLOBAL_VALUES": 1}))
    sets.append(("grid_census", {}))
    return sets


# ---- forward passes ----


@functools.lru_cache(maxsize=1024)
def plan_forward(work: Workload, limits: DeviceLimits, mapping: Mapping = "auto") -> LaunchPlan:
    """Chooses the cheapest launch for a workload that is not empty."""
    plans = candidate_plans(work, limits, mapping)
    if not plans:
        raise DeviceError(
            f"{work.num_genomes} genomes on {work.num_samples} samples are too much for one "
            "launch. Evaluate the samples in parts."
        )
    return min(plans, key=lambda plan: plan.cycles)


def candidate_plans(work: Workload, limits: DeviceLimits, mapping: str) -> list[LaunchPlan]:
    """All launches that could do a workload; any of them gives the same bits."""
    check_option("mapping", mapping, MAPPINGS)
    dynamic = limits.shared_per_block_optin - STATIC_SHARED
    limits = dataclasses.replace(limits, shared_per_block_optin=dynamic)
    mappings = ("samples", _samples_plans), ("levels", _levels_plans), ("wide", _wide_plans)
    return [
        plan
        for name, candidates in mappings
        if mapping == name or (mapping == "auto" and (name != "wide" or is_wide(work)))
        for plan in candidates(work, limits)
        if max(work.num_genomes * -(-work.num_samples // plan.tile), work.num_samples) <= MOST_TEAMS
    ]


def is_wide(work: Workload) -> bool:
    """Whether a level has more nodes than a block has threads, so that more blocks may share it."""
    return work.max_level_width > MOST_TEAM


def _samples_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    size = work.dtype.itemsize
    fits = False
    for vector in VECTORS[size]:
        row = WARP * vector
        # Staged units start at a multiple of their size, for every warp.
        values = -(-work.max_slots * row * size // STAGED) * STAGED // size
        team_shared = STAGED + values * size
        if team_shared > limits.shared_per_block_optin and (fits or vector > 1):
            continue
        in_global = team_shared > limits.shared_per_block_optin
        fits = not in_global
        if in_global:
            vector, row = VECTORS[size][0], WARP * VECTORS[size][0]
            values, team_shared = work.max_slots * row, STAGED
        yield _plan(
            work,
            limits,
            samples_work(work, vector, in_global=in_global),
            "forward_samples",
            defines={"VECTOR": vector},
            in_global=in_global,
            team_size=WARP,
            tile=row,
            team_values=values,
            team_shared=team_shared,
            registers=96 if work.has_memory else 64 if size == 8 or in_global else 48,
        )


def _levels_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    size = work.dtype.itemsize
    in_global = work.max_slots * size > limits.shared_per_block_optin
    for tile in _powers_of_2(min(MOST_TILE, 2 * work.num_samples - 1)):
        for team in (MOST_TEAM,) if in_global else _team_sizes(work, tile):
            values = work.max_slots * tile
            if not in_global and values * size > limits.shared_per_block_optin:
                continue
            # Teams of a warp should find their values in different banks.
            padding = (tile - values) % WARP if team < WARP else 0
            if (values + padding) * size <= limits.shared_per_block_optin:
                values += padding
            yield _plan(
                work,
                limits,
                levels_work(work, team, tile, in_global=in_global),
                "forward_levels",
                defines={"WIDE_TEAM": int(team > WARP)},
                in_global=in_global,
                team_size=team,
                tile=tile,
                team_values=values,
                team_shared=0 if in_global else values * size,
                registers=128 if in_global else 64,
            )


def _wide_plans(work: Workload, limits: DeviceLimits) -> Iterator[LaunchPlan]:
    size = work.dtype.itemsize
    for vector, warps in zip(VECTORS[size], WIDE_WARPS[size], strict=True):
        block, tile, shared = WARP * warps, WARP * vector, STAGED * warps
        registers = 64 if vector == 1 and size == 4 else WIDE_REGISTERS[size]
        resident = resident_blocks(limits, block, registers, shared)
        columns = _wide_columns(work, limits, tile)
        groups = columns // tile
        width = max(work.max_level_width, 1)  # there may be no level at all
        for strip in _powers_of_2(min(MOST_STRIP, 2 * width - 1)):
            strips = work.num_genomes * -(-width // strip)
            blocks = -(-strips // warps) * groups
            if blocks > MOST_TEAMS // block:
                continue
            yield LaunchPlan(
                kernel="forward_wide",
                defines={
                    "REAL": real_name(work.dtype),
                    "GLOBAL_VALUES": 1,
                    "VECTOR": vector,
                    "WARPS": warps,
                    **functions_define(work.functions),
                },
                grid=(blocks,),
                block=(block,),
                shared_mem=shared,
                scratch_nbytes=work.num_genomes * work.max_slots * columns * size,
                team_size=WARP,
                tile=tile,
                team_values=work.max_slots * columns,
                cycles=wide_cycles(work, vector, warps, strip, columns, resident, limits),
                strip=strip,
                columns=columns,
            )


def _wide_columns(work: Workload, limits: DeviceLimits, tile: int) -> int:
    """Samples of a piece: as many as keep its values in cache, but enough for all threads."""
    wanted = -(-work.num_samples // tile) * tile
    column = work.num_genomes * max(work.max_slots, 1) * work.dtype.itemsize  # bytes
    cached = CACHED // column // tile * tile
    threads = 2 * limits.num_sms * limits.max_threads_per_sm
    busy = -(-threads // (work.num_genomes * max(work.max_level_width, 1) * tile)) * tile
    return max(tile, min(wanted, max(cached, busy), MOST_COLUMNS))


def _team_sizes(work: Workload, tile: int) -> Iterator[int]:
    """From the smallest to the one that has a thread for all of the widest level."""
    for team in _powers_of_2(MOST_TEAM, max(LEAST_TEAM, tile)):
        yield team
        if team >= work.max_level_width * tile:
            return


def _plan(
    work: Workload,
    limits: DeviceLimits,
    team_work: TeamWork,
    kernel: str,
    *,
    defines: dict[str, int | str],
    in_global: bool,
    team_size: int,
    tile: int,
    team_values: int,
    team_shared: int,
    registers: int,
) -> LaunchPlan:
    num_tiles = -(-work.num_samples // tile)
    num_teams = work.num_genomes * num_tiles
    most_teams = 1 if team_size > WARP else BLOCK // team_size
    # As many teams in a block as keep most of them in flight.
    resident, teams_per_block = max(
        (resident_blocks(limits, team_size * teams, registers, team_shared * teams) * teams, teams)
        for teams in _powers_of_2(most_teams)
        if teams == 1 or team_shared * teams <= limits.shared_per_block_optin
    )
    blocks = -(-num_teams // teams_per_block)
    scratch = 0
    if in_global:  # Teams take turns, so that they need memory only once.
        blocks = min(blocks, limits.num_sms * (resident // teams_per_block))
        scratch = blocks * teams_per_block * team_values * work.dtype.itemsize
    return LaunchPlan(
        kernel=kernel,
        defines={
            "REAL": real_name(work.dtype),
            "MEMORY": int(work.has_memory),
            "GLOBAL_VALUES": int(in_global),
            **defines,
            **functions_define(work.functions),
        },
        grid=(blocks,),
        block=(team_size * teams_per_block,),
        shared_mem=team_shared * teams_per_block,
        scratch_nbytes=scratch,
        team_size=team_size,
        tile=tile,
        team_values=team_values,
        cycles=launch_cycles(
            team_work, num_teams, resident, min(num_tiles, teams_per_block), limits
        ),
    )


def _powers_of_2(most: int, power: int = 1) -> Iterator[int]:
    while power <= most:
        yield power
        power *= 2


# ---- losses ----


def plan_loss(work: Workload, loss: int) -> LaunchPlan:
    """Plans the sum of losses of outputs that are there: a warp per genome, on any GPU."""
    return LaunchPlan(
        kernel="loss",
        defines={"REAL": real_name(work.dtype), "LOSS": loss},
        grid=(-(-work.num_genomes * WARP // BLOCK),),
        block=(BLOCK,),
    )


# ---- rollouts ----


@functools.lru_cache(maxsize=1024)
def plan_rollout(work: RolloutWorkload, limits: DeviceLimits) -> LaunchPlan:
    """Plans the episodes of at least one genome.

    In the plan, a team is the threads of a genome, a tile the episodes that they play at a time,
    and `team_values` counts for one thread.
    """
    size = work.dtype.itemsize
    team = threads_per_genome(work, limits)
    num_threads = work.num_genomes * team
    warp_shared = work.max_slots * WARP * size
    registers = ROLLOUT_REGISTERS[size, work.has_memory]
    resident, block = _best_block(limits, registers, warp_shared)
    warps = min(least_warps(size), -(-num_threads // (WARP * limits.num_sms)))
    in_global = resident < warps * WARP
    if in_global:
        resident, block = _best_block(limits, registers, 0)
    blocks = -(-num_threads // block)
    if in_global:  # Threads take turns, so that they need memory only once.
        blocks = min(blocks, limits.num_sms * (resident // block))
    return LaunchPlan(
        kernel="rollout",
        defines={
            "REAL": real_name(work.dtype),
            "MEMORY": int(work.has_memory),
            "GLOBAL_VALUES": int(in_global),
            "CONTROL": work.control,
            **functions_define(work.functions),
        },
        grid=(blocks,),
        block=(block,),
        shared_mem=0 if in_global else warp_shared * block // WARP,
        scratch_nbytes=blocks * block * work.max_slots * size if in_global else 0,
        team_size=team,
        tile=min(team, work.num_episodes),
        team_values=work.max_slots,
    )


def threads_per_genome(work: RolloutWorkload, limits: DeviceLimits) -> int:
    """One for each of few episodes, so that genomes share warps; whole warps for many.

    Threads that play several episodes even out their lengths, so there are no more warps than
    keep the GPU busy.
    """
    if work.num_episodes < WARP:
        return work.num_episodes
    busy = WAVES * limits.num_sms * limits.max_threads_per_sm
    useful = -(-work.num_episodes // WARP)
    enough = -(-busy // (WARP * work.num_genomes))
    return WARP * min(useful, enough)


def least_warps(size: int) -> int:
    """Warps of a multiprocessor that are as fast in shared memory as any number in global memory.

    With values in global memory, each link and warp needs a row of them (of numbers of `size`
    bytes) from the second-level cache, which is the bottleneck. With values in shared memory, few
    warps do not fill each other's waits.
    """
    return math.ceil(LEVELS_LINK_WAIT / (WARP * size / FETCHED))


def most_genomes(episodes: Episodes) -> int:
    """Genomes that one launch may have; many more than memory holds."""
    return MOST_THREADS // min(episodes.count, WARP)


def _best_block(limits: DeviceLimits, registers: int, warp_shared: int) -> tuple[int, int]:
    """Threads that a multiprocessor holds, and the smallest block that achieves it.

    A block stays until its longest episode ends, so small ones are better. The first number is 0
    if not even a warp fits.
    """
    best = 0, WARP
    for warps in _powers_of_2(BLOCK // WARP):
        shared, threads = warp_shared * warps, WARP * warps
        if shared <= limits.shared_per_block_optin:
            resident = resident_blocks(limits, threads, registers, shared) * threads
            best = max(best, (resident, threads), key=lambda found: (found[0], -found[1]))
    return best
