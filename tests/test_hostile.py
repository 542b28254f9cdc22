"""The first inputs of the hostile campaign, and that it notices what it looks for."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from evonet.errors import OptionError
from tests.campaigns.hostile import watch
from tests.campaigns.hostile.watch import Input, Surface, discover, run_here, run_surface

INPUTS = {"command_line": 6, "configs": 60, "expressions": 150, "files": 150, "metrics": 100}


@pytest.mark.parametrize("name", sorted(discover()))
def test_hostile_inputs_are_accepted_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    tally = run_here(discover()[name], 7, INPUTS.get(name, 60), tmp_path)
    assert tally.faults == []
    assert sum(tally.counts.values()) == INPUTS.get(name, 60)


def test_every_surface_is_found() -> None:
    wanted = {"files", "configs", "tables", "expressions", "metrics", "command_line"}
    assert wanted <= discover().keys()


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise ZeroDivisionError


def eat() -> None:
    bytearray(watch.MEMORY)


def spin() -> None:
    while True:
        pass


def sleep() -> None:
    os.read(os.pipe()[0], 1)


def shout() -> None:
    raise OptionError("x" * 30_000)


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (crash, "crashes"),
        (fail, "tracebacks"),
        (shout, "tracebacks"),
        (eat, "memory"),
        (spin, "hangs"),
        (sleep, "hangs"),
    ],
)
def test_the_campaign_notices_and_continues(
    act: Callable[[], None], outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SECONDS", 1)
    monkeypatch.setattr(watch, "PATIENCE", 10)

    def attack(rng: random.Random, folder: Path) -> Input:
        return act if rng is third else lambda: None

    third = random.Random()
    plain = watch.chance
    monkeypatch.setattr(
        watch, "chance", lambda s, seed, number: third if number == 3 else plain(s, seed, number)
    )
    tally = run_surface(Surface("planted", 1, attack, (OptionError,)), 1, 6, 10)
    assert tally.counts == {"accepted": 5, outcome: 1}
    assert len(tally.faults) == 1
    assert tally.faults[0].startswith("planted, seed 1, input 3: ")
