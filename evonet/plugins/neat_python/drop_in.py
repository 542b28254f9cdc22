"""What the drop-in networks have in common: nodes that the compiled extension evaluates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
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

    Returns None without the extension, and for nodes that only Python can run, because keys are
    not whole numbers or values are not real ones.
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
    """Compiles a genome as `create` does; None where neat-python itself has to read it."""
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
        time_constant,  # None for those of the genes
    )


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
    """The values of nodes in one of a network's buffers, as the dict that neat-python has."""

    def __init__(self, engine: Any, buffer: int, feed_forward: bool) -> None:
        """Views a network; in a feed-forward one hidden nodes appear with the first activation."""
        self._engine = engine
        self._buffer = buffer
        self._feed_forward = feed_forward

    def __getitem__(self, key: int) -> float:
        if key not in self._keys():
            raise KeyError(key)
        return float(self._engine.get_value(self._buffer, key))

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


def _ignore(network: Any, value: Any) -> None:
    """Sets nothing: a compiled network stays as it is."""


class EngineAttribute:
    """An attribute that the engine has, or an ordinary one where neat-python's code runs."""

    def __init__(
        self, read: Callable[[Any], Any], write: Callable[[Any, Any], None] = _ignore
    ) -> None:
        """Takes functions of a compiled network that get and set the attribute."""
        self._read = read
        self._write = write

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, network: Any, owner: type | None = None) -> Any:
        if network is None:
            return self
        return network.__dict__[self._name] if network._engine is None else self._read(network)

    def __set__(self, network: Any, value: Any) -> None:
        if network._engine is None:
            network.__dict__[self._name] = value
        else:
            self._write(network, value)


class DropIn:
    """A mix-in before a class of neat-python, whose code runs where `_engine` is None."""

    _feed_forward: ClassVar[bool] = False
    _engine: Any
    # In networks with memory, one for each sample of a batch, until `reset`.
    _copies: list[Any] | None = None

    def fresh(self) -> Self:
        """Returns another network of the same nodes, in its first state."""
        raise NotImplementedError

    def _answer_rows(
        self,
        samples: npt.NDArray[np.float64],
        num_outputs: int,
        answer: Callable[[Any, list[float]], list[float]],
    ) -> npt.NDArray[np.float64]:
        """Answers samples one by one, each with its own memory."""
        rows = samples.tolist()
        networks: list[Any] = [self] * len(rows)
        if not self._feed_forward:
            if self._copies is None:
                self._copies = [self.fresh() for _ in rows]
            networks = self._copies
            _check_width(len(networks), len(rows))
        answers = [answer(network, row) for network, row in zip(networks, rows, strict=True)]
        return np.array(answers, np.float64).reshape(len(rows), num_outputs)


def check_rows(x: npt.ArrayLike, num_inputs: int) -> npt.NDArray[np.float64]:
    """Reads samples [B, I], or raises a RuntimeError as neat-python's classes do."""
    samples = np.ascontiguousarray(x, np.float64)
    if samples.ndim != 2 or samples.shape[1] != num_inputs:
        raise RuntimeError(f"Expected samples [B, {num_inputs}], got {list(samples.shape)}")
    return samples


def _check_width(expected: int, found: int) -> None:
    if found != expected:
        raise RuntimeError(f"Expected {expected} samples, got {found}")


class CompiledNodes(DropIn):
    """A mix-in for networks of weighted sums."""

    _step_name: ClassVar[str]  # the engine's method for one sample
    _engine_evals: Any = None
    _batch: Any = None
    input_nodes: list[int]
    output_nodes: list[int]

    def __init__(self, inputs: list[int], outputs: list[int], node_evals: Any) -> None:
        """Takes nodes in the order of evaluation.

        Args:
            inputs: Keys of the inputs.
            outputs: Keys of the outputs.
            node_evals: Tuples (node, activation, aggregation, bias, response, links), with links
                (source, weight); for a `CTRNN`, objects like `CTRNNNodeEval`, by node.
        """
        engine = self._compile(inputs, outputs, node_evals)
        self._start(inputs, outputs, engine)
        if engine is None:
            super().__init__(inputs, outputs, node_evals)  # type: ignore[call-arg]

    @classmethod
    def _make(cls, genome: NeatGenome, config: NeatConfig, engine: Any, *given: Any) -> Self:
        """Makes the network of a genome; neat-python reads it where there is no engine."""
        if engine is None:
            made = super().create(genome, config, *given)  # type: ignore[misc]
            return cls(made.input_nodes, made.output_nodes, made.node_evals)
        network = object.__new__(cls)
        settings = config.genome_config
        network._start(settings.input_keys, settings.output_keys, engine)
        return network

    def _start(self, inputs: list[int], outputs: list[int], engine: Any) -> None:
        self.input_nodes = inputs
        self.output_nodes = outputs
        self._engine = engine
        self._step = getattr(engine, self._step_name, None)
        self._num_inputs = len(inputs)

    def _compile(self, inputs: list[int], outputs: list[int], node_evals: Any) -> Any:
        return compile_rows(inputs, outputs, [(*node, 1.0) for node in node_evals])

    def _evals(self, rows: list[Row]) -> Any:
        """Returns rows in the form of the class's `node_evals`."""
        return ReadOnlyList((*row[:5], ReadOnlyList(row[5])) for row in rows)

    def _read_evals(self) -> Any:
        if self._engine_evals is None:
            self._engine_evals = self._evals(self._engine.rows())
        return self._engine_evals

    # The nodes in the order of evaluation, as neat-python lists them; read-only.
    node_evals = EngineAttribute(_read_evals)

    def _made_of(self) -> tuple[Any, ...]:
        """Returns arguments that make another network of the same nodes."""
        evals = [(*node[:5], list(node[5])) for node in self.node_evals]
        return self.input_nodes, self.output_nodes, evals

    def _batch_engine(self, num_samples: int) -> tuple[Any, npt.NDArray[np.float64]]:
        """Returns an engine with a memory per sample, and where it writes outputs, [1, B, O]."""
        if self._batch is None:
            self._batch = self._engine.copy()
            self._batch.begin(num_samples)
        if not self._feed_forward:
            _check_width(self._batch.width, num_samples)
        return self._batch, np.empty((1, num_samples, len(self.output_nodes)))


class TwoBuffers(CompiledNodes):
    """A mix-in for networks with memory, which read one buffer of values and write the other."""

    # What a copy takes over besides the values.
    _state: ClassVar[tuple[str, ...]] = ("active",)

    # Which of the two buffers the last step wrote.
    active = EngineAttribute(
        lambda network: int(network._engine.active),
        lambda network, active: setattr(network._engine, "active", active),
    )

    def _set_values(self, values: Any) -> None:
        for mine, given in zip(self.values, values, strict=True):
            mine.update(given)

    # The value of every node, by key, in both buffers.
    values = EngineAttribute(
        lambda network: [NodeValues(network._engine, buffer, False) for buffer in (0, 1)],
        _set_values,
    )

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
