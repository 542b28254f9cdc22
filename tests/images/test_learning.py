"""Populations and the front that they share learn together."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Lesson, Population
from evonet.errors import OptionError, ShapeError
from evonet.images import Conv, ConvFront, FrontLearner, LearnedFront, learn
from evonet.installation import require_native

LAYERS = [Conv(3, 3, pool=2), Conv(4, 2, activation="tanh")]
SHAPE = (1, 8, 8)


@pytest.fixture(autouse=True)
def _default_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def make_front(backend: str = "cpu", dtype: Any = np.float32, seed: int = 1) -> ConvFront:
    return ConvFront(LAYERS, SHAPE, seed=seed, backend=backend, dtype=dtype)


def make_population(count: int = 3, dtype: Any = np.float32, **options: Any) -> Population:
    num_features = make_front().num_features
    return Population.random(
        count, num_features, 2, num_nodes=4, num_connections=30, seed=3, dtype=dtype, **options
    )


def bars(count: int, dtype: Any = np.float32) -> tuple[Any, Any]:
    """Images of an upright or a lying bar, and which it is."""
    rng = np.random.default_rng(0)
    x, lies = np.zeros((count, *SHAPE), dtype), rng.integers(0, 2, count)
    for i, place in enumerate(rng.integers(0, 6, (count, 2))):
        rows, columns = (1, 5) if lies[i] else (5, 1)
        x[i, 0, place[0] :, place[1] :][:rows, :columns] = 1
    return x, np.eye(2)[lies]


def assert_equal(found: LearnedFront, wanted: LearnedFront) -> None:
    assert found.population == wanted.population
    for name, array in wanted.front.arrays.items():
        np.testing.assert_array_equal(found.front.arrays[name], array, name)
    np.testing.assert_array_equal(found.losses, wanted.losses)
    np.testing.assert_array_equal(found.held_out, wanted.held_out)
    assert found.steps == wanted.steps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_results_depend_on_neither_threads_nor_simd_nor_backend(
    optimizer: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = bars(40, dtype)
    options: dict[str, Any] = {
        "optimizer": optimizer,
        "steps": 4,
        "decay": 0.01,
        "clip": 0.5,
        "seed": 5,
    }
    options |= {"batch": 20, "check_every": 2, "held_out": 0.2 if optimizer == "adam" else 0.0}

    def run(backend: str, threads: int = 0) -> LearnedFront:
        front = ConvFront(LAYERS, SHAPE, seed=1, backend=backend, dtype=dtype, threads=threads)
        return learn(
            make_population(dtype=dtype), front, x, y, backend=backend, threads=threads, **options
        )

    wanted = run("reference")
    assert wanted.held_out.shape == (3 if optimizer == "adam" else 0, 3)
    assert any(
        (wanted.front.arrays[n] != a).any() for n, a in make_front(dtype=dtype).arrays.items()
    )
    for simd in require_native().simd_levels():
        monkeypatch.setenv("EVONET_SIMD", simd)
        for threads in (1, 3):
            assert_equal(run("cpu", threads), wanted)


def test_a_front_learns_what_its_networks_need() -> None:
    x, y = bars(200)
    front = make_front()
    rng = np.random.default_rng(0)
    population = Population.from_layers(
        [[0.1 * rng.normal(size=(front.num_features, 2))] for _ in range(2)], activation="identity"
    )
    learned = learn(population, front, x, y, steps=150, loss="cross_entropy", rate=0.01)
    losses = evonet.compile(learned.population).loss(learned.front(x), y, "misses")
    assert (losses == 0).all()
    assert learned.losses.shape == (150, 2)
    assert learned.steps == 150
    assert learned.finite.all()


def test_the_front_learns_from_the_mean_of_all_genomes() -> None:
    x, y = bars(16, np.float64)
    front, population = make_front(dtype=np.float64), make_population(dtype=np.float64)
    learned = learn(population, front, x, y, steps=1, optimizer="sgd", rate=0.1, batch=0)
    network = evonet.compile(population)
    _, slopes = network.gradients(front(x), y, inputs=True)
    found = front.gradients(x, slopes["x"])
    for name, array in front.arrays.items():
        step = learned.front.arrays[name] - array
        np.testing.assert_allclose(step, -0.1 * found[name] / (16 * 3), rtol=1e-9, atol=1e-15)


def test_the_front_may_have_a_rate_of_its_own() -> None:
    x, y = bars(16, np.float64)
    front, population = make_front(dtype=np.float64), make_population(dtype=np.float64)
    options: dict[str, Any] = {"steps": 1, "optimizer": "sgd", "rate": 0.1}
    slow = learn(population, front, x, y, front_rate=0.05, **options)
    fast = learn(population, front, x, y, **options)
    assert slow.population == fast.population
    for name, array in front.arrays.items():
        np.testing.assert_allclose(
            2 * (slow.front.arrays[name] - array), fast.front.arrays[name] - array, atol=1e-15
        )


def test_held_out_images_decide_which_step_is_kept() -> None:
    x, y = bars(60)
    lesson = Lesson(steps=60, rate=0.3, held_out=0.3, check_every=2, patience=4, seed=2)
    learned = FrontLearner(make_population(), make_front(), lesson).run(x, y)
    means = learned.held_out.sum(axis=1)
    assert learned.steps == 2 * int(means.argmin())
    # Up to there it is what fewer steps would have given.
    shorter = Lesson(
        steps=learned.steps, rate=0.3, held_out=0.3, check_every=2, patience=99, seed=2
    )
    assert FrontLearner(make_population(), make_front(), shorter).run(x, y).population == (
        learned.population
    )
    assert len(learned.losses) <= learned.steps + 2 * 4


def test_validation_images_are_held_out_in_place_of_a_share() -> None:
    x, y = bars(60)
    learned = learn(
        make_population(), make_front(), x, y, steps=4, check_every=2, validation=bars(10)
    )
    assert learned.held_out.shape == (3, 3)
    assert len(learned.losses) == 4


def test_ctrl_c_leaves_the_last_whole_step() -> None:
    x, y = bars(60)
    learner = FrontLearner(make_population(), make_front(), Lesson(steps=50))
    take, taken = learner._take_step, []

    def step(*arguments: Any) -> None:
        if len(taken) == 7:
            learner._working.set_weights(make_front(seed=8).arrays)  # in the middle of a step
            raise KeyboardInterrupt
        taken.append(take(*arguments))

    learner._take_step = step  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        learner.run(x, y)
    assert_equal(learner.learned(), learn(make_population(), make_front(), x, y, steps=7))


def test_a_genome_that_is_not_finite_leaves_the_others_and_the_front_alone() -> None:
    x, y = bars(30)
    front = make_front()
    good = [0.1 * np.ones((front.num_features, 2))]
    bad = [3e38 * np.ones((front.num_features, 2))]
    both = learn(Population.from_layers([good, bad], activation="identity"), front, x, y, steps=5)
    alone = learn(Population.from_layers([good], activation="identity"), front, x, y, steps=5)
    assert both.finite.tolist() == [True, False]
    np.testing.assert_array_equal(both.losses[:, :1], alone.losses)
    for name, array in alone.front.arrays.items():
        np.testing.assert_array_equal(both.front.arrays[name], array)


def test_networks_with_memory_see_sequences_of_images() -> None:
    x, y = bars(24)
    sequences = np.stack([x, x[::-1], x])
    wanted = learn(
        make_population(feed_forward=False),
        make_front("reference"),
        sequences,
        y,
        kind="recurrent",
        backend="reference",
        steps=2,
    )
    found = learn(
        make_population(feed_forward=False), make_front(), sequences, y, kind="recurrent", steps=2
    )
    assert_equal(found, wanted)


def test_progress_is_reported() -> None:
    x, y = bars(20)
    seen: list[tuple[int, int]] = []
    learner = FrontLearner(make_population(), make_front(), Lesson(steps=3))
    learner.run(x, y, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)


def test_what_does_not_fit_is_refused() -> None:
    x, y = bars(20)
    front = make_front()
    with pytest.raises(ShapeError, match="the front has 16 features, and the networks have 5"):
        FrontLearner(Population.random(1, 5, 2, num_nodes=3, num_connections=5), front)
    with pytest.raises(OptionError, match="front must be a ConvFront"):
        FrontLearner(make_population(), x)
    with pytest.raises(OptionError, match="front_rate"):
        FrontLearner(make_population(), front, front_rate=-1)
    with pytest.raises(ShapeError, match="targets"):
        learn(make_population(), front, x, y[:3])
    with pytest.raises(ShapeError, match=r"images must have shape \[B, 1, 8, 8\]"):
        learn(make_population(), front, x[None], y)
    with pytest.raises(OptionError, match="leaves none of 1 images"):
        learn(make_population(), front, x[:1], y[:1], held_out=0.9)
