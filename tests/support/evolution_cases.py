"""Configs, genomes and questions that the tests of evolution share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import evonet
from evonet import Population
from evonet.backends.genetics import Engine, NativeEngine
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.genes.arrays import ARRAYS
from evonet.genes.genome import Genome
from evonet.genes.rules import Rules, genome_rules
from evonet.installation import require_native
from evonet.tasks import xor

# Children are their parents, unless a test changes that.
QUIET: dict[str, object] = {
    "genome.conn_add_prob": 0.0,
    "genome.conn_delete_prob": 0.0,
    "genome.node_add_prob": 0.0,
    "genome.node_delete_prob": 0.0,
    "genome.bias_mutate_rate": 0.0,
    "genome.bias_replace_rate": 0.0,
    "genome.weight_mutate_rate": 0.0,
    "genome.weight_replace_rate": 0.0,
    "genome.enabled_mutate_rate": 0.0,
}

# Everything that can mutate does so, often.
WILD: dict[str, object] = {
    "genome.num_hidden": 2,
    "genome.conn_add_prob": 0.7,
    "genome.conn_delete_prob": 0.5,
    "genome.node_add_prob": 0.6,
    "genome.node_delete_prob": 0.4,
    "genome.bias_mutate_rate": 0.6,
    "genome.bias_replace_rate": 0.3,
    "genome.response_init_stdev": 0.5,
    "genome.response_mutate_rate": 0.5,
    "genome.response_replace_rate": 0.2,
    "genome.response_mutate_power": 0.4,
    "genome.time_constant_init_stdev": 0.3,
    "genome.time_constant_mutate_rate": 0.5,
    "genome.time_constant_replace_rate": 0.2,
    "genome.time_constant_mutate_power": 0.2,
    "genome.activation_default": "random",
    "genome.activation_options": ["sigmoid", "tanh", "relu", "abs"],
    "genome.activation_mutate_rate": 0.4,
    "genome.aggregation_default": "random",
    "genome.aggregation_options": ["sum", "max", "product"],
    "genome.aggregation_mutate_rate": 0.4,
    "genome.enabled_default": "random",
    "genome.enabled_mutate_rate": 0.3,
}


def make_config(*changes: Mapping[str, object]) -> Config:
    """The default config with changes, the later ones last."""
    merged: dict[str, object] = {}
    for change in changes:
        merged |= change
    return Config().replace(merged)


def xor_config(pop_size: int) -> Config:
    """Settings of a short run on XOR, on one thread and without a goal."""
    return Config().replace(
        {
            "neat.pop_size": pop_size,
            "neat.no_fitness_termination": True,
            "run.threads": 1,
            "run.seed": 7,
        }
    )


def evolved(pop_size: int, generations: int) -> NEAT:
    """A run after some generations, as something to save."""
    neat = NEAT(xor_config(pop_size), num_inputs=2, num_outputs=1)
    for _ in range(generations):
        neat.tell(xor().evaluate(evonet.compile(neat.ask(), threads=1), 0))
    return neat


def breed(
    parents: Population,
    fitter: npt.ArrayLike,
    other: npt.ArrayLike,
    *changes: Mapping[str, object],
    seed: int = 1,
    generation: int = 1,
    engine: Engine | None = None,
) -> Population:
    """Breeds and validates children; numbers continue from the largest of the parents."""
    children, _, _ = (engine or NativeEngine(2)).breed(
        parents,
        np.array(fitter, np.int64),
        np.array(other, np.int64),
        genome_rules(make_config(QUIET, *changes)),
        seed,
        generation,
        int(parents.node_key.max(initial=parents.num_outputs - 1)) + 1,
        int(parents.innovation.max(initial=-1)) + 1,
    )
    validate(children)
    return children


def validate(population: Population) -> None:
    """Raises if a gene makes no sense."""
    arrays: Any = {name: getattr(population, name) for name in ARRAYS}
    Population(
        num_inputs=population.num_inputs,
        num_outputs=population.num_outputs,
        **arrays,
        validate=True,
    )


def assert_same_genes(a: Population, b: Population) -> None:
    """Compares all arrays bit by bit and names the first that differs."""
    assert (a.num_inputs, a.num_outputs) == (b.num_inputs, b.num_outputs)
    for name in ARRAYS:
        one, another = getattr(a, name), getattr(b, name)
        assert (one.dtype, one.shape) == (another.dtype, another.shape), name
        if one.tobytes() != another.tobytes():
            where = np.flatnonzero(one != another)
            raise AssertionError(f"{name} differs at {where[:5]}: {one[where]} {another[where]}")


def distances(population: Population, rules: Rules) -> npt.NDArray[Any]:
    """All distances between genomes, [P, P], as the compiled engine measures them."""
    native = require_native()
    measure = native.distances32 if population.dtype == np.float32 else native.distances64
    a, b = np.indices((len(population),) * 2).reshape(2, -1)
    found: npt.NDArray[Any] = measure(population, a, b, rules, native.simd_levels()[-1])
    return found.reshape(len(population), -1)


def ends_of(genome: Genome) -> dict[int | None, tuple[int, int]]:
    """The ends of each connection by innovation."""
    return {c.innovation: (c.source, c.target) for c in genome.connections}


def is_acyclic(genome: Genome) -> bool:
    """Whether no node reaches itself, over disabled connections too."""
    waiting = {n.key: 0 for n in genome.nodes}
    readers: dict[int, list[int]] = {}
    for c in genome.connections:
        if c.source >= 0:
            readers.setdefault(c.source, []).append(c.target)
            waiting[c.target] += 1
    ready = [key for key, count in waiting.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for key in readers.get(ready.pop(), ()):
            waiting[key] -= 1
            if waiting[key] == 0:
                ready.append(key)
    return done == len(waiting)


def about(count: int, trials: int, probability: float) -> bool:
    """Whether a count is within five deviations of what a probability promises."""
    deviation = math.sqrt(trials * probability * (1 - probability))
    return abs(count - trials * probability) <= 5 * deviation + 1e-9


def one_genome(
    nodes: Sequence[Any],
    connections: Sequence[Any],
    num_inputs: int = 2,
    num_outputs: int = 1,
    dtype: npt.DTypeLike = np.float32,
) -> Population:
    """A population of one genome, written as lists."""
    return Population.from_genes(num_inputs, num_outputs, [(nodes, connections)], dtype)
