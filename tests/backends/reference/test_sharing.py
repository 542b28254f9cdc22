"""Both ways to share out a generation give each species the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evonet.backends.reference import sharing
from evonet.errors import ShapeError
from evonet.genes.mating import SharingRules
from evonet.installation import require_native

HUGE = 1.7e308


@given(
    species=st.lists(
        st.lists(st.sampled_from([-HUGE, -2.5, 0.0, 1.0, 1.0000001, 3.0, HUGE]), min_size=1),
        min_size=1,
        max_size=9,
    ),
    least=st.integers(1, 4),
    spare=st.integers(0, 90),
    elitism=st.integers(0, 4),
    survival=st.sampled_from([0.01, 0.2, 1.0]),
    canonical=st.booleans(),
    proportional=st.booleans(),
    seed=st.integers(0, 99),
)
@example([[1.0]] * 7 + [[3.0] * 40], 2, 3, 2, 0.2, False, False, 1)  # takes from the largest
def test_native_shares_are_those_of_the_readable_version(
    species: list[list[float]],
    least: int,
    spare: int,
    elitism: int,
    survival: float,
    canonical: bool,
    proportional: bool,
    seed: int,
) -> None:
    grouped = np.array([score for group in species for score in group])
    starts = np.cumsum([0, *map(len, species)])
    members = np.random.default_rng(seed).permutation(len(grouped))
    scores = np.empty_like(grouped)
    scores[members] = grouped
    size = least * len(species) + spare
    rules = SharingRules(size, least, elitism, survival, canonical, proportional)
    readable = sharing.share_out(scores, members, starts, rules)
    compiled = require_native().share_out(scores, members, starts, *rules)
    for one, another in zip(compiled, readable, strict=True):
        assert one.dtype == another.dtype
        assert one.tolist() == another.tolist()


@pytest.mark.parametrize("magnitude", [1.0, 1e306])
def test_shares_do_not_depend_on_threads(magnitude: float) -> None:
    rng = np.random.default_rng(4)
    sizes = np.array([40_000, 1, 700, 35_000, 3])  # several threads add up the large ones
    starts, total = np.cumsum([0, *sizes]), int(sizes.sum())
    scores = magnitude * (rng.normal(size=total) + np.repeat([0.0, 4.0, 1.0, 2.0, 0.5], sizes))
    members = rng.permutation(total)
    placed = np.empty(total)
    placed[members] = scores
    rules = SharingRules(total, 2, 2, 0.2, False, True)
    expected = [each.tolist() for each in sharing.share_out(placed, members, starts, rules)]
    for threads in (0, 1, 2, 5):
        found = require_native().share_out(placed, members, starts, *rules, threads)
        assert [each.tolist() for each in found] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member_start": np.array([0, 2, 2, 4])}, "has an empty species"),
        ({"scores": np.array([0.0, np.nan, 1.0, 2.0])}, "must be finite"),
        ({"scores": np.array([0.0, 1.0, 1.0, np.inf])}, "must be finite"),
        ({"least": 3}, "from 1 to 2"),
        ({"survival": 1.5}, "from 0 to 1"),
        ({"members": np.array([0, 1, 2, 4])}, r"members\[3\] is 4"),
    ],
)
def test_what_cannot_be_shared_out_is_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "scores": np.arange(4.0),
        "members": np.arange(4),
        "member_start": np.array([0, 1, 2, 4]),
        **SharingRules(6, 2, 1, 0.2, False, False)._asdict(),
    }
    require_native().share_out(**arguments)
    with pytest.raises(ShapeError, match=message):
        require_native().share_out(**(arguments | change))
