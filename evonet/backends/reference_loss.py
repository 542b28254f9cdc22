"""The NumPy twin of `kernels/loss.h`: the same operations in the same order, with equal bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference_functions import activate, canonical, preactivation
from evonet.functions import ACTIVATION_IDS, LOSSES

Values = npt.NDArray[Any]

LANES = 32


def total_loss(loss_id: int, y: Values, targets: Values) -> Any:
    """Adds up the losses of all samples by one fixed tree.

    Args:
        loss_id: A position in `evonet.functions.LOSSES`.
        y: [B, O] what a network answered.
        targets: [B, O] the right answers.
    """
    with np.errstate(all="ignore"):
        terms = SAMPLE_LOSSES[LOSSES[loss_id].name](y.T, targets.T)
        lanes = np.zeros(LANES, y.dtype)
        for begin in range(0, len(terms), LANES):
            part = terms[begin : begin + LANES]
            lanes[: len(part)] += part
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = lanes[:half] + lanes[half:]
    return canonical(lanes)[0]


def squared(y: Values, targets: Values) -> Values:
    """[B] the sum of squared errors of each sample, of [O, B] numbers."""
    total = np.zeros(y.shape[1], y.dtype)
    for error in y - targets:
        total = preactivation(total, error, error)
    return total


def cross_entropy(y: Values, targets: Values) -> Values:
    """[B] -sum target ln softmax(y), of [O, B] numbers."""
    largest = y[0]
    for row in y[1:]:
        largest = np.where(row > largest, row, largest)
    powers = picked = share = np.zeros(y.shape[1], y.dtype)
    for row, target in zip(y - largest, targets, strict=True):
        powers = powers + activate(ACTIVATION_IDS["exp"], row)
        picked = preactivation(picked, target, row)
        share = share + target
    return share * activate(ACTIVATION_IDS["log"], powers) - picked


def misses(y: Values, targets: Values) -> Values:
    """[B] 1 where the answer is not the target's class, of [O, B] numbers."""
    valid = ~np.isnan(y).any(axis=0)
    if len(y) == 1:
        right = (y[0] < 0.5) == (targets[0] < 0.5)
    else:
        right = np.where(valid, y, 0).argmax(axis=0) == targets.argmax(axis=0)
    wrong: Values = (~(right & valid)).astype(y.dtype)
    return wrong


SAMPLE_LOSSES = {"squared": squared, "cross_entropy": cross_entropy, "misses": misses}
