"""Tasks that are stepped in Python: one network call per step for the whole population.

For worlds without a kernel: Gymnasium environments, and custom classes over arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Maybe, Real, Whole
from evonet.definitions.lock import Lock
from evonet.errors import OptionError, ShapeError
from evonet.numerics.philox import Purpose, philox
from evonet.tasks.base import Task, mean_return
from evonet.tasks.options import RETESTS, read_option, read_retests

if TYPE_CHECKING:
    from evonet.network import Network


@runtime_checkable
class World(Protocol):
    """N copies of a world side by side, as arrays.

    Attributes:
        num_inputs: I, the size of an observation.
        num_outputs: O, the size of an action.
        max_steps: The step limit of an episode.

    A world in which episodes with other seeds are the same has `has_chance = False` besides.
    """

    num_inputs: int
    num_outputs: int
    max_steps: int

    def reset(self, seeds: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Starts an episode in each copy.

        Args:
            seeds: [N] 0 to 2^31 - 1. Copies with equal seeds start alike.

        Returns:
            [N, I] observations.
        """

    def step(
        self, outputs: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Lets networks act.

        Args:
            outputs: [N, O]; ignored in copies whose episode has ended.

        Returns:
            [N, I] observations, [N] rewards, and [N] whether the episode has ended.
        """


class Stepwise(Task):
    """Fitness = mean return over a few episodes in a world that is stepped in Python.

    All genomes play the same episodes. All arguments but `solved` are attributes. Threads may share
    one; they play one after the other, as there is one world.
    """

    def __init__(
        self,
        world: World,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        solved: float | None = None,
        retests: int | None = None,
    ) -> None:
        """Makes a task of a world.

        Args:
            world: The world in which networks act.
            episodes: Episodes per genome; None for 1.
            max_steps: The step limit; None for the world's own.
            solved: The fitness that solves the task; None for none.
            retests: Fresh episodes that test a champion; None for 100, or for 0 in a world whose
                `has_chance` is False.

        Raises:
            OptionError: It is not a world, or a number is out of range.
        """
        if not isinstance(world, World):
            raise OptionError(
                f"world={world!r} is not a world, which has num_inputs, num_outputs, max_steps, "
                "reset and step."
            )
        self.world = world
        self._lock = Lock()
        self.num_inputs = world.num_inputs
        self.num_outputs = world.num_outputs
        self.episodes = read_option("episodes", episodes, Whole(1), 1)
        self.max_steps = read_option("max_steps", max_steps, Whole(1), world.max_steps)
        self.fitness_threshold = read_option("solved", solved, Maybe(Real()))
        has_chance = bool(getattr(world, "has_chance", True))
        self.retests = read_retests(retests, RETESTS if has_chance else 0)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Plays all episodes of all genomes side by side; see `Task.evaluate`."""
        return mean_return(self.returns(network, seed, 0, self.episodes))

    def returns(
        self, network: Network, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Plays episodes of all genomes side by side; see `Task.returns`.

        Raises:
            ShapeError: The world gives arrays of the wrong shape.
        """
        shape = len(network), episodes
        count = shape[0] * shape[1]
        if count == 0:
            return np.zeros(shape)
        numbers = first_episode + np.arange(episodes)
        words = philox(seed, 0, numbers, Purpose.EPISODE, 0)[0]
        seeds = np.tile((words >> np.uint64(1)).astype(np.int64), shape[0])
        with self._lock:
            return self._play(network, seeds, shape)

    def _play(
        self, network: Network, seeds: npt.NDArray[np.int64], shape: tuple[int, int]
    ) -> npt.NDArray[np.float64]:
        count = len(seeds)
        network.reset()
        seen = _check("reset", self.world.reset(seeds), (count, self.num_inputs))
        total = np.zeros(count)
        playing = np.ones(count, bool)
        for _ in range(self.max_steps):
            outputs = network(seen.reshape(*shape, self.num_inputs))
            seen, reward, ended = self.world.step(outputs.reshape(count, self.num_outputs))
            seen = _check("step", seen, (count, self.num_inputs))
            total[playing] += _check("step", reward, (count,))[playing]
            playing &= ~_check("step", ended, (count,)).astype(bool)
            if not playing.any():
                break
        return total.reshape(shape)


def _check(method: str, found: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = np.asarray(found)
    if array.shape != shape:
        raise ShapeError(
            f"{method}() of the world must return an array of shape {list(shape)}, "
            f"found {list(array.shape)}."
        )
    return array
