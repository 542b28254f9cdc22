"""Drop-in `FeedForwardNetwork` and `RecurrentNetwork`: neat-python's classes, compiled.

    from evonet.plugins.neat_python import FeedForwardNetwork  # was: neat.nn

Constructor, methods, attributes and errors are neat-python's, and so are the answers, bit for
bit: the nodes are evaluated in float64 with the functions of the C library, as Python does. Nodes
with custom functions call them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from neat.nn import FeedForwardNetwork as NeatFeedForward
from neat.nn import RecurrentNetwork as NeatRecurrent

from evonet.definitions.dynamics import Dynamics
from evonet.plugins.neat_python.drop_in import (
    CompiledNodes,
    NodeValues,
    TwoBuffers,
    check_rows,
    compile_genome,
    compile_rows,
)
from evonet.plugins.neat_python.exact import compile_exact, run_samples
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome, NeatGenomes
from evonet.plugins.neat_python.genomes import list_genomes


class FeedForwardNetwork(CompiledNodes, NeatFeedForward):  # type: ignore[misc]
    """neat-python's `FeedForwardNetwork`, compiled.

    Attributes:
        input_nodes: Keys of the inputs.
        output_nodes: Keys of the outputs.
    """

    _feed_forward = True

    def __init__(self, inputs: list[int], outputs: list[int], node_evals: Any) -> None:
        """Takes nodes in the order of evaluation.

        Args:
            inputs: Keys of the inputs.
            outputs: Keys of the outputs.
            node_evals: Tuples (node, activation, aggregation, bias, response, links), with links
                (source, weight).
        """
        engine = compile_rows(inputs, outputs, [(*node, 1.0) for node in node_evals])
        if engine is not None and not engine.reads_only_what_is_known():
            engine = None  # such a node reads what an earlier call left behind
        self._start(inputs, outputs, engine)
        if engine is None:
            NeatFeedForward.__init__(self, inputs, outputs, node_evals)

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
        if engine is not None:
            return FeedForwardNetwork._of_engine(engine, config)
        made = NeatFeedForward.create(genome, config, unique_value, random_values)
        return FeedForwardNetwork(made.input_nodes, made.output_nodes, made.node_evals)

    def activate(self, inputs: Sequence[float]) -> list[float]:
        """Answers one sample.

        Args:
            inputs: [I].

        Returns:
            [O].

        Raises:
            RuntimeError: There are more or fewer inputs.
            OverflowError: A square or cube is too large for a float.
        """
        engine = self._engine
        if engine is None:
            answers: list[float] = NeatFeedForward.activate(self, inputs)
            return answers
        self._check_inputs(inputs)
        answers = engine.activate_feed_forward(inputs)
        return answers

    @property
    def values(self) -> Any:
        """The value of every node, by key."""
        return self._plain_values if self._engine is None else NodeValues(self._engine, 0, True)

    @values.setter
    def values(self, values: Any) -> None:
        if self._engine is None:
            self._plain_values = values
        else:
            NodeValues(self._engine, 0, True).update(values)

    def activate_batch(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Answers many samples at once.

        Args:
            x: [B, I].

        Returns:
            [B, O], with the bits of `activate`.

        Raises:
            RuntimeError: x has another shape.
        """
        samples = check_rows(x, self._num_inputs)
        if self._engine is not None:
            return self._activate_rows(samples)
        return self._stack([self.activate(row) for row in samples.tolist()])

    @staticmethod
    def activate_population(
        genomes: NeatGenomes, config: NeatConfig, x: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """Answers for all genomes and all samples at once.

        Args:
            genomes: P genomes, as a fitness function gets them.
            config: A `neat.Config`.
            x: [B, I].

        Returns:
            [P, B, O].

        Raises:
            GenomeError: A gene makes no sense; names the genome.
            ShapeError: x has another shape.
        """
        return _activate_population(genomes, config, x, "feedforward", FeedForwardNetwork.create)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by the nodes and their values."""
        return type(self), self._made_of(), {"values": dict(self.values)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if self._engine is not None:
            self._engine.activated = len(state["values"]) > len(self.values)
        self.values = state["values"]


class RecurrentNetwork(TwoBuffers, NeatRecurrent):  # type: ignore[misc]
    """neat-python's `RecurrentNetwork`, compiled.

    Attributes:
        input_nodes: Keys of the inputs.
        output_nodes: Keys of the outputs.
    """

    def __init__(self, inputs: list[int], outputs: list[int], node_evals: Any) -> None:
        """Takes nodes; arguments as for `FeedForwardNetwork`."""
        engine = compile_rows(inputs, outputs, [(*node, 1.0) for node in node_evals])
        self._start(inputs, outputs, engine)
        if engine is None:
            NeatRecurrent.__init__(self, inputs, outputs, node_evals)

    @staticmethod
    def create(genome: NeatGenome, config: NeatConfig) -> RecurrentNetwork:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections.
            config: A `neat.Config`.
        """
        engine = compile_genome(False, genome, config, 1.0)
        if engine is not None:
            return RecurrentNetwork._of_engine(engine, config)
        made = NeatRecurrent.create(genome, config)
        return RecurrentNetwork(made.input_nodes, made.output_nodes, made.node_evals)

    def activate(self, inputs: Sequence[float]) -> list[float]:
        """Takes one step: every value travels one link.

        Args:
            inputs: [I].

        Returns:
            [O].

        Raises:
            RuntimeError: There are more or fewer inputs.
            OverflowError: A square or cube is too large for a float.
        """
        engine = self._engine
        if engine is None:
            answers: list[float] = NeatRecurrent.activate(self, inputs)
            return answers
        self._check_inputs(inputs)
        answers = engine.activate_recurrent(inputs)
        return answers

    def activate_batch(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Takes one step with many samples, each of which has its own memory until `reset`.

        Args:
            x: [B, I], with the same B in every call until `reset`.

        Returns:
            [B, O], with the bits of `activate`.

        Raises:
            RuntimeError: x has another shape, or more or fewer samples than before.
        """
        samples = check_rows(x, self._num_inputs)
        if self._engine is not None:
            return self._activate_rows(samples)
        return self._stack([copy.activate(row) for copy, row in self._pair_copies(samples)])

    @staticmethod
    def activate_population(
        genomes: NeatGenomes, config: NeatConfig, x: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """Takes the first step of all genomes on all samples.

        Args:
            genomes: P genomes, as a fitness function gets them.
            config: A `neat.Config`.
            x: [B, I]; or [B, T, I], sequences of T steps.

        Returns:
            [P, B, O], or [P, B, T, O].

        Raises:
            GenomeError: A gene makes no sense; names the genome.
            ShapeError: x has another shape.
        """
        return _activate_population(genomes, config, x, "recurrent", RecurrentNetwork.create)


def _activate_population(
    genomes: NeatGenomes,
    config: NeatConfig,
    x: npt.ArrayLike,
    kind: str,
    create: Callable[[NeatGenome, NeatConfig], Any],
) -> npt.NDArray[np.float64]:
    ids, found = list_genomes(genomes)
    network = compile_exact(ids, found, config, Dynamics.of(kind), lambda g: create(g, config))
    return run_samples(network, x)
