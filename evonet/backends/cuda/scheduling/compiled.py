"""Compiles and packs genomes on the GPU that holds them; only a few numbers come to the host.

`kernels/cuda/compile_genomes.cu` finds levels, slots and links of every genome, and counts. Prefix
sums of the counts say where each genome goes, and `kernels/cuda/pack_genomes.cu` writes them there:
the bytes that the host would have sent.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evonet.backends.cuda.arguments import NULL
from evonet.backends.cuda.census import header_units, links_per_unit
from evonet.backends.cuda.compiler import name_functions
from evonet.backends.cuda.genetics.sums import THREADS, blocks_for, prefix_sums
from evonet.backends.cuda.layout import MOST_UNITS, real_name
from evonet.backends.cuda.resident import Resident
from evonet.backends.cuda.scheduling.plan import WORD, can_compile, plan_compile
from evonet.definitions.dynamics import REGULAR_SPIKING
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.schedule.build import wiring_of

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.genetics.genes import DeviceGenes
    from evonet.backends.cuda.nvrtc import Defines
    from evonet.backends.cuda.scheduling.plan import CompilePlan
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.build import OnCycle

COUNTED: Final = ("units", "nodes", "levels", "links", "slots", "width")
"""The rows of counts; the first three say where genomes begin."""


@dataclasses.dataclass(frozen=True)
class Counts:
    """What compiling has counted, in all genomes; [P] arrays stay on the GPU."""

    units: int
    nodes: int
    levels: int
    links: int
    most_slots: int
    most_width: int
    first_bad: int  # the first genome whose genes make no sense; P if all do
    first_cyclic: int  # the first one with a cycle that its outputs need; P if there is none


@dataclasses.dataclass(frozen=True)
class CompiledGenes:
    """Packed genomes, as `evonet.backends.cuda.layout.packed_arrays` describes them."""

    counts: Counts
    packed: Resident
    num_links: DeviceArray  # [P] int32, of each genome
    functions: str  # the custom functions that a kernel must know


def compile_genes(
    population: Population, genes: DeviceGenes, dynamics: Dynamics, on_cycle: OnCycle
) -> CompiledGenes | None:
    """Compiles all genomes of a population whose genes are on a GPU.

    Returns:
        None if the host has to do it: genomes are too large for the kernels, or one makes no sense,
        or has a cycle that is an error, which the host then describes.

    Raises:
        DeviceMemoryError: The GPU's memory is too short.
        DeviceError: The GPU failed.
    """
    if not can_compile(genes):
        return None
    genes.wait()
    job = _Job(population, genes, dynamics)
    job.compile()
    counts = job.count()
    genes.was_read()
    refused = counts.first_cyclic if on_cycle == "error" else genes.num_genomes
    if counts.units > MOST_UNITS or min(counts.first_bad, refused) < genes.num_genomes:
        return None
    arrays = job.pack(counts)
    genes.was_read()
    links = job.row("links")
    return CompiledGenes(counts, Resident(genes.device, arrays), links, job.functions())


class _Job:
    """Compiles one population."""

    def __init__(self, population: Population, genes: DeviceGenes, dynamics: Dynamics) -> None:
        self._genes = genes
        self._device: Device = genes.device
        self._dynamics = dynamics
        self._num_inputs, self._num_outputs = population.num_inputs, population.num_outputs
        self._wiring = np.int32(wiring_of(dynamics))
        count, dtype = genes.num_genomes, genes.dtype
        defines: Defines = {"REAL": real_name(dtype), "MEMORY": int(dynamics.has_memory)}
        self._plan: CompilePlan = plan_compile(
            genes, population.num_inputs, self._device.limits, defines
        )
        empty = functools.partial(self._device.empty, dtype=np.int32)
        self._counts = empty((len(COUNTED) * count,))
        self._outputs = empty((count, population.num_outputs))
        # By node: order, slot, link_end, unit_end, level_end; by connection: source and position.
        self._nodes = [empty((max(1, genes.num_nodes),)) for _ in range(5)]
        self._links = [empty((max(1, genes.num_connections),)) for _ in range(2)]
        self._sums: DeviceArray = None

    def row(self, name: str) -> DeviceArray:
        """[P] one of the counts."""
        count, at = self._genes.num_genomes, COUNTED.index(name)
        return self._counts[at * count : (at + 1) * count]

    def compile(self) -> None:
        """Launches the compilation."""
        genes, plan, dtype = self._genes, self._plan.compile, self._genes.dtype
        count = genes.num_genomes
        found = np.zeros(2 * len(COUNTED) + 2, np.int64)
        found[-2:] = count
        self._found = self._device.upload(found)
        scratch: Any = NULL
        if plan.scratch_nbytes:
            scratch = self._device.empty((plan.scratch_nbytes // WORD,), np.int32)
        sizes: tuple[int, ...] = (
            *(count, self._num_inputs, self._num_outputs),
            *(int(self._wiring), self._dynamics.num_states),
            *(header_units(dtype), links_per_unit(dtype)),
            *(genes.most_nodes, genes.most_connections),
        )
        names = "node_start node_key activation aggregation conn_start source target enabled rank"
        arguments = (
            *map(np.int32, sizes),
            np.int64(self._plan.team_words),
            *(genes.arrays[name] for name in names.split()),
            scratch,
            self._counts,
            self._found[-2:],
            *self._nodes,
            *self._links,
            self._outputs,
        )
        self._device.launch(
            plan.kernel, plan.defines, plan.grid, plan.block, arguments, plan.shared_mem
        )

    def count(self) -> Counts:
        """Adds up the counts, and waits for the sums."""
        rows, count = len(COUNTED), self._genes.num_genomes
        sums, most = self._found[:rows], self._found[rows : 2 * rows]
        half = rows // 2
        self._sums = prefix_sums(
            self._device, self._counts[: half * count], half, sums[:half], most[:half]
        )
        prefix_sums(self._device, self._counts[half * count :], half, sums[half:], most[half:])
        found = np.empty(self._found.shape, np.int64)
        self._device.download(self._found, found)
        units, nodes, levels, links = found[:4].tolist()
        slots, width = found[rows + 4 : 2 * rows].tolist()
        return Counts(units, nodes, levels, links, slots, width, *found[-2:].tolist())

    def pack(self, counts: Counts) -> dict[str, DeviceArray]:
        """Writes what the kernels of forward passes and rollouts read."""
        genes, plan, device = self._genes, self._plan.pack, self._device
        dynamics, dtype, count = self._dynamics, self._genes.dtype, self._genes.num_genomes
        starts = [self._sums[i * (count + 1) : (i + 1) * (count + 1)] for i in range(3)]
        arrays = dict(zip(("unit_start", "node_start", "level_start"), starts, strict=True))
        arrays["level_end"] = device.empty((counts.levels,), np.int32)
        arrays["node_unit"] = device.empty((counts.nodes,), np.int32)
        arrays["units"] = device.empty((counts.units, 4), np.uint32)
        names = ("node_start", "bias", "response", "activation", "aggregation")
        arguments: tuple[Any, ...] = (
            np.int32(count),
            self._wiring,
            *(genes.arrays[name] for name in (*names, "conn_start", "weight")),
            *self._nodes,
            *self._links,
            *arrays.values(),
        )
        arrays["output_slot"] = self._outputs
        if dynamics.has_memory:
            arrays["slot"] = device.empty((counts.nodes,), np.int32)
            arrays["num_slots"] = device.empty((count,), np.int64)
            arrays["cell"] = device.empty((counts.nodes, dynamics.num_parameters), dtype)
            arguments += (
                np.int32(dynamics.kind_id),
                np.int32(dynamics.num_parameters),
                dtype.type(dynamics.time_step),
                device.upload(np.array(REGULAR_SPIKING, dtype)),
                genes.arrays["time_constant"],
                self.row("slots"),
                arrays["slot"],
                arrays["num_slots"],
                arrays["cell"] if dynamics.num_parameters else NULL,
            )
        device.launch(plan.kernel, plan.defines, plan.grid, plan.block, arguments)
        return arrays

    def functions(self) -> str:
        """Names the custom functions of all nodes, whether outputs need them or not."""
        tables = ACTIVATION_TABLE, AGGREGATION_TABLE
        if all(len(table) == table.num_builtin for table in tables):
            return ""
        genes, used = self._genes, np.zeros(16, np.uint32)
        there = self._device.upload(used)
        names = genes.arrays["activation"], genes.arrays["aggregation"]
        arguments = np.int64(genes.num_nodes), *names, there
        grid = blocks_for(genes.num_nodes)
        self._device.launch("used_functions", {}, grid, (THREADS,), arguments)
        self._device.download(there, used)
        bits = np.unpackbits(used.view(np.uint8), bitorder="little").reshape(2, 256)
        return name_functions(*(np.flatnonzero(row) for row in bits))
