"""Counts how often evolution solves the shipped tasks, and after how many evaluations.

    python -m tests.campaigns.success [--seeds 20] [task ...]

Every task runs with its shipped config, once per seed. A run has solved its task only if the
champion also solves it in 100 fresh episodes, which no generation has seen; a pole must stand for
100,000 steps. The budget is pop_size times generations of the config.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import evonet
from evonet.definitions.controls import find_control
from evonet.installation import resource_folder
from evonet.tasks import Control, Task, task_from_config

TASKS = (
    "xor",
    "parity",
    "cartpole",
    "acrobot",
    "mountain_car",
    "mountain_car_continuous",
    "pendulum",
    "single_pole",
    "single_pole_no_velocities",
    "double_pole",
    "double_pole_no_velocities",
    "copy",
    "t_maze",
)
FRESH_SEED = 2**63  # beyond every seed that evolution gives to a task


@dataclass
class Attempt:
    """The outcome of one run."""

    solved: bool
    evaluations: int
    seconds: float


def holds(task: Task, best: evonet.Best, config: evonet.Config) -> bool:
    """Whether a champion also solves fresh episodes."""
    if not isinstance(task, Control):
        return True  # there is no chance in it
    solved = find_control(task.name).solved
    if solved is None:
        solved = task.fitness_threshold  # the config's, where the task itself has none
    episodes = 100 if task.retests else 1
    network = evonet.compile(best.genome, **config.dynamics.options())
    mean = task.mean_returns(network, FRESH_SEED, episodes)[0]
    return solved is not None and bool(mean >= solved)


def load_config(name: str) -> evonet.Config:
    return evonet.Config.load(resource_folder("configs") / f"{name}.toml")


def attempt(name: str, seed: int) -> Attempt:
    config = load_config(name)
    task = task_from_config(config)
    begin = time.perf_counter()
    result = evonet.evolve(task, config, seed=seed)
    seconds = time.perf_counter() - begin
    solved = result.best is not None and result.solved and holds(task, result.best, config)
    return Attempt(solved, result.evaluations, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=TASKS, metavar="task")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{'task':26} solved  evaluations: median      most    budget | seconds: median   most")
    for name in arguments.tasks:
        config = load_config(name)
        budget = config.neat.pop_size * config.run.generations
        attempts = [attempt(name, seed) for seed in range(arguments.seeds)]
        used = [a.evaluations for a in attempts]
        seconds = [a.seconds for a in attempts]
        print(
            f"{name:26} {sum(a.solved for a in attempts):3}/{len(attempts):<3}"
            f"{statistics.median(used):20,.0f} {max(used):9,} {budget:9,} |"
            f" {statistics.median(seconds):15.2f} {max(seconds):6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
