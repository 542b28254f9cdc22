"""neat-python's own loop, timed by phase, for the benchmarks that run it beside evonet."""

from __future__ import annotations

import random
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import neat


class NeatPythonRun:
    """A neat-python population on a supervised task, one generation per call.

    Attributes:
        seconds: Time per phase, summed over all calls: evaluate, reproduce, speciate.
        best: Fitness of the best genome of the last generation.
    """

    def __init__(self, ini: Path, x: np.ndarray, y: np.ndarray, best: float, seed: int) -> None:
        random.seed(seed)
        self.config = neat.Config(
            neat.DefaultGenome,
            neat.DefaultReproduction,
            neat.DefaultSpeciesSet,
            neat.DefaultStagnation,
            str(ini),
        )
        self.population = neat.Population(self.config)
        self.seconds = {"evaluate": 0.0, "reproduce": 0.0, "speciate": 0.0}
        self.best = -np.inf
        self._rows = list(zip(x.tolist(), y.tolist(), strict=True))
        self._perfect = best
        p = self.population
        p.reproduction.reproduce = self._timed("reproduce", p.reproduction.reproduce)
        p.species.speciate = self._timed("speciate", p.species.speciate)

    def _timed(self, phase: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            result = function(*args, **kwargs)
            self.seconds[phase] += time.perf_counter() - begin
            return result

        return call

    def _evaluate(self, genomes: list[tuple[int, Any]], config: Any) -> None:
        begin = time.perf_counter()
        self.best = -np.inf
        for _, genome in genomes:
            net = neat.nn.FeedForwardNetwork.create(genome, config)
            fitness = self._perfect
            for row, wanted in self._rows:
                for got, want in zip(net.activate(row), wanted, strict=True):
                    fitness -= (got - want) ** 2
            genome.fitness = fitness
            self.best = max(self.best, fitness)
        self.seconds["evaluate"] += time.perf_counter() - begin

    def generation(self) -> None:
        """Evaluates, breeds and speciates once."""
        self.population.run(self._evaluate, 1)
