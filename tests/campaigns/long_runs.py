"""Shows that a generation takes as long at the end of a long run as at its start.

    python -m tests.campaigns.long_runs [--generations 50000] [--population 10]

The run has everything that a run folder has: metrics, checkpoints, champions and improvements, and
the progress bar. Scores rise all along, so that there are improvements in every tenth, and genomes
cannot grow. Prints the processor time of a generation in each tenth of the run and in its first
hundred generations; the exit code is 1 if the last tenth takes over 1.2 times as long as the
second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import evonet
from evonet.tasks import Task


class Drifting(Task):
    """Scores that rise a little with every generation, so that each has a new champion."""

    num_inputs, num_outputs = 2, 1

    def __init__(self) -> None:
        self.calls = 0

    def evaluate(self, network: Any, seed: int) -> Any:
        self.calls += 1
        outputs = network(np.ones((1, 2)))[:, 0, 0].astype(np.float64)
        return np.tanh(outputs) + (self.calls // 100)


class Clock(evonet.Callback):
    """Notes the processor time at the end of each generation."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_generation(self, record: Any) -> bool | None:
        """Looks at the clock."""
        self.times.append(time.process_time())
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--generations", type=int, default=50_000)
    parser.add_argument("--population", type=int, default=10)
    options = parser.parse_args()
    config = evonet.Config.from_dict(
        {
            "run": {"generations": options.generations, "threads": 1},
            "neat": {"pop_size": options.population},
            "genome": {"conn_add_prob": 0.0, "node_add_prob": 0.0},
        }
    )
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        evonet.start_run(
            Path(folder) / "run", Drifting(), config, callbacks=[evonet.Progress(), clock]
        )
    spent = np.diff(clock.times) * 1e6
    print(f"generations 10 to 109: {np.median(spent[10:110]):,.0f} us")
    tenths = [float(np.median(part)) for part in np.array_split(spent, 10)]
    means = [float(np.mean(part)) for part in np.array_split(spent, 10)]
    print("tenths, median us:", " ".join(f"{value:,.0f}" for value in tenths))
    print("tenths, mean us:  ", " ".join(f"{value:,.0f}" for value in means))
    return int(tenths[-1] > 1.2 * tenths[1])


if __name__ == "__main__":
    sys.exit(main())
