"""Drop-in `CTRNN`: neat-python's continuous-time network, compiled.

It takes the steps that the installed version takes: exact ones from 2.1 on, and before that
forward Euler between two buffers, with all that follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from neat.ctrnn import CTRNN as NeatCTRNN  # noqa: N811
from neat.ctrnn import CTRNNNodeEval

from evonet.plugins.neat_python.compiled import Row, check_rows, compile_rows
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.installed import (
    ctrnn_rule,
    evaluates_orphans,
    network_engine,
    takes_time_constant,
)
from evonet.plugins.neat_python.read_only import ReadOnlyList
from evonet.plugins.neat_python.two_buffers import TwoBuffers


class ReadOnlyEval(CTRNNNodeEval):  # type: ignore[misc]
    """A node of a compiled network, which does not follow changes of it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise TypeError(
                f"{name} of a compiled network's node cannot be set. Make another network from "
                "changed nodes: CTRNN(inputs, outputs, node_evals)."
            )
        super().__setattr__(name, value)


class CTRNN(TwoBuffers, NeatCTRNN):  # type: ignore[misc]
    """neat-python's `CTRNN`, compiled.

    Attributes:
        input_nodes: Keys of the inputs.
        output_nodes: Keys of the outputs.
    """

    _feed_forward = False

    def __init__(self, inputs: list[int], outputs: list[int], node_evals: Any) -> None:
        """Takes nodes.

        Args:
            inputs: Keys of the inputs.
            outputs: Keys of the outputs.
            node_evals: Objects like neat-python's `CTRNNNodeEval`, by node.
        """
        self._finish(inputs, outputs, _compile(inputs, outputs, node_evals), node_evals)

    def _finish(
        self, inputs: list[int], outputs: list[int], engine: Any, node_evals: Any = None
    ) -> None:
        self._begin(inputs, outputs, engine)
        self._plain_active = 0
        self._plain_time = 0.0
        self._samples: list[Any] | None = None
        if engine is None:
            NeatCTRNN.__init__(self, inputs, outputs, node_evals)

    @staticmethod
    def create(genome: NeatGenome, config: NeatConfig, time_constant: float | None = None) -> CTRNN:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections.
            config: A `neat.Config`.
            time_constant: The one of all nodes, in seconds, where the installed neat-python has
                none in its genes: before 2.0.

        Raises:
            TypeError: There is a time constant too much, or too little.
        """
        native, settings = network_engine(), config.genome_config
        ordinary = isinstance(genome.nodes, dict) and isinstance(genome.connections, dict)
        if (time_constant is not None) != takes_time_constant():
            what = "needs a time constant" if time_constant is None else "takes no time constant"
            raise TypeError(f"CTRNN.create() of the installed neat-python {what}")
        if native is None or not ordinary or not evaluates_orphans() or ctrnn_rule() == "unknown":
            given = () if time_constant is None else (time_constant,)
            made = NeatCTRNN.create(genome, config, *given)
            return CTRNN(made.input_nodes, made.output_nodes, made.node_evals)
        network = object.__new__(CTRNN)
        engine = native.NeatNetwork.create(
            False,
            genome,
            settings.input_keys,
            settings.output_keys,
            settings.activation_defs,
            settings.aggregation_function_defs,
            time_constant,
        )
        network._finish(settings.input_keys, settings.output_keys, engine)
        return network

    def advance(
        self, inputs: Sequence[float], advance_time: float, time_step: float | None = None
    ) -> list[float]:
        """Lets time pass while the inputs stay as they are.

        Args:
            inputs: [I].
            advance_time: How much, in seconds.
            time_step: Seconds per step; the last one may be shorter.

        Returns:
            [O].

        Raises:
            RuntimeError: There are more or fewer inputs.
        """
        if self._engine is None:
            answers: list[float] = NeatCTRNN.advance(self, inputs, advance_time, time_step)
            return answers
        if time_step is None:
            time_step = 0.5 * self.get_max_time_step()
        self._check_inputs(inputs)
        exact = ctrnn_rule() == "exponential"
        answers = self._engine.advance(inputs, advance_time, time_step, exact)
        return answers

    def advance_batch(
        self, x: npt.ArrayLike, advance_time: float, time_step: float | None = None
    ) -> npt.NDArray[np.float64]:
        """Lets time pass for many samples, each with a memory of its own, until `reset`.

        Args:
            x: [B, I], with the same B in every call until `reset`.
            advance_time: How much, in seconds.
            time_step: Seconds per step.

        Returns:
            [B, O].

        Raises:
            RuntimeError: x has another shape, or more or fewer samples than before.
        """
        samples = check_rows(x, self._num_inputs)
        if self._engine is not None:
            if time_step is None:
                time_step = 0.5 * self.get_max_time_step()
            answers = np.empty((1, len(samples), len(self.output_nodes)))
            engine, exact = self._side_by_side(len(samples)), ctrnn_rule() == "exponential"
            engine.advance_rows(samples, answers, advance_time, time_step, exact)
            return answers.reshape(answers.shape[1:])
        if self._samples is None:
            self._samples = [self.fresh() for _ in samples]
        if len(self._samples) != len(samples):
            raise RuntimeError(f"Expected {len(self._samples)} samples, got {len(samples)}")
        pairs = zip(self._samples, samples.tolist(), strict=True)
        rows = [network.advance(row, advance_time, time_step) for network, row in pairs]
        return np.array(rows, np.float64).reshape(len(samples), len(self.output_nodes))

    def fresh(self) -> CTRNN:
        """Another network of the same nodes that remembers nothing."""
        return CTRNN(*self._made_of())

    def reset(self) -> None:
        """Forgets everything, that of `advance_batch` too."""
        if self._engine is None:
            NeatCTRNN.reset(self)
        else:
            self._engine.begin(1)
        self._samples = None
        self._batch = None

    def set_node_value(self, node_key: int, value: float) -> None:
        """Lets a node hold a value, in both buffers."""
        for values in self.values:
            values[node_key] = value

    @property
    def time_seconds(self) -> float:
        """How much time has passed."""
        return self._plain_time if self._engine is None else float(self._engine.time)

    @time_seconds.setter
    def time_seconds(self, seconds: float) -> None:
        if self._engine is None:
            self._plain_time = seconds
        else:
            self._engine.time = seconds

    def _evals(self, rows: list[Row]) -> Any:
        return {
            node: ReadOnlyEval(time, activation, aggregation, bias, response, ReadOnlyList(links))
            for node, activation, aggregation, bias, response, links, time in rows
        }

    def _made_of(self) -> tuple[Any, ...]:
        return self.input_nodes, self.output_nodes, self.node_evals

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by what it was made from, and what its nodes hold."""
        values = [dict(v) for v in self.values]
        state = {"values": values, "active": self.active, "time_seconds": self.time_seconds}
        return type(self), self._made_of(), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


def _compile(inputs: list[int], outputs: list[int], node_evals: dict[int, Any]) -> Any:
    if ctrnn_rule() == "unknown":
        return None
    rows = [
        (
            key,
            node.activation,
            node.aggregation,
            node.bias,
            node.response,
            node.links,
            node.time_constant,
        )
        for key, node in node_evals.items()
    ]
    return compile_rows(inputs, outputs, rows)
