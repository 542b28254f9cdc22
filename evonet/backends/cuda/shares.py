"""Cuts a population into one range of genomes per GPU, of equal work for its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

LEAST_WORK = 1 << 18
"""Nodes and links that are worth a GPU of their own: fewer take longer to send than to run."""


def work_before(schedule: Schedule) -> npt.NDArray[np.int64]:
    """[P + 1] nodes and links of all genomes before each; every genome counts for 1 more."""
    nodes = schedule.node_start
    total: npt.NDArray[np.int64] = nodes + schedule.edge_start[nodes] + np.arange(len(nodes))
    return total


def split(schedule: Schedule, speeds: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges [begin, end) of genomes, for as many GPUs as there is work for.

    Args:
        schedule: P genomes.
        speeds: How fast each GPU is, in any unit.

    Returns:
        One range for each of the first GPUs, in order, none empty; together all genomes. One
        empty range if there are none.
    """
    before = work_before(schedule)
    wanted = min(len(speeds), max(1, int(before[-1]) // LEAST_WORK))
    parts = np.cumsum(speeds[:wanted]) / sum(speeds[:wanted])
    ends = np.searchsorted(before, parts * before[-1]).tolist()
    ends[-1] = schedule.num_genomes
    ranges = [(b, e) for b, e in zip([0, *ends[:-1]], ends, strict=True) if b < e]
    return ranges or [(0, 0)]
