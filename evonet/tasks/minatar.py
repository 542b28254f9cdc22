"""MinAtar's five games as tasks: minatar:breakout and its kin, ten by ten pixels of a few channels.

The games come from the package of that name (GPL), which is imported when one is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evonet.errors import OptionError
from evonet.installation import install_command
from evonet.messages import did_you_mean, show
from evonet.tasks.gymnasium import GymnasiumTask

if TYPE_CHECKING:
    from collections.abc import Mapping

GAMES: Final = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")


class MinAtarTask(GymnasiumTask):
    """A game of MinAtar, with the actions that have an effect in it; see `GymnasiumTask`."""

    kind = "minatar"
    most_steps = 2500  # as long as an episode of freeway; players of others may never fail

    def __init__(
        self,
        name: str,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        solved: float | None = None,
        retests: int | None = None,
        normalize: bool | None = None,
        action_repeat: int | None = None,
        frame_stack: int | None = None,
        front: Mapping[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Makes a game once to read its spaces.

        Args:
            name: The name of the game, such as "breakout".
            episodes: Episodes per genome; None for 3.
            max_steps: The step limit; None for 2500.
            solved: The fitness that solves the task; None for none.
            retests: Fresh episodes that test a champion; None for 100.
            normalize: Whether networks see observations less their running mean, divided by their
                running standard deviation; None for False.
            action_repeat: Steps for which each action is repeated; None for 1.
            frame_stack: Screens that networks see at once, the newest last; None for 1.
            front: Convolutions that screens go through, with their layers, as `[task.front]` has
                them; None for all pixels as they are.
            options: Passed to the game: sticky_action_prob (0.1) and difficulty_ramping (true).

        Raises:
            OptionError: MinAtar or Gymnasium is not installed or has no such game, or an option is
                out of range.
        """
        if name not in GAMES:
            raise OptionError(f"minatar:{show(name)} is not a game. {did_you_mean(name, GAMES)}")
        super().__init__(
            name,
            episodes=episodes,
            max_steps=max_steps,
            solved=solved,
            retests=retests,
            normalize=normalize,
            action_repeat=action_repeat,
            frame_stack=frame_stack,
            front=front,
            channels=None if front is None else "last",
            options=options,
        )

    def make(
        self, max_episode_steps: int | None = None, render_mode: str | None = None, **more: Any
    ) -> Any:
        """Makes the game itself; see `GymnasiumTask.make`."""
        from gymnasium.wrappers import TimeLimit

        try:
            from evonet.tasks.environments.minatar_game import MinAtarGame
        except ImportError as error:
            raise OptionError(
                f"minatar: tasks need the package minatar: {error}. Install it with: "
                f"{install_command('minatar')}"
            ) from error
        try:
            game = MinAtarGame(self.name, render_mode, **more, **self._options)
        except TypeError as error:
            raise OptionError(f"{self.label} cannot be made: {error}", "options") from error
        return game if max_episode_steps is None else TimeLimit(game, max_episode_steps)
