"""The three steps that touch genes: make the first generation, breed, divide into species.

Three engines do them with equal bits: the compiled one, the one on a GPU in
`evonet.backends.cuda.genetics`, and the readable one in `evonet.backends.reference.genetics`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.errors import DeviceError
from evonet.genes.first_generation import FirstPlan
from evonet.genes.mating import (
    Indices,
    Mating,
    MatingShares,
    Parents,
    SpeciesMembers,
    on_host,
)
from evonet.genes.population import Population
from evonet.genes.rules import Rules
from evonet.installation import load_native, require_native

if TYPE_CHECKING:
    from evonet.backends.cuda.genetics.engine import CudaEngine
    from evonet.backends.cuda.genetics.following import FollowingEngine
    from evonet.backends.reference.genetics import ReferenceEngine

Engine: TypeAlias = "NativeEngine | CudaEngine | FollowingEngine | ReferenceEngine"


class NativeEngine:
    """Parallel over genomes, in the compiled extension."""

    def __init__(self, threads: int = 0) -> None:
        from evonet.backends.cpu import CpuBackend

        self._native = require_native()
        self._how = threads, CpuBackend().simd_level()

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
        """Makes genomes from nothing."""
        make = self._typed("first_generation", dtype)
        counts = num_genomes, plan.num_inputs, plan.num_nodes
        links = plan.source, plan.target, plan.num_wanted, plan.one_input
        arrays = make(*counts, *links, rules, seed, generation, *self._how)
        return Population(
            num_inputs=plan.num_inputs, num_outputs=num_outputs, **arrays, validate=False
        )

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
        """Breeds child i from parents fitter[i] and other[i]; other[i] = -1 copies.

        Returns:
            The children, the next node key, the next innovation number.
        """
        breed = self._typed("breed", parents.dtype)
        numbers = seed, generation, next_node_key, next_innovation
        drawn = on_host(fitter), on_host(other)
        arrays, node_key, innovation = breed(parents, *drawn, rules, *numbers, *self._how)
        arrays |= {"num_inputs": parents.num_inputs, "num_outputs": parents.num_outputs}
        return Population(**arrays, validate=False), node_key, innovation

    def mate(
        self, scores: npt.NDArray[np.float64], shares: MatingShares, seed: int, generation: int
    ) -> Mating:
        """Decides who passes on unchanged and who has children with whom.

        Args:
            scores: [P] higher is better.
            shares: What each species contributes.
            seed: The run's seed.
            generation: The generation that is being bred.

        Returns:
            Parents as `breed` takes them: elites, and then the children, species by species.
        """
        plan = self._native.plan_mating
        fitter, other = plan(scores, *shares, seed, generation & 0xFFFFFFFF, self._how[0])
        return Mating(fitter, other, fitter[: int(shares.num_elites.sum())])

    def speciate(
        self,
        population: Population,
        parents: Population,
        representatives: Indices,
        threshold: float,
        rules: Rules,
    ) -> SpeciesMembers:
        """Divides a population by distance.

        Args:
            population: P genomes.
            parents: The previous generation.
            representatives: Position in it of the genome that stands for each old species.
            threshold: Genomes nearer than this share a species.
            rules: Distance rules.
        """
        speciate = self._typed("speciate", population.dtype)
        found = speciate(population, parents, representatives, threshold, rules, *self._how)
        return SpeciesMembers(*found)

    def group_by_species(
        self, species: npt.NDArray[np.int32], num_species: int
    ) -> tuple[Indices, Indices]:
        """Lists genomes by species, [P], ascending within each, and where each begins, [S + 1]."""
        members, starts = self._native.group_by_species(species, num_species)
        return members, starts

    def _typed(self, name: str, dtype: np.dtype[Any]) -> Any:
        return getattr(self._native, name + ("32" if dtype == np.float32 else "64"))


def make_engine(backend: str, threads: int) -> Engine:
    """Makes the engine that suits a backend.

    That is the readable one for backend "reference" and where nothing was compiled, and the one on
    a GPU for "cuda", if a GPU works. That of "auto" breeds where networks run.
    """
    if backend == "reference" or load_native() is None:
        from evonet.backends.reference.genetics import ReferenceEngine

        return ReferenceEngine()
    native = NativeEngine(threads)
    if backend not in ("auto", "cuda"):
        return native
    from evonet.backends.cuda.discovery import usable_devices
    from evonet.backends.cuda.genetics.engine import CudaEngine
    from evonet.backends.cuda.genetics.following import FollowingEngine

    def make() -> CudaEngine:
        return CudaEngine(usable_devices()[0], native, os.getpid())

    try:
        return FollowingEngine(native, make) if backend == "auto" else make()
    except DeviceError:  # networks cannot be compiled either, which says why
        return native
