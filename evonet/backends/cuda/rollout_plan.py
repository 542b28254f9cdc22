"""How episodes are laid out over the threads of a GPU: one thread for each, or for a few."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evonet.backends.cuda.custom_functions import macro_of
from evonet.backends.cuda.plan import BLOCK, LaunchPlan, powers_of_2, real_name
from evonet.backends.cuda.price import FETCHED, LEVELS_LINK_WAIT, WARP, resident_blocks
from evonet.backends.cuda.workload import DeviceLimits

if TYPE_CHECKING:
    from evonet.backends.base import Episodes

MOST_THREADS: Final = 2**30  # of a launch: the kernel counts them in 32 bits and looks one ahead
# Of a thread, by bytes of a number and whether nodes remember.
REGISTERS: Final = {(4, False): 64, (4, True): 168, (8, False): 128, (8, True): 255}
WAVES: Final = 4  # of threads, so that a multiprocessor that is done early finds more to do


@dataclasses.dataclass(frozen=True)
class Players:
    """Some genomes and what they play.

    Attributes:
        control: Name of the task.
        num_genomes: K.
        num_episodes: E, of each.
        max_slots: Inputs, live nodes and what these remember, of the largest genome.
        dtype: float32 or float64.
        has_memory: Whether nodes remember anything.
        functions: Those of one's own that the kernel must know; see `own_functions`.
    """

    control: str
    num_genomes: int
    num_episodes: int
    max_slots: int
    dtype: np.dtype[Any]
    has_memory: bool = False
    functions: str = ""


@functools.lru_cache(maxsize=1024)
def plan_rollout(players: Players, limits: DeviceLimits) -> LaunchPlan:
    """Lays out the episodes of at least one genome.

    In the plan, a team is the threads of a genome, a tile the episodes that they play at a time,
    and `team_values` counts for one thread.
    """
    size = players.dtype.itemsize
    team = threads_per_genome(players, limits)
    num_threads = players.num_genomes * team
    warp_shared = players.max_slots * WARP * size
    registers = REGISTERS[size, players.has_memory]
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
        mapping="rollout",
        defines={
            "REAL": real_name(players.dtype),
            "MEMORY": int(players.has_memory),
            "GLOBAL_VALUES": int(in_global),
            "CONTROL": players.control,
            **macro_of(players.functions),
        },
        grid=(blocks,),
        block=(block,),
        shared_mem=0 if in_global else warp_shared * block // WARP,
        scratch_nbytes=blocks * block * players.max_slots * size if in_global else 0,
        team_size=team,
        tile=min(team, players.num_episodes),
        team_values=players.max_slots,
        cycles=0.0,
    )


def threads_per_genome(players: Players, limits: DeviceLimits) -> int:
    """One for each of few episodes, so that genomes share warps; whole warps for many.

    Threads that play several episodes even out their lengths, so there are no more warps than
    keep the GPU busy.
    """
    if players.num_episodes < WARP:
        return players.num_episodes
    busy = WAVES * limits.num_sms * limits.max_threads_per_sm
    useful = -(-players.num_episodes // WARP)
    enough = -(-busy // (WARP * players.num_genomes))
    return WARP * min(useful, enough)


def least_warps(size: int) -> int:
    """Warps of a multiprocessor that get on in shared memory as fast as any number in global.

    With values in global memory, the way to the second-level cache is full with one row of them for
    each link and warp. With values in shared memory, few warps do not fill each other's waits.

    Args:
        size: Bytes of a number.
    """
    return math.ceil(LEVELS_LINK_WAIT / (WARP * size / FETCHED))


def most_players(episodes: Episodes) -> int:
    """Genomes that one launch may have; many more than memory holds."""
    return MOST_THREADS // min(episodes.count, WARP)


def _best_block(limits: DeviceLimits, registers: int, warp_shared: int) -> tuple[int, int]:
    """Threads that a multiprocessor holds, and the smallest block that gets it there.

    A block leaves when its longest episode ends, so small ones are better. The first number is 0
    if not even a warp fits.
    """
    best = 0, WARP
    for warps in powers_of_2(BLOCK // WARP):
        shared, threads = warp_shared * warps, WARP * warps
        if shared <= limits.shared_per_block_optin:
            resident = resident_blocks(limits, threads, registers, shared) * threads
            best = max(best, (resident, threads), key=lambda found: (found[0], -found[1]))
    return best
