"""Control tasks: networks act in a small world, and the rewards are their fitness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.definitions.controls import find_control
from evonet.tasks.base import Task
from evonet.tasks.options import check_real, check_whole

if TYPE_CHECKING:
    from evonet.network import Network


class Control(Task):
    """Fitness = mean return over a few episodes, the same for all genomes of a generation.

    A few episodes can be luck. So a genome whose mean reaches `fitness_threshold` plays `trials`
    more, and those alone are its fitness: whatever reaches the threshold has solved the task.

    Attributes:
        name: Of the control task.
        num_inputs: I.
        num_outputs: O.
        episodes: How many every genome plays.
        max_steps: Where an episode is cut.
        trials: How many more episodes a genome plays that seems to solve the task; 0 for none.
        fitness_threshold: The mean return that solves the task, or None.
    """

    is_native = True

    def __init__(
        self,
        name: str,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        trials: int | None = None,
        solved: float | None = None,
    ) -> None:
        """Takes a control task by name.

        Args:
            name: One of `evonet.definitions.controls.CONTROLS`.
            episodes: None for 5, or for 1 where all episodes begin alike.
            max_steps: None for the task's own limit.
            trials: None for 100, or for 0 where all episodes begin alike.
            solved: None for the task's own threshold; a pole task cut by max_steps is solved
                by reaching that.

        Raises:
            OptionError: There is no such task, or a number is out of range.
        """
        task = find_control(name)
        self.name = name
        self.num_inputs = task.num_inputs
        self.num_outputs = task.num_outputs
        default_episodes, default_trials = (5, 100) if task.random_start else (1, 0)
        self.episodes = check_whole("episodes", episodes, 1, default_episodes)
        self.max_steps = check_whole("max_steps", max_steps, 1, task.max_steps)
        self.trials = check_whole("trials", trials, 0, default_trials)
        threshold = task.solved
        if threshold is not None and threshold == task.max_steps:
            threshold = float(self.max_steps)
        self.fitness_threshold = threshold if solved is None else check_real("solved", solved)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Plays whole episodes in the backend.

        Args:
            network: P compiled networks.
            seed: Decides how episodes begin.

        Returns:
            [P] fitness.

        Raises:
            ShapeError: The networks have other inputs or outputs than the task.
        """
        fitness = self.mean_returns(network, seed, self.episodes)
        if self.trials and self.fitness_threshold is not None:
            promising = np.flatnonzero(fitness >= self.fitness_threshold)
            fitness[promising] = self.mean_returns(
                network, seed, self.trials, first_episode=self.episodes, genomes=promising
            )
        return fitness

    def mean_returns(
        self,
        network: Network,
        seed: int,
        episodes: int,
        first_episode: int = 0,
        genomes: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float64]:
        """The mean return of each genome, added up episode by episode so that it is reproducible.

        Args:
            network: P compiled networks.
            seed: Decides how episodes begin.
            episodes: How many each genome plays.
            first_episode: Number of the first.
            genomes: [K] positions of those who play; None for all.

        Returns:
            [K].

        Raises:
            ShapeError: The networks have other inputs or outputs than the task.
        """
        returns = self.returns(network, seed, first_episode, episodes, genomes)
        total = np.zeros(len(returns))
        for episode in range(episodes):
            total += returns[:, episode]
        return total / episodes

    def returns(
        self,
        network: Network,
        seed: int,
        first_episode: int,
        episodes: int,
        genomes: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float64]:
        """Plays single episodes; see `Task.returns`.

        Args:
            network: P compiled networks.
            seed: Decides how episodes begin.
            first_episode: Number of the first episode.
            episodes: E, how many episodes each genome plays.
            genomes: [K] positions of those who play; None for all.

        Returns:
            [K, E].

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
