"""Records: one generation described for loggers, progress bars and stopping rules."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.evaluators.jobs import WorkerRate
from evonet.evolution.algorithm import Algorithm
from evonet.evolution.state import Retest
from evonet.installation import load_native
from evonet.numerics.exact_sum import exact_sum


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """How long the phases of a generation took.

    Attributes:
        ask: Breeding and dividing into species.
        compile: Making networks of genomes.
        evaluate: Scoring them by the task.
        tell: Taking the fitness.
    """

    ask: float
    compile: float
    evaluate: float
    tell: float

    @property
    def total(self) -> float:
        """All phases together."""
        return self.ask + self.compile + self.evaluate + self.tell


@dataclass(frozen=True, kw_only=True)
class GenerationRecord:
    """One generation after its evaluation.

    Equal runs give equal records, up to `seconds`, `workers` and what follows from them.

    Attributes:
        generation: Its number, from 0.
        best: The best fitness in it; the lowest where fitness is minimised.
        mean: The mean of its fitness.
        min: The lowest fitness.
        max: The highest fitness.
        std: Standard deviation of its fitness.
        best_so_far: The fitness of the best genome of the run.
        best_generation: The generation that found it.
        solved: Whether the config's threshold is reached.
        size: How many genomes there are, P.
        mean_nodes: Nodes per genome.
        mean_connections: Enabled connections per genome.
        best_nodes: Nodes of the generation's best genome.
        best_connections: Enabled connections of that genome.
        evaluations: Genomes evaluated so far.
        details: What only this algorithm or this task reports, by name; NEAT's "species" and
            "threshold", and "validation" where the fittest genome was scored on a validation part.
        summary: A few words about them for a progress bar, or "".
        seconds: How long the phases took.
        tested: How the best genome of the run did in fresh episodes; None for tasks without
            chance.
        workers: What each worker did in this generation; empty without workers.
    """

    generation: int
    best: float
    mean: float
    min: float
    max: float
    std: float
    best_so_far: float
    best_generation: int
    solved: bool
    size: int
    mean_nodes: float
    mean_connections: float
    best_nodes: int
    best_connections: int
    evaluations: int
    details: Mapping[str, Any]
    summary: str
    seconds: Seconds
    tested: Retest | None = None
    workers: Sequence[WorkerRate] = ()

    @property
    def busy(self) -> float:
        """How much of the time for evaluation workers were busy, on average, from 0 to 1."""
        whole = len(self.workers) * self.seconds.evaluate
        return min(1.0, sum(each.seconds for each in self.workers) / whole) if whole > 0 else 0.0

    @property
    def species(self) -> Sequence[Any]:
        """NEAT's species, as `SpeciesRecord`; none for algorithms without them."""
        found: Sequence[Any] = self.details.get("species", ())
        return found

    @property
    def num_species(self) -> int:
        """How many species there are; 0 for algorithms without them."""
        return len(self.species)

    @property
    def evaluations_per_second(self) -> float:
        """Genomes of this generation over the time that all its phases took."""
        return self.size / self.seconds.total if self.seconds.total > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold."""
        fields: dict[str, Any] = dataclasses.asdict(self)
        details: dict[str, Any] = fields.pop("details")
        del fields["summary"]
        del fields["workers"]
        if self.workers:
            fields["workers"] = [
                {**dataclasses.asdict(each), "genomes_per_second": each.genomes_per_second}
                for each in self.workers
            ]
        if self.tested is None:
            del fields["tested"]
        return fields | details | {"evaluations_per_second": self.evaluations_per_second}


def describe_generation(
    algorithm: Algorithm,
    evaluations: int,
    seconds: Seconds,
    workers: Sequence[WorkerRate] = (),
) -> GenerationRecord:
    """Describes the generation that was just told.

    Args:
        algorithm: The evolution, which stays as it is.
        evaluations: Genomes evaluated so far, this generation included.
        seconds: How long its phases took.
        workers: What each worker did.
    """
    state = algorithm.state
    assert state.fitness is not None
    assert state.best is not None
    fitness, population = state.fitness, state.population
    low, high = float(fitness.min()), float(fitness.max())
    top = algorithm.fittest(fitness)
    best_nodes, best_connections = population.nodes_and_enabled(top)
    mean, std = mean_and_deviation(fitness, algorithm.threads)
    description = algorithm.describe()
    details = description.fields
    if state.validation is not None:
        details = {**details, "validation": state.validation}
    return GenerationRecord(
        generation=state.generation,
        best=float(fitness[top]),
        mean=mean,
        min=low,
        max=high,
        std=std,
        best_so_far=state.best.fitness,
        best_generation=state.best.generation,
        solved=algorithm.solved,
        size=len(population),
        mean_nodes=population.num_nodes / len(population),
        mean_connections=population.num_enabled / len(population),
        best_nodes=best_nodes,
        best_connections=best_connections,
        evaluations=evaluations,
        details=details,
        summary=description.summary,
        seconds=seconds,
        tested=state.best.tested,
        workers=tuple(workers),
    )


def mean_and_deviation(values: npt.NDArray[np.float64], threads: int = 1) -> tuple[float, float]:
    """The mean and the standard deviation, the same on every machine.

    Args:
        values: [P] finite, at least one. Scaled by a power of two, so no sum overflows.
        threads: How many may add, 0 for all available.
    """
    native = load_native()
    found = measure_spread(values) if native is None else native.mean_and_deviation(values, threads)
    mean, deviation, scale = found
    return _unscale(mean, scale), _unscale(deviation, scale)


def measure_spread(values: npt.NDArray[np.float64]) -> tuple[float, float, int]:
    """Does without the extension: the mean and the deviation in units of 2^scale, and the scale."""
    scale = math.frexp(float(np.abs(values).max()))[1]
    scaled = np.ldexp(values, -scale)
    mean = exact_sum(scaled) / len(scaled)
    off = scaled - mean
    return mean, math.sqrt(exact_sum(off * off) / len(scaled)), scale


def _unscale(value: float, scale: int) -> float:
    try:
        return math.ldexp(value, scale)
    except OverflowError:  # a deviation may be just beyond the largest number
        return math.copysign(float(np.finfo(np.float64).max), value)
