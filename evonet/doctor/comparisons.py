"""All computations that must have equal bits on the GPU and on the processor, by name.

The `gpu` tests and `--verify-gpu` run the same list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

import evonet
from evonet.definitions.backends import MAPPINGS, BackendName
from evonet.definitions.controls import CONTROLS
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
_DTYPES = ("float32", "float64")
_BACKENDS: tuple[BackendName, ...] = ("cuda", "cpu")


class BitComparison(NamedTuple):
    """A computation to compare: its name, and a function that computes both sides in parts."""

    name: str
    pairs: Callable[[], Iterator[Pair]]

    def run(self) -> tuple[int, list[str]]:
        """Compares bit by bit; returns how many numbers, and what differs."""
        total, found = 0, []
        for pair in self.pairs():
            total += pair[2].size
            mismatch = compare(*pair)
            if mismatch:
                found.append(mismatch)
        return total, found


def compare(what: str, gpu: Values, cpu: Values) -> str | None:
    """Describes numbers whose bits differ; None if there are none."""
    count, bits = cpu.size, f"u{cpu.itemsize}"
    if (gpu.shape, gpu.dtype) != (cpu.shape, cpu.dtype):
        first = f"{gpu.dtype} {list(gpu.shape)} instead of {cpu.dtype} {list(cpu.shape)}"
    else:
        differs = gpu.view(bits) != cpu.view(bits)
        if not differs.any():
            return None
        count = int(differs.sum())
        place = tuple(int(axis[0]) for axis in np.nonzero(differs))
        first = f"first at {list(place)}: {gpu[place]!r} instead of {cpu[place]!r}"
    return f"{what}: {count} of {cpu.size} numbers differ, {first}"


def random_samples(population: evonet.Population, *shape: int) -> Values:
    """Normally distributed numbers [*shape, I] of the population's type."""
    x = np.random.default_rng(1).normal(size=(*shape, population.num_inputs))
    return x.astype(population.dtype)


def mixed_population(
    genomes: int,
    nodes: int,
    links: int,
    dtype: str = "float32",
    pins: tuple[int, int] = (4, 3),
    **options: Any,
) -> evonet.Population:
    """Random networks of all functions, or of those in the options; `pins` counts I and O."""
    functions = {"activations": _ALL_ACTIVATIONS, "aggregations": _ALL_AGGREGATIONS}
    sizes = {"num_nodes": nodes, "num_connections": links, "seed": nodes}
    return evonet.Population.random(genomes, *pins, dtype=dtype, **functions | sizes | options)


def _both_mappings(what: str, population: evonet.Population, x: Values) -> Iterator[Pair]:
    cpu = evonet.compile(population, backend="cpu")(x)
    for mapping in MAPPINGS[1:]:
        gpu = evonet.compile(population, backend="cuda", mapping=mapping)(x)
        yield f"{what}, {mapping}", gpu, cpu


def _every_function() -> Iterator[Pair]:
    for dtype in _DTYPES:
        for name in _ALL_AGGREGATIONS:
            population = mixed_population(64, 24, 80, dtype, aggregations=(name,))
            yield from _both_mappings(f"{name}, {dtype}", population, random_samples(population, 9))


def _special_values() -> Iterator[Pair]:
    special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-44, 3e38, -3e38, 1.0, -1.0, 1e-300)
    for dtype in _DTYPES:
        with np.errstate(all="ignore"):
            numbers = np.array(special).astype(dtype)
        x = np.random.default_rng(2).choice(numbers, (40, 4))
        population = mixed_population(100, 20, 60, dtype, weight_scale=100.0)
        yield from _both_mappings(dtype, population, x)


def _custom_functions() -> Iterator[Pair]:
    texts = {
        ACTIVATION_TABLE: ("sigmoid(x) - tanh(x) * sin(x)", "log(abs(x)) + floor(x) / exp(-x)"),
        AGGREGATION_TABLE: ("max(x) + log(sum(exp(x - max(x))))", "sqrt(mean(x * x)) - count"),
    }
    names = ("doctor0", "doctor1")
    for functions, expressions in texts.items():
        for name, text in zip(names, expressions, strict=True):
            functions.register(name, text)
    used: dict[str, Any] = {"activations": (*names, "tanh"), "aggregations": (*names, "sum")}
    try:
        for dtype in _DTYPES:
            population = mixed_population(64, 24, 80, dtype, **used)
            yield from _both_mappings(dtype, population, random_samples(population, 9))
    finally:
        for functions in texts:
            for name in names:
                functions.unregister(name)


def _sizes() -> Iterator[Pair]:
    for nodes in (0, 1, 2, 5, 20, 100, 500, 2000, 5000):
        population = mixed_population(3 if nodes > 1000 else 20, max(nodes, 3), nodes * 3)
        yield from _both_mappings(f"{nodes} nodes", population, random_samples(population, 5))


def _batches() -> Iterator[Pair]:
    population = mixed_population(30, 12, 36)
    for size in (0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 1000):
        shared, own = random_samples(population, size), random_samples(population, 30, size)
        yield from _both_mappings(f"{size} samples", population, shared)
        yield from _both_mappings(f"{size} samples each", population, own)


def _large_genomes() -> Iterator[Pair]:
    for dtype in _DTYPES:
        nodes = 240_000 // np.dtype(dtype).itemsize  # no GPU has as much shared memory per block
        population = mixed_population(2, nodes, 3 * nodes // 2, dtype)
        yield from _both_mappings(dtype, population, random_samples(population, 3))


def _large_populations() -> Iterator[Pair]:
    population = mixed_population(3000, 50, 150)  # work enough for two GPUs
    yield from _both_mappings("3000 genomes", population, random_samples(population, 5))


def _device_arrays() -> Iterator[Pair]:
    first, second = mixed_population(30, 12, 36), mixed_population(30, 8, 20, pins=(3, 3))
    cpu_second = evonet.compile(second, backend="cpu")
    cuda_second = evonet.compile(second, backend="cuda")
    x = random_samples(first, 33)
    expected = evonet.compile(first, backend="cpu")(x)
    y = evonet.compile(first, backend="cuda")(x, out="device")
    yield "outputs left on the GPU", y.get(), expected
    yield "outputs as samples", cuda_second(y), cpu_second(expected)
    every_other = np.ascontiguousarray(expected[:, ::2])
    yield "every other sample", cuda_second(y[:, ::2]), cpu_second(every_other)


def _losses() -> Iterator[Pair]:
    for dtype in _DTYPES:
        population = mixed_population(50, 12, 36, dtype)
        gpu, cpu = (evonet.compile(population, backend=backend) for backend in _BACKENDS)
        for size in (1, 31, 33, 500):
            x = random_samples(population, size)
            targets = np.random.default_rng(3).normal(size=(size, 3)).astype(dtype)
            for loss in LOSSES:
                what = f"{loss.name}, {size} samples, {dtype}"
                yield what, gpu.loss(x, targets, loss.name), cpu.loss(x, targets, loss.name)


def _gradients() -> Iterator[Pair]:
    for dtype in _DTYPES:
        population = mixed_population(40, 12, 36, dtype)
        gpu, cpu = (evonet.compile(population, backend=backend) for backend in _BACKENDS)
        for size in (1, 33, 100):
            x = random_samples(population, size)
            targets = np.random.default_rng(3).uniform(size=(size, 3)).astype(dtype)
            for loss in ("squared", "cross_entropy"):
                what = f"{loss}, {size} samples, {dtype}"
                found, expected = (n.gradients(x, targets, loss) for n in (gpu, cpu))
                yield f"losses of {what}", found[0], expected[0]
                for name, array in expected[1].items():
                    yield f"gradients by {name} of {what}", found[1][name], array


def _learning() -> Iterator[Pair]:
    population = mixed_population(40, 12, 36)
    x = random_samples(population, 60)
    targets = np.random.default_rng(3).normal(size=(60, 3))
    gpu, cpu = (
        evonet.learn(population, x, targets, steps=20, batch=16, seed=1, backend=backend)
        for backend in _BACKENDS
    )
    for name in ("weight", "bias"):
        yield f"{name} after 20 steps", getattr(gpu, name), getattr(cpu, name)


def _rollouts() -> Iterator[Pair]:
    for control in CONTROLS:
        for dtype in _DTYPES:
            pins = control.num_inputs, control.num_outputs
            population = mixed_population(40, 12, 36, dtype, pins)
            for episodes in (1, 5, 33):
                yield from _both_play(control.name, population, episodes, 40)
            if control is CONTROLS[0]:  # no GPU has as much shared memory for each of its warps
                population = mixed_population(2, 2000, 4000, dtype, pins)
                yield from _both_play(control.name, population, 3, 4)


def _both_play(
    control: str, population: evonet.Population, episodes: int, max_steps: int
) -> Iterator[Pair]:
    gpu, cpu = (
        evonet.compile(population, backend=backend).rollout(
            control, episodes=episodes, seed=1, max_steps=max_steps
        )
        for backend in _BACKENDS
    )
    nodes = population.num_nodes // len(population)
    what = f"{control}, {nodes} nodes, {episodes} episodes, {population.dtype}"
    yield f"returns of {what}", gpu.returns, cpu.returns
    yield f"steps of {what}", gpu.steps, cpu.steps


def _fronts() -> Iterator[Pair]:
    from evonet.images import Conv, ConvFront, Pool

    layers = [Conv(20, (3, 2), 1, 1, "tanh", Pool(3, 2, "average")), Conv(130, 3, 2, 1, pool=2)]
    shape = (5, 17, 18)
    x = np.random.default_rng(3).normal(size=(9, *shape))
    for dtype in _DTYPES:
        gpu, cpu = (ConvFront(layers, shape, dtype=dtype, backend=name) for name in _BACKENDS)
        for zeros in (0.0, 0.9):
            sparse = np.where(np.random.default_rng(4).random(x.shape) < zeros, 0, x)
            images = sparse.astype(dtype)
            yield f"{dtype}, {zeros:.0%} zeros", gpu(images), cpu(images)


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
    BitComparison("gradients", _gradients),
    BitComparison("learning", _learning),
    BitComparison("whole episodes of every control task", _rollouts),
    BitComparison("fronts for images", _fronts),
    BitComparison("evolution", _evolution),
)
