"""Whole generations: evaluate, breed, speciate and compile; by phase."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from evonet.bench.comparison import BenchOptions, Findings, SpeedComparison, Work
from evonet.bench.peers.installed import MADE_FOR_GPUS
from evonet.bench.timing import Contender, Stopwatch, take_turns
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.evolution.record import Seconds, describe_generation
from evonet.installation import resource_folder
from evonet.network import compile as compile_network
from evonet.schedule import build_schedule
from evonet.tasks import Supervised, xor

# A single generation would measure cold caches, so a turn has several if they are short.
TURN_SECONDS = 0.5
# About as many as neat-python evolves meanwhile.
REPLAYED = 10
NO_TIME = Seconds(ask=0.0, compile=0.0, evaluate=0.0, tell=0.0)
# neat-python needs seconds for a generation of these, and longer with several processes.
LONG, LONG_ROUNDS = ("xor-10000", "medium-1000"), 3


class EvonetRun:
    """evonet's loop, one generation per call, with the `seconds` of each phase over all calls."""

    def __init__(
        self, config: Config, task: Supervised, threads: int, describe: bool = False
    ) -> None:
        self.algorithm = NEAT(config, seed=1, backend="cpu", threads=threads)
        self.seconds = dict.fromkeys(("evaluate", "breed and speciate", "compile", "tell"), 0.0)
        if describe:
            self.seconds["describe"] = 0.0
        self._task = task
        self._start = self.algorithm.state

    def warm_up(self, generations: int) -> None:
        """Evolves for a while, to where `replay` starts."""
        for _ in range(generations):
            self.generation()
        self._start = self.algorithm.state

    def replay(self, generations: int) -> int:
        """Evolves from where the warm-up ended, and returns the number of genomes evaluated.

        A run that is a hundred times faster would otherwise be a hundred times as many generations
        ahead, with genomes that have grown larger.
        """
        self.algorithm.state = self._start
        for _ in range(generations):
            self.generation()
        return generations * self.algorithm.config.neat.pop_size

    def generation(self) -> None:
        """Asks, evaluates and tells once."""
        watch = Stopwatch(self.seconds)
        population = self.algorithm.ask()
        watch.lap("breed and speciate")
        network = compile_network(population, backend="cpu", threads=self.algorithm.threads)
        watch.lap("compile")
        fitness = self._task.evaluate(network, seed=self.algorithm.generation)
        watch.lap("evaluate")
        self.algorithm.tell(fitness)
        watch.lap("tell")
        if "describe" in self.seconds:
            describe_generation(self.algorithm, 0, NO_TIME)
            watch.lap("describe")


def run_generation(options: BenchOptions) -> Findings:
    """Times generations of evonet beside neat-python's, from the same config.

    Both evolve from their own first generation for a while, so that genomes have grown alike.
    """
    workloads = ("xor-100",) if options.quick else ("xor-1000", "xor-10000", "medium-1000")
    return Findings([_compare(name, options) for name in workloads])


@contextmanager
def workload(name: str) -> Iterator[tuple[Path, Supervised, int]]:
    """A config in a temporary INI file, a task, and the number of generations to warm up.

    The name is "xor-" or "medium-", and the number of genomes.
    """
    text = (resource_folder("configs") / "xor-neat.ini").read_text()
    kind, _, size = name.partition("-")
    changes = {
        "pop_size              = 150": f"pop_size = {int(size)}",
        "no_fitness_termination = False": "no_fitness_termination = True",
    }
    task, warm_up = xor(), 5
    if kind == "medium":
        changes |= {
            "num_inputs              = 2": "num_inputs = 8",
            "num_outputs             = 1": "num_outputs = 4",
            "num_hidden              = 0": "num_hidden = 46",
            "initial_connection      = full": "initial_connection = partial_nodirect 0.3624",
            "compatibility_threshold = 3.0": "compatibility_threshold = 6.0",
        }
        rng = np.random.default_rng(3)
        task, warm_up = Supervised(rng.standard_normal((32, 8)), rng.random((32, 4))), 1
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        ini = Path(folder) / "config.ini"
        ini.write_text(text)
        yield ini, task, warm_up


def _compare(name: str, options: BenchOptions) -> SpeedComparison:
    options.say(f"generations of {name}")
    with ExitStack() as closing:
        ini, task, warm_up = closing.enter_context(workload(name))
        ours = EvonetRun(Config.load(ini), task, options.threads)
        ours.warm_up(warm_up)
        size = ours.algorithm.config.neat.pop_size
        contenders = [Contender("evonet", partial(ours.replay, REPLAYED), parts=ours.seconds)]
        if options.peers.find("neat-python"):
            from evonet.bench.peers.neat_python import NeatPythonRun

            ways = [("neat-python", 1, "one process")]
            if options.threads > 1 and name not in LONG:
                note = f"{options.threads} processes for evaluation"
                ways.append(("neat-python, ParallelEvaluator", options.threads, note))
            for label, processes, note in ways:
                run = NeatPythonRun(ini, task.x, task.y, task.best, seed=1, processes=processes)
                closing.callback(run.close)
                for _ in range(warm_up):
                    run.generation()
                contenders.append(Contender(label, run.generation, note, run.seconds, size))
        if name == "xor-1000" and options.peers.find("TensorNEAT"):
            from evonet.bench.peers.tensorneat import TensorneatRun

            options.say("JAX compiles TensorNEAT, which takes a minute")
            call = TensorneatRun(size, seed=1).generation
            contenders.append(Contender("TensorNEAT", call, MADE_FOR_GPUS, units=size))
        rounds = min(LONG_ROUNDS, options.rounds) if name in LONG else options.rounds
        entries = take_turns(contenders, rounds, options.turn if options.quick else TURN_SECONDS)
    population = ours.algorithm.ask()
    nodes, connections = population.sizes.mean(axis=0).tolist()
    schedule = build_schedule(population)
    return SpeedComparison(
        name=f"generation-{name}",
        title=f"{name}: {size:,} genomes of {nodes:.1f} nodes and {connections:.1f} connections "
        f"on {len(task.x)} samples",
        unit="a genome and generation",
        entries=entries,
        work=Work(
            fma=schedule.num_edges * len(task.x) / size,
            # Parents are read, children written and read again, schedules written and read.
            memory=(3 * population.nbytes + 2 * schedule.nbytes) / size,
        ),
    )
