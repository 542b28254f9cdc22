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

from evonet.errors import BackendError, ShapeError
from evonet.installation import load_native

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


def pack_schedule(
    schedule: Schedule, begin: int, end: int, native: bool | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Packs the genomes [begin, end) for the device, with offsets counted from the first.

    `native` is False for the readable packer; None takes the compiled one where it exists. Both
    give equal arrays, all C-contiguous:

      unit_start, node_start, level_start  [end - begin + 1] int64, the first of each genome
      level_end    [L] int32
      node_unit    [N] int32, each node's header, counted from the genome's first unit
      units        uint32, four to a unit
      output_slot  [end - begin, O] int32
      slot [N] int32, num_slots [end - begin] int64, cell [N, c]: only with memory

    Raises:
        BackendError: The genomes are too large for the kernels.
    """
    s = schedule
    _check_limits(s, begin, end)
    extension = None if native is False else load_native()
    if extension is None:
        packed = _pack_units(s, begin, end)
    else:
        pack = extension.pack_units32 if s.dtype == np.float32 else extension.pack_units64
        packed = pack(s, begin, end, 0)
    if s.dynamics.has_memory:
        nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
        packed |= {
            "slot": s.slot[nodes],
            "num_slots": s.num_slots[begin:end],
            "cell": s.cell[nodes],
        }
    levels = slice(int(s.level_start[begin]), int(s.level_start[end]))
    return {
        **packed,
        "node_start": s.node_start[begin : end + 1] - s.node_start[begin],
        "level_start": s.level_start[begin : end + 1] - levels.start,
        "level_end": s.level_end[levels],
        "output_slot": s.output_slot[begin:end],
    }


def packed_nbytes(schedule: Schedule, begin: int, end: int) -> int:
    """Memory that `pack_schedule` would fill, without packing anything."""
    s = schedule
    num_genomes = end - begin
    first, last = int(s.node_start[begin]), int(s.node_start[end])
    num_levels = int(s.level_start[end] - s.level_start[begin])
    memory = 0
    if s.dynamics.has_memory:
        per_node = 4 + s.dtype.itemsize * s.dynamics.num_parameters
        memory = 8 * num_genomes + per_node * (last - first)
    return (
        3 * 8 * (num_genomes + 1)
        + 4 * num_levels
        + 4 * (last - first)
        + UNIT * _count_units(s, begin, end)
        + 4 * num_genomes * s.num_outputs
        + memory
    )


def unit_offsets(
    schedule: Schedule, begin: int, end: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first unit of every genome, [end - begin + 1], and of every node in its genome, [N]."""
    s = schedule
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]) + 1)
    starts = np.zeros(nodes.stop - nodes.start, np.int64)
    np.cumsum(_node_units(np.diff(s.edge_start[nodes]), s.dtype), out=starts[1:])
    node_start = s.node_start[begin : end + 1] - nodes.start
    unit_start = starts[node_start]
    return unit_start, starts[:-1] - np.repeat(unit_start[:-1], np.diff(node_start))


def _count_units(s: Schedule, begin: int, end: int) -> int:
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]) + 1)
    return int(_node_units(np.diff(s.edge_start[nodes]), s.dtype).sum())


def _header_units(dtype: np.dtype[Any]) -> int:
    return 1 if dtype == np.float32 else 2


def _links_per_unit(dtype: np.dtype[Any]) -> int:
    return 2 if dtype == np.float32 else 1


def _node_units(counts: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
    per_unit = _links_per_unit(dtype)
    return _header_units(dtype) + (counts + (per_unit - 1)) // per_unit


def _pack_units(s: Schedule, begin: int, end: int) -> dict[str, npt.NDArray[Any]]:
    """A readable version of kernels/native/pack_units.cpp."""
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
    counts = np.diff(s.edge_start[nodes.start : nodes.stop + 1])
    node_start = s.node_start[begin : end + 1] - nodes.start
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(_node_units(counts, s.dtype), out=starts[1:])
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
    per_unit = _links_per_unit(s.dtype)
    first_link = (header + _header_units(s.dtype)) * per_unit
    shift = first_link - (s.edge_start[nodes] - first)
    place = np.arange(last - first) + np.repeat(shift, counts)
    words[place * (4 // per_unit)] = np.repeat(s.slot[nodes], counts) - s.source[first:last]
    reals[place * 2 + 1] = s.weight[first:last]

    unit_start = starts[node_start]
    node_unit = header - np.repeat(unit_start[:-1], np.diff(node_start))
    return {"unit_start": unit_start, "node_unit": node_unit.astype(np.int32), "units": units}


def _check_limits(s: Schedule, begin: int, end: int) -> None:
    slots = s.num_slots[begin:end]
    if s.num_outputs > MOST_SLOTS:
        raise BackendError(
            f"the genomes have {s.num_outputs} outputs; the cuda backend takes at most "
            f'{MOST_SLOTS}. Use backend="cpu".'
        )
    if slots.max(initial=0) > MOST_SLOTS:
        genome = int(slots.argmax())
        raise BackendError(
            f"genome {begin + genome} has {slots[genome]} inputs, live nodes and states; the cuda "
            f'backend takes at most {MOST_SLOTS}. Use backend="cpu".'
        )
    num_units = _count_units(s, begin, end)
    if num_units > MOST_UNITS:
        raise BackendError(
            f"genomes {begin} to {end - 1} fill {num_units} units of {UNIT} bytes; "
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
