"""Divides a population into species on a GPU, in the order of events of `native/speciate.cpp`.

Old species choose their new representatives, the others join the nearest of them, and whoever is
near none founds a species, one after another. The host takes part in what follows in order: after
every round a few numbers come back. What stays on the GPU are distances, [P, 16] at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evonet.backends.cuda.genetics.dictionary import STANDARDS, Dictionary
from evonet.backends.cuda.genetics.rules import distance_rules_type, pack_rules
from evonet.backends.cuda.genetics.sums import NOTHING, THREADS, blocks_for, fill
from evonet.backends.cuda.layout import real_name

if TYPE_CHECKING:
    import numpy.typing as npt

    from evonet.backends.cuda.device import DeviceArray
    from evonet.backends.cuda.genetics.genes import DeviceGenes
    from evonet.genes.mating import Indices
    from evonet.genes.rules import Rules

MEASURE_THREADS: Final = 128  # of a block: eight genomes
MOST_SCRATCH: Final = 1 << 28  # bytes for the words of genomes that are being measured
NEAREST_BLOCKS: Final = 128  # whose results the host compares
NOBODY: Final = np.iinfo(np.int64).max
LAST: Final = 0xFFFFFFFF  # larger than every position


class Speciation:
    """A population that is being divided.

    Attributes:
        species: [P] int32 on the GPU, the species of each genome or -1.
        representatives: The genome that stands for each species, or -1.
    """

    def __init__(self, genes: DeviceGenes, threshold: float, rules: Rules) -> None:
        """Starts with all genomes in no species."""
        device, count = genes.device, genes.num_genomes
        self._genes = genes
        self._device = device
        self._real = genes.dtype.type
        self._defines = {"REAL": real_name(genes.dtype)}
        settings = pack_rules(rules, distance_rules_type(genes.dtype))
        self._rules_size = settings.size
        self._rules = device.upload(settings)
        self.species = device.empty((count,), np.int32)
        self.representatives: list[int] = []
        self._best = device.empty((count,), genes.dtype)
        self._distances = device.empty((count * STANDARDS,), genes.dtype)
        self._next = device.empty((1,), np.uint32)
        self._most_genes = max(1, genes.most_nodes + genes.most_connections)
        teams = MEASURE_THREADS // STANDARDS
        limits = device.limits
        resident = limits.num_sms * limits.max_threads_per_sm // MEASURE_THREADS
        fitting = MOST_SCRATCH // (4 * self._most_genes * teams)
        self._blocks = max(1, min(-(-count // teams), resident, fitting))
        self._words = device.empty((self._blocks * teams * self._most_genes,), np.int32)
        genes.wait()
        self._launch(
            "start_species",
            count,
            (np.int64(count), self._real(threshold), self._best, self.species),
        )

    def divide(self, before: DeviceGenes, old: Indices) -> None:
        """Divides the whole population; `old` are representatives among the genomes `before`."""
        count = self._genes.num_genomes
        self._choose_representatives(before, old)
        founder = 0
        for begin in range(0, len(old), STANDARDS):
            chosen = np.array(self.representatives[begin : begin + STANDARDS], np.int64)
            founder = self._join(Dictionary(self._genes, chosen), begin, chosen >= 0, 0)
        while founder < count:
            number = len(self.representatives)
            self._seat([founder])
            if founder + 1 == count:
                break
            standard = Dictionary(self._genes, np.array([founder]))
            founder = self._join(standard, number, np.ones(1, np.bool_), founder + 1)
        self._genes.was_read()

    def _choose_representatives(self, before: DeviceGenes, old: Indices) -> None:
        """Lets each old species take the nearest genome that no species before it has taken."""
        before.wait()
        nearest: list[int] = []
        for begin in range(0, len(old), STANDARDS):
            nearest += self._nearest(Dictionary(before, old[begin : begin + STANDARDS]), None)
        taken: set[int] = set()
        waiting: list[int] = []  # chosen, but not yet noted on the GPU
        for s, found in enumerate(nearest):
            genome = found
            if len(taken) == self._genes.num_genomes:
                genome = -1
            elif genome < 0 or genome in taken:
                self._seat(waiting)
                waiting = []
                again = Dictionary(before, old[s : s + 1])
                (genome,) = self._nearest(again, self.species)
            if genome >= 0:  # a species whose distances are all NaN takes none
                taken.add(genome)
            waiting.append(genome)
        self._seat(waiting)
        before.was_read()

    def _nearest(self, standards: Dictionary, species: DeviceArray | None) -> list[int]:
        """The nearest genome of each standard, or -1; only of those in no species, if given."""
        device, count = self._device, self._genes.num_genomes
        self._measure(standards, 0, species, None)
        blocks = min(NEAREST_BLOCKS, -(-count // STANDARDS))
        distance = device.empty((blocks, STANDARDS), self._genes.dtype)
        genome = device.empty((blocks, STANDARDS), np.int64)
        device.launch(
            "nearest_genomes",
            self._defines,
            (blocks,),
            (THREADS,),
            (
                *(np.int64(count), np.int32(standards.count), self._distances),
                *(NOTHING if species is None else species, self._real(np.inf), distance, genome),
            ),
        )
        distances, genomes = self._read(distance), self._read(genome)
        least = np.where(distances == distances.min(axis=0), genomes, NOBODY).min(axis=0)
        chosen: list[int] = np.where(least == NOBODY, -1, least)[: standards.count].tolist()
        return chosen

    def _measure(
        self,
        standards: Dictionary,
        first: int,
        species: DeviceArray | None,
        best: DeviceArray | None,
    ) -> None:
        self._device.launch(
            "measure_genomes",
            {**self._defines, "RULES_SIZE": self._rules_size},
            (self._blocks,),
            (MEASURE_THREADS,),
            (
                *(np.int64(self._genes.num_genomes), np.int64(first)),
                *self._genes.arguments,
                *(NOTHING if each is None else each for each in (species, best)),
                self._rules,
                *standards.arguments,
                *(self._words, np.int32(self._most_genes), self._distances),
            ),
        )

    def _join(
        self, standards: Dictionary, number: int, present: npt.NDArray[np.bool_], first: int
    ) -> int:
        """Lets genomes join species from `number` on; returns the first in none, or LAST."""
        self._measure(standards, first, None, self._best)
        fill(self._device, self._next, LAST)
        bits = sum(1 << int(s) for s in np.flatnonzero(present))
        self._launch(
            "join_species",
            self._genes.num_genomes - first,
            (
                *(np.int64(self._genes.num_genomes), np.int64(first), np.int32(number)),
                *(np.int32(standards.count), np.uint32(bits), self._distances),
                *(self._best, self.species, self._next),
            ),
        )
        return int(self._read(self._next)[0])

    def _seat(self, genomes: list[int]) -> None:
        """Gives the next species their representatives."""
        if genomes:
            chosen = self._device.upload(np.array(genomes, np.int64))
            numbers = np.int32(len(genomes)), np.int32(len(self.representatives))
            arguments = *numbers, chosen, self._best, self.species
            self._launch("seat_species", len(genomes), arguments)
            self.representatives += genomes

    def _launch(self, kernel: str, count: int, arguments: tuple[Any, ...]) -> None:
        self._device.launch(kernel, self._defines, blocks_for(count), (THREADS,), arguments)

    def _read(self, array: DeviceArray) -> npt.NDArray[Any]:
        found = np.empty(array.shape, array.dtype)
        self._device.download(array, found)
        return found
