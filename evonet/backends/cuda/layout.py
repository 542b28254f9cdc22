"""How data lies in a GPU's memory: schedules packed into units, samples made contiguous.

A genome is a sequence of units of 16 bytes. A node is a header and its links. The header, one unit
of float32 or two of float64, holds bias, response, number of links, functions and slot. A link is a
weight and the node's slot minus that of its source; two links of float32 share a unit, a link of
float64 fills one. An odd last link of float32 leaves half a unit unread.
`kernels/cuda/schedule_units.h` reads them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.census import (
    Census,
    header_units,
    links_per_unit,
    node_units,
    take_census,
)
from evonet.errors import BackendError, ShapeError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.schedule.schedule import Schedule

UNIT: Final = 16  # bytes
MOST_UNITS: Final = 2**32 - 2**16  # in one launch: kernels count them in 32 bits
MOST_SLOTS: Final = 2**22  # of a genome: 32-bit offsets into its values, in bytes

GATHER_THREADS: Final = 256  # of a block
C_TYPES: Final = {  # by kind and size of a dtype
    "b1": "unsigned char",
    "i1": "signed char",
    "i2": "short",
    "i4": "int",
    "i8": "long long",
    "u1": "unsigned char",
    "u2": "unsigned short",
    "u4": "unsigned int",
    "u8": "unsigned long long",
    "f4": "float",
    "f8": "double",
}


Arrays = dict[str, tuple[tuple[int, ...], "np.dtype[Any]"]]


def packed_arrays(schedule: Schedule, begin: int, end: int, num_units: int) -> Arrays:
    """Shape and type of every array of the packed genomes [begin, end), by name.

    unit_start, node_start, level_start  the first of each genome, counted from the first of all
    level_end    as in the schedule
    node_unit    each node's header, counted from the genome's first unit
    units        uint32, four to a unit
    output_slot, and with memory slot, num_slots and cell, as in the schedule
    """
    s, genomes = schedule, end - begin
    nodes = int(s.node_start[end] - s.node_start[begin])
    levels = int(s.level_start[end] - s.level_start[begin])
    whole, short = np.dtype(np.int64), np.dtype(np.int32)
    arrays: Arrays = {
        "unit_start": ((genomes + 1,), whole),
        "node_start": ((genomes + 1,), whole),
        "level_start": ((genomes + 1,), whole),
        "level_end": ((levels,), short),
        "node_unit": ((nodes,), short),
        "units": ((num_units, 4), np.dtype(np.uint32)),
        "output_slot": ((genomes, s.num_outputs), short),
    }
    if s.dynamics.has_memory:
        arrays["slot"] = (nodes,), short
        arrays["num_slots"] = (genomes,), whole
        arrays["cell"] = (nodes, s.dynamics.num_parameters), s.dtype
    return arrays


def pack_schedule(
    schedule: Schedule, begin: int, end: int, native: bool | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Packs the genomes [begin, end) on the host: `packed_arrays` by name, all C-contiguous.

    `native` is False for the readable packer; None takes the compiled one where it exists. Both
    give equal arrays.

    Raises:
        BackendError: The genomes are too large for the kernels.
    """
    s = schedule
    census = take_census(s, begin, end, native)
    check_limits(s, begin, end, census)
    if census.packer is None:
        return _pack_readably(s, begin, end)
    piece = np.empty(census.packer.nbytes(0, end - begin), np.uint8)
    packed = {}
    arrays = packed_arrays(s, begin, end, census.num_units)
    for name, at, size, _ in census.packer.write(0, end - begin, piece):
        shape, dtype = arrays[name]
        packed[name] = piece[at : at + size].view(dtype).reshape(shape)
    return packed


def _pack_readably(s: Schedule, begin: int, end: int) -> dict[str, npt.NDArray[Any]]:
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
    levels = slice(int(s.level_start[begin]), int(s.level_start[end]))
    packed = {
        **_pack_units(s, begin, end),
        "node_start": s.node_start[begin : end + 1] - nodes.start,
        "level_start": s.level_start[begin : end + 1] - levels.start,
        "level_end": s.level_end[levels],
        "output_slot": s.output_slot[begin:end],
    }
    if s.dynamics.has_memory:
        packed["slot"] = s.slot[nodes]
        packed["num_slots"] = s.num_slots[begin:end]
        packed["cell"] = s.cell[nodes]
    return packed


def packed_nbytes(schedule: Schedule, begin: int, end: int, num_units: int | None = None) -> int:
    """Memory that packed genomes fill; their units are counted if they are not known."""
    if num_units is None:
        num_units = take_census(schedule, begin, end).num_units
    arrays = packed_arrays(schedule, begin, end, num_units).values()
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in arrays)


def unit_offsets(
    schedule: Schedule, begin: int, end: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first unit of every genome, [end - begin + 1], and of every node in its genome, [N]."""
    s = schedule
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]) + 1)
    starts = np.zeros(nodes.stop - nodes.start, np.int64)
    np.cumsum(node_units(np.diff(s.edge_start[nodes]), s.dtype), out=starts[1:])
    node_start = s.node_start[begin : end + 1] - nodes.start
    unit_start = starts[node_start]
    return unit_start, starts[:-1] - np.repeat(unit_start[:-1], np.diff(node_start))


def _pack_units(s: Schedule, begin: int, end: int) -> dict[str, npt.NDArray[Any]]:
    """A readable version of kernels/native/schedule_packer.cpp."""
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
    counts = np.diff(s.edge_start[nodes.start : nodes.stop + 1])
    node_start = s.node_start[begin : end + 1] - nodes.start
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(node_units(counts, s.dtype), out=starts[1:])
    units = np.zeros((int(starts[-1]), 4), np.uint32)
    words, reals = units.reshape(-1), units.reshape(-1).view(s.dtype)

    header = starts[:-1]  # first unit of each node
    is_last = np.zeros(len(counts), np.uint32)
    is_last[node_start[1:][np.diff(node_start) > 0] - 1] = 1
    place = header * (UNIT // s.dtype.itemsize)
    reals[place] = s.bias[nodes]
    reals[place + 1] = s.response[nodes]
    place = header * 4 + 2 * s.dtype.itemsize // 4
    words[place] = counts << 8 | s.aggregation[nodes]
    words[place + 1] = s.slot[nodes].astype(np.uint32) << 9 | is_last << 8 | s.activation[nodes]

    first, last = int(s.edge_start[nodes.start]), int(s.edge_start[nodes.stop])
    per_unit = links_per_unit(s.dtype)
    first_link = (header + header_units(s.dtype)) * per_unit
    shift = first_link - (s.edge_start[nodes] - first)
    place = np.arange(last - first) + np.repeat(shift, counts)
    words[place * (4 // per_unit)] = np.repeat(s.slot[nodes], counts) - s.source[first:last]
    reals[place * 2 + 1] = s.weight[first:last]

    unit_start = starts[node_start]
    node_unit = header - np.repeat(unit_start[:-1], np.diff(node_start))
    return {"unit_start": unit_start, "node_unit": node_unit.astype(np.int32), "units": units}


def check_limits(schedule: Schedule, begin: int, end: int, census: Census) -> None:
    """Checks that the kernels can run the genomes [begin, end).

    Raises:
        BackendError: They are too large.
    """
    if schedule.num_outputs > MOST_SLOTS:
        raise BackendError(
            f"the genomes have {schedule.num_outputs} outputs; the cuda backend takes at most "
            f'{MOST_SLOTS}. Use backend="cpu".'
        )
    if census.max_slots > MOST_SLOTS:
        raise BackendError(
            f"genome {begin + census.largest_genome} has {census.max_slots} inputs, live nodes and "
            f'states; the cuda backend takes at most {MOST_SLOTS}. Use backend="cpu".'
        )
    if census.num_units > MOST_UNITS:
        raise BackendError(
            f"genomes {begin} to {end - 1} fill {census.num_units} units of {UNIT} bytes; "
            f"the cuda backend takes at most {MOST_UNITS} at a time. Evaluate fewer at once."
        )


# ---- samples ----


def real_name(dtype: np.dtype[Any]) -> str:
    """What C calls float32 or float64."""
    return C_TYPES[f"f{dtype.itemsize}"]


def gather_samples(
    device: Device, x: DeviceArray, dtype: np.dtype[Any], name: str = "x", copy: bool = False
) -> DeviceArray:
    """Copies samples [B, I] or [P, B, I] to contiguous ones of a type, on the same GPU.

    Integers and wider floats are rounded as NumPy rounds them, denormals included. Samples that are
    contiguous and of that type are returned as they are, unless a `copy` is asked for.

    Raises:
        ShapeError: The GPU cannot read the type of what `name` stands for.
    """
    if x.dtype == dtype and x.flags.c_contiguous and not copy:
        return x
    source = C_TYPES.get(f"{x.dtype.kind}{x.dtype.itemsize}")
    if source is None or not x.dtype.isnative:
        raise ShapeError(
            f"{name} on the GPU is {x.dtype}, which evonet does not read there. "
            f"Convert it first: {name}.astype({dtype.name!r})."
        )
    samples = device.empty(x.shape, dtype)
    count = math.prod(x.shape)
    if count == 0:
        return samples
    stride0, stride1, stride2 = (0, *x.strides)[-3:]
    numbers = (stride0, stride1, stride2, x.shape[-2], x.shape[-1], count)
    device.launch(
        "gather_samples",
        {"SOURCE": source, "REAL": real_name(dtype)},
        (-(-count // GATHER_THREADS),),
        (GATHER_THREADS,),
        (x, *map(np.int64, numbers), samples),
    )
    return samples
