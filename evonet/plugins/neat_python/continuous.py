"""Drop-in `CTRNN`: neat-python's continuous-time network, compiled.

It takes the steps that the installed version takes: exact ones from 2.1 on, and before that
forward Euler between two buffers, with all that follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from neat.ctrnn import CTRNN as NeatCTRNN  # noqa: N811
from neat.ctrnn import CTRNNNodeEval

from evonet.plugins.neat_python.drop_in import (
    EngineAttribute,
    ReadOnlyList,
    Row,
    TwoBuffers,
    check_rows,
    compile_genome,
    compile_rows,
)
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.installed import ctrnn_rule, takes_time_constant

_FIELDS = attrgetter("activation", "aggregation", "bias", "response", "links", "time_constant")


class ReadOnlyEval(CTRNNNodeEval):  # type: ignore[misc]
    """A node of a compiled network, which would not follow changes of it."""

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
        node_evals: The nodes by key, as neat-python has them; read-only.
        values: The value of every node, by key, in both buffers.
        active: Which of the two buffers the last step wrote.
        time_seconds: How much time has passed, in seconds.
    """

    _step_name = "advance"
    _state = ("active", "time_seconds")

    time_seconds = EngineAttribute(
        lambda network: float(network._engine.time),
        lambda network, seconds: setattr(network._engine, "time", seconds),
    )

    @staticmethod
    def create(genome: NeatGenome, config: NeatConfig, time_constant: float | None = None) -> CTRNN:
        """Makes the network of a genome.

        Args:
            genome: Its nodes and connections.
            config: A `neat.Config`.
            time_constant: That of all nodes, in seconds; only where the installed neat-python has
                none in its genes, before 2.0.

        Raises:
            TypeError: The installed neat-python takes no time constant, or needs one.
        """
        if (time_constant is not None) != takes_time_constant():
            what = "needs a time constant" if time_constant is None else "takes no time constant"
            raise TypeError(f"CTRNN.create() of the installed neat-python {what}")
        engine = None
        if ctrnn_rule() != "unknown":
            engine = compile_genome(False, genome, config, time_constant)
        given = () if time_constant is None else (time_constant,)
        return CTRNN._make(genome, config, engine, *given)

    def advance(
        self, inputs: Sequence[float], advance_time: float, time_step: float | None = None
    ) -> list[float]:
        """Lets time pass while the inputs stay as they are.

        Args:
            inputs: [I].
            advance_time: How much time, in seconds.
            time_step: Seconds per step; the last one may be shorter.

        Returns:
            [O].

        Raises:
            RuntimeError: There are more or fewer inputs.
        """
        if self._step is None:
            answers: list[float] = NeatCTRNN.advance(self, inputs, advance_time, time_step)
            return answers
        if time_step is None:
            time_step = 0.5 * self.get_max_time_step()
        if len(inputs) != self._num_inputs:
            raise RuntimeError(f"Expected {self._num_inputs:n} inputs, got {len(inputs):n}")
        exact = ctrnn_rule() == "exponential"
        answers = self._step(inputs, advance_time, time_step, exact)
        return answers

    def advance_batch(
        self, x: npt.ArrayLike, advance_time: float, time_step: float | None = None
    ) -> npt.NDArray[np.float64]:
        """Lets time pass for many samples, each of which has its own memory until `reset`.

        Args:
            x: [B, I], with the same B in every call until `reset`.
            advance_time: How much time, in seconds.
            time_step: Seconds per step.

        Returns:
            [B, O].

        Raises:
            RuntimeError: x has another shape, or more or fewer samples than before.
        """
        samples = check_rows(x, self._num_inputs)
        if self._engine is None:
            return self._answer_rows(
                samples,
                len(self.output_nodes),
                lambda network, row: network.advance(row, advance_time, time_step),
            )
        if time_step is None:
            time_step = 0.5 * self.get_max_time_step()
        exact = ctrnn_rule() == "exponential"
        engine, outputs = self._batch_engine(len(samples))
        engine.advance_rows(samples, outputs, advance_time, time_step, exact)
        return outputs.reshape(outputs.shape[1:])

    def set_node_value(self, node_key: int, value: float) -> None:
        """Sets the value of a node in both buffers."""
        for values in self.values:
            values[node_key] = value

    def _compile(self, inputs: list[int], outputs: list[int], node_evals: Any) -> Any:
        if ctrnn_rule() == "unknown":
            return None
        rows = [(key, *_FIELDS(node)) for key, node in node_evals.items()]
        return compile_rows(inputs, outputs, rows)

    def _evals(self, rows: list[Row]) -> Any:
        return {
            node: ReadOnlyEval(time, activation, aggregation, bias, response, ReadOnlyList(links))
            for node, activation, aggregation, bias, response, links, time in rows
        }

    def _made_of(self) -> tuple[Any, ...]:
        return self.input_nodes, self.output_nodes, self.node_evals
