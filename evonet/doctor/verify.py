"""A thorough check of the GPUs: every comparison, then throughput beside the processor's."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import numpy as np

import evonet
from evonet.backends.cuda import discovery
from evonet.doctor.comparisons import COMPARISONS
from evonet.doctor.findings import Finding
from evonet.errors import DeviceError, EvonetError


@dataclasses.dataclass(frozen=True)
class Load:
    """A measurement: P genomes of some size on B samples."""

    num_genomes: int
    num_nodes: int
    num_connections: int
    num_samples: int

    def __str__(self) -> str:
        return f"{_describe(self)}, {self.num_samples} samples"


@dataclasses.dataclass(frozen=True)
class Play:
    """A measurement: P genomes of some size that play episodes of equal length."""

    num_genomes: int
    num_nodes: int
    num_connections: int
    num_episodes: int
    max_steps: int = 200

    def __str__(self) -> str:
        return f"{_describe(self)}, {self.num_episodes} episodes of {self.max_steps} steps"


def _describe(load: Load | Play) -> str:
    return f"{load.num_genomes} genomes, {load.num_nodes} nodes, {load.num_connections} links"


def _population(load: Load | Play, num_inputs: int, num_outputs: int) -> evonet.Population:
    return evonet.Population.random(
        load.num_genomes,
        num_inputs,
        num_outputs,
        num_nodes=load.num_nodes,
        num_connections=load.num_connections,
        activations=("tanh",),
        seed=1,
    )


_BACKENDS: tuple[Literal["cpu", "cuda"], ...] = ("cpu", "cuda")
LOADS: Final = (
    Load(150, 5, 10, 4),
    Load(1000, 50, 200, 1),
    Load(1000, 50, 200, 32),
    Load(10_000, 50, 200, 32),
    Load(10_000, 50, 200, 1024),
    Load(100, 200, 2000, 256),
    Load(100, 2000, 20_000, 32),
    Play(150, 5, 10, 1),
    Play(10_000, 5, 10, 5),
    Play(1000, 50, 200, 100),
)


def verify(loads: tuple[Load | Play, ...] = LOADS, seconds: float = 0.5) -> Iterator[Finding]:
    """Runs every comparison, then measures throughput.

    Args:
        loads: The measurements.
        seconds: The least time of each.
    """
    try:
        discovery.usable_devices()
    except DeviceError as error:
        yield Finding("verify", "fault", str(error))
        return
    for comparison in COMPARISONS:
        begun = time.perf_counter()
        try:
            total, mismatches = comparison.run()
        except EvonetError as error:
            yield Finding("equal bits", "fault", f"{comparison.name}: {error}")
            continue
        took = f"{time.perf_counter() - begun:.1f} s"
        if mismatches:
            lines = [comparison.name, *map(str, mismatches[:5])]
            yield Finding("equal bits", "fault", "\n".join(lines), "report it, with this text")
        else:
            yield Finding("equal bits", "ok", f"{comparison.name}: {total:,} numbers, {took}")
    for load in loads:
        try:
            measured = (
                _measure(load, seconds) if isinstance(load, Load) else _measure_play(load, seconds)
            )
            yield Finding("speed", "ok", measured)
        except EvonetError as error:
            yield Finding("speed", "fault", f"{load}: {error}")


def _measure(load: Load, seconds: float) -> str:
    population = _population(load, 8, 4)
    x = np.random.default_rng(1).normal(size=(load.num_samples, 8)).astype(np.float32)
    cpu = evonet.compile(population, backend="cpu")
    work = cpu.schedule.num_edges * load.num_samples
    rates = {"cpu": work / _seconds_per_call(lambda: cpu(x), seconds)}
    for mapping in ("levels", "samples"):
        network = evonet.compile(population, backend="cuda", mapping=mapping)
        here = _to_gpu(x)
        on_gpu = _seconds_per_call(lambda: _wait(network(here, out="device")), seconds)  # noqa: B023
        rates[f"{mapping}, data on the GPU"] = work / on_gpu
        with_copies = _seconds_per_call(lambda: network(x), seconds)  # noqa: B023
        rates[f"{mapping}, data on the host"] = work / with_copies
    lines = [f"{rate / 1e9:10.3f}  {name}" for name, rate in rates.items()]
    return "\n".join([f"{load}: G links/s", *lines])


def _measure_play(play: Play, seconds: float) -> str:
    population = _population(play, 3, 1)
    lines = [f"{play}: M steps/s"]
    for backend in _BACKENDS:
        network = evonet.compile(population, backend=backend)

        def call(network: evonet.Network = network) -> object:
            # Pendulum never ends early.
            return network.rollout("pendulum", episodes=play.num_episodes, max_steps=play.max_steps)

        rate = play.num_genomes * play.num_episodes * play.max_steps
        lines.append(f"{rate / _seconds_per_call(call, seconds) / 1e6:10.3f}  {backend}")
    return "\n".join(lines)


def _to_gpu(x: Any) -> Any:
    return discovery.usable_devices()[0].upload(x)


def _wait(_: Any) -> None:
    discovery.usable_devices()[0].finish()


def _seconds_per_call(call: Callable[[], object], seconds: float) -> float:
    call()
    times: list[float] = []
    begun = time.perf_counter()
    while not times or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
