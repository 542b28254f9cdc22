"""Learners: whole populations learn from samples, each genome on its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.backends.differentiable import Differentiable, check_slopes
from evonet.backends.learning import Genes, LearningState
from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.errors import OptionError
from evonet.functions.registry import LOSS_IDS
from evonet.genes.population import Population
from evonet.learning.batches import batches, split
from evonet.learning.best import Best
from evonet.learning.lesson import Lesson, lesson_of
from evonet.learning.rule import update_rule
from evonet.schedule.build import OnCycle

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

# Work between two looks at the clock, in seconds: what Ctrl-C loses, and how often progress shows.
_ROUND_SECONDS: Final = 0.25


class Learned(NamedTuple):
    """What a population has learned.

    Attributes:
        population: The genomes with what they learned; all other genes are as before.
        losses: [S, P] the mean loss of each step's batch, before the step; NaN where a genome no
            longer learned.
        held_out: [C, P] the mean loss of the held-out samples at each look, the first one before
            the first step; [0, P] if none are held out.
        steps: [P] the step that each genome's genes are from: the last one, or the best if samples
            are held out.
        finite: [P] False for genomes whose gradient was not finite: they stopped there.
    """

    population: Population
    losses: Floats
    held_out: Floats
    steps: Ints
    finite: npt.NDArray[np.bool_]


class Learner:
    """Lets all genomes of a population learn from the same samples.

    Every genome has an optimiser of its own, so that it learns what it would learn alone. Results
    depend on the lesson and the samples, and on neither threads nor backend.

        learner = Learner(population, Lesson(steps=200))
        learned = learner.run(x, targets)

    If Ctrl-C ends `run`, the learner keeps what all genomes had learned until then: `learned`
    returns it, as if the lesson had so many steps.

    Attributes:
        population: The genomes before they learn.
        lesson: How they learn.
    """

    def __init__(
        self,
        population: Population,
        lesson: Lesson | None = None,
        *,
        dynamics: Dynamics = FEEDFORWARD,
        backend: str = "auto",
        threads: int = 0,
        on_cycle: OnCycle = "error",
    ) -> None:
        """Compiles a population.

        Args:
            population: P genomes.
            lesson: How they learn; None for the defaults.
            dynamics: How the networks work through time.
            backend: Where they learn, as for `evonet.compile`.
            threads: Threads to use; 0 for all available.
            on_cycle: As for `evonet.compile`.

        Raises:
            EvonetError: As for `evonet.compile`.
            OptionError: The networks have no gradients, or the loss does not fit their outputs.
        """
        if not isinstance(population, Population):
            raise OptionError(
                f"population must be an evonet.Population, found {type(population).__name__}."
            )
        self.population = population
        self.lesson = Lesson() if lesson is None else lesson
        check_slopes(self.lesson.loss, population.num_outputs)
        self._compiled = Differentiable(
            population, dynamics, backend=backend, threads=threads, on_cycle=on_cycle
        )
        self._schedule, self._bound = self._compiled.schedule, self._compiled.bound
        self._start()

    def _start(self) -> None:
        self._state = LearningState.start(self._schedule)
        self._losses: list[Floats] = []
        self._held_out: list[Floats] = []
        self._best = Best(self._state)

    def run(
        self,
        x: Any,
        targets: Any,
        progress: Progress | None = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Learned:
        """Learns, from the genes of the population on.

        Args:
            x: [B, I] samples; for networks with memory [T, B, I], B sequences of T steps each.
            targets: [B, O] the right answers; for networks with memory those of the last step, or
                [T, B, O] those of every step.
            progress: Is called now and then with the steps done and all steps.
            validation: More samples and answers, which are held out in place of a share of x.

        Raises:
            ShapeError: x or targets has another shape, or holds something but real numbers.
            OptionError: No samples are left to learn from.
            KeyboardInterrupt: Ctrl-C; see `learned`.
        """
        samples, answers = self._compiled.read(x, targets, own=False)
        lesson, count = self.lesson, samples.shape[1]
        learned_from, held_out = split(lesson.seed, count, lesson.held_out)
        if validation is not None:
            more, more_answers = self._compiled.read(*validation, own=False)
            learned_from, held_out = np.arange(count), count + np.arange(more.shape[1])
            samples = np.concatenate([samples, more], axis=1)
            answers = np.concatenate([answers, more_answers], axis=1)
        if len(learned_from) == 0:
            raise OptionError(f"held_out={lesson.held_out} leaves none of {count} samples.")
        self._start()
        done, at_once = 0, 1
        if len(held_out):
            self._look(samples, answers, held_out)
        while done < lesson.steps and self._state.active.any():
            until = min(lesson.steps, done + at_once)
            if len(held_out):
                until = min(until, (done // lesson.check_every + 1) * lesson.check_every)
            began = time.perf_counter()
            self._take_steps(samples, answers, learned_from, done, until)
            at_once = max(1, _fitting_steps(until - done, time.perf_counter() - began))
            done = until
            if len(held_out) and (done % lesson.check_every == 0 or done == lesson.steps):
                self._look(samples, answers, held_out)
            if progress is not None:
                progress(done, lesson.steps)
        return self.learned()

    def learned(self) -> Learned:
        """What has been learned so far."""
        num_genomes = self._schedule.num_genomes
        genes, steps = self._state.genes, self._state.steps
        if self._held_out:
            genes, steps = self._best.genes, self._best.steps
        return Learned(
            with_genes(self._compiled, genes, self.lesson),
            np.concatenate([np.zeros((0, num_genomes)), *self._losses]),
            np.array(self._held_out).reshape(-1, num_genomes),
            steps.copy(),
            self._finite(),
        )

    def _finite(self) -> npt.NDArray[np.bool_]:
        return self._state.active | self._best.stopped

    def _take_steps(self, x: Any, targets: Any, samples: Ints, first: int, end: int) -> None:
        lesson, before = self.lesson, self._state
        order = batches(lesson.seed, samples, lesson.batch, first, end - first)
        state = before.copy()  # so that an interrupt leaves the last whole round
        loss = LOSS_IDS[lesson.loss]
        losses = self._bound.learn(state, x, targets, order, loss, update_rule(lesson, first, end))
        self._losses.append(losses.astype(np.float64))
        self._state = state

    def _look(self, x: Any, targets: Any, samples: Ints) -> None:
        loss = LOSS_IDS[self.lesson.loss]
        found = self._bound.gradient(
            np.ascontiguousarray(x[:, samples]),
            np.ascontiguousarray(targets[:, samples]),
            loss,
            genes=self._state.genes,
            backward=False,
        )
        sums = found.losses.astype(np.float64).sum(axis=1)
        self._held_out.append(sums / len(samples))
        self._best.note(self._schedule, self._state, self._held_out[-1], self.lesson.patience)


def with_genes(compiled: Differentiable, genes: Genes, lesson: Lesson) -> Population:
    """The population of a schedule, with genes that a lesson changed."""
    where, population = compiled.genes, compiled.population
    arrays = {name: getattr(population, name).copy() for name in genes._fields}
    learns = lesson.weights, lesson.biases, lesson.responses
    places = where.link, where.node, where.node
    for name, place, found, wanted in zip(arrays, places, genes, learns, strict=True):
        if wanted:
            alive = found != getattr(compiled.schedule, name)  # idle nodes have other genes
            arrays[name][place[alive]] = found[alive]
    return population.replace(**arrays)


def _fitting_steps(done: int, seconds: float) -> int:
    """Steps that fill a round, at most ten times as many as before."""
    fitting = done * _ROUND_SECONDS / max(seconds, 1e-9)
    return int(min(10 * done, fitting))


def learn(
    population: Population,
    x: Any,
    targets: Any,
    lesson: Lesson | None = None,
    *,
    dynamics: Dynamics | None = None,
    kind: str = "feedforward",
    backend: str = "auto",
    threads: int = 0,
    on_cycle: OnCycle = "error",
    progress: bool = False,
    **options: Any,
) -> Population:
    """Lets every genome learn its weights and biases by gradients.

        learned = evonet.learn(population, x, targets, steps=100, rate=0.01)

    `Learner` does the same and also returns the losses of all steps.

    Args:
        population: P genomes.
        x: [B, I] samples; for networks with memory [T, B, I].
        targets: [B, O] the right answers; [T, B, O] those of every step.
        lesson: How they learn; None for one of the options below.
        dynamics: How the networks work through time; None for the defaults of `kind`.
        kind: The kind of network, as for `evonet.compile`.
        backend: Where they learn, as for `evonet.compile`.
        threads: Threads to use; 0 for all available. Results never depend on it.
        on_cycle: As for `evonet.compile`.
        progress: Whether to show a progress bar.
        **options: The fields of a `Lesson`, such as steps, optimizer, rate, batch and seed. They
            take precedence over those of `lesson`.

    Returns:
        A new population: the same genomes with other weights and biases.

    Raises:
        ShapeError: x or targets has another shape, or holds something but real numbers.
        OptionError: An option has a value that is not allowed, or the networks have no gradients.
        KeyboardInterrupt: Ctrl-C; a `Learner` keeps what was learned until then.
    """
    how = lesson_of(lesson, options)
    works = Dynamics.of(kind) if dynamics is None else dynamics
    learner = Learner(
        population, how, dynamics=works, backend=backend, threads=threads, on_cycle=on_cycle
    )
    if not progress:
        return learner.run(x, targets).population
    from tqdm import tqdm

    with tqdm(total=how.steps, unit="step") as bar:
        return learner.run(x, targets, lambda done, _: bar.update(done - bar.n)).population
