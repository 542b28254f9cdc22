"""Evolves with a custom algorithm: a (mu + lambda) strategy on weights and topology.

The best mu genomes survive, and the other lambda are mutated copies of them: no species and no
crossover. That is all there is to write. The loop, native breeding, progress bar, checkpoints,
resuming and the report come with `evonet.Algorithm`.

    python examples/mu_plus_lambda.py
    evonet resume runs/mu_plus_lambda --generations 200

In a config file it is given by name:

    [run]
    algorithm = "examples/mu_plus_lambda.py:MuPlusLambda"
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import evonet
from evonet.evolution.algorithm import Description
from evonet.evolution.state import State
from evonet.numerics.philox import Purpose, choose, philox
from evonet.tasks import make_task


class MuPlusLambda(evonet.Algorithm):
    """Keeps the best, and mutates copies of them."""

    name = "mu_plus_lambda"

    def next_state(self, state: State, scores: npt.NDArray[np.float64]) -> State:
        """Breeds the next generation from the best genomes of this one."""
        size = self.config.neat.pop_size
        mu = max(1, round(self.config.reproduction.survival_threshold * size))
        ranked = np.argsort(-scores, kind="stable")
        parents = np.sort(ranked[:mu])
        children = np.arange(mu, size)
        words = philox(self.seed, state.generation + 1, children, Purpose.PARENTS, 0)
        chosen = parents[choose(words[0], mu)]
        fitter = np.concatenate([parents, chosen])
        other = np.concatenate([np.full(mu, -1), chosen])  # -1 is a copy; itself, a mutated copy
        return replace(state, **self.breed(state, fitter, other))

    def describe(self) -> Description:
        """Reports how much the survivors differ in fitness."""
        assert self.state.fitness is not None
        spread = float(np.ptp(self.state.fitness))
        return Description({"spread": spread}, f"spread {spread:.3g}")


if __name__ == "__main__":
    config = evonet.Config.load(Path(__file__).parent.parent / "configs" / "cartpole.toml")
    folder = evonet.RunFolder("runs/mu_plus_lambda")
    callbacks = [evonet.Progress()]
    task = make_task("cartpole")
    if folder.config.is_file():
        result = evonet.resume_run(folder.path, task, callbacks=callbacks, algorithm=MuPlusLambda)
    else:
        result = evonet.start_run(
            folder.path, task, config, callbacks=callbacks, algorithm=MuPlusLambda
        )
    assert result.best is not None
    print(f"generation {result.generation}: best fitness {result.best.fitness:g}")
