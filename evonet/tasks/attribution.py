"""Which inputs matter to a network: gradient times input.

An input matters as far as an answer would change if the input were 0, to first order: the
derivative of the answer by the input, times the input, without its sign. It is averaged over
examples; of several outputs, the largest is the answer to a question of classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import ExpressionError, OptionError

if TYPE_CHECKING:
    from evonet.network import Network

Reals = npt.NDArray[np.float64]

MOST_EXAMPLES: Final = 500
MOST_OUTPUTS: Final = 16


def input_shares(network: Network, x: Reals, *, classes: bool) -> Reals | None:
    """How much each input matters, [I], in parts of 1.

    Args:
        network: One compiled network.
        x: [B, I] examples, of which at most MOST_EXAMPLES are taken, evenly spaced.
        classes: Whether the largest output is the answer; else all outputs count.

    Returns:
        None for networks without gradients, and where no input matters at all.
    """
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_EXAMPLES)).astype(int))
    samples: Any = x[chosen]
    network.reset()
    answers = network(samples)[0].astype(np.float64)
    network.reset()
    outputs = range(min(answers.shape[1], MOST_OUTPUTS))
    picks = [answers.argmax(axis=1)] if classes else [np.full(len(samples), o) for o in outputs]
    found = np.zeros(x.shape[1])
    for pick in picks:
        # The squared error of answers that are half too high has the derivative 1.
        targets = answers - 0.5 * (np.arange(answers.shape[1]) == pick[:, None])
        try:
            has_memory = network.schedule.dynamics.has_memory
            _, slopes = network.gradients(
                samples[None] if has_memory else samples, targets, inputs=True
            )
        except (OptionError, ExpressionError):  # spiking networks, or a function without room
            return None
        slope = slopes["x"][0].reshape(samples.shape).astype(np.float64)
        found += np.abs(slope * samples).mean(axis=0)
    total = float(found.sum())
    return found / total if 0 < total < np.inf else None
