"""What scores genomes in neat-python, as a task for evonet's loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from evonet.errors import OptionError
from evonet.evaluation import Evaluation, Round
from evonet.plugins.neat_python.compiling import kind_of, network_maker
from evonet.plugins.neat_python.evaluator import BatchEvaluator
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome
from evonet.plugins.neat_python.genomes import input_and_output_counts
from evonet.plugins.neat_python.scores import (
    GenomeScore,
    TaskScore,
    check_fitness,
    check_population_fitness,
)
from evonet.tasks.base import Task, is_task

FORMS = (
    "a BatchEvaluator, a task, eval_genomes(genomes, config), eval_genome(genome, config), or "
    "f(genome, net)"
)
# Scores pairs (id, genome).
ScorePairs = Callable[[list[tuple[int, NeatGenome]]], list[float]]


class FitnessTask(Task):
    """A task that scores by neat-python's rules.

    Attributes:
        num_inputs: I.
        num_outputs: O.
        config: The `neat.Config` of the run.
        settings: The settings that give evonet's config the right kind of networks.
    """

    def __init__(self, fitness: Any, config: NeatConfig) -> None:
        """Takes a way to score, one of FORMS, and the `neat.Config` of the run."""
        self.num_inputs, self.num_outputs = input_and_output_counts(config)
        self.settings: dict[str, object] = {}
        self.config = config
        self._network_score: Any = None
        self._score_pairs: ScorePairs | None = None
        if isinstance(fitness, BatchEvaluator):
            self.settings = fitness.network_settings(config)
            if isinstance(fitness.score, GenomeScore):
                make = network_maker(fitness.kind(config), config)
                score = fitness.score
                self._score_pairs = lambda pairs: score.of_genomes(pairs, make)
            else:
                self._network_score = fitness.score
        elif is_task(fitness) and not inspect.isclass(fitness):
            self._network_score = TaskScore(fitness)
            self.fitness_threshold = self._network_score.task.fitness_threshold
        else:
            self._score_pairs = self._scorer_of(fitness)

    def _scorer_of(self, function: Any) -> ScorePairs:
        """Decides by the names of its arguments how a function is called."""
        names: list[str] = []
        if callable(function):
            found = inspect.signature(function).parameters.values()
            names = [p.name for p in found if p.kind <= p.POSITIONAL_OR_KEYWORD][:2]
        first, second = (*names, "", "")[:2]
        if second == "config" and first.startswith(("genomes", "population")):
            self.splits = False  # such functions may let genomes compete
            return lambda pairs: self._eval_genomes(function, pairs)
        if second == "config" and first == "genome":
            return lambda pairs: [
                check_fitness(function(g, self.config), key, function.__name__) for key, g in pairs
            ]
        if second in ("net", "network") and first == "genome":
            score = GenomeScore(function)
            make = network_maker(kind_of(self.config), self.config)
            return lambda pairs: score.of_genomes(pairs, make)
        shown = f"{getattr(function, '__name__', function)}({', '.join(names)})"
        raise OptionError(
            f"fitness={shown} is not understood. Expected {FORMS}; functions are recognised by "
            "the names of their arguments."
        )

    def _eval_genomes(self, function: Any, pairs: list[tuple[int, NeatGenome]]) -> list[float]:
        function(pairs, self.config)
        where = getattr(function, "__name__", "the fitness function")
        return [
            check_fitness(genome.fitness, key, f"genome.fitness after {where}")
            for key, genome in pairs
        ]

    def score(self, round: Round) -> Evaluation:
        """Scores every genome of the generation; a FitnessError names one that has no fitness."""
        ids = round.ids.tolist()
        if self._score_pairs is not None:
            found = self._score_pairs(round.population.to_neat(self.config, ids))
        else:
            scores = self._network_score.of_population(round.network, round.seed)
            found = check_population_fitness(scores, ids)
        return Evaluation(np.array(found, np.float64))
