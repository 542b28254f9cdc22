"""All that one run of the benchmark found out, and its form in JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final

from evonet.bench.comparison import Comparison, Findings
from evonet.bench.growth import Growth
from evonet.bench.limits import Limits, Machine

# Is raised when a key is renamed or goes; new keys may come without.
SCHEMA: Final = 1


@dataclass(frozen=True)
class Bench:
    """A run.

    Attributes:
        command: That was given.
        quick: Whether everything was made small; such figures say nothing.
        seconds: How long it took.
        machine: What it ran on.
        limits: What the machine can do at most.
        peers: Versions of the others, by name.
        missing: A line for each that did not take part.
        findings: What came out.
    """

    command: str
    quick: bool
    seconds: float
    machine: Machine
    limits: Limits
    peers: dict[str, str]
    missing: tuple[str, ...]
    findings: Findings

    def comparison(self, name: str) -> Comparison | None:
        """The comparison of that name, if it was made."""
        return next((c for c in self.findings.comparisons if c.name == name), None)

    def growth(self, name: str) -> Growth | None:
        """The growth of that name, if it was measured."""
        return next((g for g in self.findings.growths if g.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; times in seconds."""
        from evonet.bench.claims import check_claims

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
            "comparisons": [self._compared(c) for c in self.findings.comparisons],
            "growths": [_grown(g) for g in self.findings.growths],
            "claims": [dataclasses.asdict(checked) for checked in check_claims(self)],
        }

    def _compared(self, comparison: Comparison) -> dict[str, Any]:
        limits = self.limits.best()
        return {
            "name": comparison.name,
            "title": comparison.title,
            "unit": comparison.unit,
            "command": comparison.command,
            "work": dataclasses.asdict(comparison.work),
            "entries": [
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
            ],
        }


def _grown(growth: Growth) -> dict[str, Any]:
    return {
        "name": growth.name,
        "title": growth.title,
        "axis": growth.axis,
        "unit": growth.unit,
        "command": growth.command,
        "expected": growth.expected,
        "reasons": growth.reasons(),
        "x": list(growth.x),
        "lines": [
            {
                "name": line.name,
                "rounds": [list(timing.rounds) for timing in line.timings],
                "median": growth.medians(line),
                "exponent": growth.tail(line).exponent,
                "spread": growth.tail(line).spread,
                "bends": [dataclasses.asdict(bend) for bend in growth.bends(line)],
            }
            for line in growth.lines
        ],
    }
