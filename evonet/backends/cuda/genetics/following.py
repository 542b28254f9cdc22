"""The engine of genetics for backend "auto": breeding follows the networks to a GPU and back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.genetics.cost import GenesWorkload
from evonet.backends.cuda.genetics.mating import is_worth_while
from evonet.backends.cuda.pricing import price_breeding

if TYPE_CHECKING:
    from evonet.backends.cuda.genetics.engine import CudaEngine
    from evonet.backends.genetics import NativeEngine
    from evonet.genes.first_generation import FirstPlan
    from evonet.genes.mating import Indices, Mating, MatingShares, Parents, SpeciesMembers
    from evonet.genes.population import Population
    from evonet.genes.rules import Rules

_Made = TypeVar("_Made")


class FollowingEngine:
    """Breeds on the host until networks run on a GPU and breeding is cheaper there, too.

    The host's time is that of the last generation, the GPU's a model's. Results are the same.

    Attributes:
        is_there: Whether the next generation is bred on the GPU.
    """

    def __init__(self, native: NativeEngine, make: Callable[[], CudaEngine]) -> None:
        """Takes the host's engine, and what makes the GPU's."""
        self.is_there = False
        self._native = native
        self._make = make
        self._made: CudaEngine | None = None
        self._seconds: dict[str, float] = {}  # of the last generation on the host

    def follow(self, backend: str, population: Population) -> None:
        """Notes where networks ran: "cpu" or "cuda"; and what was scored there."""
        if backend != "cuda":
            self.is_there = False
        elif not self.is_there and {"breed", "speciate"} <= self._seconds.keys():
            if self._made is None:
                self._made = self._make()
            work = GenesWorkload(
                *(len(population), population.num_nodes, population.num_connections),
                population.dtype.itemsize,
            )
            price = price_breeding(work, self._made.limits)
            steps = ["breed", "speciate"]
            if is_worth_while(len(population)):  # else parents are drawn on the host in any case
                steps.append("mate")
            self.is_there = price < sum(self._seconds.get(step, 0.0) for step in steps)

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
        make = self._now.first_generation
        return make(num_genomes, num_outputs, plan, rules, seed, generation, dtype)

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
        breed, numbers = self._now.breed, (next_node_key, next_innovation)
        return self._timed(
            "breed", lambda: breed(parents, fitter, other, rules, seed, generation, *numbers)
        )

    def mate(
        self, scores: npt.NDArray[np.float64], shares: MatingShares, seed: int, generation: int
    ) -> Mating:
        """Decides who has children with whom; see `NativeEngine`."""
        mate = self._now.mate
        return self._timed("mate", lambda: mate(scores, shares, seed, generation))

    def speciate(
        self,
        population: Population,
        parents: Population,
        representatives: Indices,
        threshold: float,
        rules: Rules,
    ) -> SpeciesMembers:
        """Divides a population by distance; see `NativeEngine`."""
        divide = self._now.speciate
        return self._timed(
            "speciate", lambda: divide(population, parents, representatives, threshold, rules)
        )

    @property
    def _now(self) -> NativeEngine | CudaEngine:
        return self._native if self._made is None or not self.is_there else self._made

    def _timed(self, step: str, run: Callable[[], _Made]) -> _Made:
        """Notes how long a step takes on the host."""
        start = time.perf_counter()
        made = run()
        if not self.is_there:
            self._seconds[step] = time.perf_counter() - start
        return made
