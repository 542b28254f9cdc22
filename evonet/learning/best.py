"""Early stopping: the genes of each genome that did best on held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.backends.learning import LearningState
    from evonet.schedule.schedule import Schedule


class Best:
    """The genes that had the smallest loss on held-out samples, for each genome.

    Attributes:
        genes: These genes.
        steps: [P] the steps that they are from.
        stopped: [P] the genomes that made no progress for too long.
    """

    def __init__(self, state: LearningState) -> None:
        """Starts from a first state."""
        self.genes, self.steps = state.genes.copy(), state.steps.copy()
        self._loss = np.full(len(state.steps), np.inf)
        self._waited = np.zeros(len(state.steps), np.int64)
        self.stopped = np.zeros(len(state.steps), np.bool_)

    def note(
        self,
        schedule: Schedule,
        state: LearningState,
        losses: npt.NDArray[np.float64],
        patience: int,
    ) -> None:
        """Takes over genes with smaller losses [P]; stops genomes whose patience is at its end."""
        better = losses < self._loss
        self._loss[better] = losses[better]
        self._waited = np.where(better, 0, self._waited + 1)
        self.steps[better] = state.steps[better]
        of_node = np.repeat(better, np.diff(schedule.node_start))
        of_link = np.repeat(of_node, np.diff(schedule.edge_start))
        for best, found in zip(self.genes, state.genes, strict=True):
            chosen = of_link if best is self.genes.weight else of_node
            best[chosen] = found[chosen]
        ends = state.active & (self._waited >= patience)
        self.stopped |= ends
        state.active[ends] = False
