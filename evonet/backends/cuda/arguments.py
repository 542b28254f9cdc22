"""Arguments of kernels, in order and typed.

CuPy passes a Python int as 64 bits whatever the kernel declares, so every scalar is wrapped here.
Arrays are passed through untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.cuda.plan import LaunchPlan, Workload
    from evonet.schedule.schedule import Schedule


def forward_arguments(
    plan: LaunchPlan, work: Workload, arrays: Mapping[str, Any], x: Any, y: Any, scratch: Any
) -> tuple[Any, ...]:
    """Lists the arguments of a forward kernel.

    Args:
        plan: What `plan_forward` chose.
        work: What it was chosen for.
        arrays: What `layout.pack_schedule` gave, on the device.
        x: [B, I] if the workload shares its samples, else [P, B, I]; C-contiguous.
        y: [P, B, O], to be written.
        scratch: plan.scratch_nbytes of any content, of the schedule's type; None for 0 bytes.
    """
    levels = plan.mapping == "levels"
    team = (np.int32(plan.team_size), np.int32(plan.tile)) if levels else ()
    order = ("node_start", "level_start", "level_end", "node_unit") if levels else ()
    return (
        np.int32(work.num_genomes),
        np.int32(work.num_inputs),
        np.int32(work.num_outputs),
        np.int32(work.shared_x),
        np.int32(work.num_samples),
        *team,
        np.int64(plan.team_values),
        arrays["unit_start"],
        *(arrays[name] for name in order),
        arrays["units"],
        arrays["output_slot"],
        x,
        y,
        _or_null(scratch),
    )


def memory_arguments(schedule: Schedule, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """Lists how networks with memory work through time.

    Args:
        schedule: P networks with memory.
        arrays: What `layout.pack_schedule` gave, on the device.
    """
    dynamics = schedule.dynamics
    return (
        np.int32(dynamics.kind_id),
        np.int32(dynamics.num_states),
        np.int32(dynamics.steps),
        schedule.dtype.type(dynamics.time_step),
        arrays["cell"] if dynamics.num_parameters else np.intp(0),
    )


def loss_arguments(
    plan: LaunchPlan, work: Workload, outputs: Any, targets: Any, losses: Any
) -> tuple[Any, ...]:
    """Lists the arguments of the kernel that adds up losses.

    Args:
        plan: What `plan_loss` chose.
        work: What it was chosen for.
        outputs: [P, B, O] what the networks answered.
        targets: [B, O] the right answers.
        losses: [P, 2], to be written.
    """
    return (
        np.int32(work.num_genomes),
        np.int32(work.num_samples),
        np.int32(work.num_outputs),
        outputs,
        targets,
        losses,
    )


def rollout_arguments(
    plan: LaunchPlan,
    episodes: Episodes,
    arrays: Mapping[str, Any],
    players: Any,
    returns: Any,
    steps: Any,
    scratch: Any,
) -> tuple[Any, ...]:
    """Lists the arguments of the kernel that plays episodes.

    Args:
        plan: What `plan_rollout` chose.
        episodes: E episodes of a task.
        arrays: What `layout.pack_schedule` gave, on the device.
        players: [K] genomes of those arrays, int32.
        returns: [K, E] of the schedule's type, to be written.
        steps: [K, E] int32, to be written.
        scratch: plan.scratch_nbytes of any content, of the schedule's type; None for 0 bytes.
    """
    return (
        np.int32(len(players)),
        np.int32(episodes.count),
        np.int32(plan.team_size),
        np.int32(episodes.max_steps),
        np.uint32(episodes.first),
        np.uint64(episodes.seed),
        np.int64(plan.team_values),
        players,
        arrays["unit_start"],
        arrays["units"],
        arrays["output_slot"],
        returns,
        steps,
        _or_null(scratch),
    )


def _or_null(scratch: Any) -> Any:
    return np.intp(0) if scratch is None else scratch
