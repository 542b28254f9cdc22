"""Schedules: what kernels run instead of genomes.

A genome is compiled once per generation to an order in which its nodes can be
computed. Nodes on one level never read each other, so a kernel may compute a
whole level at once and needs one barrier per level. Only what the outputs need
is kept.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.errors import ShapeError
from evonet.messages import counted

if TYPE_CHECKING:
    from evonet.schedule.analysis import Analysis


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Schedule:
    """The level schedules of a whole population, packed without padding.

    Live nodes of a genome are ordered by (level, aggregation, activation,
    in-degree, key), so that neighbouring threads and neighbouring loop turns
    do the same work; the links of a node keep the genome's link order.

    A genome keeps its values in numbered slots. Slot i < I holds input i and
    nothing else. `slot` names the slot of each live node; links and outputs
    name the slots that they read. What nodes remember from one step to the
    next has the last slots: state c of the k-th of a genome's n nodes is in
    slot `first_state + c n + k`, and links read state 0. Between those and the
    inputs, any node may have any slot, and several nodes one after the other
    the same, if all links and outputs that need the earlier value come before
    the level of the later one; nodes with memory need their slots until the
    step ends. Nothing may derive a slot from a node's position; `slots` finds
    positions.

    Attributes:
        num_inputs: I.
        num_outputs: O.
        dynamics: How the networks work through time.
        node_start: [P + 1] first live node of each genome, int64.
        node_key: [N] key of each live node, int64.
        bias: [N].
        response: [N].
        activation: [N] ids, uint8.
        aggregation: [N] ids, uint8.
        slot: [N] slot in which each live node's value is kept, int32.
        num_slots: [P] values that each genome holds, int64.
        edge_start: [N + 1] first link of each live node, int64.
        source: [E] slot that the link reads, int32.
        weight: [E].
        level_start: [P + 1] first level of each genome, int64.
        level_end: [L] number of the genome's live nodes up to and including
            the level, int32.
        output_slot: [P, O] slot of each output, int32; -1 for an output on or
            behind a cycle, which is never evaluated and stays 0.
        cell: [N, c] the numbers of each live node that only this kind of network has; see
            `evonet.definitions.dynamics.KINDS`.
    """

    num_inputs: int
    num_outputs: int
    dynamics: Dynamics = FEEDFORWARD
    node_start: npt.NDArray[np.int64]
    node_key: npt.NDArray[np.int64]
    bias: npt.NDArray[Any]
    response: npt.NDArray[Any]
    activation: npt.NDArray[np.uint8]
    aggregation: npt.NDArray[np.uint8]
    slot: npt.NDArray[np.int32]
    num_slots: npt.NDArray[np.int64]
    edge_start: npt.NDArray[np.int64]
    source: npt.NDArray[np.int32]
    weight: npt.NDArray[Any]
    level_start: npt.NDArray[np.int64]
    level_end: npt.NDArray[np.int32]
    output_slot: npt.NDArray[np.int32]
    cell: npt.NDArray[Any]

    def __post_init__(self) -> None:
        """Makes all arrays read-only; copies those that somebody else could still write to."""
        for name in _ARRAYS:
            array = getattr(self, name)
            # Most have memory of their own, which one look shows.
            if type(array) is np.ndarray and not (
                array.flags.writeable or isinstance(array.base, np.ndarray)
            ):
                continue
            if _is_writable(name, array):
                copied = array.copy()
                copied.flags.writeable = False
                object.__setattr__(self, name, copied)

    @classmethod
    def of_new_arrays(
        cls,
        num_inputs: int,
        num_outputs: int,
        dynamics: Dynamics,
        arrays: dict[str, npt.NDArray[Any]],
    ) -> Schedule:
        """Takes over arrays that were made for it: nobody else holds them, all are read-only."""
        schedule = cls.__new__(cls)
        fields = vars(schedule)
        fields.update(arrays)
        fields["num_inputs"], fields["num_outputs"] = num_inputs, num_outputs
        fields["dynamics"] = dynamics
        return schedule

    def __getstate__(self) -> dict[str, Any]:
        """Pickles and copies without what the compiled extension has noted in this object."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def num_genomes(self) -> int:
        """P."""
        return len(self.node_start) - 1

    @property
    def num_nodes(self) -> int:
        """N, the live nodes of all genomes."""
        return int(self.node_start[-1])

    @property
    def num_edges(self) -> int:
        """E, the links that live nodes read."""
        return int(self.edge_start[-1])

    @property
    def num_levels(self) -> npt.NDArray[np.int64]:
        """[P] levels of each genome."""
        return np.diff(self.level_start)

    @property
    def first_state(self) -> npt.NDArray[np.int64]:
        """[P] first of the slots that hold what nodes remember."""
        first: npt.NDArray[np.int64] = self.num_slots - self.dynamics.num_states * np.diff(
            self.node_start
        )
        return first

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all values, float32 or float64."""
        return self.weight.dtype

    @property
    def nbytes(self) -> int:
        """Memory that the arrays hold."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name, in the order of the class."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return (self.num_inputs, self.num_outputs, self.dtype, self.dynamics) == (
            other.num_inputs,
            other.num_outputs,
            other.dtype,
            other.dynamics,
        ) and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        depth = int(self.num_levels.max(initial=0))
        return (
            f"Schedule({counted(self.num_genomes, 'genome')}, "
            f"{self.num_inputs} -> {self.num_outputs}, {counted(self.num_nodes, 'node')}, "
            f"{counted(self.num_edges, 'link')}, at most {counted(depth, 'level')}, {self.dtype})"
        )

    def analyze(self) -> Analysis:
        """Measures how parallel each schedule can be: work, span, slack, bounds."""
        from evonet.schedule.analysis import analyze

        return analyze(self)


def freeze(fields: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Makes new arrays read-only, so that a schedule takes them over instead of copies."""
    for array in fields.values():
        array.flags.writeable = False
    return fields


def _is_writable(name: str, array: object) -> bool:
    """Whether an array, or one whose memory it shares, can be written to."""
    if not isinstance(array, np.ndarray):
        raise ShapeError(f"schedule.{name} is a {type(array).__name__}. Expected a NumPy array.")
    found: object = array
    while isinstance(found, np.ndarray):
        if found.flags.writeable:
            return True
        found = found.base
    return False


_ARRAYS: Final = tuple(
    field.name
    for field in dataclasses.fields(Schedule)
    if field.name not in ("num_inputs", "num_outputs", "dynamics")
)
