"""The results of one run of benchmarks, and their form in JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from evonet.bench.claims import check_claims
from evonet.bench.comparison import Findings, SpeedComparison
from evonet.bench.growth import Growth
from evonet.bench.limits import Limits, Machine

# Rises when a key is renamed or removed, not when one is added.
SCHEMA: Final = 1


@dataclass(frozen=True)
class Bench:
    """A run.

    Attributes:
        command: The command that was given.
        quick: Whether everything was made small; such figures mean nothing.
        seconds: How long it took.
        machine: What it ran on.
        limits: The most that the machine can do.
        peers: Versions of the other libraries, by name.
        missing: A line for each library that did not take part.
        findings: The results of each benchmark, by its name.
    """

    command: str
    quick: bool
    seconds: float
    machine: Machine
    limits: Limits
    peers: dict[str, str]
    missing: tuple[str, ...]
    findings: dict[str, Findings]

    def comparison(self, name: str) -> SpeedComparison | None:
        """The comparison of that name, if it was measured."""
        found = (c for each in self.findings.values() for c in each.comparisons if c.name == name)
        return next(found, None)

    def growth(self, name: str) -> Growth | None:
        """The growth of that name, if it was measured."""
        found = (g for each in self.findings.values() for g in each.growths if g.name == name)
        return next(found, None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; times in seconds."""
        best, median = self.limits.best(), self.limits.median()
        return {
            "schema": SCHEMA,
            "command": self.command,
            "quick": self.quick,
            "seconds": self.seconds,
            "machine": dataclasses.asdict(self.machine),
            "limits": {
                name: {"best": best[name], "median": median[name], "unit": unit}
                for name, unit in (("fma", "1/s"), ("l1", "B/s"), ("memory", "B/s"))
            },
            "peers": self.peers,
            "missing": list(self.missing),
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
            "claims": [dataclasses.asdict(checked) for checked in check_claims(self)],
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
    lines = [
        {
            "name": line.name,
            "rounds": [list(timing.rounds) for timing in line.timings],
            "median": growth.medians(line),
            "exponent": growth.tail(line).exponent,
            "spread": growth.tail(line).spread,
            "bends": [dataclasses.asdict(bend) for bend in growth.bends(line)],
        }
        for line in growth.lines
    ]
    plain = dataclasses.asdict(growth)
    del plain["if_flatter"], plain["if_steeper"]
    return {**plain, "command": command_of(suite), "reasons": growth.reasons(), "lines": lines}
