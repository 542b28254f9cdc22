"""Wide levels: equal bits on all backends, and what hashing, buckets and steps promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonet import OptionError, ShapeError
from evonet.backends.reference.wide import ReferenceWide, dots
from evonet.backends.wide_cpu import CpuWide
from evonet.backends.wide_level import Buckets, Lists
from evonet.installation import require_native
from evonet.learning.wide.hashing import default_bits, make_plan
from evonet.learning.wide.training import WideModel
from tests.learning.wide import cases

LEVELS = require_native().simd_levels()


@pytest.mark.parametrize("kind", cases.KINDS, ids=lambda kind: kind["hash"])
@pytest.mark.parametrize("keep", ["reservoir", "last"])
def test_threads_and_the_reference_give_equal_bits(kind: dict[str, Any], keep: str) -> None:
    chosen = cases.settings(keep=keep, **kind)
    reference = WideModel(chosen, ReferenceWide())
    expected = cases.train(reference)
    assert reference.epoch > 1
    for threads in (1, 2, 3):
        model = WideModel(chosen, CpuWide(threads))
        assert cases.train(model) == expected
        assert cases.contents(model) == cases.contents(reference)


@pytest.mark.parametrize("simd", LEVELS)
def test_instruction_sets_give_equal_bits(simd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = cases.settings(hidden=150, **cases.KINDS[1])
    expected = WideModel(chosen, CpuWide(1))
    wanted = cases.train(expected, 3)
    monkeypatch.setenv("EVONET_SIMD", simd)
    model = WideModel(chosen, CpuWide(1))
    assert cases.train(model, 3) == wanted
    assert cases.contents(model) == cases.contents(expected)


def test_the_seed_decides() -> None:
    found = [cases.contents(WideModel(cases.settings(seed=seed), CpuWide())) for seed in (7, 7, 8)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("kind", cases.KINDS, ids=lambda kind: kind["hash"])
def test_hashing_changed_rows_is_hashing_all(kind: dict[str, Any]) -> None:
    model = WideModel(cases.settings(**kind), CpuWide())
    cases.train(model, 9)
    model.rebuild()
    fresh = model.kernels.hash(model.plan, model.outputs.weights)
    np.testing.assert_array_equal(model._codes, fresh.T)


@given(
    angle=st.floats(0.05, 1.5),
    kind=st.sampled_from(["simhash", "dwta"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=15, deadline=None)
def test_near_rows_share_more_buckets(angle: float, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = np.linalg.qr(rng.normal(size=(64, 2)))[0].T
    rows = np.stack([a, np.cos(0.02) * a + np.sin(0.02) * b, b]).astype(np.float32)
    plan = make_plan(kind, 6, 200, 64, 64, seed)
    codes = CpuWide().hash(plan, rows)
    near, far = ((codes[0] == codes[i]).mean() for i in (1, 2))
    assert near > 0.5 > far
    scaled = CpuWide().hash(plan, np.float32(4) * rows)
    np.testing.assert_array_equal(codes, scaled)  # only the direction counts


def test_simhash_agrees_as_often_as_the_angle_says() -> None:
    rng = np.random.default_rng(0)
    plan = make_plan("simhash", 1, 4000, 128, 128, 3)
    for _ in range(5):
        rows = rng.normal(size=(2, 128)).astype(np.float32)
        rows[1] += rows[0] * rng.uniform(0, 3)
        cosine = (rows[0] @ rows[1]) / np.prod(np.linalg.norm(rows, axis=1))
        codes = CpuWide().hash(plan, rows)
        assert (codes[0] == codes[1]).mean() == pytest.approx(
            1 - np.arccos(cosine) / np.pi, abs=0.04
        )


def test_empty_bins_borrow() -> None:
    plan = make_plan("dwta", 6, 40, 32, 32, 5)
    row = np.zeros((2, 32), np.float32)
    row[:, 3] = 1  # most bins of both do not have it
    row[1, 9] = 1e-3
    codes = CpuWide().hash(plan, row)
    np.testing.assert_array_equal(codes, ReferenceWide().hash(plan, row))
    assert (codes[0] == codes[1]).mean() > 0.3
    assert len(np.unique(codes[0])) > 3


@given(
    rows=st.integers(0, 200),
    buckets=st.integers(1, 8),
    capacity=st.integers(1, 30),
    keep_last=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=40, deadline=None)
def test_buckets_keep_what_they_should(
    rows: int, buckets: int, capacity: int, keep_last: bool, seed: int
) -> None:
    codes = np.random.default_rng(seed).integers(0, buckets, (3, rows)).astype(np.int32)
    rule = Buckets(buckets, capacity, keep_last)
    found = CpuWide(2).build(codes, rule, seed, 4)
    expected = ReferenceWide().build(codes, rule, seed, 4)
    np.testing.assert_array_equal(found.starts, expected.starts)
    for table in range(3):
        kept = found.ids[table, : found.starts[table, -1]]
        np.testing.assert_array_equal(kept, expected.ids[table, : len(kept)])
        for bucket in range(buckets):
            start, end = found.starts[table, bucket : bucket + 2]
            inside = np.flatnonzero(codes[table] == bucket)
            assert end - start == min(capacity, len(inside))
            assert set(kept[start:end]) <= set(inside)
            if keep_last:
                np.testing.assert_array_equal(kept[start:end], inside[-capacity:])


def test_a_reservoir_is_fair() -> None:
    codes = np.zeros((4000, 20), np.int32)
    tables = CpuWide().build(codes, Buckets(1, 5, False), 1, 0)
    counts = np.bincount(tables.ids[:, :5].ravel(), minlength=20)
    assert counts.min() > 850
    assert counts.max() < 1150


def test_active_sets_hold_labels_shared_classes_and_enough_others() -> None:
    chosen = cases.settings(limit=7, shared=4, minimum=30)
    model = WideModel(chosen, CpuWide())
    batch = cases.make_batch(chosen, 12, np.random.default_rng(2))
    hidden = model.hidden_rows(batch)
    active = model.find_active(hidden, batch.label_start, batch.labels)
    shared, fill = model._negatives(batch.labels)
    assert len(shared) == 4
    assert set(shared) <= set(batch.labels)
    for b in range(12):
        rows = active.rows.flat[active.begin[b] : active.end[b]]
        labels = batch.labels[batch.label_start[b] : batch.label_start[b + 1]]
        assert (np.diff(rows) > 0).all()
        assert {*labels, *shared} <= set(rows)
        assert 24 <= len(rows) <= 7 + 3 + 4 + 30
        assert len(set(rows) - set(fill) - set(labels) - set(shared)) <= 7


def test_gradients_are_those_of_the_loss() -> None:
    """Against differences of the loss, in float64 steps small enough for float32 sums."""
    rng = np.random.default_rng(0)
    chosen = cases.settings(rate=1e-3)
    model = WideModel(chosen, CpuWide())
    batch = cases.make_batch(chosen, 5, rng)
    hidden = model.hidden_rows(batch)
    active = model.find_active(hidden, batch.label_start, batch.labels)
    arguments = active, batch.label_start, batch.labels
    gradient, _, _ = model.kernels.forward(hidden, model.outputs, *arguments, 1.0)
    for b in range(5):
        if batch.label_start[b] == batch.label_start[b + 1]:
            assert not gradient.flat[active.begin[b] : active.end[b]].any()
            continue
        for e in rng.integers(active.begin[b], active.end[b], 3):
            row = active.rows.flat[e]
            losses = []
            for step in (-1e-2, 1e-2):
                model.outputs.state[row, 0] += np.float32(step)
                loss = model.kernels.forward(hidden, model.outputs, *arguments, 1.0)[1][b]
                losses.append(float(loss))
                model.outputs.state[row, 0] -= np.float32(step)
            slope = (losses[1] - losses[0]) / 2e-2
            assert gradient.flat[e] == pytest.approx(slope, abs=2e-3)


def test_only_rows_that_took_part_change() -> None:
    model = WideModel(cases.settings(minimum=0, limit=4), CpuWide())
    before = model.outputs.weights.copy()
    batch = cases.make_batch(model.settings, 3, np.random.default_rng(3))
    model.train(batch)
    changed = (model.outputs.weights != before).any(1)
    np.testing.assert_array_equal(changed, model.outputs.state[:, 3] == 1)
    assert set(batch.labels) <= set(np.flatnonzero(changed))
    assert changed.sum() < 30
    assert not model.outputs.weights[:, 20:].any()  # padding


def test_adam_corrects_by_the_number_of_updates_of_a_row() -> None:
    """The first step of a row is the rate, whenever it comes."""
    model = WideModel(cases.settings(rate=0.01), CpuWide())
    lists = Lists(np.array([0]), np.array([1]), np.array([3], np.int32))
    dense = np.full((1, 32), 0.5, np.float32)
    for row in (3, 3, 3, 9):
        lists.rows[0] = row
        before = model.outputs.weights[row].copy()
        coefficient = np.array([2.0], np.float32)
        model.kernels.update(lists, coefficient, dense, model.outputs, True, model.rule)
        moved = before - model.outputs.weights[row]
        np.testing.assert_allclose(moved, 0.01, rtol=1e-4)


def test_dots_are_nearly_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    rows, row = rng.normal(size=(9, 48)).astype(np.float32), rng.normal(size=48).astype(np.float32)
    np.testing.assert_allclose(dots(rows, row), rows @ row, rtol=1e-4, atol=1e-5)


def test_bits_suit_the_number_of_classes() -> None:
    assert default_bits("simhash", 10) == 3
    assert default_bits("simhash", 670_091) == 10
    assert default_bits("dwta", 670_091) == 18
    assert default_bits("dwta", 5_000) % 3 == 0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"bits": 0}, "bits"),
        ({"hash": "dwta", "bits": 4}, "multiple of 3"),
        ({"hash": "md5"}, "hash"),
        ({"tables": 0}, "tables"),
        ({"keep": "all"}, "keep"),
        ({"growth": 0.5}, "growth"),
        ({"rate": float("nan")}, "rate"),
        ({"beta2": 1.0}, "beta2"),
        ({"num_classes": 0}, "num_classes"),
    ],
)
def test_settings_are_checked(change: dict[str, Any], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        WideModel(cases.settings(**change), CpuWide())


def test_native_calls_check_their_arrays() -> None:
    native, model = require_native(), WideModel(cases.settings(), CpuWide())
    level, simd = model.outputs, LEVELS[-1]
    out = np.zeros((1, 32), np.float32)
    ones = np.ones(2, np.float32)
    begin, end = np.array([0]), np.array([2])
    for rows, match in (([1, 1], "ascend"), ([2, 300], "ascend"), ([-1, 4], "ascend")):
        lists = begin, end, np.array(rows, np.int32)
        with pytest.raises(ShapeError, match=match):
            native.wide_sum(*lists, ones, level.weights, False, out, 1, simd)
    lists = begin, np.array([3]), np.array([1, 2], np.int32)
    with pytest.raises(ShapeError, match="outside"):
        native.wide_sum(*lists, ones, level.weights, False, out, 1, simd)
    with pytest.raises(ShapeError, match="multiple of 16"):
        native.wide_weights(np.zeros((3, 20), np.float32), 20, 1.0, 0, 0, 1)
    codes, starts = np.full((2, 3), 9, np.int32), np.zeros((2, 5), np.int32)
    with pytest.raises(ShapeError, match="codes"):
        native.wide_build(codes, 4, 0, 0, 0, starts, codes.copy(), 1)
