"""The command line: hostile words, and folders with hostile things in them."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
from pathlib import Path
from typing import Final

from evonet.cli.app import COMMANDS, main
from tests.campaigns.hostile.hostile_values import damage
from tests.campaigns.hostile.metrics import good_run
from tests.campaigns.hostile.watch import Input

SHARE: Final = 1
WORDS: Final = (
    *(
        "",
        " ",
        "-",
        "--",
        "--out",
        "--svg",
        "--config",
        "--debug",
        "--help",
        "-h",
        "-1",
        "0",
        "xor",
    ),
    *(
        "run",
        "run/champion.json",
        "nowhere",
        "\x1b[31m",
        "\udcff",
        "a" * 300,
        "a/" * 2000,
        "/dev/null",
    ),
    *(
        "--generations",
        "--seed",
        "--population",
        "1e9",
        "99999999999999999999",
        "--set",
        "a.b=c",
        "=",
        ".",
    ),
    *(
        "--threads",
        "neat.pop_size=x",
        "gym:Nothing-v0",
        "no.module:Task",
        "run/config.toml",
        "fifo",
    ),
)
SAFE: Final = tuple(
    name for name in COMMANDS if name not in ("bench", "doctor", "evolve", "resume")
)


prepare = good_run


def attack(rng: random.Random, folder: Path) -> Input:
    """Runs a command with hostile words, in a folder with a run that was tampered with."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    for name, data in good_run().items():
        (run / name).write_bytes(damage(data, rng) if rng.random() < 0.2 else data)
    _tamper(run, rng)
    words = [rng.choice((*SAFE, "resume", "nonsense"))]
    words += ["run"] if rng.random() < 0.6 else []
    words += rng.choices(WORDS, k=rng.choice((0, 0, 1, 2, 4)))
    return lambda: _run(words, folder)


def _tamper(run: Path, rng: random.Random) -> None:
    victim = run / rng.choice(
        ("champion.json", "metrics.jsonl", "report.html", ".lock", "config.toml")
    )
    way = rng.randrange(6)
    if way < 3:
        victim.unlink(missing_ok=True)
    if way == 0:
        os.mkfifo(victim)
    elif way == 1:
        victim.mkdir()
    elif way == 2:
        victim.symlink_to("/nonexistent/elsewhere")


def _run(words: list[str], folder: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    home = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
    finally:
        os.chdir(home)
    said = err.getvalue()
    asked = "--debug" in words
    clean = status in (0, 1, 2) and "fault in evonet" not in said
    if not clean or ("Traceback" in said and not asked) or (len(said) > 20_000 and not asked):
        raise AssertionError(f"{words}: exit code {status}, {said[-1500:]}")
