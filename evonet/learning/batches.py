"""Which samples a step learns from: permutations by Philox, one after the other.

Samples are shuffled, used up in that order and shuffled again. The order depends on the seed and on
the number of the step, and is the same for all genomes: a part of a population, wherever it learns,
sees what it would see among the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evonet.numerics.philox import Purpose, philox

Ints = npt.NDArray[np.int64]


def shuffled(seed: int, turn: int, count: int, purpose: Purpose = Purpose.BATCH) -> Ints:
    """The numbers 0 to count - 1 in the random order of a turn."""
    words = philox(seed, turn, 0, purpose, np.arange(count))
    return np.lexsort((words[1], words[0])).astype(np.int64)


def split(seed: int, count: int, held_out: float) -> tuple[Ints, Ints]:
    """Which of `count` samples are learned from, and which are held out, in ascending order."""
    num_held_out = round(held_out * count)
    order = shuffled(seed, 0, count, Purpose.HELD_OUT)
    return np.sort(order[num_held_out:]), np.sort(order[:num_held_out])


def batches(seed: int, samples: Ints, batch: int, first_step: int, num_steps: int) -> Ints:
    """[S, b] the samples of the steps from `first_step` on.

    Args:
        seed: Decides the order.
        samples: [n] positions of the samples to learn from.
        batch: Samples per step; 0 takes all, in order, and so does a batch of n or more.
        first_step: Number of the first step.
        num_steps: S.
    """
    count = len(samples)
    if batch == 0 or batch >= count:
        return np.tile(samples, (num_steps, 1))
    begin, end = first_step * batch, (first_step + num_steps) * batch
    turns = range(begin // count, -(-end // count))
    order = np.concatenate([shuffled(seed, turn, count) for turn in turns])
    used = order[begin - turns.start * count :][: end - begin]
    found: Ints = samples[used].reshape(num_steps, batch)
    return found
