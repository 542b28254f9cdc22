"""What the doctor finds: one line each, and below it the fix."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "absent", "fault"]

_MARKS = {"ok": "ok", "absent": "--", "fault": "!!"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that was examined.

    Attributes:
        name: Its name.
        state: "absent" is something optional that is missing.
        found: A description.
        fix: How to fix it, or "".
    """

    name: str
    state: State
    found: str
    fix: str = ""

    def __str__(self) -> str:
        lines = self.found.splitlines() or [""]
        text = f"{_MARKS[self.state]:4}{self.name:12}{lines[0]}"
        more = [*lines[1:], *([f"fix: {self.fix}"] if self.fix else [])]
        return "\n".join([text, *(f"{'':16}{line}" for line in more)])


@dataclasses.dataclass(frozen=True)
class Report:
    """All findings, in the order in which they were made."""

    findings: tuple[Finding, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is at fault; missing options are no fault."""
        return all(finding.state != "fault" for finding in self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))
