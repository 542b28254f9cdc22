"""Ranks genomes and draws parents on a GPU, with the bits of `native/mating.cpp`.

A stable sort by score ranks the members of all species together, and a second one by species puts
them into their species: ranks are kept, because the sort is stable. Elites are few; they come to
the host, which sorts them and needs them for the numbers of genomes. Parents stay on the GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from evonet.backends.cuda.genetics.sums import THREADS, blocks_for
from evonet.backends.cuda.resident import Resident
from evonet.genes.mating import Indices, Mating, MatingShares, Parents, on_host

if TYPE_CHECKING:
    import numpy.typing as npt

    from evonet.backends.cuda.device import Device, DeviceArray

# Members that the GPU ranks; fewer are ranked on the host, at about 30 ns for each. On the GPU the
# launches, sorts and copies take the host some 0.5 ms, by `benchmarks.generation_model`.
LEAST_RANKED: Final = 16_384


def is_worth_while(count: int) -> bool:
    """Whether the GPU ranks so many members."""
    return count >= LEAST_RANKED


class DevicePositions:
    """Positions of genomes in a GPU's memory, as `evonet.genes.mating.DistantIndices` wants them.

    Attributes:
        array: [C] int64; it never changes.
    """

    def __init__(self, arrays: Resident, name: str) -> None:
        """Takes one of several arrays that were written together."""
        self._arrays = arrays
        self.array: DeviceArray = arrays.arrays[name]

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @classmethod
    def bring(cls, positions: Parents, device: Device) -> Self:
        """Returns positions in a GPU's memory, copied there if they are not.

        Raises:
            DeviceMemoryError: They do not fit.
        """
        if isinstance(positions, cls) and positions._arrays.device is device:
            return positions
        array = device.upload(np.ascontiguousarray(on_host(positions)))
        return cls(Resident(device, {"": array}), "")

    def wait(self) -> None:
        """Lets the current stream wait for the one that wrote them."""
        self._arrays.wait()

    def was_read(self) -> None:
        """Notes that the current stream reads them."""
        self._arrays.was_read()

    def fetch(self) -> Indices:
        """Copies them to the host."""
        self.wait()
        copy = np.empty(self.array.shape, np.int64)
        self._arrays.device.download(self.array, copy)
        return copy


class _Ranking(NamedTuple):
    """Members of species, species by species and the best of each first, on a GPU."""

    best: DeviceArray  # [M] int64
    best_score: DeviceArray  # [M] float64
    elites: DeviceArray  # [E] int64, one number if there are none


def mate(
    device: Device,
    scores: npt.NDArray[np.float64],
    shares: MatingShares,
    seed: int,
    generation: int,
) -> Mating:
    """Decides who has children with whom; see `NativeEngine.mate`.

    Raises:
        DeviceMemoryError: The GPU has too little memory.
    """
    there = device.upload(np.ascontiguousarray(scores))
    members = device.upload(np.ascontiguousarray(shares.members))
    tables = _Tables(device, shares)
    ranking = _rank(device, there, members, tables)
    copies = np.empty(tables.num_elites, np.int64)
    elites = ranking.elites
    if len(copies):
        device.download(elites, copies)
        copies.sort()
        elites = device.upload(copies)
    count = tables.num_elites + tables.num_children
    fitter, other = (device.empty((count,), np.int64) for _ in range(2))
    device.launch(
        "draw_parents",
        {},
        blocks_for(count),
        (THREADS,),
        (
            *map(np.int64, (tables.num_elites, tables.num_children, tables.num_species)),
            *(there, members, tables.start, tables.num_parents, tables.first_child),
            *(ranking.best, ranking.best_score, elites),
            *(np.float32(shares.interspecies), np.uint64(seed)),
            *(np.uint32(generation & 0xFFFFFFFF), fitter, other),
        ),
    )
    drawn = Resident(device, {"fitter": fitter, "other": other})
    return Mating(DevicePositions(drawn, "fitter"), DevicePositions(drawn, "other"), copies)


class _Tables:
    """Where the members, elites and children of S species begin, side by side on a GPU."""

    def __init__(self, device: Device, shares: MatingShares) -> None:
        self.num_species = count = len(shares.num_elites)
        elites, children = (_offsets(each) for each in (shares.num_elites, shares.num_children))
        parts = shares.starts, elites, children, shares.num_parents
        whole = device.upload(np.concatenate(parts))
        self.start, self.elite_start, self.first_child = (
            whole[i * (count + 1) : (i + 1) * (count + 1)] for i in range(3)
        )
        self.num_parents = whole[3 * (count + 1) :]
        self.num_elites, self.num_children = int(elites[-1]), int(children[-1])


def _rank(device: Device, scores: DeviceArray, members: DeviceArray, tables: _Tables) -> _Ranking:
    count = members.shape[0]
    size, grid, block = np.int64(count), blocks_for(count), (THREADS,)
    species, start = np.int64(tables.num_species), tables.start
    keys = device.empty((count,), np.uint64)
    device.launch("rank_scores", {}, grid, block, (size, scores, members, keys))
    by_score = device.argsort(keys)
    keys = device.empty((count,), np.uint32)
    device.launch("rank_species", {}, grid, block, (size, species, start, by_score, keys))
    by_species = device.argsort(keys)
    found = _Ranking(
        device.empty((count,), np.int64),
        device.empty((count,), np.float64),
        device.empty((max(1, tables.num_elites),), np.int64),
    )
    order = tables.elite_start, by_score, by_species
    arguments = size, species, scores, members, start, *order, *found
    device.launch("rank_members", {}, grid, block, arguments)
    return found


def _offsets(sizes: Indices) -> Indices:
    """Where each of several groups begins, and last their sum."""
    return np.concatenate([[0], np.cumsum(sizes)])
