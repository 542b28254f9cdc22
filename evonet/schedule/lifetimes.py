"""How long values are needed, and which slots keep them.

A value is made by a level and read by later ones; outputs are read at the end. After the last
level that reads it, its slot is free. Levels are computed in parallel, so nothing within a level
may take what that level still reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Ints = npt.NDArray[np.int64]


def reuse_slots(
    order: Sequence[int],
    levels: Mapping[int, int],
    sources: Mapping[int, Sequence[int]],
    outputs: Collection[int],
    first: int,
) -> dict[int, int]:
    """Assigns slots by a linear scan over levels: free slots before new ones.

    Of the slots that a level frees, the next one takes those of earlier nodes first, so that the
    slots of wide levels lie side by side. No assignment needs fewer slots.

    Args:
        order: Keys of the live nodes, level by level.
        levels: The level of each.
        sources: What each node reads.
        outputs: Keys that are read after the last level.
        first: The first slot to use.

    Returns:
        The slot of each key.
    """
    last_reader = dict(levels)  # its own level, if nobody reads it
    for key in order:
        last_reader.update((s, levels[key]) for s in sources.get(key, ()) if s in levels)
    slot: dict[int, int] = {}
    free: list[int] = []
    busy: list[int] = []
    for level, nodes in groupby(order, key=levels.__getitem__):
        ended = [key for key in busy if last_reader[key] < level and key not in outputs]
        busy = [key for key in busy if last_reader[key] >= level or key in outputs]
        free.extend(slot[key] for key in reversed(ended))
        for key in nodes:
            slot[key] = free.pop() if free else first + len(busy)
            busy.append(key)
    return slot


def count_live(schedule: Schedule, level: Ints, waits_for: Ints, output: Ints) -> Ints:
    """Counts the values that each genome needs at once, at most.

    Args:
        schedule: P schedules.
        level: [N] the level of each node in its genome.
        waits_for: [E] the live node that each link reads in the same step; -1 for none.
        output: [P, O] what outputs read, as `evonet.schedule.slots.trace_slots` gives it.

    Returns:
        [P] the most of its inputs, its nodes' values and what they remember that one level needs.
    """
    s = schedule
    counts, depth = np.diff(s.node_start), np.diff(s.level_start)
    genome = np.repeat(np.arange(s.num_genomes), counts)
    last_reader = level.copy()
    target = np.repeat(np.arange(s.num_nodes), np.diff(s.edge_start))
    np.maximum.at(last_reader, waits_for[waits_for >= 0], level[target[waits_for >= 0]])
    kept = output - s.num_inputs
    is_node = (kept >= 0) & (kept < counts[:, None])
    last_reader[(s.node_start[:-1, None] + kept)[is_node]] = s.level_end.size
    if s.dynamics.has_memory:
        last_reader[:] = s.level_end.size
    last_reader = np.minimum(last_reader, depth[genome] - 1)
    # Each value adds one to its first level and takes it away behind its last.
    change = np.zeros(len(s.level_end) + s.num_genomes, np.int64)
    begin = s.level_start[:-1] + np.arange(s.num_genomes)
    np.add.at(change, begin[genome] + level, 1)
    np.add.at(change, begin[genome] + last_reader + 1, -1)
    live = np.cumsum(change)  # all is taken away before the next genome begins
    most = np.zeros(s.num_genomes, np.int64)
    np.maximum.at(most, np.repeat(np.arange(s.num_genomes), depth + 1), live)
    needed: Ints = s.num_inputs + most + s.dynamics.num_states * counts
    return needed
