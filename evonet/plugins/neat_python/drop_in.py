"""What the drop-in networks have in common: nodes that the compiled extension evaluates."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.installed import evaluates_orphans, network_engine

# (node, activation, aggregation, bias, response, links, time constant)
Row = tuple[int, Any, Any, float, float, Sequence[tuple[int, float]], float]


def compile_rows(inputs: Sequence[int], outputs: Sequence[int], rows: Sequence[Row]) -> Any:
    """Compiles nodes as neat-python's constructors take them.

    Returns:
        A native `NeatNetwork`; None if the extension is missing, or if only Python can run such
        nodes, because keys are not whole numbers or values are not real ones.
    """
    native = network_engine()
    keys = [row[0] for row in rows]
    if native is None or len(set(keys)) != len(keys) or set(keys) & set(inputs):
        return None
    try:
        return native.NeatNetwork.of_rows(list(inputs), list(outputs), list(rows))
    except (TypeError, ValueError, OverflowError, RuntimeError, IndexError):
        return None


def engine_for(genome: NeatGenome) -> ModuleType | None:
    """Returns the extension if it reads a genome as the installed `create` does, else None."""
    ordinary = isinstance(genome.nodes, dict) and isinstance(genome.connections, dict)
    return network_engine() if ordinary and evaluates_orphans() else None


def compile_genome(
    feed_forward: bool, genome: NeatGenome, config: NeatConfig, time_constant: float | None
) -> Any:
    """Compiles a genome as neat-python's `create` does.

    Args:
        feed_forward: Whether the network has no memory.
        genome: Its nodes and connections.
        config: A `neat.Config`.
        time_constant: The one of all nodes; None for those of the genes.

    Returns:
        A native `NeatNetwork`, or None where neat-python itself has to read the genome.
    """
    native, settings = engine_for(genome), config.genome_config
    if native is None:
        return None
    return native.NeatNetwork.create(
        feed_forward,
        genome,
        settings.input_keys,
        settings.output_keys,
        settings.activation_defs,
        settings.aggregation_function_defs,
        time_constant,
    )


def check_rows(x: npt.ArrayLike, num_inputs: int) -> npt.NDArray[np.float64]:
    """Reads a batch of samples.

    Args:
        x: [B, I].
        num_inputs: I.

    Raises:
        RuntimeError: x has another shape.
    """
    samples = np.ascontiguousarray(x, np.float64)
    if samples.ndim != 2 or samples.shape[1] != num_inputs:
        raise RuntimeError(f"Expected samples [B, {num_inputs}], got {list(samples.shape)}")
    return samples


class ReadOnlyList(list[Any]):
    """A list that refuses to change: what a compiled network was made from."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            "a compiled network does not follow changes of its nodes. Make another one from "
            "changed nodes: type(network)(inputs, outputs, node_evals)."
        )

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies as a plain list."""
        return list, (list(self),)


class NodeValues(MutableMapping[int, float]):
    """The values of nodes in one buffer, as the dict that neat-python's classes have.

    Reads and writes go to the network itself.
    """

    def __init__(self, engine: Any, buffer: int, feed_forward: bool) -> None:
        """Views a network.

        Args:
            engine: A native `NeatNetwork`.
            buffer: Which of its two buffers, 0 or 1.
            feed_forward: Whether hidden nodes only appear after the first activation.
        """
        self._engine = engine
        self._buffer = buffer
        self._feed_forward = feed_forward

    def __getitem__(self, key: int) -> float:
        if key not in self._keys():
            raise KeyError(key)
        value: float = self._engine.get_value(self._buffer, key)
        return value

    def __setitem__(self, key: int, value: float) -> None:
        self._engine.set_value(self._buffer, key, value)

    def __delitem__(self, key: int) -> None:
        raise TypeError("nodes of a network cannot be removed")

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())

    def __repr__(self) -> str:
        return repr(dict(self))

    def _keys(self) -> list[int]:
        keys: list[int] = self._engine.value_keys(self._feed_forward)
        return keys


class SampleCopies:
    """A mix-in for networks with memory: a copy for each sample of a batch, until `reset`."""

    _copies: list[Any] | None = None

    def fresh(self) -> Self:
        """Returns another network of the same nodes, in its first state."""
        raise NotImplementedError

    def _pair_copies(self, samples: npt.NDArray[np.float64]) -> Iterator[tuple[Any, list[float]]]:
        """Pairs every sample with its network.

        Raises:
            RuntimeError: The last call had more or fewer samples.
        """
        if self._copies is None:
            self._copies = [self.fresh() for _ in samples]
        if len(self._copies) != len(samples):
            raise RuntimeError(f"Expected {len(self._copies)} samples, got {len(samples)}")
        return zip(self._copies, samples.tolist(), strict=True)


class CompiledNodes:
    """A mix-in for networks of weighted sums; `_engine` is None where neat-python's code runs."""

    _feed_forward: ClassVar[bool]
    input_nodes: list[int]
    output_nodes: list[int]
    _engine: Any
    _plain_evals: Any
    _plain_values: Any

    def _start(self, inputs: list[int], outputs: list[int], engine: Any) -> None:
        self.input_nodes = inputs
        self.output_nodes = outputs
        self._engine = engine
        self._num_inputs = len(inputs)
        self._engine_evals: Any = None
        self._batch: Any = None

    @classmethod
    def _of_engine(cls, engine: Any, config: NeatConfig) -> Self:
        network = object.__new__(cls)
        settings = config.genome_config
        network._start(settings.input_keys, settings.output_keys, engine)
        return network

    def _check_inputs(self, inputs: Sequence[float]) -> None:
        """Refuses a wrong number of inputs in neat-python's words.

        Raises:
            RuntimeError: There are more or fewer.
        """
        if len(inputs) != self._num_inputs:
            raise RuntimeError(f"Expected {self._num_inputs:n} inputs, got {len(inputs):n}")

    def _evals(self, rows: list[Row]) -> Any:
        """Returns rows in the form of the class's `node_evals`."""
        return ReadOnlyList(
            (node, activation, aggregation, bias, response, ReadOnlyList(links))
            for node, activation, aggregation, bias, response, links, _ in rows
        )

    @property
    def node_evals(self) -> Any:
        """The nodes in the order of evaluation, as neat-python lists them; read-only."""
        if self._engine is None:
            return self._plain_evals
        if self._engine_evals is None:
            self._engine_evals = self._evals(self._engine.rows())
        return self._engine_evals

    @node_evals.setter
    def node_evals(self, node_evals: Any) -> None:
        self._plain_evals = node_evals

    def _made_of(self) -> tuple[Any, ...]:
        """Returns arguments that make another network of the same nodes."""
        evals = [(*node[:5], list(node[5])) for node in self.node_evals]
        return self.input_nodes, self.output_nodes, evals

    def _batch_engine(self, num_samples: int) -> Any:
        """Returns an engine that holds many samples, each with its own memory.

        Raises:
            RuntimeError: The last call had more or fewer samples.
        """
        if self._batch is None:
            self._batch = self._engine.copy()
            self._batch.begin(num_samples)
        if not self._feed_forward and self._batch.width != num_samples:
            raise RuntimeError(f"Expected {self._batch.width} samples, got {num_samples}")
        return self._batch

    def _activate_rows(self, samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        outputs = np.empty((1, len(samples), len(self.output_nodes)))
        self._batch_engine(len(samples)).answer_rows(self._feed_forward, samples, outputs)
        return outputs.reshape(outputs.shape[1:])

    def _stack(self, rows: list[list[float]]) -> npt.NDArray[np.float64]:
        return np.array(rows, np.float64).reshape(len(rows), len(self.output_nodes))


class TwoBuffers(SampleCopies, CompiledNodes):
    """A mix-in for networks with memory, which read one buffer of values and write the other."""

    _feed_forward = False
    _plain_active: int
    # What a copy takes over besides the values.
    _state: ClassVar[tuple[str, ...]] = ("active",)

    @property
    def active(self) -> int:
        """Which of the two buffers the last step wrote."""
        return self._plain_active if self._engine is None else int(self._engine.active)

    @active.setter
    def active(self, active: int) -> None:
        if self._engine is None:
            self._plain_active = active
        else:
            self._engine.active = active

    @property
    def values(self) -> Any:
        """The value of every node, by key, in both buffers."""
        if self._engine is None:
            return self._plain_values
        return [NodeValues(self._engine, buffer, False) for buffer in (0, 1)]

    @values.setter
    def values(self, values: Any) -> None:
        if self._engine is None:
            self._plain_values = values
        else:
            for mine, given in zip(self.values, values, strict=True):
                mine.update(given)

    def fresh(self) -> Self:
        """Returns another network of the same nodes, in its first state."""
        return type(self)(*self._made_of())

    def reset(self) -> None:
        """Returns to the first state, in batches too."""
        if self._engine is None:
            super().reset()  # type: ignore[misc]
        else:
            self._engine.begin(1)
        self._copies = self._batch = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies by the nodes and their state."""
        state = {name: getattr(self, name) for name in self._state}
        return type(self), self._made_of(), {"values": [dict(v) for v in self.values], **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
