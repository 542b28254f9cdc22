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
from evonet.network import compile as compile_network
from evonet.resources import resource_folder
from evonet.schedule import build_schedule
from evonet.tasks import Supervised, xor

COMMAND = "evonet bench generation"
# A single generation would measure cold caches, so a turn has several where they are short.
TURN_SECONDS = 0.5
# neat-python needs seconds for a generation of these.
LONG, LONG_ROUNDS = ("xor-10000", "medium-1000"), 3


class EvonetRun:
    """evonet's loop, one generation per call, timed by phase.

    Attributes:
        neat: The evolution.
        seconds: Time per phase, summed over all calls.
    """

    def __init__(self, config: Config, task: Supervised, threads: int) -> None:
        """Makes the first generation.

        Args:
            config: All settings.
            task: What to evolve on.
            threads: To use.
        """
        self.neat = NEAT(config, seed=1, backend="cpu", threads=threads)
        self.seconds = dict.fromkeys(("evaluate", "breed and speciate", "compile", "tell"), 0.0)
        self._task = task

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
        phases = ("breed and speciate", "compile", "evaluate", "tell")
        for phase, spent in zip(phases, np.diff(times).tolist(), strict=True):
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
        task, warm_up = Supervised(rng.standard_normal((32, 8)), rng.random((32, 4))), 2
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
        size = ours.neat.config.neat.pop_size

        def one_of_ours() -> float:
            ours.generation()
            return size

        contenders = [Contender("evonet", one_of_ours, parts=ours.seconds)]
        contenders += _neat_python(ini, task, size, warm_up, settings, closing)
        if name == "xor-1000" and settings.peers.find("TensorNEAT"):
            contenders.append(_tensorneat(size, settings))
        for _ in range(warm_up):
            ours.generation()
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
    ini: Path, task: Supervised, size: int, warm_up: int, settings: Settings, closing: ExitStack
) -> list[Contender]:
    if not settings.peers.find("neat-python"):
        return []
    from evonet.bench.peers.neat_python import NeatPythonRun

    found = []
    ways = [("neat-python", 1, "one process")]
    if settings.threads > 1 and size < 10_000:  # processes that are sent so many take forever
        note = f"{settings.threads} processes for evaluation"
        ways.append(("neat-python, ParallelEvaluator", settings.threads, note))
    for name, processes, note in ways:
        run = NeatPythonRun(ini, task.x, task.y, task.best, seed=1, processes=processes)
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
