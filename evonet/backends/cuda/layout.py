"""What the device sees of a schedule: units of 16 bytes, so that one load brings much.

A node of float32 is one unit (bias, response, first unit of its links, functions), of float64
two. Two links of float32 share a unit, each a slot and a weight; a link of float64 fills one. The
links of a node start at a unit of their own, so an odd link of float32 leaves half a unit unread.
`kernels/cuda_schedule.h` is the other side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import BackendError

if TYPE_CHECKING:
    from evonet.schedule import Schedule

UNIT: Final = 16  # bytes
MOST_LINKS: Final = 2**24 - 1  # of a node: it shares 32 bits with the functions
MOST_SLOTS: Final = 2**25  # of a genome: 32-bit offsets into its values


def pack_schedule(schedule: Schedule, begin: int, end: int) -> dict[str, npt.NDArray[Any]]:
    """Packs some genomes of a schedule for the device, with offsets counted from the first.

    Args:
        schedule: P genomes.
        begin: First genome to take.
        end: Behind the last.

    Returns:
        `node_start`, `unit_start`, `level_start`, each [end - begin + 1], int64: first node, unit
        of links, and level of each genome; `level_end` [L], int32; `nodes` and `links`, uint32 by
        unit; `output_slot` [end - begin, O], int32. All are C-contiguous.

    Raises:
        BackendError: A node has more than MOST_LINKS links, or a genome more than MOST_SLOTS slots.
    """
    s = schedule
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
    levels = slice(int(s.level_start[begin]), int(s.level_start[end]))
    counts = np.diff(s.edge_start[nodes.start : nodes.stop + 1])
    node_start = s.node_start[begin : end + 1] - nodes.start
    _check_limits(s, begin, counts, node_start)
    unit_of_node = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(_units(counts, s.dtype), out=unit_of_node[1:])
    unit_start = unit_of_node[node_start]
    first_unit = unit_of_node[:-1] - np.repeat(unit_start[:-1], np.diff(node_start))
    return {
        "node_start": node_start,
        "unit_start": unit_start,
        "level_start": s.level_start[begin : end + 1] - levels.start,
        "level_end": s.level_end[levels],
        "nodes": _pack_nodes(s, nodes, counts, first_unit),
        "links": _pack_links(s, nodes, counts, unit_of_node),
        "output_slot": s.output_slot[begin:end],
    }


def packed_nbytes(schedule: Schedule, begin: int, end: int) -> int:
    """Memory that `pack_schedule` would fill, without packing anything."""
    s = schedule
    num_genomes = end - begin
    first, last = int(s.node_start[begin]), int(s.node_start[end])
    num_levels = int(s.level_start[end] - s.level_start[begin])
    units = int(_units(np.diff(s.edge_start[first : last + 1]), s.dtype).sum())
    return (
        3 * 8 * (num_genomes + 1)
        + 4 * num_levels
        + _node_type(s.dtype).itemsize * (last - first)
        + UNIT * units
        + 4 * num_genomes * s.num_outputs
    )


def _node_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    fields = [("bias", dtype), ("response", dtype), ("first_unit", "<i4"), ("functions", "<u4")]
    offsets = [0, dtype.itemsize, 2 * dtype.itemsize, 2 * dtype.itemsize + 4]
    names, formats = zip(*fields, strict=True)
    size = UNIT if dtype == np.float32 else 2 * UNIT
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _link_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    size = 2 * dtype.itemsize
    return np.dtype(
        {
            "names": ("slot", "weight"),
            "formats": ("<i4", dtype),
            "offsets": (0, dtype.itemsize),
            "itemsize": size,
        }
    )


def _links_per_unit(dtype: np.dtype[Any]) -> int:
    return UNIT // _link_type(dtype).itemsize


def _units(counts: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
    per_unit = _links_per_unit(dtype)
    return (counts + (per_unit - 1)) // per_unit


def _pack_nodes(
    s: Schedule,
    nodes: slice,
    counts: npt.NDArray[np.int64],
    first_unit: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint32]:
    packed = np.zeros(len(counts), _node_type(s.dtype))
    packed["bias"] = s.bias[nodes]
    packed["response"] = s.response[nodes]
    packed["first_unit"] = first_unit
    packed["functions"] = (
        counts << 8 | s.aggregation[nodes].astype(np.int64) << 5 | s.activation[nodes]
    )
    return packed.view(np.uint32)


def _pack_links(
    s: Schedule,
    nodes: slice,
    counts: npt.NDArray[np.int64],
    unit_of_node: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint32]:
    per_unit = _links_per_unit(s.dtype)
    first, last = int(s.edge_start[nodes.start]), int(s.edge_start[nodes.stop])
    packed = np.zeros(int(unit_of_node[-1]) * per_unit, _link_type(s.dtype))
    shift = unit_of_node[:-1] * per_unit - (s.edge_start[nodes] - first)
    place = np.arange(last - first) + np.repeat(shift, counts)
    packed["slot"][place] = s.source[first:last]
    packed["weight"][place] = s.weight[first:last]
    return packed.view(np.uint32)


def _check_limits(
    s: Schedule, begin: int, counts: npt.NDArray[np.int64], node_start: npt.NDArray[np.int64]
) -> None:
    slots = np.diff(node_start) + s.num_inputs
    if slots.max(initial=0) > MOST_SLOTS:
        genome = int(slots.argmax())
        raise BackendError(
            f"genome {begin + genome} has {slots[genome]} inputs and live nodes; the cuda backend "
            f'takes at most {MOST_SLOTS}. Use backend="cpu".'
        )
    if counts.max(initial=0) > MOST_LINKS:
        node = int(counts.argmax())
        genome = int(np.searchsorted(node_start, node, side="right")) - 1
        raise BackendError(
            f"genome {begin + genome}: a node has {counts[node]} links; the cuda backend takes at "
            f'most {MOST_LINKS}. Use backend="cpu".'
        )
