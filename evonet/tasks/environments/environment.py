"""One Gymnasium environment as networks see it: numbers in, an action out."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
            self._fail(error)
        self._frames = np.tile(frame, (self._stack, 1)) if self._stack > 1 else None
        return frame if self._frames is None else self._frames.reshape(-1)

    def step(self, action: Any) -> tuple[Floats, float, bool, bool]:
        """Acts; gives observation [I], reward, and whether it was terminated and truncated."""
        try:
            seen, reward, terminated, truncated, _ = self.environment.step(action)
            for _ in range(self._repeat - 1):
                if terminated or truncated:
                    break
                seen, more, terminated, truncated, _ = self.environment.step(action)
                reward = float(reward) + float(more)
            frame = seen if self._is_box else flatten(self._space, seen)
        except Exception as error:
            self._fail(error)
        if self._frames is not None:
            self._frames = np.concatenate([self._frames[1:], np.asarray(frame)[None]])
            frame = self._frames.reshape(-1)
        return frame, float(reward), terminated, truncated

    def _fail(self, error: Exception) -> NoReturn:
        raise EpisodeError(
            f"gym:{self.name}: the environment failed in the episode with seed {self.seed}: "
            f"{type(error).__name__}: {error}"
        ) from error

    def close(self) -> None:
        """Closes the environment."""
        self.environment.close()
