"""What learning passes to a backend and gets back, in the layout of a schedule.

`evonet.schedule.gene_map` translates to the layout of a population.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Array = npt.NDArray[Any]

# In the order of kernels/learning/optimizers.h.
OPTIMIZERS: Final = ("sgd", "adam", "adamw")


class Genes(NamedTuple):
    """A number for each gene that can learn, or for what an optimiser keeps about it.

    Attributes:
        weight: [E].
        bias: [N].
        response: [N].
    """

    weight: Array
    bias: Array
    response: Array

    @classmethod
    def of(cls, schedule: Schedule) -> Genes:
        """Copies the genes of a schedule."""
        return cls(schedule.weight.copy(), schedule.bias.copy(), schedule.response.copy())

    def zeros(self) -> Genes:
        """Zeros of the same shapes."""
        return Genes(*(np.zeros_like(array) for array in self))

    def copy(self) -> Genes:
        """A copy of all arrays."""
        return Genes(*(array.copy() for array in self))


class Gradients(NamedTuple):
    """Losses and their derivatives.

    Attributes:
        losses: [P, 2] a sum over samples for each genome, and what its roundings left out.
        genes: The derivatives by the genes; 0 for nodes that are never evaluated.
        cell: [N, c] the derivatives by the numbers that only this kind of network has.
        x: [P, T, B, I] the derivatives by the samples, or None if they are not wanted.
    """

    losses: Array
    genes: Genes
    cell: Array
    x: Array | None


class UpdateRule(NamedTuple):
    """How a step changes genes; `kernels/learning/optimizers.h` has the formulas.

    Attributes:
        optimizer: A position in `OPTIMIZERS`.
        rate: The learning rate.
        momentum: What SGD keeps of its last step.
        beta1: What Adam keeps of its mean of gradients.
        beta2: What Adam keeps of its mean of squared gradients.
        epsilon: What Adam adds to the root.
        decay: Weight decay.
        clip: The largest norm of a genome's gradient; 0 for any.
        learns: Whether weights, biases and responses learn.
        corrections: [S, 2] for each step what Adam multiplies its two means by.
    """

    optimizer: int
    rate: float
    momentum: float
    beta1: float
    beta2: float
    epsilon: float
    decay: float
    clip: float
    learns: tuple[bool, bool, bool]
    corrections: npt.NDArray[np.float64]


class LearningState(NamedTuple):
    """Where all genomes are in their learning; steps change it in place.

    Attributes:
        genes: What has been learned.
        first: The momentum of SGD, or Adam's mean of gradients.
        second: Adam's mean of squared gradients.
        active: [P] whether a genome still learns.
        steps: [P] steps that it has taken, int64.
    """

    genes: Genes
    first: Genes
    second: Genes
    active: npt.NDArray[np.bool_]
    steps: npt.NDArray[np.int64]

    @classmethod
    def start(cls, schedule: Schedule) -> LearningState:
        """The state before the first step."""
        genes, count = Genes.of(schedule), schedule.num_genomes
        return cls(
            genes, genes.zeros(), genes.zeros(), np.ones(count, np.bool_), np.zeros(count, np.int64)
        )

    def copy(self) -> LearningState:
        """A copy of all arrays."""
        genes, first, second, active, steps = self
        return LearningState(genes.copy(), first.copy(), second.copy(), active.copy(), steps.copy())
