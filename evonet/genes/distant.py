"""Genes that are in the memory of a GPU, as a population sees them."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from evonet.genes.arrays import GeneArrays, Int64Array, RealType


class DistantGenes(Protocol):
    """All arrays of a population, in the memory of a GPU, where they never change.

    Attributes:
        num_genomes: P.
        num_nodes: N.
        num_connections: E.
        dtype: Type of the real-valued genes.
    """

    num_genomes: int
    num_nodes: int
    num_connections: int
    dtype: RealType

    def fetch(self, name: str) -> NDArray[Any]:
        """Copies an array to the host; a second call returns the same copy.

        Raises:
            DeviceError: The GPU fails.
        """

    def count_enabled(self) -> int:
        """Counts the connections that are enabled.

        Raises:
            DeviceError: The GPU fails.
        """

    def gather(self, genomes: Int64Array) -> GeneArrays | None:
        """Copies a few genomes to the host as the arrays of a population.

        Args:
            genomes: [Q] their positions, in any order.

        Returns:
            None where copying whole arrays and selecting from them is better.

        Raises:
            DeviceError: The GPU fails.
        """
