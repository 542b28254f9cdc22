"""What the runner raises.

SimtError
├── CompileError    the compiler, or a rule of CUDA, refuses the source
├── ArgumentError   an argument does not fit its parameter
├── LaunchError     a GPU would refuse the launch
└── KernelFault     the kernel ran and did something wrong
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class SimtError(Exception):
    """The root of all errors of the runner."""


class CompileError(SimtError):
    """The source is not CUDA that the runner understands."""


class ArgumentError(SimtError, TypeError):
    """An argument does not fit the parameter of the kernel."""


class LaunchError(SimtError, ValueError):
    """The launch exceeds what a GPU allows."""


@dataclass(frozen=True)
class Location:
    """A line of source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Finding:
    """One fault of a kernel: what happened first, and how often."""

    kind: str
    kernel: str
    message: str
    location: Location | None
    other: Location | None  # the other access of a race, the other barrier of a divergence
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    count: int

    @property
    def lines(self) -> set[int]:
        """Returns the lines that take part."""
        return {place.line for place in (self.location, self.other) if place}

    def __str__(self) -> str:
        other = f" (at {self.other})" if self.other else ""
        times = f" [{self.count} times]" if self.count > 1 else ""
        return (
            f"{self.location or '?'}: {self.kind}: kernel {self.kernel}, block {self.block}, "
            f"thread {self.thread} {self.message}{other}{times}"
        )


class KernelFault(SimtError):  # noqa: N818 -- the kernel is at fault, not the runner
    """A kernel did something that CUDA forbids or leaves undefined.

    Attributes:
        findings: Every fault once per line, in the order in which they were met.
    """

    SHOWN = 20

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = list(findings)
        lines = [str(finding) for finding in self.findings[: self.SHOWN]]
        if len(self.findings) > self.SHOWN:
            lines.append(f"... and {len(self.findings) - self.SHOWN} more")
        super().__init__("\n".join(lines))
