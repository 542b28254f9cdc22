"""Wide levels in plain NumPy: the oracle of `kernels/wide/` and what uses it.

Sums run in the order that `kernels/wide/rows.h` states, one sample at a time, so that all backends
give equal bits. Nothing here is meant for more than a few thousand rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evonet.numerics.elementary import exponential, fused, log_float
from evonet.numerics.philox import Purpose, choose, philox, uniform

if TYPE_CHECKING:
    from evonet.backends.wide_level import AdamRule, Buckets, HashPlan, Level, Lists, Tables

Array = NDArray[Any]
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

ROW_LANES = 16
EMPTY_BIN = -1
MOST_UPDATES = 1 << 24  # float32 counts so far


class ReferenceWide:
    """Computes wide levels with NumPy."""

    name = "reference"

    def put(self, array: Array) -> Array:
        """Takes an array over; nothing is copied."""
        return array

    def get(self, array: Array) -> Array:
        """Returns an array of the host."""
        return array

    def first_weights(
        self, num_rows: int, hidden: int, width: int, scale: float, seed: int, level: int
    ) -> Floats:
        """Draws weights from -scale to scale; columns from `hidden` on are 0."""
        row, column = np.arange(num_rows)[:, None], np.arange(-(-hidden // 4))[None, :]
        words = philox(seed, level, row, Purpose.WIDE_WEIGHT, column)  # [4, rows, columns / 4]
        drawn = uniform(np.moveaxis(words, 0, 2).reshape(num_rows, -1)[:, :hidden])
        weights = np.zeros((num_rows, width), np.float32)
        weights[:, :hidden] = (drawn * np.float32(2) - np.float32(1)) * np.float32(scale)
        return weights

    def hash(self, plan: HashPlan, rows: Floats) -> Ints:
        """Hashes rows [R, W] to codes [R, tables]."""
        padded = np.zeros((len(rows), plan.columns), np.float32)
        padded[:, : rows.shape[1]] = rows
        digits = _simhash(plan, padded) if plan.kind == 0 else _dwta(plan, padded)
        by_table = digits.reshape(len(rows), plan.tables, -1)
        shifts = plan.digit_bits * np.arange(by_table.shape[2])
        codes: Ints = (by_table << shifts).sum(2).astype(np.int32)
        return codes

    def rehash(self, plan: HashPlan, level: Level, rows: Ints, codes: Ints) -> None:
        """Renews the codes [tables, R] of some rows."""
        if len(rows):
            codes[:, rows] = self.hash(plan, level.weights[rows]).T

    def build(self, codes: Ints, buckets: Buckets, seed: int, epoch: int) -> Tables:
        """Fills the buckets of all tables from codes [tables, R]."""
        from evonet.backends.wide_level import Tables

        num_tables, num_rows = codes.shape
        starts = np.zeros((num_tables, buckets.count + 1), np.int32)
        ids = np.zeros((num_tables, num_rows), np.int32)
        for table in range(num_tables):
            counts = np.bincount(codes[table], minlength=buckets.count)
            starts[table, 1:] = np.cumsum(np.minimum(counts, buckets.capacity))
            for bucket in np.unique(codes[table]):
                rows = np.flatnonzero(codes[table] == bucket)
                kept = _keep(rows, buckets, seed, epoch, table)
                at = starts[table, bucket]
                ids[table, at : at + len(kept)] = kept
        return Tables(starts, ids)

    def active(
        self,
        codes: Ints,
        tables: Tables,
        label_start: Longs,
        labels: Ints,
        shared: Ints,
        fill: Ints,
        limit: int,
        minimum: int,
        seed: int,
        step: int,
        most: int,
    ) -> Lists:
        """Finds the rows of each sample."""
        from evonet.backends.wide_level import Lists

        num_samples, num_tables = codes.shape
        active = np.zeros((num_samples, most), np.int32)
        count = np.zeros(num_samples, np.int64)
        words = philox(seed, step, np.arange(num_samples), Purpose.WIDE_QUERY, 0)[0]
        first = choose(words, num_tables)
        for b in range(num_samples):
            found: list[int] = []
            for i in range(num_tables):
                table = (int(first[b]) + i) % num_tables
                start, end = tables.starts[table, codes[b, table] :][:2]
                found += tables.ids[table, start:end].tolist()
            own = labels[label_start[b] : label_start[b + 1]].tolist()
            rows = {*found[:limit], *own, *shared.tolist()}
            rows.update(fill[: max(0, minimum - len(rows))].tolist())
            count[b] = len(rows)
            active[b, : len(rows)] = sorted(rows)
        begin = np.arange(num_samples, dtype=np.int64) * most
        return Lists(begin, begin + count, active)

    def sum(self, lists: Lists, coefficient: Floats, rows: Floats, rectify: bool) -> Floats:
        """Adds up coefficient * row over each list, to [B, W]."""
        out = np.zeros((len(lists.begin), rows.shape[1]), np.float32)
        for b, (begin, end) in enumerate(zip(lists.begin, lists.end, strict=True)):
            for e in range(begin, end):
                out[b] = fused(coefficient.flat[e], rows[lists.rows.flat[e]], out[b])
        return np.where(out > 0, out, np.float32(0)) if rectify else out

    def backward(self, lists: Lists, coefficient: Floats, rows: Floats, hidden: Floats) -> Floats:
        """As `sum`, and 0 where a hidden node is not excited."""
        return np.where(hidden > 0, self.sum(lists, coefficient, rows, False), np.float32(0))

    def forward(
        self,
        dense: Floats,
        level: Level,
        lists: Lists,
        label_start: Longs,
        labels: Ints,
        scale: float,
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The softmax over each sample's rows: gradient, loss [B], hit [B]."""
        gradient = np.zeros(lists.rows.shape, np.float32)
        loss = np.zeros(len(dense), np.float32)
        hit = np.zeros(len(dense), np.bool_)
        for b, (begin, end) in enumerate(zip(lists.begin, lists.end, strict=True)):
            rows = lists.rows.flat[begin:end]
            own = labels[label_start[b] : label_start[b + 1]]
            if len(own):
                logits = dots(level.weights[rows], dense[b]) + level.state[rows, 0]
                found, loss[b], hit[b] = softmax(logits, np.searchsorted(rows, own))
                gradient.flat[begin:end] = found * np.float32(scale)
        return gradient, loss, hit

    def update(
        self,
        lists: Lists,
        coefficient: Floats,
        dense: Floats,
        level: Level,
        with_bias: bool,
        rule: AdamRule,
    ) -> None:
        """A step of Adam for all rows that a list names, in place."""
        entries: dict[int, list[tuple[int, np.float32]]] = {}
        for b, (begin, end) in enumerate(zip(lists.begin, lists.end, strict=True)):
            for e in range(begin, end):
                row = int(lists.rows.flat[e])
                entries.setdefault(row, []).append((b, coefficient.flat[e]))
        for row, found in entries.items():
            gradient = np.zeros(dense.shape[1], np.float32)
            bias = np.float32(0)
            for b, c in found:
                gradient = fused(c, dense[b], gradient)
                bias = bias + c
            state = level.state[row]
            updates = int(state[3])
            averages = level.weights[row], level.mean[row], level.square[row]
            adam_step(rule, updates, gradient, *averages)
            if with_bias:
                adam_step(rule, updates, bias, state[0:1], state[1:2], state[2:3])
            state[3] = min(updates + 1, MOST_UPDATES)

    def top(self, dense: Floats, level: Level, k: int) -> tuple[Ints, Floats]:
        """The k best rows of each sample, best first: ids [B, k], scores [B, k]."""
        ids = np.zeros((len(dense), k), np.int32)
        scores = np.zeros((len(dense), k), np.float32)
        for b, row in enumerate(dense):
            logits = dots(level.weights, row) + level.state[:, 0]
            ids[b] = np.argsort(-logits, kind="stable")[:k]
            scores[b] = logits[ids[b]]
        return ids, scores


def dots(rows: Floats, row: Floats) -> Floats:
    """Rows [R, W] times a row [W], by the lanes and the tree of kernels/wide/rows.h."""
    lanes = np.zeros((len(rows), ROW_LANES), np.float32)
    for j in range(0, len(row), ROW_LANES):
        lanes = fused(rows[:, j : j + ROW_LANES], row[j : j + ROW_LANES], lanes)
    return add_lanes(lanes)


def add_lanes(lanes: Floats) -> Floats:
    """Halves of the last axis are added until one sum is left."""
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes[..., 0]


def softmax(logits: Floats, places: Longs) -> tuple[Floats, np.float32, bool]:
    """The gradient of a sample's loss, the loss, and whether a label is on top.

    Args:
        logits: [n].
        places: Where the labels are among them; at least one.
    """
    most = logits.max()
    powers = np.asarray(exponential(np.maximum(logits - most, np.float32(-60))), np.float32)
    lanes = np.zeros(ROW_LANES, np.float32)
    for i in range(0, len(powers), ROW_LANES):
        part = powers[i : i + ROW_LANES]
        lanes[: len(part)] += part
    total = add_lanes(lanes)
    label_sum = np.float32(0)
    for place in places:
        label_sum = label_sum + logits[place]
    gradient = powers / total
    gradient[places] -= np.float32(1) / np.float32(len(places))
    log = log_float(np.asarray([total], np.float32))[0]
    loss = log + (most - label_sum / np.float32(len(places)))
    return gradient, np.float32(loss), bool(logits[places].max() == most)


def adam_step(
    rule: AdamRule, updates: int, gradient: Any, weight: Floats, mean: Floats, square: Floats
) -> None:
    """The formula of kernels/learning/adam.h, in place."""
    n = min(updates, len(rule.corrected_rate) - 1)
    added = np.float32(1 - rule.beta1) * gradient
    mean[:] = fused(np.float32(rule.beta1), mean, added)
    added = (np.float32(1 - rule.beta2) * gradient) * gradient
    square[:] = fused(np.float32(rule.beta2), square, added)
    root = np.sqrt(rule.correction[n] * square) + np.float32(rule.epsilon)
    weight -= (rule.corrected_rate[n] * mean) / root


def _simhash(plan: HashPlan, x: Floats) -> Ints:
    """Digits [R, functions]."""
    found = []
    for signs in plan.signs:
        mixed = x
        for sign in signs:
            mixed = _hadamard(mixed * sign)
        found.append(mixed > 0)
    digits: Ints = np.concatenate(found, 1)[:, : plan.functions].astype(np.int32)
    return digits


def _hadamard(x: Floats) -> Floats:
    half, count = 1, x.shape[1]
    while half < count:
        pairs = x.reshape(len(x), count // (2 * half), 2, half)
        a, b = pairs[:, :, 0], pairs[:, :, 1]
        x = np.stack([a + b, a - b], 2).reshape(len(x), count)
        half *= 2
    return x


def _dwta(plan: HashPlan, x: Floats) -> Ints:
    bins = x[:, plan.positions]  # [R, functions, 8]
    digits: Ints = bins.argmax(2).astype(np.int32)
    digits[(bins == 0).all(2)] = EMPTY_BIN
    borrowed = digits.copy()
    for i in range(plan.borrow.shape[1]):
        empty = borrowed == EMPTY_BIN
        borrowed = np.where(empty, digits[:, plan.borrow[:, i]], borrowed)
    return np.where(borrowed == EMPTY_BIN, 0, borrowed)


def _keep(rows: Longs, buckets: Buckets, seed: int, epoch: int, table: int) -> Longs:
    """The rows that a bucket keeps, in its order."""
    if len(rows) <= buckets.capacity:
        return rows
    if buckets.keep_last:
        return rows[-buckets.capacity :]
    kept = rows[: buckets.capacity].copy()
    words = philox(seed, epoch, table, Purpose.WIDE_RESERVOIR, rows)[0]
    slots = choose(words, np.arange(1, len(rows) + 1))
    for rank in range(buckets.capacity, len(rows)):
        if slots[rank] < buckets.capacity:
            kept[slots[rank]] = rows[rank]
    return kept
