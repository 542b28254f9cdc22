"""neat-python's own genomes and its own loop, evaluated by evonet: packing included."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from evonet.bench.comparison import BenchOptions, Findings, SpeedComparison, Work
from evonet.bench.generation import workload
from evonet.bench.timing import Contender, Stopwatch
from evonet.genes.population import Population
from evonet.network import compile as compile_network
from evonet.schedule import build_schedule

NODES, CONNECTIONS, SAMPLES = 50, 200, 32
NEAT_GENOMES = 50


def run_plugin(options: BenchOptions) -> Findings:
    """Times what neat-python's users call: evaluation, `activate` and whole generations."""
    if not options.peers.find("neat-python"):
        return Findings()
    return Findings(
        [_compare_evaluation(options), _compare_activate(options), _compare_generations(options)]
    )


def _population(size: int) -> Population:
    return Population.random(
        size, 8, 4, num_nodes=NODES, num_connections=CONNECTIONS, dtype=np.float64, seed=1
    )


def _compare_evaluation(options: BenchOptions) -> SpeedComparison:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, score_all
    from evonet.plugins.neat_python import BatchEvaluator

    size = 100 if options.quick else 1000
    title = (
        f"{size:,} genomes of neat-python with {NODES} nodes and {CONNECTIONS} connections, "
        f"scored on {SAMPLES} samples"
    )
    options.say(title)
    population = _population(size)
    genomes, config = neat_genomes(population)
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((SAMPLES, 8)), rng.random((SAMPLES, 4))
    rows = list(zip(x.tolist(), y.tolist(), strict=True))
    few = genomes[: 10 if options.quick else NEAT_GENOMES]
    evaluate = partial(BatchEvaluator.from_data(x, y), genomes, config)
    alone = partial(score_all, rows, 0.0, few, config)
    contenders = [
        Contender("evonet", evaluate, "BatchEvaluator.from_data", units=size),
        _by_hand(genomes, config, x, y, options),
        Contender("neat-python", alone, "one process", units=len(few)),
    ]
    with ExitStack() as closing:
        if options.threads > 1:
            scores = ParallelScores(rows, 0.0, options.threads)
            closing.callback(scores.close)
            call, note = partial(scores, few, config), f"{options.threads} processes"
            name = "neat-python, ParallelEvaluator"
            contenders.append(Contender(name, call, note, units=len(few)))
        entries = options.take_turns(contenders)
    schedule = build_schedule(population)
    work = Work(
        fma=SAMPLES * schedule.num_edges / size,
        memory=(population.nbytes + 2 * schedule.nbytes) / size,
    )
    return SpeedComparison("plugin-evaluate", title, "a genome", entries, work)


def _by_hand(genomes: Any, config: Any, x: Any, y: Any, options: BenchOptions) -> Contender:
    """What the plugin does, call by call, to time its phases."""
    parts = dict.fromkeys(("pack", "compile", "evaluate", "assign"), 0.0)

    def run() -> None:
        watch = Stopwatch(parts)
        population = Population.from_neat(genomes, config)
        watch.lap("pack")
        network = compile_network(
            population, backend="cpu", threads=options.threads, on_cycle="zero"
        )
        watch.lap("compile")
        fitness = -network.loss(x, y)
        watch.lap("evaluate")
        for (_, genome), value in zip(genomes, fitness.tolist(), strict=True):
            genome.fitness = value
        watch.lap("assign")

    return Contender("evonet, by hand", run, "from_neat, compile, loss", parts, len(genomes))


def _compare_activate(options: BenchOptions) -> SpeedComparison:
    """One network and one sample, as code that was written for neat-python calls it."""
    from evonet.bench.peers.neat_python import neat_genomes, neat_networks
    from evonet.plugins.neat_python import FeedForwardNetwork

    few = _population(4 if options.quick else 20)
    options.say("one network, one sample")
    genomes, config = neat_genomes(few)
    ours = [FeedForwardNetwork.create(genome, config) for _, genome in genomes]
    row = np.random.default_rng(3).standard_normal(8).tolist()

    def activate(nets: list[Any]) -> None:
        for net in nets:
            net.activate(row)

    contenders = [
        Contender("evonet, drop-in", partial(activate, ours), "one call at a time", units=len(few)),
        Contender("neat-python", partial(activate, neat_networks(few)), units=len(few)),
    ]
    return SpeedComparison(
        "plugin-activate",
        f"FeedForwardNetwork.activate: {NODES} nodes, {CONNECTIONS} connections, one sample",
        "a call",
        options.take_turns(contenders),
        Work(fma=build_schedule(few).num_edges / len(few)),
    )


def _compare_generations(options: BenchOptions) -> SpeedComparison:
    """neat-python's loop with and without the plugin; neat-python breeds in both."""
    from evonet.bench.peers.neat_python import NeatPythonRun
    from evonet.plugins.neat_python import BatchEvaluator

    name = "medium-20" if options.quick else "medium-300"
    options.say(f"neat-python's own loop, {name}")
    contenders = []
    with workload(name) as (ini, task, _):
        evaluator = BatchEvaluator.from_data(task.x, task.y, best=task.best)
        for label, evaluate in (("with BatchEvaluator", evaluator), ("neat-python alone", None)):
            run = NeatPythonRun(ini, task.x, task.y, task.best, seed=1, evaluate=evaluate)
            contenders.append(Contender(label, run.generation, "", run.seconds, 1))
    return SpeedComparison(
        "plugin-run",
        f"population.run, {name}: neat-python breeds, evonet evaluates",
        "a generation",
        options.take_turns(contenders, most_rounds=3),
    )
