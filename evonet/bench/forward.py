"""The forward pass: all genomes on all samples, and compiling genes to networks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from evonet.bench.comparison import BenchOptions, Findings, SpeedComparison, Work
from evonet.bench.peers.installed import MADE_FOR_GPUS
from evonet.bench.peers.level_networks import LevelNetworks, numpy_sums, scipy_sums
from evonet.bench.timing import Contender
from evonet.genes.population import Population
from evonet.installation import resource_folder
from evonet.messages import counted
from evonet.network import compile as compile_network
from evonet.schedule import build_schedule
from evonet.schedule.schedule import Schedule

# neat-python gets a part of the genomes and samples, enough to be timed: it needs a tenth of a
# second to create a network with thousands of connections.
NEAT_GENOMES, NEAT_ROWS, PARALLEL_CONNECTIONS, PARALLEL_ROWS = 20, 8, 10_000, 32


def run_forward(options: BenchOptions) -> Findings:
    """Times evonet's forward pass beside those of other libraries, on the same genomes."""
    sizes = tomllib.loads((resource_folder("configs") / "forward.toml").read_text())
    if options.quick:
        for each in sizes.values():
            each["genomes"] //= 10
            each["samples"] = min(16, each["samples"])
    cases = [*((name, "sigmoid") for name in sizes), ("large", "relu")]
    found = [_compare(name, sizes[name], activation, options) for name, activation in cases]
    return Findings([*found, _compare_compiling(sizes["small"], options)])


def _population(sizes: dict[str, int], activation: str) -> tuple[Population, str]:
    """Random genomes, and a description of them."""
    genomes, nodes, connections = sizes["genomes"], sizes["nodes"], sizes["connections"]
    shape = genomes, sizes["inputs"], sizes["outputs"]
    population = Population.random(
        *shape, num_nodes=nodes, num_connections=connections, activations=(activation,), seed=1
    )
    return population, f"{genomes:,} genomes of {nodes} nodes and {connections:,} connections"


def _compare(
    case: str, sizes: dict[str, int], activation: str, options: BenchOptions
) -> SpeedComparison:
    population, described = _population(sizes, activation)
    samples = sizes["samples"]
    x = np.random.default_rng(2).standard_normal((samples, sizes["inputs"])).astype(np.float32)
    title = f"{case}, {activation}: {described} on {counted(samples, 'sample')}"
    options.say(title)
    network = compile_network(population, backend="cpu", threads=options.threads)
    calls: list[tuple[str, Any, str]] = [("evonet", network, "")]
    if options.threads > 1:
        alone = compile_network(population, backend="cpu", threads=1)
        calls.append(("evonet, 1 thread", alone, ""))
    calls += _array_peers(network.schedule, activation, options)
    units = len(population) * samples
    contenders = [Contender(name, partial(call, x), note, {}, units) for name, call, note in calls]
    with ExitStack() as closing:
        if options.peers.find("neat-python"):
            contenders += _neat_python(population, x, options, closing)
        entries = options.take_turns(contenders)
    work = _work(network.schedule, samples)
    return SpeedComparison(
        f"forward-{case}-{activation}", title, "a genome on a sample", entries, work
    )


def _work(schedule: Schedule, samples: int) -> Work:
    """Per genome and sample: a multiply-add and a value read per link, a value stored per node."""
    genomes = schedule.num_genomes
    outputs = 4 * schedule.num_outputs
    return Work(
        fma=schedule.num_edges / genomes,
        l1=4 * (schedule.num_edges + schedule.num_nodes) / genomes,
        memory=schedule.nbytes / (genomes * samples) + outputs + 4 * schedule.num_inputs / genomes,
    )


def _array_peers(
    schedule: Schedule, activation: str, options: BenchOptions
) -> Iterator[tuple[str, Any, str]]:
    """Libraries that take the schedule and whole arrays of samples."""
    find = options.peers.find
    yield "NumPy", LevelNetworks(schedule, activation, numpy_sums), "the links of a level at once"
    if find("SciPy"):
        yield "SciPy sparse", LevelNetworks(schedule, activation, scipy_sums), "a matrix per level"
    if find("PyTorch"):
        from evonet.bench.peers.torch_networks import TorchNetworks

        yield "PyTorch", TorchNetworks(schedule, activation), "dense, genome by genome"
    if find("TensorNEAT"):
        from evonet.bench.peers.tensorneat import TensorneatNetworks

        yield "TensorNEAT", TensorneatNetworks(schedule, activation), MADE_FOR_GPUS


def _neat_python(
    population: Population, x: Any, options: BenchOptions, closing: ExitStack
) -> Iterator[Contender]:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, neat_networks

    nets = neat_networks(population[: 4 if options.quick else NEAT_GENOMES])
    rows = x[:NEAT_ROWS].tolist()

    def activate_all() -> None:
        for net in nets:
            for row in rows:
                net.activate(row)

    yield Contender("neat-python", activate_all, "one process", units=len(nets) * len(rows))
    if options.threads > 1:
        part = PARALLEL_CONNECTIONS * len(population) // population.num_connections
        genomes, config = neat_genomes(population[: 4 if options.quick else max(4, part)])
        zeros = [0.0] * population.num_outputs
        pairs = [(row, zeros) for row in x[:PARALLEL_ROWS].tolist()]
        scores = ParallelScores(pairs, 0.0, options.threads)
        closing.callback(scores.close)
        yield Contender(
            "neat-python, ParallelEvaluator",
            partial(scores, genomes, config),
            f"{options.threads} processes; sends genomes, makes networks",
            units=len(genomes) * len(pairs),
        )


def _compare_compiling(sizes: dict[str, int], options: BenchOptions) -> SpeedComparison:
    """From genes to something that can be called."""
    population, described = _population(sizes, "sigmoid")
    links = population.num_connections
    title = f"from genes to networks: {described}"
    options.say(title)
    compile_all = partial(build_schedule, population, threads=options.threads)
    contenders = [Contender("evonet", compile_all, "compile to a schedule", units=links)]
    if options.peers.find("neat-python"):
        from evonet.bench.peers.neat_python import create_networks, neat_genomes

        few = population[: 4 if options.quick else NEAT_GENOMES]
        create_all = partial(create_networks, *neat_genomes(few))
        note = "FeedForwardNetwork.create"
        contenders.append(Contender("neat-python", create_all, note, units=few.num_connections))
    work = Work(memory=(population.nbytes + compile_all().nbytes) / links)
    return SpeedComparison("compile", title, "a connection", options.take_turns(contenders), work)
