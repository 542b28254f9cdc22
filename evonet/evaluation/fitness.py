"""Fitness that is not a finite number: an error, or the worst of its generation."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from evonet.errors import FitnessError

OnBadFitness = Literal["error", "worst"]


def check_fitness(
    fitness: npt.NDArray[np.float64],
    ids: npt.NDArray[np.int64],
    sign: float,
    on_bad_fitness: OnBadFitness,
) -> npt.NDArray[np.float64]:
    """Returns fitness that is finite.

    Args:
        fitness: [P].
        ids: [P] number of each genome.
        sign: 1 if higher fitness is better, -1 if lower fitness is better.
        on_bad_fitness: "worst" gives NaN and infinities the worst finite fitness.

    Raises:
        FitnessError: Some fitness is not finite, and on_bad_fitness is "error" or all of it is
            not finite; names the first genome.
    """
    finite = np.isfinite(fitness)
    if finite.all():
        return fitness
    bad = ~finite
    if on_bad_fitness == "error" or bad.all():
        advice = 'run.on_bad_fitness = "worst" counts them as the worst of their generation'
        if on_bad_fitness == "worst":
            advice = "there is no worst one among the others to count them as"
        first = int(np.argmax(bad))
        raise FitnessError(
            f"genome {first} (id {ids[first]}): its fitness is {fitness[first]}, which is not a "
            f"finite number. {int(bad.sum())} of {len(fitness)} genomes have such a fitness; "
            f"{advice}."
        )
    worst = sign * float((sign * fitness[~bad]).min())
    return np.where(bad, worst, fitness)
