"""Losses: how far the answers of many networks are off, always added up in the same order.

Every function takes outputs [P, B, O] and gives the sum over samples of each genome's loss, [P]
in float64. Only operations that are rounded alike everywhere are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.reference_functions import activate
from evonet.functions import ACTIVATION_IDS

Sums = npt.NDArray[np.float64]
Outputs = npt.NDArray[Any]


def squared_error(outputs: Outputs, targets: Sums) -> Sums:
    """Squared distances, summed over samples and outputs.

    Args:
        outputs: [P, B, O].
        targets: [B, O].
    """
    total = np.zeros(len(outputs))
    for sample in range(outputs.shape[1]):
        for output in range(outputs.shape[2]):
            error = outputs[:, sample, output].astype(np.float64) - targets[sample, output]
            total += error * error
    return total


def cross_entropy(outputs: Outputs, targets: Sums) -> Sums:
    """Minus the logarithms of the probabilities that softmax gives to the right classes.

    Args:
        outputs: [P, B, O].
        targets: [B, O], 1 for the right class and 0 for the others.
    """
    scores = np.ascontiguousarray(outputs, np.float64)
    below_best = scores - scores.max(axis=2, keepdims=True)
    powers = activate(ACTIVATION_IDS["exp"], below_best)
    total_power = np.zeros(powers.shape[:2])
    for output in range(powers.shape[2]):
        total_power += powers[:, :, output]
    right = below_best[:, np.arange(len(targets)), targets.argmax(axis=1)]
    losses = activate(ACTIVATION_IDS["log"], total_power) - right
    total = np.zeros(len(losses))
    for sample in range(losses.shape[1]):
        total += losses[:, sample]
    return total


def right_answers(outputs: Outputs, targets: Sums) -> Sums:
    """How many samples have their largest output at the right class; the first of equals counts.

    Args:
        outputs: [P, B, O].
        targets: [B, O], 1 for the right class and 0 for the others.
    """
    known = np.where(np.isnan(outputs), -np.inf, outputs)
    right: Sums = (known.argmax(axis=2) == targets.argmax(axis=1)).sum(axis=1).astype(np.float64)
    return right


LOSSES: Final[dict[str, Callable[[Outputs, Sums], Sums]]] = {
    "squared_error": squared_error,
    "cross_entropy": cross_entropy,
}
