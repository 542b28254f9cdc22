"""Runs whole generations on an imaginary GPU beside the cpu backend.

    python -m tests.campaigns.genetics [--generations 50] [--seeds 5] [--sizes 1 2 150 1000]
        [--checked 40] [--failures 30] [--ranked 1]

For every seed and every population of --sizes, a run on XOR with all kinds of mutations breeds,
divides into species and evaluates on the SIMT runner, with threads in another order each time, and
so does a run that dies out and starts over. Records, champion and checkpoint must have the bytes of
the cpu backend. Then a run of --checked genomes goes under the runner's checker, which must report
nothing, and in a run of --failures genomes every allocation fails in turn, and all from it on. The
GPU ranks populations of --ranked genomes or more, in all of these runs. The exit code is 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import evonet
from evonet.backends.cuda.genetics import mating
from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.evolution.record import Seconds, describe_generation
from evonet.runs.champion import save_champion
from evonet.tasks import xor
from tests import cupy_stand_in
from tests.support.evolution_cases import WILD, make_config

ORDERS: Final = ("forward", "reverse", "random")
NO_TIME: Final = Seconds(ask=0.0, compile=0.0, evaluate=0.0, tell=0.0)
# Mutations of all kinds, some of them rare, and genomes that grow slowly.
GROWING: Final[Mapping[str, object]] = {
    **WILD,
    "genome.conn_add_prob": 0.3,
    "genome.conn_delete_prob": 0.2,
    "genome.node_add_prob": 0.15,
    "genome.node_delete_prob": 0.1,
    "genome.compatibility_excess_coefficient": 1.5,
    "speciation.threshold": 4.0,
    "stagnation.max_stagnation": 8,
}
# Every species dies after two generations without progress.
DOOMED: Final[Mapping[str, object]] = {
    "stagnation.max_stagnation": 1,
    "stagnation.species_elitism": 0,
    "neat.reset_on_extinction": True,
    "speciation.threshold": 90.0,
}


@dataclasses.dataclass(frozen=True)
class Trace:
    """All that a run leaves: a line per generation, and the bytes of its files."""

    records: tuple[str, ...]
    champion: bytes
    checkpoint: bytes


def settings(size: int, *changes: Mapping[str, object]) -> Config:
    """Settings of a run that does not stop early, in one thread."""
    plain = {"neat.pop_size": size, "neat.no_fitness_termination": True, "run.threads": 1}
    least = min(2, size)
    small = {"reproduction.elitism": least, "reproduction.min_species_size": least}
    return make_config(dict(GROWING), plain, small, *map(dict, changes))


def run(
    config: Config,
    seed: int,
    generations: int,
    backend: Any,
    dtype: Any = np.float32,
    each: Callable[[NEAT], object] = lambda neat: None,
) -> Trace:
    """Evolves; `each` sees the algorithm after every `tell`."""
    task, records = xor(), []
    neat = NEAT(config, seed=seed, num_inputs=2, num_outputs=1, backend=backend, dtype=dtype)
    for _ in range(generations):
        network = evonet.compile(neat.ask(), backend=backend)
        neat.tell(task.evaluate(network, seed=neat.generation))
        records.append(str(describe_generation(neat, 0, NO_TIME)))
        each(neat)
    with tempfile.TemporaryDirectory() as folder:
        assert neat.best is not None
        save_champion(Path(folder) / "champion.evonet", neat.best, config, seed=seed)
        saved = neat.save(folder)
        return Trace(
            tuple(records),
            (Path(folder) / "champion.evonet").read_bytes(),
            saved.read_bytes(),
        )


def stays_on_the_gpu(neat: NEAT) -> None:
    """Raises if genes of the whole population were copied to the host, or are not on a GPU."""
    genes = neat.state.population.distant
    assert isinstance(genes, DeviceGenes), "the population is not on the GPU"


def differences(expected: Trace, found: Trace) -> Iterator[str]:
    """Says what differs, if anything."""
    for generation, (a, b) in enumerate(zip(expected.records, found.records, strict=True)):
        if a != b:
            yield f"the record of generation {generation}"
            break
    for name in ("champion", "checkpoint"):
        if getattr(expected, name) != getattr(found, name):
            yield f"the {name}"


def campaign_of_runs(
    machine: cupy_stand_in.Machine, seeds: int, sizes: list[int], generations: int
) -> Iterator[str]:
    """Yields a line per run, which ends in "equal" or names what differs."""
    jobs = [
        (seed, size, changes)
        for seed in range(1, seeds + 1)
        for size in sizes
        for changes in ({}, DOOMED)
        if not changes or size > 2
    ]
    for number, (seed, size, changes) in enumerate(jobs):
        start = time.perf_counter()
        config = settings(size, changes)
        dtype = (np.float32, np.float64)[number % 3 == 2]
        machine.order = ORDERS[number % 3]
        expected = run(config, seed, generations, "cpu", dtype)
        found = run(config, seed, generations, "cuda", dtype, stays_on_the_gpu)
        faults = ", ".join(differences(expected, found)) or "equal"
        title = "dying out" if changes else "growing"
        yield (
            f"{size} genomes, {title}, seed {seed}, {np.dtype(dtype)}, {machine.order}, "
            f"{time.perf_counter() - start:.0f} s: {faults}"
        )


def failing_allocations(machine: cupy_stand_in.Machine, size: int) -> Iterator[str]:
    """Lets every allocation of two generations fail, once or for good; yields what differs."""
    config = settings(size)
    expected = run(config, 1, 2, "cpu")
    before = machine.num_allocations
    run(config, 1, 2, "cuda")
    count = machine.num_allocations - before
    for number in range(1, count + 1):
        for lasting in (False, True):
            at = machine.num_allocations + number
            machine.fail_at, machine.fail_from = {at}, at if lasting else None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    found = run(config, 1, 2, "cuda")
            except evonet.DeviceMemoryError:
                # Evaluation needs memory, too, and says so if there is none at all.
                faults = "" if lasting else "an error"
            else:
                faults = ", ".join(differences(expected, found))
            machine.fail_at, machine.fail_from = set(), None
            if faults:
                yield f"allocation {number} of {count}{' and all after it' * lasting}: {faults}"
    yield f"{count} allocations failed, once and for good: equal"


def main(arguments: list[str] | None = None) -> int:
    """Runs the campaign; returns 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 150, 1000])
    parser.add_argument("--checked", type=int, default=40)
    parser.add_argument("--failures", type=int, default=30)
    parser.add_argument("--ranked", type=int, default=1)
    options = parser.parse_args(arguments)
    faults = 0

    def say(line: str) -> None:
        nonlocal faults
        print(line, flush=True)
        faults += not line.endswith("equal")

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as cache:
        patch.setattr(mating, "LEAST_RANKED", options.ranked)
        machine = cupy_stand_in.install(patch, Path(cache))
        for line in campaign_of_runs(machine, options.seeds, options.sizes, options.generations):
            say(line)
        if options.checked:
            machine = cupy_stand_in.install(patch, Path(cache))
            machine.mode = "checked"
            for line in campaign_of_runs(machine, 1, [options.checked], 5):
                say(f"checked: {line}")
        if options.failures:
            machine = cupy_stand_in.install(patch, Path(cache))
            for line in failing_allocations(machine, options.failures):
                say(line)
    print(f"faults: {faults}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
