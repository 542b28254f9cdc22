"""The NumPy twin of `kernels/learning/optimizers.h`, and the loop around it: equal bits."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.learning import OPTIMIZERS, Genes, LearningState, UpdateRule
from evonet.backends.reference.functions import preactivation
from evonet.backends.reference.gradients import gradients, join_lanes
from evonet.backends.reference.loss import LANES

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Array = npt.NDArray[Any]


def learn(
    schedule: Schedule,
    state: LearningState,
    x: Array,
    targets: Array,
    order: npt.NDArray[np.int64],
    loss: int,
    rule: UpdateRule,
) -> Array:
    """Takes a step per row of `order`; see `evonet.backends.base.Bound.learn`."""
    real = schedule.dtype.type
    losses = np.full((len(order), schedule.num_genomes), np.nan, schedule.dtype)
    inverse = real(1) / real(order.shape[1])
    for i, batch in enumerate(order):
        found = gradients(
            with_genes(schedule, state.genes), x[:, batch], targets[:, batch], loss, False
        )
        losses[i, state.active] = (found.losses[:, 0] * inverse)[state.active]
        for g in np.flatnonzero(state.active):
            _update(schedule, int(g), state, found.genes, inverse, rule, rule.corrections[i])
    return losses


def with_genes(schedule: Schedule, genes: Genes | None) -> Schedule:
    """A schedule with other genes."""
    return schedule if genes is None else dataclasses.replace(schedule, **genes._asdict())


def _update(
    schedule: Schedule,
    genome: int,
    state: LearningState,
    sums: Genes,
    inverse: Any,
    rule: UpdateRule,
    corrections: npt.NDArray[np.float64],
) -> None:
    s = schedule
    nodes = slice(int(s.node_start[genome]), int(s.node_start[genome + 1]))
    links = slice(int(s.edge_start[nodes.start]), int(s.edge_start[nodes.stop]))
    chosen = [group for group in range(3) if rule.learns[group]]
    groups = []
    for group in chosen:
        part = links if group == 0 else nodes
        arrays = (state.genes, state.first, state.second, sums)
        groups.append((*(genes[group][part] for genes in arrays), group == 0))
    if update(groups, inverse, rule, corrections):
        state.steps[genome] += 1
    else:
        state.active[genome] = False


def update(
    groups: list[tuple[Any, ...]],
    inverse: Any,
    rule: UpdateRule,
    corrections: npt.NDArray[np.float64],
) -> bool:
    """Takes one step, in place.

    Args:
        groups: For each sort of numbers the numbers, two moments, the sums of their gradients over
            samples, and whether they decay.
        inverse: One divided by the number of samples.
        rule: How they change.
        corrections: [2] those of the step.

    Returns:
        False if the gradients are not finite: then nothing changes.
    """
    dtype = groups[0][0].dtype
    with np.errstate(all="ignore"):
        means = [group[3] * inverse for group in groups]
        square = _squared_norm(means, dtype)
        if not np.isfinite(square):
            return False
        scale = _scale(square, dtype.type(rule.clip))
        for group, mean in zip(groups, means, strict=True):
            _step(group[:3], mean * scale, rule, rule.decay if group[4] else 0.0, corrections)
    return True


def _squared_norm(means: list[Array], dtype: np.dtype[Any]) -> Any:
    lanes = np.zeros(LANES, dtype)
    for mean in means:
        for begin in range(0, len(mean), LANES):
            part = mean[begin : begin + LANES]
            lanes[: len(part)] = preactivation(lanes[: len(part)], part, part)
    return join_lanes(lanes[None])[0]


def _scale(square: Any, clip: Any) -> Any:
    norm = np.sqrt(square)
    return clip / norm if clip > 0 and norm > clip else type(clip)(1)


def _step(
    arrays: tuple[Array, ...],
    gradient: Array,
    rule: UpdateRule,
    decay: float,
    corrections: npt.NDArray[np.float64],
) -> None:
    gene, first, second = arrays
    real = gene.dtype.type
    name, old = OPTIMIZERS[rule.optimizer], gene.copy()
    if name == "adamw":
        gene[:] = preactivation(gene, real(-(rule.rate * decay)), gene)
    else:
        gradient = preactivation(gradient, real(decay), gene)
    if name == "sgd":
        first[:] = preactivation(gradient, real(rule.momentum), first)
        new = preactivation(gene, real(-rule.rate), first)
    else:
        first[:] = preactivation(real(1 - rule.beta1) * gradient, real(rule.beta1), first)
        square = (real(1 - rule.beta2) * gradient) * gradient
        second[:] = preactivation(square, real(rule.beta2), second)
        root = np.sqrt(real(corrections[1]) * second) + real(rule.epsilon)
        new = gene - (real(corrections[0]) * first) / root
    gene[:] = np.where(new - new == 0, new, old)
