"""A population and the front that it shares learn together."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.backends.differentiable import Differentiable, check_slopes
from evonet.backends.learning import Genes, LearningState
from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.errors import OptionError, ShapeError, check_positive
from evonet.functions.registry import LOSS_IDS
from evonet.genes.population import Population
from evonet.images.front import ConvFront
from evonet.images.gradients import add_in_order
from evonet.images.optimizer import FrontOptimizer
from evonet.learning.batches import batches, split
from evonet.learning.learner import with_genes
from evonet.learning.lesson import Lesson, lesson_of
from evonet.learning.rule import update_rule
from evonet.schedule.build import OnCycle

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

# Images whose features are computed at once where nothing is learned from them.
_LOOK: Final = 4096
_PROGRESS_SECONDS: Final = 0.1


class LearnedFront(NamedTuple):
    """What a population and its front have learned.

    Attributes:
        population: The genomes with what they learned; all other genes are as before.
        front: The front with what it learned.
        losses: [S, P] the mean loss of each step's batch, before the step; NaN where a genome no
            longer learned.
        held_out: [C, P] the mean loss of the held-out images at each look, the first one before the
            first step; [0, P] if none are held out.
        steps: The step that all weights are from: the last one, or the best if images are held out.
        finite: [P] False for genomes whose gradient was not finite: they stopped there.
    """

    population: Population
    front: ConvFront
    losses: Floats
    held_out: Floats
    steps: int
    finite: npt.NDArray[np.bool_]


class _Kept(NamedTuple):
    genes: Genes
    arrays: dict[str, Array]
    steps: int


class FrontLearner:
    """Lets a population and its front learn together from images.

    Every genome learns as it would on the front's features. The front learns from the mean of all
    genomes' losses, as one more network before each of them. Results depend on the lesson and the
    images, and on neither threads nor backend.

        learner = FrontLearner(population, front, Lesson(steps=200, loss="cross_entropy"))
        learned = learner.run(images, targets)

    If Ctrl-C ends `run`, the learner keeps the last whole step: `learned` returns it.

    Attributes:
        population: The genomes before they learn.
        front: The front before it learns.
        lesson: How they learn.
    """

    def __init__(
        self,
        population: Population,
        front: ConvFront,
        lesson: Lesson | None = None,
        *,
        front_rate: float | None = None,
        dynamics: Dynamics = FEEDFORWARD,
        backend: str = "auto",
        threads: int = 0,
        on_cycle: OnCycle = "error",
    ) -> None:
        """Compiles a population.

        Args:
            population: P genomes with an input for each feature.
            front: The front before them.
            lesson: How they learn; None for the defaults. With held-out images all end with the
                weights that had the smallest mean loss of all genomes on them.
            front_rate: The learning rate of the front; None for the lesson's.
            dynamics: How the networks work through time.
            backend: Where the networks learn, as for `evonet.compile`.
            threads: Threads to use; 0 for all available.
            on_cycle: As for `evonet.compile`.

        Raises:
            EvonetError: As for `evonet.compile`.
            ShapeError: The networks have another number of inputs than the front has features.
            OptionError: The networks have no gradients, or the loss does not fit their outputs.
        """
        self.lesson = Lesson() if lesson is None else lesson
        if not isinstance(front, ConvFront):
            raise OptionError(f"front must be a ConvFront, found {type(front).__name__}.")
        if population.num_inputs != front.num_features:
            raise ShapeError(
                f"the front has {front.num_features} features, and the networks have "
                f"{population.num_inputs} inputs."
            )
        check_slopes(self.lesson.loss, population.num_outputs)
        rate = self.lesson.rate if front_rate is None else check_positive("front_rate", front_rate)
        self._front_lesson = dataclasses.replace(self.lesson, rate=rate)
        self.population, self.front = population, front
        self._compiled = Differentiable(
            population, dynamics, backend=backend, threads=threads, on_cycle=on_cycle
        )
        self._start()

    def _start(self) -> None:
        self._working = self.front.replace(self.front.arrays)
        self._optimizer = FrontOptimizer(self._working)
        self._state = LearningState.start(self._compiled.schedule)
        self._losses: list[Floats] = []
        self._held_out: list[Floats] = []
        self._best: _Kept | None = None
        self._last = _Kept(self._state.genes, self._working.arrays, 0)
        self._least, self._waited = np.inf, 0

    def run(
        self,
        images: Any,
        targets: Any,
        progress: Progress | None = None,
        validation: tuple[Any, Any] | None = None,
    ) -> LearnedFront:
        """Learns, from the weights of the population and the front on.

        Args:
            images: [B, C, H, W]; for networks with memory [T, B, C, H, W], B sequences of T images.
            targets: [B, O] the right answers; for networks with memory those of the last step, or
                [T, B, O] those of every step.
            progress: Is called now and then with the steps done and all steps.
            validation: More images and answers, which are held out in place of a share of images.

        Raises:
            ShapeError: An array has another shape, or holds something but real numbers.
            OptionError: No images are left to learn from.
            KeyboardInterrupt: Ctrl-C; see `learned`.
        """
        x, answers = self._read(images, targets)
        lesson, count = self.lesson, x.shape[1]
        learned_from, held_out = split(lesson.seed, count, lesson.held_out)
        looked_at = x[:, held_out], answers[:, held_out]
        if validation is not None:
            learned_from, looked_at = np.arange(count), self._read(*validation)
        if len(learned_from) == 0:
            raise OptionError(f"held_out={lesson.held_out} leaves none of {count} images.")
        looks = looked_at[0].shape[1] > 0
        self._start()
        if looks:
            self._look(*looked_at)
        shown = time.monotonic()
        for done in range(1, lesson.steps + 1):
            self._take_step(
                x, answers, batches(lesson.seed, learned_from, lesson.batch, done - 1, 1)
            )
            if looks and (done % lesson.check_every == 0 or done == lesson.steps):
                self._look(*looked_at)
            ends = not self._state.active.any() or self._waited >= lesson.patience
            if progress is not None and (ends or done == lesson.steps or _is_time(shown)):
                progress(done, lesson.steps)
                shown = time.monotonic()
            if ends:
                break
        return self.learned()

    def learned(self) -> LearnedFront:
        """What has been learned so far."""
        num_genomes = self.population.num_genomes
        kept = self._last if self._best is None else self._best
        return LearnedFront(
            with_genes(self._compiled, kept.genes, self.lesson),
            self.front.replace(kept.arrays),
            np.array(self._losses).reshape(-1, num_genomes),
            np.array(self._held_out).reshape(-1, num_genomes),
            kept.steps,
            self._state.active.copy(),
        )

    def _read(self, images: Any, targets: Any) -> tuple[Array, Array]:
        """Brings images into the form [T, B, C, H, W], and answers into [T, B, O]."""
        x = self.front.read_images("images", images)
        wanted = 5 if self._compiled.schedule.dynamics.has_memory else 4
        if x.ndim != wanted:
            shape = ", ".join(map(str, self.front.input_shape))
            leading = "T, B" if wanted == 5 else "B"
            raise ShapeError(f"images must have shape [{leading}, {shape}], found {list(x.shape)}.")
        # Of the features only their shape matters here.
        empty = np.broadcast_to(
            np.zeros(1, self.front.dtype), (*x.shape[:-3], self.front.num_features)
        )
        _, answers = self._compiled.read(empty, targets, own=False)
        return (x if wanted == 5 else x[None]), answers

    def _take_step(self, images: Array, targets: Array, order: npt.NDArray[np.int64]) -> None:
        lesson, done = self.lesson, len(self._losses)
        loss, bound = LOSS_IDS[lesson.loss], self._compiled.bound
        x = np.ascontiguousarray(images[:, order[0]])
        answers = np.ascontiguousarray(targets[:, order[0]])
        features = self._features(x)
        found = bound.gradient(features, answers, loss, inputs=True, genes=self._state.genes)
        state = self._state.copy()  # so that an interrupt leaves the last whole step
        all_of_them = np.arange(x.shape[1])[None]
        losses = bound.learn(
            state, features, answers, all_of_them, loss, update_rule(lesson, done, done + 1)
        )
        assert found.x is not None
        usable = state.active & np.isfinite(found.x).all(axis=(1, 2, 3))
        arrays = self._working.arrays
        if usable.any():
            slopes = self._working.gradients(x, add_in_order(found.x[usable]))
            rule = update_rule(self._front_lesson, done, done + 1)
            if self._optimizer.step(slopes, x.shape[1] * int(usable.sum()), rule):
                arrays = self._optimizer.arrays
                self._working.set_weights(arrays)
        self._losses.append(losses[0].astype(np.float64))
        self._state = state
        self._last = _Kept(state.genes, arrays, done + 1)

    def _features(self, x: Array) -> Array:
        return self._working(x).astype(self._compiled.schedule.dtype, copy=False)

    def _look(self, images: Array, targets: Array) -> None:
        loss, count = LOSS_IDS[self.lesson.loss], images.shape[1]
        sums = np.zeros(self.population.num_genomes)
        for begin in range(0, count, _LOOK):
            part = slice(begin, begin + _LOOK)
            found = self._compiled.bound.gradient(
                self._features(np.ascontiguousarray(images[:, part])),
                np.ascontiguousarray(targets[:, part]),
                loss,
                genes=self._state.genes,
                backward=False,
            )
            pairs = found.losses.astype(np.float64)
            sums += pairs[:, 0] + pairs[:, 1]
        self._held_out.append(sums / count)
        usable = self._held_out[-1][self._state.active]
        mean = add_in_order(usable) / len(usable) if len(usable) else np.inf
        self._waited += 1
        if mean < self._least:
            self._least, self._waited, self._best = float(mean), 0, self._last


def _is_time(shown: float) -> bool:
    return time.monotonic() - shown > _PROGRESS_SECONDS


def learn(
    population: Population,
    front: ConvFront,
    images: Any,
    targets: Any,
    lesson: Lesson | None = None,
    *,
    front_rate: float | None = None,
    validation: tuple[Any, Any] | None = None,
    dynamics: Dynamics | None = None,
    kind: str = "feedforward",
    backend: str = "auto",
    threads: int = 0,
    on_cycle: OnCycle = "error",
    progress: bool = False,
    **options: Any,
) -> LearnedFront:
    """Lets every genome and the front before them learn by gradients.

        learned = evonet.images.learn(population, front, images, targets, steps=100, rate=0.003)
        learned.population, learned.front

    Args:
        population: P genomes with an input for each feature.
        front: The front before them.
        images: [B, C, H, W]; for networks with memory [T, B, C, H, W].
        targets: [B, O] the right answers; [T, B, O] those of every step.
        lesson: How they learn; None for one of the options below.
        front_rate: The learning rate of the front; None for the lesson's.
        validation: Images and answers to hold out, in place of a share of images.
        dynamics: How the networks work through time; None for the defaults of `kind`.
        kind: The kind of network, as for `evonet.compile`.
        backend: Where the networks learn, as for `evonet.compile`.
        threads: Threads to use; 0 for all available. Results never depend on it.
        on_cycle: As for `evonet.compile`.
        progress: Whether to show a progress bar.
        **options: The fields of a `Lesson`, such as steps, optimizer, rate, batch and seed. They
            take precedence over those of `lesson`.

    Raises:
        ShapeError: An array has another shape, or holds something but real numbers.
        OptionError: An option has a value that is not allowed, or the networks have no gradients.
        KeyboardInterrupt: Ctrl-C; a `FrontLearner` keeps what was learned until then.
    """
    how = lesson_of(lesson, options)
    learner = FrontLearner(
        population,
        front,
        how,
        front_rate=front_rate,
        dynamics=Dynamics.of(kind) if dynamics is None else dynamics,
        backend=backend,
        threads=threads,
        on_cycle=on_cycle,
    )
    if not progress:
        return learner.run(images, targets, validation=validation)
    from tqdm import tqdm

    with tqdm(total=how.steps, unit="step") as bar:
        return learner.run(
            images, targets, lambda done, _: bar.update(done - bar.n), validation=validation
        )
