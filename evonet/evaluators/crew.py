"""What the dispatcher needs of workers, wherever they are."""

from __future__ import annotations

from typing import Protocol

from evonet.evaluators.jobs import Event, Job, Piece
from evonet.evaluators.packing import Arrays


class Crew(Protocol):
    """Workers with numbers from 0, each of which does one piece at a time."""

    def __len__(self) -> int:
        """How many workers there are."""

    def name(self, worker: int) -> str:
        """What people call a worker."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about the workers, for people."""

    def begin(self, job: Job, arrays: Arrays) -> None:
        """Shares what all pieces of a job need. Pieces of the job before may still be running."""

    def submit(self, worker: int, token: int, piece: Piece) -> None:
        """Gives a piece of the current job to a worker that is ready or done."""

    def wait(self, seconds: float | None) -> list[Event]:
        """Waits until something has happened, or for some seconds at most; None for no limit."""

    def replace(self, worker: int) -> None:
        """Ends a worker at once and starts another under its number; no event reports it."""

    def close(self) -> None:
        """Ends all workers at once."""
