"""Compares what champions claim with what they do in fresh episodes.

    python -m tests.campaigns.claims [--runs 10] [--generations 40] [task ...]

Every run is on a task with chance, by the defaults of the command line; a task may be any name
that `evonet evolve` takes, such as gym:LunarLander-v3. The champion's fitness is then compared
with its mean return over 500 episodes that no part of the run has seen.
"""

from __future__ import annotations

import argparse
import itertools

import evonet
from evonet.tasks import make_task

TASKS = ("pendulum", "mountain_car", "acrobot", "mountain_car_continuous", "cartpole")
FRESH_SEED = 2**63  # beyond every seed that evolution gives to a task
FRESH_EPISODES = 500


def fresh_mean(task: evonet.tasks.Task, best: evonet.Best, config: evonet.Config) -> float:
    """The mean return of a champion over episodes that its run has not seen."""
    network = evonet.compile(best.genome, **config.dynamics.options())
    task.state = best.task_state
    return float(task.returns(network, FRESH_SEED, 0, FRESH_EPISODES).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=TASKS, metavar="task")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--generations", type=int, default=40)
    arguments = parser.parse_args()
    names = list(itertools.islice(itertools.cycle(arguments.tasks), arguments.runs))
    print(f"{'task':26} seed  claimed   99 % interval         fresh    within")
    held = 0
    for seed, name in enumerate(names):
        task = make_task(name)
        config = evonet.Config.from_dict({"task": {"name": name}})
        result = evonet.evolve(task, config, generations=arguments.generations, seed=seed)
        best = result.best
        assert best is not None
        assert best.tested is not None
        fresh = fresh_mean(task, best, result.algorithm.config)
        within = best.tested.low <= fresh <= best.tested.high
        held += within
        ends = f"{best.tested.low:9.2f} to {best.tested.high:8.2f}"
        print(
            f"{name:26} {seed:4} {best.fitness:8.2f}  {ends} {fresh:9.2f}    {within}", flush=True
        )
    print(f"within the stated interval: {held} of {len(names)}")


if __name__ == "__main__":
    main()
