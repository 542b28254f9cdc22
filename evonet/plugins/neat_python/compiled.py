"""What the drop-in networks have in common: nodes that the compiled extension evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from evonet.plugins.neat_python.installed import network_engine
from evonet.plugins.neat_python.read_only import ReadOnlyList

# (node, activation, aggregation, bias, response, links, time constant)
Row = tuple[int, Any, Any, float, float, Sequence[tuple[int, float]], float]


def compile_rows(inputs: Sequence[int], outputs: Sequence[int], rows: Sequence[Row]) -> Any:
    """Compiles nodes as neat-python's classes are given them.

    Returns:
        A native `NeatNetwork`; None if the extension is missing, or the nodes are such that only
        Python can run them: keys that are no whole numbers, or values that are no real ones.
    """
    native = network_engine()
    keys = [row[0] for row in rows]
    if native is None or len(set(keys)) != len(keys) or set(keys) & set(inputs):
        return None
    try:
        return native.NeatNetwork.of_rows(list(inputs), list(outputs), list(rows))
    except (TypeError, ValueError, OverflowError, RuntimeError, IndexError):
        return None


class CompiledNodes:
    """A mix-in for networks of weighted sums; `_engine` is None where neat-python's code runs."""

    _feed_forward: ClassVar[bool]
    input_nodes: list[int]
    output_nodes: list[int]
    _engine: Any
    _plain_evals: Any
    _plain_values: Any
    _rows_evals: Any

    def _begin(self, inputs: list[int], outputs: list[int], engine: Any) -> None:
        self.input_nodes = inputs
        self.output_nodes = outputs
        self._engine = engine
        self._num_inputs = len(inputs)
        self._rows_evals = None
        self._batch: Any = None

    def _check_inputs(self, inputs: Sequence[float]) -> None:
        """Refuses a wrong number of inputs in neat-python's words.

        Raises:
            RuntimeError: There are more or fewer.
        """
        if len(inputs) != self._num_inputs:
            raise RuntimeError(f"Expected {self._num_inputs:n} inputs, got {len(inputs):n}")

    def _evals(self, rows: list[Row]) -> Any:
        """Rows in the form of the class's `node_evals`."""
        return ReadOnlyList(
            (node, activation, aggregation, bias, response, ReadOnlyList(links))
            for node, activation, aggregation, bias, response, links, _ in rows
        )

    @property
    def node_evals(self) -> Any:
        """The nodes, in the order of evaluation, as neat-python lists them. Not to be changed."""
        if self._engine is None:
            return self._plain_evals
        if self._rows_evals is None:
            self._rows_evals = self._evals(self._engine.rows())
        return self._rows_evals

    @node_evals.setter
    def node_evals(self, node_evals: Any) -> None:
        self._plain_evals = node_evals

    def _side_by_side(self, num_samples: int) -> Any:
        """An engine that holds many samples, each with a memory of its own.

        Raises:
            RuntimeError: The last call had more or fewer samples.
        """
        if self._batch is None:
            self._batch = self._engine.copy()
            self._batch.begin(num_samples)
        if not self._feed_forward and self._batch.width != num_samples:
            raise RuntimeError(f"Expected {self._batch.width} samples, got {num_samples}")
        return self._batch

    def _activate_batch(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        samples = check_rows(x, self._num_inputs)
        answers = np.empty((1, len(samples), len(self.output_nodes)))
        self._side_by_side(len(samples)).answer_rows(self._feed_forward, samples, answers)
        return answers.reshape(answers.shape[1:])


def check_rows(x: npt.ArrayLike, num_inputs: int) -> npt.NDArray[np.float64]:
    """Reads a batch of samples.

    Args:
        x: [B, I].
        num_inputs: I.

    Raises:
        RuntimeError: It has another shape, in neat-python's words where there is one.
    """
    samples = np.ascontiguousarray(x, np.float64)
    if samples.ndim != 2 or samples.shape[1] != num_inputs:
        raise RuntimeError(f"Expected samples [B, {num_inputs}], got {list(samples.shape)}")
    return samples
