"""One Gymnasium environment as networks see it: numbers in, an action out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from evonet.errors import EpisodeError, OptionError
from evonet.tasks.environments.spaces import flatten
from evonet.tasks.user import searching

Floats = npt.NDArray[np.float64]


def make_environment(name: str, options: Mapping[str, Any], **more: Any) -> gymnasium.Env[Any, Any]:
    """Makes an environment by name; "module:Name" imports the module first.

    The current folder is searched for modules too, so the name must come from the user.

    Args:
        name: Gymnasium's name of it.
        options: Passed to the environment.
        **more: Arguments of `gymnasium.make`.

    Raises:
        OptionError: It cannot be made; the message says why.
    """
    try:
        with searching(os.getcwd()):
            # The checker would warn about others' environments, and doubles the cost of a step.
            return gymnasium.make(name, disable_env_checker=True, **more, **options)
    except Exception as error:  # environments may raise anything
        known = (gymnasium.error.Error, ImportError, TypeError, ValueError)
        kind = "" if isinstance(error, known) else f"{type(error).__name__}: "
        raise OptionError(f"gym:{name} cannot be made: {kind}{error}") from error


class Environment:
    """An environment with action repeat and frame stack.

    Attributes:
        environment: Gymnasium's own object.
        seed: The seed of the current episode.
    """

    def __init__(
        self,
        name: str,
        environment: gymnasium.Env[Any, Any],
        action_repeat: int = 1,
        frame_stack: int = 1,
    ) -> None:
        """Wraps an environment.

        Args:
            name: What users call it.
            environment: The environment.
            action_repeat: Steps for which an action is repeated.
            frame_stack: Observations that a network sees at once, the newest last.
        """
        self.name = name
        self.environment = environment
        self.seed = 0
        self._space = environment.observation_space
        self._is_box = isinstance(self._space, spaces.Box) and len(self._space.shape) == 1
        self._repeat = action_repeat
        self._stack = frame_stack
        self._frames: Floats | None = None

    def reset(self, seed: int) -> Floats:
        """Starts an episode; gives the first observation [I]."""
        self.seed = seed
        try:
            seen, _ = self.environment.reset(seed=seed)
            frame = flatten(self._space, seen)
        except Exception as error:
            self.fail(error)
        self._frames = np.tile(frame, (self._stack, 1)) if self._stack > 1 else None
        return frame if self._frames is None else self._frames.reshape(-1)

    @property
    def act(self) -> Callable[[Any], tuple[Any, Any, bool, bool, Any]]:
        """Acts; gives observation [I], reward, whether it was terminated, truncated, and more.

        Where there is nothing to add, it is the environment's own method.
        """
        if self._is_box and self._repeat == self._stack == 1:
            return self.environment.step
        return self._act

    def _act(self, action: Any) -> tuple[Any, Any, bool, bool, Any]:
        seen, reward, terminated, truncated, info = self.environment.step(action)
        for _ in range(self._repeat - 1):
            if terminated or truncated:
                break
            seen, more, terminated, truncated, info = self.environment.step(action)
            reward = float(reward) + float(more)
        frame = flatten(self._space, seen)
        if self._frames is not None:
            self._frames = np.concatenate([self._frames[1:], frame[None]])
            frame = self._frames.reshape(-1)
        return frame, reward, terminated, truncated, info

    def step(self, action: Any) -> tuple[Floats, float, bool, bool]:
        """Acts once; gives observation, reward, and whether it was terminated and truncated.

        Raises:
            EpisodeError: The environment failed.
        """
        try:
            seen, reward, terminated, truncated, _ = self.act(action)
            return np.asarray(seen, np.float64), float(reward), terminated, truncated
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> NoReturn:
        """Raises an error that names the environment and the episode's seed.

        Raises:
            EpisodeError: Always.
        """
        raise EpisodeError(
            f"gym:{self.name}: the environment failed in the episode with seed {self.seed}: "
            f"{type(error).__name__}: {error}"
        ) from error

    def close(self) -> None:
        """Closes the environment."""
        self.environment.close()
