"""How cost grows with the number of genomes, connections, levels, samples and threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from evonet.backends.genetics import NativeEngine
from evonet.bench.comparison import BenchOptions, Findings
from evonet.bench.generation import EvonetRun
from evonet.bench.growth import Growth, GrowthLine
from evonet.bench.timing import Contender, Timing, take_turns
from evonet.config import Config
from evonet.genes.population import Population
from evonet.genes.rules import distance_rules, genome_rules
from evonet.installation import resource_folder
from evonet.messages import counted
from evonet.network import compile as compile_network
from evonet.schedule import build_schedule
from evonet.tasks import xor

# Generations in a row.
REPLAYED = 2

# A call for each size, by the name of the line.
Calls = defaultdict[str, list[Callable[[], object]]]


def run_scaling(options: BenchOptions) -> Findings:
    """Measures growth along every axis; each has its sizes timed by turns."""
    axes = [_population, _connections, _depth, _samples]
    if options.threads > 1:
        axes.append(_threads)
    return Findings(growths=[measure(options) for measure in axes])


def _time(
    calls: Calls, rounds: int, seconds: float = 0.03, units: Sequence[int] | None = None
) -> tuple[GrowthLine, ...]:
    """Times all calls by turns: a line of calls for each name, with the units of each size."""
    contenders = [
        Contender(name, call, units=units[i] if units else 1)
        for name, each in calls.items()
        for i, call in enumerate(each)
    ]
    entries = iter(take_turns(contenders, rounds, seconds))
    return tuple(
        GrowthLine(name, tuple(next(entries).timing for _ in each)) for name, each in calls.items()
    )


def _half_decades(first: int, last: int, quick: bool) -> tuple[int, ...]:
    """10, 32, 100 and so on from one power of ten to another; a quick run has three whole ones."""
    halves = range(2 * first, 2 * first + 5, 2) if quick else range(2 * first, 2 * last + 1)
    return tuple(round(10 ** (half / 2)) for half in halves)


def _xor_config(**changes: object) -> Config:
    config = Config.load(resource_folder("configs") / "xor.toml")
    return config.replace({f"neat.{name}": value for name, value in changes.items()})


def _random_samples(seed: int, count: int, num_inputs: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, num_inputs)).astype(np.float32)


def _population(options: BenchOptions) -> Growth:
    """Whole generations of XOR by phase, and the time that `evolve` takes to describe each."""
    sizes = (100, 1000) if options.quick else (100, 1000, 10_000, 100_000, 1_000_000)
    options.say(f"growth with the population: up to {sizes[-1]:,} genomes")
    contenders = []
    for size in sizes:
        config = _xor_config(pop_size=size, no_fitness_termination=True)
        run = EvonetRun(config, xor(), options.threads, describe=True)
        run.warm_up(2)
        replay = partial(run.replay, REPLAYED)
        contenders.append(Contender(str(size), replay, parts=run.seconds, units=REPLAYED))
    entries = options.take_turns(contenders, most_rounds=3)
    lines = [GrowthLine("whole generation", tuple(entry.timing for entry in entries))]
    lines += [
        GrowthLine(phase, tuple(Timing((entry.parts[phase],)) for entry in entries))
        for phase in entries[0].parts
        if phase != "tell"
    ]
    return Growth(
        name="population",
        title="Genomes: a generation of XOR",
        axis="genomes",
        unit="a generation",
        x=sizes,
        lines=tuple(lines),
        expected=1.0,
        if_flatter="calls, Python around them and waking threads cost the same for any number",
        if_steeper="genes no longer fit into the caches, and more genomes found more species to be "
        "compared with",
    )


def _connections(options: BenchOptions) -> Growth:
    """Every step in the life of twenty genomes that descend from one, separately."""
    sizes = _half_decades(1, 5, options.quick)
    options.say(f"growth with the connections: up to {sizes[-1]:,}")
    genomes, config = 20, _xor_config()
    breeding, distance = genome_rules(config), distance_rules(config)
    engine = NativeEngine(options.threads)
    parents, others = np.arange(genomes), np.roll(np.arange(genomes), 1)
    x = _random_samples(2, 32, 8)
    calls = Calls(list)
    for size in sizes:
        nodes = max(4, size // 4)
        one = Population.random(1, 8, 4, num_nodes=nodes, num_connections=size, seed=size)
        population = one[[0] * genomes]
        innovation = int(population.innovation.max()) + 1
        network = compile_network(population, backend="cpu", threads=options.threads)
        breed = partial(
            engine.breed, population, parents, others, breeding, 1, 1, nodes, innovation
        )
        children, _, _ = breed()
        calls["forward, 32 samples"].append(partial(network, x))
        calls["compile"].append(partial(build_schedule, population, threads=options.threads))
        calls["breed"].append(breed)
        speciate = partial(engine.speciate, children, children, parents[:0], 1e9, distance)
        calls["speciate"].append(speciate)
    return Growth(
        name="connections",
        title=f"Connections: {genomes} genomes with a node per four of them",
        axis="connections per genome",
        unit=f"{genomes} genomes",
        x=sizes,
        lines=_time(calls, options.rounds),
        expected=1.0,
        if_flatter="a call, a genome and a block of samples have fixed costs, or a small amount of "
        "work begins to be shared by threads",
        if_steeper="values, genes or the tables that find them no longer fit into the caches, or "
        "results lie in memory that the system has to clear first",
    )


def layered_population(num_genomes: int, depth: int, num_hidden: int) -> Population:
    """Equal genomes with hidden nodes in levels of equal width.

    Every hidden node reads an input and the node before it in its column, or two inputs on the
    first level; the single output reads the last level. The number of hidden nodes is rounded down
    to a multiple of the depth.
    """
    num_inputs, width = 8, num_hidden // depth
    hidden = np.arange(1, 1 + width * depth)
    column = (hidden - 1) % width
    before = np.where(hidden <= width, -1 - (column + 1) % num_inputs, hidden - width)
    source = np.concatenate([-1 - column % num_inputs, before, hidden[-width:]])
    target = np.concatenate([hidden, hidden, np.zeros(width, np.int64)])
    rng = np.random.default_rng(depth)
    nodes = list(enumerate(rng.standard_normal(1 + len(hidden)).tolist()))
    weights = rng.standard_normal(len(source)).tolist()
    links = list(zip(source.tolist(), target.tolist(), weights, strict=True))
    return Population.from_genes(num_inputs, 1, [(nodes, links)])[[0] * num_genomes]


def _depth(options: BenchOptions) -> Growth:
    """The same number of nodes in ever more levels."""
    depths = _half_decades(0, 3, options.quick)
    options.say(f"growth with depth: up to {depths[-1]:,} levels")
    genomes, calls, links = 20, Calls(list), []
    for depth in depths:
        population = layered_population(genomes, depth, 1000)
        network = compile_network(population, backend="cpu", threads=options.threads)
        links.append(network.schedule.num_edges)
        for samples in (128, 32, 1):
            name = f"forward, {counted(samples, 'sample')}"
            calls[name].append(partial(network, _random_samples(4, samples, population.num_inputs)))
        calls["compile"].append(partial(build_schedule, population, threads=options.threads))
    return Growth(
        name="depth",
        title=f"Levels: {genomes} genomes of 1,000 hidden nodes",
        axis="levels of hidden nodes",
        unit="a link",
        x=depths,
        lines=_time(calls, options.rounds, units=links),
        expected=0.0,
        if_flatter="narrower levels keep what they read in nearer caches",
        if_steeper="a level is so narrow that a node waits for the one before, and the processor "
        "has nothing to overlap it with but other samples",
    )


def _samples(options: BenchOptions) -> Growth:
    """Two populations on more and more samples."""
    counts = _half_decades(0, 4, options.quick)
    options.say(f"growth with samples: up to {counts[-1]:,}")
    calls = Calls(list)
    for genomes, nodes, connections in ((100, 50, 200), (10, 200, 2000)):
        population = Population.random(
            genomes, 8, 4, num_nodes=nodes, num_connections=connections, seed=1
        )
        network = compile_network(population, backend="cpu", threads=options.threads)
        calls[f"{nodes} nodes, {connections:,} links"] = [
            partial(network, _random_samples(5, count, 8)) for count in counts
        ]
    return Growth(
        name="samples",
        title="Samples: the forward pass",
        axis="samples",
        unit="a call",
        x=counts,
        lines=_time(calls, options.rounds),
        expected=1.0,
        if_flatter="samples share a vector, up to 16 of them at the price of one, or a small "
        "amount of work begins to be shared by threads",
        if_steeper="outputs no longer fit into the caches and go to memory that is new to the "
        "process",
    )


def _threads(options: BenchOptions) -> Growth:
    """The same work on more and more threads."""
    counts = [1]
    while counts[-1] < options.threads:
        counts.append(min(2 * counts[-1], options.threads))
    options.say(f"growth with threads: up to {counts[-1]}")
    genomes = 100 if options.quick else 1000
    population = Population.random(genomes, 4, 2, num_nodes=50, num_connections=200, seed=1)
    x = _random_samples(2, 256, 4)
    config = _xor_config(pop_size=10 * genomes, no_fitness_termination=True)
    calls = Calls(list)
    for count in counts:
        network = compile_network(population, backend="cpu", threads=count)
        run = EvonetRun(config, xor(), count)
        run.warm_up(5)
        calls["forward"].append(partial(network, x))
        calls["compile"].append(partial(build_schedule, population, threads=count))
        calls["generations of XOR"].append(partial(run.replay, REPLAYED))
        calls["rollouts of CartPole"].append(
            partial(network.rollout, "cartpole", episodes=5, seed=7)
        )
    return Growth(
        name="threads",
        title=f"Threads: {genomes:,} genomes, {10 * genomes:,} for generations",
        axis="threads",
        unit="the same work",
        x=tuple(counts),
        lines=_time(calls, options.rounds, options.turn),
        expected=-1.0,
        if_flatter="every thread brings a cache of its own",
        if_steeper="some of the work, such as the plan of who mates with whom, runs on one thread, "
        "and cores share memory, and their time with other processes",
    )
