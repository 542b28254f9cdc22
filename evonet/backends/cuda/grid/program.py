"""The wide mapping on one GPU: tables and values stay there, and all levels are one graph.

The launches between inputs and outputs are the same for every piece and every call. They are
captured once and replayed, so that a level costs the GPU a microsecond or two and the host nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from evonet.backends.cuda.grid.launches import (
    GridLaunches,
    forward_launches,
    memory_shapes,
    pieces,
)
from evonet.backends.cuda.grid.tables import genome_of_nodes, make_tables
from evonet.backends.cuda.resident import Resident
from evonet.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evonet.backends.cuda.cost import Workload
    from evonet.backends.cuda.device import Device, DeviceArray, Graph, Moment
    from evonet.backends.cuda.launch import LaunchPlan
    from evonet.schedule.schedule import Schedule

LEAST_LEVELS = 3
"""Launches that are worth a graph."""


class GridProgram:
    """The genomes [begin, end) of a schedule, to be evaluated by one plan."""

    def __init__(
        self,
        device: Device,
        schedule: Schedule,
        begin: int,
        end: int,
        plan: LaunchPlan,
        work: Workload,
    ) -> None:
        """Uploads the tables and makes room for values, on the current stream."""
        self._plan = plan
        self._device = device
        self._schedule = schedule
        self._range = begin, end
        self._tables = make_tables(schedule, begin, end, plan.strip)
        arrays = {name: device.upload(array) for name, array in self._tables.arrays().items()}
        if work.has_memory:
            arrays["genome_of"] = device.upload(genome_of_nodes(schedule, begin, end))
        for name, (shape, kind) in memory_shapes(plan, work, self._tables).items():
            arrays[name] = device.empty(shape, kind)
        self._memory = Resident(device, arrays)
        self._graph: Graph | None = None
        self._last: Moment | None = None

    def fits(self, begin: int, end: int, plan: LaunchPlan) -> bool:
        """Whether this program is made for some genomes and a plan, whatever the plan costs."""
        plan = dataclasses.replace(plan, cycles=self._plan.cycles)
        return self._range == (begin, end) and self._plan == plan

    def run(
        self,
        work: Workload,
        genes: Mapping[str, DeviceArray],
        x: DeviceArray,
        y: DeviceArray,
        state: Any,
    ) -> None:
        """Evaluates samples x to y [P, B, O] on the current stream.

        `genes` are those of `layout.pack_schedule`, the same arrays in every call, and `state` is
        what other forward kernels take.
        """
        arrays = {**genes, **self._memory.arrays}
        launches = GridLaunches(self._plan, work, self._schedule, self._tables, arrays)
        self._memory.wait()
        for piece in pieces(self._plan, work.num_samples):
            if work.has_memory or self._tables.num_depths < LEAST_LEVELS:
                for launch in forward_launches(launches, self._schedule, piece, x, y, state):
                    self._device.launch(*launch)
                continue
            if self._graph is None:
                self._graph = self._device.capture(launches.evaluate_levels())
            self._device.launch(*launches.read_samples(x, piece))
            self._device.replay(self._graph)
            self._device.launch(*launches.write_outputs(y, piece))
        self._memory.was_written()
        self._last = self._device.record()

    def __del__(self) -> None:
        """Keeps the graph until it has run."""
        last = self.__dict__.get("_last")
        if last is not None and not sys.is_finalizing():
            with contextlib.suppress(DeviceError):
                self._device.wait_on_host(last)
