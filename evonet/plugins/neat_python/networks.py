"""Drop-in `FeedForwardNetwork` and `RecurrentNetwork`: neat-python's classes, compiled.

    from evonet.plugins.neat_python import FeedForwardNetwork  # was: neat.nn

Constructor, methods, attributes and errors are neat-python's, and so are the answers, bit for
bit: the nodes are evaluated in float64 with the functions of the C library, as Python does. Nodes
with custom functions call them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from neat.nn import FeedForwardNetwork as NeatFeedForward
from neat.nn import RecurrentNetwork as NeatRecurrent

from evonet.definitions.dynamics import Dynamics
from evonet.plugins.neat_python.drop_in import (
    CompiledNodes,
    EngineAttribute,
    NodeValues,
    TwoBuffers,
    check_rows,
    compile_genome,
)
from evonet.plugins.neat_python.exact import compile_exact, run_samples
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome, NeatGenomes
from evonet.plugins.neat_python.genomes import list_genomes


class Activated(CompiledNodes):
    """A mix-in for networks that answer in one step."""

    def activate(self, inputs: Sequence[float]) -> list[float]:
        """Answers one sample; recurrent networks take a step: every value travels one link.

        Args:
            inputs: [I].

        Returns:
            [O].

        Raises:
            RuntimeError: There are more or fewer inputs.
            OverflowError: A square or cube is too large for a float.
        """
        step = self._step
        if step is None:
            answers: list[float] = super().activate(inputs)  # type: ignore[misc]
            return answers
        if len(inputs) != self._num_inputs:
            raise RuntimeError(f"Expected {self._num_inputs:n} inputs, got {len(inputs):n}")
        answers = step(inputs)
        return answers

    def activate_batch(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Answers many samples; in recurrent networks each has its own memory until `reset`.

        Args:
            x: [B, I]; for recurrent networks with the same B in every call until `reset`.

        Returns:
            [B, O], with the bits of `activate`.

        Raises:
            RuntimeError: x has another shape, or more or fewer samples than are remembered.
        """
        samples = check_rows(x, self._num_inputs)
        if self._engine is None:
            return self._answer_rows(
                samples, len(self.output_nodes), lambda network, row: network.activate(row)
            )
        engine, outputs = self._batch_engine(len(samples))
        engine.answer_rows(self._feed_forward, samples, outputs)
        return outputs.reshape(outputs.shape[1:])

    @classmethod
    def activate_population(
        cls, genomes: NeatGenomes, config: NeatConfig, x: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """Answers for all genomes and all samples at once, from the first state.

        Args:
            genomes: P genomes, as a fitness function gets them.
            config: A `neat.Config`.
            x: [B, I]; for recurrent networks also [B, T, I], sequences of T steps.

        Returns:
            [P, B, O], or [P, B, T, O].

        Raises:
            GenomeError: A gene makes no sense; names the genome.
            ShapeError: x has another shape.
        """
        create: Any = cls.create  # type: ignore[attr-defined]
        dynamics = Dynamics.of("feedforward" if cls._feed_forward else "recurrent")
        network = compile_exact(
            *list_genomes(genomes), config, dynamics, lambda genome: create(genome, config)
        )
        return run_samples(network, x)


class FeedForwardNetwork(Activated, NeatFeedForward):  # type: ignore[misc]
    """neat-python's `FeedForwardNetwork`, compiled.

    Attributes:
        input_nodes: Keys of the inputs.
        output_nodes: Keys of the outputs.
        node_evals: The nodes in the order of evaluation, as neat-python lists them; read-only.
        values: The value of every node, by key.
    """

    _feed_forward = True
    _step_name = "activate_feed_forward"

    values = EngineAttribute(
        lambda network: NodeValues(network._engine, 0, True),
        lambda network, values: network.values.update(values),
    )

    @staticmethod
    def create(
        genome: NeatGenome,
        config: NeatConfig,
        unique_value: Any = False,
        random_values: Any = False,
    ) -> FeedForwardNetwork:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections.
            config: A `neat.Config`.
            unique_value: A weight to give to all expressed connections of the genome.
            random_values: Whether to give them random weights between -1 and 1.
        """
        given = unique_value or random_values
        engine = None if given else compile_genome(True, genome, config, 1.0)
        return FeedForwardNetwork._make(genome, config, engine, unique_value, random_values)

    def _compile(self, inputs: list[int], outputs: list[int], node_evals: Any) -> Any:
        engine = super()._compile(inputs, outputs, node_evals)
        # Other nodes read what an earlier call left behind.
        return engine if engine is not None and engine.reads_only_what_is_known() else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by the nodes and their values."""
        return type(self), self._made_of(), {"values": dict(self.values)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if self._engine is not None:
            self._engine.activated = len(state["values"]) > len(self.values)
        self.values = state["values"]


class RecurrentNetwork(TwoBuffers, Activated, NeatRecurrent):  # type: ignore[misc]
    """neat-python's `RecurrentNetwork`, compiled.

    Attributes:
        input_nodes: Keys of the inputs.
        output_nodes: Keys of the outputs.
        node_evals: The nodes in the order of evaluation, as neat-python lists them; read-only.
        values: The value of every node, by key, in both buffers.
        active: Which of the two buffers the last step wrote.
    """

    _step_name = "activate_recurrent"

    @staticmethod
    def create(genome: NeatGenome, config: NeatConfig) -> RecurrentNetwork:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections.
            config: A `neat.Config`.
        """
        engine = compile_genome(False, genome, config, 1.0)
        return RecurrentNetwork._make(genome, config, engine)
