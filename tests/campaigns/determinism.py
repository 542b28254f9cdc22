"""Evolves XOR repeatedly: results must depend on the seed only.

    python -m tests.campaigns.determinism [--seeds 50] [--generations 50] [--pop-size 150]
        [--reference-seeds 5] [--reference-generations 15] [--reference-pop-size 60]

First every seed evolves on 1, 2 and 4 threads; populations, species, ids and the best genome must
be equal after every generation. Then a few seeds evolve on the reference backend, which must breed
the bits of the compiled one, in float32 and float64. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

import evonet
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.genes.arrays import ARRAYS
from evonet.tasks import xor

# Everything that can mutate does so, so that all operators are compared.
WILD: dict[str, object] = {
    "genome.num_hidden": 1,
    "genome.weight_init_type": "uniform",
    "genome.response_mutate_rate": 0.3,
    "genome.response_mutate_power": 0.2,
    "genome.time_constant_mutate_rate": 0.3,
    "genome.time_constant_mutate_power": 0.1,
    "genome.activation_default": "random",
    "genome.activation_options": ["sigmoid", "tanh", "relu", "gauss"],
    "genome.activation_mutate_rate": 0.2,
    "genome.aggregation_options": ["sum", "max", "product"],
    "genome.aggregation_mutate_rate": 0.2,
    "genome.enabled_mutate_rate": 0.1,
    "reproduction.interspecies_crossover_prob": 0.1,
}


def generations(neat: NEAT, count: int, threads: int) -> Iterator[NEAT]:
    """Evolves on XOR and yields after each generation."""
    task = xor()
    for _ in range(count):
        network = evonet.compile(neat.ask(), backend="cpu", threads=threads)
        neat.tell(task.evaluate(network, seed=neat.generation))
        yield neat


def differences(a: NEAT, b: NEAT) -> list[str]:
    """What the states of two runs differ in."""
    one, another = a.state, b.state
    found = [
        name
        for name in ARRAYS
        if getattr(one.population, name).tobytes() != getattr(another.population, name).tobytes()
    ]
    found += [
        name
        for name in ("generation", "threshold", "next_id", "next_node_key", "next_innovation")
        if getattr(one, name) != getattr(another, name)
    ]
    if one.ids.tolist() != another.ids.tolist():
        found.append("ids")
    species = [
        [
            (
                s.key,
                s.created,
                s.last_improved,
                s.representative,
                s.members.tolist(),
                s.score_history,
            )
            for s in state.species
        ]
        for state in (one, another)
    ]
    if species[0] != species[1]:
        found.append("species")
    assert one.fitness is not None
    assert another.fitness is not None
    if one.fitness.tobytes() != another.fitness.tobytes():
        found.append("fitness")
    if a.best is None or b.best is None or (a.best.id, a.best.genome) != (b.best.id, b.best.genome):
        found.append("best")
    return found


def compare(runs: list[tuple[str, Iterator[NEAT]]], seed: int) -> tuple[int, NEAT | None]:
    """Compares runs side by side; returns how many generations differ, and the first run's end."""
    wrong, last = 0, None
    for states in zip(*(states for _, states in runs), strict=True):
        last = states[0]
        for ((name, _), a), ((other, _), b) in pairwise(zip(runs, states, strict=True)):
            if found := differences(a, b):
                wrong += 1
                where = f"seed {seed}, generation {a.generation}"
                print(f"  {where}: {name} and {other} differ in {', '.join(found)}")
        if wrong:
            break
    return wrong, last


def verify_threads(seeds: int, count: int, pop_size: int) -> int:
    """Evolves every seed on 1, 2 and 4 threads."""
    config = Config().replace({"neat.pop_size": pop_size})
    begin, wrong, genes = time.perf_counter(), 0, 0
    ends = set()
    for seed in range(seeds):
        runs = [
            (
                f"{threads} threads",
                generations(
                    NEAT(config, seed, num_inputs=2, num_outputs=1, threads=threads), count, threads
                ),
            )
            for threads in (1, 2, 4)
        ]
        faults, last = compare(runs, seed)
        wrong += faults
        if last is not None:
            genes += last.state.population.num_connections
            ends.add(last.state.population.weight.tobytes())
    if len(ends) != seeds:
        wrong += 1
        print(f"  {seeds} seeds ended in only {len(ends)} different populations")
    print(
        f"threads: {seeds} seeds x 1, 2, 4 threads x {count} generations of {pop_size}: "
        f"{wrong} differences, {len(ends)} different outcomes, "
        f"{genes / max(1, seeds * pop_size):.1f} connections per genome at the end, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    return wrong


def verify_reference(seeds: int, count: int, pop_size: int) -> int:
    """Evolves a few seeds on both backends."""
    wrong = 0
    for name, changes in (("default config", {}), ("all mutations", WILD)):
        for dtype in (np.float32, np.float64):
            config = Config().replace({"neat.pop_size": pop_size, **changes})
            begin, faults = time.perf_counter(), 0
            for seed in range(seeds):
                runs = [
                    (backend, generations(make(config, seed, dtype, backend), count, 0))
                    for backend in ("cpu", "reference")
                ]
                faults += compare(runs, seed)[0]
            wrong += faults
            print(
                f"backends: {name}, {np.dtype(dtype)}: {seeds} seeds x {count} generations of "
                f"{pop_size}: {faults} differences, {time.perf_counter() - begin:.0f} s"
            )
    return wrong


def make(config: Config, seed: int, dtype: npt.DTypeLike, backend: str) -> NEAT:
    return NEAT(config, seed, num_inputs=2, num_outputs=1, dtype=dtype, backend=backend)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--generations", type=int, default=50)
    parser.add_argument("--pop-size", type=int, default=150)
    parser.add_argument("--reference-seeds", type=int, default=5)
    parser.add_argument("--reference-generations", type=int, default=15)
    parser.add_argument("--reference-pop-size", type=int, default=60)
    options = parser.parse_args()
    wrong = verify_threads(options.seeds, options.generations, options.pop_size)
    wrong += verify_reference(
        options.reference_seeds, options.reference_generations, options.reference_pop_size
    )
    print("equal" if wrong == 0 else f"{wrong} DIFFERENCES")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
