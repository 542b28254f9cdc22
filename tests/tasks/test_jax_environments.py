"""Environments in JAX play as they should, and alike in every part of a population."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import OptionError, Population
from evonet.errors import EpisodeError
from evonet.tasks import make_task

jax = pytest.importorskip("jax", reason="needs JAX")
HOME = "jax:tests.support.jax_environments"


def networks(task: Any, count: int = 11) -> Population:
    return Population.random(
        count, task.num_inputs, task.num_outputs, num_nodes=4, num_connections=7, seed=2
    )


@pytest.mark.parametrize("name", ["Chase", "Guess"])
def test_a_part_plays_as_the_whole_does(name: str) -> None:
    task = make_task(f"{HOME}:{name}", episodes=2, retests=0)
    genomes = networks(task)
    returns = task.returns(evonet.compile(genomes), 5, 0, 2)
    assert returns.shape == (11, 2)
    assert len(np.unique(returns)) > 5
    part = task.returns(evonet.compile(genomes[3:5]), 5, 1, 1)
    assert part.tobytes() == returns[3:5, 1:].tobytes()
    fitness = task.evaluate(evonet.compile(genomes), 5)
    assert fitness.tolist() == returns.mean(axis=1).tolist()


def test_episodes_are_those_of_the_environment_stepped_by_hand() -> None:
    from tests.support.jax_environments import Chase

    task: Any = make_task(f"{HOME}:Chase", retests=0)
    genome = networks(task, 1)
    network = evonet.compile(genome)
    returns, steps = task.play(network, 9, 0, 3)
    from evonet.numerics.philox import Purpose, philox

    words = philox(9, 0, np.arange(3), Purpose.EPISODE, 0)[0]
    environment = Chase()
    for episode, word in enumerate((words >> np.uint64(1)).tolist()):
        state = environment.reset(jax.random.key(np.uint32(word)))
        total = np.float32(0)
        taken = 0
        for _ in range(12):
            action = np.clip(network(np.asarray(state.obs)[None])[0, 0], -1, 1)
            state = environment.step(state, action)
            total += np.asarray(state.reward)
            taken += 1
            if state.done:
                break
        assert returns[0, episode] == pytest.approx(float(total), rel=1e-5)
        assert steps[0, episode] == taken


def test_actions_that_are_not_discrete_are_scaled_to_their_range() -> None:
    from evonet.tasks.jax_worlds import wrap_environment
    from tests.support.jax_environments import Guess

    world = wrap_environment(Guess(discrete=False))
    state, _ = world.reset(jax.random.key(0))
    outputs = [-5.0, -1.0, 0.0, 1.0, float("nan")]
    found = [float(world.step(jax.random.key(1), state, np.array([o]))[2]) for o in outputs]
    assert found == [-2.0, -2.0, 1.0, 4.0, 1.0]


def test_a_run_evolves_and_a_task_travels() -> None:
    task = make_task(f"{HOME}:Guess", retests=0, max_steps=3)
    config = evonet.Config.from_dict({"neat": {"pop_size": 12}})
    result = evonet.evolve(task, config, generations=2)
    assert result.best is not None
    copy = pickle.loads(pickle.dumps(task))
    network = evonet.compile(networks(task, 3))
    assert copy.evaluate(network, 1).tolist() == task.evaluate(network, 1).tolist()


def test_what_cannot_be_made_or_fails_is_named() -> None:
    with pytest.raises(OptionError, match="Odd is not an environment of Brax's kind"):
        make_task(f"{HOME}:Odd")
    with pytest.raises(OptionError, match=r"jax:nowhere:ant cannot be made: .*nowhere"):
        make_task("jax:nowhere:ant")
    with pytest.raises(OptionError, match="must be a table"):
        make_task(f"{HOME}:Chase", options=3)
    task = make_task(f"{HOME}:Broken")
    with pytest.raises(EpisodeError, match="the environment failed: ValueError: no floor"):
        task.evaluate(evonet.compile(networks(task, 1)), 1)


@pytest.mark.parametrize("name", ["gymnax:CartPole-v1", "brax.envs:fast"])
def test_known_libraries_are_understood(name: str) -> None:
    pytest.importorskip(name.split(":")[0].split(".")[0])
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = make_task(f"jax:{name}", max_steps=4)
        returns = task.returns(evonet.compile(networks(task, 2)), 1, 0, 2)
    assert np.isfinite(returns).all()
