"""How a job is cut into pieces: large ones first, and smaller ones the less is left.

A piece is worth half of an even share of what is left, by expected cost, so that workers finish
close together whatever genomes really cost. No piece is so small that handing it out would take
longer than it does.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from evonet.evaluators.jobs import Piece
from evonet.genes.population import Population

# Pieces that a worker would get if nothing was left after them.
SHARE: Final = 0.5
# Seconds below which a piece is not worth handing out.
LEAST_SECONDS: Final = 0.01
# What a genome costs beside its connections, in connections: steps of a task, and Python.
FIXED_COST: Final = 64.0


def expected_costs(population: Population) -> npt.NDArray[np.float64]:
    """[P] what genomes are expected to cost, relative to each other."""
    return FIXED_COST + np.diff(population.conn_start).astype(np.float64)


class Plan:
    """Cuts a job from its start to its end.

    Attributes:
        total: Genomes of an evaluation, or genomes times episodes of a re-test.
        is_retest: Whether it is a re-test.
    """

    def __init__(
        self,
        costs: npt.NDArray[np.float64],
        episodes: tuple[int, int] | None = None,
        splits: bool = True,
    ) -> None:
        """Plans an evaluation, or a re-test if there are episodes.

        Args:
            costs: [P] what each genome is expected to cost.
            episodes: The first episode of a re-test, and how many there are.
            splits: Whether genomes may be evaluated apart from each other.
        """
        self._genomes = len(costs)
        self._episodes = episodes
        self._splits = splits
        self.is_retest = episodes is not None
        # Episodes are alike, so they are cut first where there are more of them than genomes.
        self._by_episode = episodes is not None and episodes[1] > len(costs)
        if self._by_episode:
            assert episodes is not None
            costs = np.full(episodes[1], float(costs.sum()))
        self._ends = np.concatenate([[0.0], np.cumsum(costs)])
        self._next = 0
        self.total = self._genomes * (1 if episodes is None else episodes[1])

    def take(self, workers: int, seconds_per_cost: float = 0.0) -> Piece | None:
        """Cuts off the next piece; None if nothing is left.

        Args:
            workers: How many workers share what is left.
            seconds_per_cost: What a unit of cost takes, if that is known.
        """
        last = len(self._ends) - 1
        if self._next >= last:
            return None
        start, stop = self._next, last
        if self._splits:
            left = self._ends[-1] - self._ends[start]
            wanted = left * SHARE / workers
            least = LEAST_SECONDS / seconds_per_cost if seconds_per_cost > 0 else 0.0
            wanted = left if left < 2 * least else max(wanted, least)
            end = int(np.searchsorted(self._ends, self._ends[start] + wanted, side="right")) - 1
            stop = min(last, max(start + 1, end))
        self._next = stop
        if self._episodes is None:
            return Piece(start, stop)
        if self._by_episode:
            return Piece(0, self._genomes, self._episodes[0] + start, stop - start)
        return Piece(start, stop, *self._episodes)

    def cost(self, piece: Piece) -> float:
        """What a piece is expected to cost."""
        if self._by_episode:
            share = len(piece) / self._genomes
            return float(self._ends[1]) * piece.episodes * share
        return float(self._ends[piece.stop] - self._ends[piece.start])

    def size(self, piece: Piece) -> int:
        """How much of `total` a piece is."""
        return len(piece) * (1 if self._episodes is None else piece.episodes)

    def halves(self, piece: Piece) -> tuple[Piece, ...]:
        """Cuts a piece in two; none if it cannot be cut."""
        return piece.halves() if self._splits else ()
