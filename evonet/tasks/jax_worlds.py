"""The two kinds of JAX environments there are, seen as one.

An environment of Brax's kind keeps observation, reward and end in its state: `reset(key)` and
`step(state, action)`. One of gymnax's kind returns them: `reset(key, params)` and
`step_env(key, state, action, params)`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from evonet.errors import OptionError

# The step limit of environments that have none.
MOST_STEPS: Final = 1000


class JaxWorld(Protocol):
    """One environment; its functions are traced by JAX.

    Attributes:
        num_inputs: I, the size of an observation.
        num_outputs: O, the outputs that make an action.
        max_steps: The step limit of an episode.
    """

    num_inputs: int
    num_outputs: int
    max_steps: int

    def reset(self, key: Any) -> tuple[Any, Any]:
        """Starts an episode; gives its state and the observation."""

    def step(self, key: Any, state: Any, outputs: Any) -> tuple[Any, Any, Any, Any]:
        """Acts by outputs [O]; gives state, observation, reward and whether it has ended."""


class BraxWorld:
    """An environment of Brax's kind; see `JaxWorld`. Actions are outputs clipped to -1..1."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self.num_inputs = int(environment.observation_size)
        self.num_outputs = int(environment.action_size)
        self.max_steps = int(getattr(environment, "episode_length", MOST_STEPS))

    def reset(self, key: Any) -> tuple[Any, Any]:
        """Starts an episode; see `JaxWorld`."""
        state = self._environment.reset(key)
        return state, state.obs

    def step(self, key: Any, state: Any, outputs: Any) -> tuple[Any, Any, Any, Any]:
        """Acts; see `JaxWorld`."""
        import jax.numpy as jnp

        state = self._environment.step(state, jnp.clip(jnp.nan_to_num(outputs), -1, 1))
        return state, state.obs, state.reward, state.done


class GymnaxWorld:
    """An environment of gymnax's kind; see `JaxWorld`.

    The largest output chooses among discrete actions; others are scaled from -1..1 to their range.
    """

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._params = environment.default_params
        self.num_inputs = int(np.prod(environment.observation_space(self._params).shape))
        actions = environment.action_space(self._params)
        self._is_discrete = hasattr(actions, "n")
        self._shape = tuple(getattr(actions, "shape", ()))
        self.num_outputs = int(actions.n) if self._is_discrete else int(np.prod(self._shape))
        if not self._is_discrete:
            self._low = np.broadcast_to(np.asarray(actions.low, np.float32), self._shape)
            self._high = np.broadcast_to(np.asarray(actions.high, np.float32), self._shape)
        self.max_steps = int(getattr(self._params, "max_steps_in_episode", MOST_STEPS))

    def reset(self, key: Any) -> tuple[Any, Any]:
        """Starts an episode; see `JaxWorld`."""
        seen, state = self._environment.reset_env(key, self._params)
        return state, seen

    def step(self, key: Any, state: Any, outputs: Any) -> tuple[Any, Any, Any, Any]:
        """Acts; see `JaxWorld`. `step` of gymnax would start a new episode at the end of one."""
        import jax.numpy as jnp

        if self._is_discrete:
            action = jnp.argmax(jnp.where(jnp.isnan(outputs), -jnp.inf, outputs))
        else:
            unit = jnp.clip(jnp.nan_to_num(outputs), -1, 1).reshape(self._shape)
            action = self._low + (unit + 1) / 2 * (self._high - self._low)
        seen, state, reward, ended, _ = self._environment.step_env(key, state, action, self._params)
        return state, seen, reward, ended


def wrap_environment(environment: Any) -> JaxWorld:
    """Takes an environment of either kind.

    Raises:
        OptionError: It is of neither.
    """
    if hasattr(environment, "observation_size") and hasattr(environment, "action_size"):
        return BraxWorld(environment)
    if all(hasattr(environment, name) for name in ("default_params", "reset_env", "step_env")):
        return GymnaxWorld(environment)
    raise OptionError(
        f"{type(environment).__name__} is not an environment of Brax's kind (observation_size, "
        "action_size, reset, step) nor of gymnax's (default_params, reset_env, step_env)."
    )
