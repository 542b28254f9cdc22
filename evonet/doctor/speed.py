"""Throughput of forward passes and of whole episodes, on the processor and on a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import evonet
from evonet.backends.cuda import discovery
from evonet.definitions.backends import MAPPINGS, BackendName
from evonet.doctor.comparisons import mixed_population, random_samples

BACKENDS: Final[tuple[BackendName, ...]] = ("cpu", "cuda")


@dataclass(frozen=True)
class Load:
    """A measurement: P genomes of some size on B samples."""

    num_genomes: int
    num_nodes: int
    num_connections: int
    num_samples: int

    def __str__(self) -> str:
        return f"{self.genomes}, {self.num_samples} samples"

    @property
    def genomes(self) -> str:
        """Their number and size, in words."""
        return f"{self.num_genomes} genomes, {self.num_nodes} nodes, {self.num_connections} links"

    def population(self, pins: tuple[int, int] = (8, 4)) -> evonet.Population:
        """Random networks; `pins` counts their inputs and outputs."""
        size = self.num_genomes, self.num_nodes, self.num_connections
        return mixed_population(
            *size, pins=pins, activations=("tanh",), aggregations=("sum",), seed=1
        )

    def links_per_second(self, backend: BackendName, seconds: float) -> float:
        """Links times samples per second, with samples and outputs on the host."""
        population = self.population()
        x = random_samples(population, self.num_samples)
        network = evonet.compile(population, backend=backend)
        return network.schedule.num_edges * len(x) / seconds_per_call(partial(network, x), seconds)

    def measure(self, seconds: float) -> str:
        """Measures every way for so long; a line for each."""
        lines = [f"{self}: G links/s", _line(self.links_per_second("cpu", seconds) / 1e9, "cpu")]
        population, device = self.population(), discovery.usable_devices()[0]
        x = random_samples(population, self.num_samples)
        uploaded = device.upload(x)

        def on_gpu(network: evonet.Network) -> None:
            network(uploaded, out="device")
            device.finish()

        for mapping in MAPPINGS[1:]:
            network = evonet.compile(population, backend="cuda", mapping=mapping)
            work = network.schedule.num_edges * len(x) / 1e9
            for call, place in ((partial(on_gpu, network), "GPU"), (partial(network, x), "host")):
                rate = work / seconds_per_call(call, seconds)
                lines.append(_line(rate, f"{mapping}, data on the {place}"))
        return "\n".join(lines)


@dataclass(frozen=True)
class Play(Load):
    """A measurement: P genomes of some size that play B episodes of equal length."""

    max_steps: int = 200

    def __str__(self) -> str:
        return f"{self.genomes}, {self.num_samples} episodes of {self.max_steps} steps"

    def measure(self, seconds: float) -> str:
        """Measures both backends for so long; a line for each."""
        population = self.population((3, 1))
        steps = self.num_genomes * self.num_samples * self.max_steps
        lines = [f"{self}: M steps/s"]
        for backend in BACKENDS:
            play = partial(evonet.compile(population, backend=backend).rollout, "pendulum")
            # Pendulum never ends early.
            call = partial(play, episodes=self.num_samples, max_steps=self.max_steps)
            lines.append(_line(steps / seconds_per_call(call, seconds) / 1e6, backend))
        return "\n".join(lines)


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


def seconds_per_call(call: Callable[[], object], seconds: float) -> float:
    """The median of as many calls as take that long, after one that is not counted."""
    call()
    times: list[float] = []
    begun = time.perf_counter()
    while not times or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _line(rate: float, name: str) -> str:
    return f"{rate:10.3f}  {name}"
