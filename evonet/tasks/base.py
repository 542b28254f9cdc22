"""What everything that can be evolved on has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.network import Network


@runtime_checkable
class Task(Protocol):
    """Scores a whole population at once.

    Attributes:
        num_inputs: What networks see, I.
        num_outputs: What networks answer, O.
    """

    num_inputs: int
    num_outputs: int

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Scores every genome.

        Args:
            network: P compiled networks.
            seed: Differs from generation to generation; for tasks with chance in them.

        Returns:
            [P] fitness.
        """
