"""Intervals of proportions and of r2: their defining equations, and how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evonet.numerics.intervals import BEYOND, proportion_interval, r2_interval


def chance(hits: range, count: int, p: float) -> float:
    return math.fsum(math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in hits)


@pytest.mark.parametrize(
    ("hits", "count"), [(1, 2), (3, 5), (95, 96), (105, 120), (119, 120), (2, 300)]
)
def test_what_lies_beyond_either_end_of_a_proportion_is_half_a_percent(
    hits: int, count: int
) -> None:
    low, high = proportion_interval(hits, count)
    assert low < hits / count < high
    assert chance(range(hits, count + 1), count, low) == pytest.approx(BEYOND, rel=1e-9)
    assert chance(range(hits + 1), count, high) == pytest.approx(BEYOND, rel=1e-9)


def test_none_and_all_reach_the_ends() -> None:
    assert proportion_interval(0, 40) == (0.0, pytest.approx(1 - BEYOND ** (1 / 40)))
    assert proportion_interval(40, 40) == (pytest.approx(BEYOND ** (1 / 40)), 1.0)


@pytest.mark.parametrize("count", [1, 7, 30])
def test_a_proportion_is_within_its_interval_at_least_99_times_of_100(count: int) -> None:
    ends = [proportion_interval(hits, count) for hits in range(count + 1)]
    for p in np.linspace(0.001, 0.999, 97).tolist():
        covered = [k for k, (low, high) in enumerate(ends) if low <= p <= high]
        assert math.fsum(chance(range(k, k + 1), count, p) for k in covered) >= 0.99


def test_proportions_of_very_many_are_quick_and_near_the_normal_interval() -> None:
    low, high = proportion_interval(900_000, 1_000_000)
    width = 2.5758 * math.sqrt(0.9 * 0.1 / 1e6)
    assert (low, high) == (
        pytest.approx(0.9 - width, abs=5e-6),
        pytest.approx(0.9 + width, abs=5e-6),
    )


@pytest.mark.parametrize("noise", [0.3, 1.0, 2.0])
def test_r2_is_within_its_interval_nearly_99_times_of_100(noise: float) -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(400):
        y, errors = rng.normal(size=88), rng.normal(size=88) * noise
        low, high = r2_interval(errors**2, (y - y.mean()) ** 2)
        held += low <= 1 - noise**2 <= high <= 1
    assert 0.97 * 400 <= held < 400


def test_errors_in_proportion_to_deviations_leave_no_doubt() -> None:
    deviations = np.array([1.0, 2.0, 3.0, 10.0])
    assert r2_interval(deviations / 4, deviations) == (0.75, 0.75)


def test_r2_without_any_error_is_one_and_a_broken_answer_leaves_nothing() -> None:
    deviations = np.array([1.0, 2.0, 3.0])
    assert r2_interval(np.zeros(3), deviations) == (1.0, 1.0)
    assert r2_interval(np.array([1.0, np.nan, 0.0]), deviations) == (-math.inf, 1.0)
