"""neat-python's reporters, told about a run of evonet.

They hear what `neat.Population.run` would tell them, in its order. The mean genetic distance,
which that prints as an `info`, is not among it: evonet never measures all distances.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.neat.neat import NEAT
from evonet.evolution.neat.species import Species, mean, survivors_of_stagnation
from evonet.evolution.record import GenerationRecord
from evonet.network import Network
from evonet.plugins.neat_python.genes import NeatConfig
from evonet.plugins.neat_python.lazy_genomes import lazy_genome
from evonet.tasks.base import Task


class ReporterBridge(Callback):
    """Tells reporters what happens; also a task around the real one, to see generations begin.

    Attributes:
        num_inputs: I.
        num_outputs: O.
    """

    def __init__(self, reporters: Iterable[Any], task: Task, config: NeatConfig) -> None:
        """Says nothing yet.

        Args:
            reporters: Such as `neat.StdOutReporter(True)`.
            task: What is evolved on.
            config: The `neat.Config` of the run.
        """
        from neat.reporting import ReporterSet

        self.num_inputs, self.num_outputs = task.num_inputs, task.num_outputs
        threshold = getattr(task, "fitness_threshold", None)
        if threshold is not None:
            self.fitness_threshold = threshold
        self._reporters = ReporterSet()
        for reporter in reporters:
            self._reporters.add(reporter)
        self._is_heard = bool(self._reporters.reporters)
        self._task = task
        self._config = config
        self._neat: NEAT | None = None
        self._told: dict[int, tuple[float, float]] = {}  # species: fitness, adjusted
        self._begun = False

    def on_start(self, run: Run) -> None:
        """Learns where the genomes are."""
        self._neat = run.neat
        self._begun = False
        if isinstance(self._task, Callback):
            self._task.on_start(run)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Ends the generation before, begins this one, and scores it."""
        neat = self._state()
        if self._begun and self._is_heard:
            self._reporters.end_generation(self._config, *self._look(neat))
        self._begun = True
        self._reporters.start_generation(neat.generation)
        return self._task.evaluate(network, seed)

    def on_generation(self, record: GenerationRecord) -> None:
        """Tells how the generation did, and which species die out."""
        if not self._is_heard:
            return
        neat = self._state()
        population, species = self._look(neat)
        sign = -1.0 if neat.config.neat.fitness_criterion == "min" else 1.0
        assert neat.state.fitness is not None
        scores = sign * neat.state.fitness
        best = population[int(neat.state.ids[int(np.argmax(scores))])]
        self._reporters.post_evaluate(self._config, population, species, best)
        if record.solved:
            self._reporters.found_solution(self._config, neat.generation, best)
            return
        copies = [
            dataclasses.replace(s, score_history=list(s.score_history)) for s in neat.state.species
        ]
        going_on = survivors_of_stagnation(copies, scores, neat.generation, neat.config.stagnation)
        alive = {s.key for s in going_on}
        for s in copies:
            if s.key not in alive:
                self._reporters.species_stagnant(s.key, species.species[s.key])
        self._told = _fitness_of(going_on, scores)

    def on_end(self, result: Result) -> None:
        """Tells of the best genome of a run that was to do all its generations."""
        neat = result.neat
        if neat.config.neat.no_fitness_termination and result.best is not None:
            best = result.best
            genome = lazy_genome(best.genome, 0, best.id, best.fitness, self._config)
            self._reporters.found_solution(self._config, neat.generation, genome)

    def tell_of_extinction(self) -> None:
        """All species died out."""
        self._reporters.complete_extinction()

    def _state(self) -> NEAT:
        assert self._neat is not None
        return self._neat

    def _look(self, neat: NEAT) -> tuple[dict[int, Any], Any]:
        """The population by id, and its species, as reporters know them."""
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
    """The fitness of each species, and what it is among the others, by key."""
    if not species:
        return {}
    everyone = scores[np.concatenate([s.members for s in species])]
    low, spread = everyone.min(), max(1.0, float(everyone.max() - everyone.min()))
    return {
        s.key: (s.score_history[-1], float((mean(scores[s.members]) - low) / spread))
        for s in species
    }
