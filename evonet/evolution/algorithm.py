"""The seam of algorithms: two verbs, `ask` and `tell`, and what all algorithms have in common.

    algorithm = NEAT(config, seed=1, num_inputs=2, num_outputs=1)
    while not algorithm.solved:
        population = algorithm.ask()             # bred now, if the last generation was told
        algorithm.tell(score(population))        # [P], or an Evaluation

An algorithm of your own derives from `Algorithm` and defines `next_state`; what it keeps beside
the genomes goes into a state derived from `State`. Loops, records, checkpoints, run folders and
reports then work for it as they do for NEAT.
"""

from __future__ import annotations

import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from evonet.backends.genetics import make_engine
from evonet.config import Config
from evonet.definitions.backends import BACKEND_NAMES
from evonet.definitions.lock import Lock
from evonet.errors import FitnessError, OptionError, check_option, check_seed, check_threads
from evonet.evaluation import Evaluation, OnBadFitness, check_fitness
from evonet.evolution.state import Best, State, curves_of
from evonet.files.saved_state import SavedState
from evonet.functions.registry import activation_id
from evonet.genes.arrays import real_type
from evonet.genes.first_generation import plan_first_generation
from evonet.genes.mating import Parents, on_host
from evonet.genes.population import Population
from evonet.genes.rules import check_time_constants, genome_rules
from evonet.messages import counted
from evonet.numerics.exact_sum import mean

# Beats every other number where lower is better, and loses to every other one elsewhere.
LARGEST: Final = sys.float_info.max

Positions = npt.NDArray[np.int64]


class Description(NamedTuple):
    """What an algorithm reports about a generation besides fitness and sizes.

    Attributes:
        fields: Values that JSON can hold, by name, for records and metrics.
        summary: A few words for the progress bar, such as "species 12"; or "".
    """

    fields: Mapping[str, Any]
    summary: str = ""


class Algorithm(ABC):
    """Evolves a population: `ask` gives the current one, `tell` takes its evaluation.

    All randomness is a function of the seed, and nothing depends on the number of threads, so
    that equal seeds evolve equal populations. Several threads of a program may share an
    algorithm: one call waits for the other.

    Attributes:
        name: What checkpoints call the algorithm; the class's own name if it is empty.
        config: As given.
        seed: The seed in use.
        backend: Where networks run.
        threads: Threads to use; 0 for all available.
        on_bad_fitness: What `tell` does about fitness that is not a finite number.
        state: What a checkpoint would hold.
        spent: Seconds in all that the steps of breeding took, by name.
    """

    name: ClassVar[str] = ""
    # Names of the settings and arrays that `pack` adds to a checkpoint.
    packed_settings: ClassVar[tuple[str, ...]] = ()
    packed_arrays: ClassVar[tuple[str, ...]] = ()
    # Whether the numbers of genomes ascend in the population.
    ids_ascend: ClassVar[bool] = True

    state: State

    def __init__(
        self,
        config: Config,
        seed: int | None = None,
        *,
        num_inputs: int | None = None,
        num_outputs: int | None = None,
        dtype: npt.DTypeLike = np.float32,
        backend: str | None = None,
        threads: int | None = None,
        on_bad_fitness: OnBadFitness | None = None,
        state: State | None = None,
    ) -> None:
        """Makes the first generation, unless a state is given to continue from.

        Args:
            config: All settings.
            seed: Wins over the config's.
            num_inputs: I, where the config leaves it open.
            num_outputs: O, where the config leaves it open.
            dtype: float32 or float64, of all gene values.
            backend: Wins over the config's; "reference" breeds readably and slowly.
            threads: Wins over the config's; 0 for all available.
            on_bad_fitness: What `tell` does about NaN: "error", or "worst" to count it as the
                worst fitness of the generation. Wins over the config's.
            state: Where to continue.

        Raises:
            OptionError: The number of inputs or outputs is not known, or contradicts the config,
                or another argument is out of range.
            ShapeError: The type is neither float32 nor float64.
        """
        self.config = config
        self.seed = check_seed(config.run.seed if seed is None else seed)
        self.backend = config.run.backend if backend is None else backend
        check_option("backend", self.backend, BACKEND_NAMES)
        self.threads = check_threads(config.run.threads if threads is None else threads)
        self._lock = Lock()
        self.num_inputs = _pins("num_inputs", config.genome.num_inputs, num_inputs, 0)
        self.num_outputs = _pins("num_outputs", config.genome.num_outputs, num_outputs, 1)
        self.on_bad_fitness: OnBadFitness = config.run.on_bad_fitness
        if on_bad_fitness is not None:
            check_option("on_bad_fitness", on_bad_fitness, ("error", "worst"))
            self.on_bad_fitness = on_bad_fitness
        self.dtype = real_type(dtype)
        check_time_constants(config, self.dtype)
        self.sign = -1.0 if config.neat.fitness_criterion == "min" else 1.0
        self.spent: dict[str, float] = {"breed": 0.0}
        self._engine = make_engine(self.backend, self.threads)
        self._rules = genome_rules(config)
        self.state = self.first_state(0) if state is None else self.continued_state(state)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._engine = make_engine(self.backend, self.threads)

    # ---- what users see ----------------------------------------------------------------------

    def __repr__(self) -> str:
        population, best = self.state.population, self.best
        found = "" if best is None else f", best {best.fitness:.6g}"
        more = self.describe().summary if self.state.fitness is not None else ""
        return (
            f"{type(self).__name__}(generation {self.generation}, "
            f"{counted(len(population), 'genome')}, {counted(population.num_inputs, 'input')}, "
            f"{counted(population.num_outputs, 'output')}{found}"
            f"{', ' if more else ''}{more}, seed {self.seed})"
        )

    @property
    def generation(self) -> int:
        """The number of the current generation, from 0."""
        return self.state.generation

    @property
    def generations_done(self) -> int:
        """How many generations have been told."""
        return self.state.generation + (self.state.fitness is not None)

    @property
    def best(self) -> Best | None:
        """The best genome so far, None before the first `tell`."""
        return self.state.best

    @property
    def solved(self) -> bool:
        """Whether the last fitness told reached the config's threshold.

        A champion that was tested has to pass its test; see `Retest.solves`. Where a task has a
        validation part, the champion has to reach the threshold there.
        """
        limit, fitness = self.config.neat.fitness_threshold, self.state.fitness
        if limit is None or fitness is None or self.config.neat.no_fitness_termination:
            return False
        best = self.state.best
        if best is not None and best.validation is not None:
            return self.sign * best.validation >= self.sign * limit
        if self.config.neat.fitness_criterion == "mean":
            return self.sign * mean(fitness, self.threads) >= self.sign * limit
        if best is not None and best.tested is not None:
            return best.tested.solves(limit, self.sign)
        return self.sign * float(fitness[self.fittest(fitness)]) >= self.sign * limit

    @property
    def stalled(self) -> bool:
        """Whether the best genome is as old as the config's run.patience allows."""
        patience, best = self.config.run.patience, self.state.best
        return patience > 0 and best is not None and self.generation - best.generation >= patience

    def ask(self) -> Population:
        """Returns the generation to evaluate next; bred now if the last one was told.

        Raises:
            ExtinctionError: Nobody is left to breed from.
        """
        with self._lock:
            if self.state.fitness is not None:
                self.state = self.next_state(self.state, self.sign * self.state.fitness)
            return self.state.population

    def tell(self, evaluation: Evaluation | npt.ArrayLike, best: Best | None = None) -> None:
        """Takes the scores of the generation that `ask` gave.

        Args:
            evaluation: [P] one fitness per genome, or an `Evaluation`.
            best: The best genome so far, where tests have decided which one that is; None for the
                one with the best fitness.

        Raises:
            FitnessError: An array has another shape, or a genome's fitness is not a finite number,
                or the generation was told already.
        """
        with self._lock:
            self._tell(evaluation, best)

    def _tell(self, evaluation: Evaluation | npt.ArrayLike, best: Best | None) -> None:
        state = self.state
        if state.fitness is not None:
            raise FitnessError("this generation was told already; call ask() for the next one.")
        scores = Evaluation.of(evaluation).checked(len(state.population))
        fitness = check_fitness(scores.fitness, state.ids, self.sign, self.on_bad_fitness)
        scored = state.population if scores.population is None else scores.population
        population = scored if scores.inherits else state.population
        before, top = state.best, self.fittest(fitness)
        validation = None if scores.validation is None else float(scores.validation[top])
        if validation is not None and not math.isfinite(validation):
            validation = -self.sign * LARGEST  # checkpoints hold finite numbers
        if best is None and before is not None:
            better = self._is_better(float(fitness[top]), validation, before)
            best = None if better else before
        if best is None:
            best = Best(
                population=scored[[top]],
                fitness=float(fitness[top]),
                generation=state.generation,
                id=int(state.ids[top]),
                validation=validation,
                task_state=scores.task_state,
                curves=curves_of(scores.curves, top),
            )
        told = replace(
            state, population=population, fitness=fitness, best=best, validation=validation
        )
        if fitness is not scores.fitness:
            scores = replace(scores, fitness=fitness)
        self._follow(scores.backend, population)
        # One assignment, so that an interrupt leaves the generation either told or not.
        self.state = self.told_state(told, scores)

    def _follow(self, backend: str | None, population: Population) -> None:
        """Lets breeding follow the networks to a GPU, or back, if it is not bound to a backend."""
        if backend is None:
            return
        from evonet.backends.cuda.genetics.following import FollowingEngine

        if isinstance(self._engine, FollowingEngine):
            self._engine.follow(backend, population)

    def fittest(self, fitness: npt.NDArray[np.float64]) -> int:
        """Returns the position of the best fitness, the first of equals."""
        return int(fitness.argmax() if self.sign > 0 else fitness.argmin())

    def _is_better(self, fitness: float, validation: float | None, best: Best) -> bool:
        if validation is None or best.validation is None:
            return self.sign * fitness > self.sign * best.fitness
        return self.sign * validation > self.sign * best.validation

    def describe(self) -> Description:
        """Describes what this algorithm alone knows about the generation that was told."""
        return Description({"innovations": self.state.next_innovation})

    def save(self, folder: str | os.PathLike[str], keep: int = 3) -> Path:
        """Writes a checkpoint, without changing anything; see `evonet.evolution.checkpoint`.

        Args:
            folder: Where checkpoints are; made if it is missing.
            keep: How many to keep.

        Raises:
            OSError: The disk or the folder does not take it.
        """
        from evonet.evolution.checkpoint import save_checkpoint

        return save_checkpoint(self, folder, keep)

    @classmethod
    def resume(
        cls, path: str | os.PathLike[str], config: Config | None = None, fork: bool = False
    ) -> Self:
        """Continues from a checkpoint, or from the newest of a folder.

        Args:
            path: A checkpoint, or a folder of them.
            config: None for the config in the checkpoint.
            fork: Whether to continue with another config than before, on purpose.

        Raises:
            CheckpointError: Nothing there can be read, or the config has changed.
        """
        from evonet.evolution.checkpoint import load_checkpoint

        return load_checkpoint(path, config, fork, algorithm=cls)

    @classmethod
    def title(cls) -> str:
        """Returns what checkpoints call the algorithm."""
        return cls.name or cls.__name__

    # ---- what an algorithm defines -------------------------------------------------------------

    @abstractmethod
    def next_state(self, state: State, scores: npt.NDArray[np.float64]) -> Any:
        """Breeds the next generation, usually through `breed`.

        Args:
            state: A generation that was told; it stays as it is.
            scores: [P] its fitness with a sign that makes higher better.

        Raises:
            ExtinctionError: Nobody is left to breed from.
        """

    def first_state(self, generation: int) -> Any:
        """Makes genomes from nothing.

        Args:
            generation: What to count the generation as.
        """
        return self.first_genomes(generation)

    def continued_state(self, state: State) -> Any:
        """Adds what is not part of a checkpoint to a state that was read from one.

        Args:
            state: The state as `unpack` gave it; it may be changed.
        """
        return state

    def told_state(self, state: State, evaluation: Evaluation) -> Any:
        """Adds what the algorithm concludes from an evaluation to a state that was told.

        Args:
            state: The new state, with fitness and best genome; it may be changed.
            evaluation: What was told, checked.
        """
        return state

    def receive(self, state: State, guests: Population, ids: npt.NDArray[np.int64]) -> Any:
        """Puts genomes from elsewhere in the place of the last ones of a generation.

        Args:
            state: A generation that was bred and not yet told; it stays as it is.
            guests: [G] the genomes; at most as many are taken as there are places.
            ids: [G] their numbers, above all others.
        """
        kept = max(0, len(state.ids) - len(guests))
        taken = len(state.ids) - kept
        population = Population.concatenate([state.population[:kept], guests[:taken]])
        return replace(
            state, population=population, ids=np.concatenate([state.ids[:kept], ids[:taken]])
        )

    def pack(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Returns what a checkpoint holds of the state beside `State`: settings, and arrays."""
        return {}, {}

    @classmethod
    def unpack(cls, state: State, saved: SavedState) -> Any:
        """Completes a state by what `pack` gave, which may come from anywhere.

        Args:
            state: What all algorithms have.
            saved: Settings and arrays of the file.

        Raises:
            CheckpointError: Something does not fit.
        """
        return state

    @classmethod
    def forked_state(cls, state: State, config: Config, changes: frozenset[str]) -> Any:
        """Fits a state to a config that was changed on purpose.

        Args:
            state: The state as `unpack` gave it.
            config: The new settings.
            changes: Names of the settings that changed; none for a run that is merely resumed.
        """
        return state

    # ---- what algorithms are made of -----------------------------------------------------------

    def first_genomes(self, generation: int) -> State:
        """Makes a first generation by the config's rules.

        Args:
            generation: What to count the generation as.
        """
        plan = plan_first_generation(self.config, self.num_inputs, self.num_outputs)
        size = self.config.neat.pop_size
        first = self._engine.first_generation(
            size, self.num_outputs, plan, self._rules, self.seed, generation, self.dtype
        )
        chosen = self.config.network.output_activation
        if chosen != "default":
            is_output = (first.node_key >= 0) & (first.node_key < self.num_outputs)
            activation = np.where(is_output, activation_id(chosen), first.activation)
            first = first.replace(activation=activation.astype(first.activation.dtype))
        return State(
            population=first,
            ids=np.arange(1, size + 1),
            generation=generation,
            next_id=size + 1,
            next_node_key=plan.num_nodes,
            next_innovation=len(plan.source),
        )

    def breed(
        self, state: State, fitter: Parents, other: Parents, copies: Positions | None = None
    ) -> dict[str, Any]:
        """Breeds a generation: copies first, then children by crossover and mutation.

        Args:
            state: The generation of the parents.
            fitter: [P] position of the better parent.
            other: [P] position of the other parent, the same for a child of one parent; -1 for a
                copy. Copies come first, by ascending position.
            copies: Positions of the genomes that are copied, which an engine knows that drew the
                parents; None for those that `other` marks.

        Returns:
            The fields of `State` that change, for `dataclasses.replace`.
        """
        start = time.perf_counter()
        children, node_key, innovation = self._engine.breed(
            state.population,
            fitter,
            other,
            self._rules,
            self.seed,
            state.generation + 1,
            state.next_node_key,
            state.next_innovation,
        )
        self.spent["breed"] += time.perf_counter() - start
        if copies is None:
            copies = on_host(fitter)[: np.count_nonzero(on_host(other) < 0)]
        next_id = state.next_id + len(fitter) - len(copies)
        ids = np.arange(state.next_id - len(copies), next_id)
        ids[: len(copies)] = state.ids[copies]
        return {
            "population": children,
            "ids": ids,
            "generation": state.generation + 1,
            "next_id": next_id,
            "next_node_key": node_key,
            "next_innovation": innovation,
            "fitness": None,
            "validation": None,
        }


def _pins(name: str, configured: int | None, given: int | None, least: int) -> int:
    if configured is not None and given is not None and configured != given:
        raise OptionError(f"{name}={given} contradicts the config, which has {configured}.")
    number = configured if configured is not None else given
    if number is None:
        raise OptionError(f"{name} is not known: set genome.{name} in the config, or pass it.")
    if number < least:
        raise OptionError(f"{name}={number} is too few. Use {least} or more.")
    return number
