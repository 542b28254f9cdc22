"""Drop-in `FeedForwardNetwork` and `RecurrentNetwork`: neat-python's classes, compiled.

    from evonet.plugins.neat_python import FeedForwardNetwork  # was: neat.nn

Constructor, methods, attributes and errors are neat-python's, and so are the answers, bit for
bit: the nodes are evaluated in float64 with the functions of the C library, as Python does. Nodes
with functions of the user's own call them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from neat.nn import FeedForwardNetwork as NeatFeedForward
from neat.nn import RecurrentNetwork as NeatRecurrent

from evonet.plugins.neat_python.compiled import CompiledNodes, check_rows, compile_rows
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome, NeatGenomes
from evonet.plugins.neat_python.installed import evaluates_orphans, network_engine
from evonet.plugins.neat_python.node_values import NodeValues
from evonet.plugins.neat_python.two_buffers import TwoBuffers


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
        self._begin(inputs, outputs, engine)
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
            unique_value: A weight that all expressed connections of the genome are given.
            random_values: Whether they are given random weights between -1 and 1.
        """
        settings = config.genome_config
        if unique_value or random_values or not _reads_genomes(genome):
            made = NeatFeedForward.create(genome, config, unique_value, random_values)
            return FeedForwardNetwork(made.input_nodes, made.output_nodes, made.node_evals)
        network = object.__new__(FeedForwardNetwork)
        network._begin(settings.input_keys, settings.output_keys, _create(True, genome, settings))
        return network

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
        """What every node holds, by key."""
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
        if self._engine is not None:
            return self._activate_batch(x)
        samples = check_rows(x, self._num_inputs)
        return _stack([self.activate(row) for row in samples.tolist()], self)

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
        return _activate_population(genomes, config, x, "feedforward")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by what it was made from, and what its nodes hold."""
        made_of = (self.input_nodes, self.output_nodes, _plain(self.node_evals))
        return type(self), made_of, {"values": dict(self.values)}

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

    _feed_forward = False

    def __init__(self, inputs: list[int], outputs: list[int], node_evals: Any) -> None:
        """Takes nodes; arguments as for `FeedForwardNetwork`."""
        rows = [(*node, 1.0) for node in node_evals]
        engine = compile_rows(inputs, outputs, rows)
        self._begin(inputs, outputs, engine)
        self._plain_active = 0
        self._samples: list[Any] | None = None
        if engine is None:
            NeatRecurrent.__init__(self, inputs, outputs, node_evals)

    @staticmethod
    def create(genome: NeatGenome, config: NeatConfig) -> RecurrentNetwork:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections.
            config: A `neat.Config`.
        """
        settings = config.genome_config
        if not _reads_genomes(genome):
            made = NeatRecurrent.create(genome, config)
            return RecurrentNetwork(made.input_nodes, made.output_nodes, made.node_evals)
        network = object.__new__(RecurrentNetwork)
        network._begin(settings.input_keys, settings.output_keys, _create(False, genome, settings))
        network._plain_active = 0
        network._samples = None
        return network

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

    def fresh(self) -> RecurrentNetwork:
        """Another network of the same nodes that remembers nothing."""
        return RecurrentNetwork(self.input_nodes, self.output_nodes, _plain(self.node_evals))

    def reset(self) -> None:
        """Forgets everything, that of `activate_batch` too."""
        if self._engine is None:
            NeatRecurrent.reset(self)
        else:
            self._engine.begin(1)
        self._samples = None
        self._batch = None

    def activate_batch(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Takes one step with many samples, each with a memory of its own, until `reset`.

        Args:
            x: [B, I], with the same B in every call until `reset`.

        Returns:
            [B, O], with the bits of `activate`.

        Raises:
            RuntimeError: x has another shape, or more or fewer samples than before.
        """
        if self._engine is not None:
            return self._activate_batch(x)
        samples = check_rows(x, self._num_inputs)
        if self._samples is None:
            self._samples = [self.fresh() for _ in samples]
        if len(self._samples) != len(samples):
            raise RuntimeError(f"Expected {len(self._samples)} samples, got {len(samples)}")
        pairs = zip(self._samples, samples.tolist(), strict=True)
        return _stack([network.activate(row) for network, row in pairs], self)

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
        return _activate_population(genomes, config, x, "recurrent")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by what it was made from, and what its nodes hold."""
        made_of = (self.input_nodes, self.output_nodes, _plain(self.node_evals))
        state = {"values": [dict(v) for v in self.values], "active": self.active}
        return type(self), made_of, state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.values = state["values"]
        self.active = state["active"]


def _reads_genomes(genome: NeatGenome) -> bool:
    """Whether the extension can do what the installed `create` does."""
    ordinary = isinstance(genome.nodes, dict) and isinstance(genome.connections, dict)
    return network_engine() is not None and evaluates_orphans() and ordinary


def _create(feed_forward: bool, genome: NeatGenome, settings: Any) -> Any:
    native = network_engine()
    assert native is not None
    return native.NeatNetwork.create(
        feed_forward,
        genome,
        settings.input_keys,
        settings.output_keys,
        settings.activation_defs,
        settings.aggregation_function_defs,
        1.0,
    )


def _activate_population(
    genomes: NeatGenomes, config: NeatConfig, x: npt.ArrayLike, kind: str
) -> npt.NDArray[np.float64]:
    from evonet.plugins.neat_python.compiling import compile_genomes, run_samples

    return run_samples(compile_genomes(genomes, config, kind=kind), x)


def _plain(node_evals: Iterable[Any]) -> list[Any]:
    return [(*node[:5], list(node[5])) for node in node_evals]


def _stack(rows: list[list[float]], network: CompiledNodes) -> npt.NDArray[np.float64]:
    return np.array(rows, np.float64).reshape(len(rows), len(network.output_nodes))
