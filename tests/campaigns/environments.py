"""Counts how often Gymnasium environments are solved by defaults, and how well champions do.

    python -m tests.campaigns.environments [--seeds 0-9] [--budget 600] [environment ...]

Every run is as `evonet evolve gym:NAME` would do it in one process, until it is solved or the
budget of processor seconds is spent; `--set` changes settings. Its champion then plays 100 episodes
that no part of the run has seen, and so do random actions. `--curves FILE` adds a line of JSON per
run with the champion's fitness by processor seconds and environment steps; `--draw FILE.svg` draws
such a file. `python -m benchmarks.environments` measures what a step costs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import evonet
from evonet.cli.settings import gather
from evonet.evolution.hooks import Callback, Run
from evonet.evolution.record import GenerationRecord
from evonet.tasks import task_from_config
from evonet.tasks.gymnasium import GymnasiumTask
from tests.campaigns.claims import FRESH_SEED

ENVIRONMENTS = ("CartPole-v1", "InvertedPendulum-v5")
FRESH_EPISODES = 100


class Curve(Callback):
    """Follows a run, and ends it when its budget is spent.

    Attributes:
        spent: Processor seconds so far.
        points: A row per new champion: processor seconds, environment steps, fitness.
    """

    def __init__(self, budget: float) -> None:
        self.spent = 0.0
        self.points: list[tuple[float, int, float]] = []
        self._budget = budget
        self._start = time.process_time()

    def on_start(self, run: Run) -> None:
        self._run = run

    def on_generation(self, record: GenerationRecord) -> bool | None:
        self.spent = time.process_time() - self._start
        best, task = self._run.algorithm.best, self._run.task
        assert best is not None
        assert isinstance(task, GymnasiumTask)
        if best.generation == record.generation:
            self.points.append((self.spent, task.environment_steps, best.fitness))
        return self.spent >= self._budget


def random_mean(task: GymnasiumTask) -> float:
    """The mean return of random actions."""
    environment = task.make(max_episode_steps=task.max_steps)
    returns = np.zeros(FRESH_EPISODES)
    for episode, seed in enumerate(task.episode_seeds(FRESH_SEED, 0, FRESH_EPISODES)):
        environment.reset(seed=seed)
        environment.action_space.seed(seed)
        over = False
        while not over:
            _, reward, terminated, truncated, _ = environment.step(
                environment.action_space.sample()
            )
            returns[episode] += float(reward)
            over = terminated or truncated
    environment.close()
    return float(returns.mean())


def run(name: str, seed: int, budget: float, changes: dict[str, Any]) -> dict[str, Any]:
    """Evolves once, and describes what came out."""
    tables = {"task": {"name": f"gym:{name}"}, "run": {"seed": seed, "threads": 1}}
    config = evonet.Config.from_dict(tables).replace(changes)
    task = task_from_config(config)
    assert isinstance(task, GymnasiumTask)
    curve = Curve(budget)
    result = evonet.evolve(task, config, callbacks=[curve])
    best, steps = result.best, task.environment_steps
    assert best is not None
    task.state = best.task_state
    network = evonet.compile(best.genome, **result.algorithm.config.dynamics.options())
    fresh = task.returns(network, FRESH_SEED, 0, FRESH_EPISODES)
    task.close()
    return {
        "environment": name,
        "seed": seed,
        "solved": result.solved,
        "generations": result.generation + 1,
        "steps": steps,
        "processor_seconds": round(curve.spent, 1),
        "claimed": best.fitness,
        "test": str(best.tested),
        "fresh": float(fresh.mean()),
        "curve": curve.points,
    }


# The colours of the other charts of the documentation, on paper of their own.
HUES = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#7b8794")
INK, FAINT, GRID = "#1f2933", "#9aa5b1", "#e4e7eb"


def draw(source: Path, target: Path) -> None:
    """Draws the champions' fitness by processor seconds, a line per run."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "evonet",
            "svg.fonttype": "none",
            "font.size": 9,
            "font.family": "sans-serif",
            "text.color": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.edgecolor": FAINT,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    runs = [json.loads(line) for line in source.read_text().splitlines()]
    names = list(dict.fromkeys(run["environment"] for run in runs))
    width = 7.2 if len(names) == 1 else 4.2 * len(names)
    figure, axes = plt.subplots(1, len(names), figsize=(width, 3), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        chosen = [run for run in runs if run["environment"] == name]
        for number, run in enumerate(chosen):
            seconds, _, fitness = zip(*run["curve"], strict=True)
            x, y = [*seconds, run["processor_seconds"]], [*fitness, fitness[-1]]
            hue, label = HUES[number % len(HUES)], f"seed {run['seed']}"
            axis.step(x, y, where="post", linewidth=1.5, color=hue, label=label)
            axis.plot(x[-1], y[-1], "o" if run["solved"] else "x", markersize=5, color=hue)
        axis.set_title(f"{name}: fitness of the champion", loc="left", fontsize=10)
        axis.set_xlabel("processor seconds")
        axis.legend(frameon=False, loc="lower right")
        axis.grid(color=GRID)
        axis.set_axisbelow(True)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS, metavar="environment")
    parser.add_argument("--seeds", type=_seeds, default=_seeds("0-9"))
    parser.add_argument("--budget", type=float, default=600.0, help="processor seconds per run")
    parser.add_argument("--set", action="append", default=[], dest="assignments")
    parser.add_argument("--curves", type=Path)
    parser.add_argument("--draw", type=Path, help="draw the file of --curves, and run nothing")
    arguments = parser.parse_args()
    if arguments.draw is not None:
        return draw(arguments.curves, arguments.draw)
    for name in arguments.environments:
        chance = random_mean(GymnasiumTask(name))
        print(f"{name}: random actions {chance:.1f}", flush=True)
        solved = 0
        for seed in arguments.seeds:
            found = run(name, seed, arguments.budget, gather({}, arguments.assignments))
            solved += found["solved"]
            print(
                f"  seed {seed}: solved {found['solved']!s:5} generations {found['generations']:4} "
                f"steps {found['steps'] / 1e6:6.2f} M  "
                f"processor s {found['processor_seconds']:7.1f}  "
                f"claimed {found['claimed']:.1f} ({found['test']})  fresh {found['fresh']:.1f}",
                flush=True,
            )
            if arguments.curves is not None:
                with arguments.curves.open("a") as file:
                    file.write(json.dumps({**found, "random": chance}) + "\n")
        print(f"  solved in {solved} of {len(arguments.seeds)}", flush=True)


if __name__ == "__main__":
    main()
