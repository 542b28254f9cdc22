"""Learning from examples: networks are scored by how far their answers are off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.errors import ShapeError

if TYPE_CHECKING:
    from evonet.network import Network


class Supervised:
    """Fitness = best - sum of squared errors over all samples and outputs.

    Attributes:
        x: [B, I] samples.
        y: [B, O] the right answers.
        best: Fitness of a network without error.
        num_inputs: I.
        num_outputs: O.
    """

    def __init__(self, x: npt.ArrayLike, y: npt.ArrayLike, best: float = 0.0) -> None:
        """Takes the examples.

        Raises:
            ShapeError: x and y are not two-dimensional or differ in length.
        """
        self.x = np.asarray(x, np.float64)
        self.y = np.asarray(y, np.float64)
        if self.x.ndim != 2 or self.y.ndim != 2 or len(self.x) != len(self.y):
            raise ShapeError(
                "examples need x of shape [B, I] and y of shape [B, O], "
                f"found {list(self.x.shape)} and {list(self.y.shape)}."
            )
        self.best = best
        self.num_inputs = self.x.shape[1]
        self.num_outputs = self.y.shape[1]

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Scores every genome; the seed makes no difference.

        Args:
            network: P compiled networks.
            seed: Ignored.

        Returns:
            [P] fitness.
        """
        return self.best - network.loss(self.x, self.y)


def xor() -> Supervised:
    """The exclusive or of two inputs; a perfect network scores 4."""
    x = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    return Supervised(x, [[0.0], [1.0], [1.0], [0.0]], best=4.0)
