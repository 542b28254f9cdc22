"""How parallel can a network be? Work, span and slack of its schedule.

One step is one link's multiply-add or one node's activation, so a node with d
links costs d + 1 steps. *Work* is all steps: the time of one processor. *Span*
is the costliest chain of nodes that read each other: the time of infinitely
many. Work / span is the parallelism that no machine can exceed, and Brent's
bound says how close p processors come.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError
from evonet.schedule.lifetimes import count_live
from evonet.schedule.slots import trace_slots

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Analysis:
    """What `Schedule.analyze` found.

    Attributes:
        schedule: The schedule that was measured.
        work: [P] steps in all, per sample.
        span: [P] steps on the critical path.
        depth: [P] levels.
        live_slots: [P] values that the genome needs at once, at most: inputs, nodes and what nodes
            remember. A schedule that reuses slots has so many of them.
        level_width: [L] nodes on each level, genome after genome.
        slack: [N] levels by which each node could be postponed without making
            the schedule deeper.
        finish: [N] steps until each node is known if nothing ever waits for
            a processor.
        waits_for: [E] the live node whose value each link waits for; -1 for an
            input or what a node remembers.
    """

    schedule: Schedule
    work: Ints
    span: Ints
    depth: Ints
    live_slots: Ints
    level_width: Ints
    slack: Ints
    finish: Ints
    waits_for: Ints

    @property
    def parallelism(self) -> Floats:
        """[P] work / span: the largest useful number of processors; 0 for no nodes."""
        return self.work / np.maximum(self.span, 1)

    @property
    def nodes(self) -> Ints:
        """[P] live nodes."""
        return np.diff(self.schedule.node_start)

    @property
    def max_width(self) -> Ints:
        """[P] nodes on the widest level."""
        widest = np.zeros(len(self.work), np.int64)
        np.maximum.at(widest, np.repeat(np.arange(len(self.work)), self.depth), self.level_width)
        return widest

    def brent_bound(self, processors: int) -> Floats:
        """Steps that suffice on so many processors: (work - span) / p + span.

        Args:
            processors: p, at least 1.

        Returns:
            [P] an upper bound for any schedule that never idles on purpose.

        Raises:
            OptionError: There is no processor.
        """
        if processors < 1:
            raise OptionError(f"processors={processors!r} must be at least 1.")
        return (self.work - self.span) / processors + self.span

    def critical_path(self, genome: int) -> list[int]:
        """Keys along the costliest chain of one genome, from its first node to an output.

        Raises:
            IndexError: There is no such genome.
        """
        s = self.schedule
        if not -s.num_genomes <= genome < s.num_genomes:
            raise IndexError(f"genome {genome} of {s.num_genomes}")
        first, end = (int(n) for n in s.node_start[genome % s.num_genomes :][:2])
        if first == end:
            return []
        node = first + int(np.argmax(self.finish[first:end]))
        path = [node]
        while True:
            nodes = self.waits_for[s.edge_start[node] : s.edge_start[node + 1]]
            nodes = nodes[nodes >= 0]
            if len(nodes) == 0:
                return [int(s.node_key[n]) for n in reversed(path)]
            node = int(nodes[np.argmax(self.finish[nodes])])
            path.append(node)

    def __repr__(self) -> str:
        if len(self.work) == 0:
            return "Analysis(no genomes)"
        return (
            f"Analysis({len(self.work)} genomes; mean work {self.work.mean():.1f}, "
            f"span {self.span.mean():.1f}, parallelism {self.parallelism.mean():.2f}, "
            f"depth {self.depth.mean():.1f}, widest level {self.max_width.max()}, "
            f"live slots {self.live_slots.mean():.1f} for {self.nodes.mean():.1f} nodes)"
        )


def analyze(schedule: Schedule) -> Analysis:
    """Measures every genome of a schedule, one level of all genomes at a time.

    Args:
        schedule: P schedules.
    """
    s = schedule
    num_nodes = s.num_nodes
    genome = np.repeat(np.arange(s.num_genomes), np.diff(s.node_start))
    depth = np.diff(s.level_start)
    level_genome = np.repeat(np.arange(s.num_genomes), depth)
    level_index = np.arange(len(s.level_end)) - s.level_start[level_genome]
    width = s.level_end.astype(np.int64)
    width[1:] -= s.level_end[:-1]
    width[level_index == 0] = s.level_end[level_index == 0]
    level = np.repeat(level_index, width)

    cost = np.diff(s.edge_start) + 1
    work = np.zeros(s.num_genomes, np.int64)
    np.add.at(work, genome, cost)

    # Links that wait for a node, sorted by the reader's level.
    target = np.repeat(np.arange(num_nodes), cost - 1)
    read = trace_slots(s)
    waits_for = read.source - s.num_inputs + s.node_start[genome[target]]
    waits_for[waits_for >= s.node_start[genome[target] + 1]] = -1
    waits_for[waits_for < s.node_start[genome[target]]] = -1
    live = count_live(s, level, waits_for, read.output)
    target = target[waits_for >= 0]
    source = waits_for[waits_for >= 0]
    by_level = np.argsort(level[target], kind="stable")
    source, target = source[by_level], target[by_level]
    deepest = int(depth.max(initial=0))
    cuts = np.searchsorted(level[target], np.arange(deepest + 1))

    finish = cost.copy()
    for begin, end in pairwise(cuts):
        reader = target[begin:end]
        np.maximum.at(finish, reader, finish[source[begin:end]] + cost[reader])
    latest = depth[genome] - 1
    for begin, end in zip(cuts[-2::-1], cuts[:0:-1], strict=True):
        np.minimum.at(latest, source[begin:end], latest[target[begin:end]] - 1)

    span = np.zeros(s.num_genomes, np.int64)
    np.maximum.at(span, genome, finish)
    return Analysis(s, work, span, depth, live, width, latest - level, finish, waits_for)
