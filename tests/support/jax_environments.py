"""Two small environments in JAX, one of each kind."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class BraxState(NamedTuple):
    obs: Any
    reward: Any
    done: Any


class Chase:
    """Of Brax's kind: rewards actions near the observation, and ends far away."""

    observation_size = 2
    action_size = 1
    episode_length = 12

    def reset(self, key: Any) -> BraxState:
        return BraxState(jax.random.uniform(key, (2,), minval=-1), jnp.zeros(()), jnp.zeros(()))

    def step(self, state: BraxState, action: Any) -> BraxState:
        obs = jnp.sin(state.obs * 1.3) + 0.1 * action[0]
        off = jnp.abs(obs[0] - action[0])
        return BraxState(obs, 1 - off, (off > 1.5).astype(jnp.float32))


class Params(NamedTuple):
    max_steps_in_episode: int = 9


class Space(NamedTuple):
    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 4.0


class Actions(NamedTuple):
    n: int


class Guess:
    """Of gymnax's kind: rewards the action that is the sign of the observation, with chance."""

    default_params = Params()

    def __init__(self, discrete: bool = True) -> None:
        self._discrete = discrete

    def observation_space(self, params: Params) -> Space:
        return Space((1, 2))

    def action_space(self, params: Params) -> Any:
        return Actions(2) if self._discrete else Space((1,))

    def reset_env(self, key: Any, params: Params) -> tuple[Any, Any]:
        state = jax.random.normal(key, (1, 2))
        return state, state

    def step_env(
        self, key: Any, state: Any, action: Any, params: Params
    ) -> tuple[Any, Any, Any, Any, Any]:
        wanted = (state[0, 0] > 0).astype(jnp.int32)
        reward = (action == wanted).astype(jnp.float32) if self._discrete else action[0]
        state = state + jax.random.normal(key, (1, 2))
        return state, state, reward, jnp.abs(state).max() > 5, {}


class Odd:
    """Of neither kind."""


class Broken(Chase):
    """Fails when it is stepped."""

    def step(self, state: BraxState, action: Any) -> BraxState:
        raise ValueError("no floor")
