"""Callbacks: the occasions at which a run calls them, and what is known at each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from evonet.errors import OptionError
from evonet.evolution.algorithm import Algorithm
from evonet.evolution.record import GenerationRecord
from evonet.evolution.state import Best

if TYPE_CHECKING:
    from evonet.evaluators import Evaluator
    from evonet.tasks import Task


@dataclass(frozen=True)
class Run:
    """A run that is about to start or to continue.

    Attributes:
        task: What is evolved on.
        algorithm: The evolution; its `state` changes from generation to generation.
        first_generation: The generation that is evaluated next.
        generations: How many there will be at most, those before a resumption included.
        resumed_from: The checkpoint that the run continues from, or None.
        spent: Seconds that describing generations and each callback took so far, by name.
        evaluator: What scores genomes.
    """

    task: Task
    algorithm: Algorithm
    first_generation: int
    generations: int
    resumed_from: Path | None = None
    spent: dict[str, float] = field(default_factory=dict)
    evaluator: Evaluator | None = None


@dataclass(frozen=True)
class Result:
    """What came out of a run.

    Attributes:
        best: The best genome; None if no generation was evaluated.
        generation: The number of the last generation.
        solved: Whether it reached the config's fitness threshold.
        evaluations: Genomes evaluated, those before a resumption included.
        seconds: How long it took since the run started or was resumed.
        algorithm: The evolution, ready to continue.
        out_of_time: Whether the config's run.minutes ended it.
    """

    best: Best | None
    generation: int
    solved: bool
    evaluations: int
    seconds: float
    algorithm: Algorithm
    out_of_time: bool = False


class Callback:
    """Does nothing at each occasion; derive from it and override what matters.

    Attributes:
        comes_last: Whether all other callbacks are to be called before.
    """

    comes_last: ClassVar[bool] = False

    def on_start(self, run: Run) -> None:
        """Is called before the first generation."""

    def evaluating(self) -> AbstractContextManager[object]:
        """Returns a context that is entered while a generation is evaluated."""
        return nullcontext()

    def on_generation(self, record: GenerationRecord) -> bool | None:
        """Is called after each generation.

        Returns:
            True to end the run.
        """

    def on_end(self, result: Result) -> None:
        """Is called at the end, also of a run that fails or is interrupted."""


CallbackLike: TypeAlias = "Callback | Callable[[GenerationRecord], object]"


class _Function(Callback):
    """Calls a plain function for each generation."""

    def __init__(self, function: Callable[[GenerationRecord], object]) -> None:
        self._function = function

    @property
    def function_name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    def on_generation(self, record: GenerationRecord) -> bool | None:
        return self._function(record) is True


def name_of(callback: Callback) -> str:
    """What a callback is called where times are listed."""
    if isinstance(callback, _Function):
        return callback.function_name
    return type(callback).__name__


def arrange(callbacks: Iterable[CallbackLike]) -> list[Callback]:
    """Wraps plain functions, and puts those last that come last.

    Raises:
        OptionError: Something is neither a callback nor a function.
    """
    found: list[Callback] = []
    for item in callbacks:
        if isinstance(item, type):
            raise OptionError(f"callbacks: {item.__name__} is a class. Write {item.__name__}().")
        if not isinstance(item, Callback) and not callable(item):
            raise OptionError(
                f"callbacks: {item!r} is neither a Callback nor a function of a GenerationRecord."
            )
        found.append(item if isinstance(item, Callback) else _Function(item))
    return sorted(found, key=lambda callback: callback.comes_last)
