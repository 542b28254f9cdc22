"""Sums of whole arrays that are rounded once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evonet.numerics import exact_sum as module
from evonet.numerics.exact_sum import FEW, exact_sum


@pytest.fixture(autouse=True)
def whole_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even short arrays are added as wholes, in pieces."""
    monkeypatch.setattr(module, "FEW", 1)
    monkeypatch.setattr(module, "PIECE", 7)


numbers = st.floats(-1e300, 1e300, allow_subnormal=True)


@given(arrays(np.float64, st.integers(1, 40), elements=numbers))
def test_a_sum_is_the_one_that_is_rounded_once(values: np.ndarray) -> None:
    assert exact_sum(values) == math.fsum(values.tolist())


def test_large_numbers_that_cancel_leave_the_small_ones() -> None:
    assert exact_sum(np.array([1e300, 1.0, 5e-324, -1e300])) == 1.0
    assert exact_sum(np.array([5e-324, 5e-324, -5e-324])) == 5e-324
    assert exact_sum(np.zeros(3)) == 0.0


def test_many_numbers_are_added_as_few_are() -> None:
    values = np.random.default_rng(1).standard_normal(3 * FEW) * 1e3
    assert exact_sum(values) == math.fsum(values.tolist())


def test_a_sum_beyond_the_largest_number_is_an_error() -> None:
    with pytest.raises(OverflowError):
        exact_sum(np.full(3, 1.7e308))
