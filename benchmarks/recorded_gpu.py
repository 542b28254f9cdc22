"""A whole generation on an imaginary GPU, once for its results and once for the host's time.

First the stand-in of the tests runs every kernel on the SIMT runner, and what comes to the host is
recorded. Then the same generations run beside a GPU that does nothing but send these recordings:
the host takes the same way, and what takes time is the host's work alone.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from benchmarks import idle_gpu
from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.evolution.record import Seconds, describe_generation
from evonet.evolution.state import State
from evonet.tasks import Supervised
from tests import cupy_stand_in

NO_TIME = Seconds(ask=0.0, compile=0.0, evaluate=0.0, tell=0.0)
Downloads = list[np.ndarray[Any, Any]]


@dataclasses.dataclass
class Generation:
    """What the host did in one generation.

    Attributes:
        seconds: By phase, without copies.
        tally: What it asked of the GPU, by phase.
        genomes: P.
        nodes: Node genes of all genomes.
        connections: Connection genes of all genomes.
        old_species: Species of the generation before that may live on.
        species: Those that came out.
        events: Launches by name, and downloads as None, with their phase and second.
    """

    seconds: dict[str, float]
    tally: dict[str, idle_gpu.Tally]
    genomes: int
    nodes: int
    connections: int
    old_species: int
    species: int
    events: list[tuple[str, str | None, float]]


class Clock:
    """Seconds and tallies by phase."""

    def __init__(self, tally: idle_gpu.Tally) -> None:
        self.seconds: dict[str, float] = {}
        self.tally: dict[str, idle_gpu.Tally] = {}
        self.events: list[tuple[str, str | None, float]] = []
        self._all = tally

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Notes what happens meanwhile as a phase."""
        now = self._all
        before = dataclasses.replace(now, launches=now.launches.copy(), events=[])
        first = len(now.events)
        start = time.perf_counter() - now.copying
        yield
        spent = time.perf_counter() - now.copying - start
        done = sum(self.seconds.values())
        self.events += [(name, what, done + at - start) for what, at in now.events[first:]]
        self.seconds[name] = spent
        self.tally[name] = idle_gpu.Tally(
            launches=now.launches - before.launches,
            downloads=now.downloads - before.downloads,
            downloaded=now.downloaded - before.downloaded,
            uploads=now.uploads - before.uploads,
            uploaded=now.uploaded - before.uploaded,
            allocations=now.allocations - before.allocations,
        )


def one_generation(algorithm: NEAT, task: Supervised, tally: idle_gpu.Tally) -> Generation:
    """Asks, compiles, evaluates and tells; fitness is random, whatever networks compute."""
    clock = Clock(tally)
    old = len(algorithm.species)
    with clock.time("ask"):
        population = algorithm.ask()
    with clock.time("compile"):
        network = evonet.compile(population, backend="cuda")
    with clock.time("evaluate"):
        task.evaluate(network, seed=algorithm.generation)
    fitness = np.random.default_rng(algorithm.generation).normal(size=len(population))
    with clock.time("tell"):
        algorithm.tell(fitness)
    with clock.time("describe"):
        describe_generation(algorithm, 0, NO_TIME)
    assert isinstance(population.distant, DeviceGenes)
    return Generation(
        seconds=clock.seconds,
        tally=clock.tally,
        genomes=len(population),
        nodes=population.num_nodes,
        connections=population.num_connections,
        old_species=old,
        species=len(algorithm.species),
        events=clock.events,
    )


def record(config: Config, state: State, task: Supervised, count: int) -> Downloads:
    """Runs generations on the SIMT runner; returns what they sent to the host."""
    downloads: Downloads = []
    get = cupy_stand_in.Array.get

    def noted(self: Any, **options: Any) -> Any:
        found = get(self, **options)
        downloads.append(found.copy())
        return found

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as cache:
        patch.setattr(cupy_stand_in.Array, "get", noted)
        cupy_stand_in.install(patch, Path(cache), memory=80 << 30)
        algorithm = NEAT(config, seed=1, backend="cuda", state=state)
        downloads.clear()  # those of the first look at the GPU
        for _ in range(count):
            one_generation(algorithm, task, idle_gpu.Tally())
    return downloads


def replay(
    config: Config, state: State, task: Supervised, count: int, downloads: Downloads
) -> list[Generation]:
    """Runs them again beside a GPU that sends the recordings; the first brings the genes there."""
    tally = idle_gpu.install(downloads)
    algorithm = NEAT(config, seed=1, backend="cuda", state=state)
    return [one_generation(algorithm, task, tally) for _ in range(count)][1:]
