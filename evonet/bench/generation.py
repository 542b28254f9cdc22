"""Whole generations: evaluate, breed, divide into species, compile; by phase."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from evonet.bench.comparison import Comparison, Findings, Settings, Work
from evonet.bench.timing import Contender, take_turns
from evonet.config import Config
from evonet.evolution import NEAT
from evonet.evolution.record import Seconds, describe_generation
from evonet.installation import resource_folder
from evonet.network import compile as compile_network
from evonet.schedule.schedule import build_schedule
from evonet.tasks import Supervised, xor

COMMAND = "evonet bench generation"
# A single generation would measure cold caches, so a turn has several where they are short.
TURN_SECONDS = 0.5
# About as many as neat-python gets through meanwhile.
REPLAYED = 10
NO_TIME = Seconds(ask=0.0, compile=0.0, evaluate=0.0, tell=0.0)
# neat-python needs seconds for a generation of these, and longer where it sends them to processes.
LONG, LONG_ROUNDS = ("xor-10000", "medium-1000"), 3


class EvonetRun:
    """evonet's loop, one generation per call, timed by phase.

    Attributes:
        neat: The evolution.
        seconds: Time per phase, summed over all calls.
    """

    def __init__(
        self, config: Config, task: Supervised, threads: int, describe: bool = False
    ) -> None:
        """Makes the first generation.

        Args:
            config: All settings.
            task: What to evolve on.
            threads: To use.
            describe: Whether to describe every generation, as `evolve` does.
        """
        self.neat = NEAT(config, seed=1, backend="cpu", threads=threads)
        self.seconds = dict.fromkeys(("evaluate", "breed and speciate", "compile", "tell"), 0.0)
        if describe:
            self.seconds["describe"] = 0.0
        self._task = task
        self._start = self.neat.state

    def warm_up(self, generations: int) -> None:
        """Evolves for a while, to where `replay` begins."""
        for _ in range(generations):
            self.generation()
        self._start = self.neat.state

    def replay(self, generations: int) -> int:
        """Evolves from where it was warmed up to, again and again the same.

        A run that is a hundred times faster would otherwise be a hundred times as many generations
        ahead, with genomes that have grown larger.

        Returns:
            How many genomes it has bred and evaluated.
        """
        self.neat.state = self._start
        for _ in range(generations):
            self.generation()
        return generations * self.neat.config.neat.pop_size

    def generation(self) -> None:
        """Asks, evaluates and tells once."""
        times = [time.perf_counter()]
        population = self.neat.ask()
        times.append(time.perf_counter())
        network = compile_network(population, backend="cpu", threads=self.neat.threads)
        times.append(time.perf_counter())
        fitness = self._task.evaluate(network, seed=self.neat.generation)
        times.append(time.perf_counter())
        self.neat.tell(fitness)
        times.append(time.perf_counter())
        if "describe" in self.seconds:
            describe_generation(self.neat, 0, NO_TIME)
        times.append(time.perf_counter())
        phases = ("breed and speciate", "compile", "evaluate", "tell", "describe")
        for phase, spent in zip(phases, np.diff(times).tolist(), strict=True):
            if phase in self.seconds:
                self.seconds[phase] += spent


def run_generation(settings: Settings) -> Findings:
    """Times generations of evonet beside neat-python's, from the same config.

    Both evolve from their own first generation for a while, so that genomes have grown alike.

    Args:
        settings: How.

    Raises:
        BackendError: The compiled extension is missing.
    """
    workloads = ("xor-100",) if settings.quick else ("xor-1000", "xor-10000", "medium-1000")
    return Findings([_compare(name, settings) for name in workloads])


def workload(name: str) -> tuple[str, Supervised, int]:
    """A config as INI text, a task, and the number of generations to warm up.

    Args:
        name: "xor-" or "medium-", and the number of genomes.
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
    return text, task, warm_up


def _compare(name: str, settings: Settings) -> Comparison:
    text, task, warm_up = workload(name)
    settings.say(f"generations of {name}")
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory())
        ini = Path(folder) / "config.ini"
        ini.write_text(text)
        ours = EvonetRun(Config.load(ini), task, settings.threads)
        ours.warm_up(warm_up)
        size = ours.neat.config.neat.pop_size
        contenders = [Contender("evonet", lambda: ours.replay(REPLAYED), parts=ours.seconds)]
        processes = 1 if name in LONG else settings.threads
        contenders += _neat_python(ini, task, size, warm_up, processes, settings, closing)
        if name == "xor-1000" and settings.peers.find("TensorNEAT"):
            contenders.append(_tensorneat(size, settings))
        turn = settings.turn if settings.quick else TURN_SECONDS
        rounds = min(LONG_ROUNDS, settings.rounds) if name in LONG else settings.rounds
        entries = take_turns(contenders, rounds, turn)
    population = ours.neat.ask()
    nodes, connections = population.sizes.mean(axis=0).tolist()
    schedule = build_schedule(population)
    return Comparison(
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
        command=COMMAND,
    )


def _neat_python(
    ini: Path,
    task: Supervised,
    size: int,
    warm_up: int,
    processes: int,
    settings: Settings,
    closing: ExitStack,
) -> list[Contender]:
    if not settings.peers.find("neat-python"):
        return []
    from evonet.bench.peers.neat_python import NeatPythonRun

    found = []
    ways = [("neat-python", 1, "one process")]
    if processes > 1:
        note = f"{processes} processes for evaluation"
        ways.append(("neat-python, ParallelEvaluator", processes, note))
    for name, count, note in ways:
        run = NeatPythonRun(ini, task.x, task.y, task.best, seed=1, processes=count)
        closing.callback(run.close)
        for _ in range(warm_up):
            run.generation()

        def generation(run: NeatPythonRun = run) -> float:
            run.generation()
            return size

        found.append(Contender(name, generation, note, run.seconds))
    return found


def _tensorneat(size: int, settings: Settings) -> Contender:
    from evonet.bench.peers.tensorneat import TensorneatRun

    settings.say("JAX compiles TensorNEAT, which takes a minute")
    run = TensorneatRun(size, seed=1)

    def generation() -> float:
        run.generation()
        return size

    return Contender("TensorNEAT", generation, "made for GPUs, here on the processor")
