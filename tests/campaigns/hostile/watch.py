"""Runs inputs in child processes, and notices whatever happens to those."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pkgutil
import random
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from evonet.errors import EvonetError

# Address space of a child; importing evonet takes a few hundred megabytes of it.
MEMORY: Final = 3 << 30
# Processor seconds that one input may take, and looks at a child without progress until it counts
# as hanging. Looks and not seconds, as nobody hangs while the whole campaign is stopped.
SECONDS: Final = 10
LOOK: Final = 0.2
PATIENCE: Final = 1500
# Longer messages are endless, and longer lines do not fit on a screen.
MOST_CHARACTERS: Final = 20_000
OUTCOMES: Final = ("accepted", "refused", "tracebacks", "hangs", "crashes", "memory")

# What an input does; it raises what evonet raises.
Input = Callable[[], object]


class Surface(NamedTuple):
    """Something that takes inputs from elsewhere."""

    name: str
    share: int  # of all inputs
    attack: Callable[[random.Random, Path], Input]  # makes an input, in an empty folder
    allowed: tuple[type[BaseException], ...]  # what an input may raise
    prepare: Callable[[], object] = object  # makes what all inputs share, before children start


@dataclass
class Tally:
    """What came of some inputs."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0  # processor seconds
    peak: int = 0  # bytes of memory in use

    def add(self, other: Tally) -> None:
        """Joins two of them."""
        self.counts.update(other.counts)
        self.faults += other.faults
        self.slowest = max(self.slowest, other.slowest)
        self.peak = max(self.peak, other.peak)

    @staticmethod
    def head() -> str:
        """The head of the table."""
        columns = "".join(f"{name:>11}" for name in OUTCOMES)
        return f"{'surface':<14}{'inputs':>10}{columns}{'slowest':>10}{'peak':>9}"

    def row(self, name: str) -> str:
        """One row of the table."""
        columns = "".join(f"{self.counts[outcome]:>11,}" for outcome in OUTCOMES)
        inputs = sum(self.counts.values())
        return (
            f"{name:<14}{inputs:>10,}{columns}{self.slowest * 1e3:>7.0f} ms{self.peak >> 20:>6} MB"
        )


class HangError(BaseException):
    """An input has taken too long."""


def discover() -> dict[str, Surface]:
    """Finds all surfaces: the modules of this package, and hostile_*.py beside it."""
    found = {}
    package = Path(__file__).parent
    names = [f"tests.campaigns.hostile.{m.name}" for m in pkgutil.iter_modules([str(package)])]
    beside = pkgutil.iter_modules([str(package.parent)])
    names += [f"tests.campaigns.{m.name}" for m in beside if m.name.startswith("hostile_")]
    for name in names:
        if name.endswith((".watch", ".__main__", ".hostile_values")):
            continue
        module = importlib.import_module(name)
        if hasattr(module, "attack"):
            short = name.rpartition(".")[2].removeprefix("hostile_")
            allowed = (EvonetError, OSError, *getattr(module, "ALLOWED", ()))
            prepare = getattr(module, "prepare", object)
            found[short] = Surface(short, module.SHARE, module.attack, allowed, prepare)
    return found


def replay(surface: Surface, seed: int, number: int) -> None:
    """Runs one input in this process, for a debugger."""
    with tempfile.TemporaryDirectory() as folder:
        surface.attack(chance(surface, seed, number), Path(folder))()


def chance(surface: Surface, seed: int, number: int) -> random.Random:
    """The random numbers of one input."""
    return random.Random(f"{surface.name} {seed} {number}")


def run_here(surface: Surface, seed: int, count: int, folder: Path) -> Tally:
    """Runs the first inputs in this process, as the tests do."""
    tally = Tally()
    for number in range(count):
        _run_one(surface, seed, number, folder, tally)
    return tally


def run_surface(surface: Surface, seed: int, count: int, chunk: int) -> Tally:
    """Runs inputs in child processes, so many in each."""
    total = Tally()
    context = multiprocessing.get_context("fork")
    surface.prepare()
    start = 0
    while start < count:
        end = min(count, start + chunk)
        progress = context.Value("q", start)
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(
            target=_work, args=(surface, seed, start, end, progress, sender), daemon=True
        )
        child.start()
        sender.close()
        hangs = not _wait(child, progress, receiver)
        found = _receive(receiver)
        child.join()
        receiver.close()
        if found is not None:
            total.add(found)
            start = end
            continue
        at = int(progress.value)
        outcome = "hangs" if hangs else "crashes"
        total.counts["accepted"] += at - start  # or refused: the child took that knowledge along
        total.counts[outcome] += 1
        reason = "did not end" if hangs else f"ended with exit code {child.exitcode}"
        total.faults.append(f"{surface.name}, seed {seed}, input {at}: the process {reason}")
        start = at + 1
    return total


def _wait(child: Any, progress: Any, receiver: Any) -> bool:
    """Waits for a child; False if it made no progress for too long, and was killed."""
    last, looks = progress.value, 0
    while child.is_alive() and not receiver.poll(LOOK):
        looks += 1
        if progress.value != last:
            last, looks = progress.value, 0
        elif looks > PATIENCE:
            child.kill()
            return False
    return True


def _receive(receiver: Any) -> Tally | None:
    try:
        found: Tally = receiver.recv()
    except EOFError:
        return None
    return found


def _work(surface: Surface, seed: int, start: int, end: int, progress: Any, sender: Any) -> None:
    """What a child does."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _hang)
    os.nice(5)
    os.fsync = lambda fd: None  # nobody pulls the plug here
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(start, end):
            progress.value = number
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            _run_one(surface, seed, number, folder, tally)
            signal.setitimer(signal.ITIMER_PROF, 0)
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sender.send(tally)


def _hang(number: int, frame: FrameType | None) -> None:
    raise HangError


def _run_one(surface: Surface, seed: int, number: int, folder: Path, tally: Tally) -> None:
    begin = time.process_time()
    outcome, fault = _outcome(surface, seed, number, folder)
    tally.slowest = max(tally.slowest, time.process_time() - begin)
    tally.counts[outcome] += 1
    if fault:
        tally.faults.append(f"{surface.name}, seed {seed}, input {number}: {fault}")


def _outcome(surface: Surface, seed: int, number: int, folder: Path) -> tuple[str, str]:
    """Runs one input; returns what came of it, and what is wrong with that or ""."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = surface.attack(chance(surface, seed, number), folder)
        try:
            made()
        except surface.allowed as error:
            text = str(error)
            if len(text) > MOST_CHARACTERS:
                return "tracebacks", f"a message of {len(text)} characters: {text[:200]}"
            if not all(line.isprintable() for line in text.split("\n")):
                return "tracebacks", f"a message that is not printable: {text[:500]!r}"
            return "refused", ""
        except HangError:
            return "hangs", f"takes more than {SECONDS} s"
        except MemoryError:
            return "memory", f"needs more memory than it may:\n{traceback.format_exc()[-1500:]}"
        except BaseException:
            return "tracebacks", traceback.format_exc()[-1500:]
    return "accepted", ""
