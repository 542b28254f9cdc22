"""Arguments of kernels, in order and typed.

CuPy passes a Python int as 64 bits whatever the kernel declares, so every scalar is wrapped here.
Arrays are passed through untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.cuda.cost import Workload
    from evonet.backends.cuda.launch import LaunchPlan
    from evonet.backends.cuda.packed import Genomes
    from evonet.schedule.schedule import Schedule

NULL: Final = np.intp(0)
NO_STATE: Final = (np.int64(0), NULL, NULL)
"""Networks with memory start from their first state, and nobody keeps the next one."""


def forward_arguments(
    plan: LaunchPlan,
    work: Workload,
    genomes: Genomes | Schedule,
    arrays: Mapping[str, Any],
    x: Any,
    y: Any,
    scratch: Any,
    state: tuple[Any, ...] = NO_STATE,
) -> tuple[Any, ...]:
    """Lists the arguments of a forward kernel, which writes y [P, B, O].

    x is [B, I] if the workload shares its samples, else [P, B, I]. `arrays` is what
    `layout.pack_schedule` returned, on the device. `scratch` has plan.scratch_nbytes of any
    content, or is None for 0 bytes. `state` is what `DeviceState.arguments` returned.
    """
    levels = plan.mapping == "levels"
    team = (np.int32(plan.team_size), np.int32(plan.tile)) if levels else ()
    order = ("node_start", "level_start", "level_end", "node_unit") if levels else ()
    arguments = (
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
        NULL if scratch is None else scratch,
    )
    if not work.has_memory:
        return arguments
    nodes = () if levels else (arrays["node_start"], arrays["slot"])
    return (*arguments, *nodes, *_memory_arguments(genomes, arrays), *state)


def loss_arguments(work: Workload, outputs: Any, targets: Any, losses: Any) -> tuple[Any, ...]:
    """Lists what adds up losses [P, 2], from outputs [P, B, O] and targets [B, O]."""
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
    source: Genomes | Schedule,
    arrays: Mapping[str, Any],
    genomes: Any,
    returns: Any,
    steps: Any,
    scratch: Any,
) -> tuple[Any, ...]:
    """Lists the arguments of the kernel that plays episodes.

    `genomes` are [K] positions in `arrays`, int32; returns and steps, [K, E], are written. The
    others are those of `forward_arguments`.
    """
    arguments = (
        np.int32(len(genomes)),
        np.int32(episodes.count),
        np.int32(plan.team_size),
        np.int32(episodes.max_steps),
        np.uint32(episodes.first),
        np.uint64(episodes.seed),
        np.int64(plan.team_values),
        genomes,
        arrays["unit_start"],
        arrays["units"],
        arrays["output_slot"],
        returns,
        steps,
        NULL if scratch is None else scratch,
    )
    if not source.dynamics.has_memory:
        return arguments
    nodes = arrays["node_start"], arrays["slot"]
    return (*arguments, *nodes, *_memory_arguments(source, arrays))


def _memory_arguments(genomes: Genomes | Schedule, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """Lists how the states of networks with memory change over time."""
    dynamics = genomes.dynamics
    return (
        np.int32(dynamics.kind_id),
        np.int32(dynamics.num_states),
        np.int32(dynamics.steps),
        genomes.dtype.type(dynamics.time_step),
        arrays["cell"] if dynamics.num_parameters else NULL,
        arrays["num_slots"],
    )
