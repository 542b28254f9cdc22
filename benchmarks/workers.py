"""Times workers: environment steps per second, the cost of a part, and what a driver can feed.

    python -m benchmarks.workers [steps] [parts] [driver] [--ray] [--evotorch] [--seconds 4]
        [--genomes 200] [--environments LunarLander-v3 ...]

`steps` compares steps per second in one run: this process, 1 and 2 worker processes (and on Ray
with --ray), the bare environment, gymnasium.vector by hand (Sync, and Async with as many
environments as cores and four times as many), and with --evotorch EvoTorch with num_actors=2 and
its own linear policy. evonet's networks are those of a first generation of NEAT.
`parts` times parts of a job that do nothing. `driver` measures what a million genomes cost the
driver, and derives from bytes and seconds how many workers one driver could feed: a model.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import evonet
from evonet.config.workers import WorkersTable
from evonet.evaluation import Evaluation, Round
from evonet.evaluators import Here, open_evaluator
from evonet.evaluators.dispatch import Dispatch
from evonet.evaluators.distributed import Distributed
from evonet.evaluators.jobs import Event, Job, Piece
from evonet.evaluators.packing import cut_arrays, pack_evaluation, pack_population
from evonet.evaluators.shared_block import lay_out
from evonet.tasks import make_task
from evonet.tasks.base import Task

ENVIRONMENTS = ("LunarLander-v3", "BipedalWalker-v3", "Hopper-v5")
# The step limit, so that a generation takes about as long everywhere.
MOST_STEPS = 200
# Bits per second of the network between machines in the model.
NETWORK = 10e9


class Nothing(Task):
    """Takes no time, so that only the way to a worker and back is left."""

    num_inputs, num_outputs = 4, 2

    def score(self, round: Round) -> Evaluation:
        """Scores nothing."""
        return Evaluation(np.zeros(len(round.ids)))


def per_second(work: Callable[[], int], seconds: float) -> float:
    """Units of work per second, after a first round."""
    work()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        done += work()
    return done / (time.perf_counter() - start)


def first_generation(task: Task, size: int) -> evonet.Population:
    config = evonet.Config.from_dict({"neat": {"pop_size": size}, "task": {"name": "gym:x"}})
    pins = {"num_inputs": task.num_inputs, "num_outputs": task.num_outputs}
    return evonet.NEAT(config, 1, **pins).ask()


def steps(name: str, genomes: int, seconds: float, ray: bool, evotorch: bool) -> None:
    """Compares steps per second on one environment."""
    task = make_task(f"gym:{name}", episodes=1, max_steps=MOST_STEPS)
    population = first_generation(task, genomes)
    ids, rows = np.arange(genomes), dict[str, float]()
    options: dict[str, Any] = {"dynamics": evonet.Config().dynamics, "threads": 1}

    def generation(evaluator: Any) -> Callable[[], int]:
        def work() -> int:
            found = evaluator.evaluate(population, ids, 1, 0)
            return int(found.info["environment_steps"])  # type: ignore[call-overload]

        return work

    rows["bare environment, one process"] = bare(name, seconds)
    rows["evonet, this process"] = per_second(generation(Here(task, **options)), seconds)
    places: list[WorkersTable] = [WorkersTable(count=1), WorkersTable(count=2)]
    if ray:
        places.append(WorkersTable(where="ray", count=2))
    for table in places:
        evaluator = open_evaluator(task, table, options)
        try:
            label = f"evonet, {table.count} {'on Ray' if table.where == 'ray' else 'processes'}"
            rows[label] = per_second(generation(evaluator), seconds)
        finally:
            evaluator.close()
    cores = os.cpu_count() or 1
    rows[f"gymnasium Sync, {genomes} environments"] = by_hand("sync", name, genomes, seconds)
    for count in (cores, 4 * cores):
        rows[f"gymnasium Async, {count} environments"] = by_hand("async", name, count, seconds)
    if evotorch:
        label = "EvoTorch, num_actors=2, linear policy"
        rows[label] = evotorch_steps(name, genomes, seconds)
    print(f"{name}, {genomes} genomes: environment steps per second")
    best = rows["bare environment, one process"]
    for label, rate in rows.items():
        print(f"  {label:40} {rate:10,.0f} {rate / best:7.2f} of bare", flush=True)


def bare(name: str, seconds: float) -> float:
    environment = gymnasium.make(name, disable_env_checker=True)
    environment.action_space.seed(1)
    actions = [environment.action_space.sample() for _ in range(1000)]

    def work() -> int:
        environment.reset(seed=1)
        for action in actions:
            _, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                environment.reset()
        return len(actions)

    return per_second(work, seconds)


def by_hand(kind: str, name: str, count: int, seconds: float) -> float:
    """What a loop over gymnasium.vector reaches with actions that are there already."""
    environments = gymnasium.make_vec(name, count, vectorization_mode=kind)
    try:
        environments.reset(seed=1)
        environments.action_space.seed(1)
        actions = environments.action_space.sample()

        def work() -> int:
            for _ in range(20):
                environments.step(actions)
            return 20 * count

        return per_second(work, seconds)
    finally:
        environments.close()


def evotorch_steps(name: str, genomes: int, seconds: float) -> float:
    """EvoTorch's own evaluation of as many linear policies, in two actors."""
    from evotorch.neuroevolution import GymNE

    problem = GymNE(
        name,
        "Linear(obs_length, act_length)",
        num_actors=2,
        observation_normalization=False,
        env_config={"max_episode_steps": MOST_STEPS},
    )
    batch = problem.generate_batch(genomes)

    def work() -> int:
        before = int(problem.status.get("total_interaction_count", 0))
        batch.forget_evals()
        problem.evaluate(batch)
        return int(problem.status["total_interaction_count"]) - before

    try:
        return per_second(work, seconds)
    finally:
        problem.kill_actors()


def parts(ray: bool) -> None:
    """Times parts that do nothing."""
    population = evonet.Population.random(512, 4, 2, num_nodes=6, num_connections=20, seed=1)
    ids = np.arange(512)
    places = [WorkersTable(count=1), WorkersTable(count=2)]
    if ray:
        places += [WorkersTable(where="ray", count=1), WorkersTable(where="ray", count=2)]
    for table in places:
        evaluator = open_evaluator(
            Nothing(), table, {"dynamics": evonet.Config().dynamics, "threads": 1}
        )
        assert isinstance(evaluator, Distributed)
        try:
            evaluator.evaluate(population, ids, 1, 0)
            crew = evaluator.crew
            facts, arrays = pack_population(population)
            crew.begin(Job("score", 1, 0, facts), {**arrays, "ids": ids})
            took = []
            for token in range(200):
                start = time.perf_counter()
                crew.submit(0, 10**6 + token, Piece(0, 4))
                crew.wait(None)
                took.append(time.perf_counter() - start)
            took.sort()
            generation = per_second(
                lambda e=evaluator: len(e.evaluate(population, ids, 1, 0).fitness), 2.0
            )
            where = "on Ray" if table.where == "ray" else "processes"
            print(
                f"{table.count} {where}: a part of 4 genomes and back {1e6 * took[100]:,.0f} µs "
                f"(median; 90 %: {1e6 * took[180]:,.0f}), {generation:,.0f} genomes/s of nothing"
            )
        finally:
            evaluator.close()


class Instant:
    """A crew whose workers answer at once, so that only the driver takes time."""

    notes = ()

    def __init__(self, count: int, copies: bool) -> None:
        self._count = count
        self._copies = copies
        self._events = [Event(i, "ready") for i in range(count)]
        self._arrays: dict[str, Any] = {}
        self.bytes = 0
        self.pieces = 0

    def __len__(self) -> int:
        return self._count

    def name(self, worker: int) -> str:
        """Its number."""
        return str(worker)

    def begin(self, job: Job, arrays: Any) -> None:
        """Keeps arrays."""
        self._arrays = arrays

    def submit(self, worker: int, token: int, piece: Piece) -> None:
        """Answers."""
        self.pieces += 1
        if self._copies:
            cut = cut_arrays(self._arrays, piece.start, piece.stop)
            self.bytes += lay_out(cut).size
        info, arrays = pack_evaluation(Evaluation(np.zeros(len(piece))))
        self._events.append(Event(worker, "done", token, info, arrays, seconds=1e-3 * len(piece)))

    def wait(self, seconds: float | None) -> list[Event]:
        """Returns all answers."""
        events, self._events = self._events, []
        return events

    def replace(self, worker: int) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


def driver(size: int = 1_000_000) -> None:
    """What a million genomes cost the driver, and a model of many machines."""
    start = time.perf_counter()
    population = evonet.Population.random(size, 8, 4, num_nodes=6, num_connections=20, seed=1)
    print(f"made {size:,} genomes in {time.perf_counter() - start:.1f} s")
    ids = np.arange(size)
    for workers in (2, 100, 3200):
        crew = Instant(workers, copies=True)
        evaluator = Distributed(Nothing(), crew)  # type: ignore[arg-type]
        assert isinstance(evaluator._dispatch, Dispatch)
        took = []
        for _ in range(3):
            crew.bytes = crew.pieces = 0
            start = time.perf_counter()
            evaluator.evaluate(population, ids, 1, 0)
            took.append(time.perf_counter() - start)
        seconds = sorted(took)[1]
        each = crew.bytes / size
        print(
            f"{workers:,} workers: driver {seconds:.2f} s per generation of {size:,} "
            f"({1e6 * seconds / size:.2f} µs per genome), {crew.pieces:,} parts, "
            f"{each:.0f} bytes per genome, {1e6 * seconds / crew.pieces:.0f} µs per part"
        )
    wire = 8 * crew.bytes / NETWORK
    busy = max(seconds, wire)
    print(
        f"MODEL, not measured: over {NETWORK / 1e9:g} Gbit/s the genomes take {wire:.2f} s to "
        f"leave the driver. A generation cannot be shorter than {busy:.2f} s, so that 100 machines "
        f"of 32 cores are kept busy if a genome takes at least {1e3 * busy * 3200 / size:.1f} ms."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="steps, parts, driver")
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--evotorch", action="store_true")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--genomes", type=int, default=200)
    parser.add_argument("--environments", nargs="*", default=ENVIRONMENTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    what = arguments.what or ("steps", "parts", "driver")
    if "steps" in what:
        for name in arguments.environments:
            few = (arguments.genomes, arguments.seconds, arguments.ray, arguments.evotorch)
            steps(name, *few)
    if "parts" in what:
        parts(arguments.ray)
    if "driver" in what:
        driver()


if __name__ == "__main__":
    main()
