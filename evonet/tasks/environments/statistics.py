"""Running statistics of observations, by which networks see them normalised.

They are frozen while a generation plays. What each episode adds to them is gathered by genome and
episode and merged in that order, so that nothing depends on what was played beside what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError

Floats = npt.NDArray[np.float64]

# Normalised observations are clipped, so that a surprise cannot saturate a whole network.
FARTHEST: Final = 10.0
# Added to variances: an input that never changes has none.
LEAST_VARIANCE: Final = 1e-8


class Statistics:
    """Count, mean and squared deviations of I inputs.

    Attributes:
        count: Observations so far.
        mean: [I].
        squares: [I] sums of squared deviations from the mean.
    """

    def __init__(self, num_inputs: int) -> None:
        """Knows nothing yet: observations stay as they are."""
        self.count = 0.0
        self.mean = np.zeros(num_inputs)
        self.squares = np.zeros(num_inputs)

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What is known, as arrays by name."""
        return {
            "observations": np.array([self.count]),
            "observation_mean": self.mean.copy(),
            "observation_squares": self.squares.copy(),
        }

    @state.setter
    def state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        size = len(self.mean)
        shapes = {"observations": 1, "observation_mean": size, "observation_squares": size}
        if not state:
            self.__init__(size)  # type: ignore[misc]
            return
        fits = state.keys() == shapes.keys() and all(
            state[name].shape == (shapes[name],) and np.isfinite(state[name]).all()
            for name in shapes
        )
        if not fits:
            raise OptionError(
                f"statistics of observations must be finite numbers for {size} inputs, found "
                f"{', '.join(f'{name} {list(a.shape)}' for name, a in state.items())}."
            )
        self.count = float(state["observations"][0])
        self.mean = np.array(state["observation_mean"], np.float64)
        self.squares = np.array(state["observation_squares"], np.float64)

    def scale(self) -> Floats:
        """[I] what deviations from the mean are multiplied by."""
        if self.count < 2:
            return np.ones_like(self.mean)
        return np.asarray(1 / np.sqrt(self.squares / self.count + LEAST_VARIANCE))

    def merge(self, moments: Floats) -> None:
        """Adds what was gathered.

        Args:
            moments: [P, E, 1 + 2 I] of each episode the number of observations, and the sums of
                their deviations from the frozen mean and of the squares of these.
        """
        count, total, squares = 0.0, np.zeros_like(self.mean), np.zeros_like(self.mean)
        size = len(self.mean)
        for row in moments.reshape(-1, 1 + 2 * size):
            count += row[0]
            total += row[1 : 1 + size]
            squares += row[1 + size :]
        if count == 0:
            return
        shift = total / count
        inner = np.maximum(squares - total * shift, 0)
        whole = self.count + count
        self.squares = self.squares + inner + shift * shift * (self.count * count / whole)
        self.mean = self.mean + shift * (count / whole)
        self.count = whole
