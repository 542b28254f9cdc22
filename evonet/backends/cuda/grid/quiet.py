"""After which levels a sample may leave: its values are all zero, and zeros stay zeros.

A level is a cut if nothing behind it reads what was computed before it, but for the level itself.
It is quiet from there if every node behind it makes +0 of zeros, in every bit. Then a sample whose
values on that level are all +0 has outputs of +0, and nobody needs to compute them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.functions import activate, preactivation
from evonet.functions.registry import AGGREGATION_IDS
from evonet.schedule.slots import trace_slots

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

# They start at +0, so a zero of either sign, times any finite weight, leaves +0.
_SUMS = (AGGREGATION_IDS["sum"], AGGREGATION_IDS["mean"])


def quiet_nodes(schedule: Schedule) -> npt.NDArray[np.bool_]:
    """[N] whether a node whose sources are all zero is +0 in every bit."""
    s = schedule
    quiet = np.isin(s.aggregation, _SUMS)
    target = np.repeat(np.arange(s.num_nodes), np.diff(s.edge_start))
    quiet[target[~np.isfinite(s.weight)]] = False
    for activation in np.unique(s.activation[quiet]):
        nodes = np.flatnonzero(quiet & (s.activation == activation))
        nothing = np.zeros(len(nodes), s.dtype)
        z = preactivation(s.bias[nodes], s.response[nodes], nothing)
        quiet[nodes] = _is_zero(activate(int(activation), z))
    return quiet


def levels_to_leave(schedule: Schedule) -> npt.NDArray[np.bool_]:
    """[L] whether samples of a genome may leave after a level.

    The last level of a genome is no such level: nothing would be saved.
    """
    s = schedule
    may_leave = np.zeros(len(s.level_end), bool)
    if s.dynamics.has_memory or s.num_nodes == 0:
        return may_leave
    quiet = quiet_nodes(s)
    if not quiet[s.node_start[1:][np.diff(s.node_start) > 0] - 1].any():
        return may_leave  # not even a last node is quiet: what evolution makes of most networks
    level = _level_of_nodes(s)
    positions = trace_slots(s)
    reader = np.repeat(np.arange(s.num_nodes), np.diff(s.edge_start))
    genome = np.repeat(np.arange(s.num_genomes), np.diff(s.node_start))
    oldest = np.full(len(s.level_end) + 1, np.iinfo(np.int64).max)  # what a level reads, by level
    first = s.level_start[:-1]

    def level_of(position: npt.NDArray[np.int64], owner: npt.NDArray[np.int64]) -> Any:
        """The level of a value; that of an input is before the first."""
        node = s.node_start[owner] + position - s.num_inputs
        is_input = position < s.num_inputs
        return np.where(is_input, first[owner] - 1, level[np.where(is_input, 0, node)])

    np.minimum.at(oldest, level[reader], level_of(positions.source, genome[reader]))
    last = s.level_start[1:] - 1
    for output in positions.output.T:
        owner = np.flatnonzero((output >= 0) & (last >= first))
        # An output is read behind the last level, so the level that makes it is the oldest needed.
        np.minimum.at(oldest, last[owner], level_of(output[owner], owner))
    loud = np.zeros(len(s.level_end), bool)
    loud[level[~quiet]] = True
    for begin, end in zip(s.level_start[:-1], s.level_start[1:], strict=True):
        needed = np.minimum.accumulate(oldest[begin:end][::-1])[
            ::-1
        ]  # by this level or a later one
        is_loud = np.logical_or.accumulate(loud[begin:end][::-1])[::-1]
        levels = np.arange(begin, end - 1)
        may_leave[levels] = (needed[1:] >= levels) & ~is_loud[1:]
    return may_leave


def _level_of_nodes(s: Schedule) -> npt.NDArray[np.int64]:
    """[N] the level of each node, counted over all genomes."""
    ends = s.level_end.astype(np.int64)
    width = ends - np.concatenate(([0], ends[:-1]))
    starts = s.level_start[:-1][np.diff(s.level_start) > 0]
    width[starts] = s.level_end[starts]
    return np.repeat(np.arange(len(s.level_end)), width)


def _is_zero(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    bits = np.ascontiguousarray(values).view(f"u{values.itemsize}")
    is_zero: npt.NDArray[np.bool_] = bits == 0
    return is_zero
