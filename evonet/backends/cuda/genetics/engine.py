"""The engine of genetics on a GPU: populations live there, and only small arrays come back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.discovery import check_process
from evonet.backends.cuda.genetics import mating
from evonet.backends.cuda.genetics.breeding import breed_children, first_children
from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.backends.cuda.genetics.speciation import Speciation
from evonet.errors import DeviceMemoryError
from evonet.genes.mating import Indices, Mating, MatingShares, Parents, SpeciesMembers
from evonet.genes.population import Population

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device
    from evonet.backends.cuda.limits import DeviceLimits
    from evonet.backends.genetics import NativeEngine
    from evonet.genes.first_generation import FirstPlan
    from evonet.genes.rules import Rules

_Made = TypeVar("_Made")


class CudaEngine:
    """Breeds and divides populations in the memory of one GPU, with the bits of `NativeEngine`.

    Where the GPU has too little memory, the native engine does the work; one warning says so.
    """

    def __init__(self, device: Device, native: NativeEngine, process: int) -> None:
        """Takes the GPU, what to fall back on, and the process that uses CUDA."""
        self._device = device
        self._native = native
        self._process = process
        self._warned = False

    @property
    def limits(self) -> DeviceLimits:
        """What the GPU can do."""
        return self._device.limits

    def first_generation(
        self,
        num_genomes: int,
        num_outputs: int,
        plan: FirstPlan,
        rules: Rules,
        seed: int,
        generation: int,
        dtype: np.dtype[Any],
    ) -> Population:
        """Makes genomes from nothing; see `NativeEngine`."""
        chance = seed, generation

        def make() -> Population:
            genes = first_children(self._device, num_genomes, plan, rules, chance, dtype)
            return Population.from_distant(plan.num_inputs, num_outputs, genes)

        def make_natively() -> Population:
            made = self._native.first_generation
            return made(num_genomes, num_outputs, plan, rules, seed, generation, dtype)

        return self._run(make, make_natively, num_genomes > 0)

    def breed(
        self,
        parents: Population,
        fitter: Parents,
        other: Parents,
        rules: Rules,
        seed: int,
        generation: int,
        next_node_key: int,
        next_innovation: int,
    ) -> tuple[Population, int, int]:
        """Breeds child i from parents fitter[i] and other[i]; see `NativeEngine`."""
        chance, numbers = (seed, generation), (next_node_key, next_innovation)

        def breed() -> tuple[Population, int, int]:
            pins = parents.num_inputs, parents.num_outputs
            there = DeviceGenes.bring(parents, self._device)
            made = breed_children(there, pins, fitter, other, rules, chance, numbers)
            next_key = next_node_key + made.num_node_keys
            innovation = next_innovation + made.num_innovations
            return Population.from_distant(*pins, made.genes), next_key, innovation

        return self._run(
            breed,
            lambda: self._native.breed(parents, fitter, other, rules, *chance, *numbers),
            len(fitter) > 0,
        )

    def mate(
        self, scores: npt.NDArray[np.float64], shares: MatingShares, seed: int, generation: int
    ) -> Mating:
        """Decides who has children with whom, on the cheaper side; see `NativeEngine`."""
        return self._run(
            lambda: mating.mate(self._device, scores, shares, seed, generation),
            lambda: self._native.mate(scores, shares, seed, generation),
            mating.is_worth_while(len(shares.members)),
        )

    def speciate(
        self,
        population: Population,
        parents: Population,
        representatives: Indices,
        threshold: float,
        rules: Rules,
    ) -> SpeciesMembers:
        """Divides a population by distance; see `NativeEngine`."""

        def divide() -> SpeciesMembers:
            genes = DeviceGenes.bring(population, self._device)
            before = genes if parents is population else DeviceGenes.bring(parents, self._device)
            division = Speciation(genes, threshold, rules)
            division.divide(before, representatives)
            species = np.empty(genes.num_genomes, np.int32)
            self._device.download(division.species, species)
            chosen = np.array(division.representatives, np.int64)
            members, starts = self._native.group_by_species(species, len(chosen))
            return SpeciesMembers(members, starts, chosen)

        return self._run(
            divide,
            lambda: self._native.speciate(population, parents, representatives, threshold, rules),
            len(population) > 0,
        )

    def _run(
        self, on_device: Callable[[], _Made], natively: Callable[[], _Made], has_work: bool
    ) -> _Made:
        check_process(self._process)
        if not has_work:
            return natively()
        try:
            try:
                return on_device()
            except DeviceMemoryError:
                self._device.release_memory()
                return on_device()
        except DeviceMemoryError as error:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"{error} Populations that do not fit there are bred on the host, with equal "
                    "results.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            return natively()
