"""Where a GPU's packed genomes come from: a schedule of the host, or that GPU itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.census import Census, take_census
from evonet.backends.cuda.cost import RolloutWorkload, Workload
from evonet.backends.cuda.layout import check_limits, pack_schedule, packed_arrays, packed_nbytes
from evonet.backends.cuda.resident import Resident

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.cuda.device import Device
    from evonet.definitions.dynamics import Dynamics
    from evonet.schedule.schedule import Schedule

MOST_RANGES: Final = 16
"""Ranges of genomes that are counted once."""


class Genomes(Protocol):
    """P genomes that can be had in packed form."""

    num_outputs: int
    dtype: np.dtype[Any]
    dynamics: Dynamics
    is_resident: bool  # whether they are on their GPU already

    @property
    def schedule(self) -> Schedule:
        """The host's schedule of all genomes."""

    def nodes_before(self, genome: int) -> int:
        """Live nodes of all genomes before one; of all of them for P."""

    def first_node(self, shard_begin: int, begin: int) -> int:
        """The node of a shard's states that packed genomes from `begin` on count from."""

    def measure(self, begin: int, end: int, num_samples: int, shared_x: bool) -> Workload:
        """What it is to evaluate the genomes [begin, end)."""

    def measure_rollout(
        self, episodes: Episodes, genomes: npt.NDArray[np.int64]
    ) -> RolloutWorkload:
        """What it is for some genomes, at least one, to play episodes."""

    def num_links(self, genomes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """[K] the links of some genomes."""

    def nbytes(self, begin: int, end: int) -> int:
        """Memory that the packed genomes [begin, end) would take in addition."""

    def send(self, device: Device, begin: int, end: int) -> Resident:
        """Packs the genomes [begin, end) and brings them to a GPU.

        Raises:
            BackendError: The genomes are too large for the kernels.
            DeviceMemoryError: The GPU's memory is too short.
        """


class HostGenomes:
    """Those of a schedule, which are packed on their way to a GPU; see `Genomes`."""

    is_resident = False

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.num_outputs = schedule.num_outputs
        self.dtype = schedule.dtype
        self.dynamics = schedule.dynamics
        self._censuses: dict[tuple[int, int], Census] = {}

    def nodes_before(self, genome: int) -> int:
        """Looks it up; see `Genomes`."""
        return int(self.schedule.node_start[genome])

    def first_node(self, shard_begin: int, begin: int) -> int:
        """Packed genomes count from their own first node; see `Genomes`."""
        return self.nodes_before(begin) - self.nodes_before(shard_begin)

    def measure(self, begin: int, end: int, num_samples: int, shared_x: bool) -> Workload:
        """Measures the schedule; see `Genomes`."""
        census = self._census(begin, end)
        return Workload.of(self.schedule, begin, end, num_samples, shared_x, census)

    def measure_rollout(
        self, episodes: Episodes, genomes: npt.NDArray[np.int64]
    ) -> RolloutWorkload:
        """Measures the schedule; see `Genomes`."""
        return RolloutWorkload.of(self.schedule, episodes, genomes)

    def num_links(self, genomes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Looks them up; see `Genomes`."""
        nodes, edges = self.schedule.node_start, self.schedule.edge_start
        links: npt.NDArray[np.int64] = edges[nodes[genomes + 1]] - edges[nodes[genomes]]
        return links

    def nbytes(self, begin: int, end: int) -> int:
        """Adds up the sizes of all arrays; see `Genomes`."""
        return packed_nbytes(self.schedule, begin, end, self._census(begin, end).num_units)

    def send(self, device: Device, begin: int, end: int) -> Resident:
        """Packs into page-locked memory, while the GPU copies what was packed; see `Genomes`."""
        s, census = self.schedule, self._census(begin, end)
        check_limits(s, begin, end, census)
        if census.packer is None:
            packed = pack_schedule(s, begin, end)
            arrays = {name: device.upload(array) for name, array in packed.items()}
        else:
            shapes = packed_arrays(s, begin, end, census.num_units)
            arrays = device.upload_packed(census.packer, end - begin, shapes)
        return Resident(device, arrays)

    def _census(self, begin: int, end: int) -> Census:
        """The counts of some genomes; only those of the last ranges are kept."""
        found = self._censuses.get((begin, end))
        if found is None:
            if len(self._censuses) >= MOST_RANGES:
                self._censuses.clear()
            found = self._censuses[begin, end] = take_census(self.schedule, begin, end)
        return found
