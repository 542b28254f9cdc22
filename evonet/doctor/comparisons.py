"""All computations that must have equal bits on the GPU and on the processor, by name.

The `gpu` tests and `--verify-gpu` run the same list.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

import evonet
from evonet.definitions.backends import MAPPINGS
from evonet.definitions.controls import CONTROLS, ControlTask
from evonet.functions.registry import (
    ACTIVATION_TABLE,
    ACTIVATIONS,
    AGGREGATION_TABLE,
    AGGREGATIONS,
    LOSSES,
)

Values = npt.NDArray[Any]
Pair = tuple[str, Values, Values]
"""What was compared, what the GPU gave, what the processor gave."""

_ALL_ACTIVATIONS = tuple(function.name for function in ACTIVATIONS)
_ALL_AGGREGATIONS = tuple(function.name for function in AGGREGATIONS)
_DTYPES = (np.float32, np.float64)
_BACKENDS: tuple[Literal["cuda", "cpu"], ...] = ("cuda", "cpu")


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """A part of a comparison that failed.

    Attributes:
        what: The name of the part.
        count: The number of values that differ.
        total: The number of values that were compared.
        first: Where the first difference is, and both numbers.
    """

    what: str
    count: int
    total: int
    first: str

    def __str__(self) -> str:
        return f"{self.what}: {self.count} of {self.total} numbers differ, {self.first}"


@dataclasses.dataclass(frozen=True)
class BitComparison:
    """A computation to compare, in parts.

    Attributes:
        name: The name in the report.
        pairs: Computes both sides, part by part.
    """

    name: str
    pairs: Callable[[], Iterator[Pair]]

    def run(self) -> tuple[int, list[Mismatch]]:
        """Compares bit by bit; returns how many numbers, and what differs."""
        total, found = 0, []
        for what, gpu, cpu in self.pairs():
            total += cpu.size
            mismatch = compare(what, gpu, cpu)
            if mismatch:
                found.append(mismatch)
        return total, found


def compare(what: str, gpu: Values, cpu: Values) -> Mismatch | None:
    """Finds numbers whose bits differ; None if there are none."""
    if (gpu.shape, gpu.dtype) != (cpu.shape, cpu.dtype):
        first = f"{gpu.dtype} {list(gpu.shape)} instead of {cpu.dtype} {list(cpu.shape)}"
        return Mismatch(what, cpu.size, cpu.size, first)
    bits = f"u{cpu.itemsize}"
    differs = gpu.view(bits) != cpu.view(bits)
    if not differs.any():
        return None
    place = tuple(int(axis[0]) for axis in np.nonzero(differs))
    first = f"first at {list(place)}: {gpu[place]!r} instead of {cpu[place]!r}"
    return Mismatch(what, int(differs.sum()), cpu.size, first)


def _samples(*shape: int, dtype: Any = np.float32, seed: int = 1) -> Values:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _mixed(
    num_genomes: int,
    num_nodes: int,
    num_connections: int,
    dtype: Any = np.float32,
    num_inputs: int = 4,
    num_outputs: int = 3,
    **options: Any,
) -> evonet.Population:
    """Random networks of all functions, or of those in the options."""
    return evonet.Population.random(
        num_genomes,
        num_inputs,
        num_outputs,
        num_nodes=num_nodes,
        num_connections=num_connections,
        dtype=dtype,
        seed=num_nodes,
        **{"activations": _ALL_ACTIVATIONS, "aggregations": _ALL_AGGREGATIONS, **options},
    )


def _both_mappings(what: str, population: evonet.Population, x: Values) -> Iterator[Pair]:
    cpu = evonet.compile(population, backend="cpu")(x)
    for mapping in MAPPINGS[1:]:
        gpu = evonet.compile(population, backend="cuda", mapping=mapping)(x)
        yield f"{what}{', ' if what else ''}{mapping}", gpu, cpu


def _every_function() -> Iterator[Pair]:
    for dtype in _DTYPES:
        for aggregation in _ALL_AGGREGATIONS:
            population = _mixed(64, 24, 80, dtype, aggregations=(aggregation,))
            what = f"{aggregation}, {np.dtype(dtype)}"
            yield from _both_mappings(what, population, _samples(9, 4, dtype=dtype))


def _special_values() -> Iterator[Pair]:
    special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-44, 3e38, -3e38, 1.0, -1.0, 1e-300)
    for dtype in _DTYPES:
        with np.errstate(all="ignore"):
            numbers = np.array(special).astype(dtype)
        x = np.random.default_rng(2).choice(numbers, (40, 4))
        population = _mixed(100, 20, 60, dtype, weight_scale=100.0)
        yield from _both_mappings(str(np.dtype(dtype)), population, x)


def _custom_functions() -> Iterator[Pair]:
    texts = {
        ACTIVATION_TABLE: ("sigmoid(x) - tanh(x) * sin(x)", "log(abs(x)) + floor(x) / exp(-x)"),
        AGGREGATION_TABLE: ("max(x) + log(sum(exp(x - max(x))))", "sqrt(mean(x * x)) - count"),
    }
    names = ("doctor0", "doctor1")
    for functions, expressions in texts.items():
        for name, text in zip(names, expressions, strict=True):
            functions.register(name, text)
    try:
        for dtype in _DTYPES:
            population = _mixed(
                64, 24, 80, dtype, activations=(*names, "tanh"), aggregations=(*names, "sum")
            )
            x = _samples(9, 4, dtype=dtype)
            yield from _both_mappings(str(np.dtype(dtype)), population, x)
    finally:
        for functions in texts:
            for name in names:
                functions.unregister(name)


def _sizes() -> Iterator[Pair]:
    for num_nodes in (0, 1, 2, 5, 20, 100, 500, 2000, 5000):
        population = _mixed(3 if num_nodes > 1000 else 20, max(num_nodes, 3), num_nodes * 3)
        yield from _both_mappings(f"{num_nodes} nodes", population, _samples(5, 4))


def _batches() -> Iterator[Pair]:
    population = _mixed(30, 12, 36)
    for size in (0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 1000):
        yield from _both_mappings(f"{size} samples", population, _samples(size, 4))
        yield from _both_mappings(f"{size} samples each", population, _samples(30, size, 4))


def _large_genomes() -> Iterator[Pair]:
    for dtype in _DTYPES:
        nodes = 240_000 // np.dtype(dtype).itemsize  # no GPU has as much shared memory per block
        population = _mixed(2, nodes, 3 * nodes // 2, dtype)
        yield from _both_mappings(str(np.dtype(dtype)), population, _samples(3, 4, dtype=dtype))


def _large_populations() -> Iterator[Pair]:
    population = _mixed(3000, 50, 150)  # work enough for two GPUs
    yield from _both_mappings("", population, _samples(5, 4))


def _device_arrays() -> Iterator[Pair]:
    first, second = _mixed(30, 12, 36), _mixed(30, 8, 20, num_inputs=3)
    cpu_second = evonet.compile(second, backend="cpu")
    cuda_second = evonet.compile(second, backend="cuda")
    x = _samples(33, 4)
    expected = evonet.compile(first, backend="cpu")(x)
    y = evonet.compile(first, backend="cuda")(x, out="device")
    yield "outputs left on the GPU", y.get(), expected
    yield "outputs as samples", cuda_second(y), cpu_second(expected)
    every_other = np.ascontiguousarray(expected[:, ::2])
    yield "every other sample", cuda_second(y[:, ::2]), cpu_second(every_other)


def _losses() -> Iterator[Pair]:
    for dtype in _DTYPES:
        population = _mixed(50, 12, 36, dtype)
        gpu = evonet.compile(population, backend="cuda")
        cpu = evonet.compile(population, backend="cpu")
        for size in (1, 31, 33, 500):
            x, targets = _samples(size, 4, dtype=dtype), _samples(size, 3, dtype=dtype, seed=3)
            for loss in LOSSES:
                what = f"{loss.name}, {size} samples, {np.dtype(dtype)}"
                yield what, gpu.loss(x, targets, loss.name), cpu.loss(x, targets, loss.name)


def _rollouts() -> Iterator[Pair]:
    for control in CONTROLS:
        for dtype in _DTYPES:
            for episodes in (1, 5, 33):
                yield from _both_play(control, 40, 12, 36, dtype, episodes, 40)
    for dtype in _DTYPES:  # no GPU has as much shared memory for each of its warps
        yield from _both_play(CONTROLS[0], 2, 2000, 4000, dtype, 3, 4)


def _both_play(
    control: ControlTask,
    num_genomes: int,
    num_nodes: int,
    num_connections: int,
    dtype: Any,
    episodes: int,
    max_steps: int,
) -> Iterator[Pair]:
    population = _mixed(
        num_genomes, num_nodes, num_connections, dtype, control.num_inputs, control.num_outputs
    )
    gpu, cpu = (
        evonet.compile(population, backend=backend).rollout(
            control.name, episodes=episodes, seed=1, max_steps=max_steps
        )
        for backend in _BACKENDS
    )
    what = f"{control.name}, {num_nodes} nodes, {episodes} episodes, {np.dtype(dtype)}"
    yield f"returns of {what}", gpu.returns, cpu.returns
    yield f"steps of {what}", gpu.steps, cpu.steps


def _evolution() -> Iterator[Pair]:
    from evonet.installation import resource_folder
    from evonet.tasks import xor

    config = evonet.Config.load(resource_folder("configs") / "xor.toml")
    gpu, cpu = _Watch(), _Watch()
    for backend, watch in zip(_BACKENDS, (gpu, cpu), strict=True):
        evonet.evolve(xor(), config, generations=10, seed=1, backend=backend, callbacks=[watch])
    what = "best and mean fitness of 10 generations of XOR"
    yield what, np.array(gpu.seen), np.array(cpu.seen)


class _Watch(evonet.Callback):
    """Lists the best and the mean fitness of every generation."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float]] = []

    def on_generation(self, record: evonet.GenerationRecord) -> None:
        self.seen.append((record.best, record.mean))


COMPARISONS: Final = (
    BitComparison("every activation and aggregation", _every_function),
    BitComparison("custom functions", _custom_functions),
    BitComparison("NaN, infinities, denormals", _special_values),
    BitComparison("networks of 0 to 5000 nodes", _sizes),
    BitComparison("batches of 0 to 1000 samples", _batches),
    BitComparison("genomes larger than shared memory", _large_genomes),
    BitComparison("populations that several GPUs would share", _large_populations),
    BitComparison("arrays that stay on the GPU", _device_arrays),
    BitComparison("losses", _losses),
    BitComparison("whole episodes of every control task", _rollouts),
    BitComparison("evolution", _evolution),
)
