"""Networks whose outputs are the hidden values of a wide level: used as they are, or trained."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.backends.reference.wide import adam_step
from evonet.backends.wide_level import AdamRule
from evonet.errors import OptionError, ShapeError
from evonet.genes.genome import Genome
from evonet.genes.population import Population
from evonet.learning.wide.rows import Rows
from evonet.network import Network, compile

Floats = NDArray[np.float32]
IDENTITY: Final = "identity"
GENES: Final = ("weight", "bias")


class Trunk:
    """A trunk that is used as it is.

    Args:
        trunk: A compiled network of one genome, a population of one, something with a `compile`
            that returns such a network, as champions have, or "identity" for the samples.
        num_inputs: Columns of the samples.

    Raises:
        OptionError: It is something else.
        ShapeError: It has other inputs than the samples.
    """

    def __init__(self, trunk: Any, num_inputs: int) -> None:
        self._network: Network | None = None
        self.num_outputs = num_inputs
        if not (isinstance(trunk, str) and trunk == IDENTITY):
            self._network = _network_of(trunk)
            self.num_outputs = self._network.num_outputs
            if self._network.num_inputs != num_inputs:
                found = self._network.num_inputs
                raise ShapeError(f"X has {num_inputs} features, and the trunk {found} inputs.")

    def answer(self, rows: Rows) -> NDArray[Any]:
        """The outputs for samples, [n, num_outputs]."""
        if self._network is None:
            return rows.dense()
        x = rows.dense().astype(self._network.dtype)
        answers: NDArray[Any] = np.asarray(self._network(x))[0]
        return answers


class TrainedTrunk(Trunk):
    """A trunk whose weights and biases learn with the level above it, by Adam.

    Args:
        trunk: A population of one genome, or something with such a `population`, as champions have.
        num_inputs: Columns of the samples.

    Attributes:
        population: The genome as it is now.
    """

    def __init__(self, trunk: Any, num_inputs: int) -> None:
        found = trunk if isinstance(trunk, Population) else getattr(trunk, "population", None)
        if not isinstance(found, Population):
            raise OptionError(
                "train_trunk=True needs a champion or a population of one genome as trunk."
            )
        super().__init__(found, num_inputs)
        self.population = found
        self._means = {
            name: [np.zeros(getattr(found, name).shape, np.float32) for _ in range(2)]
            for name in GENES
        }

    def learn(
        self, rows: Rows, answers: NDArray[Any], slopes: Floats, rule: AdamRule, step: int
    ) -> None:
        """Takes a step against the gradient of the loss by the outputs.

        Args:
            rows: The samples.
            answers: [n, num_outputs] what the trunk answered.
            slopes: [n, num_outputs] derivatives of the loss by these answers.
            rule: Adam's.
            step: Steps before this one.
        """
        assert self._network is not None
        # The squared error of answers and targets has twice their difference as its derivative.
        # A power of 2 makes that difference as large as the answers, so that no digits are lost.
        most = float(np.abs(slopes).max(initial=0.0))
        scale = math.ldexp(1.0, -math.frexp(most)[1]) if most > 0 else 1.0
        targets = answers - answers.dtype.type(0.5 * scale) * slopes.astype(answers.dtype)
        x = rows.dense().astype(self._network.dtype)
        _, found = self._network.gradients(x, targets, "squared")
        genes = {}
        for name in GENES:
            old = getattr(self.population, name)
            new = old.astype(np.float32)
            gradient = (found[name] / scale).astype(np.float32)
            adam_step(rule, step, gradient, new, *self._means[name])
            # A step of 0 leaves the gene as it is, digits beyond float32 included.
            genes[name] = np.where(new == old.astype(np.float32), old, new).astype(old.dtype)
        self._replace(genes)

    def _replace(self, genes: dict[str, NDArray[Any]]) -> None:
        self.population = self.population.replace(**genes)
        self._network = compile(self.population)

    def pack(self) -> dict[str, NDArray[Any]]:
        """All that learning changed, by name."""
        found = {f"trunk.{name}": getattr(self.population, name) for name in GENES}
        for name, (mean, square) in self._means.items():
            found |= {f"trunk.{name}.mean": mean, f"trunk.{name}.square": square}
        return found

    def unpack(self, found: dict[str, NDArray[Any]]) -> None:
        """Takes over what `pack` returned.

        Raises:
            ShapeError: It is that of another trunk.
        """
        expected = self.pack()
        for name, array in expected.items():
            if name not in found or (found[name].shape, found[name].dtype) != (
                array.shape,
                array.dtype,
            ):
                raise ShapeError("the trunk has other genes than the one that was trained.")
        for name in GENES:
            self._means[name] = [found[f"trunk.{name}.mean"], found[f"trunk.{name}.square"]]
        self._replace({name: found[f"trunk.{name}"] for name in GENES})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_network": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._network = compile(self.population)


def padded(answers: NDArray[Any], width: int) -> Floats:
    """Outputs as rows of a level, with zeros behind them."""
    hidden = np.zeros((len(answers), width), np.float32)
    hidden[:, : answers.shape[1]] = answers
    return hidden


def _network_of(trunk: Any) -> Network:
    if isinstance(trunk, Population | Genome):
        trunk = compile(trunk)
    elif not isinstance(trunk, Network) and callable(getattr(trunk, "compile", None)):
        trunk = trunk.compile()
    if not isinstance(trunk, Network) or trunk.num_genomes != 1:
        raise OptionError(
            "trunk must be a compiled network, a champion or a population, of one genome, or "
            '"identity".'
        )
    if trunk.kind != "feedforward":
        raise OptionError(f"trunk must be a feed-forward network, and this one is {trunk.kind}.")
    return trunk
