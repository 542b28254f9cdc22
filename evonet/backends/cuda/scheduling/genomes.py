"""Genomes that were compiled on their GPU, as forward passes and rollouts see them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.cost import RolloutWorkload, Workload
from evonet.backends.cuda.resident import ResidentPart

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.cuda.device import Device
    from evonet.backends.cuda.resident import Resident
    from evonet.backends.cuda.scheduling.compiled import CompiledGenes
    from evonet.schedule.pending import PendingSchedule
    from evonet.schedule.schedule import Schedule

# Arrays with a row for each genome; those of offsets have one more.
_STARTS = ("unit_start", "node_start", "level_start")
_ROWS = ("output_slot", "num_slots")


class DeviceGenomes:
    """Packed genomes that never were on the host; see `evonet.backends.cuda.packed.Genomes`.

    What is known of all genomes bounds what some of them need.
    """

    is_resident = True

    def __init__(self, compiled: CompiledGenes, pending: PendingSchedule) -> None:
        self._compiled = compiled
        self._pending = pending
        self.num_outputs = pending.num_outputs
        self.dtype: np.dtype[Any] = pending.dtype
        self.dynamics = pending.dynamics

    @property
    def schedule(self) -> Schedule:
        """Compiles all genomes again, on the host."""
        return self._pending.build()

    def nodes_before(self, genome: int) -> int:
        """Counts those of all genomes, or of none; see `Genomes`."""
        if genome == 0:
            return 0
        if genome == self._pending.num_genomes:
            return self._compiled.counts.nodes
        return int(self.schedule.node_start[genome])

    def first_node(self, shard_begin: int, begin: int) -> int:
        """Parts of the genomes count from the first node of all; see `Genomes`."""
        return 0

    def measure(self, begin: int, end: int, num_samples: int, shared_x: bool) -> Workload:
        """Takes the counts of all genomes, and their share of the sums; see `Genomes`."""
        counts, all_genomes = self._compiled.counts, self._pending.num_genomes

        def part(total: int) -> int:
            return total if end - begin == all_genomes else -(-total * (end - begin) // all_genomes)

        return Workload(
            num_genomes=end - begin,
            num_inputs=self._pending.num_inputs,
            num_outputs=self.num_outputs,
            num_samples=num_samples,
            shared_x=shared_x,
            dtype=self.dtype,
            num_nodes=part(counts.nodes),
            num_edges=part(counts.links),
            num_levels=part(counts.levels),
            max_slots=max(counts.most_slots, self._pending.num_inputs),
            max_level_width=counts.most_width,
            has_memory=self.dynamics.has_memory,
            functions=self._compiled.functions,
            num_steps=self.dynamics.steps,
        )

    def measure_rollout(
        self, episodes: Episodes, genomes: npt.NDArray[np.int64]
    ) -> RolloutWorkload:
        """Takes the counts of all genomes; see `Genomes`."""
        return RolloutWorkload(
            control=episodes.control,
            num_genomes=len(genomes),
            num_episodes=episodes.count,
            max_slots=self._compiled.counts.most_slots,
            dtype=self.dtype,
            has_memory=self.dynamics.has_memory,
            functions=self._compiled.functions,
        )

    def num_links(self, genomes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Brings the links of all genomes to the host, once; see `Genomes`."""
        return self._links[genomes].astype(np.int64)

    @functools.cached_property
    def _links(self) -> npt.NDArray[np.int32]:
        there, packed = self._compiled.num_links, self._compiled.packed
        here = np.empty(there.shape, np.int32)
        packed.wait()
        packed.device.download(there, here)
        return here

    def nbytes(self, begin: int, end: int) -> int:
        """None in addition; see `Genomes`."""
        return 0

    def send(self, device: Device, begin: int, end: int) -> Resident:
        """Everything is there; parts are views of it; see `Genomes`."""
        packed = self._compiled.packed
        packed.wait()
        if (begin, end) == (0, self._pending.num_genomes):
            return packed
        arrays = dict(packed.arrays)
        arrays |= {name: arrays[name][begin : end + 1] for name in _STARTS}
        arrays |= {name: arrays[name][begin:end] for name in _ROWS if name in arrays}
        return ResidentPart(packed, arrays)
