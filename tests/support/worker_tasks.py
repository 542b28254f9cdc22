"""Tasks for workers, some of which misbehave; importable, so that they travel by pickle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.evaluation import Evaluation, Round
from evonet.genes.population import PARTS, Population
from evonet.network import Network
from evonet.tasks.base import Task


class Indexed(Task):
    """Fitness depends on the seed and on each genome's position; measures and sums come along."""

    num_inputs, num_outputs = 2, 1

    def __init__(self) -> None:
        self._state = {"total": np.zeros(1)}

    def score(self, round: Round) -> Evaluation:
        index = round.network.genome_index
        x = np.random.default_rng(round.seed).normal(size=(4, 2))
        answers = round.network(x)[..., 0].astype(np.float64)
        fitness = answers.sum(axis=1) + index * 0.001 + self._state["total"][0]
        return Evaluation(
            fitness,
            measures=answers[:, :2],
            info={"steps": len(index), "share": float(len(index))},
            gathered={"sums": answers},
            task_state=self.state,
        )

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {"total": self._state["total"].copy()}

    @state.setter
    def state(self, state: Any) -> None:
        self._state = {"total": np.array(state.get("total", [0.0]))}

    def merge(self, gathered: Any) -> None:
        self._state["total"] += gathered["sums"].sum(axis=1).sum() * 1e-3


class Lamarckian(Indexed):
    """Changes weights by chance that depends on a genome's position."""

    def score(self, round: Round) -> Evaluation:
        found = super().score(round)
        genes = round.population
        owner = np.repeat(round.network.genome_index, np.diff(genes.conn_start))
        arrays: dict[str, Any] = {name: getattr(genes, name) for name in PARTS}
        arrays["weight"] = (genes.weight * (1 + 0.01 * owner)).astype(genes.dtype)
        return Evaluation(
            found.fitness,
            population=Population(**arrays),
            gathered=found.gathered,
            task_state=found.task_state,
        )


class Bad(Task):
    """Misbehaves for genomes with certain positions, in one of many ways."""

    num_inputs, num_outputs = 2, 1

    def __init__(self, how: str, guilty: tuple[int, ...] = (5,), once: str | None = None) -> None:
        self.how = how
        self.guilty = guilty
        self.once = once  # a file whose absence means that it has not yet misbehaved
        self.hoard: list[Any] = []

    def evaluate(self, network: Network, seed: int) -> Any:
        fitness = network(np.ones((1, 2)))[:, 0, 0].astype(np.float64)
        if not set(self.guilty) & set(network.genome_index.tolist()):
            return fitness
        if self.once is not None:
            if Path(self.once).exists():
                return fitness
            Path(self.once).touch()
        return self.misbehave(fitness)

    def misbehave(self, fitness: npt.NDArray[np.float64]) -> Any:
        match self.how:
            case "raise":
                raise ZeroDivisionError("by\nzero")
            case "exit":
                sys.exit(3)
            case "die":
                os._exit(4)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(1000)
            case "shape":
                return fitness[:0]
            case "text":
                return ["good"] * len(fitness)
            case "nan":
                return np.where(np.arange(len(fitness)) == 0, np.nan, fitness)
            case "leak":
                self.hoard.append(np.ones(6 << 20))
            case "print":
                print("x" * 100_000)
            case "fork":
                if os.fork() == 0:
                    return fitness  # the child goes on as if it was the worker
            case "children":
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
                os._exit(5)
        return fitness


class Unsplit(Task):
    """Scores genomes by their rank, so that all of them must be there."""

    num_inputs, num_outputs = 2, 1
    splits = False

    def evaluate(self, network: Network, seed: int) -> Any:
        answers = network(np.ones((1, 2)))[:, 0, 0]
        return np.argsort(np.argsort(answers, kind="stable"))


class Stubborn(Task):
    """Cannot be pickled."""

    num_inputs, num_outputs = 2, 1

    def __init__(self) -> None:
        self.lock = lambda: None

    def evaluate(self, network: Network, seed: int) -> Any:
        return np.zeros(len(network))


class Unmakeable(Task):
    """Cannot be unpickled."""

    num_inputs, num_outputs = 2, 1

    def evaluate(self, network: Network, seed: int) -> Any:
        return np.zeros(len(network))

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError("not here")

    def __getstate__(self) -> Any:
        return {"something": 1}
