"""Kills runs, damages their checkpoints, and checks that resumed runs end with the same bits.

    python -m tests.campaigns.checkpoints kill    [--tries 300] [--generations 30]
    python -m tests.campaigns.checkpoints damage  [--flips 10000]
    python -m tests.campaigns.checkpoints faults
    python -m tests.campaigns.checkpoints tamper  [--files 5000]
    python -m tests.campaigns.checkpoints all     [--pop-size 150] [--seed 1]

`kill` evolves XOR in a process with a checkpoint per generation, ends it by SIGKILL at a random
moment, and starts it again. The newest checkpoint must always be readable, and the second process
must end with the champion, population, checkpoint and metrics (except seconds) of an undisturbed
run.

`damage` reads a checkpoint cut off at every length, with single bits flipped, with sectors zeroed,
repeated or swapped, and with bytes appended. Each must be a CheckpointError, none may load.

`faults` lets each operation of the file system fail in turn, before or after it took effect, and
limits the size of files. The previous checkpoint must always be readable, and the resumed run must
end with the bits of the undisturbed one.

`tamper` changes single values and corrects the checksum. Such a file must be a CheckpointError, or
a state from which evolution continues without harm.

The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import functools
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import evonet
from evonet.errors import CheckpointError, EvonetError
from evonet.evolution import NEAT
from evonet.evolution.checkpoint import (
    list_checkpoints,
    load_checkpoint,
    open_checkpoint,
    save_checkpoint,
)
from evonet.evolution.checkpoint.file import FORMAT, VERSION, pack
from evonet.files.checksummed_tensors import write_tensors
from evonet.genes.population import PARTS
from evonet.runs.champion import save_champion
from evonet.runs.loop import evolve
from evonet.tasks import xor
from tests.support.evolution_cases import evolved, xor_config

SECTOR = 512

# ---- one run, whose whole outcome can be compared -----------------------------------------------


def run_in(folder: Path, generations: int, pop_size: int) -> None:
    """Starts a run in a folder, or resumes the one that is there."""
    states = folder / "states"
    result = evolve(
        xor(),
        xor_config(pop_size),
        generations=generations,
        resume=states if list_checkpoints(states) else None,
        callbacks=[
            evonet.CheckpointSaver(states),
            evonet.MetricsWriter(folder / "metrics.jsonl"),
        ],
    )
    assert result.best is not None
    save_champion(folder / "champion.json", result.best, result.algorithm.config)
    result.algorithm.state.population.save(folder / "population.safetensors")


def outcome(folder: Path) -> dict[str, object]:
    """All files of a run, without what depends on the clock.

    A process killed while it writes the champion leaves a temporary file; in the folder of
    checkpoints there must be none at the end.
    """
    found: dict[str, object] = {}
    for path in sorted([*folder.glob("[!.]*"), *(folder / "states").iterdir()]):
        if path.name == "metrics.jsonl":
            found[path.name] = [
                {k: v for k, v in json.loads(line).items() if "second" not in k}
                for line in path.read_text().splitlines()
            ]
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def differences(a: dict[str, object], b: dict[str, object]) -> list[str]:
    """Names the files that only one of them has, or that differ."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


# ---- kill ---------------------------------------------------------------------------------------


def start(folder: Path, generations: int, pop_size: int) -> multiprocessing.Process:
    """Starts a run in a forked process."""
    process = multiprocessing.get_context("fork").Process(
        target=run_in, args=(folder, generations, pop_size)
    )
    process.start()
    return process


def finish(process: multiprocessing.Process) -> int | None:
    process.join()
    return process.exitcode


def verify_kill(tries: int, generations: int, pop_size: int, seed: int) -> int:
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    reached: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as root:
        whole = Path(root) / "whole"
        process = start(whole, generations, pop_size)
        begun = time.perf_counter()
        assert finish(process) == 0
        duration = time.perf_counter() - begun
        expected = outcome(whole)
        attempt = 0
        while counts["killed"] < tries:
            attempt += 1
            folder = Path(root) / str(attempt)
            process = start(folder, generations, pop_size)
            time.sleep(rng.uniform(0.0, duration))
            process.kill()  # by SIGKILL, which no process sees coming
            if finish(process) != -signal.SIGKILL:
                counts["ended before they were killed"] += 1
                continue
            counts["killed"] += 1
            states = folder / "states"
            counts["left a temporary file"] += any(p.name[0] == "." for p in states.glob(".*"))
            files = list_checkpoints(states)
            reached[open_or_count(states, counts) if files else -1] += 1
            if finish(start(folder, generations, pop_size)) != 0:
                counts["FAILED to resume"] += 1
            elif outcome(folder) == expected:
                counts["ended with equal bits"] += 1
            else:
                counts["FAILED: ended with other bits"] += 1
                print(f"  differs: {differences(outcome(folder), expected)}")
            if counts["killed"] % 50 == 0:
                print(f"  {counts['killed']} killed", flush=True)
    print(f"kill: {duration:.2f} s per undisturbed run of {generations} generations")
    print(f"  last checkpoint when killed: {dict(sorted(reached.items()))} (-1: none yet)")
    return report("kill", counts)


def open_or_count(states: Path, counts: Counter[str]) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            generation = open_checkpoint(states, NEAT).state.generation
    except (CheckpointError, Warning):
        counts["FAILED: newest checkpoint unreadable"] += 1
        return -2
    counts["newest checkpoint readable"] += 1
    return generation


# ---- damage -------------------------------------------------------------------------------------


def damages(data: bytes, flips: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yields damaged copies of a file, each with the kind of damage."""
    for length in range(len(data)):
        yield "truncated", data[:length]
    for _ in range(flips):
        bit = rng.randrange(8 * len(data))
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield "bit flipped", bytes(changed)
    sectors = [data[i : i + SECTOR] for i in range(0, len(data), SECTOR)]
    for i, sector in enumerate(sectors):
        before, behind = b"".join(sectors[:i]), b"".join(sectors[i + 1 :])
        for kind, new in (
            ("sector zeroed", bytes(len(sector))),
            ("sector repeated", sector + sector),
            ("sector lost", b""),
            ("sector of noise", rng.randbytes(len(sector))),
        ):
            if new != sector:
                yield kind, before + new + behind
        j = rng.randrange(len(sectors))
        if sectors[j] != sector:
            swapped = list(sectors)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield "sectors swapped", b"".join(swapped)
    for length in (1, 8, SECTOR):
        yield "appended", data + bytes(length)


def verify_damage(flips: int, pop_size: int, seed: int) -> int:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as root:
        path = save_checkpoint(evolved(pop_size, 10), root)
        data = path.read_bytes()
        for kind, damaged in damages(data, flips, random.Random(seed)):
            path.write_bytes(damaged)
            try:
                open_checkpoint(path, NEAT)
            except CheckpointError:
                counts[f"{kind}: refused"] += 1
            except BaseException as error:
                counts[f"FAILED: {kind}: {type(error).__name__}"] += 1
            else:
                counts[f"FAILED: {kind}: loaded silently"] += 1
    print(f"damage: a file of {len(data)} bytes")
    return report("damage", counts)


# ---- faults -------------------------------------------------------------------------------------


class Faults:
    """Makes the n-th operation of the file system fail; counts them if n is 0.

    Attributes:
        calls: The names of all operations so far.
    """

    NAMES = ("open", "fdopen", "fsync", "replace", "close", "unlink", "mkdir", "listdir")

    def __init__(self, when: int = 0, after: bool = False) -> None:
        self.when = when
        self.after = after
        self.calls: list[str] = []

    @contextlib.contextmanager
    def injected(self) -> Iterator[None]:
        """Replaces the functions of `os` for a while."""
        originals = {name: getattr(os, name) for name in self.NAMES}
        try:
            for name, original in originals.items():
                setattr(os, name, functools.partial(self._call, name, original))
            yield
        finally:
            for name, original in originals.items():
                setattr(os, name, original)

    def _call(self, name: str, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.calls.append(name)
        failing = len(self.calls) == self.when
        if failing and name != "close" and not (self.after and name not in ("open", "fdopen")):
            self._fail(name)
        result = original(*args, **kwargs)
        if failing:
            self._fail(name)
        if name == "fdopen":
            result.write = functools.partial(self._write, result.write)
        return result

    def _write(self, original: Callable[[bytes], int], data: bytes) -> int:
        self.calls.append("write")
        if len(self.calls) == self.when:
            original(data if self.after else data[: len(data) // 2])
            self._fail("write")
        return original(data)

    def _fail(self, name: str) -> None:
        raise OSError(errno.EIO, f"injected into {name}")


def save_generations(
    folder: Path, saved: list[int], pop_size: int, generations: int, keep: int
) -> None:
    """Runs and saves, and lists the generations that were saved."""
    neat = NEAT(xor_config(pop_size), num_inputs=2, num_outputs=1)
    for _ in range(generations):
        neat.tell(xor().evaluate(evonet.compile(neat.ask(), threads=1), 0))
        save_checkpoint(neat, folder, keep)
        saved.append(neat.generation)


def ending(neat: NEAT, generations: int, folder: Path) -> bytes:
    """Continues to the last generation and returns the bytes of its checkpoint."""
    while neat.generation < generations - 1:
        neat.tell(xor().evaluate(evonet.compile(neat.ask(), threads=1), 0))
    return save_checkpoint(neat, folder).read_bytes()


def check_after_fault(
    folder: Path, saved: list[int], generations: int, pop_size: int, expected: bytes
) -> str:
    """Describes what a fault left behind, and whether a run can resume from it."""
    least = saved[-1] if saved else -1
    if not list_checkpoints(folder):
        return "nothing was saved yet" if least < 0 else "FAILED: nothing left"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            neat = load_checkpoint(folder, algorithm=NEAT)
    except (CheckpointError, Warning):
        return "FAILED: newest checkpoint unreadable"
    if neat.generation not in (least, least + 1):
        return f"FAILED: generation {neat.generation} is left, {least} was saved"
    if ending(neat, generations, folder) != expected:
        return "FAILED: ended with other bits"
    if any(p.name[0] == "." for p in folder.iterdir()):
        return "FAILED: a temporary file is left"
    return "resumed with equal bits"


def verify_faults(pop_size: int, generations: int = 6, keep: int = 3, step: int = 257) -> int:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as root:
        counting = Faults()
        with counting.injected():
            save_generations(Path(root) / "whole", [], pop_size, generations, keep)
        last = list_checkpoints(Path(root) / "whole")[-1]
        expected = last.read_bytes()
        for when in range(1, len(counting.calls) + 1):
            for after in (False, True):
                folder, saved = Path(root) / f"{when}-{after}", list[int]()
                faults = Faults(when, after)
                try:
                    with faults.injected():
                        save_generations(folder, saved, pop_size, generations, keep)
                    same = list_checkpoints(folder)[-1].read_bytes() == expected
                    check = "made no difference" if same else "FAILED: ended with other bits"
                except OSError:
                    check = check_after_fault(folder, saved, generations, pop_size, expected)
                counts[f"{faults.calls[when - 1]} failing: {check}"] += 1
        with contextlib.suppress(ImportError):
            limit_sizes(Path(root), step, pop_size, generations, expected, counts)
    return report("faults", counts)


def limit_sizes(
    root: Path, step: int, pop_size: int, generations: int, expected: bytes, counts: Counter[str]
) -> None:
    """Lets the system itself refuse to write beyond some size."""
    import resource

    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for limit in range(0, len(expected), step):
            folder = root / f"limit-{limit}"
            neat = NEAT(xor_config(pop_size), num_inputs=2, num_outputs=1)
            neat.tell(xor().evaluate(evonet.compile(neat.ask(), threads=1), 0))
            save_checkpoint(neat, folder)
            neat.tell(xor().evaluate(evonet.compile(neat.ask(), threads=1), 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
            try:
                save_checkpoint(neat, folder)
                refused = False
            except OSError:
                refused = True
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
            saved = [0] if refused else [0, 1]
            check = check_after_fault(folder, saved, generations, pop_size, expected)
            counts[f"size limited: {check}"] += 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        signal.signal(signal.SIGXFSZ, handler)


# ---- tamper -------------------------------------------------------------------------------------

WHOLE = (-(2**63), -(2**31), -3, -2, -1, 0, 1, 2, 3, 2**31, 2**60, 2**62, 2**63 - 1)
REAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1.0, 1e30, 3e38)
ANYTHING = (*WHOLE[2:], 2**64, 10**30, *REAL, True, False, None, "", "x", "min", [], {}, [[1]])


def tampered(
    settings: dict[str, Any], tensors: dict[str, np.ndarray], rng: random.Random
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Changes one to three values of a state."""
    settings, tensors = dict(settings), dict(tensors)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.25:
            name = rng.choice(sorted(settings))
            if name == "best" and isinstance(settings[name], dict) and rng.random() < 0.8:
                key = rng.choice(sorted(settings[name]))
                settings[name] = {**settings[name], key: rng.choice(ANYTHING)}
            else:
                settings[name] = rng.choice(ANYTHING)
            continue
        name = rng.choice(sorted(tensors))
        array = tensors[name].copy()
        action = rng.random()
        if action < 0.05:
            array = array[None]
        elif action < 0.1:
            array = array.astype(rng.choice((np.float32, np.float64, np.int32, np.uint8)))
        elif action < 0.2:
            array = rng.choice((array[:-1], array[1:], array[:0], np.append(array, array[-1:])))
            array = np.ascontiguousarray(array)
        elif array.size:
            flat = array.reshape(-1)
            i, j = rng.randrange(array.size), rng.randrange(array.size)
            if action < 0.5:
                flat[i], flat[j] = flat[j], flat[i]
            elif array.dtype.kind == "f":
                flat[i] = rng.choice(REAL)
            elif array.dtype == np.int64:
                flat[i] = rng.choice((*WHOLE, int(flat[j]), max(-9, int(flat[i]) - 1)))
            else:
                flat[i] = rng.choice((0, 1, 2, 3, 100, 127))
        tensors[name] = np.ascontiguousarray(array)
    return settings, tensors


def verify_tamper(files: int, pop_size: int, seed: int) -> int:
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    runs = [pack(evolved(pop_size, generations)) for generations in (0, 1, 12)]
    with tempfile.TemporaryDirectory() as root, np.errstate(all="ignore"):
        path = Path(root) / "checkpoint-000000.safetensors"
        for _ in range(files):
            write_tensors(path, FORMAT, VERSION, *tampered(*rng.choice(runs), rng))
            try:
                neat = load_checkpoint(path, algorithm=NEAT)
            except CheckpointError:
                counts["refused"] += 1
                continue
            except BaseException as error:
                counts[f"FAILED: {type(error).__name__}"] += 1
                continue
            try:
                for _ in range(3):
                    population = neat.ask()
                    type(population)(**{n: getattr(population, n) for n in PARTS})
                    neat.tell(np.arange(len(population)) % 7)
                counts["loaded and continued"] += 1
            except EvonetError as error:
                counts[f"loaded and ended with {type(error).__name__}"] += 1
    return report("tamper", counts)


# ---- all ----------------------------------------------------------------------------------------


def report(what: str, counts: Counter[str]) -> int:
    failures = sum(count for name, count in counts.items() if "FAILED" in name)
    for name, count in sorted(counts.items()):
        print(f"  {count:7,}  {name}")
    print(f"{what}: {'FAILED' if failures else 'passed'}", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["kill", "damage", "faults", "tamper", "all"])
    parser.add_argument("--tries", type=int, default=300, help="processes to kill")
    parser.add_argument("--flips", type=int, default=10_000, help="single bits to flip")
    parser.add_argument("--files", type=int, default=5_000, help="files to tamper with")
    parser.add_argument("--generations", type=int, default=30, help="of a run to be killed")
    parser.add_argument("--pop-size", type=int, default=150, help="genomes of a run")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices")
    args = parser.parse_args()
    campaigns: dict[str, Callable[[], int]] = {
        "kill": lambda: verify_kill(args.tries, args.generations, args.pop_size, args.seed),
        "faults": lambda: verify_faults(args.pop_size),
        "tamper": lambda: verify_tamper(args.files, 12, args.seed),
        "damage": lambda: verify_damage(args.flips, args.pop_size, args.seed),
    }
    chosen = list(campaigns) if args.what == "all" else [args.what]
    failures = 0
    for what in chosen:
        begun = time.perf_counter()
        failures += campaigns[what]()
        print(f"  {time.perf_counter() - begun:.1f} s\n", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
