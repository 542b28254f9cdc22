"""Learners: what all genomes of a population learn."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Learner, Lesson, OptionError, Population, ShapeError
from evonet.definitions.dynamics import Dynamics
from evonet.learning.batches import batches, split

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
ANSWERS = np.array([[0], [1], [1], [0]], np.float32)


def make_population(size: int = 5, **options: Any) -> Population:
    usual: dict[str, Any] = {"num_nodes": 5, "num_connections": 14, "seed": 1}
    return Population.random(size, 2, 1, **{**usual, **options})


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_genomes_learn_xor(optimizer: Any) -> None:
    population = make_population(activations=("tanh",), weight_scale=0.5)
    before = evonet.compile(population).loss(XOR, ANSWERS)
    learned = evonet.learn(population, XOR, ANSWERS, optimizer=optimizer, rate=0.05, steps=60)
    after = evonet.compile(learned).loss(XOR, ANSWERS)
    assert (after < before).all()
    assert after.min() < 0.1


def test_adam_takes_the_steps_of_its_formula() -> None:
    population = make_population(1, dtype="float64")
    lesson = Lesson(steps=3, rate=0.1, batch=0)
    found = Learner(population, lesson).run(XOR, ANSWERS).population
    now, mean, square = population, 0.0, 0.0
    for t in range(1, 4):
        _, gradients = evonet.compile(now).gradients(XOR, ANSWERS)
        genes = np.concatenate([gradients["weight"], gradients["bias"]]) / 4
        mean, square = 0.9 * mean + 0.1 * genes, 0.999 * square + 0.001 * genes**2
        change = 0.1 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        count = len(now.weight)
        now = now.replace(weight=now.weight - change[:count], bias=now.bias - change[count:])
    assert np.allclose(found.weight, now.weight, rtol=1e-12)
    assert np.allclose(found.bias, now.bias, rtol=1e-12)


def test_a_genome_learns_what_it_would_learn_alone() -> None:
    population = make_population()
    lesson = Lesson(steps=10, batch=2, clip=0.5, held_out=0.25, check_every=3)
    together = Learner(population, lesson).run(XOR, ANSWERS).population
    alone = Learner(population[2:4], lesson).run(XOR, ANSWERS).population
    assert together[2:4] == alone


def test_only_chosen_genes_change() -> None:
    population = make_population()
    found = evonet.learn(population, XOR, ANSWERS, steps=3, weights=False, responses=True)
    assert (found.weight == population.weight).all()
    assert (found.bias != population.bias).any()
    assert (found.response != population.response).any()


def test_genomes_end_with_the_genes_that_were_best_on_held_out_samples() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 2)).astype(np.float32)
    targets = rng.random((40, 1)).astype(np.float32)  # noise: nothing to learn
    population = make_population()
    lesson = Lesson(steps=60, rate=0.1, held_out=0.5, check_every=5, patience=2)
    learned = Learner(population, lesson).run(x, targets)
    _, held_out = split(lesson.seed, 40, 0.5)
    losses = evonet.compile(learned.population).loss(x[held_out], targets[held_out]) / 20
    assert np.allclose(losses, learned.held_out.min(axis=0), rtol=1e-5)
    assert learned.finite.all()
    assert learned.held_out.shape[0] < 13  # patience ended before all steps
    best = learned.held_out.argmin(axis=0)
    assert (learned.steps == 5 * best).all()


def test_a_gradient_that_is_not_finite_stops_its_genome() -> None:
    population = make_population(activations=("cube",), weight_scale=30.0)
    learned = Learner(population, Lesson(steps=5)).run(1e10 * XOR, ANSWERS)
    assert not learned.finite.all()
    assert np.isfinite(learned.population.weight).all()
    assert np.isnan(learned.losses[1:, ~learned.finite]).all()


def test_networks_with_memory_learn_sequences() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((4, 16, 2)) < 0.5).astype(np.float32)
    targets = x[:3].sum(axis=0)[:, :1] / 3
    population = make_population(feed_forward=False, activations=("tanh",), weight_scale=0.5)
    lesson = Lesson(steps=40, rate=0.03)
    learned = Learner(population, lesson, dynamics=Dynamics.of("recurrent")).run(x, targets)
    assert np.nanmin(learned.losses[-1] / learned.losses[0]) < 0.7


def test_progress_counts_all_steps() -> None:
    seen: list[tuple[int, int]] = []
    lesson = Lesson(steps=25)
    Learner(make_population(), lesson).run(XOR, ANSWERS, lambda *now: seen.append(now))
    assert seen[-1] == (25, 25)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_an_interrupt_leaves_the_last_whole_round() -> None:
    learner = Learner(make_population(), Lesson(steps=25))

    def stop(done: int, _: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.run(XOR, ANSWERS, stop)
    found = learner.learned()
    done = int(found.steps[0])
    assert 0 < done < 25
    whole = Learner(make_population(), Lesson(steps=done)).run(XOR, ANSWERS)
    assert found.population == whole.population


def test_ctrl_c_stops_native_steps_and_keeps_what_was_learned() -> None:
    population = make_population(200, num_nodes=20, num_connections=60)
    x = np.tile(XOR, (64, 1))
    targets = np.tile(ANSWERS, (64, 1))
    learner = Learner(population, Lesson(steps=10**7, batch=0))
    seen: list[int] = []

    def note(done: int, _: int) -> None:
        if not seen:
            threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        seen.append(done)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            learner.run(x, targets, note)
    finally:
        signal.signal(signal.SIGINT, before)
    found = learner.learned()
    done = int(found.steps[0])
    assert done >= seen[-1] > 0
    assert (found.steps == done).all()
    whole = Learner(population[:2], Lesson(steps=done, batch=0)).run(x, targets)
    assert found.population[:2] == whole.population


# ---- samples ----


def test_batches_use_every_sample_once_before_any_comes_again() -> None:
    samples = np.arange(10) * 7
    found = batches(3, samples, 4, 0, 5)
    assert sorted(found.reshape(-1)[:10]) == samples.tolist()
    assert sorted(found.reshape(-1)[10:]) == samples.tolist()
    assert (batches(3, samples, 4, 2, 3) == found[2:]).all()
    assert (batches(4, samples, 4, 0, 5) != found).any()


def test_a_batch_of_all_samples_keeps_their_order() -> None:
    assert batches(0, np.arange(3), 0, 5, 2).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert batches(0, np.arange(3), 8, 5, 1).tolist() == [[0, 1, 2]]


def test_samples_are_either_learned_from_or_held_out() -> None:
    learned_from, held_out = split(1, 11, 0.3)
    assert sorted([*learned_from, *held_out]) == list(range(11))
    assert len(held_out) == 3


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "adamm"}, "optimizer='adamm' is not a choice.*adam"),
        ({"loss": "misses"}, "loss='misses' is not a choice"),
        ({"rate": 0}, "rate=0 must be a number above 0"),
        ({"momentum": 1}, "momentum=1 must be at least 0 and below 1"),
        ({"betas": 0.9}, "betas=0.9 must be two numbers"),
        ({"clip": -1}, "clip=-1 must be a number, 0 or above"),
        ({"weights": 1}, "weights=1 must be True or False"),
        ({"weights": False, "biases": False}, "nothing could learn"),
        ({"epochs": 3}, "epochs is not an option of a lesson"),
        ({"batch": -1}, "batch=-1 must be a whole number"),
    ],
)
def test_lessons_refuse_what_makes_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        evonet.learn(make_population(), XOR, ANSWERS, **options)


def test_samples_must_fit() -> None:
    population = make_population()
    with pytest.raises(ShapeError, match=r"x must have shape \[B, 2\], found \[4, 3\]"):
        evonet.learn(population, np.zeros((4, 3)), ANSWERS)
    with pytest.raises(ShapeError, match=r"targets must have shape \[4, 1\], found \[4\]"):
        evonet.learn(population, XOR, ANSWERS[:, 0])
    with pytest.raises(OptionError, match="izhikevich"):
        evonet.learn(population, XOR[None], ANSWERS, kind="izhikevich")
    with pytest.raises(OptionError, match="leaves none of 0 samples"):
        evonet.learn(population, XOR[:0], ANSWERS[:0])
