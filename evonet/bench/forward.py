"""The forward pass: all genomes on all samples, and what it takes to get there from genes."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from evonet.bench.comparison import Comparison, Findings, Settings, Work
from evonet.bench.timing import Contender, take_turns
from evonet.genes.population import Population
from evonet.installation import resource_folder
from evonet.messages import counted
from evonet.network import Network
from evonet.network import compile as compile_network
from evonet.schedule.schedule import build_schedule

COMMAND = "evonet bench forward"
# neat-python gets some of the genomes and samples, enough to be timed, and is scaled. A network
# with thousands of connections takes it a tenth of a second to make.
NEAT_GENOMES, NEAT_ROWS, PARALLEL_CONNECTIONS, PARALLEL_ROWS = 20, 8, 10_000, 32


def run_forward(settings: Settings) -> Findings:
    """Times evonet's forward pass beside everybody else's, on the same genomes.

    Args:
        settings: How.

    Raises:
        BackendError: The compiled extension is missing.
    """
    sizes = tomllib.loads((resource_folder("configs") / "forward.toml").read_text())
    if settings.quick:
        for each in sizes.values():
            each["genomes"] //= 10
            each["samples"] = min(16, each["samples"])
    found = Findings()
    for name, activation in [*((name, "sigmoid") for name in sizes), ("large", "relu")]:
        found.comparisons.append(_compare(name, sizes[name], activation, settings))
    found.comparisons.append(_compare_compiling(sizes["small"], settings))
    return found


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


def _compare(name: str, sizes: dict[str, int], activation: str, settings: Settings) -> Comparison:
    population = _population(sizes, activation)
    network = compile_network(population, backend="cpu", threads=settings.threads)
    genomes, samples = sizes["genomes"], sizes["samples"]
    x = np.random.default_rng(2).standard_normal((samples, sizes["inputs"])).astype(np.float32)
    title = (
        f"{name}, {activation}: {genomes:,} genomes of {sizes['nodes']} nodes and "
        f"{sizes['connections']:,} connections on {counted(samples, 'sample')}"
    )
    settings.say(title)

    def whole(call: Callable[[Any], object]) -> Callable[[], float]:
        def run() -> float:
            call(x)
            return genomes * samples

        return run

    contenders = [Contender("evonet", whole(network))]
    if settings.threads > 1:
        alone = compile_network(population, backend="cpu", threads=1)
        contenders.append(Contender("evonet, 1 thread", whole(alone)))
    with ExitStack() as closing:
        contenders += [
            Contender(label, whole(call), note)
            for label, call, note in _array_peers(network, activation, settings)
        ]
        if settings.peers.find("neat-python"):
            contenders += _neat_python(population, x, settings, closing)
        entries = take_turns(contenders, settings.rounds, settings.turn)
    return Comparison(
        name=f"forward-{name}-{activation}",
        title=title,
        unit="a genome on a sample",
        entries=entries,
        work=_work(network, samples),
        command=COMMAND,
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
    network: Network, activation: str, settings: Settings
) -> list[tuple[str, Callable[[Any], object], str]]:
    """Those who take the schedule and whole arrays of samples."""
    from evonet.bench.peers.numpy_networks import NumpyNetworks

    schedule = network.schedule
    found: list[tuple[str, Callable[[Any], object], str]] = [
        ("NumPy", NumpyNetworks(schedule, activation), "the links of a level at once")
    ]
    if settings.peers.find("SciPy"):
        from evonet.bench.peers.scipy_networks import ScipyNetworks

        found.append(("SciPy sparse", ScipyNetworks(schedule, activation), "a matrix per level"))
    if settings.peers.find("PyTorch"):
        from evonet.bench.peers.torch_networks import TorchNetworks

        torch = TorchNetworks(schedule, activation)
        found.append(("PyTorch", torch, "dense, genome by genome"))
    if settings.peers.find("TensorNEAT"):
        from evonet.bench.peers.tensorneat import TensorneatNetworks

        if activation in TensorneatNetworks.ACTIVATIONS:
            tensors = TensorneatNetworks(schedule, activation)
            found.append(("TensorNEAT", tensors, "made for GPUs, here on the processor"))
    return found


def _neat_python(
    population: Population, x: Any, settings: Settings, closing: ExitStack
) -> list[Contender]:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, neat_networks

    nets = neat_networks(population[: 4 if settings.quick else NEAT_GENOMES])
    rows = x[:NEAT_ROWS].tolist()

    def activate_all() -> float:
        for net in nets:
            for row in rows:
                net.activate(row)
        return len(nets) * len(rows)

    found = [Contender("neat-python", activate_all, "one process")]
    if settings.threads > 1:
        share = PARALLEL_CONNECTIONS * len(population) // population.num_connections
        genomes, config = neat_genomes(population[: 4 if settings.quick else max(4, share)])
        zeros = [0.0] * population.num_outputs
        pairs = [(row, zeros) for row in x[:PARALLEL_ROWS].tolist()]
        scores = ParallelScores(pairs, 0.0, settings.threads)
        closing.callback(scores.close)

        def evaluate_all() -> float:
            scores(genomes, config)
            return len(genomes) * len(pairs)

        found.append(
            Contender(
                "neat-python, ParallelEvaluator",
                evaluate_all,
                f"{settings.threads} processes; sends genomes, makes networks",
            )
        )
    return found


def _compare_compiling(sizes: dict[str, int], settings: Settings) -> Comparison:
    """From genes to something that can be called."""
    population = _population(sizes, "sigmoid")
    links = population.num_connections
    title = (
        f"from genes to networks: {sizes['genomes']:,} genomes of {sizes['nodes']} nodes and "
        f"{sizes['connections']} connections"
    )
    settings.say(title)

    def compiling() -> float:
        build_schedule(population, threads=settings.threads)
        return links

    contenders = [Contender("evonet", compiling, "compile to a schedule")]
    if settings.peers.find("neat-python"):
        import neat

        from evonet.bench.peers.neat_python import neat_genomes

        few = population[: 4 if settings.quick else NEAT_GENOMES]
        genomes, config = neat_genomes(few)

        def create() -> float:
            for _, genome in genomes:
                neat.nn.FeedForwardNetwork.create(genome, config)
            return few.num_connections

        contenders.append(Contender("neat-python", create, "FeedForwardNetwork.create"))
    schedule = build_schedule(population)
    return Comparison(
        name="compile",
        title=title,
        unit="a connection",
        entries=take_turns(contenders, settings.rounds, settings.turn),
        work=Work(memory=(population.nbytes + schedule.nbytes) / links),
        command=COMMAND,
    )
