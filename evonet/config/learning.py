"""The [learning] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from evonet.config.rules import NOT_NEGATIVE, OneOf, Real, Whole
from evonet.config.schema import Schema, setting

# What --learn, or a table without this setting, gives to `steps`.
USUAL_STEPS: Final = 20


@dataclass(frozen=True, slots=True)
class LearningTable(Schema):
    """How networks learn from examples by gradients before they are scored.

    Attributes:
        steps: Steps that every genome learns for in every generation; 0 for no learning. A table
            without it has 20.
        optimizer: "adam", "adamw" or "sgd", which has momentum. Each genome has its own.
        rate: The learning rate.
        batch: Examples per step; 0 takes all.
        decay: Weight decay.
        clip: The largest norm of a genome's gradient; a larger one is scaled down. 0 allows any.
        loss: What becomes smaller: "auto" for the loss of the task, or "squared",
            "cross_entropy", "binary_cross_entropy" or "huber".
        patience: A genome stops after so many looks at the validation part without progress, and
            keeps what was best there; 0 never looks. A task without such a part has no looks.
        check_every: Steps between two looks.
        inherit: With "lamarckian" children inherit what their parents learned, with "baldwinian"
            what their parents were born with. Fitness is that after learning in either case.
    """

    steps: int = setting(Whole(0), 0)
    optimizer: Literal["adam", "adamw", "sgd"] = setting(OneOf("adam", "adamw", "sgd"), "adam")
    rate: float = setting(Real(above=0.0), 0.01)
    batch: int = setting(Whole(0), 32)
    decay: float = setting(NOT_NEGATIVE, 0.0)
    clip: float = setting(NOT_NEGATIVE, 0.0)
    loss: Literal["auto", "squared", "cross_entropy", "binary_cross_entropy", "huber"] = setting(
        OneOf("auto", "squared", "cross_entropy", "binary_cross_entropy", "huber"), "auto"
    )
    patience: int = setting(Whole(0), 0)
    check_every: int = setting(Whole(1), 10)
    inherit: Literal["lamarckian", "baldwinian"] = setting(
        OneOf("lamarckian", "baldwinian"), "lamarckian"
    )
