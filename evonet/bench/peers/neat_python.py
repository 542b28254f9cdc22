"""neat-python's networks, and its own loop timed by phase, in one or several processes."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.genes.population import Population
from evonet.installation import resource_folder

Rows = Sequence[tuple[Sequence[float], Sequence[float]]]


def neat_config(ini: str | os.PathLike[str]) -> Any:
    """Reads an INI file as neat-python does."""
    import neat

    parts = (neat.DefaultReproduction, neat.DefaultSpeciesSet, neat.DefaultStagnation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return neat.Config(neat.DefaultGenome, *parts, os.fspath(ini))


def neat_genomes(population: Population) -> tuple[list[tuple[int, Any]], Any]:
    """The genomes of a population as neat-python's objects, and a config that fits them."""
    config = neat_config(resource_folder("configs") / "forward-neat.ini")
    config.genome_config.input_keys = [-1 - i for i in range(population.num_inputs)]
    config.genome_config.output_keys = list(range(population.num_outputs))
    return population.to_neat(config), config


def create_networks(genomes: list[tuple[int, Any]], config: Any) -> list[Any]:
    """neat-python's own networks of its genomes."""
    import neat

    return [neat.nn.FeedForwardNetwork.create(genome, config) for _, genome in genomes]


def neat_networks(population: Population) -> list[Any]:
    """neat-python's own networks of all genomes."""
    return create_networks(*neat_genomes(population))


def score(net: Any, rows: Rows, perfect: float) -> float:
    """Fitness as in neat-python's examples: the best possible, minus the squared errors."""
    fitness = perfect
    for row, wanted in rows:
        for got, want in zip(net.activate(row), wanted, strict=True):
            fitness -= (got - want) ** 2
    return fitness


def score_all(rows: Rows, perfect: float, genomes: list[tuple[int, Any]], config: Any) -> None:
    """Sets the fitness of every genome, one after the other."""
    import neat

    for _, genome in genomes:
        net = neat.nn.FeedForwardNetwork.create(genome, config)
        genome.fitness = score(net, rows, perfect)


# The data on which each worker process scores genomes.
_worker: dict[str, Any] = {}


def _set_worker(rows: Rows, perfect: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends its workers
    _worker.update(rows=rows, perfect=perfect)


def _score_in_worker(genome: Any, config: Any) -> float:
    score_all(**_worker, genomes=[(0, genome)], config=config)
    return float(genome.fitness)


class ParallelScores:
    """neat-python's ParallelEvaluator, which sends each genome to a process of its pool."""

    def __init__(self, rows: Rows, perfect: float, processes: int) -> None:
        import neat

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._evaluator = neat.ParallelEvaluator(
                processes, _score_in_worker, initializer=_set_worker, initargs=(rows, perfect)
            )

    def __call__(self, genomes: list[tuple[int, Any]], config: Any) -> None:
        """Sets the fitness of every genome."""
        with contextlib.redirect_stderr(io.StringIO()):  # 2.x draws a progress bar each time
            self._evaluator.evaluate(genomes, config)

    def close(self) -> None:
        """Ends the processes at once."""
        self._evaluator.pool.terminate()
        self._evaluator.pool.join()


class NeatPythonRun:
    """A neat-python population on a supervised task, one generation per call.

    It has the `seconds` of each phase over all calls, and the `best` fitness of the last one.
    """

    def __init__(
        self,
        ini: str | os.PathLike[str],
        x: npt.NDArray[Any],
        y: npt.NDArray[Any],
        best: float,
        seed: int,
        processes: int = 1,
        evaluate: Callable[[Any, Any], object] | None = None,
    ) -> None:
        """Makes the first generation.

        Samples are x [B, I] with targets y [B, O], and `best` is the best possible fitness. Several
        processes use ParallelEvaluator; `evaluate` takes the place of scoring.
        """
        import neat

        random.seed(seed)
        self.config = neat_config(ini)
        self.population = neat.Population(self.config)
        self.seconds = {"evaluate": 0.0, "reproduce": 0.0, "speciate": 0.0}
        self.best = -np.inf
        rows: Rows = list(zip(x.tolist(), y.tolist(), strict=True))
        self._parallel = ParallelScores(rows, best, processes) if processes > 1 else None
        self._score = evaluate or self._parallel or partial(score_all, rows, best)
        p = self.population
        p.reproduction.reproduce = self._timed("reproduce", p.reproduction.reproduce)
        p.species.speciate = self._timed("speciate", p.species.speciate)

    def generation(self) -> None:
        """Evaluates, breeds and speciates once."""
        self.population.run(self._timed("evaluate", self._evaluate), 1)

    def close(self) -> None:
        """Ends the processes, if there are any."""
        if self._parallel is not None:
            self._parallel.close()

    def _timed(self, phase: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            result = function(*args, **kwargs)
            self.seconds[phase] += time.perf_counter() - begin
            return result

        return call

    def _evaluate(self, genomes: list[tuple[int, Any]], config: Any) -> None:
        self._score(genomes, config)
        self.best = max(genome.fitness for _, genome in genomes)
