"""Control tasks: networks act in a simulated world, and their rewards are their fitness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Maybe, Real, Whole
from evonet.definitions.controls import find_control
from evonet.tasks.base import Task, mean_return
from evonet.tasks.options import RETESTS, read_option, read_retests

if TYPE_CHECKING:
    from evonet.network import Network


class Control(Task):
    """Fitness = mean return over a few episodes, the same for all genomes of a generation.

    A genome can be lucky in a few episodes, so champions are tested in `retests` fresh ones. All
    arguments but `solved` are attributes.
    """

    is_native = True

    def __init__(
        self,
        name: str,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        retests: int | None = None,
        solved: float | None = None,
    ) -> None:
        """Finds a control task by name.

        Args:
            name: One of `evonet.definitions.controls.CONTROLS`.
            episodes: Episodes per genome; None for 5, or for 1 where all episodes start alike.
            max_steps: The step limit; None for the task's own.
            retests: Fresh episodes that test a champion; None for 100, or for 0 where all
                episodes start alike.
            solved: The fitness that solves the task; None for the task's own threshold, or for
                max_steps in a pole task.

        Raises:
            OptionError: There is no such task, or a number is out of range.
        """
        task = find_control(name)
        self.name = name
        self.num_inputs = task.num_inputs
        self.num_outputs = task.num_outputs
        default_episodes, default_retests = (5, RETESTS) if task.random_start else (1, 0)
        self.episodes = read_option("episodes", episodes, Whole(1), default_episodes)
        self.max_steps = read_option("max_steps", max_steps, Whole(1), task.max_steps)
        self.retests = read_retests(retests, default_retests)
        threshold = task.solved
        if threshold is not None and threshold == task.max_steps:
            threshold = float(self.max_steps)
        self.fitness_threshold = read_option("solved", solved, Maybe(Real()), threshold)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Plays whole episodes in the backend; see `Task.evaluate`."""
        return self.mean_returns(network, seed, self.episodes)

    def mean_returns(
        self,
        network: Network,
        seed: int,
        episodes: int,
        first_episode: int = 0,
        genomes: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float64]:
        """Returns the mean return of each genome; the arguments are those of `returns`."""
        return mean_return(self.returns(network, seed, first_episode, episodes, genomes))

    def returns(
        self,
        network: Network,
        seed: int,
        first_episode: int,
        episodes: int,
        genomes: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float64]:
        """Plays single episodes; see `Task.returns`.

        Only the genomes at the positions `genomes`, [K], play if these are given.

        Raises:
            ShapeError: The networks have other inputs or outputs than the task.
        """
        played = network.rollout(
            self.name,
            episodes=episodes,
            seed=seed,
            first_episode=first_episode,
            max_steps=self.max_steps,
            genomes=genomes,
        )
        return played.returns.astype(np.float64)

    def __repr__(self) -> str:
        return f"Control({self.name!r}, episodes={self.episodes}, max_steps={self.max_steps})"
