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


def binary_cross_entropy(y: Values, targets: Values) -> Sum:
    """Returns [B] sums of -t ln y - (1 - t) ln(1 - y) of outputs and targets [O, B]."""
    total = np.zeros(y.shape[1], y.dtype)
    for row, target in zip(y, targets, strict=True):
        other = (1 - target) * _log_of_probability(1 - row)
        total = total - preactivation(other, target, _log_of_probability(row))
    return total, np.zeros_like(total)


def _log_of_probability(p: Values) -> Values:
    least, log = p.dtype.type(1e-7), activate(ACTIVATION_IDS["log"], p)
    return np.where(p > least, log, log + (p - least) * p.dtype.type(1e7))


def huber(y: Values, targets: Values) -> Sum:
    """Returns [B] sums of e^2 / 2, or |e| - 1/2 where |e| > 1, of outputs and targets [O, B]."""
    total, half = np.zeros(y.shape[1], y.dtype), y.dtype.type(0.5)
    for error in y - targets:
        size = abs(error)
        total = total + np.where(size <= 1, half * (error * error), size - half)
    return total, np.zeros_like(total)


SAMPLE_LOSSES = {
    "squared": squared,
    "cross_entropy": cross_entropy,
    "misses": misses,
    "binary_cross_entropy": binary_cross_entropy,
    "huber": huber,
}


def loss_slopes(loss_id: int, y: Values, targets: Values) -> Values:
    """Returns [O, B] derivatives of the samples' losses by the outputs [O, B]."""
    name = LOSSES[loss_id].name
    with np.errstate(all="ignore"):
        error: Values = y - targets
        if name == "squared":
            return error + error
        if name == "huber":
            one = y.dtype.type(1)
            return np.where(error > one, one, np.where(error < -one, -one, error))
        if name == "binary_cross_entropy":
            least, other = y.dtype.type(1e-7), 1 - y
            wrong = (1 - targets) / np.where(other <= least, least, other)
            slopes: Values = wrong - targets / np.where(y <= least, least, y)
            return slopes
        return _slopes_of_cross_entropy(y, targets)


def _slopes_of_cross_entropy(y: Values, targets: Values) -> Values:
    largest = y[0]
    for row in y[1:]:
        largest = np.where(row > largest, row, largest)
    parts = activate(ACTIVATION_IDS["exp"], y - largest)
    powers = share = np.zeros(y.shape[1], y.dtype)
    for part, target in zip(parts, targets, strict=True):
        powers, share = powers + part, share + target
    return preactivation(-targets, np.broadcast_to(share, y.shape), parts / powers)
