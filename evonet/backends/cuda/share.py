"""One GPU's share of a population: uploaded once, or run piece by piece where memory is short."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

from evonet.backends.cuda.arguments import forward_arguments
from evonet.backends.cuda.layout import pack_schedule, packed_nbytes
from evonet.backends.cuda.plan import Workload, plan_forward
from evonet.backends.cuda.samples import Visitor
from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.base import Mapping
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.results import Result
    from evonet.schedule import Schedule


class Share:
    """The genomes [begin, end) of a schedule, on one GPU.

    Out of memory, a share forgets what it has uploaded and goes on with half as many genomes at
    a time. Genomes never see each other, so the results do not depend on it.
    """

    def __init__(
        self, device: Device, schedule: Schedule, begin: int, end: int, mapping: Mapping
    ) -> None:
        self.device = device
        self.begin = begin
        self.end = end
        self._schedule = schedule
        self._mapping = mapping
        self._uploaded: dict[str, DeviceArray] | None = None  # of all genomes, if they fit
        self._piece = end - begin  # genomes at a time, for as many samples as:
        self._short_from = 0  # samples at which memory ran short; 0 if it never did
        self._measured: dict[tuple[int, int], Workload] = {}
        self._one_at_a_time = threading.Lock()

    def run_to_end(self, x: Any, result: Result) -> None:
        """Like `run`, and waits until all is done."""
        self.run(x, result)
        self.device.finish()

    def run(self, x: Any, result: Result) -> None:
        """Evaluates this share's genomes.

        Args:
            x: [B, I] or [P, B, I] contiguous samples of the schedule's type, on the host or any
                GPU.
            result: What becomes of their outputs.

        Raises:
            DeviceMemoryError: Not even one genome fits.
            DeviceError: The GPU failed.
        """
        with self._one_at_a_time:
            num_samples = x.shape[-2]
            is_short = 0 < self._short_from <= num_samples
            piece = self._piece if is_short else self._likely_piece(num_samples)
            shared = Visitor(self.device, x) if x.ndim == 2 else None
            begin, tried = self.begin, False
            while begin < self.end:
                end = min(begin + piece, self.end)
                fault = self._try_piece(begin, end, x, shared, result)
                if fault is None:
                    begin, tried = end, False
                    continue
                self.forget()
                if end - begin == 1 and tried:
                    raise DeviceMemoryError(
                        f"{fault} Genome {begin} alone does not fit with {num_samples} samples: "
                        "pass fewer samples at a time, or free memory on that GPU."
                    )
                tried = end - begin == 1  # once more, now that everything is forgotten
                piece = (end - begin + 1) // 2
                self._piece, self._short_from = piece, max(1, num_samples)

    def _likely_piece(self, num_samples: int) -> int:
        """As many genomes as should fit: packing more would mostly be in vain."""
        piece = self.end - self.begin
        if self._uploaded is None:
            outputs = num_samples * self._schedule.num_outputs * self._schedule.dtype.itemsize
            free = self.device.free_memory()
            while piece > 1 and free < piece * outputs + packed_nbytes(
                self._schedule, self.begin, self.begin + piece
            ):
                piece = (piece + 1) // 2
        return piece

    def forget(self) -> None:
        """Frees what is uploaded; the next call uploads it again."""
        self._uploaded = None
        self.device.release_memory()

    def _try_piece(
        self, begin: int, end: int, x: Any, shared: Visitor | None, result: Result
    ) -> str | None:
        """Runs some genomes; returns what the GPU said if memory ran short."""
        try:
            self._run_piece(begin, end, x, shared, result)
        except DeviceMemoryError as error:
            return str(error)  # and not the error, whose frames keep arrays alive
        return None

    def _run_piece(
        self, begin: int, end: int, x: Any, shared: Visitor | None, result: Result
    ) -> None:
        device, dtype = self.device, self._schedule.dtype
        arrays = self._upload(begin, end)
        samples = (shared or Visitor(device, x[begin:end])).here()
        work = self._measure(begin, end, x.shape[-2], shared is not None)
        plan = plan_forward(work, device.limits, self._mapping)
        outputs = result.place(work, begin, end)
        num_scratch = plan.scratch_nbytes // dtype.itemsize
        scratch = device.empty((num_scratch,), dtype) if num_scratch else None
        arguments = forward_arguments(plan, work, arrays, samples, outputs, scratch)
        device.launch(plan.kernel, plan.defines, plan.grid, plan.block, arguments, plan.shared_mem)
        result.deliver(work, begin, end, outputs)

    def _upload(self, begin: int, end: int) -> dict[str, DeviceArray]:
        if (begin, end) != (self.begin, self.end):
            return self._send(begin, end)
        if self._uploaded is None:
            self._uploaded = self._send(begin, end)
        return self._uploaded

    def _send(self, begin: int, end: int) -> dict[str, DeviceArray]:
        packed = pack_schedule(self._schedule, begin, end)
        return {name: self.device.upload(array) for name, array in packed.items()}

    def _measure(self, begin: int, end: int, num_samples: int, shared_x: bool) -> Workload:
        """The workload of some genomes; only what depends on genomes is worth keeping."""
        if (begin, end) not in self._measured:
            work = Workload.of(self._schedule, begin, end, num_samples, shared_x)
            self._measured[begin, end] = work
        known = self._measured[begin, end]
        return dataclasses.replace(known, num_samples=num_samples, shared_x=shared_x)
