"""One GPU's range of genomes: uploaded once if it fits, else run in chunks that fit into memory.

Genomes never see each other, so results do not depend on chunks.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from evonet.backends.base import Rollout
from evonet.backends.cuda.arguments import (
    NO_STATE,
    forward_arguments,
    loss_arguments,
    rollout_arguments,
)
from evonet.backends.cuda.grid.program import GridProgram
from evonet.backends.cuda.launch import LaunchPlan
from evonet.backends.cuda.packed import HostGenomes
from evonet.backends.cuda.plan import (
    most_genomes,
    plan_forward,
    plan_loss,
    plan_rollout,
)
from evonet.backends.cuda.prepared import PreparedCall
from evonet.backends.cuda.reverse import Reverse
from evonet.backends.cuda.samples import Samples
from evonet.errors import DeviceMemoryError

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.cuda.cost import Workload
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.packed import Genomes
    from evonet.backends.cuda.resident import Resident
    from evonet.backends.cuda.state import DeviceState
    from evonet.definitions.backends import Mapping

Made = TypeVar("Made")

MOST_CALLS: Final = 16
"""Shapes of samples whose launches are remembered."""


class Chunks:
    """Runs genomes in chunks, half as many at a time whenever memory runs short.

    What failed once is not tried again: `known` is the size that was left, for genomes with at
    least as many rows (samples or episodes) as when memory ran short.
    """

    def __init__(self) -> None:
        self._size = 0
        self._short_from = 0  # rows; 0 if memory never ran short

    def known(self, num_rows: int) -> int | None:
        """The largest chunk to try; None if anything may fit."""
        return self._size if 0 < self._short_from <= num_rows else None

    def run(
        self,
        begin: int,
        end: int,
        size: int,
        num_rows: int,
        work: Callable[[int, int], None],
        free: Callable[[], None],
        advice: Callable[[int], str],
    ) -> None:
        """Runs all of [begin, end), from chunks of `size` genomes with `num_rows` each.

        `work` runs a chunk; one that runs out of memory is run again, in smaller ones, after `free`
        has freed what can be uploaded again. If not even one genome fits, a `DeviceMemoryError` has
        `advice`.
        """
        is_last_try = False
        while begin < end:
            last = min(begin + size, end)
            fault = _try(work, begin, last)
            if fault is None:
                begin, is_last_try = last, False
                continue
            size = (last - begin + 1) // 2
            self._size, self._short_from = size, max(1, num_rows)
            free()
            if last - begin == 1 and is_last_try:
                raise DeviceMemoryError(f"{fault} {advice(begin)}")
            is_last_try = last - begin == 1  # now that everything is freed


def _try(work: Callable[[int, int], None], begin: int, end: int) -> str | None:
    """Returns the GPU's message if memory ran short."""
    try:
        work(begin, end)
    except DeviceMemoryError as error:
        return str(error)  # and not the error, whose frames keep arrays alive
    return None


class Shard:
    """The genomes [begin, end) of a population, on one GPU."""

    def __init__(
        self, device: Device, genomes: Genomes, begin: int, end: int, mapping: Mapping
    ) -> None:
        self.device = device
        self.begin = begin
        self.end = end
        self._genomes = genomes
        self._mapping = mapping
        self._uploaded: Resident | None = None  # all genomes, if they fit
        self._grid: GridProgram | None = None  # of all genomes, for the last number of samples
        self._forward_chunks, self._rollout_chunks = Chunks(), Chunks()
        self._reverse_chunks = Chunks()
        self._workloads: dict[tuple[int, int], Workload] = {}
        self._losses: dict[tuple[int, int], Callable[[tuple[Any, ...]], None]] = {}
        self._calls: dict[tuple[int, int, tuple[int, ...]], PreparedCall] = {}
        self._ahead: tuple[int, int, Resident] | None = None  # the chunk after this one
        self._lock = threading.Lock()  # one call at a time

    def free(self) -> None:
        """Frees what is uploaded; the next call uploads it again.

        Genomes that were compiled on the GPU are compiled on the host then, which can send them in
        chunks.
        """
        self._uploaded = self._grid = self._ahead = None
        self._calls.clear()
        self._take_to_host()
        self.device.release_memory()

    def _take_to_host(self) -> None:
        """Continues with a schedule of the host."""
        if not isinstance(self._genomes, HostGenomes):
            self._genomes = HostGenomes(self._genomes.schedule)
            self._workloads.clear()

    def make_room(self, allocate: Callable[[], Made]) -> Made:
        """Allocates, after freeing what is uploaded if there is too little memory."""
        with contextlib.suppress(DeviceMemoryError):
            return allocate()
        self.free()
        return allocate()

    def forward(self, x: Any, y: Any, state: DeviceState | None = None) -> None:
        """Evaluates samples of the host or any GPU, to this shard's rows of y [P, B, O].

        Networks with memory start from a state and write the next one; None is their first state.
        """
        samples = Samples(self.device, x)
        stays = self.device.holds(y)

        def run(begin: int, end: int) -> None:
            rows = y if end - begin == len(y) else y[begin:end]
            if stays:
                self._evaluate(begin, end, samples, rows, state)
                return
            outputs = self.device.empty(rows.shape, rows.dtype)
            self._evaluate(begin, end, samples, outputs, state)
            self._prepare_after(begin, end)
            if isinstance(rows, np.ndarray):
                self.device.download(outputs, rows)
            else:
                self.device.copy(outputs, rows)

        self._run_forward(x.shape[-2], run)

    def repeat(self, x: DeviceArray) -> DeviceArray | None:
        """Evaluates samples of a GPU as an earlier call did, to new outputs [P, B, O].

        Returns:
            None if no earlier call was like this one, or memory is short: `forward` then has more
            to do.
        """
        with self._lock:
            call, genes = self._calls.get((self.begin, self.end, x.shape)), self._uploaded
            if call is None or genes is None or not call.takes(x):
                return None
            try:
                y, is_at_home = self.device.empty_beside(genes, call.y_shape, call.work.dtype)
            except DeviceMemoryError:
                return None
            call.run(x, y)
            if not is_at_home:
                genes.was_read()
            return y

    def loss(self, x: Any, targets: Any, loss: int, losses: npt.NDArray[Any]) -> None:
        """Evaluates and adds up losses, to this shard's rows of `losses` [P, 2] on the host."""
        device, dtype = self.device, self._genomes.dtype
        samples, goals = Samples(device, x), Samples(device, targets)

        def run(begin: int, end: int) -> None:
            outputs = device.empty((end - begin, *targets.shape), dtype)
            work = self._evaluate(begin, end, samples, outputs)
            found = device.empty((end - begin, 2), dtype)
            answers = goals.of(begin, end)
            self._loss_launch(work, loss)(loss_arguments(work, outputs, answers, found))
            goals.were_read()
            self._prepare_after(begin, end)
            device.download(found, losses[begin:end])

        self._run_forward(x.shape[-2], run)

    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64], rollout: Rollout) -> None:
        """Plays episodes in one launch, for those of `genomes` [K] that are in this shard."""
        mine = np.flatnonzero((self.begin <= genomes) & (genomes < self.end))
        mine = mine[np.argsort(genomes[mine], kind="stable")]  # those of a chunk side by side
        row_nbytes = episodes.count * (self._genomes.dtype.itemsize + np.dtype(np.int32).itemsize)
        with self._lock:
            known = self._rollout_chunks.known(episodes.count)
            self._rollout_chunks.run(
                0,
                len(mine),
                min(known or self._likely_chunk(row_nbytes), most_genomes(episodes)),
                episodes.count,
                lambda begin, end: self._play(episodes, genomes, mine[begin:end], rollout),
                self.free,
                lambda row: (
                    f"Genome {genomes[mine[row]]} alone does not fit with {episodes.count} "
                    "episodes: play fewer at a time, or free memory on that GPU."
                ),
            )

    def run_reverse(self, num_samples: int, work: Callable[[Reverse], None]) -> None:
        """Runs gradients or learning for all genomes, in chunks that fit into memory."""
        with self._lock:
            self._reverse_chunks.run(
                self.begin,
                self.end,
                self._reverse_chunks.known(num_samples) or max(1, self.end - self.begin),
                num_samples,
                lambda begin, end: work(Reverse(self.device, self._genomes.schedule, begin, end)),
                self.free,
                lambda genome: (
                    f"Genome {genome} alone does not fit with {num_samples} samples: "
                    "pass fewer samples at a time, or free memory on that GPU."
                ),
            )

    def _run_forward(self, num_samples: int, work: Callable[[int, int], None]) -> None:
        row_nbytes = num_samples * self._genomes.num_outputs * self._genomes.dtype.itemsize
        with self._lock:
            self._forward_chunks.run(
                self.begin,
                self.end,
                self._forward_chunks.known(num_samples) or self._likely_chunk(row_nbytes),
                num_samples,
                work,
                self.free,
                lambda genome: (
                    f"Genome {genome} alone does not fit with {num_samples} samples: "
                    "pass fewer samples at a time, or free memory on that GPU."
                ),
            )

    def _likely_chunk(self, row_nbytes: int) -> int:
        """As many genomes as should fit with results of `row_nbytes` each."""
        size = max(1, self.end - self.begin)
        if self._uploaded is None:
            free = self.device.free_memory()
            while size > 1:
                end = min(self.begin + size, self.end)
                if free >= size * row_nbytes + self._genomes.nbytes(self.begin, end):
                    break
                size = (size + 1) // 2
        return size

    def _evaluate(
        self,
        begin: int,
        end: int,
        samples: Samples,
        outputs: DeviceArray,
        state: DeviceState | None = None,
    ) -> Workload:
        """Launches the forward pass of a chunk."""
        genes, x = self._upload(begin, end), samples.of(begin, end)
        call = self._calls.get((begin, end, x.shape))  # those of genes that were freed are gone
        if call is not None and state is None:
            call.run(x, outputs)
            self._note_reads(genes, samples)
            return call.work
        work = self._measure(begin, end, x.shape[-2], x.ndim == 2)
        plan = plan_forward(work, self.device.limits, self._mapping)
        if plan.mapping == "wide" and not isinstance(self._genomes, HostGenomes):
            self._take_to_host()  # whose tables it needs; what is uploaded has the same bytes
            return self._evaluate(begin, end, samples, outputs, state)
        first_node = self._genomes.first_node(self.begin, begin)
        start = NO_STATE if state is None else state.arguments(first_node)
        if plan.mapping == "wide":
            program = self._grid_program(begin, end, plan, work)
            if state is not None:
                state.wait()
            program.run(work, genes.arrays, x, outputs, start)
        else:
            scratch = self._scratch(plan)
            if state is not None:
                state.wait()
            arguments = forward_arguments(
                plan, work, self._genomes, genes.arrays, x, outputs, scratch, start
            )
            self._launch(plan, arguments)
            if scratch is None and state is None and genes is self._uploaded:
                self._remember_call(PreparedCall.of(self.device, plan, work, arguments, x))
        self._note_reads(genes, samples)
        if state is not None:
            state.was_used()
        return work

    def _loss_launch(self, work: Workload, loss: int) -> Callable[[tuple[Any, ...]], None]:
        """What adds up losses of so many genomes; its plan depends on nothing else."""
        key = work.num_genomes, loss
        launch = self._losses.get(key)
        if launch is None:
            if len(self._losses) >= MOST_CALLS:
                self._losses.clear()
            launch = self._losses[key] = self.device.prepare(plan_loss(work, loss))
        return launch

    def _note_reads(self, genes: Resident, samples: Samples) -> None:
        genes.was_read()
        samples.were_read()

    def _remember_call(self, call: PreparedCall) -> None:
        if len(self._calls) >= MOST_CALLS:
            self._calls.clear()
        shape = call.x_shape
        self._calls[self.begin, self.end, shape] = call

    def _play(
        self,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int64],
        rollout: Rollout,
    ) -> None:
        """Plays for some rows of a rollout, whose genomes ascend."""
        device, source = self.device, self._genomes
        begin, end = int(genomes[rows[0]]), int(genomes[rows[-1]]) + 1
        if self._uploaded is not None or source.is_resident:
            begin, end = self.begin, self.end
        genes = self._upload(begin, end)
        # The largest genomes first: a warp goes at the pace of its largest.
        rows = rows[np.argsort(-source.num_links(genomes[rows]), kind="stable")]
        chosen = genomes[rows]
        plan = plan_rollout(source.measure_rollout(episodes, chosen), device.limits)
        players = device.upload((chosen - begin).astype(np.int32))
        shape = len(rows), episodes.count
        found = Rollout(device.empty(shape, source.dtype), device.empty(shape, np.int32))
        scratch = self._scratch(plan)
        self._launch(
            plan, rollout_arguments(plan, episodes, source, genes.arrays, players, *found, scratch)
        )
        genes.was_read()
        for there, target in zip(found, rollout, strict=True):
            here = np.empty(shape, target.dtype)
            device.download(there, here)
            target[rows] = here

    def _upload(self, begin: int, end: int) -> Resident:
        """The genomes [begin, end) on the GPU, for the current stream to read."""
        is_whole = (begin, end) == (self.begin, self.end)
        if is_whole and self._uploaded is not None:
            self._uploaded.wait()
            return self._uploaded
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[:2] == (begin, end):
            ahead[2].wait()
            return ahead[2]
        uploaded = self._genomes.send(self.device, begin, end)
        if is_whole:
            self._uploaded = uploaded
        return uploaded

    def _prepare_after(self, begin: int, end: int) -> None:
        """Packs and sends the next chunk on a second stream, while the GPU computes this one.

        Where memory is too short for both, the next chunk is sent when it is needed.
        """
        last = min(2 * end - begin, self.end)
        if end < last and not self._genomes.is_resident:
            with contextlib.suppress(DeviceMemoryError), self.device.aside():
                self._ahead = end, last, self._genomes.send(self.device, end, last)

    def _grid_program(self, begin: int, end: int, plan: LaunchPlan, work: Workload) -> GridProgram:
        """The program of a plan; that of all genomes is kept for the next call."""
        is_whole = (begin, end) == (self.begin, self.end) and self._uploaded is not None
        if is_whole and self._grid is not None and self._grid.fits(begin, end, plan):
            return self._grid
        self._grid = None
        program = GridProgram(self.device, self._genomes.schedule, begin, end, plan, work)
        if is_whole:
            self._grid = program
        return program

    def _measure(self, begin: int, end: int, num_samples: int, shared_x: bool) -> Workload:
        """The workload of some genomes; only what depends on genomes is worth keeping."""
        if (begin, end) not in self._workloads:
            self._workloads[begin, end] = self._genomes.measure(begin, end, num_samples, shared_x)
        known = self._workloads[begin, end]
        return dataclasses.replace(known, num_samples=num_samples, shared_x=shared_x)

    def _scratch(self, plan: LaunchPlan) -> DeviceArray | None:
        dtype = self._genomes.dtype
        count = plan.scratch_nbytes // dtype.itemsize
        return self.device.empty((count,), dtype) if count else None

    def _launch(self, plan: LaunchPlan, arguments: tuple[Any, ...]) -> None:
        self.device.launch(
            plan.kernel, plan.defines, plan.grid, plan.block, arguments, plan.shared_mem
        )
