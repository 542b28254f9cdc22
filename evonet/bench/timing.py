"""Times several ways to do the same work, by turns.

A shared machine is slower at some times than at others. So contenders are timed alternately, round
after round, and all of them meet the same conditions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

# The shortest turn of a contender in a round, in seconds.
ROUND_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Timing:
    """How long a unit of work took.

    Attributes:
        rounds: [R] seconds per unit, a mean for each round.
    """

    rounds: tuple[float, ...]

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
    """One way to do the work.

    Attributes:
        name: The name in tables.
        run: Does some of the work, and returns the number of units done.
        note: What a reader must know to judge the result.
        parts: Seconds by phase, which `run` adds to if it measures phases.
    """

    name: str
    run: Callable[[], float]
    note: str = ""
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """The result of one contender.

    Attributes:
        name: The contender's name.
        timing: Seconds per unit.
        note: What a reader must know to judge it.
        parts: Seconds per unit by phase; empty without phases.
    """

    name: str
    timing: Timing
    note: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)


class Stopwatch:
    """Adds the time between laps to phases; phases without an entry are not counted."""

    def __init__(self, seconds: dict[str, float]) -> None:
        """Starts.

        Args:
            seconds: The sums by phase, which laps add to.
        """
        self._seconds = seconds
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Ends a phase."""
        now = time.perf_counter()
        if phase in self._seconds:
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
        contender.run()
        contender.parts.update(dict.fromkeys(contender.parts, 0.0))
    spent: list[list[float]] = [[] for _ in contenders]
    units = [0.0] * len(contenders)
    for number in range(rounds):
        order = range(len(contenders))
        for i in order if number % 2 == 0 else reversed(order):
            took, done = _one_turn(contenders[i].run, seconds)
            spent[i].append(took / done)
            units[i] += done
    return tuple(
        Entry(
            contender.name,
            Timing(tuple(each)),
            contender.note,
            {phase: total / done for phase, total in contender.parts.items()},
        )
        for contender, each, done in zip(contenders, spent, units, strict=True)
    )


def _one_turn(run: Callable[[], float], at_least: float) -> tuple[float, float]:
    """Seconds and units of as many calls as the turn takes."""
    done = 0.0
    start = time.perf_counter()
    while True:
        done += run()
        spent = time.perf_counter() - start
        if spent >= at_least:
            return spent, done
