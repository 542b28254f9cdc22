"""neat-python's own genomes evaluated by evonet: packing, compiling and scoring included."""

from __future__ import annotations

import importlib
import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from evonet.bench.comparison import Comparison, Findings, Settings, Work
from evonet.bench.timing import Contender, take_turns
from evonet.network import compile as compile_network
from evonet.population import Population
from evonet.schedule import build_schedule

COMMAND = "evonet bench plugin"
NODES, CONNECTIONS, SAMPLES = 50, 200, 32
NEAT_GENOMES = 50
PHASES = ("pack", "compile", "evaluate", "assign")


def run_plugin(settings: Settings) -> Findings:
    """Times the evaluation of a neat-python population, as `population.run` would call it.

    Args:
        settings: How.

    Raises:
        BackendError: The compiled extension is missing.
    """
    if not settings.peers.find("neat-python"):
        return Findings()
    return Findings([_compare(settings)])


def _compare(settings: Settings) -> Comparison:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, score

    size = 100 if settings.quick else 1000
    title = (
        f"{size:,} genomes of neat-python with {NODES} nodes and {CONNECTIONS} connections, "
        f"scored on {SAMPLES} samples"
    )
    settings.say(title)
    population = Population.random(
        size, 8, 4, num_nodes=NODES, num_connections=CONNECTIONS, activations=("sigmoid",),
        dtype=np.float64, seed=1,
    )  # fmt: skip
    genomes, config = neat_genomes(population)
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((SAMPLES, 8)), rng.random((SAMPLES, 4))
    rows = list(zip(x.tolist(), y.tolist(), strict=True))
    few = genomes[: 10 if settings.quick else NEAT_GENOMES]

    def serial() -> float:
        import neat

        for _, genome in few:
            net = neat.nn.FeedForwardNetwork.create(genome, config)
            genome.fitness = score(net, rows, 0.0)
        return len(few)

    contenders = _evonet(genomes, config, x, y, settings)
    contenders.append(Contender("neat-python", serial, "one process"))
    with ExitStack() as closing:
        if settings.threads > 1:
            scores = ParallelScores(rows, 0.0, settings.threads)
            closing.callback(scores.close)

            def parallel() -> float:
                scores(few, config)
                return len(few)

            note = f"{settings.threads} processes"
            contenders.append(Contender("neat-python, ParallelEvaluator", parallel, note))
        entries = take_turns(contenders, settings.rounds, settings.turn)
    schedule = build_schedule(population)
    return Comparison(
        name="plugin-evaluate",
        title=title,
        unit="a genome",
        entries=entries,
        work=Work(
            fma=SAMPLES * schedule.num_edges / size,
            memory=(population.nbytes + 2 * schedule.nbytes) / size,
        ),
        command=COMMAND,
    )


def _evonet(genomes: Any, config: Any, x: Any, y: Any, settings: Settings) -> list[Contender]:
    """The plugin where it is there, and the same by hand, by phase."""
    parts = dict.fromkeys(PHASES, 0.0)

    def by_hand() -> float:
        times = [time.perf_counter()]
        population = Population.from_neat(genomes, config)
        times.append(time.perf_counter())
        network = compile_network(
            population, backend="cpu", threads=settings.threads, on_cycle="zero"
        )
        times.append(time.perf_counter())
        fitness = -network.loss(x, y)
        times.append(time.perf_counter())
        for (_, genome), value in zip(genomes, fitness.tolist(), strict=True):
            genome.fitness = value
        times.append(time.perf_counter())
        for phase, spent in zip(PHASES, np.diff(times).tolist(), strict=True):
            parts[phase] += spent
        return len(genomes)

    found = [Contender("evonet, by hand", by_hand, "from_neat, compile, loss", parts)]
    try:
        plugin = importlib.import_module("evonet.plugins.neat_python")
    except ModuleNotFoundError:
        settings.peers.missing["plugin"] = "evonet.plugins.neat_python: not in this version"
        return found
    evaluator = plugin.BatchEvaluator.from_data(x, y)

    def evaluate() -> float:
        evaluator(genomes, config)
        return len(genomes)

    return [Contender("evonet", evaluate, "BatchEvaluator.from_data"), *found]
