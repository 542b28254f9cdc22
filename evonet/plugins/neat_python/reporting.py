"""Calls neat-python's reporters during a run of evonet.

They get the calls of `neat.Population.run`, in its order. Only the mean genetic distance, which it
reports by `info`, is missing: evonet never measures all distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.neat.neat import NEAT
from evonet.evolution.neat.species import Species
from evonet.evolution.record import GenerationRecord
from evonet.numerics.exact_sum import mean
from evonet.plugins.neat_python.genes import NeatConfig
from evonet.plugins.neat_python.genomes import lazy_genome


class ReporterBridge(Callback):
    """Calls neat-python's reporters at the points of a run that they know."""

    def __init__(self, reporters: Iterable[Any], config: NeatConfig) -> None:
        """Takes neat-python's reporters and the `neat.Config` of the run, and calls none yet."""
        from neat.reporting import ReporterSet

        self._reporters = ReporterSet()
        for reporter in reporters:
            self._reporters.add(reporter)
        self._is_heard = bool(self._reporters.reporters)
        self._config = config
        self._told: dict[int, tuple[float, float]] = {}  # species: fitness, adjusted
        self._begun = False

    def on_start(self, run: Run) -> None:
        """Keeps the evolution, which has the genomes."""
        assert isinstance(run.algorithm, NEAT)
        self._neat: NEAT = run.algorithm
        self._begun = False

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Reports the end of the last generation and the start of this one."""
        neat = self._neat
        if self._begun and self._is_heard:
            self._reporters.end_generation(self._config, *self._look(neat))
        self._begun = True
        self._reporters.start_generation(neat.generation)
        yield

    def on_generation(self, record: GenerationRecord) -> None:
        """Reports the scores of the generation, and which species die out."""
        if not self._is_heard:
            return
        neat = self._neat
        population, species = self._look(neat)
        assert neat.state.fitness is not None
        scores = neat.sign * neat.state.fitness
        best = population[int(neat.state.ids[int(np.argmax(scores))])]
        self._reporters.post_evaluate(self._config, population, species, best)
        if record.solved:
            self._reporters.found_solution(self._config, neat.generation, best)
            return
        assert neat.state.verdict is not None
        verdict = neat.state.verdict
        alive = {s.key for s in verdict.survivors}
        for s in verdict.species:
            if s.key not in alive:
                self._reporters.species_stagnant(s.key, species.species[s.key])
        self._told = _fitness_of(verdict.survivors, scores)

    def on_end(self, result: Result) -> None:
        """Reports the best genome of a run that has no fitness threshold."""
        neat = result.algorithm
        if neat.config.neat.no_fitness_termination and result.best is not None:
            best = result.best
            genome = lazy_genome(best.population, 0, best.id, best.fitness, self._config)
            self._reporters.found_solution(self._config, neat.generation, genome)

    def report_extinction(self) -> None:
        """Reports that all species died out."""
        self._reporters.complete_extinction()

    def _look(self, neat: NEAT) -> tuple[dict[int, Any], Any]:
        """Returns the population by id, and its species, in the form of neat-python's."""
        state = neat.state
        fitness = [None] * len(state.ids) if state.fitness is None else state.fitness.tolist()
        ids = state.ids.tolist()
        population = {
            key: lazy_genome(state.population, i, key, fitness[i], self._config)
            for i, key in enumerate(ids)
        }
        return population, self._species_set(state.species, ids, population)

    def _species_set(self, species: list[Species], ids: list[int], population: Any) -> Any:
        found, home = {}, {}
        for s in species:
            members = {ids[i]: population[ids[i]] for i in s.members.tolist()}
            home.update(dict.fromkeys(members, s.key))
            fitness, adjusted = self._told.get(s.key, (None, None))
            created = max(0, s.created - 1)  # for neat-python, when its first members were bred
            found[s.key] = SimpleNamespace(
                key=s.key,
                created=created,
                last_improved=s.last_improved if s.score_history else created,
                representative=population[ids[s.representative]],
                members=members,
                fitness=fitness,
                adjusted_fitness=adjusted,
                fitness_history=list(s.score_history),
                get_fitnesses=lambda members=members: [m.fitness for m in members.values()],
            )
        return SimpleNamespace(
            species=found,
            genome_to_species=home,
            get_species_id=home.__getitem__,
            get_species=lambda key: found[home[key]],
        )


def _fitness_of(
    species: list[Species], scores: npt.NDArray[np.float64]
) -> dict[int, tuple[float, float]]:
    """Returns the fitness and the adjusted fitness of each species, by key."""
    if not species:
        return {}
    everyone = scores[np.concatenate([s.members for s in species])]
    low, spread = everyone.min(), max(1.0, float(everyone.max() - everyone.min()))
    return {
        s.key: (s.score_history[-1], float((mean(scores[s.members]) - low) / spread))
        for s in species
    }
