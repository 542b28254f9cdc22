"""A game of MinAtar as a Gymnasium environment.

The package has one of its own, which carries the last action over from one episode to the next: an
episode would then depend on the one that was played before.
"""

from __future__ import annotations

import colorsys
from typing import Any, Final, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from minatar import Environment as Game

MEANINGS: Final = ("stay", "left", "up", "right", "down", "fire")
CELL: Final = 16  # pixels of a square of a drawn screen


class MinAtarGame(gymnasium.Env[Any, Any]):
    """A game with its minimal set of actions; screens are [10, 10, channels] of 0 and 1."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(
        self,
        name: str,
        render_mode: str | None = None,
        sticky_action_prob: float = 0.1,
        difficulty_ramping: bool = True,
    ) -> None:
        """Makes a game.

        Args:
            name: Its name, such as "breakout".
            render_mode: "rgb_array", or None if nobody watches.
            sticky_action_prob: How likely it is that the last action is repeated.
            difficulty_ramping: Whether games become harder.
        """
        self.render_mode = render_mode
        self._game = Game(name, float(sticky_action_prob), bool(difficulty_ramping))
        self._actions = [int(action) for action in self._game.minimal_action_set()]
        self.action_space = spaces.Discrete(len(self._actions))
        shape = tuple(int(n) for n in self._game.state_shape())
        self.observation_space = spaces.Box(0, 1, shape, np.bool_)

    def get_action_meanings(self) -> list[str]:
        """Names the actions, as Atari's environments do."""
        return [MEANINGS[action] for action in self._actions]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.bool_], dict[str, Any]]:
        """Starts an episode that depends on the seed alone."""
        super().reset(seed=seed)
        self._game.seed(seed)
        self._game.last_action = 0
        self._game.reset()
        return self._game.state(), {}

    def step(
        self, action: int
    ) -> tuple[npt.NDArray[np.bool_], SupportsFloat, bool, bool, dict[str, Any]]:
        """Acts; gives screen, reward, whether the game is over, and more."""
        reward, over = self._game.act(self._actions[action])
        return self._game.state(), float(reward), bool(over), False, {}

    def render(self) -> npt.NDArray[np.uint8]:
        """Draws the screen, a colour for each channel."""
        state = np.asarray(self._game.state(), np.uint8)
        count = state.shape[2]
        colours = [(0.0, 0.0, 0.0)]
        colours += [colorsys.hsv_to_rgb(i / count, 0.7, 1.0) for i in range(count)]
        highest = (state * np.arange(1, count + 1)).max(axis=2)
        drawn: npt.NDArray[np.uint8] = (255 * np.array(colours)).astype(np.uint8)[highest]
        return drawn.repeat(CELL, axis=0).repeat(CELL, axis=1)
