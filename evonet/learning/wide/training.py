"""One wide level above sparse inputs, and how a batch trains it.

A batch takes these steps; each is one call of a backend's kernels, and each is a function of the
seed and of the batches before it:

1. hidden [B, H]: the rectified sum of the input rows that a sample has, or what a trunk returned;
2. codes: each hidden row is hashed, and its buckets name the classes that it would excite;
3. active classes: those of the buckets, the sample's labels, labels of other samples of the batch,
   and classes at random where that is still too few;
4. a softmax over the active classes, its loss and gradient;
5. the gradient of the hidden rows, and a step of Adam for all rows that took part.

Rows move away from the buckets that they are in. So from time to time, ever less often, the rows
that changed are hashed again and the tables are rebuilt.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet.backends.wide import WideKernels
from evonet.backends.wide_level import (
    DIGIT_BITS,
    HASH_KINDS,
    ROW_LANES,
    ROW_STATE,
    AdamRule,
    Buckets,
    Level,
    Lists,
    Tables,
)
from evonet.errors import OptionError, check_option, check_positive, check_seed, check_whole
from evonet.learning.wide.hashing import make_plan
from evonet.numerics.philox import Purpose, choose, philox

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class WideSettings:
    """All that a training run depends on, besides its examples."""

    num_inputs: int  # input columns, or 0 for a level whose hidden rows come from a trunk
    num_classes: int
    hidden: int
    hash: str
    bits: int
    tables: int
    capacity: int  # classes that a bucket keeps
    keep: str  # "reservoir" or "last": what a full bucket keeps
    limit: int  # classes from buckets, at most, for a sample
    shared: int  # labels of the batch, at most, that all its samples get
    minimum: int  # classes of a sample, at least
    rebuild: int  # batches until the first rebuild of the tables
    growth: float  # how much longer each interval is than the one before
    rate: float
    beta1: float
    beta2: float
    epsilon: float
    input_scale: float  # first input weights lie between this and its negative
    seed: int

    @property
    def width(self) -> int:
        """Columns of a row with its padding."""
        return -(-self.hidden // ROW_LANES) * ROW_LANES

    def check(self) -> None:
        """Checks all values.

        Raises:
            OptionError: One is not allowed.
        """
        most = 2**31 - 1
        check_whole("num_inputs", self.num_inputs, 0, most)
        check_whole("num_classes", self.num_classes, 1, most)
        check_whole("hidden", self.hidden, 1, 65536)
        check_option("hash", self.hash, HASH_KINDS)
        digit = DIGIT_BITS[self.hash]
        check_whole("bits", self.bits, 1, 24)
        if self.bits % digit:
            raise OptionError(f"bits={self.bits} must be a multiple of {digit} for {self.hash}.")
        check_whole("tables", self.tables, 1, 4096)
        check_whole("capacity", self.capacity, 1, most)
        check_option("keep", self.keep, ("reservoir", "last"))
        for name in ("limit", "shared", "minimum"):
            check_whole(name, getattr(self, name), 0, 1 << 20)
        check_whole("rebuild", self.rebuild, 1, most)
        for name in ("rate", "epsilon", "input_scale"):
            check_positive(name, getattr(self, name))
        if not 1 <= self.growth <= 100:
            raise OptionError(f"growth={self.growth} must be from 1 to 100.")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) <= 0.9999:
                raise OptionError(f"{name}={getattr(self, name)} must be from 0 to 0.9999.")
        check_seed(self.seed)


class Batch(NamedTuple):
    """Samples, and what they should be.

    Attributes:
        lists: The input columns of each sample; None if `hidden` is given.
        values: Their values.
        hidden: [B, width] of a trunk, or None.
        label_start: [B + 1].
        labels: Classes, ascending within a sample.
        wants_slopes: Whether the trunk learns, too.
    """

    lists: Lists | None
    values: Floats | None
    hidden: Floats | None
    label_start: Longs
    labels: Ints
    wants_slopes: bool = False


class StepResult(NamedTuple):
    """The outcome of a batch."""

    loss: Floats  # [B] over the active classes
    hit: NDArray[np.bool_]  # [B] whether a label had the largest logit of them
    num_active: float  # active classes of a sample, on average
    slopes: Floats | None = None  # [B, width] derivatives by the hidden rows of a trunk


class WideModel:
    """A wide level in training.

    Args:
        settings: What it depends on.
        kernels: The backend's.
        empty: Leaves the levels to the caller, who has read them from a file.
    """

    def __init__(self, settings: WideSettings, kernels: WideKernels, empty: bool = False) -> None:
        settings.check()
        self.settings = settings
        self.kernels = kernels
        kind, bits, tables = settings.hash, settings.bits, settings.tables
        plan = make_plan(kind, bits, tables, settings.hidden, settings.width, settings.seed)
        self.plan = dataclasses.replace(
            plan,
            signs=kernels.put(plan.signs),
            positions=kernels.put(plan.positions),
            borrow=kernels.put(plan.borrow),
        )
        self.buckets = Buckets(1 << bits, settings.capacity, settings.keep == "last")
        self.rule = _make_rule(settings, kernels)
        self.inputs: Level | None = None
        if not empty:
            if settings.num_inputs:
                self.inputs = self._make_level(0, settings.num_inputs, settings.input_scale)
            self.outputs = self._make_level(1, settings.num_classes, 1 / math.sqrt(settings.hidden))
        self.step = 0
        self.epoch = 0
        self.interval = float(settings.rebuild)
        self.next_rebuild = settings.rebuild
        self._hashed_updates: Floats | None = None
        self._codes: Any = None
        self._tables: Tables | None = None

    def _make_level(self, index: int, num_rows: int, scale: float) -> Level:
        settings = self.settings
        weights = self.kernels.first_weights(
            num_rows, settings.hidden, settings.width, scale, settings.seed, index
        )
        mean, square = (
            self.kernels.put(np.zeros((num_rows, settings.width), np.float32)) for _ in range(2)
        )
        return Level(
            weights, mean, square, self.kernels.put(np.zeros((num_rows, ROW_STATE), np.float32))
        )

    # ---- copies ----

    def frozen(self) -> dict[str, Any]:
        """Everything that the model consists of, as arrays of the host."""
        copies = {}
        for name in ("inputs", "outputs"):
            level: Level | None = getattr(self, name)
            if level is not None:
                parts = (level.weights, level.mean, level.square, level.state)
                copies[name] = [self.kernels.get(part).copy() for part in parts]
        counters = self.step, self.epoch, self.interval, self.next_rebuild
        tables = None
        if self._tables is not None:
            held = self._codes, self._tables.starts, self._tables.ids
            tables = [self.kernels.get(part).copy() for part in held]
        return {
            "settings": self.settings,
            "levels": copies,
            "counters": counters,
            "tables": tables,
            "hashed": self._hashed_updates,
        }

    @classmethod
    def thawed(cls, frozen: dict[str, Any], kernels: WideKernels) -> WideModel:
        """The model that `frozen` returned a copy of."""
        model = cls(frozen["settings"], kernels, empty=True)
        for name, parts in frozen["levels"].items():
            setattr(model, name, Level(*(kernels.put(part) for part in parts)))
        model.step, model.epoch, model.interval, model.next_rebuild = frozen["counters"]
        if frozen["tables"] is not None:
            codes, starts, ids = (kernels.put(part) for part in frozen["tables"])
            model._codes, model._tables = codes, Tables(starts, ids)
            model._hashed_updates = frozen["hashed"]
        return model

    # ---- tables ----

    def rebuild(self) -> None:
        """Hashes the rows that changed since the last time, and fills the tables again."""
        updates = self.kernels.get(self.outputs.state)[:, 3].copy()
        if self._codes is None:
            self._codes = self.kernels.put(
                np.zeros((self.settings.tables, self.settings.num_classes), np.int32)
            )
            changed = np.arange(self.settings.num_classes, dtype=np.int32)
        else:
            changed = np.flatnonzero(updates != self._hashed_updates).astype(np.int32)
        self._hashed_updates = updates
        self.kernels.rehash(self.plan, self.outputs, changed, self._codes)
        self._tables = self.kernels.build(self._codes, self.buckets, self.settings.seed, self.epoch)

    @property
    def tables(self) -> Tables:
        """The hash tables, built on first use."""
        if self._tables is None:
            self.rebuild()
        assert self._tables is not None
        return self._tables

    # ---- a batch ----

    def hidden_rows(self, batch: Batch) -> Any:
        """Computes the hidden rows [B, width]."""
        if batch.hidden is not None:
            return self.kernels.put(batch.hidden)
        assert self.inputs is not None
        assert batch.lists is not None
        assert batch.values is not None
        return self.kernels.sum(batch.lists, batch.values, self.inputs.weights, True)

    def find_active(self, hidden: Any, label_start: Longs, labels: Ints) -> Lists:
        """Finds the active classes of each sample."""
        settings, count = self.settings, len(label_start) - 1
        shared, fill = self._negatives(labels)
        most_labels = int(np.diff(label_start).max(initial=0))
        most = settings.limit + most_labels + len(shared) + len(fill)
        codes = self.kernels.hash(self.plan, hidden)
        tables = self.tables
        return self.kernels.active(
            codes,
            tables,
            label_start,
            labels,
            shared,
            fill,
            settings.limit,
            settings.minimum,
            settings.seed,
            self.step,
            max(most, 1) if count else 1,
        )

    def train(self, batch: Batch) -> StepResult:
        """Takes one step."""
        kernels = self.kernels
        count = len(batch.label_start) - 1
        slopes: Floats | None = None
        hidden = self.hidden_rows(batch)
        active = self.find_active(hidden, batch.label_start, batch.labels)
        gradient, loss, hit = kernels.forward(
            hidden, self.outputs, active, batch.label_start, batch.labels, 1.0 / count
        )
        if self.inputs is not None and batch.lists is not None and batch.values is not None:
            back = kernels.backward(active, gradient, self.outputs.weights, hidden)
            kernels.update(active, gradient, hidden, self.outputs, True, self.rule)
            kernels.update(batch.lists, batch.values, back, self.inputs, False, self.rule)
        else:
            if batch.wants_slopes:
                slopes = kernels.get(kernels.sum(active, gradient, self.outputs.weights, False))
            kernels.update(active, gradient, hidden, self.outputs, True, self.rule)
        self.step += 1
        num_active = float((kernels.get(active.end) - kernels.get(active.begin)).mean())
        if self.step == self.next_rebuild:
            self.epoch += 1
            self.interval *= self.settings.growth
            self.next_rebuild = self.step + max(1, int(self.interval))
            self.rebuild()
        return StepResult(loss, hit, num_active, slopes)

    def _negatives(self, labels: Ints) -> tuple[Ints, Ints]:
        """Labels of the batch that all samples get, and classes at random."""
        settings = self.settings
        draw = np.arange(max(len(labels), settings.minimum))
        words = philox(settings.seed, self.step, 0, Purpose.WIDE_NEGATIVES, draw)
        fill = choose(words[1][: settings.minimum], settings.num_classes).astype(np.int32)
        mixed = labels[np.argsort(words[0][: len(labels)], kind="stable")]
        _, first = np.unique(mixed, return_index=True)
        return np.sort(mixed[np.sort(first)[: settings.shared]]), fill


def _make_rule(settings: WideSettings, kernels: WideKernels) -> AdamRule:
    """Adam's corrections by number of updates, as far as they differ from 1 in float32."""
    length = math.ceil(-26 * math.log(2) / math.log(max(settings.beta1, settings.beta2, 0.1))) + 2
    powers1 = np.cumprod(np.full(length, settings.beta1))
    powers2 = np.cumprod(np.full(length, settings.beta2))
    return AdamRule(
        settings.beta1,
        settings.beta2,
        settings.epsilon,
        kernels.put((settings.rate / (1 - powers1)).astype(np.float32)),
        kernels.put((1 / (1 - powers2)).astype(np.float32)),
    )
