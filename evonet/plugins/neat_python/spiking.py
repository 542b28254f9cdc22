"""Drop-in `IZNN`: neat-python's network of Izhikevich's spiking neurons, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from neat.iznn import IZNN as NeatIZNN  # noqa: N811
from neat.iznn import IZNeuron

from evonet.plugins.neat_python.drop_in import (
    DropIn,
    EngineAttribute,
    ReadOnlyList,
    check_rows,
    engine_for,
)
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.installed import resets_what_is_not_finite

_NUMBERS = ("bias", "a", "b", "c", "d", "v", "u", "fired", "current")


class CompiledNeuron(IZNeuron):  # type: ignore[misc]
    """A neuron of a compiled network, whose numbers it reads and sets.

    Attributes:
        inputs: Links (source, weight); read-only.
    """

    def __init__(self, neuron: Any, inputs: list[tuple[int, float]]) -> None:
        """Views a native `NeatNeuron`."""
        object.__setattr__(self, "_neuron", neuron)
        object.__setattr__(self, "inputs", ReadOnlyList(inputs))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NUMBERS:
            raise AttributeError(f"{name} of a compiled neuron cannot be set")
        setattr(self._neuron, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies as one of neat-python's neurons."""
        made_of = (self.bias, self.a, self.b, self.c, self.d, list(self.inputs))
        state = {name: getattr(self, name) for name in _NUMBERS}
        return IZNeuron, made_of, state


# Scripts read these of every neuron in every step: a property of an attrgetter runs no Python.
for _name in _NUMBERS:
    setattr(CompiledNeuron, _name, property(attrgetter(f"_neuron.{_name}")))


def _neurons(network: IZNN) -> dict[int, Any]:
    """Makes the views of an engine's neurons once."""
    if network._views is None:
        engine = network._engine
        found = (CompiledNeuron(engine.neuron(i), engine.links(i)) for i in range(len(engine)))
        network._views = {neuron._neuron.key: neuron for neuron in found}
    return network._views


class IZNN(DropIn, NeatIZNN):  # type: ignore[misc]
    """neat-python's `IZNN`; networks that `create` makes are compiled.

    Attributes:
        inputs: Keys of the inputs.
        outputs: Keys of the outputs.
        neurons: The neurons by node.
        input_values: The last inputs by key.
    """

    _views: dict[int, Any] | None = None
    neurons = EngineAttribute(_neurons)
    input_values = EngineAttribute(lambda network: network._engine.input_values())

    def __init__(self, neurons: dict[int, Any], inputs: list[int], outputs: list[int]) -> None:
        """Takes neurons that live in Python; neat-python's own code advances them.

        Args:
            neurons: Objects like neat-python's `IZNeuron`, by node.
            inputs: Keys of the inputs.
            outputs: Keys of the outputs.
        """
        self._engine = None
        NeatIZNN.__init__(self, neurons, inputs, outputs)

    @staticmethod
    def create(genome: NeatGenome, config: NeatConfig) -> IZNN:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections, such as an `IZGenome`.
            config: A `neat.Config`.
        """
        native, settings = engine_for(genome), config.genome_config
        if native is None:
            made = NeatIZNN.create(genome, config)
            return IZNN(made.neurons, made.inputs, made.outputs)
        keys = settings.input_keys, settings.output_keys
        return IZNN._of_engine(native.NeatSpikingNetwork.create(genome, *keys), *keys)

    @classmethod
    def _of_engine(cls, engine: Any, inputs: list[int], outputs: list[int]) -> IZNN:
        network = object.__new__(IZNN)
        network._engine, network.inputs, network.outputs = engine, inputs, outputs
        return network

    def set_inputs(self, inputs: Sequence[float]) -> None:
        """Sets the inputs of all following steps.

        Args:
            inputs: [I].

        Raises:
            RuntimeError: There are more or fewer inputs.
        """
        if self._engine is None or len(inputs) != len(self.inputs):
            NeatIZNN.set_inputs(self, inputs)
        else:
            self._engine.set_inputs(list(inputs))

    def advance(self, dt_msec: float) -> list[float]:
        """Lets time pass.

        Args:
            dt_msec: How much time, in milliseconds, as one step.

        Returns:
            [O], 1 for outputs that fire and 0 for others.

        Raises:
            KeyError: A neuron reads an input, and inputs were never set.
        """
        if self._engine is None:
            fired: list[float] = NeatIZNN.advance(self, dt_msec)
            return fired
        fired = self._engine.advance(dt_msec, resets_what_is_not_finite())
        return fired

    def reset(self) -> None:
        """Returns to the first state, in batches too."""
        if self._engine is None:
            NeatIZNN.reset(self)
        else:
            self._engine.reset()
        self._copies = None

    def advance_batch(self, x: npt.ArrayLike, dt_msec: float) -> npt.NDArray[np.float64]:
        """Lets time pass for many samples, each of which has its own memory until `reset`.

        Args:
            x: [B, I], with the same B in every call until `reset`.
            dt_msec: How much time, in milliseconds, as one step.

        Returns:
            [B, O], 1 for outputs that fire and 0 for others.

        Raises:
            RuntimeError: x has another shape, or more or fewer samples than before.
        """

        def advance(network: IZNN, row: list[float]) -> list[float]:
            network.set_inputs(row)
            return network.advance(dt_msec)

        return self._answer_rows(check_rows(x, len(self.inputs)), len(self.outputs), advance)

    def fresh(self) -> IZNN:
        """Returns another network of the same neurons, in its first state."""
        if self._engine is not None:
            fresh = IZNN._of_engine(self._engine.copy(), self.inputs, self.outputs)
        else:
            neurons = {
                key: IZNeuron(n.bias, n.a, n.b, n.c, n.d, n.inputs)
                for key, n in self.neurons.items()
            }
            fresh = IZNN(neurons, self.inputs, self.outputs)
        fresh.reset()
        return fresh

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies as a network whose neurons live in Python."""
        made_of = (self.neurons, self.inputs, self.outputs)
        return type(self), made_of, {"input_values": dict(self.input_values)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.input_values = state["input_values"]
