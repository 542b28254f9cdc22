"""Evolves on a Gymnasium environment in two worker processes, and on four islands.

The champion is the one that a run without workers finds, byte for byte.
"""

import evonet
from evonet.tasks import make_task


def main() -> None:
    config = evonet.Config.from_dict(
        {
            "neat": {"pop_size": 20},
            "islands": {"count": 4, "migrate_every": 3, "migrants": 1},
            "workers": {"count": 2, "timeout": 60.0},
        }
    )
    task = make_task("gym:CartPole-v1", retests=20)
    result = evonet.evolve(task, config, generations=4, callbacks=[evonet.Progress()])
    print(f"generation {result.generation}: {result.best.fitness:g}, solved: {result.solved}")


if __name__ == "__main__":  # workers import this file, and must not start a run themselves
    main()
