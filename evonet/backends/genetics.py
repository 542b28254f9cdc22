"""The three steps that touch genes: make the first generation, breed, divide into species.

Two engines do them with equal bits: the compiled one, and the readable one in
`evonet.backends.reference.genetics`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evonet.genes.first_generation import FirstPlan
from evonet.genes.population import Population
from evonet.genes.rules import Rules
from evonet.installation import load_native, require_native

Indices = npt.NDArray[np.int64]


class Engine(Protocol):
    """What touches genes."""

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

    def breed(
        self,
        parents: Population,
        fitter: Indices,
        other: Indices,
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

    def speciate(
        self, population: Population, representatives: Population, threshold: float, rules: Rules
    ) -> tuple[npt.NDArray[np.int32], Indices]:
        """Divides a population by distance.

        Args:
            population: P genomes.
            representatives: One genome of the previous generation per old species.
            threshold: Genomes nearer than this share a species.
            rules: Distance rules.

        Returns:
            [P] the species of each genome, old ones first and then new ones; and for each
            species the genome that now stands for it, or -1 if the species is gone.
        """


class NativeEngine:
    """Parallel over genomes, in the compiled extension."""

    def __init__(self, threads: int = 0) -> None:
        from evonet.backends.cpu import CpuBackend

        self._native = require_native()
        self._threads = threads
        self._simd = CpuBackend().simd_level()

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
        """See `Engine`."""
        arrays = self._typed("first_generation", dtype)(
            num_genomes,
            plan.num_inputs,
            plan.num_nodes,
            plan.source,
            plan.target,
            plan.num_wanted,
            plan.one_input,
            rules,
            seed,
            generation,
            self._threads,
            self._simd,
        )
        return Population(
            num_inputs=plan.num_inputs, num_outputs=num_outputs, **arrays, validate=False
        )

    def breed(
        self,
        parents: Population,
        fitter: Indices,
        other: Indices,
        rules: Rules,
        seed: int,
        generation: int,
        next_node_key: int,
        next_innovation: int,
    ) -> tuple[Population, int, int]:
        """See `Engine`."""
        arrays, node_key, innovation = self._typed("breed", parents.dtype)(
            parents,
            fitter,
            other,
            rules,
            seed,
            generation,
            next_node_key,
            next_innovation,
            self._threads,
            self._simd,
        )
        children = Population(
            num_inputs=parents.num_inputs,
            num_outputs=parents.num_outputs,
            **arrays,
            validate=False,
        )
        return children, node_key, innovation

    def speciate(
        self, population: Population, representatives: Population, threshold: float, rules: Rules
    ) -> tuple[npt.NDArray[np.int32], Indices]:
        """See `Engine`."""
        species, chosen = self._typed("speciate", population.dtype)(
            population, representatives, threshold, rules, self._threads, self._simd
        )
        return species, chosen

    def _typed(self, name: str, dtype: np.dtype[Any]) -> Any:
        return getattr(self._native, name + ("32" if dtype == np.float32 else "64"))


def make_engine(backend: str, threads: int) -> Engine:
    """The readable engine for backend "reference" and where nothing was compiled.

    Args:
        backend: Name of the backend that evaluates networks.
        threads: Threads to use; 0 for all available.
    """
    if backend == "reference" or load_native() is None:
        from evonet.backends.reference.genetics import ReferenceEngine

        return ReferenceEngine()
    return NativeEngine(threads)
