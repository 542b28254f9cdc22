"""Ctrl-C and a polite kill, at moments at which nothing is lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from evonet.evolution.hooks import Callback
from evonet.evolution.record import GenerationRecord

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts(Callback):
    """Lets an interrupt through while networks are evaluated, which is where time goes.

    One that comes elsewhere waits: for the end of the generation, when all is written down, or
    for the next evaluation. So an interrupted run can always be saved whole. A second one does
    not wait.

    Attributes:
        asked: Whether somebody has interrupted the run.
    """

    comes_last = True

    def __init__(self) -> None:
        """Changes nothing before it is entered."""
        self.asked = False
        self._evaluating = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        try:
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        except ValueError:  # not the main thread, where signals are none of our business
            pass
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_generation(self, record: GenerationRecord) -> bool:
        """Ends the run if somebody has asked for that meanwhile."""
        return self.asked

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Lets an interrupt through, one that came before included."""
        self._evaluating = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._evaluating = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        at_once = self._evaluating or self.asked
        self.asked = True
        if at_once:
            raise KeyboardInterrupt
