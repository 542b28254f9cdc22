"""Screens that go through a front before networks see them, and MinAtar's games."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import evonet
from evonet import OptionError, Population
from evonet.cli.app import main
from evonet.images.spec import front_from_table
from evonet.tasks import make_task
from evonet.tasks.environments.pixels import Screen
from evonet.tasks.gymnasium import GymnasiumTask
from evonet.tasks.registry import find_task

TABLE: dict[str, Any] = {"seed": 3, "layers": [{"channels": 4, "kernel": 2, "pool": 2}]}
NAME = "evonet-tests/Screens-v0"


class Screens(gymnasium.Env[Any, Any]):
    """A bright pixel walks along the first row; the reward is 1 for the action that names it."""

    def __init__(self, shape: tuple[int, ...] = (6, 5, 3), dtype: str = "uint8") -> None:
        high = 255 if dtype == "uint8" else 1
        self.observation_space = spaces.Box(0, high, shape, np.dtype(dtype).type)
        self.action_space = spaces.Discrete(2)
        self._at = 0

    def _see(self) -> Any:
        screen = np.zeros(self.observation_space.shape or (), self.observation_space.dtype)
        screen.reshape(-1)[3 * self._at] = self.observation_space.high.max()  # type: ignore[attr-defined]
        return screen

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._at = int(self.np_random.integers(4))
        return self._see(), {}

    def step(self, action: Any) -> Any:
        reward = float(action == self._at % 2)
        self._at += 1
        return self._see(), reward, self._at == 8, False, {}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gymnasium.register(NAME, Screens)
    yield
    del gymnasium.registry[NAME]


def screens(**options: Any) -> GymnasiumTask:
    task = make_task(f"gym:{NAME}", **options)
    assert isinstance(task, GymnasiumTask)
    return task


@pytest.mark.parametrize(
    ("shape", "channels", "images"),
    [
        ((6, 5, 3), None, (3, 6, 5)),
        ((3, 6, 5), None, (3, 6, 5)),
        ((5, 5, 5), "first", (5, 5, 5)),
        ((4, 5, 5), "last", (5, 4, 5)),
        ((6, 5), None, (1, 6, 5)),
    ],
)
def test_networks_see_the_features_of_a_screen(
    shape: tuple[int, ...], channels: str | None, images: tuple[int, int, int]
) -> None:
    more = {} if channels is None else {"channels": channels}
    task = screens(front=TABLE, options={"shape": shape}, **more)
    front = front_from_table(TABLE, images, backend="reference")
    assert task.num_inputs == front.num_features
    seen = task.make_environment().reset(0)
    image = gymnasium.make(NAME, shape=shape).reset(seed=0)[0] / np.float32(255)
    if images[0] == shape[-1] and channels != "first":
        image = image.transpose(2, 0, 1)
    wanted = front(image.reshape(1, *images))[0]
    np.testing.assert_allclose(seen, wanted, rtol=1e-6)
    assert np.count_nonzero(seen) > 0


def test_stacked_frames_become_channels_the_newest_last() -> None:
    task = screens(front=TABLE, frame_stack=2)
    environment = task.make_environment()
    environment.reset(1)
    seen, *_ = environment.act(0)
    plain = gymnasium.make(NAME)
    frames = [plain.reset(seed=1)[0], plain.step(0)[0]]
    image = np.concatenate([frame.transpose(2, 0, 1) for frame in frames]) * np.float32(1 / 255)
    front = front_from_table(TABLE, (6, 6, 5))
    np.testing.assert_array_equal(seen, front(image[None])[0])


def test_numbers_with_fractions_are_seen_as_they_are() -> None:
    screen = Screen(spaces.Box(0, 9, (4, 4, 2), np.float32), TABLE, None, 1, "x")
    image = np.full((4, 4, 2), 3.5, np.float32)
    np.testing.assert_array_equal(screen.read(image), np.full(32, 3.5))
    with pytest.raises(ValueError, match="33 numbers, its space says 32"):
        screen.read(np.zeros((1, 1, 33)))


def test_screens_are_played_normalised_and_sent_to_workers() -> None:
    task = screens(front=TABLE, episodes=2, normalize=True)
    genomes = Population.random(5, task.num_inputs, 2, num_nodes=4, num_connections=20, seed=1)
    network = evonet.compile(genomes)
    copy = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(copy.evaluate(network, 3), task.evaluate(network, 3))
    assert task.state


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"front": TABLE, "options": {"shape": (5, 5, 5)}}, 'channels = "first" or'),
        ({"front": TABLE, "options": {"shape": (40,)}}, "needs a Box of"),
        ({"front": TABLE, "channels": "middle"}, '"first" or "last"'),
        ({"front": TABLE, "channels": "last", "options": {"shape": (6, 5)}}, "grey images"),
        ({"channels": "last"}, "only a front asks"),
        ({"front": {"layers": []}}, "front.layers"),
        ({"front": {"layers": [{"channels": 4, "kernel": 9}]}}, "a window of 9 x 9"),
        ({"front": 3}, "must be a table"),
    ],
)
def test_fronts_that_do_not_fit_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        screens(**options)
    assert words in str(caught.value)


def test_a_config_names_a_front_and_the_champion_can_be_played(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "screens.toml"
    config.write_text(
        f"""
[task]
name = "gym:{NAME}"
episodes = 2
retests = 4

[task.front]
seed = 3

[[task.front.layers]]
channels = 4
kernel = [2, 3]
pool = {{ size = 2, kind = "average" }}

[run]
generations = 2

[neat]
pop_size = 10
"""
    )
    folder = tmp_path / "run"
    assert main(["evolve", str(config), "--out", str(folder), "--quiet"]) == 0
    assert main(["resume", str(folder), "--generations", "3", "--quiet"]) == 0
    assert json.loads((folder / "champion.json").read_text())
    capfd.readouterr()
    assert main(["play", str(folder), "--episodes", "2"]) == 0
    assert "episode    2  return" in capfd.readouterr().out
    config.write_text(config.read_text().replace("kernel = [2, 3]", "kernal = 2"))
    assert main(["evolve", str(config), "--out", str(tmp_path / "other")]) == 1
    assert "kernal" in capfd.readouterr().err


# ---- MinAtar ------------------------------------------------------------------------------------


def test_a_game_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionError, match='Did you mean "breakout"'):
        make_task("minatar:breakdown")


@pytest.mark.parametrize("game", ["asterix", "breakout", "freeway", "seaquest", "space_invaders"])
def test_games_of_minatar_are_tasks(game: str) -> None:
    pytest.importorskip("minatar", reason="needs MinAtar", exc_type=ImportError)
    task = make_task(f"minatar:{game}", front=TABLE, max_steps=40, episodes=2)
    assert isinstance(task, GymnasiumTask)
    genomes = Population.random(
        3, task.num_inputs, task.num_outputs, num_nodes=8, num_connections=60, seed=1
    )
    network = evonet.compile(genomes)
    first = task.play(network, 7, 0, 2)
    again = task.play(network, 7, 0, 2)  # whatever was played before
    np.testing.assert_array_equal(first.returns, again.returns)
    np.testing.assert_array_equal(first.steps, again.steps)
    assert first.steps.max() <= 40
    assert task.film(evonet.compile(genomes[:1]), 1)[:4] == b"\x89PNG"


def test_actions_of_games_have_names() -> None:
    pytest.importorskip("minatar", reason="needs MinAtar", exc_type=ImportError)
    assert make_task("minatar:breakout").output_names == ("stay", "left", "right")
    assert make_task("minatar:space_invaders").output_names == ("stay", "left", "right", "fire")


def test_the_largest_output_of_a_game_is_not_lost_among_equals() -> None:
    settings = find_task("minatar:breakout").settings
    assert settings["network.output_activation"] == "identity"


def test_unknown_options_of_a_game_are_refused() -> None:
    pytest.importorskip("minatar", reason="needs MinAtar", exc_type=ImportError)
    with pytest.raises(OptionError, match="minatar:breakout cannot be made"):
        make_task("minatar:breakout", options={"colour": "red"})
