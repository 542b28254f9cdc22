"""The forward pass: all genomes on all samples, and compiling genes to networks."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from evonet.bench.comparison import BenchOptions, Findings, SpeedComparison, Work
from evonet.bench.peers.installed import MADE_FOR_GPUS
from evonet.bench.timing import Contender
from evonet.genes.population import Population
from evonet.installation import resource_folder
from evonet.messages import counted
from evonet.network import Network
from evonet.network import compile as compile_network
from evonet.schedule import build_schedule

# neat-python gets a part of the genomes and samples, enough to be timed: it needs a tenth of a
# second to create a network with thousands of connections.
NEAT_GENOMES, NEAT_ROWS, PARALLEL_CONNECTIONS, PARALLEL_ROWS = 20, 8, 10_000, 32


def run_forward(options: BenchOptions) -> Findings:
    """Times evonet's forward pass beside those of other libraries, on the same genomes.

    Raises:
        BackendError: The compiled extension is missing.
    """
    sizes = tomllib.loads((resource_folder("configs") / "forward.toml").read_text())
    if options.quick:
        for each in sizes.values():
            each["genomes"] //= 10
            each["samples"] = min(16, each["samples"])
    cases = [*((name, "sigmoid") for name in sizes), ("large", "relu")]
    found = [_compare(name, sizes[name], activation, options) for name, activation in cases]
    return Findings([*found, _compare_compiling(sizes["small"], options)])


def _population(sizes: dict[str, int], activation: str) -> Population:
    return Population.random(
        sizes["genomes"],
        sizes["inputs"],
        sizes["outputs"],
        num_nodes=sizes["nodes"],
        num_connections=sizes["connections"],
        activations=(activation,),
        seed=1,
    )


def _title(sizes: dict[str, int]) -> str:
    return (
        f"{sizes['genomes']:,} genomes of {sizes['nodes']} nodes and "
        f"{sizes['connections']:,} connections"
    )


def _compare(
    name: str, sizes: dict[str, int], activation: str, options: BenchOptions
) -> SpeedComparison:
    population = _population(sizes, activation)
    network = compile_network(population, backend="cpu", threads=options.threads)
    samples = sizes["samples"]
    x = np.random.default_rng(2).standard_normal((samples, sizes["inputs"])).astype(np.float32)
    title = f"{name}, {activation}: {_title(sizes)} on {counted(samples, 'sample')}"
    options.say(title)

    def whole(call: Callable[[Any], object]) -> Callable[[], float]:
        def run() -> float:
            call(x)
            return len(population) * samples

        return run

    contenders = [Contender("evonet", whole(network))]
    if options.threads > 1:
        alone = compile_network(population, backend="cpu", threads=1)
        contenders.append(Contender("evonet, 1 thread", whole(alone)))
    with ExitStack() as closing:
        contenders += [
            Contender(label, whole(call), note)
            for label, call, note in _array_peers(network, activation, options)
        ]
        if options.peers.find("neat-python"):
            contenders += _neat_python(population, x, options, closing)
        entries = options.take_turns(contenders)
    return SpeedComparison(
        name=f"forward-{name}-{activation}",
        title=title,
        unit="a genome on a sample",
        entries=entries,
        work=_work(network, samples),
    )


def _work(network: Network, samples: int) -> Work:
    """Per genome and sample: a multiply-add and a value read per link, a value stored per node."""
    schedule = network.schedule
    genomes = schedule.num_genomes
    outputs = 4 * schedule.num_outputs
    return Work(
        fma=schedule.num_edges / genomes,
        l1=4 * (schedule.num_edges + schedule.num_nodes) / genomes,
        memory=schedule.nbytes / (genomes * samples) + outputs + 4 * schedule.num_inputs / genomes,
    )


def _array_peers(
    network: Network, activation: str, options: BenchOptions
) -> Iterator[tuple[str, Callable[[Any], object], str]]:
    """Libraries that take the schedule and whole arrays of samples."""
    from evonet.bench.peers.level_networks import NumpyNetworks, ScipyNetworks

    schedule, find = network.schedule, options.peers.find
    yield "NumPy", NumpyNetworks(schedule, activation), "the links of a level at once"
    if find("SciPy"):
        yield "SciPy sparse", ScipyNetworks(schedule, activation), "a matrix per level"
    if find("PyTorch"):
        from evonet.bench.peers.torch_networks import TorchNetworks

        yield "PyTorch", TorchNetworks(schedule, activation), "dense, genome by genome"
    if find("TensorNEAT"):
        from evonet.bench.peers.tensorneat import TensorneatNetworks

        if activation in TensorneatNetworks.ACTIVATIONS:
            yield "TensorNEAT", TensorneatNetworks(schedule, activation), MADE_FOR_GPUS


def _neat_python(
    population: Population, x: Any, options: BenchOptions, closing: ExitStack
) -> Iterator[Contender]:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, neat_networks

    nets = neat_networks(population[: 4 if options.quick else NEAT_GENOMES])
    rows = x[:NEAT_ROWS].tolist()

    def activate_all() -> float:
        for net in nets:
            for row in rows:
                net.activate(row)
        return len(nets) * len(rows)

    yield Contender("neat-python", activate_all, "one process")
    if options.threads > 1:
        part = PARALLEL_CONNECTIONS * len(population) // population.num_connections
        genomes, config = neat_genomes(population[: 4 if options.quick else max(4, part)])
        zeros = [0.0] * population.num_outputs
        pairs = [(row, zeros) for row in x[:PARALLEL_ROWS].tolist()]
        scores = ParallelScores(pairs, 0.0, options.threads)
        closing.callback(scores.close)

        def evaluate_all() -> float:
            scores(genomes, config)
            return len(genomes) * len(pairs)

        note = f"{options.threads} processes; sends genomes, makes networks"
        yield Contender("neat-python, ParallelEvaluator", evaluate_all, note)


def _compare_compiling(sizes: dict[str, int], options: BenchOptions) -> SpeedComparison:
    """From genes to something that can be called."""
    population = _population(sizes, "sigmoid")
    links = population.num_connections
    title = f"from genes to networks: {_title(sizes)}"
    options.say(title)

    def compile_all() -> float:
        build_schedule(population, threads=options.threads)
        return links

    contenders = [Contender("evonet", compile_all, "compile to a schedule")]
    if options.peers.find("neat-python"):
        import neat

        from evonet.bench.peers.neat_python import neat_genomes

        few = population[: 4 if options.quick else NEAT_GENOMES]
        genomes, config = neat_genomes(few)

        def create_all() -> float:
            for _, genome in genomes:
                neat.nn.FeedForwardNetwork.create(genome, config)
            return few.num_connections

        contenders.append(Contender("neat-python", create_all, "FeedForwardNetwork.create"))
    schedule = build_schedule(population)
    return SpeedComparison(
        name="compile",
        title=title,
        unit="a connection",
        entries=options.take_turns(contenders),
        work=Work(memory=(population.nbytes + schedule.nbytes) / links),
    )
