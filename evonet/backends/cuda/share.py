"""One GPU's share of a population: uploaded once, or run piece by piece where memory is short."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import forward_arguments
from evonet.backends.cuda.layout import pack_schedule, packed_nbytes
from evonet.backends.cuda.pieces import PieceSize, run_in_pieces
from evonet.backends.cuda.plan import Workload, plan_forward
from evonet.backends.cuda.remembered import step_arguments
from evonet.backends.cuda.rollout import play_genomes
from evonet.backends.cuda.rollout_plan import most_players
from evonet.backends.cuda.samples import Visitor

if TYPE_CHECKING:
    from evonet.backends.base import Episodes, Mapping, Rollout
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.remembered import Remembered
    from evonet.backends.cuda.results import Result
    from evonet.schedule.schedule import Schedule


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
        self._evaluated, self._played = PieceSize(), PieceSize()  # by samples, by episodes
        self._measured: dict[tuple[int, int], Workload] = {}
        self._one_at_a_time = threading.Lock()

    def run(self, x: Any, result: Result, remembered: Remembered | None = None) -> None:
        """Evaluates this share's genomes.

        Args:
            x: [B, I] or [P, B, I] contiguous samples of the schedule's type, on the host or any
                GPU.
            result: What becomes of their outputs.
            remembered: What networks with memory go on from; None for a first state.

        Raises:
            DeviceMemoryError: Not even one genome fits.
            DeviceError: The GPU failed.
        """
        with self._one_at_a_time:
            num_samples = x.shape[-2]
            row_nbytes = num_samples * self._schedule.num_outputs * self._schedule.dtype.itemsize
            shared = Visitor(self.device, x) if x.ndim == 2 else None

            def shrink(piece: int) -> None:
                self._evaluated.shrink(num_samples, piece)
                self.forget()

            run_in_pieces(
                self.begin,
                self.end,
                self._evaluated.known(num_samples) or self._likely_piece(row_nbytes),
                lambda begin, end: self._run_piece(begin, end, x, shared, result, remembered),
                shrink,
                lambda genome: (
                    f"Genome {genome} alone does not fit with {num_samples} samples: "
                    "pass fewer samples at a time, or free memory on that GPU."
                ),
            )

    def play(self, episodes: Episodes, genomes: npt.NDArray[np.int64], rollout: Rollout) -> None:
        """Lets some genomes play whole episodes.

        Args:
            episodes: Which.
            genomes: [K] of the whole schedule; only those of this share play.
            rollout: [K, E] each; the rows of those genomes are written.

        Raises:
            DeviceMemoryError: Not even one genome fits.
            DeviceError: The GPU failed.
        """
        mine = np.flatnonzero((self.begin <= genomes) & (genomes < self.end))
        mine = mine[np.argsort(genomes[mine], kind="stable")]  # those of a piece side by side
        row_nbytes = episodes.count * (self._schedule.dtype.itemsize + np.dtype(np.int32).itemsize)

        def shrink(piece: int) -> None:
            self._played.shrink(episodes.count, piece)
            self.forget()

        with self._one_at_a_time:
            piece = self._played.known(episodes.count) or self._likely_piece(row_nbytes)
            run_in_pieces(
                0,
                len(mine),
                min(piece, most_players(episodes)),
                lambda begin, end: self._play_piece(episodes, genomes, mine[begin:end], rollout),
                shrink,
                lambda player: (
                    f"Genome {genomes[mine[player]]} alone does not fit with {episodes.count} "
                    "episodes: play fewer at a time, or free memory on that GPU."
                ),
            )

    def _likely_piece(self, row_nbytes: int) -> int:
        """As many genomes as should fit: packing more would mostly be in vain.

        Args:
            row_nbytes: Results of one genome.
        """
        piece = max(1, self.end - self.begin)
        if self._uploaded is None:
            free = self.device.free_memory()
            while piece > 1 and free < piece * row_nbytes + packed_nbytes(
                self._schedule, self.begin, self.begin + piece
            ):
                piece = (piece + 1) // 2
        return piece

    def forget(self) -> None:
        """Frees what is uploaded; the next call uploads it again."""
        self._uploaded = None
        self.device.release_memory()

    def _run_piece(
        self,
        begin: int,
        end: int,
        x: Any,
        shared: Visitor | None,
        result: Result,
        remembered: Remembered | None,
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
        first = int(self._schedule.node_start[begin] - self._schedule.node_start[self.begin])
        arguments += step_arguments(plan, self._schedule, arrays, remembered, first)
        device.launch(plan.kernel, plan.defines, plan.grid, plan.block, arguments, plan.shared_mem)
        result.deliver(work, begin, end, outputs)

    def _play_piece(
        self,
        episodes: Episodes,
        genomes: npt.NDArray[np.int64],
        players: npt.NDArray[np.int64],
        rollout: Rollout,
    ) -> None:
        """Plays for some rows of a rollout, whose genomes ascend."""
        begin, end = int(genomes[players[0]]), int(genomes[players[-1]]) + 1
        if self._uploaded is not None:
            begin, end = self.begin, self.end
        arrays = self._upload(begin, end)
        play_genomes(
            self.device, self._schedule, episodes, arrays, begin, genomes, rollout, players
        )

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
