"""Backpropagation in plain NumPy, one node at a time: the oracle of every reverse pass.

Samples are taken 32 at a time, in order, one per lane; within such a group time runs backwards.
Every lane adds up its own terms, and the lanes are joined at the end by the tree of
`kernels/nodes/loss.h`. So a gradient does not depend on how samples are split.

A value's adjoint is what it adds to the loss: first through outputs, then through what is
remembered, then through the links that read it, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends.learning import Genes, Gradients
from evonet.backends.reference.derivatives import slope, spread
from evonet.backends.reference.functions import preactivation
from evonet.backends.reference.kept_steps import Step, forward_steps
from evonet.backends.reference.loss import LANES, SAMPLE_LOSSES, add, loss_slopes
from evonet.functions.registry import LOSSES
from evonet.numerics.elementary import canonical

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

Array = npt.NDArray[Any]


def gradients(
    schedule: Schedule, x: Array, targets: Array, loss: int, inputs: bool, backward: bool = True
) -> Gradients:
    """Losses and gradients of all genomes; see `evonet.backends.base.Bound.gradient`."""
    genomes = [
        GenomeGradient(schedule, g, x if x.ndim == 3 else x[g], targets, loss, inputs)
        for g in range(schedule.num_genomes)
    ]
    for genome in genomes:
        genome.run(backward)
    none = np.zeros(0, schedule.dtype)
    totals = [genome.totals() for genome in genomes]
    weight, bias, response, kept = (
        np.concatenate([none, *(total[i] for total in totals)]) for i in range(4)
    )
    cell = kept.reshape(-1, 1) if schedule.dynamics.kind == "ctrnn" else schedule.cell[:, :0]
    return Gradients(
        np.array([g.loss() for g in genomes], schedule.dtype).reshape(-1, 2),
        Genes(weight, bias, response),
        cell,
        canonical(np.array([g.x_gradient for g in genomes])) if inputs else None,
    )


class GenomeGradient:
    """The gradient of one genome, added up group by group."""

    def __init__(
        self, schedule: Schedule, genome: int, x: Array, targets: Array, loss: int, inputs: bool
    ) -> None:
        s = self._s = schedule
        self._genome, self._x, self._targets, self._loss = genome, x, targets, loss
        self._first = int(s.node_start[genome])
        self._count = int(s.node_start[genome + 1]) - self._first
        edges = slice(int(s.edge_start[self._first]), int(s.edge_start[self._first + self._count]))
        self._first_edge, num_edges = edges.start, edges.stop - edges.start
        self._lanes = [
            np.zeros((count, LANES), s.dtype)
            for count in (num_edges, self._count, self._count, self._count)
        ]
        self._losses = (np.zeros(LANES, s.dtype), np.zeros(LANES, s.dtype))
        self.x_gradient = np.zeros(x.shape if inputs else (0,), s.dtype)
        self._inputs = inputs
        # The links that read each slot, in their order.
        self._readers: dict[int, list[int]] = {}
        for e in range(num_edges):
            self._readers.setdefault(int(s.source[edges.start + e]), []).append(e)

    def run(self, backward: bool) -> None:
        """Adds up all samples."""
        for begin in range(0, self._x.shape[1], LANES):
            self._run_group(slice(begin, min(begin + LANES, self._x.shape[1])), backward)

    def loss(self) -> tuple[Any, Any]:
        """The sum of the losses and its rounding error."""
        lanes = self._losses
        half = LANES // 2
        with np.errstate(all="ignore"):
            while half > 0:
                lanes = add((lanes[0][:half], lanes[1][:half]), (lanes[0][half:], lanes[1][half:]))
                half //= 2
        rest = lanes[1][0]
        return canonical(lanes[0])[0], rest if rest == rest else self._s.dtype.type(0)

    def totals(self) -> list[Array]:
        """The derivatives by weights, biases, responses and what cells keep."""
        s, nodes = self._s, slice(self._first, self._first + self._count)
        joined = [join_lanes(lanes) for lanes in self._lanes]
        idle = idle_nodes(s)[nodes]
        return [joined[0], *(np.where(idle, s.dtype.type(0), total) for total in joined[1:])]

    def _run_group(self, samples: slice, backward: bool) -> None:
        steps = forward_steps(self._s, self._genome, self._x[:, samples])
        width = samples.stop - samples.start
        slopes: list[Array | None] = []
        for t, step in enumerate(steps[self._s.dynamics.steps - 1 :: self._s.dynamics.steps]):
            from_end = len(self._x) - t
            if from_end > len(self._targets):
                slopes.append(None)  # only the last steps have targets
                continue
            y = self._outputs(step)
            targets = self._targets[-from_end, samples].T
            with np.errstate(all="ignore"):
                more = SAMPLE_LOSSES[LOSSES[self._loss].name](y, targets)
                total = add((self._losses[0][:width], self._losses[1][:width]), more)
            self._losses[0][:width], self._losses[1][:width] = total
            slopes.append(loss_slopes(self._loss, y, targets))
        if backward:
            with np.errstate(all="ignore"):
                self._run_back(steps, slopes, samples)

    def _outputs(self, step: Step) -> Array:
        y = np.zeros((self._s.num_outputs, step.joined.shape[1]), self._s.dtype)
        for o, k in self._output_nodes():
            y[o] = step.settled[k]
        return y

    def _output_nodes(self) -> Iterator[tuple[int, int]]:
        s = self._s
        position = {int(slot): k for k, slot in enumerate(s.slot[self._first :][: self._count])}
        for o, slot in enumerate(s.output_slot[self._genome]):
            if slot >= 0:
                yield o, position[int(slot)]

    def _run_back(self, steps: list[Step], slopes: list[Array | None], samples: slice) -> None:
        s = self._s
        width = samples.stop - samples.start
        remembered = np.zeros((self._count, width), s.dtype)
        for i in reversed(range(len(steps))):
            t, is_last = divmod(i + 1, s.dynamics.steps)
            answered = slopes[t - 1] if is_last == 0 else None
            adjoint = np.zeros((self._count, width), s.dtype)
            if answered is not None:
                for o, k in self._output_nodes():
                    adjoint[k] = adjoint[k] + answered[o]
            if s.dynamics.has_memory:
                adjoint = adjoint + remembered
            remembered, x_adjoint = self._step_back(steps[i], adjoint)
            if self._inputs:
                t = i // s.dynamics.steps
                for n in range(s.num_inputs):
                    row = self.x_gradient[t, samples, n]
                    self.x_gradient[t, samples, n] = self._gather(n, x_adjoint, row)

    def _step_back(self, step: Step, adjoint: Array) -> tuple[Array, Array]:
        """Takes adjoints [n, B] of what nodes gave to those of what they remembered before.

        Also returns the adjoints of all links, [E, B].
        """
        s, width = self._s, adjoint.shape[1]
        earlier = np.zeros_like(adjoint)
        if s.dynamics.kind == "ctrnn":
            kept = s.cell[self._first : self._first + self._count, :1]
            kept = np.broadcast_to(kept, adjoint.shape)
            change = step.remembered - step.given
            self._lanes[3][:, :width] = preactivation(self._lanes[3][:, :width], adjoint, change)
            earlier = kept * adjoint
            adjoint = (1 - kept) * adjoint
        links = np.zeros((len(self._lanes[0]), width), s.dtype)
        for k in reversed(range(self._count)):
            self._node_back(k, step, adjoint[k], links)
        for k in range(self._count if s.dynamics.has_memory else 0):
            slot = int(s.first_state[self._genome]) + k
            earlier[k] = self._gather(slot, links, earlier[k])
        return earlier, links

    def _node_back(self, k: int, step: Step, adjoint: Array, links: Array) -> None:
        s, node = self._s, self._first + k
        first = int(s.edge_start[node]) - self._first_edge
        own = slice(first, int(s.edge_start[node + 1]) - self._first_edge)
        adjoint = self._gather(int(s.slot[node]), links, adjoint)
        joined = step.joined[k]
        z = preactivation(s.bias[node], s.response[node], joined)
        dz = adjoint * slope(int(s.activation[node]), z, step.given[k])
        _, biases, responses, _ = (lanes[:, : len(dz)] for lanes in self._lanes)
        biases[k] = biases[k] + dz
        responses[k] = preactivation(responses[k], dz, joined)
        weights = s.weight[self._first_edge :][own]
        values = step.values[s.source[self._first_edge :][own]]
        if len(weights):
            how = int(s.aggregation[node])
            links[own] = spread(how, weights, values, joined, dz * s.response[node])
            lanes = self._lanes[0][own, : len(dz)]
            self._lanes[0][own, : len(dz)] = preactivation(lanes, links[own], values)

    def _gather(self, slot: int, links: Array, start: Array) -> Array:
        """Adds to an adjoint what the readers of a slot pass on."""
        total = start
        for e in self._readers.get(slot, ()):
            total = preactivation(total, self._s.weight[self._first_edge + e], links[e])
        return total


def idle_nodes(schedule: Schedule) -> npt.NDArray[np.bool_]:
    """[N] the nodes that are never evaluated, so that none of their genes matters."""
    linked = np.diff(schedule.edge_start) > 0
    waits = schedule.dynamics.has_memory and schedule.dynamics.propagation == "next-step"
    return ~linked & waits


def join_lanes(lanes: Array) -> Array:
    """Adds up [..., 32] lanes: lane l takes lane l + 16, l + 8, ... and lane 0 is the sum."""
    with np.errstate(all="ignore"):
        half = LANES // 2
        while half > 0:
            lanes = lanes[..., :half] + lanes[..., half:]
            half //= 2
    return canonical(lanes[..., 0])
