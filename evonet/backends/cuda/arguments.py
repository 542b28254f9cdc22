"""Arguments of kernels, in order and typed.

CuPy passes a Python int as 64 bits whatever the kernel declares, so every scalar is wrapped here.
Arrays are passed through untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evonet.backends.cuda.plan import LaunchPlan, Workload


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
        np.intp(0) if scratch is None else scratch,  # a null pointer
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
