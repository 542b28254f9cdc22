"""Arguments are checked in one place, and messages suggest what was meant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evonet.errors import (
    MOST_SEED,
    OptionError,
    check_option,
    check_positive,
    check_seed,
    check_threads,
    check_whole,
)
from evonet.messages import did_you_mean


@pytest.mark.parametrize("found", [0, 7, np.int64(7), np.uint8(7)])
def test_whole_numbers_of_any_type_become_ints(found: Any) -> None:
    assert type(check_whole("n", found)) is int
    assert check_whole("n", found) == found


@pytest.mark.parametrize("found", [True, np.True_, 1.0, np.float64(1), "1", None, [1], -1, 11])
def test_anything_else_is_refused(found: Any) -> None:
    with pytest.raises(OptionError) as caught:
        check_whole("n", found, 0, 10)
    assert str(caught.value) == f"n={found!r} must be a whole number from 0 to 10."


def test_a_whole_number_may_have_no_upper_limit() -> None:
    assert check_whole("n", 10**30, 1) == 10**30
    with pytest.raises(OptionError, match=r"^n=0 must be a whole number, at least 1\.$"):
        check_whole("n", 0, 1)


def test_seeds_and_threads_have_limits_of_their_own() -> None:
    assert check_seed(MOST_SEED) == MOST_SEED
    with pytest.raises(OptionError, match=r"seed=-1 must be a whole number from 0 to 2\^64 - 1\."):
        check_seed(-1)
    assert check_threads(4096) == 4096
    with pytest.raises(OptionError) as caught:
        check_threads(4097)
    message = "threads=4097 must be a whole number from 0 to 4096, 0 for all available."
    assert str(caught.value) == message


@pytest.mark.parametrize("found", [0, -1, math.nan, math.inf, True, "1", None, 10**400])
def test_a_positive_number_is_finite_and_above_zero(found: Any) -> None:
    assert check_positive("x", np.float32(0.5)) == 0.5
    with pytest.raises(OptionError, match=r"^x=.* must be a number above 0\.$"):
        check_positive("x", found)


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        ("Sigmoid", 'Did you mean "sigmoid"?'),
        ("tahn", 'Did you mean "Tanh"?'),
        ("gauss", "Did you mean gauss_a, gauss_b?"),
        ("qqq", "Allowed: Tanh, gauss_a, gauss_b, sigmoid."),
        (3, "Allowed: Tanh, gauss_a, gauss_b, sigmoid."),
    ],
)
def test_the_nearest_names_are_suggested(found: object, hint: str) -> None:
    assert did_you_mean(found, ["sigmoid", "Tanh", "gauss_a", "gauss_b"]) == hint


def test_long_lists_of_names_are_not_printed() -> None:
    names = [f"name{i}" for i in range(100)]
    assert did_you_mean("qqq", names) == ""
    assert did_you_mean("name77x", names) == 'Did you mean "name77"?'


def test_names_from_a_file_are_spelled_out() -> None:
    assert did_you_mean("c", ["a\0\x1b", "b" * 500]) == f"Allowed: a\\x00\\x1b, {'b' * 100}...."


def test_an_option_that_is_not_a_choice_gets_a_suggestion() -> None:
    check_option("kind", "a", ("a", "b"))
    with pytest.raises(OptionError, match=r"^kind='c' is not a choice. Allowed: a, b\.$"):
        check_option("kind", "c", ("a", "b"))
