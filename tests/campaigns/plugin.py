"""Compares the drop-in networks with neat-python's own, bit for bit, on many random genomes.

    python -m tests.campaigns.plugin [--genomes 100000] [--seed 1] [--kinds feedforward,ctrnn]
    python -m tests.campaigns.plugin --runs 20 --generations 300 --genomes 0

For every kind of network, random genomes are drawn with all functions and all difficult cases:
orphans, dead ends, disabled links, cycles, self-loops, links between outputs, shuffled link order,
numbers from tiny to huge. neat-python's class and evonet's run side by side, step by step, and
after every step all of this must be equal, to the last bit:

  * the answer, or the exception;
  * the value of every node in every buffer, which buffer is active, and the time;
  * for spiking neurons, every state variable of every neuron;
  * what networks are made of: nodes, functions, biases, links and their order.

Whole populations are compared as well: all genomes of a block on a batch of samples at once, and
batches of each network alone.

With --runs, whole evolutions of neat-python's XOR example are compared, the plain one with those
that use a BatchEvaluator, seed by seed: every fitness of every genome of every generation, and the
winner with all its genes, must be equal. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import math
import random
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import neat
import numpy as np

from evonet.plugins.neat_python import (
    CTRNN,
    IZNN,
    BatchEvaluator,
    FeedForwardNetwork,
    RecurrentNetwork,
)
from evonet.plugins.neat_python.compiling import compile_genomes
from evonet.plugins.neat_python.exact import run_samples
from evonet.plugins.neat_python.installed import takes_time_constant
from tests.support.neat_configs import XOR_X, XOR_Y, eval_xor, load

KINDS = ("feedforward", "recurrent", "ctrnn", "izhikevich")
BLOCK = 100  # genomes that are evaluated together


@dataclass
class Found:
    """What a campaign found.

    Attributes:
        networks: Networks compared.
        steps: Steps compared.
        values: Numbers compared.
        raised: Networks where both raised the same error.
        fired: Steps in which an output neuron fired.
        faults: Descriptions of what differs.
    """

    networks: int = 0
    steps: int = 0
    values: int = 0
    raised: int = 0
    fired: int = 0
    faults: list[str] = field(default_factory=list)


def load_quietly() -> Any:
    """neat-python's XOR config, without the warnings of newer versions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load()


class Genomes:
    """Draws genomes, and holds their config."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind = kind
        self.random = random.Random(f"{kind} {seed}")
        self.config = load_quietly()
        settings = self.config.genome_config
        settings.feed_forward = kind == "feedforward"
        if kind == "izhikevich":
            settings.node_gene_type = neat.iznn.IZNodeGene
            self.config.genome_type = neat.iznn.IZGenome
        settings.add_activation("custom", lambda z: math.atan(z) + 0.25)
        settings.add_aggregation("custom", lambda x: sum(v * v for v in x))
        self._activations = [*settings.activation_defs.functions]
        self._aggregations = [*settings.aggregation_function_defs.functions]

    def shape(self) -> tuple[int, int]:
        """Draws the number of inputs and outputs for the next genomes."""
        settings = self.config.genome_config
        inputs, outputs = self.random.randint(1, 4), self.random.randint(1, 3)
        settings.input_keys = [-1 - i for i in range(inputs)]
        settings.output_keys = list(range(outputs))
        settings.num_inputs, settings.num_outputs = inputs, outputs
        return inputs, outputs

    def draw(self, key: int) -> Any:
        """Draws a genome that fits the config."""
        rng, settings = self.random, self.config.genome_config
        genome = self.config.genome_type(key)
        hidden = rng.sample(range(len(settings.output_keys), 40), rng.randint(0, 7))
        nodes = [*settings.output_keys, *hidden]
        rng.shuffle(nodes)
        scale = rng.choice((1.0, 1.0, 1.0, 8.0, 1e-3, 1e100))
        custom = rng.random() < 0.1
        for node in nodes:
            genome.nodes[node] = self._node(node, scale, custom)
        ends = [(source, target) for source in [*settings.input_keys, *nodes] for target in nodes]
        acyclic = self.kind == "feedforward" and rng.random() < 0.7
        if acyclic:
            ends = [(s, t) for s, t in ends if s < 0 or nodes.index(s) < nodes.index(t)]
        chosen = rng.sample(ends, min(len(ends), rng.randint(0, 24)))
        numbers = rng.sample(range(1000), len(chosen))
        for pair, number in zip(chosen, numbers, strict=True):
            gene = settings.connection_gene_type(pair, innovation=number)
            gene.weight = rng.gauss(0.0, 1.0) * scale
            gene.enabled = rng.random() < 0.8
            genome.connections[pair] = gene
        return genome

    def _node(self, key: int, scale: float, custom: bool) -> Any:
        rng = self.random
        gene = self.config.genome_config.node_gene_type(key)
        gene.bias = rng.choice((0.0, rng.gauss(0.0, 1.0) * scale))
        if self.kind == "izhikevich":
            gene.bias = rng.gauss(5.0, 10.0) * min(scale, 1e3)
            gene.a, gene.b = rng.uniform(0.0, 0.2), rng.uniform(0.0, 0.3)
            gene.c, gene.d = rng.uniform(-70.0, -40.0), rng.uniform(0.0, 8.0)
            return gene
        gene.response = rng.choice((1.0, rng.gauss(1.0, 0.5)))
        gene.activation = rng.choice(self._activations[: None if custom else -1])
        gene.aggregation = rng.choice(self._aggregations[: None if custom else -1])
        gene.time_constant = rng.uniform(0.02, 3.0)
        return gene

    def samples(self, count: int, inputs: int) -> list[list[float]]:
        """Draws inputs, some of them whole numbers."""
        draw = [lambda: self.random.gauss(0.0, 1.0), lambda: float(self.random.randint(-1, 1))]
        return [[self.random.choice(draw)() for _ in range(inputs)] for _ in range(count)]


def same(a: Any, b: Any) -> bool:
    """Whether two numbers have the same bits; all NaNs count as one."""
    if a != a or b != b:
        return a != a and b != b
    return struct.pack("d", a) == struct.pack("d", b)


def outcome(step: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "answers", step()
    except (ArithmeticError, ValueError, KeyError) as error:
        return type(error).__name__, str(error)


class Pair:
    """neat-python's network of a genome and ours."""

    def __init__(self, kind: str, genome: Any, config: Any) -> None:
        self.kind = kind
        theirs: Any = {
            "feedforward": neat.nn.FeedForwardNetwork,
            "recurrent": neat.nn.RecurrentNetwork,
            "ctrnn": neat.ctrnn.CTRNN,
            "izhikevich": neat.iznn.IZNN,
        }[kind]
        ours: Any = {
            "feedforward": FeedForwardNetwork,
            "recurrent": RecurrentNetwork,
            "ctrnn": CTRNN,
            "izhikevich": IZNN,
        }[kind]
        more = (0.7,) if kind == "ctrnn" and takes_time_constant() else ()
        self.theirs, self.ours = (
            theirs.create(genome, config, *more),
            ours.create(genome, config, *more),
        )

    def step(self, network: Any, row: list[float], dt: float) -> Any:
        """Evaluates a network; one in continuous time takes two and a half steps."""
        if self.kind == "ctrnn":
            return network.advance(row, 2.5 * dt, dt)
        if self.kind == "izhikevich":
            network.set_inputs(row)
            return network.advance(dt)
        return network.activate(row)

    def differing_nodes(self) -> Iterator[str]:
        """Compares what the networks are made of."""
        if self.kind == "izhikevich":
            theirs = {
                k: [n.bias, n.a, n.b, n.c, n.d, n.inputs] for k, n in self.theirs.neurons.items()
            }
            ours = {k: [n.bias, n.a, n.b, n.c, n.d, n.inputs] for k, n in self.ours.neurons.items()}
        elif self.kind == "ctrnn":
            theirs = {k: vars(n) for k, n in self.theirs.node_evals.items()}
            ours = {k: vars(n) for k, n in self.ours.node_evals.items()}
        else:
            theirs = {n[0]: n for n in self.theirs.node_evals}
            ours = {n[0]: n for n in self.ours.node_evals}
        if theirs != ours:
            yield f"nodes are {ours}, not {theirs}"

    def differing_state(self, found: Found) -> Iterator[str]:
        """Compares the state of the networks."""
        if self.kind == "izhikevich":
            ours = self.ours.neurons
            for key, neuron in self.theirs.neurons.items():
                for name in ("v", "u", "fired", "current"):
                    yield from _differs(
                        f"{name} of {key}", getattr(ours[key], name), getattr(neuron, name), found
                    )
            return
        buffers = ((self.ours.values, self.theirs.values),)
        if self.kind != "feedforward":
            buffers = tuple(zip(self.ours.values, self.theirs.values, strict=True))
            if self.ours.active != self.theirs.active:
                yield f"active is {self.ours.active}"
        if self.kind == "ctrnn":
            yield from _differs("time", self.ours.time_seconds, self.theirs.time_seconds, found)
        for ours, theirs in buffers:
            values = dict(ours)
            if list(values) != list(theirs) and self.kind != "feedforward":
                yield f"keys are {list(values)}, not {list(theirs)}"
            if values.keys() != theirs.keys():
                yield f"keys are {sorted(values)}, not {sorted(theirs)}"
                continue
            for key, value in theirs.items():
                yield from _differs(f"node {key}", values[key], value, found)


def _differs(what: str, ours: float, theirs: float, found: Found) -> Iterator[str]:
    found.values += 1
    if not same(ours, theirs):
        yield f"{what} is {ours!r}, not {theirs!r}"


def compare(pair: Pair, rows: list[list[float]], dt: float, found: Found) -> Iterator[str]:
    """Steps both networks side by side."""
    yield from pair.differing_nodes()
    yield from pair.differing_state(found)
    for row in rows:
        theirs = outcome(lambda row=row: pair.step(pair.theirs, row, dt))
        ours = outcome(lambda row=row: pair.step(pair.ours, row, dt))
        if ours[0] != theirs[0] or (ours[0] != "answers" and ours != theirs):
            yield f"{ours}, not {theirs}"
            return
        if ours[0] != "answers":
            found.raised += 1
            return
        found.steps += 1
        found.fired += pair.kind == "izhikevich" and any(ours[1])
        for i, (a, b) in enumerate(zip(ours[1], theirs[1], strict=True)):
            yield from _differs(f"output {i}", a, b, found)
        yield from pair.differing_state(found)
    if pair.kind != "feedforward":
        for network in (pair.theirs, pair.ours):
            network.reset()
        yield from pair.differing_state(found)


def compare_block(draw: Genomes, genomes: list[Any], found: Found) -> Iterator[str]:
    """Compares whole populations and batches with one genome at a time."""
    inputs = len(draw.config.genome_config.input_keys)
    samples = draw.samples(3, inputs)
    pairs = [(genome.key, genome) for genome in genomes]
    expected, usable = [], []
    dt = 0.05 if draw.kind == "izhikevich" else 0.01
    for key, genome in pairs:
        pair = Pair(draw.kind, genome, draw.config)
        rows = []
        for row in samples:
            if draw.kind != "feedforward":
                pair.theirs.reset()
            rows.append(outcome(lambda row=row, pair=pair: _call(pair, row, dt)))
        if all(name == "answers" for name, _ in rows):
            usable.append((key, genome))
            expected.append([answer for _, answer in rows])
            yield from _compare_batch(pair, samples, expected[-1], dt)
    if not usable:
        return
    network = compile_genomes(usable, draw.config, kind=draw.kind)
    answers = run_samples(network, samples)
    wanted = np.array(expected).reshape(answers.shape)
    bits = answers.view(np.int64) == wanted.view(np.int64)
    bits |= np.isnan(answers) & np.isnan(wanted)
    found.values += bits.size
    for p in np.flatnonzero(~bits.all(axis=(1, 2))).tolist():
        yield f"genome {usable[p][0]} in a population: {answers[p].tolist()}, not {expected[p]}"


def _compare_batch(
    pair: Pair, samples: list[list[float]], expected: list[list[float]], dt: float
) -> Iterator[str]:
    if pair.kind == "ctrnn":
        answers = pair.ours.advance_batch(samples, dt, dt)
    elif pair.kind == "izhikevich":
        answers = pair.ours.advance_batch(samples, dt)
    else:
        answers = pair.ours.activate_batch(samples)
    numbers = zip(answers.ravel().tolist(), np.array(expected).ravel().tolist(), strict=True)
    if not all(same(a, b) for a, b in numbers):
        yield f"a batch gives {answers.tolist()}, not {expected}"


def _call(pair: Pair, row: list[float], dt: float) -> Any:
    if pair.kind == "ctrnn":
        return pair.theirs.advance(row, dt, dt)
    return pair.step(pair.theirs, row, dt)


def campaign(kind: str, genomes: int, seed: int) -> Found:
    """Compares genomes of one kind."""
    found, draw = Found(), Genomes(kind, seed)
    # Neurons need more and longer steps to fire.
    steps, time_steps = (20, (0.05, 0.5, 1.0)) if kind == "izhikevich" else (4, (0.05, 0.01, 0.25))
    block: list[Any] = []
    for key in range(genomes):
        if not block:
            inputs, _ = draw.shape()
        genome = draw.draw(key)
        block.append(genome)
        pair = Pair(kind, genome, draw.config)
        dt = draw.random.choice(time_steps)
        rows = draw.samples(steps, inputs)
        found.faults += [f"genome {key}: {fault}" for fault in compare(pair, rows, dt, found)]
        found.networks += 1
        if len(block) == BLOCK or key == genomes - 1:
            populated = not (kind == "ctrnn" and takes_time_constant())
            found.faults += compare_block(draw, block, found) if populated else ()
            block = []
    return found


def score_xor(genome: Any, net: Any) -> float:
    fitness = 4.0
    for xi, xo in zip(XOR_X, XOR_Y, strict=True):
        fitness -= (net.activate(xi)[0] - xo[0]) ** 2
    return fitness


def evolve_xor(evaluator: Any, seed: int, generations: int) -> tuple[Any, str]:
    """Returns all fitness values of a run, by generation, species and genome; and the winner."""
    random.seed(seed)
    population = neat.Population(load_quietly())
    statistics = neat.StatisticsReporter()
    population.add_reporter(statistics)
    try:
        winner = str(population.run(evaluator, generations))
    except neat.CompleteExtinctionException:
        winner = "extinct"
    return statistics.generation_statistics, winner


def compare_runs(seeds: int, generations: int) -> int:
    """Counts the runs that differ from the plain one."""
    differing = evaluated = 0
    for seed in range(seeds):
        plain = evolve_xor(eval_xor, seed, generations)
        evaluated += len(plain[0])
        for evaluator in (
            BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0),
            BatchEvaluator.from_genomes(score_xor),
            BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0, reuse_fitness=True),
        ):
            if evolve_xor(evaluator, seed, generations) != plain:
                differing += 1
                print(f"  seed {seed}: {type(evaluator.score).__name__} evolves differently")
    print(
        f"runs         {seeds} seeds, {evaluated:,} generations of XOR, three evaluators each: "
        f"{differing} differ from the plain run",
        flush=True,
    )
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--genomes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--generations", type=int, default=300)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    faults = 0
    print(f"neat-python {neat.__version__}, Python {sys.version.split()[0]}")
    if arguments.runs:
        faults += compare_runs(arguments.runs, arguments.generations)
    for kind in arguments.kinds.split(",") if arguments.genomes else ():
        start = time.perf_counter()
        found = campaign(kind, arguments.genomes, arguments.seed)
        faults += len(found.faults)
        print(
            f"{kind:12} {found.networks:,} networks, {found.steps:,} steps, {found.values:,} "
            f"numbers, {found.raised:,} raised alike, {found.fired:,} spikes: "
            f"{len(found.faults)} mismatches ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )
        for fault in found.faults[:5]:
            print("  ", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
