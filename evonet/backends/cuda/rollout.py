"""Episodes that some genomes play on one GPU: one launch from the first step to the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import memory_arguments, rollout_arguments
from evonet.backends.cuda.custom_functions import functions_of
from evonet.backends.cuda.rollout_plan import Players, plan_rollout

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Rollout
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.schedule.schedule import Schedule


def play_genomes(
    device: Device,
    schedule: Schedule,
    episodes: Episodes,
    arrays: Mapping[str, DeviceArray],
    first: int,
    genomes: npt.NDArray[np.int64],
    rollout: Rollout,
    rows: npt.NDArray[np.int64],
) -> None:
    """Plays for some rows of a rollout and brings them to the host.

    Args:
        device: The GPU.
        schedule: P genomes.
        episodes: E episodes.
        arrays: What `layout.pack_schedule` gave for a range of genomes, on the GPU.
        first: The range's first genome.
        genomes: [K] who plays, of the whole schedule.
        rollout: [K, E] each.
        rows: Which rows to play and write; at least one.

    Raises:
        DeviceMemoryError: There is not enough memory.
        DeviceError: The GPU failed.
    """
    rows = rows[by_size(schedule, genomes[rows])]
    chosen = genomes[rows]
    plan = plan_rollout(players_of(schedule, episodes, chosen), device.limits)
    who = device.upload((chosen - first).astype(np.int32))
    shape, dtype = (len(rows), episodes.count), schedule.dtype
    returns, steps = device.empty(shape, dtype), device.empty(shape, np.int32)
    num_scratch = plan.scratch_nbytes // dtype.itemsize
    scratch = device.empty((num_scratch,), dtype) if num_scratch else None
    arguments = rollout_arguments(plan, episodes, arrays, who, returns, steps, scratch)
    if schedule.dynamics.has_memory:
        arguments += (arrays["node_start"], *memory_arguments(schedule, arrays))
    device.launch(plan.kernel, plan.defines, plan.grid, plan.block, arguments, plan.shared_mem)
    for found, wanted in ((returns, rollout.returns), (steps, rollout.steps)):
        here = np.empty(shape, wanted.dtype)
        device.download(found, here)
        wanted[rows] = here


def by_size(schedule: Schedule, genomes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The order in which genomes play, the largest first: a warp waits for its largest."""
    nodes = schedule.node_start
    links = schedule.edge_start[nodes[genomes + 1]] - schedule.edge_start[nodes[genomes]]
    return np.argsort(-links, kind="stable")


def players_of(schedule: Schedule, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Players:
    """Measures the genomes that play, at least one."""
    return Players(
        control=episodes.control,
        num_genomes=len(genomes),
        num_episodes=episodes.count,
        max_slots=int(schedule.num_slots[genomes].max()),
        dtype=schedule.dtype,
        has_memory=schedule.dynamics.has_memory,
        functions=functions_of(schedule),
    )
