"""What genomes learn by gradients before they are scored: lifetime learning.

Samples are shuffled by the seed of the generation, in one order for all genomes, and every genome
has an optimiser of its own. So what a genome learns depends on neither its neighbours nor on where
it is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self, cast

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError
from evonet.genes.population import Population
from evonet.learning import Learner, Lesson
from evonet.tasks.examples import Examples

if TYPE_CHECKING:
    from evonet.config import Config
    from evonet.learning.learner import Learned
    from evonet.learning.lesson import LossName
    from evonet.tasks.base import Task

# Points of a learning curve, for reports.
CURVE_POINTS: Final = 40

Curves = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Lifetime:
    """How genomes learn before they are scored.

    Attributes:
        lesson: How they learn; its seed is that of the generation.
        stops: Whether the task's validation part decides when a genome has learned enough.
        inherits: Whether children inherit what their parents learned.
        limits: The range of weights and biases, by name; what is learned stays within it.
    """

    lesson: Lesson
    stops: bool
    inherits: bool
    limits: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, config: Config, task: Task) -> Self | None:
        """Reads the [learning] table; None if genomes do not learn.

        Args:
            config: All settings.
            task: What genomes are scored by.

        Raises:
            OptionError: The task has no examples, or networks of this kind have no gradients.
        """
        table = config.learning
        if table.steps == 0:
            return None
        examples = task.examples()
        if examples is None:
            raise OptionError(
                f"learning.steps = {table.steps}, but {task!r} has no examples to learn from. "
                "Leave out the [learning] table (--no-learn), or give the task an examples()."
            )
        if config.dynamics.kind == "izhikevich":
            raise OptionError(
                'network.kind = "izhikevich" cannot learn by gradients: its neurons fire in jumps. '
                "Leave out the [learning] table (--no-learn)."
            )
        stops = table.patience > 0 and examples.validation is not None
        lesson = Lesson(
            steps=table.steps,
            optimizer=table.optimizer,
            rate=table.rate,
            batch=table.batch,
            loss=cast("LossName", examples.loss if table.loss == "auto" else table.loss),
            decay=table.decay,
            clip=table.clip,
            patience=max(1, table.patience),
            check_every=table.check_every,
        )
        genes = {"weight": config.genome.weight, "bias": config.genome.bias}
        limits = {name: (gene.min_value, gene.max_value) for name, gene in genes.items()}
        return cls(lesson, stops, table.inherit == "lamarckian", limits)

    def live(
        self, population: Population, examples: Examples, seed: int, has_memory: bool, **where: Any
    ) -> tuple[Population, Curves]:
        """Lets genomes learn.

        Args:
            population: [P] genomes.
            examples: What they learn from.
            seed: The seed of the generation, which orders the examples.
            has_memory: Whether networks take sequences; an example is then one of a single step.
            **where: The other arguments of `Learner`.

        Returns:
            [P] genomes with what they learned, and how they did, as `Evaluation.curves`.
        """

        def arrays(part: Examples) -> tuple[Any, Any]:
            return part.x[None] if has_memory else part.x, part.y

        learner = Learner(population, replace(self.lesson, seed=seed), **where)
        validation = None
        if self.stops and examples.validation is not None:
            validation = arrays(examples.validation)
        learned = learner.run(*arrays(examples), validation=validation)
        changed = {
            name: _limited(getattr(learned.population, name), *limits)
            for name, limits in self.limits.items()
        }
        return learned.population.replace(**changed), _curves(learned, self.lesson.check_every)


def _limited(genes: npt.NDArray[Any], least: float, most: float) -> npt.NDArray[Any]:
    limited: npt.NDArray[Any] = np.clip(genes, genes.dtype.type(least), genes.dtype.type(most))
    return limited


def _curves(learned: Learned, check_every: int) -> Curves:
    """Thins out how all genomes learned; NaN where a genome had stopped."""
    losses = learned.losses.T
    steps = np.arange(losses.shape[1])
    parts = np.array_split(steps, min(CURVE_POINTS, max(1, len(steps))))
    with np.errstate(invalid="ignore"):
        means = np.stack([losses[:, part].sum(axis=1) / max(1, len(part)) for part in parts], 1)
    middle = np.array([part.mean() if len(part) else 0.0 for part in parts])
    curves = {"steps": np.where(np.isfinite(means), middle, np.nan), "loss": means}
    if len(learned.held_out):
        looks = learned.held_out.T
        at = np.minimum(np.arange(looks.shape[1]) * check_every, losses.shape[1])
        chosen = np.unique(np.linspace(0, looks.shape[1] - 1, CURVE_POINTS).astype(int))
        stopped = at[chosen] > np.isfinite(losses).sum(axis=1)[:, None]
        found = np.where(stopped, np.nan, looks[:, chosen])
        curves["looks"] = np.where(np.isfinite(found), at[chosen], np.nan)
        curves["validation"] = found
    return curves
