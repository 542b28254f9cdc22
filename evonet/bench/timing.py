"""Takes the time of several ways to do the same work, by turns.

On a shared machine a second is not always worth the same. So contenders are timed alternately,
round after round, and whoever is compared has met the same weather.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

# What one round gives to each contender, in seconds, unless a single call takes longer.
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
        """The fastest round: what is possible when nobody disturbs."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """The round in the middle: what to expect."""
        return statistics.median(self.rounds)


@dataclass
class Contender:
    """One way to do the work.

    Attributes:
        name: For tables.
        run: Does some of it, and says how many units that was.
        note: What a reader must know to judge the result.
        parts: Seconds by phase, which `run` adds to where it knows its phases.
    """

    name: str
    run: Callable[[], float]
    note: str = ""
    parts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """What came out for one contender.

    Attributes:
        name: Of the contender.
        timing: Seconds per unit.
        note: What a reader must know to judge it.
        parts: Seconds per unit by phase; empty where it has none.
    """

    name: str
    timing: Timing
    note: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)


def take_turns(
    contenders: Sequence[Contender], rounds: int, seconds: float = ROUND_SECONDS
) -> tuple[Entry, ...]:
    """Times all contenders alternately, after a call each that is not counted.

    Every other round runs backwards, so that nobody always follows the same neighbour.

    Args:
        contenders: At least one; their `parts` begin anew.
        rounds: How many, at least 1.
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
    """Seconds and units of as many calls as it takes."""
    done = 0.0
    begin = time.perf_counter()
    while True:
        done += run()
        spent = time.perf_counter() - begin
        if spent >= at_least:
            return spent, done
