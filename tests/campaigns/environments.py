"""Counts how often Gymnasium environments are solved by defaults, and what their steps cost.

    python -m tests.campaigns.environments [--seeds 10] [--generations 100] [environment ...]

Every run is as `evonet evolve gym:NAME` would do it. "Useful" is the share of steps that counted
for the return of some episode. "Overhead" is what a step costs beside the bare environment: the
actions of a generation are recorded and repeated in an environment alone.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium

import evonet
from evonet.tasks.gymnasium import GymnasiumTask

ENVIRONMENTS = ("CartPole-v1", "InvertedPendulum-v5")


class Recorder:
    """Keeps what is done in an environment."""

    def __init__(self, environment: Any, episodes: list[tuple[int, list[Any]]]) -> None:
        self._environment = environment
        self._episodes = episodes
        self._actions: list[Any] = []

    def reset(self, seed: int) -> Any:
        self._actions = []
        self._episodes.append((seed, self._actions))
        return self._environment.reset(seed)

    def act(self, action: Any) -> Any:
        self._actions.append(action)
        return self._environment.act(action)

    def fail(self, error: Exception) -> None:
        self._environment.fail(error)


def overhead(name: str) -> tuple[float, float]:
    """The share of useful steps, and the processor time per step over that of the bare one."""
    task = GymnasiumTask(name)
    config = evonet.Config.from_dict({"task": {"name": f"gym:{name}"}, "run": {"threads": 1}})
    pins = {"num_inputs": task.num_inputs, "num_outputs": task.num_outputs}
    network = evonet.compile(evonet.NEAT(config, 1, **pins).ask(), threads=1)
    task.play(network, 1, 0, 3)
    places, episodes = task._places, list[tuple[int, list[Any]]]()
    task._places = [Recorder(place, episodes) for place in places]  # type: ignore[misc]
    played = task.play(network, 1, 0, 3)
    task._places = places
    taken = sum(len(actions) for _, actions in episodes)
    bare = gymnasium.make(name, disable_env_checker=True)
    ratios = []
    for _ in range(5):
        start = time.process_time()
        task.play(network, 1, 0, 3)
        middle = time.process_time()
        for seed, actions in episodes:
            bare.reset(seed=seed)
            for action in actions:
                bare.step(action)
        ratios.append((middle - start) / (time.process_time() - middle) - 1)
    return int(played.steps.sum()) / taken, sorted(ratios)[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS, metavar="environment")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--generations", type=int, default=100)
    arguments = parser.parse_args()
    for name in arguments.environments:
        useful, extra = overhead(name)
        print(f"{name}: useful steps {useful:.1%}, overhead per step {extra:.0%}", flush=True)
        config = evonet.Config.from_dict({"task": {"name": f"gym:{name}"}})
        solved = 0
        for seed in range(arguments.seeds):
            start = time.process_time()
            result = evonet.evolve(
                GymnasiumTask(name), config, generations=arguments.generations, seed=seed
            )
            spent, best = time.process_time() - start, result.best
            assert best is not None
            solved += result.solved
            print(
                f"  seed {seed}: solved {result.solved}, generation {result.generation}, "
                f"fitness {best.fitness:g}, {best.tested}, {spent:.1f} CPU s",
                flush=True,
            )
        print(f"  solved in {solved} of {arguments.seeds}", flush=True)


if __name__ == "__main__":
    main()
