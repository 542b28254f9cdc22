"""Dates and times in tables: days, and where they lie in the year, the week and the day.

A network cannot tell from days alone that December is near January, so every cycle is a point on a
circle: a sine and a cosine.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from evonet.numerics.elementary import cosine, sine

Dates = Literal["date", "time"]

# Years come first: in 03/04/2024 nobody knows which is the month.
PATTERN: Final = re.compile(
    r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
START: Final = datetime.datetime(2000, 1, 1)
DAY: Final = datetime.timedelta(days=1)
# Days of each cycle.
CYCLES: Final = {"year": 365.2425, "week": 7.0, "day": 1.0}
FULL_TURN: Final = 6.283185307179586


def parse_date(cell: str) -> float | None:
    """Returns the days since the year 2000 of a text such as 2024-02-29 or 2024-02-29 13:30.

    Args:
        cell: The text; None is returned for anything but a date.
    """
    found = PATTERN.fullmatch(cell)
    if found is None:
        return None
    year, _, month, day, hour, minute, second, zone = found.groups()
    try:
        moment = datetime.datetime(int(year), int(month), int(day))
        moment += datetime.timedelta(
            hours=_below(hour, 24), minutes=_below(minute, 60), seconds=_below(second, 61)
        )
        if zone and zone != "Z":
            offset = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment += offset if zone[0] == "-" else -offset
    except (ValueError, OverflowError):
        return None
    return (moment - START) / DAY


def _below(part: str | None, limit: int) -> int:
    number = int(part or 0)
    if number >= limit:
        raise ValueError
    return number


def find_dates(cells: Sequence[str]) -> Dates | None:
    """Decides whether most texts are dates, and whether they have times of day.

    Args:
        cells: Texts, none of them missing.
    """
    days = [day for day in map(parse_date, cells) if day is not None]
    if 2 * len(days) <= len(cells):
        return None
    return "date" if all(day == int(day) for day in days) else "time"


def name_inputs(name: str, kind: Dates) -> tuple[str, ...]:
    """Names the inputs of a column.

    Args:
        name: The column.
        kind: Whether it has times of day.
    """
    return (name, *(f"{name} {cycle} {wave}" for cycle in _cycles(kind) for wave in ("sin", "cos")))


def encode_days(days: npt.NDArray[np.float64], kind: Dates) -> npt.NDArray[np.float64]:
    """Returns inputs [B, I] of days [B]; those of a missing day are NaN.

    Args:
        days: Days since the year 2000.
        kind: Whether they have times of day.
    """
    known = np.where(np.isnan(days), 0.0, days)
    columns = [days]
    for cycle in _cycles(kind):
        turn = known / CYCLES[cycle]
        angle = (turn - np.floor(turn)) * FULL_TURN
        columns += [np.where(np.isnan(days), np.nan, wave(angle)) for wave in (sine, cosine)]
    return np.stack(columns, axis=1)


def _cycles(kind: Dates) -> list[str]:
    return [cycle for cycle in CYCLES if kind == "time" or cycle != "day"]
