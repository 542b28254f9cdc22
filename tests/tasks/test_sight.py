"""What networks see of screens, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import evonet
from evonet import Population
from evonet.images import Conv, ConvFront
from evonet.tasks import make_task
from evonet.tasks.sight import describe_views
from tests.tasks.test_pixels import TABLE, Screens

PLAIN, NAMED, CONTINUOUS = (f"evonet-tests/{kind}-v0" for kind in ("Sight", "Named", "Continuous"))


class Named(Screens):
    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "FIRE"]


class Continuous(Screens):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(-1, 1, (1,))  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    names = {PLAIN: Screens, NAMED: Named, CONTINUOUS: Continuous}
    for name, kind in names.items():
        gymnasium.register(name, kind)
    yield
    for name in names:
        del gymnasium.registry[name]


def results(name: str, **options: Any) -> Any:
    task = make_task(f"gym:{name}", **options)
    genome = Population.random(
        1, task.num_inputs, task.num_outputs, num_nodes=4, num_connections=10, seed=1
    )
    return task.results(evonet.compile(genome))


def test_a_game_shows_screens_maps_and_actions() -> None:
    sight = results(PLAIN, front=TABLE)["sight"]
    assert sight["labels"] == ["action 0", "action 1"]
    assert 4 <= len(sight["views"]) <= 8
    for view in sight["views"]:
        assert np.shape(view["image"]) == (3, 6, 5)
        assert np.shape(view["maps"]) == (4, 2, 2)
        assert np.max(view["image"]) == 255
        assert "right" not in view
        assert view["answer"] == int(np.argmax(view["outputs"]))
    shown = [np.argmax(view["image"]) for view in sight["views"]]
    assert len(set(shown)) == len(shown)  # the pixel walks


def test_actions_have_the_names_that_the_environment_gives_them() -> None:
    assert results(NAMED, front=TABLE)["sight"]["labels"] == ["noop", "fire"]


def test_tasks_without_a_front_or_a_choice_show_nothing() -> None:
    assert results(PLAIN) is None
    assert results(CONTINUOUS, front=TABLE) is None


def test_large_images_are_thinned_out_and_nothing_breaks_on_zeros() -> None:
    front = ConvFront([Conv(20, 3)], (1, 100, 150))
    (view,) = describe_views(front, np.zeros((1, 1, 100, 150), np.float32), np.array([[np.nan, 1]]))
    assert np.shape(view["image"]) == (1, 34, 50)
    assert np.shape(view["maps"]) == (8, 33, 50)
    assert not np.any(view["maps"])
