"""The nodes of every level, of all genomes together, in strips that a warp evaluates."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.grid.quiet import levels_to_leave
from evonet.backends.cuda.layout import unit_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evonet.schedule.schedule import Schedule

Ints = npt.NDArray[np.int64]

CENSUS_EVERY = 4
"""Levels between two looks for samples that have left: each takes a launch or two."""


@dataclasses.dataclass(frozen=True)
class GridTables:
    """What the kernels of the wide mapping need to know besides the packed schedule.

    Attributes:
        strips: [S, 4] int32: genome, first unit, unit behind the last, nodes; level by level.
        rows: [N, 2] int32: genome and slot of every node; level by level.
        ranges: [C, P, 2] int32: which strips of a level with a census belong to a genome, counted
            from the level's first; an empty range where its samples stay.
        strip_start: [D + 1] first strip of every depth, of all genomes.
        row_start: [D + 1] first row of every depth.
        census: The depths after which samples may leave, and their places in `ranges`.
    """

    strips: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]
    ranges: npt.NDArray[np.int32]
    strip_start: tuple[int, ...]
    row_start: tuple[int, ...]
    census: Mapping[int, int]

    @property
    def num_depths(self) -> int:
        """Levels of the deepest genome."""
        return len(self.strip_start) - 1

    @property
    def most_strips(self) -> int:
        """Strips of the depth with most of them."""
        return max(np.diff(self.strip_start).tolist(), default=0)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What goes to the GPU, by name."""
        return {"strips": self.strips, "rows": self.rows, "ranges": self.ranges}


def make_tables(schedule: Schedule, begin: int, end: int, strip: int) -> GridTables:
    """Cuts the levels of genomes [begin, end) into strips of at most so many nodes."""
    s = schedule
    levels = slice(int(s.level_start[begin]), int(s.level_start[end]))
    first_level = s.level_start[begin:end] - levels.start
    counts = np.diff(s.level_start[begin : end + 1])
    genome = np.repeat(np.arange(end - begin), counts)
    depth = np.arange(len(genome)) - first_level[genome]
    last_node = s.level_end[levels].astype(np.int64)
    first_node = np.where(depth > 0, np.concatenate(([0], last_node[:-1])), 0)
    order = np.argsort(depth, kind="stable")  # by depth, and by genome within a depth
    may_leave = levels_to_leave(s)[levels][order]
    genome, depth, first_node, last_node = (
        array[order] for array in (genome, depth, first_node, last_node)
    )
    node_start = s.node_start[begin : end + 1] - s.node_start[begin]
    unit_start, node_unit = unit_offsets(s, begin, end)
    bounds = np.append(node_unit, 0)

    strips_of = -(-(last_node - first_node) // strip)
    owner = np.repeat(np.arange(len(genome)), strips_of)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(strips_of) - strips_of, strips_of)
    low = first_node[owner] + place * strip
    high = np.minimum(low + strip, last_node[owner])
    whose = genome[owner]
    is_end = node_start[whose] + high == node_start[whose + 1]
    end_unit = np.where(
        is_end, unit_start[whose + 1], unit_start[whose] + bounds[node_start[whose] + high]
    )
    first_unit = unit_start[whose] + bounds[node_start[whose] + low]
    strips = np.stack([whose, first_unit, end_unit, high - low], axis=1)

    width = last_node - first_node
    row_owner = np.repeat(np.arange(len(genome)), width)
    within = np.arange(len(row_owner)) - np.repeat(np.cumsum(width) - width, width)
    node = s.node_start[begin + genome[row_owner]] + first_node[row_owner] + within
    rows = np.stack([genome[row_owner], s.slot[node]], axis=1)

    depths = np.arange(counts.max(initial=0) + 1)
    strip_start = np.searchsorted(depth[owner], depths)
    row_start = np.searchsorted(depth[row_owner], depths)
    census = _choose_census(depth, may_leave)
    ranges = np.zeros((len(census), end - begin, 2), np.int32)
    first_strip = np.cumsum(strips_of) - strips_of
    for at, where in census.items():
        here = np.flatnonzero((depth == at) & may_leave)
        low_strip = first_strip[here] - strip_start[at]
        ranges[where, genome[here]] = np.stack([low_strip, low_strip + strips_of[here]], axis=1)
    return GridTables(
        strips=strips.astype(np.uint32).view(np.int32),
        rows=rows.astype(np.int32),
        ranges=ranges,
        strip_start=tuple(strip_start.tolist()),
        row_start=tuple(row_start.tolist()),
        census=census,
    )


def _choose_census(depth: Ints, may_leave: npt.NDArray[np.bool_]) -> dict[int, int]:
    """Every fourth depth of those where samples of any genome may leave, the first included."""
    found = np.unique(depth[may_leave]).tolist()
    return {at: i for i, at in enumerate(found[::CENSUS_EVERY])}


def genome_of_nodes(schedule: Schedule, begin: int, end: int) -> npt.NDArray[np.int32]:
    """[N] which of the genomes [begin, end) a node belongs to."""
    counts = np.diff(schedule.node_start[begin : end + 1])
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)
