"""The kernels of a forward pass by the wide mapping, in order.

Samples go through all levels in pieces. A piece starts with `read_samples`, which makes columns of
them; `evaluate_levels` is the same for every piece, whatever its samples are and wherever outputs
go, so it can be captured once; `write_outputs` ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evonet.backends.cuda.arguments import NULL
from evonet.backends.cuda.cost import WARP
from evonet.backends.cuda.launch import Launch, LaunchPlan
from evonet.backends.cuda.layout import real_name

if TYPE_CHECKING:
    from evonet.backends.cuda.cost import Workload
    from evonet.backends.cuda.grid.tables import GridTables
    from evonet.schedule.schedule import Schedule

THREADS: Final = 256  # of a block of all kernels here
SQUARE: Final = 32  # samples and inputs or outputs that a block turns around


class Piece(NamedTuple):
    """Some samples that go through all levels together."""

    first: int
    size: int


def pieces(plan: LaunchPlan, num_samples: int) -> Iterator[Piece]:
    """Cuts samples into pieces of at most `plan.columns`."""
    for first in range(0, num_samples, plan.columns):
        yield Piece(first, min(plan.columns, num_samples - first))


def memory_shapes(
    plan: LaunchPlan, work: Workload, tables: GridTables
) -> dict[str, tuple[tuple[int, ...], Any]]:
    """The shapes and types of all arrays that launches write, by name."""
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "values": ((work.num_genomes * plan.team_values,), work.dtype),
        "num_columns": ((work.num_genomes,), np.int32),
    }
    if tables.census:
        maps = (work.num_genomes, plan.columns)
        words = -(-plan.columns // 32)
        shapes |= dict.fromkeys(("kept", "sample_of", "column_of"), (maps, np.int32))
        shapes["moved"] = (work.num_genomes,), np.int32
        shapes["living"] = (tables.most_strips, words), np.uint32
    return shapes


class GridLaunches:
    """The launches of one workload; `arrays` are those of the schedule, the tables and memory."""

    def __init__(
        self,
        plan: LaunchPlan,
        work: Workload,
        schedule: Schedule,
        tables: GridTables,
        arrays: Mapping[str, Any],
    ) -> None:
        self._plan = plan
        self._work = work
        self._schedule = schedule
        self._tables = tables
        self._arrays = arrays
        self._real = {"REAL": real_name(work.dtype)}
        self._row = np.int32(plan.columns), np.int64(plan.team_values)
        self.num_nodes = work.num_nodes

    def read_samples(self, x: Any, piece: Piece) -> Launch:
        """Makes columns of samples."""
        work, arrays = self._work, self._arrays
        maps = (arrays.get("sample_of", NULL), arrays.get("column_of", NULL))
        return Launch(
            "grid_inputs",
            self._real,
            (self._squares(work.num_inputs, piece),),
            (THREADS,),
            (
                np.int32(work.num_inputs),
                np.int32(work.shared_x),
                np.int64(work.num_samples),
                np.int64(piece.first),
                np.int32(piece.size),
                *self._row,
                x,
                arrays["values"],
                arrays["num_columns"],
                *maps,
            ),
        )

    def evaluate_levels(self) -> Iterator[Launch]:
        """Evaluates all nodes once, level by level."""
        tables = self._tables
        for depth in range(tables.num_depths):
            yield self._level(depth)
            if depth in tables.census:
                yield from self._leave(depth)

    def write_outputs(self, y: Any, piece: Piece) -> Launch:
        """Writes the outputs of a piece to y [P, B, O]."""
        work, arrays = self._work, self._arrays
        return Launch(
            "grid_outputs",
            self._real,
            (self._squares(work.num_outputs, piece),),
            (THREADS,),
            (
                np.int32(work.num_outputs),
                np.int64(work.num_samples),
                np.int64(piece.first),
                np.int32(piece.size),
                *self._row,
                arrays["output_slot"],
                arrays["values"],
                arrays.get("column_of", NULL),
                y,
            ),
        )

    def change_states(self, phase: int, piece: Piece, state: tuple[Any, ...]) -> Launch:
        """Starts (0), settles (1) or stores (2) the states of networks with memory."""
        work, arrays, dynamics = self._work, self._arrays, self._schedule.dynamics
        groups = -(-self._plan.columns // THREADS)
        return Launch(
            "grid_states",
            {**self._real, "GLOBAL_VALUES": 1},
            (work.num_nodes * groups,),
            (THREADS,),
            (
                np.int32(phase),
                *self._row,
                np.int32(work.num_samples),
                np.int32(piece.first),
                arrays["num_columns"],
                arrays["genome_of"],
                arrays["node_start"],
                arrays["slot"],
                arrays["values"],
                np.int32(dynamics.kind_id),
                np.int32(dynamics.num_states),
                work.dtype.type(dynamics.time_step),
                arrays["cell"] if dynamics.num_parameters else NULL,
                arrays["num_slots"],
                *state,
            ),
        )

    def _squares(self, rows: int, piece: Piece) -> int:
        return self._work.num_genomes * -(-piece.size // SQUARE) * max(1, -(-rows // SQUARE))

    def _level(self, depth: int) -> Launch:
        plan, arrays, start = self._plan, self._arrays, self._tables.strip_start
        num_strips = start[depth + 1] - start[depth]
        groups, warps = plan.columns // plan.tile, plan.block[0] // WARP
        return Launch(
            plan.kernel,
            plan.defines,
            (-(-num_strips // warps) * groups,),
            plan.block,
            (
                np.int32(start[depth]),
                np.int32(num_strips),
                *self._row,
                arrays["strips"],
                arrays["units"],
                arrays["num_columns"],
                arrays["values"],
                arrays["living"] if depth in self._tables.census else NULL,
            ),
            plan.shared_mem,
        )

    def _leave(self, depth: int) -> Iterator[Launch]:
        """Finds the samples that have left and moves the others together."""
        arrays, tables = self._arrays, self._tables
        where = tables.census[depth]
        begin, end = tables.row_start[depth : depth + 2]
        yield Launch(
            "grid_census",
            {},
            (self._work.num_genomes,),
            (THREADS,),
            (
                self._row[0],
                arrays["ranges"][where : where + 1],
                arrays["living"],
                *(arrays[n] for n in ("num_columns", "moved", "kept", "sample_of", "column_of")),
            ),
        )
        yield Launch(
            "grid_compact",
            self._real,
            (end - begin,),
            (THREADS,),
            (
                *self._row,
                arrays["rows"][begin:end],
                arrays["moved"],
                arrays["kept"],
                arrays["values"],
            ),
        )


def forward_launches(
    launches: GridLaunches, schedule: Schedule, piece: Piece, x: Any, y: Any, state: tuple[Any, ...]
) -> Iterator[Launch]:
    """All launches of a piece, one after the other; `state` is as for other forward kernels."""
    yield launches.read_samples(x, piece)
    yield from levels_of_steps(launches, schedule, piece, state)
    yield launches.write_outputs(y, piece)


def levels_of_steps(
    launches: GridLaunches, schedule: Schedule, piece: Piece, state: tuple[Any, ...]
) -> Iterator[Launch]:
    """What is between inputs and outputs: levels, and with memory the states of every step."""
    if not schedule.dynamics.has_memory:
        yield from launches.evaluate_levels()
        return
    if launches.num_nodes == 0:
        return
    yield launches.change_states(0, piece, state)
    for _ in range(schedule.dynamics.steps):
        yield from launches.evaluate_levels()
        yield launches.change_states(1, piece, state)
    if state[-1] is not NULL:
        yield launches.change_states(2, piece, state)
