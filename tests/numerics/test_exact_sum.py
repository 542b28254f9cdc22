"""Sums of whole arrays that are rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evonet.numerics import exact_sum as module
from evonet.numerics.exact_sum import FEW, add_in_pieces, exact_sum

Add: TypeAlias = Callable[[np.ndarray], float]


@pytest.fixture(autouse=True)
def whole_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even short arrays are added as wholes, in pieces."""
    monkeypatch.setattr(module, "FEW", 1)
    monkeypatch.setattr(module, "PIECE", 7)


# The compiled sum, and the one that does without the extension.
both = pytest.mark.parametrize("add", [exact_sum, add_in_pieces])
numbers = st.floats(-1e300, 1e300, allow_subnormal=True)


@both
@given(values=arrays(np.float64, st.integers(0, 40), elements=numbers))
def test_a_sum_is_the_one_that_is_rounded_once(add: Add, values: np.ndarray) -> None:
    assert add(values) == math.fsum(values.tolist())


@both
@given(
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=1, max_size=60),
    exponents=st.lists(st.integers(-1074, 1000), min_size=60, max_size=60),
)
def test_sums_of_powers_of_two_round_to_even(
    add: Add, signs: list[float], exponents: list[int]
) -> None:
    """Half a unit in the last place, and a little more, at every magnitude."""
    for width in (1, 52, 53, 54, 107):
        near = [exponents[0] + i * width for i in range(len(signs))]
        for picked in (exponents, [min(e, 1000) for e in near]):
            pairs = zip(signs, picked, strict=False)
            values = np.array([math.ldexp(sign, e) for sign, e in pairs])
            assert add(values) == math.fsum(values.tolist())


@both
def test_large_numbers_that_cancel_leave_the_small_ones(add: Add) -> None:
    assert add(np.array([1e300, 1.0, 5e-324, -1e300])) == 1.0
    assert add(np.array([5e-324, 5e-324, -5e-324])) == 5e-324
    assert add(np.zeros(3)) == 0.0


@both
def test_many_numbers_are_added_as_few_are(add: Add) -> None:
    values = np.random.default_rng(1).standard_normal(3 * FEW) * 1e3
    assert add(values) == math.fsum(values.tolist())


@pytest.mark.parametrize("count", [(1 << 14) - 1, (1 << 14) + 1, 100_003])
def test_threads_add_up_to_the_same_sum(count: int) -> None:
    rng = np.random.default_rng(2)
    values = np.ldexp(rng.normal(size=count), rng.integers(-1060, 1000, count))
    values[::3] = -values[1::3][: len(values[::3])].repeat(2)[: len(values[::3])]
    for threads in (0, 1, 2, 5):
        assert exact_sum(values, threads) == math.fsum(values.tolist())
        assert module.mean(values, threads) == math.fsum(values.tolist()) / count
    huge = np.full(count, 1e305)
    assert len({module.mean(huge, threads) for threads in (0, 1, 2, 5)}) == 1
    assert module.mean(huge, 3) == pytest.approx(1e305)


@both
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_sum_beyond_the_largest_number_is_an_error(add: Add, sign: int) -> None:
    with pytest.raises(OverflowError):
        add(sign * np.full(3, 1.7e308))
    largest = sign * np.finfo(np.float64).max
    assert add(np.array([largest])) == largest
