"""Counts how often Gymnasium environments are solved by defaults.

    python -m tests.campaigns.environments [--seeds 10] [--generations 100] [environment ...]

Every run is as `evonet evolve gym:NAME` would do it. `python -m benchmarks.environments` measures
what a step costs beside the bare environment.
"""

from __future__ import annotations

import argparse
import time

import evonet
from evonet.tasks.gymnasium import GymnasiumTask

ENVIRONMENTS = ("CartPole-v1", "InvertedPendulum-v5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS, metavar="environment")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--generations", type=int, default=100)
    arguments = parser.parse_args()
    for name in arguments.environments:
        print(name, flush=True)
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
