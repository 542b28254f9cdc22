"""Checks a schedule before anything runs it, wherever it comes from.

The compiled extension does it while it reads a schedule for the first time
(`kernels/native/schedule_check.h`); what is here is the readable version.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.errors import OptionError, ShapeError
from evonet.functions.native import define_natively
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.genes.arrays import MOST_PINS
from evonet.installation import load_native
from evonet.schedule.schedule import Schedule


def check_schedule(schedule: Schedule, native: bool | None = None) -> None:
    """Raises unless all that a schedule names exists; costs nothing the second time.

    Args:
        schedule: P schedules, compiled or made by hand.
        native: False for the readable check; None takes the compiled one where it exists.

    Raises:
        OptionError: It is not a Schedule, or its dynamics have a value that is not allowed.
        ShapeError: An array has another type, shape or order, or names a slot, level or function
            that does not exist, or a link reads what nothing has written.
    """
    if not isinstance(schedule, Schedule):
        raise OptionError(
            f"schedule must be an evonet.Schedule, found {type(schedule).__name__}. "
            "evonet.compile makes one of a population."
        )
    _check_dynamics(schedule.dynamics)
    extension = None if native is False else load_native()
    if extension is None:
        _Checks(schedule).run()
        return
    define_natively(extension)
    double = schedule.dtype == np.float64
    (extension.check_schedule64 if double else extension.check_schedule32)(schedule)


def _check_dynamics(dynamics: Dynamics) -> None:
    if dynamics is FEEDFORWARD:
        return
    if not isinstance(dynamics, Dynamics):
        raise OptionError(f"dynamics must be a Dynamics, found {type(dynamics).__name__}.")
    has_time = Dynamics.of(dynamics.kind).time_step > 0
    time_step = dynamics.time_step if has_time else None
    Dynamics.of(dynamics.kind, dynamics.propagation, time_step, dynamics.steps)


class _Checks:
    """One check after the other; each relies on those before it."""

    def __init__(self, schedule: Schedule) -> None:
        self._s = schedule

    def run(self) -> None:
        self._check_arrays()
        self._check_offsets()
        for genome in range(self._s.num_genomes):
            self._check_genome(genome)

    def _check_arrays(self) -> None:
        s = self._s
        for name in ("num_inputs", "num_outputs"):
            if not 0 <= getattr(s, name) <= MOST_PINS:
                raise ShapeError(
                    f"schedule.{name} is {getattr(s, name)}, and must be from 0 to {MOST_PINS}."
                )
        if s.dtype not in (np.float32, np.float64):
            raise ShapeError(f"schedule.weight must be float32 or float64, found {s.dtype}.")
        genomes, nodes = len(s.node_start) - 1, len(s.bias)
        edges, levels = len(s.weight), len(s.level_end)
        if genomes < 0:
            raise ShapeError("schedule.node_start is empty; no genomes are [0].")
        real = s.dtype.name
        for name, kind, shape in (
            ("node_start", "int64", (genomes + 1,)),
            ("bias", real, (nodes,)),
            ("response", real, (nodes,)),
            ("activation", "uint8", (nodes,)),
            ("aggregation", "uint8", (nodes,)),
            ("slot", "int32", (nodes,)),
            ("num_slots", "int64", (genomes,)),
            ("edge_start", "int64", (nodes + 1,)),
            ("source", "int32", (edges,)),
            ("weight", real, (edges,)),
            ("level_start", "int64", (genomes + 1,)),
            ("level_end", "int32", (levels,)),
            ("output_slot", "int32", (genomes, s.num_outputs)),
            ("cell", real, (nodes, s.dynamics.num_parameters)),
        ):
            array = getattr(s, name)
            plain = array.flags.c_contiguous and array.flags.aligned
            if array.dtype != np.dtype(kind) or array.shape != shape or not plain:
                raise ShapeError(
                    f"schedule.{name} must be a contiguous array {kind} of shape {list(shape)}, "
                    f"found {array.dtype} of shape {list(array.shape)}."
                )

    def _check_offsets(self) -> None:
        s = self._s
        for name, total in (
            ("node_start", len(s.bias)),
            ("edge_start", len(s.weight)),
            ("level_start", len(s.level_end)),
        ):
            starts = getattr(s, name)
            if starts[0] != 0 or starts[-1] != total or (starts[1:] < starts[:-1]).any():
                raise ShapeError(f"schedule.{name} must ascend from 0 to {total}.")

    def _check_genome(self, genome: int) -> None:
        s = self._s
        first, end = s.node_start[genome : genome + 2].tolist()
        slots = int(s.num_slots[genome])
        states = slots - s.dynamics.num_states * (end - first)
        if slots > MOST_PINS or states < s.num_inputs:
            raise self._fault(genome, "num_slots must hold the inputs and what nodes remember")
        slot = s.slot[first:end]
        if not ((slot >= s.num_inputs) & (slot < states)).all():
            raise self._fault(genome, "a node's slot is out of range")
        for name, known in (("activation", ACTIVATION_TABLE), ("aggregation", AGGREGATION_TABLE)):
            if (getattr(s, name)[first:end] >= len(known)).any():
                raise self._fault(genome, "a node has a function that nobody registered")
        source = s.source[s.edge_start[first] : s.edge_start[end]]
        if not ((source >= 0) & (source < slots)).all():
            raise self._fault(genome, "a link reads a slot that does not exist")
        written = self._written(genome, first, end, states)
        output = s.output_slot[genome]
        if not ((output >= -1) & (output < slots)).all() or not written[output[output >= 0]].all():
            raise self._fault(genome, "output_slot names a slot that nothing writes")

    def _written(self, genome: int, first: int, end: int, states: int) -> npt.NDArray[np.bool_]:
        """The slots that hold something when all levels are done, [num_slots]."""
        s = self._s
        written = np.ones(s.num_slots[genome], np.bool_)
        written[s.num_inputs : states] = False
        done = first
        for level in range(s.level_start[genome], s.level_start[genome + 1]):
            stop = first + int(s.level_end[level])
            if not done < stop <= end:
                raise self._fault(genome, "level_end does not ascend over its nodes")
            if not written[s.source[s.edge_start[done] : s.edge_start[stop]]].all():
                raise self._fault(genome, "a link reads a slot that no earlier level writes")
            written[s.slot[done:stop]] = True
            done = stop
        if done != end:
            raise self._fault(genome, "its levels do not hold all nodes")
        return written

    def _fault(self, genome: int, what: str) -> ShapeError:
        return ShapeError(f"schedule: genome {genome}: {what}.")
