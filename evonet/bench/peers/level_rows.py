"""A whole population as rows of values, level by level, for array libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.schedule.schedule import Schedule
from evonet.schedule.slots import trace_slots

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LevelRows:
    """The rows of one level, of all genomes.

    Attributes:
        begin: Row of the first node.
        end: Row after the last one.
        start: [rows + 1] first link of each node.
        source: [links] rows that are read.
        weight: [links].
        bias: [rows, 1].
    """

    begin: int
    end: int
    start: Indices
    source: Indices
    weight: npt.NDArray[Any]
    bias: npt.NDArray[Any]


@dataclass(frozen=True)
class PopulationRows:
    """All rows: inputs first, then the nodes of all genomes, level by level.

    Attributes:
        num_rows: The number of rows.
        num_inputs: The number of rows that hold inputs.
        levels: In the order in which they can be computed.
        outputs: [P, O] the row of each output.
    """

    num_rows: int
    num_inputs: int
    levels: tuple[LevelRows, ...]
    outputs: Indices

    @classmethod
    def of(cls, schedule: Schedule, own_inputs: bool = False) -> PopulationRows:
        """Numbers the rows of a schedule of nodes that all sum, with response 1.

        Args:
            schedule: P networks without cycles.
            own_inputs: Whether each genome has its own inputs; otherwise all share them.
        """
        each, genomes = schedule.num_inputs, schedule.num_genomes
        inputs = each * genomes if own_inputs else each
        genome = np.repeat(np.arange(genomes), np.diff(schedule.node_start))
        level = _levels(schedule, genome)
        order = np.argsort(level, kind="stable")
        row = np.empty(schedule.num_nodes, np.int64)
        row[order] = inputs + np.arange(schedule.num_nodes)

        def rows_of(positions: Indices, genome: Indices) -> Indices:
            """Rows of the inputs and live nodes of genomes."""
            shift = each * genome if own_inputs else np.zeros_like(genome)
            node = schedule.node_start[genome] + positions - each
            of_node = positions >= each
            return np.where(of_node, row[np.where(of_node, node, 0)], positions + shift)

        degree = np.diff(schedule.edge_start)
        target = np.repeat(np.arange(schedule.num_nodes), degree)
        read = trace_slots(schedule)
        source = rows_of(read.source, genome[target])
        levels, begin = [], inputs
        for number in range(int(level.max(initial=-1)) + 1):
            nodes = order[level[order] == number]
            start = np.concatenate([[0], np.cumsum(degree[nodes])])
            links = np.repeat(schedule.edge_start[nodes] - start[:-1], degree[nodes])
            links += np.arange(len(links))
            levels.append(
                LevelRows(
                    begin=begin,
                    end=begin + len(nodes),
                    start=start,
                    source=source[links],
                    weight=schedule.weight[links],
                    bias=schedule.bias[nodes, None],
                )
            )
            begin += len(nodes)
        owner = np.broadcast_to(np.arange(genomes)[:, None], read.output.shape)
        return cls(begin, inputs, tuple(levels), rows_of(read.output, owner))


def _levels(schedule: Schedule, genome: Indices) -> Indices:
    """[N] the level of every live node, from 0."""
    inside = np.arange(schedule.num_nodes) - schedule.node_start[genome]
    level = np.zeros(schedule.num_nodes, np.int64)
    for g in range(schedule.num_genomes):
        ends = schedule.level_end[schedule.level_start[g] : schedule.level_start[g + 1]]
        nodes = slice(schedule.node_start[g], schedule.node_start[g + 1])
        level[nodes] = np.searchsorted(ends, inside[nodes], side="right")
    return level
