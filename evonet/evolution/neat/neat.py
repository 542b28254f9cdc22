"""NEAT as ask and tell, on packed populations."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from evonet.backends.genetics import make_engine
from evonet.config import Config
from evonet.errors import ExtinctionError, FitnessError, OptionError, check_option
from evonet.evolution.neat.reproduction import plan_mating
from evonet.evolution.neat.species import Species, mean, survivors_of_stagnation
from evonet.genes.arrays import real_type
from evonet.genes.first_generation import plan_first_generation
from evonet.genes.population import Population
from evonet.genes.rules import check_time_constants, distance_rules, genome_rules

OnBadFitness = Literal["error", "worst"]


@dataclass(frozen=True)
class Best:
    """The best genome so far.

    Attributes:
        genome: A population of this one genome.
        fitness: What it scored.
        generation: When it was found.
        id: Its number.
    """

    genome: Population
    fitness: float
    generation: int
    id: int


@dataclass
class State:
    """All that changes while evolution runs; what a checkpoint holds.

    Attributes:
        population: The current generation.
        ids: [P] number of each genome, ascending.
        species: By ascending key; they partition the population.
        generation: Counted from 0.
        threshold: Of speciation, which may adapt.
        next_id: The next genome's number.
        next_node_key: The next node's key.
        next_innovation: The next connection's number.
        next_species: The next species' key.
        fitness: [P] of the current generation once it was told.
        best: The best genome so far.
    """

    population: Population
    ids: npt.NDArray[np.int64]
    species: list[Species]
    generation: int
    threshold: float
    next_id: int
    next_node_key: int
    next_innovation: int
    next_species: int
    fitness: npt.NDArray[np.float64] | None = None
    best: Best | None = None


class NEAT:
    """Evolves a population: `ask` gives the current one, `tell` takes its fitness.

    Nothing here depends on the number of threads, and all randomness is a
    function of the seed, so that equal seeds evolve equal populations.

    Attributes:
        config: As given.
        seed: The one in use.
        state: What a checkpoint would hold.
        spent: Seconds that breeding and dividing into species took so far, by name.
    """

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
        on_bad_fitness: OnBadFitness = "error",
        state: State | None = None,
    ) -> None:
        """Makes the first generation, unless a state is given to go on from.

        Args:
            config: All settings.
            seed: Wins over the config's.
            num_inputs: I, where the config leaves it open.
            num_outputs: O, where the config leaves it open.
            dtype: float32 or float64, of all gene values.
            backend: Wins over the config's; "reference" breeds readably and slowly.
            threads: Wins over the config's; 0 for all available.
            on_bad_fitness: What `tell` does about NaN: "error", or "worst" to count it as the
                worst fitness of the generation.
            state: Where to go on.

        Raises:
            OptionError: The number of inputs or outputs is not known, or contradicts the config,
                or another argument is out of range.
            ShapeError: The type is neither float32 nor float64.
        """
        check_option("on_bad_fitness", on_bad_fitness, ("error", "worst"))
        self.config = config
        self.seed = config.run.seed if seed is None else seed
        if not isinstance(self.seed, int | np.integer) or not 0 <= int(self.seed) < 2**64:
            raise OptionError(f"seed={self.seed} must be a whole number from 0 to 2^64 - 1.")
        self.seed = int(self.seed)
        self.backend = config.run.backend if backend is None else backend
        check_option("backend", self.backend, ("auto", "cuda", "cpu", "reference"))
        self.threads = config.run.threads if threads is None else threads
        self._inputs = _pins("num_inputs", config.genome.num_inputs, num_inputs, 0)
        self._outputs = _pins("num_outputs", config.genome.num_outputs, num_outputs, 1)
        self._on_bad_fitness = on_bad_fitness
        self._dtype = real_type(dtype)
        check_time_constants(config, self._dtype)
        self._engine = make_engine(self.backend, self.threads)
        self._genome_rules = genome_rules(config)
        self._distance_rules = distance_rules(config)
        self._sign = -1.0 if config.neat.fitness_criterion == "min" else 1.0
        self.spent = {"breed": 0.0, "speciate": 0.0}
        self.state = self._begin() if state is None else state

    # ---- what users see ----------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """The number of the current generation, from 0."""
        return self.state.generation

    @property
    def species(self) -> tuple[Species, ...]:
        """The species of the current generation, by age."""
        return tuple(self.state.species)

    @property
    def best(self) -> Best | None:
        """The best genome so far, None before the first `tell`."""
        return self.state.best

    @property
    def solved(self) -> bool:
        """Whether the last fitness told reached the config's threshold."""
        limit, fitness = self.config.neat.fitness_threshold, self.state.fitness
        if limit is None or fitness is None or self.config.neat.no_fitness_termination:
            return False
        value = mean(fitness) if self.config.neat.fitness_criterion == "mean" else None
        if value is None:
            value = self._sign * float((self._sign * fitness).max())
        return self._sign * value >= self._sign * limit

    def ask(self) -> Population:
        """The generation to evaluate next; bred now if the last one was told.

        Raises:
            ExtinctionError: All species stagnated, and the config does not begin anew.
        """
        if self.state.fitness is not None:
            self._advance()
        return self.state.population

    def tell(self, fitness: npt.ArrayLike) -> None:
        """Takes the fitness of the generation that `ask` gave.

        Args:
            fitness: [P] one number per genome.

        Raises:
            FitnessError: It has another shape, or a genome's fitness is not a finite number.
        """
        state = self.state
        values = self._checked(fitness)
        top = int(np.argmax(self._sign * values))
        if state.best is None or self._sign * values[top] > self._sign * state.best.fitness:
            best = Best(
                genome=state.population[[top]],
                fitness=float(values[top]),
                generation=state.generation,
                id=int(state.ids[top]),
            )
        else:
            best = state.best
        self.state = replace(state, fitness=values, best=best)

    def save(self, folder: str | os.PathLike[str], keep: int = 3) -> Path:
        """Writes a checkpoint, without changing anything; see `evonet.runs.checkpoint`.

        Args:
            folder: Where checkpoints are; made if it is missing.
            keep: How many to keep.

        Raises:
            OSError: The disk or the folder does not take it.
        """
        from evonet.runs.checkpoint import save_checkpoint

        return save_checkpoint(self, folder, keep)

    @staticmethod
    def resume(
        path: str | os.PathLike[str], config: Config | None = None, fork: bool = False
    ) -> NEAT:
        """Goes on from a checkpoint, or from the newest of a folder; see `evonet.runs.checkpoint`.

        Args:
            path: A checkpoint, or a folder of them.
            config: None for the config in the checkpoint.
            fork: Whether to go on with another config than before, on purpose.

        Raises:
            CheckpointError: Nothing there can be read, or the config has changed.
        """
        from evonet.runs.checkpoint import load_checkpoint

        return load_checkpoint(path, config, fork)

    # ---- one generation ----------------------------------------------------------------------

    def _begin(self, generation: int = 0) -> State:
        plan = plan_first_generation(self.config, self._inputs, self._outputs)
        size = self.config.neat.pop_size
        population = self._engine.first_generation(
            size, self._outputs, plan, self._genome_rules, self.seed, generation, self._dtype
        )
        state = State(
            population=population,
            ids=np.arange(1, size + 1),
            species=[],
            generation=generation,
            threshold=self.config.speciation.threshold,
            next_id=size + 1,
            next_node_key=plan.num_nodes,
            next_innovation=len(plan.source),
            next_species=1,
        )
        self._speciate(state, [], population[:0])
        return state

    def _advance(self) -> None:
        """Breeds the next generation; an interrupt on the way leaves the state as it was."""
        state = self.state
        assert state.fitness is not None
        scores = self._sign * state.fitness
        going_on = survivors_of_stagnation(
            [replace(s, score_history=list(s.score_history)) for s in state.species],
            scores,
            state.generation,
            self.config.stagnation,
        )
        if not going_on:
            self.state = self._start_over()
            return
        generation = state.generation + 1
        plan = plan_mating(
            going_on,
            scores,
            self.config.neat.pop_size,
            self.config.reproduction,
            self.seed,
            generation,
        )
        begin = time.perf_counter()
        children, node_key, innovation = self._engine.breed(
            state.population,
            plan.fitter,
            plan.other,
            self._genome_rules,
            self.seed,
            generation,
            state.next_node_key,
            state.next_innovation,
        )
        self.spent["breed"] += time.perf_counter() - begin
        elites = plan.num_elites
        born = len(plan.fitter) - elites
        following = replace(
            state,
            population=children,
            ids=np.concatenate(
                [state.ids[plan.fitter[:elites]], np.arange(state.next_id, state.next_id + born)]
            ),
            generation=generation,
            next_id=state.next_id + born,
            next_node_key=node_key,
            next_innovation=innovation,
            fitness=None,
        )
        going_on = sorted(plan.species, key=lambda s: s.key)
        old = state.population[[s.representative for s in going_on]]
        self._speciate(following, going_on, old)
        self.state = following

    def _start_over(self) -> State:
        if not self.config.neat.reset_on_extinction:
            raise ExtinctionError(
                f"generation {self.generation}: all species stagnated. Raise "
                "stagnation.max_stagnation or stagnation.species_elitism, or set "
                "neat.reset_on_extinction = true to begin anew."
            )
        old = self.state
        fresh = self._begin(old.generation + 1)
        fresh.ids = fresh.ids + (old.next_id - 1)
        fresh.next_id += old.next_id - 1
        fresh.next_node_key = max(fresh.next_node_key, old.next_node_key)
        fresh.next_innovation = max(fresh.next_innovation, old.next_innovation)
        for s in fresh.species:
            s.key += old.next_species - 1
        fresh.next_species += old.next_species - 1
        fresh.best = old.best
        return fresh

    def _speciate(self, state: State, old: list[Species], representatives: Population) -> None:
        begin = time.perf_counter()
        assignment, chosen = self._engine.speciate(
            state.population, representatives, state.threshold, self._distance_rules
        )
        self.spent["speciate"] += time.perf_counter() - begin
        order = np.argsort(assignment, kind="stable")
        start = np.searchsorted(assignment[order], np.arange(len(chosen) + 1))
        species = []
        for i, representative in enumerate(chosen.tolist()):
            if representative < 0:
                continue
            members = order[start[i] : start[i + 1]]
            if i < len(old):
                old[i].members, old[i].representative = members, representative
                species.append(old[i])
            else:
                species.append(
                    Species(
                        state.next_species,
                        state.generation,
                        state.generation,
                        members,
                        representative,
                    )
                )
                state.next_species += 1
        state.species = species
        rules = self.config.speciation
        if rules.target_num_species is not None:
            step = np.sign(len(species) - rules.target_num_species) * rules.threshold_adjust_rate
            moved = state.threshold + float(step)
            state.threshold = max(rules.threshold_min, min(rules.threshold_max, moved))

    def _checked(self, fitness: npt.ArrayLike) -> npt.NDArray[np.float64]:
        if self.state.fitness is not None:
            raise FitnessError("this generation was told already; call ask() for the next one.")
        try:
            values = np.array(fitness, np.float64)
        except (TypeError, ValueError) as error:
            raise FitnessError(f"fitness must be an array of numbers: {error}.") from error
        size = self.state.population.num_genomes
        if values.shape != (size,):
            raise FitnessError(
                f"fitness must have shape [{size}], one number per genome, "
                f"found {list(values.shape)}."
            )
        bad = ~np.isfinite(values)
        if bad.any():
            first = int(np.argmax(bad))
            if self._on_bad_fitness == "error" or bad.all():
                advice = 'on_bad_fitness="worst" counts them as the worst of their generation'
                if self._on_bad_fitness == "worst":
                    advice = "there is no worst one among the others to count them as"
                raise FitnessError(
                    f"genome {first} (id {self.state.ids[first]}): its fitness is "
                    f"{values[first]}, which is not a finite number. "
                    f"{int(bad.sum())} of {size} genomes have such a fitness; {advice}."
                )
            values[bad] = self._sign * float((self._sign * values[~bad]).min())
        return values


def _pins(name: str, configured: int | None, given: int | None, least: int) -> int:
    if configured is not None and given is not None and configured != given:
        raise OptionError(f"{name}={given} contradicts the config, which says {configured}.")
    number = configured if configured is not None else given
    if number is None:
        raise OptionError(f"{name} is not known: set genome.{name} in the config, or pass it.")
    if number < least:
        raise OptionError(f"{name}={number} is too few. Use {least} or more.")
    return number
