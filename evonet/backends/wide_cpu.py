"""Wide levels by the compiled extension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evonet.backends.cpu import CpuBackend
from evonet.backends.wide_level import AdamRule, Buckets, HashPlan, Level, Lists, Tables
from evonet.installation import require_native

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class CpuWide:
    """The compiled kernels: threads own samples, tables or ranges of rows.

    Args:
        threads: How many; 0 for all available.
    """

    name = "cpu"

    def __init__(self, threads: int = 0) -> None:
        self._native = require_native()
        self._threads = threads
        self._simd = CpuBackend().simd_level()

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """Takes an array over; nothing is copied."""
        return array

    def get(self, array: NDArray[Any]) -> NDArray[Any]:
        """Returns an array of the host."""
        return array

    def first_weights(
        self, num_rows: int, hidden: int, width: int, scale: float, seed: int, level: int
    ) -> Floats:
        """Draws weights from -scale to scale; columns from `hidden` on are 0."""
        weights = np.empty((num_rows, width), np.float32)
        self._native.wide_weights(weights, hidden, scale, seed, level, self._threads)
        return weights

    def _hash(
        self, plan: HashPlan, rows: Floats, which: Ints | None, codes: Ints, by_table: bool
    ) -> None:
        self._native.wide_hash(
            plan.kind,
            plan.bits,
            plan.tables,
            plan.columns,
            plan.signs,
            plan.positions,
            plan.borrow,
            rows,
            which,
            codes,
            by_table,
            self._threads,
            self._simd,
        )

    def hash(self, plan: HashPlan, rows: Floats) -> Ints:
        """Hashes rows [R, W] to codes [R, tables]."""
        codes = np.empty((len(rows), plan.tables), np.int32)
        self._hash(plan, rows, None, codes, False)
        return codes

    def rehash(self, plan: HashPlan, level: Level, rows: Ints, codes: Ints) -> None:
        """Renews the codes [tables, R] of some rows."""
        self._hash(plan, level.weights, rows, codes, True)

    def build(self, codes: Ints, buckets: Buckets, seed: int, epoch: int) -> Tables:
        """Fills the buckets of all tables from codes [tables, R]."""
        starts = np.empty((len(codes), buckets.count + 1), np.int32)
        ids = np.empty_like(codes)
        self._native.wide_build(
            codes, buckets.capacity, int(buckets.keep_last), seed, epoch, starts, ids, self._threads
        )
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
        active = np.empty((len(codes), most), np.int32)
        count = np.empty(len(codes), np.int64)
        self._native.wide_active(
            codes,
            tables.starts,
            tables.ids,
            label_start,
            labels,
            shared,
            fill,
            limit,
            minimum,
            seed,
            step,
            active,
            count,
            self._threads,
        )
        begin = np.arange(len(codes), dtype=np.int64) * most
        return Lists(begin, begin + count, active)

    def sum(self, lists: Lists, coefficient: Floats, rows: Floats, rectify: bool) -> Floats:
        """Adds up coefficient * row over each list, to [B, W]."""
        out = np.empty((len(lists.begin), rows.shape[1]), np.float32)
        self._native.wide_sum(
            lists.begin,
            lists.end,
            lists.rows,
            coefficient,
            rows,
            rectify,
            out,
            self._threads,
            self._simd,
        )
        return out

    def backward(self, lists: Lists, coefficient: Floats, rows: Floats, hidden: Floats) -> Floats:
        """As `sum`, and 0 where a hidden node is not excited."""
        found = self.sum(lists, coefficient, rows, False)
        found[~(hidden > 0)] = 0
        return found

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
        gradient = np.empty(lists.rows.shape, np.float32)
        loss = np.empty(len(dense), np.float32)
        hit = np.empty(len(dense), np.bool_)
        self._native.wide_forward(
            dense,
            level.weights,
            level.state,
            lists.begin,
            lists.end,
            lists.rows,
            label_start,
            labels,
            scale,
            gradient,
            loss,
            hit,
            self._threads,
            self._simd,
        )
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
        self._native.wide_update(
            lists.begin,
            lists.end,
            lists.rows,
            coefficient,
            dense,
            level.weights,
            level.mean,
            level.square,
            level.state,
            with_bias,
            rule.beta1,
            rule.beta2,
            1 - rule.beta1,
            1 - rule.beta2,
            rule.epsilon,
            rule.corrected_rate,
            rule.correction,
            self._threads,
            self._simd,
        )

    def top(self, dense: Floats, level: Level, k: int) -> tuple[Ints, Floats]:
        """The k best rows of each sample, best first: ids [B, k], scores [B, k]."""
        ids = np.empty((len(dense), k), np.int32)
        scores = np.empty((len(dense), k), np.float32)
        self._native.wide_top(
            dense, level.weights, level.state, ids, scores, self._threads, self._simd
        )
        return ids, scores
