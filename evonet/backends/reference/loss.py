"""The NumPy twin of `kernels/nodes/loss.h`: the same operations in the same order, equal bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.functions import activate, preactivation
from evonet.functions.registry import ACTIVATION_IDS, LOSSES
from evonet.numerics.elementary import canonical, fused

Values = npt.NDArray[Any]

LANES = 32


Sum = tuple[Values, Values]
"""Sums, and their rounding errors."""


def total_loss(loss_id: int, y: Values, targets: Values) -> tuple[Any, Any]:
    """Sums the losses of all samples by one fixed tree; returns the sum and its rounding error.

    Outputs and targets are [B, O]; `loss_id` is a position in `evonet.functions.registry.LOSSES`.
    """
    with np.errstate(all="ignore"):
        sums, rests = SAMPLE_LOSSES[LOSSES[loss_id].name](y.T, targets.T)
        lanes = (np.zeros(LANES, y.dtype), np.zeros(LANES, y.dtype))
        for begin in range(0, len(sums), LANES):
            part = slice(begin, begin + LANES)
            used = slice(len(sums[part]))
            added = add((lanes[0][used], lanes[1][used]), (sums[part], rests[part]))
            lanes[0][used], lanes[1][used] = added
        half = LANES // 2
        while half > 0:
            lanes = add((lanes[0][:half], lanes[1][:half]), (lanes[0][half:], lanes[1][half:]))
            half //= 2
    rest = lanes[1][0]
    return canonical(lanes[0])[0], rest if rest == rest else y.dtype.type(0)


def exact_sum(a: Values, b: Values) -> Sum:
    """Returns a sum and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def add(a: Sum, b: Sum) -> Sum:
    """Adds two sums and their rounding errors."""
    total, rest = exact_sum(a[0], b[0])
    return total, (a[1] + b[1]) + rest


def exact_square(error: Sum) -> Sum:
    """Returns a square and its rounding error; in float32 by a fused multiply-add."""
    square = error[0] * error[0]
    twice = (error[0] + error[0]) * error[1]
    if square.dtype == np.float32:
        return square, fused(error[0], error[0], -square) + twice
    return square, twice


def squared(y: Values, targets: Values) -> Sum:
    """Returns [B] sums of squared errors of outputs and targets [O, B]."""
    total = (np.zeros(y.shape[1], y.dtype), np.zeros(y.shape[1], y.dtype))
    for row, target in zip(y, targets, strict=True):
        total = add(total, exact_square(exact_sum(row, -target)))
    return total


def cross_entropy(y: Values, targets: Values) -> Sum:
    """Returns [B] -sum target ln softmax(y) of outputs and targets [O, B]."""
    largest = y[0]
    for row in y[1:]:
        largest = np.where(row > largest, row, largest)
    powers = picked = share = np.zeros(y.shape[1], y.dtype)
    for row, target in zip(y - largest, targets, strict=True):
        powers = powers + activate(ACTIVATION_IDS["exp"], row)
        picked = preactivation(picked, target, row)
        share = share + target
    return share * activate(ACTIVATION_IDS["log"], powers) - picked, np.zeros_like(picked)


def misses(y: Values, targets: Values) -> Sum:
    """Returns [B] 1 where outputs [O, B] have another class than the targets, otherwise 0."""
    valid = ~np.isnan(y).any(axis=0)
    if len(y) == 1:
        right = (y[0] < 0.5) == (targets[0] < 0.5)
    else:
        right = np.where(valid, y, 0).argmax(axis=0) == targets.argmax(axis=0)
    wrong: Values = (~(right & valid)).astype(y.dtype)
    return wrong, np.zeros_like(wrong)


SAMPLE_LOSSES = {"squared": squared, "cross_entropy": cross_entropy, "misses": misses}
