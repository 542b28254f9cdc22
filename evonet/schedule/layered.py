"""Schedules of layered networks, straight from their matrices.

A population of 63 million connections takes 33 bytes for each before it is compiled. Here a
layer becomes a level at once, for 8 bytes a link, and layers may come one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import FEEDFORWARD
from evonet.errors import OptionError, ShapeError
from evonet.functions.registry import AGGREGATION_IDS
from evonet.genes.layers import Layer
from evonet.schedule.schedule import Schedule, freeze

Slots = npt.NDArray[np.int32]


class _TwoRows:
    """Slots of layers: each is free again when the layer after the next begins."""

    def __init__(self, num_inputs: int) -> None:
        self.count = num_inputs
        self._free: Slots = np.zeros(0, np.int32)
        self._rows: list[Slots] = []

    def take(self, width: int) -> Slots:
        """The slots of the next layer, in the order of `evonet.schedule.lifetimes.reuse_slots`."""
        if len(self._rows) == 2:
            self._free = np.concatenate([self._free, self._rows.pop(0)[::-1]])
        reused = self._free[len(self._free) - min(width, len(self._free)) :][::-1]
        self._free = self._free[: len(self._free) - len(reused)]
        fresh = np.arange(self.count, self.count + width - len(reused), dtype=np.int32)
        self.count += len(fresh)
        self._rows.append(np.concatenate([reused, fresh]))
        return self._rows[-1]


def schedule_of_layers(layers: Iterable[Layer]) -> Schedule:
    """Makes the schedule of one layered network; a layer is a level.

    Where every node has links and is read by another, this is the schedule that
    `build_schedule(Population.from_layers(...))` gives; otherwise it holds nodes that
    `build_schedule` would leave out or place earlier, and the outputs are the same.

    Args:
        layers: From the first to the last; they may be made one by one.

    Raises:
        OptionError: There are no layers, or one of them has no nodes.
        ShapeError: The widths of two layers do not fit.
    """
    columns: dict[str, list[npt.NDArray[np.generic]]] = {
        name: [] for name in ("bias", "activation", "slot", "degree", "source", "weight", "key")
    }
    rows: _TwoRows | None = None
    slot_before: Slots = np.zeros(0, np.int32)
    ends, num_inputs, first_key = [], 0, 0
    for i, layer in enumerate(layers):
        if rows is None:
            num_inputs = layer.num_inputs
            rows = _TwoRows(num_inputs)
            slot_before = np.arange(num_inputs, dtype=np.int32)
        if layer.num_inputs != len(slot_before):
            raise ShapeError(
                f"layer {i} has {layer.num_inputs} inputs, and the layer before it "
                f"{len(slot_before)} nodes."
            )
        if layer.num_nodes == 0:
            raise OptionError(f"layer {i} has no nodes.")
        degree = np.diff(layer.start)
        order = np.argsort(degree, kind="stable")
        slot = rows.take(layer.num_nodes)
        links = _links_in_order(layer, degree, order)
        source = layer.source if links is None else layer.source[links]
        columns["source"].append(slot_before[source])
        columns["weight"].append(layer.weight if links is None else layer.weight[links])
        columns["bias"].append(layer.bias[order])
        columns["activation"].append(np.full(layer.num_nodes, layer.activation, np.uint8))
        columns["slot"].append(slot)
        columns["degree"].append(degree[order])
        columns["key"].append(first_key + order)
        ends.append(layer.num_nodes)
        first_key += layer.num_nodes
        slot_before = np.empty_like(slot)
        slot_before[order] = slot
    if rows is None:
        raise OptionError("a network needs at least one layer.")
    joined = {}
    for name in list(columns):
        joined[name] = np.concatenate(columns.pop(name))
    return _schedule(joined, ends, num_inputs, slot_before, rows.count)


def _links_in_order(
    layer: Layer, degree: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64] | None:
    """Positions of the links by ordered node; None if they are in order."""
    if (degree[:-1] <= degree[1:]).all():
        return None
    counts = degree[order]
    first = np.repeat(layer.start[order] - (np.cumsum(counts) - counts), counts)
    return first + np.arange(len(layer.source))


def _schedule(
    arrays: dict[str, npt.NDArray[np.generic]],
    ends: list[int],
    num_inputs: int,
    output_slot: Slots,
    num_slots: int,
) -> Schedule:
    count = len(arrays["bias"])
    real = arrays["weight"].dtype
    num_outputs = len(output_slot)
    # Keys count hidden nodes from O on and outputs from 0, as Population.from_layers does.
    key = arrays["key"].astype(np.int64) + num_outputs
    key[count - num_outputs :] -= count
    edge_start = np.zeros(count + 1, np.int64)
    np.cumsum(arrays["degree"], out=edge_start[1:])
    fields = {
        "node_start": np.array([0, count], np.int64),
        "node_key": key,
        "bias": arrays["bias"],
        "response": np.ones(count, real),
        "activation": arrays["activation"],
        "aggregation": np.full(count, AGGREGATION_IDS["sum"], np.uint8),
        "slot": arrays["slot"],
        "num_slots": np.array([num_slots], np.int64),
        "edge_start": edge_start,
        "source": arrays["source"],
        "weight": arrays["weight"],
        "level_start": np.array([0, len(ends)], np.int64),
        "level_end": np.cumsum(ends).astype(np.int32),
        "output_slot": output_slot.reshape(1, -1).copy(),
        "cell": np.zeros((count, 0), real),
    }
    return Schedule(
        num_inputs=num_inputs, num_outputs=num_outputs, dynamics=FEEDFORWARD, **freeze(fields)
    )
