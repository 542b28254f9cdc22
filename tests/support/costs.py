"""Processor seconds of tests, by folder: what a change of the tests must not make worse.

Wall time says little on a busy machine, and with several workers nothing at all.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest

NAME = "processor_seconds"


class Costs:
    """A pytest plugin that measures each test with its fixtures and child processes."""

    def __init__(self) -> None:
        self.by_folder: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Starts to measure."""
        item.stash[_START] = _processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Ends to measure; the report takes the result from a worker to the main process."""
        try:
            return (yield)
        finally:
            spent = _processor_seconds() - item.stash.get(_START, _processor_seconds())
            item.user_properties.append((NAME, round(spent, 3)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a test to its folder."""
        if report.when == "teardown":
            folder = "/".join(report.nodeid.split("::")[0].split("/")[:2])
            self.by_folder[folder] += dict(report.user_properties).get(NAME, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the sum, and the most expensive folders."""
        total = sum(self.by_folder.values())
        if total >= 30:
            parts = [f"{name} {cost:.0f}" for name, cost in self.by_folder.most_common(12)]
            terminalreporter.write_line(f"processor seconds: {total:.0f} ({', '.join(parts)})")


_START = pytest.StashKey[float]()


def _processor_seconds() -> float:
    return sum(os.times()[:4])
