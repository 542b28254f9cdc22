"""Wide levels on the first GPU: levels and tables stay there, batches and answers travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.backends.cuda.discovery import usable_devices
from evonet.errors import OptionError
from evonet.installation import load_native

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device
    from evonet.backends.wide_level import AdamRule, Buckets, HashPlan, Level, Lists, Tables

THREADS: Final = 256
UPDATE_THREADS: Final = 128
ROW_LANES: Final = 16
MOST_ACTIVE: Final = 8192  # rows of a sample that shared memory sorts
MOST_LOGITS: Final = 1 << 26  # numbers that prediction holds at a time

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class CudaWide:
    """Launches the kernels `kernels/cuda/wide_*.cu`; results have the cpu's bits.

    Raises:
        DeviceError: No GPU works here.
    """

    name = "cuda"

    def __init__(self) -> None:
        self._device: Device = usable_devices()[0]

    def put(self, array: NDArray[Any]) -> Any:
        """Copies an array to the GPU; an array that is there stays."""
        if not isinstance(array, np.ndarray):
            return array
        return self._device.upload(np.ascontiguousarray(array))

    def get(self, array: Any) -> NDArray[Any]:
        """Copies an array to the host."""
        if isinstance(array, np.ndarray):
            return array
        out: NDArray[Any] = np.empty(array.shape, array.dtype)
        self._device.download(array, out)
        return out

    def _launch(
        self, kernel: str, grid: tuple[int, ...], block: int, *arguments: Any, shared: int = 0
    ) -> None:
        """Starts a kernel; ints are 32 bits wide unless they come as NumPy's."""
        ready = tuple(np.int32(each) if type(each) is int else each for each in arguments)
        self._device.launch(kernel, {}, grid, (block,), ready, shared)

    def first_weights(
        self, num_rows: int, hidden: int, width: int, scale: float, seed: int, level: int
    ) -> Any:
        """Draws weights on the host, once, and uploads them."""
        from evonet.backends.reference.wide import ReferenceWide
        from evonet.backends.wide_cpu import CpuWide

        host = ReferenceWide() if load_native() is None else CpuWide()
        return self.put(host.first_weights(num_rows, hidden, width, scale, seed, level))

    def _hash(self, plan: HashPlan, rows: Any, which: Ints, codes: Any, strides: Any) -> None:
        if len(which):
            shared = 4 * (2 * plan.columns + plan.functions)
            self._launch(
                "wide_hash",
                (len(which),),
                THREADS,
                plan.kind,
                plan.bits,
                plan.tables,
                plan.columns,
                plan.signs,
                plan.positions,
                plan.borrow,
                rows,
                int(rows.shape[1]),
                self.put(which),
                *(np.int64(stride) for stride in strides),
                codes,
                shared=shared,
            )

    def hash(self, plan: HashPlan, rows: Any) -> Any:
        """Hashes rows [R, W] to codes [R, tables]."""
        count = int(rows.shape[0])
        codes = self._device.empty((count, plan.tables), np.int32)
        self._hash(plan, rows, np.arange(count, dtype=np.int32), codes, (1, plan.tables))
        return codes

    def rehash(self, plan: HashPlan, level: Level, rows: Ints, codes: Any) -> None:
        """Renews the codes [tables, R] of some rows."""
        self._hash(plan, level.weights, rows, codes, (int(codes.shape[1]), 1))

    def build(self, codes: Any, buckets: Buckets, seed: int, epoch: int) -> Tables:
        """Fills the buckets of all tables from codes [tables, R]."""
        from evonet.backends.wide_level import Tables

        tables, num_rows = (int(n) for n in codes.shape)
        make = self._device.empty
        starts = make((tables, buckets.count + 1), np.int32)
        ids = make((tables, num_rows), np.int32)
        scratch = [make((tables, buckets.count), np.int32) for _ in range(2)]
        self._launch(
            "wide_build",
            (tables,),
            THREADS,
            np.int64(num_rows),
            buckets.count,
            buckets.capacity,
            int(buckets.keep_last),
            np.uint64(seed),
            np.uint32(epoch),
            codes,
            starts,
            ids,
            *scratch,
        )
        return Tables(starts, ids)

    def active(
        self,
        codes: Any,
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
        """Finds the rows of each sample.

        Raises:
            OptionError: A sample may have more rows than a block can sort.
        """
        from evonet.backends.wide_level import Lists

        if most > MOST_ACTIVE:
            raise OptionError(
                f"a sample may have {most} active classes, and GPUs take {MOST_ACTIVE}. Lower "
                "limit, shared or minimum."
            )
        samples, num_tables = (int(n) for n in codes.shape)
        size = 1 << max(most - 1, 1).bit_length()
        make = self._device.empty
        active = make((samples, most), np.int32)
        begin, end = make((samples,), np.int64), make((samples,), np.int64)
        self._launch(
            "wide_active",
            (samples,),
            THREADS,
            np.int64(tables.ids.shape[1]),
            num_tables,
            int(tables.starts.shape[1]) - 1,
            codes,
            tables.starts,
            tables.ids,
            self.put(label_start),
            self._some(labels),
            self._some(shared),
            len(shared),
            self._some(fill),
            len(fill),
            limit,
            minimum,
            np.uint64(seed),
            np.uint32(step),
            size,
            np.int64(most),
            active,
            begin,
            end,
            shared=4 * (size + num_tables + 1),
        )
        return Lists(begin, end, active)

    def _some(self, array: NDArray[Any]) -> Any:
        """Uploads an array; an empty one gets an element that nobody reads."""
        return self.put(array if len(array) else np.zeros(1, array.dtype))

    def _lists(self, lists: Lists) -> tuple[Any, Any, Any]:
        return self.put(lists.begin), self.put(lists.end), self.put(lists.rows)

    def _sum(self, lists: Lists, coefficient: Any, rows: Any, mode: int, hidden: Any) -> Any:
        count, width = len(lists.begin), int(rows.shape[1])
        out = self._device.empty((count, width), np.float32)
        where = self._lists(lists)
        extra = np.intp(0) if hidden is None else hidden
        self._launch(
            "wide_sum",
            (count,),
            min(THREADS, width),
            *where,
            self.put(coefficient),
            rows,
            width,
            mode,
            extra,
            out,
        )
        return out

    def sum(self, lists: Lists, coefficient: Any, rows: Any, rectify: bool) -> Any:
        """Adds up coefficient * row over each list, to [B, W]."""
        return self._sum(lists, coefficient, rows, int(rectify), None)

    def backward(self, lists: Lists, coefficient: Any, rows: Any, hidden: Any) -> Any:
        """As `sum`, and 0 where a hidden node is not excited."""
        return self._sum(lists, coefficient, rows, 2, hidden)

    def forward(
        self,
        dense: Any,
        level: Level,
        lists: Lists,
        label_start: Longs,
        labels: Ints,
        scale: float,
    ) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_]]:
        """The softmax over each sample's rows: gradient, loss [B], hit [B]."""
        samples, width = (int(n) for n in dense.shape)
        make = self._device.empty
        gradient = make(tuple(lists.rows.shape), np.float32)
        loss, hit = make((samples,), np.float32), make((samples,), np.uint8)
        self._launch(
            "wide_forward",
            (samples,),
            THREADS,
            dense,
            level.weights,
            level.state,
            width,
            *self._lists(lists),
            self.put(label_start),
            self._some(labels),
            np.float32(scale),
            gradient,
            loss,
            hit,
        )
        return gradient, self.get(loss), self.get(hit).astype(np.bool_)

    def update(
        self,
        lists: Lists,
        coefficient: Any,
        dense: Any,
        level: Level,
        with_bias: bool,
        rule: AdamRule,
    ) -> None:
        """A step of Adam for all rows that a list names, in place."""
        num_rows, width = (int(n) for n in level.weights.shape)
        where, samples = self._lists(lists), len(lists.begin)
        marks = self.put(np.zeros(num_rows, np.int32))
        self._launch("wide_mark", (samples,), THREADS, *where, marks)
        betas = rule.beta1, rule.beta2, 1 - rule.beta1, 1 - rule.beta2, rule.epsilon
        per_block = UPDATE_THREADS // 32
        self._launch(
            "wide_update",
            (-(-num_rows // per_block),),
            UPDATE_THREADS,
            num_rows,
            samples,
            width,
            *where,
            self.put(coefficient),
            dense,
            int(with_bias),
            *(np.float32(each) for each in betas),
            rule.corrected_rate,
            rule.correction,
            len(rule.corrected_rate),
            marks,
            level.weights,
            level.mean,
            level.square,
            level.state,
        )

    def top(self, dense: Any, level: Level, k: int) -> tuple[Ints, NDArray[np.float32]]:
        """The k best rows of each sample, best first: ids [B, k], scores [B, k]."""
        samples, width = (int(n) for n in dense.shape)
        num_rows = int(level.weights.shape[0])
        together = max(1, min(samples, MOST_LOGITS // num_rows, 65535))
        found = []
        for first in range(0, samples, together):
            part = dense[first : first + together]
            count = int(part.shape[0])
            make = self._device.empty
            logits = make((count, num_rows), np.float32)
            ids, scores = make((count, k), np.int32), make((count, k), np.float32)
            levels = level.weights, level.state, np.int64(num_rows), width
            per_block = THREADS // ROW_LANES
            grid = (-(-num_rows // per_block), count)
            self._launch("wide_logits", grid, THREADS, part, *levels, logits)
            self._launch("wide_top", (count,), THREADS, logits, np.int64(num_rows), k, ids, scores)
            found.append((self.get(ids), self.get(scores)))
        return (
            np.concatenate([ids for ids, _ in found]),
            np.concatenate([scores for _, scores in found]),
        )
