"""Anything with inputs, outputs and evaluate is a task; what else it has is an offer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from evonet import Network, OptionError, evolve
from evonet.evolution.callbacks import CheckpointSaver
from evonet.tasks import xor
from evonet.tasks.base import OFFERS, REQUIRED, Task, adopt, is_task
from tests.support.evolution_cases import make_config


class Plain:
    """The least that a task can be."""

    num_inputs, num_outputs = 2, 1

    def evaluate(self, network: Network, seed: int) -> list[float]:
        return [1.0] * len(network)


class Counting(Task):
    """Keeps a number that grows by one per generation."""

    num_inputs, num_outputs = 2, 1

    def __init__(self) -> None:
        self.count = np.zeros(1)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        self.count = self.count + 1
        return np.arange(len(network)) + self.count

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {"count": self.count}

    @state.setter
    def state(self, state: dict[str, npt.NDArray[Any]]) -> None:
        self.count = state["count"]


def test_every_offer_is_documented_by_the_base_class() -> None:
    for name in (*OFFERS, "evaluate"):
        assert hasattr(Task, name), name
    for name in REQUIRED[:2]:
        assert name in Task.__annotations__


def test_a_plain_object_becomes_a_task_without_offers() -> None:
    task = adopt(Plain())
    assert task.fitness_threshold is None
    assert task.num_held_out == 0
    assert task.splits
    assert not task.is_native
    assert task.state == {}
    assert "Plain" in repr(task)


def test_offers_of_a_plain_object_are_kept() -> None:
    class Offering(Plain):
        fitness_threshold = 2.5
        input_names = ("a", "b")
        splits = False
        state: dict[str, Any] = {}  # noqa: RUF012

    given = Offering()
    task = adopt(given)
    assert (task.fitness_threshold, task.input_names, task.splits) == (2.5, ("a", "b"), False)
    task.state = {"mean": np.ones(2)}
    assert given.state["mean"].tolist() == [1.0, 1.0]


def test_a_task_is_its_own_adoption() -> None:
    task = xor()
    assert adopt(task) is task


def test_something_else_is_refused() -> None:
    assert not is_task(object())
    with pytest.raises(OptionError, match="num_inputs, num_outputs and evaluate"):
        adopt(object())


def test_a_plain_object_can_be_evolved_on() -> None:
    result = evolve(Plain(), make_config({"neat.pop_size": 6}), generations=2)  # type: ignore[arg-type]
    assert result.evaluations == 12


def test_the_state_of_a_task_is_part_of_a_checkpoint(tmp_path: Any) -> None:
    config = make_config({"neat.pop_size": 6})
    whole = Counting()
    expected = evolve(whole, config, generations=7)
    evolve(Counting(), config, generations=3, callbacks=[CheckpointSaver(tmp_path)])
    resumed = Counting()
    result = evolve(resumed, config, generations=7, resume=tmp_path)
    assert resumed.count.tolist() == whole.count.tolist() == [7.0]
    assert result.algorithm.state.fitness is not None
    assert expected.algorithm.state.fitness is not None
    assert result.algorithm.state.fitness.tolist() == expected.algorithm.state.fitness.tolist()


def test_a_task_without_state_refuses_one(tmp_path: Any) -> None:
    config = make_config({"neat.pop_size": 6})
    evolve(Counting(), config, generations=3, callbacks=[CheckpointSaver(tmp_path)])
    with pytest.raises(OptionError, match="keeps no state, so count"):
        evolve(Plain(), config, generations=5, resume=tmp_path)  # type: ignore[arg-type]


def test_a_run_has_the_settings_that_its_task_needs() -> None:
    class Remembering(Plain):
        settings = {"network.kind": "recurrent", "genome.feed_forward": False}  # noqa: RUF012

    config = make_config({"neat.pop_size": 6})
    result = evolve(Remembering(), config, generations=1)  # type: ignore[arg-type]
    assert result.algorithm.config.dynamics.kind == "recurrent"
    assert config.dynamics.kind == "feedforward"
