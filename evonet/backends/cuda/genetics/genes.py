"""The arrays of a population in the memory of a GPU.

A population that was bred on a GPU is made by `Population.from_distant(..., DeviceGenes(...))`, and
its arrays come to the host when somebody reads them. Code that can stay on the GPU asks for the
arrays there:

    genes = DeviceGenes.of(population, device)        # None if they are not on this GPU
    genes = DeviceGenes.bring(population, device)     # copies them there, if they are not
    genes.wait()                                      # before the current stream reads them
    device.launch(kernel, defines, grid, block, (*genes.arguments, ...))
    genes.was_read()                                  # after the last launch that reads them
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from evonet.backends.cuda.genetics.sums import THREADS, blocks_for, fill
from evonet.backends.cuda.layout import real_name
from evonet.backends.cuda.resident import Resident
from evonet.errors import DeviceMemoryError
from evonet.genes.arrays import ARRAYS, GROUPS, GeneArrays, Int64Array, RealType, starts_of

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.genes.population import Population

FEW_GENOMES: Final = 4  # whose genes are copied to the host without those of all others
WORD: Final = 8  # bytes, to which arrays of gathered genomes are rounded up


class DeviceGenes:
    """P genomes in the memory of one GPU, as `evonet.genes.distant.DistantGenes` wants them.

    They never change.

    Attributes:
        device: The GPU.
        arrays: What `kernels/genetics/population.def` lists, by name and in its order; C-contiguous
            device arrays of exactly the lengths P + 1, N and E, and of the types given there.
        num_genomes: P.
        num_nodes: N.
        num_connections: E.
        most_nodes: Nodes of the genome that has the most of them; 0 if there is none.
        most_connections: Likewise.
        dtype: Type of the real-valued genes.
    """

    def __init__(
        self,
        device: Device,
        arrays: Mapping[str, DeviceArray],
        most_nodes: int,
        most_connections: int,
    ) -> None:
        """Takes arrays whose contents are already queued on the current stream."""
        self.device = device
        self.arrays = {name: arrays[name] for name in ARRAYS}
        self.num_genomes = int(arrays["node_start"].shape[0]) - 1
        self.num_nodes = int(arrays["node_key"].shape[0])
        self.num_connections = int(arrays["innovation"].shape[0])
        self.most_nodes = most_nodes
        self.most_connections = most_connections
        self.dtype: RealType = arrays["bias"].dtype
        self._resident = Resident(device, self.arrays)
        self._fetched: GeneArrays = {}

    @classmethod
    def of(cls, population: Population, device: Device) -> Self | None:
        """Returns the genes of a population that is in a GPU's memory; None if it is not."""
        genes = population.distant
        return genes if isinstance(genes, cls) and genes.device is device else None

    @classmethod
    def bring(cls, population: Population, device: Device) -> Self:
        """Returns the genes of a population in a GPU's memory, copied there if they are not.

        Raises:
            DeviceMemoryError: They do not fit.
            DeviceError: The GPU fails.
        """
        found = cls.of(population, device)
        if found is not None:
            return found
        host = {name: np.ascontiguousarray(getattr(population, name)) for name in ARRAYS}
        arrays = {name: device.upload(array) for name, array in host.items()}
        nodes, connections = population.sizes.max(axis=0, initial=0).tolist()
        return cls(device, arrays, nodes, connections)

    @property
    def arguments(self) -> tuple[DeviceArray, ...]:
        """All arrays in the order of population.def, as kernels take them."""
        return tuple(self.arrays.values())

    def wait(self) -> None:
        """Lets the current stream wait for the one that made the genes."""
        self._resident.wait()

    def was_read(self) -> None:
        """Notes that the current stream reads the genes."""
        self._resident.was_read()

    def fetch(self, name: str) -> NDArray[Any]:
        """Copies an array to the host; a second call returns the same copy."""
        found = self._fetched.get(name)
        if found is None:
            found = self._fetched[name] = self._download(self.arrays[name])
        return found

    def count_enabled(self) -> int:
        """Counts the connections that are enabled."""
        if "enabled" not in self._fetched and self.num_connections > 0:
            with contextlib.suppress(DeviceMemoryError):
                return self._count_there()
        return int(np.count_nonzero(self.fetch("enabled")))

    def _count_there(self) -> int:
        self.wait()
        total = self.device.empty((1,), np.uint64)
        fill(self.device, total, 0)
        count = self.num_connections
        arguments = np.int64(count), self.arrays["enabled"], total
        self.device.launch("count_flags", {}, blocks_for(count), (THREADS,), arguments)
        self.was_read()
        return int(self._download(total)[0])

    def gather(self, genomes: Int64Array) -> GeneArrays | None:
        """Copies a few genomes to the host; None for many, or if the host has them all."""
        if len(genomes) > FEW_GENOMES or len(self._fetched) == len(ARRAYS):
            return None
        with contextlib.suppress(DeviceMemoryError):
            return self._gather_there(genomes)
        return None

    def _gather_there(self, genomes: Int64Array) -> GeneArrays:
        """Lets the GPU put genomes side by side, as `kernels/cuda/gather_genomes.cu` does."""
        begins: dict[str, int] = {}
        width = 2 * WORD  # the numbers of nodes and connections come first
        for (_, names), most in zip(GROUPS, (self.most_nodes, self.most_connections), strict=True):
            for name in names:
                begins[name] = width
                width += -(-most * self.arrays[name].dtype.itemsize // WORD) * WORD
        rows = np.empty((len(genomes), width), np.uint8)
        if len(genomes):
            self.wait()
            there = self.device.empty(rows.shape, np.uint8)
            self.device.launch(
                "gather_genomes",
                {"REAL": real_name(self.dtype)},
                (len(genomes),),
                (THREADS,),
                (
                    *(self.device.upload(np.ascontiguousarray(genomes, np.int64)), *self.arguments),
                    *map(np.int64, (self.most_nodes, self.most_connections, width)),
                    there,
                ),
            )
            self.device.download(there, rows)
        counts = rows[:, : 2 * WORD].copy().view(np.int64)
        gathered: GeneArrays = {}
        for column, (offsets, names) in enumerate(GROUPS):
            gathered[offsets] = starts_of(counts[:, column])
            for name in names:
                begin, dtype = begins[name], self.arrays[name].dtype
                parts = [
                    row[begin : begin + count * dtype.itemsize].view(dtype)
                    for row, count in zip(rows, counts[:, column].tolist(), strict=True)
                ]
                gathered[name] = np.concatenate([np.empty(0, dtype), *parts])
        return gathered

    def _download(self, array: DeviceArray) -> NDArray[Any]:
        self.wait()
        copy = np.empty(array.shape, array.dtype)
        self.device.download(array, copy)
        return copy
