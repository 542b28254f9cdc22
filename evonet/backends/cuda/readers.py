"""A schedule's links, transposed: who reads each slot, for adjoints that are gathered.

What `kernels/native/link_readers.cpp` makes for the processor, by NumPy and in the order of slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.functions.registry import AGGREGATION_IDS

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

# All links of a node that adds share one adjoint; others have one each.
_EVEN = (AGGREGATION_IDS["sum"], AGGREGATION_IDS["mean"])


def trace_readers(schedule: Schedule, begin: int, end: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays by name, for genomes [begin, end) of a schedule in which no slot is shared.

    first_slot    [P + 1] int64, where a genome's slots begin in reader_start
    reader_start  [slots + 1] int64, the first reader of each slot
    reader_edge   [E] int32, the link, counted within its genome
    reader_row    [E] int32, the row with the link's adjoint
    link_row      [E] int32, the same in the order of links
    num_rows      [P] int64
    output_node   [P, O] int32, the node of each output, counted within its genome, or -1
    output_of     [N] int32, the first output that a node is, or -1
    next_output   [P, O] int32, the next output of the same node, or -1
    """
    s = schedule
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
    edges = slice(int(s.edge_start[nodes.start]), int(s.edge_start[nodes.stop]))
    genome = np.repeat(np.arange(end - begin), np.diff(s.node_start[begin : end + 1]))
    links = np.diff(s.edge_start[nodes.start : nodes.stop + 1])
    target = np.repeat(np.arange(nodes.stop - nodes.start), links)
    node_start = s.node_start[begin : end + 1] - nodes.start
    first_edge = s.edge_start[s.node_start[begin : end + 1]] - edges.start
    first_slot = np.concatenate(([0], np.cumsum(s.num_slots[begin:end])))
    whose = genome[target]
    within = np.arange(len(target)) - first_edge[whose]

    counts = np.diff(node_start)
    single = ~np.isin(s.aggregation[nodes], _EVEN)[target]
    before = np.concatenate(([0], np.cumsum(single)))  # links with rows of their own
    own_row = counts[whose] + before[:-1] - before[first_edge[whose]]
    row = np.where(single, own_row, target - node_start[whose])
    num_rows = counts + before[first_edge[1:]] - before[first_edge[:-1]]

    place = first_slot[whose] + s.source[edges]
    order = np.argsort(place, kind="stable")
    sizes = np.bincount(place, minlength=int(first_slot[-1]))
    output_node, output_of, next_output = _trace_outputs(s, begin, end, node_start, first_slot)
    return {
        "first_slot": first_slot.astype(np.int64),
        "reader_start": np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        "reader_edge": within[order].astype(np.int32),
        "reader_row": row[order].astype(np.int32),
        "link_row": row.astype(np.int32),
        "num_rows": num_rows.astype(np.int64),
        "output_node": output_node,
        "output_of": output_of,
        "next_output": next_output,
    }


def _trace_outputs(
    s: Schedule, begin: int, end: int, node_start: Any, first_slot: Any
) -> tuple[Any, Any, Any]:
    slots = s.output_slot[begin:end].astype(np.int64)
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
    genome = np.repeat(np.arange(end - begin), np.diff(node_start))
    node_at = np.full(int(first_slot[-1]) + 1, -1, np.int64)
    node_at[first_slot[genome] + s.slot[nodes]] = np.arange(len(genome))
    owner = np.arange(end - begin)[:, None]
    node = np.where(slots < 0, -1, node_at[np.where(slots < 0, -1, first_slot[owner] + slots)])
    local = np.where(node < 0, -1, node - node_start[owner])
    output_of = np.full(len(genome), -1, np.int32)
    next_output = np.full(slots.shape, -1, np.int32)
    for o in reversed(range(s.num_outputs)):
        here = np.flatnonzero(node[:, o] >= 0)
        next_output[here, o] = output_of[node[here, o]]
        output_of[node[here, o]] = o
    return local.astype(np.int32), output_of, next_output


def rows_of_genomes(
    schedule: Schedule, begin: int, end: int, num_steps: int, num_target_steps: int
) -> npt.NDArray[np.int64]:
    """[P] rows of 32 numbers that a warp needs for a genome."""
    s = schedule
    counts = np.diff(s.node_start[begin : end + 1])
    edges = np.diff(s.edge_start[s.node_start[begin : end + 1]])
    steps = num_steps * s.dynamics.steps
    kept: npt.NDArray[np.int64] = steps * (s.num_slots[begin:end] + counts)
    # Adjoints of nodes and at most all links, states, outputs and slopes, and the sums of genes.
    kept += 7 * counts + 2 * edges + (1 + num_target_steps) * s.num_outputs
    return kept
