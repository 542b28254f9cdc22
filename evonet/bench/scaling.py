"""How cost grows with the number of genomes, connections, levels, samples and threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evonet.backends.genetics import NativeEngine
from evonet.bench.comparison import Findings, Settings
from evonet.bench.generation import EvonetRun
from evonet.bench.growth import Growth, GrowthLine
from evonet.bench.layered import layered_population
from evonet.bench.timing import Contender, Timing, take_turns
from evonet.config import Config
from evonet.genes.population import Population
from evonet.genes.rules import distance_rules, genome_rules
from evonet.installation import resource_folder
from evonet.network import compile as compile_network
from evonet.schedule.schedule import build_schedule
from evonet.tasks import xor

COMMAND = "evonet bench scaling"
# Generations in a row.
REPLAYED = 2


def run_scaling(settings: Settings) -> Findings:
    """Measures growth along every axis; each has its sizes timed by turns.

    Args:
        settings: How.

    Raises:
        BackendError: The compiled extension is missing.
    """
    found = Findings()
    axes = [_population, _connections, _depth, _samples]
    if settings.threads > 1:
        axes.append(_threads)
    for measure in axes:
        found.growths.append(measure(settings))
    return found


def _times(
    ways: Sequence[tuple[str, Sequence[Callable[[], object]]]], rounds: int, seconds: float = 0.03
) -> tuple[GrowthLine, ...]:
    """Times every way at every size by turns.

    Args:
        ways: The name of each, and what does the work at each size.
        rounds: How often.
        seconds: The least time of a turn.
    """

    def unit(work: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            work()
            return 1

        return run

    contenders = [Contender(name, unit(work)) for name, each in ways for work in each]
    entries = iter(take_turns(contenders, rounds, seconds))
    return tuple(GrowthLine(name, tuple(next(entries).timing for _ in each)) for name, each in ways)


def _population(settings: Settings) -> Growth:
    """Whole generations of XOR by phase, and what `evolve` adds to describe each."""
    sizes = (100, 1000) if settings.quick else (100, 1000, 10_000, 100_000, 1_000_000)
    settings.say(f"growth with the population: up to {sizes[-1]:,} genomes")
    config = Config.load(resource_folder("configs") / "xor.toml")
    contenders = []
    for size in sizes:
        run = EvonetRun(
            config.replace({"neat.pop_size": size, "neat.no_fitness_termination": True}),
            xor(),
            settings.threads,
            describe=True,
        )
        run.warm_up(2)

        def generations(run: EvonetRun = run, size: int = size) -> float:
            return run.replay(REPLAYED) / size

        contenders.append(Contender(str(size), generations, parts=run.seconds))
    entries = take_turns(contenders, min(3, settings.rounds), settings.turn)
    phases = {phase: [Timing((entry.parts[phase],)) for entry in entries] for phase in
              entries[0].parts}  # fmt: skip
    lines = [GrowthLine("whole generation", tuple(entry.timing for entry in entries))]
    lines += [GrowthLine(phase, tuple(each)) for phase, each in phases.items() if phase != "tell"]
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
        command=COMMAND,
    )


def _connections(settings: Settings) -> Growth:
    """Twenty genomes that descend from one, each step of their life apart."""
    sizes = (10, 100, 1000) if settings.quick else (10, 32, 100, 316, 1000, 3162, 10_000, 31_623,
                                                    100_000)  # fmt: skip
    settings.say(f"growth with the connections: up to {sizes[-1]:,}")
    genomes, inputs, outputs, samples = 20, 8, 4, 32
    config = Config.load(resource_folder("configs") / "xor.toml")
    breeding, distance = genome_rules(config), distance_rules(config)
    engine = NativeEngine(settings.threads)
    parents = np.arange(genomes)
    x = np.random.default_rng(2).standard_normal((samples, inputs)).astype(np.float32)
    steps: dict[str, list[Callable[[], object]]] = {
        "forward, 32 samples": [],
        "compile": [],
        "breed": [],
        "speciate": [],
    }
    for size in sizes:
        nodes = max(outputs, size // 4)
        one = Population.random(
            1, inputs, outputs, num_nodes=nodes, num_connections=size,
            activations=("sigmoid",), seed=size,
        )  # fmt: skip
        population = one[[0] * genomes]
        innovation = int(population.innovation.max()) + 1
        network = compile_network(population, backend="cpu", threads=settings.threads)

        def breed(
            population: Population = population, nodes: int = nodes, innovation: int = innovation
        ) -> object:
            other = np.roll(parents, 1)
            return engine.breed(population, parents, other, breeding, 1, 1, nodes, innovation)

        children, _, _ = engine.breed(
            population, parents, np.roll(parents, 1), breeding, 1, 1, nodes, innovation
        )
        steps["forward, 32 samples"].append(lambda network=network: network(x))  # type: ignore[misc]
        steps["compile"].append(
            lambda population=population: build_schedule(  # type: ignore[misc]
                population, threads=settings.threads
            )
        )
        steps["breed"].append(breed)
        steps["speciate"].append(
            lambda children=children: engine.speciate(  # type: ignore[misc]
                children, children[:0], 1e9, distance
            )
        )
    return Growth(
        name="connections",
        title=f"Connections: {genomes} genomes with a node per four of them",
        axis="connections per genome",
        unit=f"{genomes} genomes",
        x=sizes,
        lines=_times(list(steps.items()), settings.rounds),
        expected=1.0,
        if_flatter="a call, a genome and a block of samples have costs of their own, or little "
        "work begins to be shared by threads",
        if_steeper="values, genes or the tables that find them no longer fit into the caches, or "
        "results lie in memory that the system has to clear first",
        command=COMMAND,
    )


def _depth(settings: Settings) -> Growth:
    """The same number of nodes in ever more levels."""
    depths = (1, 10, 100) if settings.quick else (1, 3, 10, 32, 100, 316, 1000)
    settings.say(f"growth with depth: up to {depths[-1]:,} levels")
    genomes = 20
    steps: dict[str, list[Callable[[], object]]] = {
        "forward, 128 samples": [],
        "forward, 32 samples": [],
        "forward, 1 sample": [],
        "compile": [],
    }
    rng = np.random.default_rng(4)
    links = []
    for depth in depths:
        population = layered_population(genomes, depth, 1000)
        network = compile_network(population, backend="cpu", threads=settings.threads)
        links.append(network.schedule.num_edges)
        for samples, name in zip((128, 32, 1), steps, strict=False):
            x = rng.standard_normal((samples, population.num_inputs)).astype(np.float32)
            steps[name].append(lambda network=network, x=x: network(x))  # type: ignore[misc]
        steps["compile"].append(
            lambda population=population: build_schedule(  # type: ignore[misc]
                population, threads=settings.threads
            )
        )
    lines = _times(list(steps.items()), settings.rounds)
    per_link = tuple(
        GrowthLine(
            line.name,
            tuple(
                Timing(tuple(seconds / count for seconds in timing.rounds))
                for timing, count in zip(line.timings, links, strict=True)
            ),
        )
        for line in lines
    )
    return Growth(
        name="depth",
        title=f"Levels: {genomes} genomes of 1,000 hidden nodes",
        axis="levels of hidden nodes",
        unit="a link",
        x=depths,
        lines=per_link,
        expected=0.0,
        if_flatter="narrower levels keep what they read in nearer caches",
        if_steeper="a level is so narrow that a node waits for the one before, and the processor "
        "has nothing to overlap it with but other samples",
        command=COMMAND,
    )


def _samples(settings: Settings) -> Growth:
    """A population on more and more samples."""
    counts = (1, 10, 100) if settings.quick else (1, 3, 10, 32, 100, 316, 1000, 3162, 10_000)
    settings.say(f"growth with samples: up to {counts[-1]:,}")
    rng = np.random.default_rng(5)
    shapes = ((100, 50, 200), (10, 200, 2000))
    ways: list[tuple[str, list[Callable[[], object]]]] = []
    for genomes, nodes, connections in shapes:
        population = Population.random(
            genomes, 8, 4, num_nodes=nodes, num_connections=connections,
            activations=("sigmoid",), seed=1,
        )  # fmt: skip
        network = compile_network(population, backend="cpu", threads=settings.threads)
        given = [rng.standard_normal((count, 8)).astype(np.float32) for count in counts]
        name = f"{nodes} nodes, {connections:,} links"
        ways.append((name, [lambda network=network, x=x: network(x) for x in given]))  # type: ignore[misc]
    return Growth(
        name="samples",
        title="Samples: the forward pass",
        axis="samples",
        unit="a call",
        x=counts,
        lines=_times(ways, settings.rounds),
        expected=1.0,
        if_flatter="samples share a vector, up to 16 of them at the price of one, or little work "
        "begins to be shared by threads",
        if_steeper="outputs no longer fit into the caches and go to memory that is new to the "
        "process",
        command=COMMAND,
    )


def _threads(settings: Settings) -> Growth:
    """The same work on more and more threads."""
    counts = [1]
    while counts[-1] < settings.threads:
        counts.append(min(2 * counts[-1], settings.threads))
    settings.say(f"growth with threads: up to {counts[-1]}")
    genomes = 100 if settings.quick else 1000
    population = Population.random(
        genomes, 4, 2, num_nodes=50, num_connections=200, activations=("sigmoid",), seed=1
    )
    x = np.random.default_rng(2).standard_normal((256, 4)).astype(np.float32)
    config = Config.load(resource_folder("configs") / "xor.toml").replace(
        {"neat.pop_size": 10 * genomes, "neat.no_fitness_termination": True}
    )
    steps: dict[str, list[Callable[[], object]]] = {
        "forward": [], "compile": [], "generations of XOR": [], "rollouts of CartPole": []
    }  # fmt: skip
    for count in counts:
        network = compile_network(population, backend="cpu", threads=count)
        run = EvonetRun(config, xor(), count)
        run.warm_up(5)
        steps["forward"].append(lambda network=network: network(x))  # type: ignore[misc]
        steps["compile"].append(lambda count=count: build_schedule(population, threads=count))  # type: ignore[misc]
        steps["generations of XOR"].append(lambda run=run: run.replay(REPLAYED))  # type: ignore[misc]
        steps["rollouts of CartPole"].append(
            lambda network=network: network.rollout("cartpole", episodes=5, seed=7)  # type: ignore[misc]
        )
    return Growth(
        name="threads",
        title=f"Threads: {genomes:,} genomes, {10 * genomes:,} for generations",
        axis="threads",
        unit="the same work",
        x=tuple(counts),
        lines=_times(list(steps.items()), settings.rounds, settings.turn),
        expected=-1.0,
        if_flatter="every thread brings a cache of its own",
        if_steeper="some of the work, such as the plan of who mates with whom, runs on one thread, "
        "and cores share memory, and their time with other processes",
        command=COMMAND,
    )
