"""The results of one run of benchmarks, and their form in JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evonet.bench.comparison import Findings, SpeedComparison
from evonet.bench.growth import Growth
from evonet.bench.limits import LIMITS, Limits, Machine

# Rises when a key is renamed or removed, not when one is added.
SCHEMA: Final = 2


@dataclass(frozen=True)
class Bench:
    """A run."""

    command: str  # that was given
    quick: bool  # whether everything was made small; such figures mean nothing
    seconds: float  # how long it took
    machine: Machine
    limits: Limits
    peers: dict[str, str]  # versions of the other libraries, by name
    missing: tuple[str, ...]  # a line for each library that did not take part
    findings: dict[str, Findings]  # by the name of the benchmark

    def comparison(self, name: str) -> SpeedComparison | None:
        """The comparison of that name, if it was measured."""
        found = (c for each in self.findings.values() for c in each.comparisons if c.name == name)
        return next(found, None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; times in seconds."""
        best, median = self.limits.best(), self.limits.median()
        plain = dataclasses.asdict(self)
        del plain["findings"]
        return {
            "schema": SCHEMA,
            **plain,
            "limits": {
                name: {"best": best[name], "median": median[name], "unit": unit}
                for name, (_, _, unit) in LIMITS.items()
            },
            "comparisons": [
                _comparison_dict(comparison, suite, best)
                for suite, found in self.findings.items()
                for comparison in found.comparisons
            ],
            "growths": [
                _growth_dict(growth, suite)
                for suite, found in self.findings.items()
                for growth in found.growths
            ],
        }


def command_of(suite: str) -> str:
    """The command that repeats a benchmark."""
    return f"evonet bench {suite}"


def _comparison_dict(
    comparison: SpeedComparison, suite: str, limits: Mapping[str, float]
) -> dict[str, Any]:
    entries = [
        {
            "name": entry.name,
            "note": entry.note,
            "rounds": list(entry.timing.rounds),
            "best": entry.timing.best,
            "median": entry.timing.median,
            "ratio": comparison.ratio(entry),
            "best_ratio": comparison.best_ratio(entry),
            "shares": comparison.shares(entry, limits),
            "parts": dict(entry.parts),
        }
        for entry in comparison.entries
    ]
    return {**dataclasses.asdict(comparison), "command": command_of(suite), "entries": entries}


def _growth_dict(growth: Growth, suite: str) -> dict[str, Any]:
    lines = []
    for line in growth.lines:
        tail = growth.tail(line)
        lines.append(
            {
                "name": line.name,
                "rounds": [list(timing.rounds) for timing in line.timings],
                "median": growth.medians(line),
                "exponent": tail.exponent,
                "spread": tail.spread,
                "bends": [dataclasses.asdict(bend) for bend in growth.bends(line)],
            }
        )
    plain = dataclasses.asdict(growth)
    del plain["if_flatter"], plain["if_steeper"]
    return {**plain, "command": command_of(suite), "reasons": growth.reasons(), "lines": lines}
