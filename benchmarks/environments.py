"""What evonet adds to a step of a Gymnasium environment.

    python -m benchmarks.environments [--repeats 5] [environment ...]

A first generation plays three episodes per genome. Its actions are recorded and repeated by a plain
loop in one environment that `gymnasium.make` gives, whose seconds are those of the environment
alone. Processor seconds, of one thread, in turns; the overhead is the median of all turns.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium

import evonet
from evonet.tasks.gymnasium import GymnasiumTask

ENVIRONMENTS = (
    *("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"),
    *("LunarLander-v3", "BipedalWalker-v3", "InvertedPendulum-v5", "Hopper-v5"),
)
EPISODES = 3

Episodes = list[tuple[int, list[Any]]]


class Recorder:
    """Plays in an environment, and keeps what is done in it."""

    def __init__(self, environment: Any, episodes: Episodes) -> None:
        self.limit = environment.limit
        self.fail = environment.fail
        self._environment = environment
        self._episodes = episodes

    def reset(self, seed: int) -> Any:
        """Starts an episode."""
        self._episodes.append((seed, []))
        return self._environment.reset(seed)

    def act(self, action: Any) -> Any:
        """Acts."""
        self._episodes[-1][1].append(action)
        return self._environment.act(action)


def first_generation(task: GymnasiumTask) -> evonet.Network:
    """Compiles the genomes that a run with default settings begins with."""
    config = evonet.Config.from_dict({"task": {"name": f"gym:{task.name}"}, "run": {"threads": 1}})
    pins = {"num_inputs": task.num_inputs, "num_outputs": task.num_outputs}
    return evonet.compile(evonet.NEAT(config, 1, **pins).ask(), threads=1)


def record(task: GymnasiumTask, network: evonet.Network) -> Episodes:
    """Plays the episodes, and returns the seed and the actions of each."""
    from evonet.tasks.environments.episodes import play

    episodes: Episodes = []
    seeds = task.episode_seeds(1, 0, EPISODES)
    play(network, seeds, Recorder(task.make_environment(), episodes), task.decode)
    return episodes


def repeat(environment: Any, episodes: Episodes) -> None:
    """Does what was recorded."""
    for seed, actions in episodes:
        environment.reset(seed=seed)
        for action in actions:
            environment.step(action)


def measure(name: str, repeats: int) -> tuple[float, float, float, float]:
    """Microseconds per step alone and with evonet, the overhead, and the steps per episode."""
    task = GymnasiumTask(name)
    network = first_generation(task)
    episodes = record(task, network)
    steps = sum(len(actions) for _, actions in episodes)
    bare = gymnasium.make(name, disable_env_checker=True)
    times: list[tuple[float, float]] = []
    for _ in range(repeats):
        start = time.process_time()
        repeat(bare, episodes)
        middle = time.process_time()
        task.play(network, 1, 0, EPISODES)
        times.append((middle - start, time.process_time() - middle))
    alone, ours = (sorted(column)[repeats // 2] for column in zip(*times, strict=True))
    extra = sorted(b / a - 1 for a, b in times)[repeats // 2]
    return alone / steps * 1e6, ours / steps * 1e6, extra, steps / len(episodes)


def main() -> None:
    """Prints a row per environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS, metavar="environment")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'us per step':<26}{'alone':>8}{'evonet':>9}{'overhead':>10}{'steps per episode':>19}")
    for name in options.environments:
        alone, ours, extra, length = measure(name, options.repeats)
        print(f"{name:<26}{alone:>8.1f}{ours:>9.1f}{extra:>10.1%}{length:>19.1f}", flush=True)


if __name__ == "__main__":
    main()
