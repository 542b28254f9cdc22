"""Gymnasium environments as tasks, through Gymnasium's vector API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError
from evonet.messages import show
from evonet.tasks.stepwise import Stepwise

if TYPE_CHECKING:
    from types import ModuleType

# The step limit of environments that have none.
MOST_STEPS = 1000


class GymnasiumWorld:
    """Copies of one Gymnasium environment; see `World`.

    A Box is flattened; a Discrete observation becomes one input per value. With discrete actions
    the largest output is the action; with continuous ones -1 to 1 is scaled to the bounds. `solved`
    is the environment's reward threshold, or None.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Makes the environment once, with its options, to read its spaces and limits.

        Raises:
            OptionError: Gymnasium is not installed, or has no such environment, or its spaces
                are neither Box nor Discrete.
        """
        self.name = name
        self._gymnasium = _import_gymnasium()
        self._options = options
        self._copies: Any = None
        try:
            example = self._gymnasium.make(name, **options)
        except (self._gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
            raise OptionError(f"gym:{name} cannot be made: {error}") from error
        spec = example.spec
        self._sees, self._acts = example.observation_space, example.action_space
        self.num_inputs = self._size(self._sees, "observations")
        self.num_outputs = self._size(self._acts, "actions")
        self.max_steps = (spec and spec.max_episode_steps) or MOST_STEPS
        self.solved: float | None = spec.reward_threshold if spec else None
        example.close()

    def reset(self, seeds: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Starts an episode in each of N copies; see `World`."""
        if self._copies is None or self._copies.num_envs != len(seeds):
            self.close()
            self._copies = self._gymnasium.make_vec(
                self.name, num_envs=len(seeds), vectorization_mode="sync", **self._options
            )
        seen, _ = self._copies.reset(seed=seeds.tolist())
        return self._inputs(seen)

    def step(
        self, outputs: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Lets networks act; see `World`. Copies that have ended restart on their own."""
        seen, reward, terminated, truncated, _ = self._copies.step(self._actions(outputs))
        return self._inputs(seen), reward, terminated | truncated

    def close(self) -> None:
        """Closes the copies."""
        if self._copies is not None:
            self._copies.close()
            self._copies = None

    def _size(self, space: Any, what: str) -> int:
        spaces = self._gymnasium.spaces
        if isinstance(space, spaces.Discrete):
            return int(space.n)
        if isinstance(space, spaces.Box):
            return math.prod(space.shape)
        raise OptionError(
            f"gym:{self.name} has {what} of type {type(space).__name__}. Allowed: Box, Discrete. "
            "Wrap the environment, or write a custom World."
        )

    def _inputs(self, seen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if isinstance(self._sees, self._gymnasium.spaces.Discrete):
            one_hot: npt.NDArray[Any] = np.eye(self.num_inputs)[seen - self._sees.start]
            return one_hot
        return seen.reshape(len(seen), -1).astype(np.float64)

    def _actions(self, outputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        acts = self._acts
        if isinstance(acts, self._gymnasium.spaces.Discrete):
            known = np.where(np.isnan(outputs), -np.inf, outputs)
            chosen: npt.NDArray[Any] = np.argmax(known, axis=1) + acts.start
            return chosen
        moves = outputs.reshape(len(outputs), *acts.shape).astype(np.float64)
        unit = np.nan_to_num(np.clip(moves, -1, 1), nan=1.0)
        bounded = np.isfinite(acts.low) & np.isfinite(acts.high)
        middle, reach = (np.where(bounded, x, 0.0) for x in _middle_and_reach(acts))
        stretched = np.where(bounded, middle + reach * unit, np.nan_to_num(moves))
        return np.clip(stretched, acts.low, acts.high).astype(acts.dtype)


def _middle_and_reach(box: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    low, high = box.low.astype(np.float64), box.high.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return (low + high) / 2, (high - low) / 2


def gymnasium_task(
    environment: str,
    *,
    episodes: int | None = None,
    max_steps: int | None = None,
    solved: float | None = None,
    options: dict[str, Any] | None = None,
) -> Stepwise:
    """Makes a task of a Gymnasium environment.

    Args:
        environment: Gymnasium's name of it, such as "LunarLander-v3".
        episodes: Episodes per genome; None for 1.
        max_steps: The step limit; None for the environment's own.
        solved: The fitness that solves the task; None for the environment's own threshold.
        options: Passed to the environment.

    Raises:
        OptionError: Gymnasium is not installed or has no such environment, or an option is out
            of range.
    """
    if options is None:
        options = {}
    if not isinstance(options, Mapping):
        raise OptionError(
            f"options = {show(options)} must be a table of the environment's options, such as "
            "{continuous = true}.",
            "options",
        )
    world = GymnasiumWorld(environment, **options)
    if solved is None:
        solved = world.solved
    return Stepwise(world, episodes=episodes, max_steps=max_steps, solved=solved)


def _import_gymnasium() -> ModuleType:
    try:
        import gymnasium
    except ImportError:
        raise OptionError(
            "gym: tasks need Gymnasium. Install it with: pip install 'evonet-gpu[gym]'"
        ) from None
    module: ModuleType = gymnasium
    return module
