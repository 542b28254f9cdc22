"""What a champion can claim: its score on held-out examples, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evonet.messages import show
from evonet.numerics.intervals import proportion_interval, r2_interval

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.examples import Examples


@dataclass(frozen=True)
class Claim:
    """A score on examples that played no part in evolving or choosing a champion.

    Attributes:
        score: What is scored: "accuracy" or "r2".
        value: The score.
        low: Lower end of the interval that holds the score on all such examples in 99 of 100 cases.
        high: Upper end of that interval.
        guess: What the best answer would score that is the same for every example; None where
            classes are weighted, so that accuracy is not what was asked for.
        guessed: That answer, in words.
    """

    score: str
    value: float
    low: float
    high: float
    guess: float | None
    guessed: str

    @property
    def half_width(self) -> float:
        """How far the ends of the interval are from its middle."""
        return self.high / 2 - self.low / 2

    @property
    def beats_guess(self) -> bool:
        """Whether the champion surely does better than one answer for all examples."""
        return self.guess is None or self.low > self.guess

    def __str__(self) -> str:
        return f"99 % interval {self.low:.4g} to {self.high:.4g}"


def claim_accuracy(network: Network, train: Examples, test: Examples) -> Claim:
    """Compares the classes that one network answers with the right ones.

    Args:
        network: One compiled network.
        train: The examples it was trained on; the most frequent class of them is the guess.
        test: The held-out examples, at least one.
    """
    count = len(test.x)
    hits = count - round(float(network.loss(test.x, test.y, "misses")[0]))
    low, high = proportion_interval(hits, count)
    frequent = int((train.y > 0).sum(axis=0).argmax())
    guess = None
    if ((train.y == 0) | (train.y == 1)).all():
        guess = float((test.y.argmax(axis=1) == frequent).mean())
    name = test.classes[frequent] if test.classes else str(frequent)
    return Claim("accuracy", hits / count, low, high, guess, show(name))


def claim_r2(network: Network, test: Examples) -> Claim | None:
    """Compares the numbers that one network answers with the right ones; None if these are equal.

    Args:
        network: One compiled network.
        test: The held-out examples.
    """
    deviations = ((test.y - test.y.mean(axis=0)) ** 2).sum(axis=1)
    if not deviations.any():
        return None
    network.reset()  # examples know nothing of each other, even if the network has memory
    answers = network(test.x)[0].astype(np.float64)
    network.reset()
    errors = ((answers - test.y) ** 2).sum(axis=1)
    low, high = r2_interval(errors, deviations)
    value = 1 - float(np.cumsum(errors)[-1] / np.cumsum(deviations)[-1])
    return Claim("r2", value, low, high, 0.0, "the mean")
