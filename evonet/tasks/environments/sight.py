"""What a network sees of an environment's screens, for reports; see `evonet.tasks.sight`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium import spaces

from evonet.tasks.sight import MOST_VIEWS, describe_views

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.gymnasium import GymnasiumTask

# Steps that are looked at; longer episodes are left early.
MOST_STEPS: Final = 400


def describe_screens(task: GymnasiumTask, network: Network, seed: int) -> dict[str, Any] | None:
    """Shows some screens of an episode with the actions that one network chose.

    Args:
        task: What it is played in.
        network: One compiled network.
        seed: The seed of the episode.

    Returns:
        None if the task has no front, or actions are not one of several.

    Raises:
        EpisodeError: The environment failed.
    """
    with closing(task.make_environment()) as environment:
        screen, actions = environment.screen, environment.environment.action_space
        if screen is None or not isinstance(actions, spaces.Discrete):
            return None
        seen, view, actor = environment.reset(seed), task.view, network.actor()
        images, outputs = [], []
        for _ in range(MOST_STEPS):
            found = actor(seen if view is None else view.apply(seen))
            images.append(screen.seen)
            outputs.append(np.asarray(found, np.float64))
            seen, _, terminated, truncated = environment.step(task.decode(found))
            if terminated or truncated:
                break
        labels = list(task.output_names) or [f"action {i}" for i in range(int(actions.n))]
    chosen = np.unique(np.linspace(0, len(images) - 1, MOST_VIEWS).astype(int))
    shown = np.stack([images[i] for i in chosen]).reshape(len(chosen), *screen.front.input_shape)
    return {
        "labels": labels,
        "views": describe_views(screen.front, shown, np.stack([outputs[i] for i in chosen])),
    }
