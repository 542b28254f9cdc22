"""One Gymnasium environment as networks see it: numbers in, an action out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.wrappers import OrderEnforcing, TimeLimit

from evonet.errors import EpisodeError, OptionError
from evonet.tasks.environments.spaces import flatten, names_of
from evonet.tasks.user import searching

if TYPE_CHECKING:
    from evonet.tasks.environments.pixels import Screen

Floats = npt.NDArray[np.float64]
Act = Callable[[Any], tuple[Any, Any, bool, bool, Any]]


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
        text = " ".join(str(error).split())
        raise OptionError(f"gym:{name} cannot be made: {kind}{text}") from error


def action_names(environment: gymnasium.Env[Any, Any]) -> tuple[str, ...]:
    """What the actions mean, by keys or as Atari's environments say it; empty if nobody says so."""
    space = environment.action_space
    if isinstance(space, spaces.Dict):
        return tuple(names_of(space))
    try:
        meanings = environment.unwrapped.get_action_meanings()  # type: ignore[attr-defined]
        found = tuple(str(name).lower() for name in meanings)
    except Exception:  # environments may raise anything, and most have no such method
        return ()
    return found if isinstance(space, spaces.Discrete) and len(found) == space.n else ()


def close_environment(environment: gymnasium.Env[Any, Any], name: str) -> None:
    """Closes an environment.

    Args:
        environment: The environment.
        name: What users call it, such as "gym:CartPole-v1".

    Raises:
        EpisodeError: It raised an error.
    """
    try:
        environment.close()
    except Exception as error:
        text = " ".join(str(error).split())
        message = f"{name}: the environment failed when it was closed: "
        raise EpisodeError(f"{message}{type(error).__name__}: {text}") from error


def _strip(environment: gymnasium.Env[Any, Any]) -> tuple[gymnasium.Env[Any, Any], int | None]:
    """Returns what is left without the wrappers that every environment has, and its step limit."""
    limit = None
    while type(environment) in (TimeLimit, OrderEnforcing):
        if isinstance(environment, TimeLimit):
            limit = environment._max_episode_steps
        environment = environment.env  # type: ignore[attr-defined]
    return environment, limit


def _answer_quickly(space: spaces.Space[Any]) -> None:
    """Lets a space recognise whole numbers at once.

    Many environments check every action, which takes up to a sixth of a step.
    """
    if type(space) is not spaces.Discrete:
        return
    plain, start, end = space.contains, int(space.start), int(space.start + space.n)

    def contains(action: Any) -> bool:
        return (type(action) is int and start <= action < end) or plain(action)

    space.contains = contains  # type: ignore[method-assign, assignment]


class Environment:
    """An environment with action repeat, frame stack and perhaps a front for its images.

    Attributes:
        environment: Gymnasium's own object.
        seed: The seed of the current episode.
        limit: Calls of `act` after which an episode ends; None if `act` sees to that.
        screen: What makes features of images, or None.
    """

    def __init__(
        self,
        name: str,
        environment: gymnasium.Env[Any, Any],
        action_repeat: int = 1,
        frame_stack: int = 1,
        screen: Screen | None = None,
    ) -> None:
        """Wraps an environment.

        Args:
            name: What users call it, such as "gym:CartPole-v1".
            environment: The environment.
            action_repeat: Steps for which an action is repeated.
            frame_stack: Observations that a network sees at once, the newest last.
            screen: What makes features of images; None for observations as they are.
        """
        self.name = name
        self.screen = screen
        self.environment = environment
        self.seed = 0
        self._space = environment.observation_space
        self._repeat = action_repeat
        self._stack = frame_stack
        self._frames: npt.NDArray[Any] | None = None
        self._elapsed = 0
        # Steps are counted here, so that nothing stands between a network and its environment.
        inner, self._most_steps = _strip(environment)
        self._step = inner.step
        _answer_quickly(environment.unwrapped.action_space)
        is_plain = (
            isinstance(self._space, spaces.Box)
            and len(self._space.shape) == 1
            and self._space.dtype in (np.float32, np.float64)
        )
        if is_plain and screen is None and action_repeat == frame_stack == 1:
            self.act: Act = inner.step
            self.limit = self._most_steps
        else:
            self.act, self.limit = self._act, None

    def reset(self, seed: int) -> Floats:
        """Starts an episode; gives the first observation [I]."""
        self.seed, self._elapsed = seed, 0
        try:
            seen, _ = self.environment.reset(seed=seed)
            frame = self._read(seen)
        except Exception as error:
            self.fail(error)
        self._frames = np.tile(frame, (self._stack, 1)) if self._stack > 1 else None
        return self._present(frame)

    def _read(self, seen: Any) -> npt.NDArray[Any]:
        """Makes numbers of an observation."""
        return flatten(self._space, seen) if self.screen is None else self.screen.read(seen)

    def _present(self, frame: npt.NDArray[Any]) -> Floats:
        """What a network sees: the newest frame or all that are stacked, or their features."""
        numbers = frame if self._frames is None else self._frames.reshape(-1)
        return numbers if self.screen is None else self.screen.features(numbers)

    def _act(self, action: Any) -> tuple[Any, Any, bool, bool, Any]:
        """Acts; gives observation [I], reward, whether it was terminated, truncated, and more."""
        total = 0.0
        for _ in range(self._repeat):
            seen, reward, terminated, truncated, info = self._step(action)
            total += float(reward)
            self._elapsed += 1
            truncated = truncated or self._elapsed == self._most_steps
            if terminated or truncated:
                break
        frame = self._read(seen)
        if self._frames is not None:
            self._frames = np.concatenate([self._frames[1:], frame[None]])
        return self._present(frame), total, terminated, truncated, info

    def step(self, action: Any) -> tuple[Floats, float, bool, bool]:
        """Acts once; gives observation, reward, and whether it was terminated and truncated.

        Raises:
            EpisodeError: The environment failed.
        """
        try:
            seen, reward, terminated, truncated, _ = self._act(action)
        except Exception as error:
            self.fail(error)
        return seen, reward, terminated, truncated

    def fail(self, error: Exception) -> NoReturn:
        """Raises an error that names the environment and the episode's seed.

        Raises:
            EpisodeError: Always.
        """
        raise EpisodeError(
            f"{self.name}: the environment failed in the episode with seed {self.seed}: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from error

    def close(self) -> None:
        """Closes the environment.

        Raises:
            EpisodeError: It raised an error.
        """
        close_environment(self.environment, self.name)
