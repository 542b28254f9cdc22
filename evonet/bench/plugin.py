"""neat-python's own genomes and its own loop, evaluated by evonet: packing included."""

from __future__ import annotations

import importlib
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from evonet.bench.comparison import Comparison, Findings, Settings, Work
from evonet.bench.generation import workload
from evonet.bench.timing import Contender, take_turns
from evonet.genes.population import Population
from evonet.network import compile as compile_network
from evonet.schedule.schedule import build_schedule

COMMAND = "evonet bench plugin"
MODULE = "evonet.plugins.neat_python"
NODES, CONNECTIONS, SAMPLES = 50, 200, 32
NEAT_GENOMES = 50
PHASES = ("pack", "compile", "evaluate", "assign")


def run_plugin(settings: Settings) -> Findings:
    """Times what neat-python's users call: evaluation, `activate` and whole generations.

    Args:
        settings: How.

    Raises:
        BackendError: The compiled extension is missing.
    """
    if not settings.peers.find("neat-python"):
        return Findings()
    plugin = _find_plugin(settings)
    found = Findings([_compare_evaluation(plugin, settings)])
    if plugin is not None:
        found.comparisons.append(_compare_activate(plugin, settings))
        found.comparisons.append(_compare_generations(plugin, settings))
    return found


def _find_plugin(settings: Settings) -> ModuleType | None:
    try:
        return importlib.import_module(MODULE)
    except ModuleNotFoundError:
        settings.peers.missing["plugin"] = f"{MODULE}: not in this version"
        return None


def _population(size: int) -> Population:
    return Population.random(
        size,
        8,
        4,
        num_nodes=NODES,
        num_connections=CONNECTIONS,
        activations=("sigmoid",),
        dtype=np.float64,
        seed=1,
    )


def _compare_evaluation(plugin: ModuleType | None, settings: Settings) -> Comparison:
    from evonet.bench.peers.neat_python import ParallelScores, neat_genomes, score

    size = 100 if settings.quick else 1000
    title = (
        f"{size:,} genomes of neat-python with {NODES} nodes and {CONNECTIONS} connections, "
        f"scored on {SAMPLES} samples"
    )
    settings.say(title)
    population = _population(size)
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

    contenders = [_by_hand(genomes, config, x, y, settings)]
    if plugin is not None:
        evaluator = plugin.BatchEvaluator.from_data(x, y)

        def evaluate() -> float:
            evaluator(genomes, config)
            return len(genomes)

        contenders.insert(0, Contender("evonet", evaluate, "BatchEvaluator.from_data"))
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


def _by_hand(genomes: Any, config: Any, x: Any, y: Any, settings: Settings) -> Contender:
    """What the plugin does, call by call, so that its phases can be seen."""
    parts = dict.fromkeys(PHASES, 0.0)

    def run() -> float:
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

    return Contender("evonet, by hand", run, "from_neat, compile, loss", parts)


def _compare_activate(plugin: ModuleType, settings: Settings) -> Comparison:
    """One network and one sample, as code that was written for neat-python calls it."""
    from evonet.bench.peers.neat_python import neat_genomes, neat_networks

    few = _population(4 if settings.quick else 20)
    settings.say("one network, one sample")
    genomes, config = neat_genomes(few)
    ours = [plugin.FeedForwardNetwork.create(genome, config) for _, genome in genomes]
    row = np.random.default_rng(3).standard_normal(8).tolist()

    def activate(nets: list[Any]) -> float:
        for net in nets:
            net.activate(row)
        return len(nets)

    theirs = neat_networks(few)
    schedule = build_schedule(few)
    return Comparison(
        name="plugin-activate",
        title=f"FeedForwardNetwork.activate: {NODES} nodes, {CONNECTIONS} connections, one sample",
        unit="a call",
        entries=take_turns(
            [
                Contender("evonet, drop-in", lambda: activate(ours), "one call at a time"),
                Contender("neat-python", lambda: activate(theirs)),
            ],
            settings.rounds,
            settings.turn,
        ),
        work=Work(fma=schedule.num_edges / len(few)),
        command=COMMAND,
    )


def _compare_generations(plugin: ModuleType, settings: Settings) -> Comparison:
    """neat-python's loop with and without the plugin; breeding stays neat-python's."""
    from evonet.bench.peers.neat_python import NeatPythonRun

    name = "medium-20" if settings.quick else "medium-300"
    text, task, _ = workload(name)
    settings.say(f"neat-python's own loop, {name}")
    with tempfile.TemporaryDirectory() as folder:
        ini = Path(folder) / "config.ini"
        ini.write_text(text)
        plain = NeatPythonRun(ini, task.x, task.y, task.best, seed=1)
        faster = NeatPythonRun(
            ini,
            task.x,
            task.y,
            task.best,
            seed=1,
            evaluate=plugin.BatchEvaluator.from_data(task.x, task.y, best=task.best),
        )

    def generation(run: NeatPythonRun) -> float:
        run.generation()
        return 1

    entries = take_turns(
        [
            Contender("with BatchEvaluator", lambda: generation(faster), "", faster.seconds),
            Contender("neat-python alone", lambda: generation(plain), "", plain.seconds),
        ],
        min(3, settings.rounds),
        settings.turn,
    )
    return Comparison(
        name="plugin-run",
        title=f"population.run, {name}: neat-python breeds, evonet evaluates",
        unit="a generation",
        entries=entries,
        work=Work(),
        command=COMMAND,
    )
