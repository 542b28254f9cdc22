"""An episode as a film, as the environment draws it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evonet.errors import OptionError
from evonet.files.animated_png import encode_frames, fit_frames

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.gymnasium import GymnasiumTask

MOST_FRAMES: Final = 160
MOST_WIDTH: Final = 320
# What a report can carry; a film that is larger loses pixels.
MOST_BYTES: Final = 2_000_000


@dataclass(frozen=True)
class Shown:
    """An episode that was drawn.

    Attributes:
        frames: [T + 1] pictures, [height, width, 3] each.
        total: The sum of rewards.
        steps: T.
        terminated: Whether the environment ended it; otherwise the step limit did.
        rate: Frames per second at which the environment means to be watched.
    """

    frames: list[Any]
    total: float
    steps: int
    terminated: bool
    rate: float

    def encode(self) -> bytes:
        """Encodes the frames as an animated PNG that is small enough for a page."""
        width = MOST_WIDTH
        while True:
            frames = fit_frames(self.frames, MOST_FRAMES, width)
            # Left-out frames shorten nothing: the film takes as long as the episode.
            data = encode_frames(frames, self.rate * len(frames) / len(self.frames))
            if len(data) <= MOST_BYTES or width <= MOST_WIDTH // 4:
                return data
            width //= 2


def show_episode(task: GymnasiumTask, network: Network, seed: int, mode: str) -> Shown:
    """Plays one episode and lets the environment draw it.

    Args:
        task: What it is played in.
        network: One network.
        seed: The seed of the episode.
        mode: "rgb_array" for pictures, "human" for a window.

    Raises:
        OptionError: The environment cannot draw itself here; the message says why.
        EpisodeError: The environment failed.
    """
    # Gymnasium makes windows of pictures where an environment has none.
    if not {mode, "rgb_array"} & set(task.render_modes):
        raise OptionError(f'{task.label} cannot be drawn: it has no render mode "{mode}".')
    around = _screenless() if mode == "rgb_array" else nullcontext()
    with around, closing(task.make_environment(render_mode=mode)) as environment:
        seen, view = environment.reset(seed), task.view
        actor = network.actor()
        frames = [_draw(task, environment)] if mode == "rgb_array" else []
        total, steps, over = 0.0, 0, False
        while not over:
            outputs = actor(seen if view is None else view.apply(seen))
            seen, reward, over, truncated = environment.step(task.decode(outputs))
            total += reward
            steps += 1
            if mode == "rgb_array":
                frames.append(_draw(task, environment))
            if truncated:
                break
        rate = float(environment.environment.metadata.get("render_fps", 30))
        return Shown(frames, total, steps, over, rate / task.action_repeat)


@contextmanager
def _screenless() -> Iterator[None]:
    """Keeps SDL from complaining where there is no screen; it needs none to draw pictures."""
    names = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}
    if names & os.environ.keys():
        yield
        return
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    try:
        yield
    finally:
        del os.environ["SDL_VIDEODRIVER"]


def _draw(task: GymnasiumTask, environment: Any) -> Any:
    try:
        frame = np.asarray(environment.environment.render())
    except Exception as error:  # a missing library, or no screen to draw on
        raise OptionError(f"{task.label} cannot be drawn: {error}") from error
    if frame.ndim != 3 or frame.shape[2] != 3:
        raise OptionError(f"{task.label} cannot be drawn: it gives no pictures.")
    return frame
