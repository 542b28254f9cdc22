"""Times several ways to do the same work, by turns.

A shared machine is slower at some times than at others. So contenders are timed alternately, round
after round, and all of them meet the same conditions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

# The shortest turn of a contender in a round, in seconds.
ROUND_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Timing:
    """How long a unit of work took."""

    rounds: tuple[float, ...]  # seconds per unit, a mean for each round

    @property
    def best(self) -> float:
        """The fastest round: what is possible on an idle machine."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """The median round: what to expect."""
        return statistics.median(self.rounds)


@dataclass
class Contender:
    """One way to do the work."""

    name: str
    run: Callable[[], Any]
    note: str = ""  # what a reader must know to judge the result
    parts: dict[str, float] = field(default_factory=dict)  # seconds by phase, which `run` adds to
    units: float | None = None  # how many a call does; None if `run` returns their number

    def turn(self, seconds: float = 0.0) -> tuple[float, float]:
        """Runs for at least so long, and returns the seconds that it took and the units done."""
        done = 0.0
        start = time.perf_counter()
        while True:
            result = self.run()
            done += result if self.units is None else self.units
            spent = time.perf_counter() - start
            if spent >= seconds:
                return spent, done


@dataclass(frozen=True)
class Entry:
    """The result of one contender."""

    name: str
    timing: Timing
    note: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)  # seconds per unit by phase


class Stopwatch:
    """Adds the time between laps to the seconds of phases."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Ends a phase."""
        now = time.perf_counter()
        self._seconds[phase] += now - self._last
        self._last = now


def take_turns(
    contenders: Sequence[Contender], rounds: int, seconds: float = ROUND_SECONDS
) -> tuple[Entry, ...]:
    """Times all contenders alternately, after one call each that is not counted.

    Every other round runs backwards, so that no contender always follows the same one.

    Args:
        contenders: At least one; their `parts` are reset.
        rounds: The number of rounds, at least 1.
        seconds: The least time of a contender's turn.
    """
    for contender in contenders:
        contender.turn()
        contender.parts.update(dict.fromkeys(contender.parts, 0.0))
    turns: list[list[tuple[float, float]]] = [[] for _ in contenders]
    for number in range(rounds):
        order = range(len(contenders))
        for i in order if number % 2 == 0 else reversed(order):
            turns[i].append(contenders[i].turn(seconds))
    entries = []
    for contender, taken in zip(contenders, turns, strict=True):
        units = sum(done for _, done in taken)
        parts = {phase: total / units for phase, total in contender.parts.items()}
        timing = Timing(tuple(spent / done for spent, done in taken))
        entries.append(Entry(contender.name, timing, contender.note, parts))
    return tuple(entries)
