"""Lessons: how networks learn by gradients."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from evonet.backends.learning import OPTIMIZERS
from evonet.errors import OptionError, check_option, check_positive, check_seed, check_whole
from evonet.messages import did_you_mean

OptimizerName = Literal["sgd", "adam", "adamw"]
LossName = Literal["squared", "cross_entropy", "binary_cross_entropy", "huber"]
DIFFERENTIABLE: Final[tuple[LossName, ...]] = get_args(LossName)


@dataclasses.dataclass(frozen=True)
class Lesson:
    """How networks learn: from which loss, by which optimiser, how long.

    Attributes:
        steps: Steps that every genome takes.
        optimizer: "sgd" with momentum, "adam" or "adamw".
        rate: The learning rate.
        batch: Samples per step; 0 takes all of them.
        seed: Decides in which order samples come, and which are held out.
        loss: What becomes smaller: "squared", "cross_entropy", "binary_cross_entropy" or "huber",
            as `Network.loss` describes them, divided by the number of samples.
        momentum: What "sgd" keeps of its last step.
        betas: What "adam" and "adamw" keep of the means of gradients and of their squares.
        epsilon: What they add to the root of the latter.
        decay: Weight decay: a part of each weight that "sgd" and "adam" add to its gradient, and
            that "adamw", times the rate, takes from the weight itself. Biases and responses keep.
        clip: The largest norm of a genome's gradient; a larger one is scaled down. 0 allows any.
        held_out: The share of the samples that is not learned from. Every genome ends with the
            genes that had the smallest loss on them.
        patience: A genome stops after so many looks at the held-out samples without progress.
        check_every: Steps between two looks.
        weights: Whether weights learn.
        biases: Whether biases learn.
        responses: Whether responses learn.

    Raises:
        OptionError: An option has a value that is not allowed.
    """

    steps: int = 100
    optimizer: OptimizerName = "adam"
    rate: float = 0.01
    batch: int = 32
    seed: int = 0
    loss: LossName = "squared"
    momentum: float = 0.9
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decay: float = 0.0
    clip: float = 0.0
    held_out: float = 0.0
    patience: int = 10
    check_every: int = 10
    weights: bool = True
    biases: bool = True
    responses: bool = False

    def __post_init__(self) -> None:
        """Checks all options, and turns numbers of other types into Python's."""

        def note(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        check_option("optimizer", self.optimizer, OPTIMIZERS)
        check_option("loss", self.loss, DIFFERENTIABLE)
        note("steps", check_whole("steps", self.steps, 0, 2**31 - 1))
        note("batch", check_whole("batch", self.batch, 0, 2**31 - 1, "; 0 takes all samples"))
        note("seed", check_seed(self.seed))
        note("patience", check_whole("patience", self.patience, 1))
        note("check_every", check_whole("check_every", self.check_every, 1))
        note("rate", check_positive("rate", self.rate))
        note("epsilon", check_positive("epsilon", self.epsilon))
        note("momentum", _check_share("momentum", self.momentum))
        note("held_out", _check_share("held_out", self.held_out))
        note("decay", _check_not_negative("decay", self.decay))
        note("clip", _check_not_negative("clip", self.clip))
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise OptionError(f"betas={self.betas!r} must be two numbers, such as (0.9, 0.999).")
        note("betas", tuple(_check_share("betas", beta) for beta in self.betas))
        for name in ("weights", "biases", "responses"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name}={getattr(self, name)!r} must be True or False.")
        if not (self.weights or self.biases or self.responses):
            raise OptionError("weights, biases and responses are all False: nothing could learn.")


def lesson_of(lesson: Lesson | None, options: Mapping[str, Any]) -> Lesson:
    """A lesson with other options.

    Raises:
        OptionError: There is no such option, or it has a value that is not allowed.
    """
    names = [field.name for field in dataclasses.fields(Lesson)]
    for name in options:
        if name not in names:
            raise OptionError(f"{name} is not an option of a lesson. {did_you_mean(name, names)}")
    return dataclasses.replace(lesson or Lesson(), **options)


def _check_not_negative(name: str, found: object) -> float:
    try:
        number = math.nan if isinstance(found, (bool, str)) else float(found)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise OptionError(f"{name}={found!r} must be a number, 0 or above.")
    return number


def _check_share(name: str, found: object) -> float:
    number = _check_not_negative(name, found)
    if number >= 1:
        raise OptionError(f"{name}={found!r} must be at least 0 and below 1.")
    return number
