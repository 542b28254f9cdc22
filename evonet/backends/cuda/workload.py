"""What a launch has to do, and what a GPU can: the two sides that a plan brings together."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from evonet.backends.cuda.custom_functions import functions_of

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

BLOCKS_PER_SM = {"sm_80": 32, "sm_87": 16, "sm_89": 24, "sm_90": 32, "sm_100": 32, "sm_103": 32}


@dataclasses.dataclass(frozen=True)
class Workload:
    """The sizes of some genomes and their samples.

    Attributes:
        num_genomes: P.
        num_inputs: I.
        num_outputs: O.
        num_samples: B.
        shared_x: Whether all genomes see the same samples, [B, I] and not [P, B, I].
        dtype: float32 or float64.
        num_nodes: Live nodes of all genomes.
        num_edges: Their links.
        max_slots: Inputs, live nodes and what these remember, of the largest genome.
        max_level_width: Nodes of the widest level.
        num_levels: Levels of all genomes.
        max_levels: Levels of the deepest genome.
        max_links: Links of the node that has most.
        has_median: Whether a node takes the median.
        has_memory: Whether nodes remember anything.
        functions: Those of one's own that a kernel must know; see `own_functions`.
    """

    num_genomes: int
    num_inputs: int
    num_outputs: int
    num_samples: int
    shared_x: bool
    dtype: np.dtype[Any]
    num_nodes: int
    num_edges: int
    max_slots: int
    max_level_width: int
    num_levels: int
    max_levels: int
    max_links: int
    has_median: bool
    has_memory: bool = False
    functions: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write, so that nothing needs a launch."""
        return 0 in (self.num_genomes, self.num_samples, self.num_outputs)

    @classmethod
    def of(
        cls, schedule: Schedule, begin: int, end: int, num_samples: int, shared_x: bool
    ) -> Workload:
        """Measures the genomes [begin, end) of a schedule."""
        from evonet.functions.registry import aggregation_id

        s = schedule
        first, last = int(s.node_start[begin]), int(s.node_start[end])
        levels = slice(int(s.level_start[begin]), int(s.level_start[end]))
        level_end = s.level_end[levels].astype(np.int64)
        width = np.diff(level_end, prepend=0)
        starts = s.level_start[begin:end] - levels.start
        starts = starts[np.diff(s.level_start[begin : end + 1]) > 0]
        width[starts] = level_end[starts]
        return cls(
            num_genomes=end - begin,
            num_inputs=s.num_inputs,
            num_outputs=s.num_outputs,
            num_samples=num_samples,
            shared_x=shared_x,
            dtype=s.dtype,
            num_nodes=last - first,
            num_edges=int(s.edge_start[last] - s.edge_start[first]),
            max_slots=int(s.num_slots[begin:end].max(initial=s.num_inputs)),
            max_level_width=int(width.max(initial=0)),
            num_levels=levels.stop - levels.start,
            max_levels=int(np.diff(s.level_start[begin : end + 1]).max(initial=0)),
            max_links=int(np.diff(s.edge_start[first : last + 1]).max(initial=0)),
            has_median=bool((s.aggregation[first:last] == aggregation_id("median")).any()),
            has_memory=s.dynamics.has_memory,
            functions=functions_of(s),
        )


@dataclasses.dataclass(frozen=True)
class DeviceLimits:
    """What a GPU offers to blocks of threads.

    Attributes:
        arch: Its architecture as compilers spell it, such as "sm_86".
        num_sms: Multiprocessors.
        shared_per_block_optin: Bytes of shared memory that a block may ask for.
        shared_per_sm: Bytes of shared memory of a multiprocessor.
        max_threads_per_sm: Threads that a multiprocessor holds at a time.
        registers_per_sm: 32-bit registers of a multiprocessor.
    """

    arch: str
    num_sms: int
    shared_per_block_optin: int
    shared_per_sm: int
    max_threads_per_sm: int
    registers_per_sm: int

    @property
    def max_blocks_per_sm(self) -> int:
        """Blocks that a multiprocessor holds at a time; of an unknown one the least."""
        return BLOCKS_PER_SM.get(self.arch, 16)
