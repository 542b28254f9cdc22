"""Rollouts: whole episodes with equal bits, however lanes, threads and genomes are arranged."""

from __future__ import annotations

import functools
import random
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import evonet
from evonet import Network, OptionError, Population, ShapeError
from evonet.backends.base import Rollout
from evonet.definitions.controls import CONTROLS, find_control
from evonet.installation import require_native
from tests.support.random_networks import random_genes
from tests.test_network import INTERRUPT, run_script

LEVELS = tuple(require_native().simd_levels())
DTYPES = (np.float32, np.float64)
NAMES = [control.name for control in CONTROLS]
each_control = pytest.mark.parametrize("name", NAMES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
each_kind = pytest.mark.parametrize("kind", ["sums", "mixed"])


@functools.cache
def population(name: str, kind: str, count: int, dtype: Any = np.float32) -> Population:
    """Genomes for a task: sums with several activations, or all functions and some cycles."""
    control = find_control(name)
    rng = random.Random(f"{name} {kind}")
    if kind == "mixed":
        genes = [
            random_genes(
                rng,
                control.num_inputs,
                control.num_outputs,
                rng.randint(0, 7),
                cyclic=rng.random() < 0.1,
                degree=3.0,
            )
            for _ in range(count)
        ]
        return Population.from_genes(control.num_inputs, control.num_outputs, genes, dtype)
    return Population.random(
        count,
        control.num_inputs,
        control.num_outputs,
        num_nodes=control.num_outputs + rng.randint(5, 8),
        num_connections=24,
        activations=("tanh", "sigmoid", "gauss", "relu"),
        dtype=dtype,
        seed=3,
    )


def network(name: str, kind: str, count: int, dtype: Any = np.float32, **options: Any) -> Network:
    return evonet.compile(population(name, kind, count, dtype), on_cycle="zero", **options)


def assert_same(found: Rollout, expected: Rollout) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        assert np.ascontiguousarray(mine).tobytes() == np.ascontiguousarray(theirs).tobytes()


# ---- equal bits ----


@functools.cache
def expected(name: str, kind: str, dtype: Any) -> Rollout:
    reference = network(name, kind, 11, dtype, backend="reference")
    return reference.rollout(name, episodes=3, seed=2**40, max_steps=23)


@each_control
@each_dtype
@each_kind
def test_every_instruction_set_has_the_bits_of_the_reference(
    name: str, dtype: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for simd in LEVELS:
        monkeypatch.setenv("EVONET_SIMD", simd)
        native = network(name, kind, 11, dtype, backend="cpu")
        found = native.rollout(name, episodes=3, seed=2**40, max_steps=23)
        assert_same(found, expected(name, kind, dtype))


@each_kind
@pytest.mark.parametrize("episodes", [1, 2, 7, 13, 67])
def test_neither_threads_nor_instructions_change_the_bits(
    kind: str, episodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = network("cartpole", kind, 101, threads=1).rollout("cartpole", episodes=episodes)
    assert 1 < first.steps.min() < first.steps.max()
    for simd in LEVELS:
        monkeypatch.setenv("EVONET_SIMD", simd)
        for threads in (1, 2, 5):
            other = network("cartpole", kind, 101, threads=threads)
            assert_same(other.rollout("cartpole", episodes=episodes), first)


@each_kind
@pytest.mark.parametrize("episodes", [1, 3, 70])
def test_a_genome_alone_plays_as_it_does_among_others(kind: str, episodes: int) -> None:
    everyone = network("mountain_car", kind, 151)
    together = everyone.rollout("mountain_car", episodes=episodes, seed=4)
    for genome in (0, 1, 77, 150):
        alone = everyone.rollout("mountain_car", episodes=episodes, seed=4, genomes=[genome])
        assert_same(alone, Rollout(*(part[genome : genome + 1] for part in together)))


@each_kind
def test_an_episode_alone_is_played_as_among_others(kind: str) -> None:
    everyone = network("acrobot", kind, 29)
    together = everyone.rollout("acrobot", episodes=17, seed=4, max_steps=90)
    for episode in (0, 5, 16):
        alone = everyone.rollout("acrobot", seed=4, first_episode=episode, max_steps=90)
        assert_same(alone, Rollout(*(part[:, episode : episode + 1] for part in together)))


def test_genomes_are_those_asked_for_in_the_order_asked_for() -> None:
    everyone = network("pendulum", "sums", 53)
    together = everyone.rollout("pendulum", episodes=2, max_steps=40)
    chosen = [52, 3, 3, 0, 17]
    for genomes in (chosen, np.array(chosen, np.uint8), np.array(chosen * 2)[::2]):
        some = everyone.rollout("pendulum", episodes=2, max_steps=40, genomes=genomes)
        assert_same(some, Rollout(*(part[np.asarray(genomes)] for part in together)))


def test_large_networks_play_too() -> None:
    control = find_control("cartpole")
    large = Population.random(
        4, control.num_inputs, control.num_outputs, num_nodes=300, num_connections=2500, seed=1
    )
    found = evonet.compile(large).rollout("cartpole", episodes=5, max_steps=3)
    plain = evonet.compile(large, backend="reference").rollout("cartpole", episodes=5, max_steps=3)
    assert_same(found, plain)


# ---- what episodes give ----


@each_control
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_no_genomes_give_no_returns(name: str, backend: str) -> None:
    empty = evonet.compile(population(name, "sums", 5)[:0], backend=backend)
    found = empty.rollout(name, episodes=4)
    assert found.returns.shape == found.steps.shape == (0, 4)
    none = network(name, "sums", 5, backend=backend).rollout(name, episodes=4, genomes=[])
    assert none.returns.shape == (0, 4)


@each_control
def test_steps_end_at_the_limit(name: str) -> None:
    limited = network(name, "sums", 31).rollout(name, episodes=2, max_steps=5)
    assert limited.steps.max() == 5
    once = network(name, "sums", 31).rollout(name, episodes=2, max_steps=1)
    assert (once.steps == 1).all()


def test_returns_add_up_rewards() -> None:
    for name, reward in (("cartpole", 1), ("mountain_car", -1), ("double_pole", 1)):
        found = network(name, "sums", 31).rollout(name, episodes=3, seed=1, max_steps=300)
        assert (found.returns == reward * found.steps).all()


def test_a_good_policy_solves_what_a_bad_one_does_not() -> None:
    def linear(weights: list[list[float]]) -> Any:
        nodes = [{"key": o, "activation": "identity"} for o in range(len(weights))]
        links = [
            {"source": -1 - i, "target": o, "weight": w}
            for o, row in enumerate(weights)
            for i, w in enumerate(row)
        ]
        return nodes, links

    with_speed, against_it = [[0.0, -1.0], [0.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0, 0], [0, -1.0]]
    genomes = Population.from_genes(2, 3, [linear(with_speed), linear(against_it)], np.float32)
    found = evonet.compile(genomes).rollout("mountain_car", episodes=20)
    assert found.returns[0].mean() > -140
    assert (found.returns[1] == -200).all()


def test_seeds_and_episodes_begin_differently() -> None:
    found = [network("pendulum", "sums", 3).rollout("pendulum", seed=s).returns for s in range(5)]
    assert len({part.tobytes() for part in found}) == 5
    many = network("pendulum", "sums", 3).rollout("pendulum", episodes=30).returns
    assert len(np.unique(many[0])) == 30


# ---- what does not fit ----


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_networks_that_do_not_fit_the_task_are_refused(backend: str) -> None:
    wrong = network("cartpole", "sums", 3, backend=backend)
    with pytest.raises(ShapeError, match=r"acrobot has 6 inputs and 3 outputs, .* have 4 and 2"):
        wrong.rollout("acrobot")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("episodes", 0),
        ("episodes", 1.5),
        ("episodes", True),
        ("episodes", 2**31),
        ("max_steps", 0),
        ("max_steps", "5"),
        ("seed", -1),
        ("seed", 2**64),
        ("first_episode", -1),
    ],
)
def test_numbers_out_of_range_are_refused(option: str, value: Any) -> None:
    with pytest.raises(OptionError, match=rf"{option}=.* must be a whole number from"):
        network("cartpole", "sums", 3).rollout("cartpole", **{option: value})


def test_genomes_that_are_not_there_are_refused() -> None:
    some = network("cartpole", "sums", 3)
    for genomes in ([3], [-1], [0, 2**40]):
        with pytest.raises(OptionError, match=r"there is no genome .* Allowed: 0 to 2"):
            some.rollout("cartpole", genomes=genomes)
    for wrong in ([0.5], [[0]], ["a"]):
        with pytest.raises(ShapeError, match="genomes must be a list of positions"):
            some.rollout("cartpole", genomes=wrong)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(OptionError, match='Did you mean "pendulum"'):
        network("cartpole", "sums", 3).rollout("pendulums")


def test_the_kernel_refuses_what_would_make_it_read_elsewhere() -> None:
    native = require_native()
    schedule = network("cartpole", "sums", 3).schedule
    genomes: NDArray[Any] = np.array([3])
    with pytest.raises(IndexError, match="no such genome"):
        native.rollout32(schedule, 0, genomes, 0, 1, 5, 0, 1, LEVELS[0])
    with pytest.raises(IndexError, match="no such control task"):
        native.rollout32(schedule, 99, genomes, 0, 1, 5, 0, 1, LEVELS[0])
    with pytest.raises(ValueError, match="do not fit"):
        native.rollout32(schedule, 1, genomes, 0, 1, 5, 0, 1, LEVELS[0])


# ---- interrupts ----


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("episodes", [1, 3, 50])
def test_ctrl_c_stops_a_rollout_and_the_next_one_works(episodes: int, threads: int) -> None:
    script = f"""
    many = evonet.compile(
        evonet.Population.random(200, 3, 1, num_nodes=9, num_connections=30, seed=1),
        threads={threads},
    )
    few = many.rollout("pendulum", episodes={episodes}, max_steps=7).returns.tobytes()
    for _ in range(3):
        try:
            press_during(  # uninterrupted, it would take hours, and run_script gives up
                lambda: many.rollout("pendulum", episodes={episodes}, max_steps=2**31 - 1), 1
            )
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("Ctrl-C was not met")
        again = many.rollout("pendulum", episodes={episodes}, max_steps=7)
        assert again.returns.tobytes() == few
    print("done")
    """
    assert run_script(INTERRUPT + script).endswith("done")
