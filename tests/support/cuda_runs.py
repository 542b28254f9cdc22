"""Runs the CUDA kernels on the SIMT runner, straight from a schedule."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from evonet import Population
from evonet.backends.base import Episodes, Rollout
from evonet.backends.cuda.arguments import (
    NO_STATE,
    forward_arguments,
    loss_arguments,
    rollout_arguments,
)
from evonet.backends.cuda.compiler import FUNCTIONS_MACRO, kernel_sources
from evonet.backends.cuda.cost import RolloutWorkload, Workload
from evonet.backends.cuda.grid.launches import (
    GridLaunches,
    forward_launches,
    memory_shapes,
    pieces,
)
from evonet.backends.cuda.grid.tables import genome_of_nodes, make_tables
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.layout import pack_schedule
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.plan import (
    plan_forward,
    plan_loss,
    plan_rollout,
)
from evonet.installation import resource_folder
from evonet.schedule import Schedule, build_schedule
from tests import simt

KIB = 1024
# An imaginary small GPU, so that blocks take turns in tests too.
SMALL = DeviceLimits("sm_86", 2, 99 * KIB, 100 * KIB, 1536, 65536)
# One whose blocks have next to no shared memory, so that values of most genomes are global.
TINY = DeviceLimits("sm_86", 2, 96, 4 * KIB, 1536, 65536)


NOTHING = Workload.of(
    build_schedule(Population.random(0, 1, 1, num_nodes=1, num_connections=0)), 0, 0, 0, True
)


@functools.cache
def compiled(
    kernel: str, defines: tuple[tuple[str, int | str], ...], mode: str = "plain"
) -> simt.Module:
    """Compiles one of the product's kernels for the runner."""
    kernels = resource_folder("kernels")
    if FUNCTIONS_MACRO in dict(defines):
        return compiled_with(kernel, defines, mode)
    return simt.compile(
        kernels / "cuda" / f"{kernel}.cu",
        include_dirs=[kernels],
        defines=dict(defines),
        mode=mode,  # type: ignore[arg-type]
    )


def compiled_with(
    kernel: str, defines: tuple[tuple[str, int | str], ...], mode: str
) -> simt.Module:
    """Compiles a kernel that knows custom functions."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in kernel_sources(kernel, dict(defines)).items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return simt.compile(
            Path(folder) / "cuda" / f"{kernel}.cu",
            include_dirs=[Path(folder)],
            defines=dict(defines),
            mode=mode,  # type: ignore[arg-type]
        )


def run_plan(
    schedule: Schedule,
    x: np.ndarray,
    plan: LaunchPlan,
    work: Workload,
    begin: int,
    end: int,
    mode: str = "plain",
    **launch: Any,
) -> np.ndarray:
    """Runs one launch; results and scratch are full of garbage before."""
    if plan.mapping == "wide":
        return run_wide(schedule, x, plan, work, begin, end, mode, **launch)
    dtype = schedule.dtype
    y = np.full((work.num_genomes, work.num_samples, work.num_outputs), 123, dtype)
    scratch = np.full(plan.scratch_nbytes // dtype.itemsize, 456, dtype)
    kernel = compiled(plan.kernel, tuple(plan.defines.items()), mode).get_function(plan.kernel)
    kernel.max_dynamic_shared_size_bytes = plan.shared_mem
    arrays = pack_schedule(schedule, begin, end)
    arguments = forward_arguments(
        plan,
        work,
        schedule,
        arrays,
        np.ascontiguousarray(x),
        y,
        scratch if plan.scratch_nbytes else None,
    )
    kernel(plan.grid, plan.block, arguments, shared_mem=plan.shared_mem, **launch)
    return y


def wide_launches(
    schedule: Schedule, plan: LaunchPlan, work: Workload, begin: int, end: int
) -> tuple[GridLaunches, dict[str, np.ndarray]]:
    """The launches of the wide mapping, and all arrays that they use; memory is full of garbage."""
    arrays = pack_schedule(schedule, begin, end)
    tables = make_tables(schedule, begin, end, plan.strip)
    arrays |= tables.arrays()
    if schedule.dynamics.has_memory:
        arrays["genome_of"] = genome_of_nodes(schedule, begin, end)
    for name, (shape, kind) in memory_shapes(plan, work, tables).items():
        arrays[name] = np.full(shape, 77, kind)
    return GridLaunches(plan, work, schedule, tables, arrays), arrays


def run_wide(
    schedule: Schedule,
    x: np.ndarray,
    plan: LaunchPlan,
    work: Workload,
    begin: int,
    end: int,
    mode: str = "plain",
    state: tuple[Any, ...] = NO_STATE,
    **launch: Any,
) -> np.ndarray:
    """Runs all launches of the wide mapping, piece by piece."""
    y = np.full((work.num_genomes, work.num_samples, work.num_outputs), 123, schedule.dtype)
    launches, _ = wide_launches(schedule, plan, work, begin, end)
    for piece in pieces(plan, work.num_samples):
        for one in forward_launches(launches, schedule, piece, np.ascontiguousarray(x), y, state):
            kernel = compiled(one.kernel, tuple(one.defines.items()), mode).get_function(one.kernel)
            kernel(one.grid, one.block, one.arguments, shared_mem=one.shared_mem, **launch)
    return y


def run_forward(
    schedule: Schedule,
    x: np.ndarray,
    mapping: str = "auto",
    *,
    limits: DeviceLimits = SMALL,
    begin: int = 0,
    end: int | None = None,
    **options: Any,
) -> np.ndarray:
    """Plans and runs the forward pass of genomes [begin, end).

    Args:
        schedule: P genomes.
        x: [B, I], or [end - begin, B, I].
        mapping: As for `evonet.compile`.
        limits: The GPU to plan for.
        begin: First genome.
        end: Behind the last; None for all.
        **options: Of `run_plan`.
    """
    end = schedule.num_genomes if end is None else end
    work = Workload.of(schedule, begin, end, x.shape[-2], x.ndim == 2)
    shape = work.num_genomes, work.num_samples, work.num_outputs
    if 0 in shape:
        return np.zeros(shape, schedule.dtype)
    plan = plan_forward(work, limits, mapping)  # type: ignore[arg-type]
    return run_plan(schedule, x, plan, work, begin, end, **options)


def run_loss(
    y: np.ndarray, targets: np.ndarray, loss: int, mode: str = "plain", **launch: Any
) -> np.ndarray:
    """Adds up the losses of answers y [P, B, O] against targets [B, O]."""
    work = dataclasses.replace(
        NOTHING,
        num_genomes=y.shape[0],
        num_samples=y.shape[1],
        num_outputs=y.shape[2],
        dtype=y.dtype,
    )
    plan = plan_loss(work, loss)
    losses = np.full((y.shape[0], 2), 123, y.dtype)
    kernel = compiled(plan.kernel, tuple(plan.defines.items()), mode).get_function(plan.kernel)
    kernel(plan.grid, plan.block, loss_arguments(work, y, targets, losses), **launch)
    return losses


def run_rollout(
    schedule: Schedule,
    episodes: Episodes,
    genomes: Any,
    *,
    limits: DeviceLimits = SMALL,
    begin: int = 0,
    mode: str = "plain",
    **launch: Any,
) -> Rollout:
    """Plays episodes in one launch; results and scratch are full of garbage before.

    Args:
        schedule: P genomes.
        episodes: E of them.
        genomes: [K] who plays, none before `begin`.
        limits: The GPU to plan for.
        begin: Genomes before it are not uploaded.
        mode: Of the runner.
        **launch: Options of the launch.
    """
    chosen = np.asarray(genomes, np.int64)
    dtype = schedule.dtype
    plan = plan_rollout(RolloutWorkload.of(schedule, episodes, chosen), limits)
    shape = len(chosen), episodes.count
    found = Rollout(np.full(shape, 123, dtype), np.full(shape, 321, np.int32))
    scratch = np.full(plan.scratch_nbytes // dtype.itemsize, 456, dtype)
    kernel = compiled(plan.kernel, tuple(plan.defines.items()), mode).get_function(plan.kernel)
    kernel.max_dynamic_shared_size_bytes = plan.shared_mem
    arrays = pack_schedule(schedule, begin, schedule.num_genomes)
    arguments = rollout_arguments(
        plan,
        episodes,
        schedule,
        arrays,
        (chosen - begin).astype(np.int32),
        *found,
        scratch if plan.scratch_nbytes else None,
    )
    kernel(plan.grid, plan.block, arguments, shared_mem=plan.shared_mem, **launch)
    return found
