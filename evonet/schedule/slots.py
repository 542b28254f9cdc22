"""What links and outputs read, whatever slots values are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Ints = npt.NDArray[np.int64]


class Positions(NamedTuple):
    """Where values come from, by position instead of by slot.

    Input i of a genome is i, the value of the k-th of its n live nodes I + k, and what that node
    remembers I + n + k.

    Attributes:
        source: [E] what each link reads.
        output: [P, O] what each output is; -1 for one that is never evaluated.
    """

    source: Ints
    output: Ints


def trace_slots(schedule: Schedule) -> Positions:
    """Finds what every link and every output reads.

    A slot may hold several values, one after the other; a reader sees the one that was written
    last before it.

    Args:
        schedule: P schedules.
    """
    s = schedule
    num_nodes, first_state = np.diff(s.node_start), s.first_state
    first_slot = np.cumsum(s.num_slots) - s.num_slots
    genome = np.repeat(np.arange(s.num_genomes), num_nodes)
    # All writings, sorted by slot and then by time.
    turns = s.num_nodes + 1
    written = np.sort((first_slot[genome] + s.slot) * turns + np.arange(s.num_nodes))

    def trace(slot: npt.NDArray[np.int32], reader: Ints, before: Ints) -> Ints:
        """Positions of slots that genomes read before some node computes."""
        turn_0 = (first_slot[reader] + slot) * turns
        last = np.searchsorted(written, turn_0 + before) - 1
        node = np.append(written, 0)[last] - turn_0 - s.node_start[reader]
        state = num_nodes[reader] + slot - first_state[reader]
        found = np.where(slot < first_state[reader], node, state) + s.num_inputs
        return np.where(slot < s.num_inputs, slot, found)

    target = np.repeat(np.arange(s.num_nodes), np.diff(s.edge_start))
    source = trace(s.source, genome[target], target)
    owner = np.repeat(np.arange(s.num_genomes), s.num_outputs)
    output = trace(s.output_slot.reshape(-1), owner, s.node_start[owner + 1])
    return Positions(source, output.reshape(s.output_slot.shape))
