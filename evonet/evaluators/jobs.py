"""What workers are asked to do, and what they report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from evonet.errors import EvonetError


@dataclass(frozen=True)
class Piece:
    """A part of a job: some genomes and, for re-tests, some of their episodes.

    Attributes:
        start: Position of the first genome.
        stop: Position behind the last one.
        first_episode: For re-tests, the number of the first episode.
        episodes: For re-tests, how many episodes each genome plays.
    """

    start: int
    stop: int
    first_episode: int = 0
    episodes: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def halves(self) -> tuple[Piece, ...]:
        """Cuts it in two, by genomes if there are several, else by episodes; none if it is one."""
        if len(self) > 1:
            middle = (self.start + self.stop) // 2
            return (
                Piece(self.start, middle, self.first_episode, self.episodes),
                Piece(middle, self.stop, self.first_episode, self.episodes),
            )
        if self.episodes > 1:
            few = self.episodes // 2
            return (
                Piece(self.start, self.stop, self.first_episode, few),
                Piece(self.start, self.stop, self.first_episode + few, self.episodes - few),
            )
        return ()


@dataclass(frozen=True)
class Job:
    """What all pieces of a generation or a re-test have in common, beside arrays.

    Attributes:
        kind: "score" for a generation, "retest" for more episodes of a few genomes.
        seed: The seed for the chance in the task.
        generation: The generation that is scored.
        facts: What `unpack_population` needs beside arrays.
    """

    kind: Literal["score", "retest"]
    seed: int
    generation: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """Why a piece has no result.

    Attributes:
        words: What happened, without a full stop, such as "its worker was killed by SIGKILL".
        error: The error that was raised, if it is one of evonet's own.
        trace: The traceback in the worker, or "".
    """

    words: str
    error: EvonetError | None = None
    trace: str = ""


@dataclass(frozen=True)
class Event:
    """Something that happened to a worker.

    Attributes:
        worker: Its number.
        kind: "ready" when it can work; "done" or "failed" with a piece; "died", after which a
            new one starts under its number; "left" if it was replaced between two pieces;
            "broken" if it can never work.
        token: Which piece it is about.
        facts: What a result has beside arrays.
        arrays: The arrays of a result.
        fault: What happened, for "failed", "died" and "broken".
        seconds: How long the worker took.
    """

    worker: int
    kind: Literal["ready", "done", "failed", "died", "left", "broken"]
    token: int = -1
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    seconds: float = 0.0


@dataclass
class WorkerRate:
    """What a worker did in the last generation.

    Attributes:
        name: What it is called: its number, and on Ray its node.
        genomes: Genomes that it scored.
        seconds: How long it was busy.
        failures: Pieces that it failed, deaths included.
    """

    name: str
    genomes: int = 0
    seconds: float = 0.0
    failures: int = 0

    @property
    def genomes_per_second(self) -> float:
        """Its speed while it was busy; 0 if it was not."""
        return self.genomes / self.seconds if self.seconds > 0 else 0.0
