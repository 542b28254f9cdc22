"""Runs the command line, in this process or as one of its own, for the tests."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evonet.cli.app import main

# A task that is not solved meanwhile, with generations of a few milliseconds.
PARITY = """
[task]
name = "parity"
bits = 4

[run]
generations = {generations}
seed = 5

[neat]
pop_size = {population}

[speciation]
threshold = 2.0
"""


class Outcome(NamedTuple):
    """What a command said and ended with."""

    status: int
    out: str
    err: str


class CommandLine:
    """Calls commands in this process."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: object) -> Outcome:
        self._capture.readouterr()
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *self._capture.readouterr())


def write_parity(folder: Path, generations: int = 6, population: int = 20) -> Path:
    path = folder / "parity.toml"
    path.write_text(PARITY.format(generations=generations, population=population))
    return path


def metrics_of(run: Path) -> list[dict[str, Any]]:
    """The metrics without what depends on the clock."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for record in records:
        del record["seconds"], record["evaluations_per_second"]
    return records


def start(*arguments: object, saving_every: float = 0.0) -> subprocess.Popen[str]:
    """Starts a command as a process that saves so many seconds apart."""
    code = (
        "import sys, evonet.runs.start as start; "
        f"start.SAVING_EVERY = {saving_every}; "
        "from evonet.cli.app import main; sys.exit(main())"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Waits for a process to end."""
    out, err = process.communicate(timeout=300)
    return Outcome(process.returncode, out, err)


def wait_for_generations(run: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Returns as soon as metrics.jsonl has so many lines."""
    deadline = time.monotonic() + 120
    metrics = run / "metrics.jsonl"
    while time.monotonic() < deadline:
        if metrics.exists() and metrics.read_bytes().count(b"\n") >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    raise AssertionError(f"{run} did not reach generation {count}")
