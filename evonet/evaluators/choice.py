"""Where networks run if the backend is "auto": wherever a generation takes less time.

All backends give the same bits, so a run may change sides at any time. The GPU's time is that of
the last generation there, and before there is one a model's (`evonet.backends.cuda.pricing`); the
processor's is measured on some of the genomes. Both compile and evaluate. Genes that are bred on
the GPU are compiled there; breeding follows only if it is cheaper there, and is left out.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from evonet.backends import resolve_backend
from evonet.definitions.dynamics import Dynamics
from evonet.installation import load_native
from evonet.network import Network, compile_with

if TYPE_CHECKING:
    from evonet.genes.population import Population

PILOT_GENOMES: Final = 256  # that the processor is timed with
PILOT_SAMPLES: Final = 256
ROUNDS: Final = 3  # of which the fastest counts
GROWTH: Final = 2.0  # of links times samples, after which the choice is made again
BETTER: Final = 0.8  # of the other side's time, for a change of sides


class BackendChoice:
    """Chooses for one task; `pick` before every generation, `note` after it.

    Attributes:
        gpu_seconds: What a generation on the GPU takes, as far as it is known; None on a machine
            without one.
        cpu_seconds: What it would take here.
    """

    def __init__(self, num_samples: int, dynamics: Dynamics, threads: int) -> None:
        """Chooses for genomes that all see `num_samples` samples."""
        self.gpu_seconds: float | None = None
        self.cpu_seconds: float | None = None
        self._num_samples = max(1, num_samples)
        self._dynamics = dynamics
        self._threads = threads
        self._has_both = load_native() is not None and resolve_backend("auto").name == "cuda"
        self._picked = "auto"
        self._weighed = 0  # connections when the choice was made
        self._genes = 0, 0  # nodes and connections of all genomes
        self._compiling = 0.0  # seconds for the genomes that are timed
        self._generations_there = 0

    def pick(self, population: Population) -> str:
        """The backend for a generation: "cuda" or "cpu"; "auto" where one is missing."""
        if not self._has_both or len(population) == 0:
            return "auto"
        size = population.num_connections + population.num_nodes
        if self._picked == "auto" or not self._weighed / GROWTH <= size <= self._weighed * GROWTH:
            self._weigh(population, size)
        elif self._generations_there == 2 and self._picked == "cuda":
            self._decide()  # the first one there compiled kernels, the second one counts
        return self._picked

    def note(self, seconds: float) -> None:
        """Notes how long the generation that was picked for last took to compile and evaluate."""
        if self._picked == "cuda":
            self._generations_there += 1
            if self._generations_there > 1:
                self.gpu_seconds = seconds

    def _weigh(self, population: Population, size: int) -> None:
        """Prices both sides and picks the cheaper one."""
        every = max(1, len(population) // PILOT_GENOMES)
        chosen = np.arange(0, len(population), every)[:PILOT_GENOMES]
        some: Population = population[chosen.tolist()]
        start = time.perf_counter()
        network = compile_with(
            some, self._dynamics, backend="cpu", threads=self._threads, on_cycle="zero"
        )
        self._compiling = time.perf_counter() - start
        self._genes = population.num_nodes, population.num_connections
        scale = len(population) / len(some)
        self.cpu_seconds = self._time_here(network) * scale
        self.gpu_seconds = self._price_there(network, scale)
        self._weighed, self._generations_there = size, 0
        self._decide()

    def _decide(self) -> None:
        assert self.cpu_seconds is not None
        assert self.gpu_seconds is not None
        if self._picked == "cuda":
            stays = not self.cpu_seconds < BETTER * self.gpu_seconds
            self._picked = "cuda" if stays else "cpu"
        else:
            self._picked = "cuda" if self.gpu_seconds < self.cpu_seconds else "cpu"

    def _time_here(self, network: Network) -> float:
        """Seconds that the processor takes to compile some genomes and for all samples."""
        count = min(self._num_samples, PILOT_SAMPLES)
        x = np.linspace(-1, 1, count * network.num_inputs, dtype=network.dtype)
        samples = x.reshape(count, network.num_inputs)
        targets = np.zeros((count, network.num_outputs), network.dtype)
        spent = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            network.loss(samples, targets)
            spent.append(time.perf_counter() - start)
        return self._compiling + min(spent) * self._num_samples / count

    def _price_there(self, network: Network, scale: float) -> float:
        """Seconds that the model expects of the first GPU, with genes there or on the host."""
        from evonet.backends.cuda.cost import Workload
        from evonet.backends.cuda.discovery import usable_devices
        from evonet.backends.cuda.genetics.cost import GenesWorkload
        from evonet.backends.cuda.pricing import price_evaluation, price_scoring

        schedule = network.schedule
        some = Workload.of(schedule, 0, schedule.num_genomes, self._num_samples, True)
        work = dataclasses.replace(
            some,
            num_genomes=round(some.num_genomes * scale),
            num_nodes=round(some.num_nodes * scale),
            num_edges=round(some.num_edges * scale),
            num_levels=round(some.num_levels * scale),
        )
        limits = usable_devices()[0].limits
        genes = GenesWorkload(work.num_genomes, *self._genes, work.dtype.itemsize)
        packed = self._compiling * scale + price_evaluation(work, limits).total
        return min(packed, price_scoring(genes, work, limits))
