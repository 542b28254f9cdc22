"""What has to be known about genomes before they are packed for a GPU: a single pass counts it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.installation import load_native

if TYPE_CHECKING:
    from evonet._native import SchedulePacker32, SchedulePacker64
    from evonet.schedule.schedule import Schedule


@dataclasses.dataclass(frozen=True)
class Census:
    """Counts of the genomes [begin, end) of a schedule."""

    num_units: int  # of 16 bytes, that headers and links fill
    max_slots: int  # of the largest genome; 0 if there is none
    largest_genome: int  # the first genome with so many, counted from `begin`
    max_level_width: int  # nodes of the widest level
    packer: SchedulePacker32 | SchedulePacker64 | None  # compiled code that packs these genomes


def take_census(schedule: Schedule, begin: int, end: int, native: bool | None = None) -> Census:
    """Counts genomes; `native` is False for the readable version, without a packer."""
    extension = None if native is False else load_native()
    if extension is None:
        return _count(schedule, begin, end)
    kind = extension.SchedulePacker32
    if schedule.dtype == np.float64:
        kind = extension.SchedulePacker64
    packer = kind(schedule, begin, end, 0)
    return Census(
        num_units=packer.num_units,
        max_slots=packer.max_slots,
        largest_genome=packer.largest_genome,
        max_level_width=packer.max_level_width,
        packer=packer,
    )


def _count(s: Schedule, begin: int, end: int) -> Census:
    nodes = slice(int(s.node_start[begin]), int(s.node_start[end]) + 1)
    levels = slice(int(s.level_start[begin]), int(s.level_start[end]))
    level_end = s.level_end[levels].astype(np.int64)
    width = np.diff(level_end, prepend=0)
    starts = s.level_start[begin:end] - levels.start
    starts = starts[np.diff(s.level_start[begin : end + 1]) > 0]
    width[starts] = level_end[starts]
    slots = s.num_slots[begin:end]
    return Census(
        num_units=int(node_units(np.diff(s.edge_start[nodes]), s.dtype).sum()),
        max_slots=int(slots.max(initial=0)),
        largest_genome=int(slots.argmax()) if len(slots) else 0,
        max_level_width=int(width.max(initial=0)),
        packer=None,
    )


def header_units(dtype: np.dtype[Any]) -> int:
    """Units of a node without its links."""
    return 1 if dtype == np.float32 else 2


def links_per_unit(dtype: np.dtype[Any]) -> int:
    """Links that share a unit."""
    return 2 if dtype == np.float32 else 1


def node_units(counts: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> npt.NDArray[np.int64]:
    """Units of nodes with so many links each."""
    per_unit = links_per_unit(dtype)
    return header_units(dtype) + (counts + (per_unit - 1)) // per_unit
