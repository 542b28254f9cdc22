"""Evaluates in this process, on the backend that the run has."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from evonet.decoders import Decoder, Identity
from evonet.definitions.dynamics import Dynamics
from evonet.errors import OptionError
from evonet.evaluation import Evaluation, Round
from evonet.evaluators.choice import BackendChoice
from evonet.evaluators.jobs import WorkerRate
from evonet.evaluators.lifetime import Curves, Lifetime
from evonet.genes.population import Population
from evonet.network import Network, compile_with
from evonet.tasks.base import Task


class Here:
    """Decodes, compiles and scores in this process; see `Evaluator`.

    Attributes:
        spent: Seconds in all, by phase.
        notes: Empty: there is nothing to say about this process.
        rates: Empty: there are no workers.
        progress: None: whole populations are scored at once.
    """

    def __init__(
        self,
        task: Task,
        dynamics: Dynamics,
        *,
        backend: str = "auto",
        threads: int = 0,
        decoder: Decoder | None = None,
        lifetime: Lifetime | None = None,
    ) -> None:
        """Takes a task.

        Args:
            task: What scores networks.
            dynamics: How networks work through time.
            backend: Where networks run.
            threads: Threads to use; 0 for all available.
            decoder: How genomes become phenotypes; None if they are their own.
            lifetime: How genomes learn before they are scored; None if they do not.

        Raises:
            OptionError: Children cannot inherit what a decoded phenotype learns.
        """
        if lifetime is not None and lifetime.inherits and decoder is not None:
            raise OptionError(
                'learning.inherit = "lamarckian" needs genomes that are their own phenotypes. '
                'Use "baldwinian".'
            )
        self._lifetime = lifetime
        self.spent = {"compile": 0.0, "evaluate": 0.0}
        self.rates: tuple[WorkerRate, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.progress: tuple[int, int] | None = None
        self._task = task
        self._dynamics = dynamics
        self._backend = backend
        self._threads = threads
        self._choice: BackendChoice | None = None  # made for the first generation
        self._decoder = Identity() if decoder is None else decoder

    def evaluate(
        self,
        population: Population,
        ids: npt.NDArray[np.int64],
        seed: int,
        generation: int,
        genome_index: npt.NDArray[np.int64] | None = None,
    ) -> Evaluation:
        """Decodes, compiles and scores a population; see `Evaluator`.

        Workers call this for parts of a population: `genome_index` then has the [P] positions of
        the genomes in the whole, which chance may depend on.
        """
        start = time.perf_counter()
        phenotypes, curves = self._learned(self._decoder.decode(population), seed)
        learned = time.perf_counter()
        picked = self._pick(phenotypes)
        network = self._compile(phenotypes, genome_index, picked)
        compiled = time.perf_counter()
        evaluation = self._task.score(Round(population, ids, network, seed, generation))
        if self._choice is not None:
            self._choice.note(time.perf_counter() - learned)
            evaluation = replace(evaluation, backend=None if picked == "auto" else picked)
        if self._lifetime is not None:
            # Genomes that are decoded have no genes for what their phenotypes learned.
            own = isinstance(self._decoder, Identity)
            evaluation = replace(
                evaluation,
                population=phenotypes if own else None,
                inherits=self._lifetime.inherits,
                curves=curves,
            )
        self.spent["compile"] += compiled - learned
        self.spent["evaluate"] += time.perf_counter() - compiled + learned - start
        return evaluation

    def _learned(self, population: Population, seed: int) -> tuple[Population, Curves]:
        """Lets genomes learn, if they do that."""
        examples = None if self._lifetime is None else self._task.examples()
        if self._lifetime is None or examples is None:
            return population, {}
        return self._lifetime.live(
            population,
            examples,
            seed,
            self._dynamics.has_memory,
            dynamics=self._dynamics,
            backend=self._backend,
            threads=self._threads,
        )

    def retest(
        self,
        genomes: Population,
        seed: int,
        first_episode: int,
        episodes: int,
        genome_index: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Plays more episodes with a few genomes; see `Evaluator` and `evaluate`."""
        network = self._compile(self._decoder.decode(genomes), genome_index)
        return self._task.returns(network, seed, first_episode, episodes)

    def close(self) -> None:
        """Does nothing: all that was used is the process's own."""

    def _pick(self, phenotypes: Population) -> str:
        """The backend for a generation; "auto" is chosen by price if it is known what they see."""
        if self._backend != "auto" or os.environ.get("EVONET_BACKEND"):
            return self._backend
        if self._choice is None and self._task.is_native:
            examples = self._task.examples()
            if examples is not None and examples.x.ndim == 2:
                self._choice = BackendChoice(len(examples.x), self._dynamics, self._threads)
        return "auto" if self._choice is None else self._choice.pick(phenotypes)

    def _compile(
        self,
        phenotypes: Population,
        genome_index: npt.NDArray[np.int64] | None,
        backend: str | None = None,
    ) -> Network:
        return compile_with(
            phenotypes,
            self._dynamics,
            backend=self._backend if backend is None else backend,
            threads=self._threads,
            genome_index=genome_index,
        )
