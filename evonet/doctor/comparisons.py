"""What must have equal bits on the GPU and on the processor: every comparison by name.

The `gpu` tests run these, and so does `--verify-gpu` on a user's machine: one list for both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

import evonet
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
_MAPPINGS: tuple[Literal["levels", "samples"], ...] = ("levels", "samples")


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """A comparison that failed.

    Attributes:
        what: Which of a comparison's parts.
        count: Numbers that differ.
        total: Numbers that were compared.
        first: Where the first difference is, and both numbers.
    """

    what: str
    count: int
    total: int
    first: str

    def __str__(self) -> str:
        return f"{self.what}: {self.count} of {self.total} numbers differ, {self.first}"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One thing to compare.

    Attributes:
        name: What it is, as the report says it.
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
    """Looks for numbers whose bits differ; None if there are none."""
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


def _both(
    what: str, population: evonet.Population, x: Values, **options: Any
) -> tuple[str, Values, Values]:
    gpu = evonet.compile(population, backend="cuda", **options)(x)
    return what, gpu, evonet.compile(population, backend="cpu")(x)


def _every_function() -> Iterator[Pair]:
    for dtype in _DTYPES:
        for aggregation in _ALL_AGGREGATIONS:
            population = evonet.Population.random(
                64,
                4,
                3,
                num_nodes=24,
                num_connections=80,
                activations=_ALL_ACTIVATIONS,
                aggregations=(aggregation,),
                dtype=dtype,
                seed=len(aggregation),
            )
            for mapping in _MAPPINGS:
                what = f"{aggregation}, {np.dtype(dtype)}, {mapping}"
                yield _both(what, population, _samples(9, 4, dtype=dtype), mapping=mapping)


def _special_values() -> Iterator[Pair]:
    special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-44, 3e38, -3e38, 1.0, -1.0, 1e-300)
    for dtype in _DTYPES:
        with np.errstate(all="ignore"):
            numbers = np.array(special).astype(dtype)
        x = np.random.default_rng(2).choice(numbers, (40, 4))
        population = _mixed(100, 20, 60, dtype, weight_scale=100.0)
        for mapping in _MAPPINGS:
            yield _both(f"{np.dtype(dtype)}, {mapping}", population, x, mapping=mapping)


def _own_functions() -> Iterator[Pair]:
    texts = {
        ACTIVATION_TABLE: ("sigmoid(x) - tanh(x) * sin(x)", "log(abs(x)) + floor(x) / exp(-x)"),
        AGGREGATION_TABLE: ("max(x) + log(sum(exp(x - max(x))))", "sqrt(mean(x * x)) - count"),
    }
    names: dict[str, list[str]] = {}
    for functions, expressions in texts.items():
        names[functions.kind] = [f"doctor{i}" for i in range(len(expressions))]
        for name, text in zip(names[functions.kind], expressions, strict=True):
            functions.register(name, text)
    try:
        for dtype in _DTYPES:
            population = evonet.Population.random(
                64,
                4,
                3,
                num_nodes=24,
                num_connections=80,
                activations=[*names["activation"], "tanh"],
                aggregations=[*names["aggregation"], "sum"],
                dtype=dtype,
                seed=1,
            )
            for mapping in _MAPPINGS:
                what = f"{np.dtype(dtype)}, {mapping}"
                yield _both(what, population, _samples(9, 4, dtype=dtype), mapping=mapping)
    finally:
        for functions in texts:
            for name in names[functions.kind]:
                functions.unregister(name)


def _sizes() -> Iterator[Pair]:
    for num_nodes in (0, 1, 2, 5, 20, 100, 500, 2000, 5000):
        nodes = max(num_nodes, 3)
        population = _mixed(3 if num_nodes > 1000 else 20, nodes, num_nodes * 3, np.float32)
        for mapping in _MAPPINGS:
            yield _both(
                f"{num_nodes} nodes, {mapping}", population, _samples(5, 4), mapping=mapping
            )


def _batches() -> Iterator[Pair]:
    population = _mixed(30, 12, 36, np.float32)
    for size in (0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 1000):
        for mapping in _MAPPINGS:
            yield _both(
                f"{size} samples, {mapping}", population, _samples(size, 4), mapping=mapping
            )
            own = _samples(30, size, 4)
            yield _both(f"{size} samples each, {mapping}", population, own, mapping=mapping)


def _large_genomes() -> Iterator[Pair]:
    for dtype in _DTYPES:
        nodes = 240_000 // np.dtype(dtype).itemsize  # no GPU has as much shared memory per block
        population = _mixed(2, nodes, 3 * nodes // 2, dtype)
        for mapping in _MAPPINGS:
            x = _samples(3, 4, dtype=dtype)
            yield _both(f"{np.dtype(dtype)}, {mapping}", population, x, mapping=mapping)


def _large_populations() -> Iterator[Pair]:
    population = _mixed(3000, 50, 150, np.float32)  # work enough for two GPUs
    for mapping in _MAPPINGS:
        yield _both(mapping, population, _samples(5, 4), mapping=mapping)


def _device_arrays() -> Iterator[Pair]:
    population = _mixed(30, 12, 36, np.float32)
    network = evonet.compile(population, backend="cuda")
    cpu = evonet.compile(population, backend="cpu")
    chained = _mixed(30, 8, 20, np.float32, num_inputs=3)
    then = evonet.compile(chained, backend="cuda")
    x = _samples(33, 4)
    y = network(x, out="device")
    yield "outputs left on the GPU", y.get(), cpu(x)
    yield "outputs as samples", then(y), evonet.compile(chained, backend="cpu")(cpu(x))
    yield (
        "every other sample",
        then(y[:, ::2]),
        evonet.compile(chained, backend="cpu")(np.ascontiguousarray(cpu(x)[:, ::2])),
    )


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
            population = _actors(control, 40, 12, 36, dtype)
            for episodes in (1, 5, 33):
                what = f"{control.name}, {episodes} episodes, {np.dtype(dtype)}"
                yield from _both_play(what, population, control, episodes, 40)
    for dtype in _DTYPES:  # no GPU has as much shared memory for each of its warps
        large = _actors(CONTROLS[0], 2, 2000, 4000, dtype)
        yield from _both_play(f"2000 nodes, {np.dtype(dtype)}", large, CONTROLS[0], 3, 4)


def _actors(
    control: ControlTask, num_genomes: int, num_nodes: int, num_connections: int, dtype: Any
) -> evonet.Population:
    return evonet.Population.random(
        num_genomes,
        control.num_inputs,
        control.num_outputs,
        num_nodes=num_nodes,
        num_connections=num_connections,
        activations=_ALL_ACTIVATIONS,
        aggregations=_ALL_AGGREGATIONS,
        dtype=dtype,
        seed=1,
    )


def _both_play(
    what: str, population: evonet.Population, control: ControlTask, episodes: int, max_steps: int
) -> Iterator[Pair]:
    gpu, cpu = (
        evonet.compile(population, backend=backend).rollout(
            control.name, episodes=episodes, seed=1, max_steps=max_steps
        )
        for backend in _BACKENDS
    )
    yield f"returns of {what}", gpu.returns, cpu.returns
    yield f"steps of {what}", gpu.steps, cpu.steps


def _evolution() -> Iterator[Pair]:
    from evonet.installation import resource_folder
    from evonet.tasks import xor

    config = evonet.Config.load(resource_folder("configs") / "xor.toml")
    runs = {}
    for backend in ("cuda", "cpu"):
        seen: list[tuple[float, float]] = []
        watch = _Watch(seen)
        evonet.evolve(xor(), config, generations=10, seed=1, backend=backend, callbacks=[watch])
        runs[backend] = np.array(seen)
    yield "best and mean fitness of 10 generations of XOR", runs["cuda"], runs["cpu"]


class _Watch(evonet.Callback):
    """Writes down the best and the mean fitness of every generation."""

    def __init__(self, seen: list[tuple[float, float]]) -> None:
        self._seen = seen

    def on_generation(self, record: evonet.GenerationRecord) -> None:
        self._seen.append((record.best, record.mean))


def _mixed(
    num_genomes: int, num_nodes: int, num_connections: int, dtype: Any, **options: Any
) -> evonet.Population:
    """Random networks of all functions with 3 outputs."""
    return evonet.Population.random(
        num_genomes,
        options.pop("num_inputs", 4),
        3,
        num_nodes=num_nodes,
        num_connections=num_connections,
        activations=_ALL_ACTIVATIONS,
        aggregations=_ALL_AGGREGATIONS,
        dtype=dtype,
        seed=num_nodes,
        **options,
    )


COMPARISONS: Final = (
    Comparison("every activation and aggregation", _every_function),
    Comparison("functions of one's own", _own_functions),
    Comparison("NaN, infinities, denormals", _special_values),
    Comparison("networks of 0 to 5000 nodes", _sizes),
    Comparison("batches of 0 to 1000 samples", _batches),
    Comparison("genomes larger than shared memory", _large_genomes),
    Comparison("populations that several GPUs would share", _large_populations),
    Comparison("arrays that stay on the GPU", _device_arrays),
    Comparison("losses", _losses),
    Comparison("whole episodes of every control task", _rollouts),
    Comparison("evolution", _evolution),
)
