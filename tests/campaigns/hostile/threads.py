"""Several threads that call one object at once, and do not agree about anything."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import evonet
from evonet.config import Config
from evonet.definitions.dynamics import KIND_NAMES
from evonet.errors import EvonetError
from tests.campaigns.hostile.watch import Input
from tests.support.threads import run_together

SHARE: Final = 20
SIZES: Final = (0, 1, 2, 7, 33)


def attack(rng: random.Random, folder: Path) -> Input:
    """Gives each of some threads a few calls of one object."""
    calls = rng.choice((_network, _network, _algorithm, _drop_in, _schedule))(rng)

    def run() -> None:
        for error in run_together(calls, rng.choice((1, 3))):
            if not isinstance(error, EvonetError | _EXPECTED):
                raise error

    return run


# What neat-python's own classes raise.
_EXPECTED: Final = RuntimeError


def _network(rng: random.Random) -> list[Callable[[], object]]:
    kind = rng.choice(KIND_NAMES)
    network = evonet.compile(_population(rng.randrange(3)), kind, threads=rng.choice((1, 2)))  # type: ignore[arg-type]

    def call(size: int) -> None:
        found = network(np.ones((size, 3), np.float32))
        if found.shape != (6, size, 2):
            raise AssertionError(f"outputs of shape {found.shape} for {size} samples")

    def set_state(size: int) -> None:
        shape = network.schedule.dynamics.num_states, network.schedule.num_nodes, size
        network.state = np.zeros(shape)

    def loss(size: int) -> None:
        network.loss(np.ones((size, 3)), np.zeros((size, 2)))

    works = (call, call, call, set_state, loss)
    return [
        rng.choice(
            (
                *(functools.partial(work, rng.choice(SIZES)) for work in works),
                network.reset,
                lambda: network.state,
            )
        )
        for _ in range(rng.choice((2, 3, 5)))
    ]


def _algorithm(rng: random.Random) -> list[Callable[[], object]]:
    tables = {"genome": {"num_inputs": 3, "num_outputs": 2}, "neat": {"pop_size": 12}}
    neat = evonet.NEAT(Config.from_dict(tables), rng.randrange(9), threads=rng.choice((1, 2)))
    told: tuple[Any, ...] = (np.arange(12.0), np.zeros(12), np.ones(11), "x", [None] * 12)
    works = [neat.ask, neat.describe, lambda: neat.best, lambda: neat.species, lambda: neat.solved]
    works += [functools.partial(neat.tell, rng.choice(told)) for _ in range(3)]
    works.remove(neat.describe)  # describes a generation that was told, and no other
    return [rng.choice(works) for _ in range(4)]


def _drop_in(rng: random.Random) -> list[Callable[[], object]]:
    from evonet.plugins.neat_python import FeedForwardNetwork, RecurrentNetwork

    def slow(z: float) -> float:
        return sum(z for _ in range(50))

    kind: Any = rng.choice((FeedForwardNetwork, RecurrentNetwork))
    links = [(-1, 1.0), (-2, 0.5)]
    rows = [(0, rng.choice((abs, slow)), sum, 0.0, 1.0, links)]
    network = kind([-1, -2], [0], rows)
    works: list[Callable[[], object]] = [
        lambda: network.activate([1.0, 2.0]),
        functools.partial(network.activate_batch, np.ones((rng.choice(SIZES), 2))),
        functools.partial(network.activate_batch, np.ones((rng.choice(SIZES), 2))),
        lambda: dict(network.values if kind is FeedForwardNetwork else network.values[0]),
        lambda: network.node_evals,
    ]
    if kind is RecurrentNetwork:
        works.append(network.reset)
    return [rng.choice(works) for _ in range(4)]


def _schedule(rng: random.Random) -> list[Callable[[], object]]:
    population = _population(rng.randrange(3))

    def compile_part() -> None:
        first = rng.randrange(6)
        network = evonet.compile(population[first : first + 2], threads=2)
        network(np.ones((3, 3)))

    def bind_again() -> None:
        evonet.Network(shared.schedule, "cpu", 2)(np.ones((2, 3)))

    shared = evonet.compile(population, threads=1)
    return [rng.choice((compile_part, bind_again)) for _ in range(3)]


@functools.cache
def _population(seed: int) -> evonet.Population:
    return evonet.Population.random(6, 3, 2, num_nodes=8, num_connections=20, seed=seed)
