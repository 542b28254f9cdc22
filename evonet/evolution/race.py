"""The race for the best genome, on tasks with chance.

A genome that led its generation may merely have been lucky. So the leaders play fresh episodes,
more of them the longer they could still be the best; the winner plays the same episodes as the
champion so far, more of them if it is not far ahead, and replaces it if it is better. Without that,
luck would replace a good champion sooner or later. A new champion is then tested in episodes that
played no part in choosing it, the same for all champions of a run. Their mean return is its
fitness, without the luck of having been chosen for it.

Nothing here changes the fitness that selects parents.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from evonet.errors import FitnessError
from evonet.evaluation import OnBadFitness
from evonet.evolution.record import mean_and_deviation
from evonet.evolution.state import Best, Retest
from evonet.genes.population import Population
from evonet.numerics.intervals import student_quantile

Returns: TypeAlias = npt.NDArray[np.float64]
# Plays episodes: genomes [G], seed, first episode and their number E; gives returns [G, E].
Play: TypeAlias = Callable[[Population, int, int, int], Returns]

# Genomes of a generation that enter the race.
MOST_CONTENDERS: Final = 8
# Episodes of a race, as a share of those that the generation played, and the fewest.
SHARE: Final = 0.25
FEWEST_EPISODES: Final = 64
# A contender stays in the race if it is behind by at most so many standard errors.
STILL_POSSIBLE: Final = 2.0
# A winner must be ahead of the champion by so many standard errors, in as many episodes as a test
# has; or by so many in those of the race alone.
CLEARLY_BETTER: Final = 1.0
FAR_BETTER: Final = 4.0
# A test may grow to so many times its length to find out whether a task is solved.
MOST_TESTS: Final = 4
# -log(1 %): what happens more often than so many times in n episodes shows up in 99 % of tests.
UNSEEN: Final = 4.605170185988091


@dataclass(frozen=True)
class Generation:
    """A generation that was scored.

    Attributes:
        population: [P] its genomes.
        ids: [P] their numbers.
        fitness: [P] their scores, possibly not finite.
        number: Which generation it is.
        episodes: Episodes that each genome has played.
        task_state: The state of the task by which they were scored.
    """

    population: Population
    ids: npt.NDArray[np.int64]
    fitness: Returns
    number: int
    episodes: int
    task_state: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Race:
    """Finds the champion of a run, generation by generation.

    Attributes:
        play: Lets genomes of the current generation play.
        play_best: Lets the champion so far play, as it was when it was found.
        sign: 1 if higher fitness is better, -1 if lower fitness is better.
        threshold: The fitness that solves the task, or None.
        retests: Episodes of a test.
        retest_seed: The seed of the tests, the same for the whole run.
        on_bad_fitness: What to do about returns that are not finite.
    """

    play: Play
    play_best: Play
    sign: float
    threshold: float | None
    retests: int
    retest_seed: int
    on_bad_fitness: OnBadFitness

    def champion(self, best: Best | None, generation: Generation, seed: int) -> Best | None:
        """Returns the best genome so far, after one more generation.

        Args:
            best: The champion before; None in the first generation.
            generation: What was scored.
            seed: The seed of the generation's episodes; the race goes on where they end.

        Returns:
            The champion, tested; None if no fitness is finite.

        Raises:
            FitnessError: A return is not finite, and on_bad_fitness is "error".
        """
        scores = np.where(
            np.isfinite(generation.fitness), self.sign * generation.fitness, -math.inf
        )
        typical = self.sign * float(np.sort(scores)[len(scores) // 2])
        if best is not None and best.tested is None:
            best = self._tested(best, self.play_best, typical)  # from before there were tests
        contenders = self._contenders(best, scores, generation.ids)
        if len(contenders) == 0:
            return best
        total = max(FEWEST_EPISODES, int(SHARE * generation.episodes * len(generation.ids)))
        winner, returns = self._run(contenders, generation, seed, total)
        genome = generation.population[[winner]]
        new = Best(
            population=genome,
            fitness=float(generation.fitness[winner]),
            generation=generation.number,
            id=int(generation.ids[winner]),
            task_state=generation.task_state,
        )
        if best is not None and not self._replaces(best, new, returns, seed, generation.episodes):
            return best
        return self._tested(new, self.play, typical)

    def _replaces(
        self, best: Best, winner: Best, returns: Returns, seed: int, first_episode: int
    ) -> bool:
        """Whether a winner is better than the champion so far, on the same episodes.

        Args:
            best: The champion.
            winner: The winner of the race.
            returns: What it returned in the race.
            seed: The seed of the race's episodes.
            first_episode: The number of the first of them.
        """
        others = self._played(self.play_best, best, seed, first_episode, len(returns))
        while True:
            ahead, error = mean_and_error(self.sign * (returns - others))
            missing = self.retests - len(returns)
            if not ahead > CLEARLY_BETTER * error:
                return False
            if missing <= 0 or ahead > FAR_BETTER * error:
                return True
            following = first_episode + len(returns)
            more = self._played(self.play, winner, seed, following, missing)
            returns = np.concatenate([returns, more])
            more = self._played(self.play_best, best, seed, following, missing)
            others = np.concatenate([others, more])

    def _played(
        self, play: Play, genome: Best, seed: int, first_episode: int, episodes: int
    ) -> Returns:
        """[E] what one genome returns."""
        returns = play(genome.population, seed, first_episode, episodes)
        finite: Returns = self._finite(returns, [genome.id])[0]
        return finite

    def _contenders(
        self, best: Best | None, scores: Returns, ids: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """[K] positions of the genomes that enter the race, the fittest first."""
        fit = scores > (-math.inf if best is None else self.sign * best.fitness)
        if best is not None:
            fit &= ids != best.id
        order = np.argsort(-scores, kind="stable")
        return order[fit[order]][:MOST_CONTENDERS]

    def _run(
        self, contenders: npt.NDArray[np.int64], generation: Generation, seed: int, total: int
    ) -> tuple[int, Returns]:
        """Halves the contenders until one is left.

        Args:
            contenders: [K] positions.
            generation: What was scored.
            seed: The seed of its episodes.
            total: Episodes to play, those of the champion so far included.

        Returns:
            The winner's position, and its returns.
        """
        # A round for each halving, one more for the champion so far.
        share = max(1, total // (len(contenders).bit_length() + 1))
        returns = np.zeros((len(contenders), 0))
        while True:
            more = max(4, share // len(contenders))
            played = self.play(
                generation.population[contenders.tolist()],
                seed,
                generation.episodes + returns.shape[1],
                more,
            )
            ids = generation.ids[contenders].tolist()
            returns = np.concatenate([returns, self._finite(played, ids)], axis=1)
            kept = self._still_possible(returns)[: max(1, len(contenders) // 2)]
            contenders, returns = contenders[kept], returns[kept]
            if len(contenders) == 1:
                return int(contenders[0]), returns[0]

    def _still_possible(self, returns: Returns) -> npt.NDArray[np.int64]:
        """Ranks contenders by their mean, without those that are too far behind the first."""
        means = [self.sign * mean_and_error(row)[0] for row in returns]
        order = np.argsort(-np.array(means), kind="stable")
        kept = [int(order[0])]
        for i in order[1:].tolist():
            behind, error = mean_and_error(self.sign * (returns[kept[0]] - returns[i]))
            if behind <= STILL_POSSIBLE * error:
                kept.append(i)
        return np.array(kept)

    def _tested(self, best: Best, play: Play, typical: float) -> Best:
        """Tests a champion, for longer where it is not clear whether it solves the task.

        Args:
            best: The champion.
            play: Lets it play.
            typical: The median fitness of its generation.
        """
        limit = None if self.threshold is None else self.sign * self.threshold
        scores = np.zeros(0)  # higher is better
        while True:
            played = self._played(play, best, self.retest_seed, len(scores), self.retests)
            scores = np.concatenate([scores, self.sign * played])
            mean, low, high = interval(scores, self.sign * typical)
            is_open = limit is not None and low < limit <= mean
            if not is_open or len(scores) >= MOST_TESTS * self.retests:
                break
        low, high = sorted([self.sign * low, self.sign * high])
        tested = Retest(len(scores), low, high, self.sign * float(scores.min()))
        return replace(best, fitness=self.sign * mean, tested=tested)

    def _finite(self, returns: Returns, ids: list[int]) -> Returns:
        bad = ~np.isfinite(returns)
        if not bad.any():
            return returns
        if self.on_bad_fitness == "error" or bad.all():
            genome, episode = np.argwhere(bad)[0].tolist()
            raise FitnessError(
                f"genome with id {ids[genome]}: the return of a test episode is "
                f"{returns[genome, episode]}, which is not a finite number."
            )
        return np.where(bad, self.sign * float((self.sign * returns[~bad]).min()), returns)


def mean_and_error(values: Returns) -> tuple[float, float]:
    """Returns the mean of at least two numbers, and its standard error."""
    mean, deviation = mean_and_deviation(values)
    return mean, deviation / math.sqrt(len(values) - 1)


def interval(scores: Returns, typical: float = math.inf) -> tuple[float, float, float]:
    """Returns the mean of at least two scores, and the ends of its 99 % interval.

    A test can miss a rare failure altogether, so the interval also allows for as many failures as
    could have been missed.

    Args:
        scores: [E] scores, higher is better.
        typical: What a failure would score, as genomes usually do.
    """
    mean, error = mean_and_error(scores)
    student = student_quantile(len(scores) - 1)
    missed = min(1.0, UNSEEN / len(scores)) * max(0.0, mean - typical)
    low, high = mean - max(student * error, missed), mean + student * error
    return mean, max(low, -sys.float_info.max), min(high, sys.float_info.max)
