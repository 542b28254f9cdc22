"""Where the nodes of a network are drawn: a column per level, with few crossing links."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.genes.population import Population
from evonet.genes.selection import drop_idle_inputs
from evonet.schedule import Schedule, build_schedule
from evonet.schedule.slots import trace_slots

# Passes over the columns; each moves nodes nearer to their neighbours.
SWEEPS: Final = 8
# Of more inputs only those are drawn that a link reads.
MOST_IDLE_INPUTS: Final = 1_000
# Links of larger networks are not bent around nodes.
MOST_BENT_LINKS: Final = 150


class Spot(NamedTuple):
    """A node that is drawn."""

    key: int  # -1..-I for inputs, otherwise the node's key
    slot: int  # its index among the values of a schedule
    level: int  # its level; 0 for inputs
    row: float  # its place in the column, from 0 at the top to 1 at the bottom
    formula: str  # what it computes, for people


class Link(NamedTuple):
    """A connection that is drawn."""

    source: int  # index of the spot where it starts
    target: int  # index of the spot where it ends
    weight: float  # the connection's weight
    # The rows at which it passes the levels between, so that it avoids their nodes.
    bends: tuple[float, ...] = ()
    later: bool = False  # whether it carries its source's value of the step before


@dataclass(frozen=True)
class Layout:
    """One network on a unit square."""

    spots: list[Spot]  # inputs first, then live nodes by level
    links: list[Link]  # the links between live nodes
    depth: int  # the number of levels besides the inputs
    tallest: int  # the number of nodes in the tallest column
    num_outputs: int  # O


def lay_out(population: Population, dynamics: Dynamics = FEEDFORWARD) -> Layout:
    """Places the live nodes of one genome.

    Networks with memory are placed as if only links that close a cycle waited for the next step;
    otherwise all nodes would share a single column.
    """
    inputs = -1 - np.arange(min(population.num_inputs, MOST_IDLE_INPUTS))
    if population.num_inputs > MOST_IDLE_INPUTS:
        population, inputs = drop_idle_inputs(population)
    schedule = drawn_schedule(population, dynamics)
    all_later = dynamics.has_memory and dynamics.propagation == "next-step"
    num_inputs = schedule.num_inputs
    ends = schedule.level_end.tolist()
    level = [0] * num_inputs
    for number, (begin, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
        level += [number] * (end - begin)
    readers = np.repeat(np.arange(schedule.num_nodes), np.diff(schedule.edge_start)) + num_inputs
    num_spots = num_inputs + schedule.num_nodes
    sources = trace_slots(schedule).source.tolist()
    later = [source >= num_spots or (all_later and source >= num_inputs) for source in sources]
    begins = [s - schedule.num_nodes if s >= num_spots else s for s in sources]
    ends_of = list(zip(begins, readers.tolist(), strict=True))
    columns: list[list[int]] = [[] for _ in range(len(ends) + 1)]
    for spot, number in enumerate(level):
        columns[number].append(spot)
    tallest = max(map(len, columns))

    # A link that passes a level gets a placeholder there, which is arranged like a node.
    chains = [[source, target] for source, target in ends_of]
    count = len(level)
    if len(chains) <= MOST_BENT_LINKS:
        for chain in chains:
            for number in range(level[chain[0]] + 1, level[chain[-1]]):
                columns[number].append(count)
                chain.insert(-1, count)
                count += 1
    row = _arrange(columns, chains, count)
    return Layout(
        spots=[
            Spot(_key(schedule, spot, inputs), spot, number, row[spot], _formula(schedule, spot))
            for spot, number in enumerate(level)
        ],
        links=[
            Link(chain[0], chain[-1], weight, tuple(row[spot] for spot in chain[1:-1]), waits)
            for chain, weight, waits in zip(chains, schedule.weight.tolist(), later, strict=True)
        ],
        depth=len(ends),
        tallest=max(tallest, *(len(column) * 2 // 3 for column in columns)),
        num_outputs=schedule.num_outputs,
    )


def drawn_schedule(population: Population, dynamics: Dynamics) -> Schedule:
    """Builds the schedule that `lay_out` draws; its inputs and live nodes are the spots."""
    placed = Dynamics("recurrent", "same-step") if dynamics.has_memory else dynamics
    return build_schedule(population, placed)


def _arrange(columns: list[list[int]], chains: list[list[int]], count: int) -> list[float]:
    """Orders each column but the inputs by the mean row of neighbours, back and forth."""
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for chain in chains:
        for source, target in pairwise(chain):
            neighbours[source].append(target)
            neighbours[target].append(source)
    row = [0.5] * count
    for column in columns:
        _space(column, row)
    for sweep in range(SWEEPS):
        for column in columns[1:] if sweep % 2 == 0 else columns[:0:-1]:
            wish = {
                spot: sum(map(row.__getitem__, neighbours[spot])) / len(neighbours[spot])
                if neighbours[spot]
                else row[spot]
                for spot in column
            }
            column.sort(key=wish.__getitem__)
            _space(column, row)
    return row


def _space(column: list[int], row: list[float]) -> None:
    for place, spot in enumerate(column):
        row[spot] = (place + 0.5) / len(column)


def _key(schedule: Schedule, spot: int, inputs: npt.NDArray[np.int64]) -> int:
    if spot < schedule.num_inputs:
        return int(inputs[spot])
    return int(schedule.node_key[spot - schedule.num_inputs])


def _formula(schedule: Schedule, spot: int) -> str:
    if spot < schedule.num_inputs:
        return "input"
    k = spot - schedule.num_inputs
    activation = ACTIVATION_TABLE[schedule.activation[k]].name
    aggregation = AGGREGATION_TABLE[schedule.aggregation[k]].name
    response = float(schedule.response[k])
    scaled = "" if response == 1.0 else f"{response:.3g} * "
    return f"{activation}({schedule.bias[k]:.3g} + {scaled}{aggregation}(links))"
