"""Gradients and learning on one GPU: a warp takes a genome forwards and back, then steps its genes.

Samples, genes and what the optimiser keeps stay on the GPU for all steps of a call; only losses and
what was learned come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.arguments import NULL
from evonet.backends.cuda.compiler import custom_functions, functions_define
from evonet.backends.cuda.cost import WARP
from evonet.backends.cuda.layout import real_name
from evonet.backends.cuda.readers import rows_of_genomes, trace_readers
from evonet.backends.learning import OPTIMIZERS, Genes

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.learning import Gradients, LearningState, UpdateRule
    from evonet.schedule.schedule import Schedule

THREADS: Final = 128  # of a block
REGISTERS: Final = 168  # of a thread, at most
BLOCKS: Final = 3  # of a multiprocessor, with so many registers
GENE_ARRAYS: Final = ("weight", "bias", "response")

Array = npt.NDArray[Any]


def option_sets() -> list[tuple[str, dict[str, int | str]]]:
    """Every kernel of this module with every set of defines."""
    sets: list[tuple[str, dict[str, int | str]]] = []
    for real in ("float", "double"):
        sets.append(("gradient", {"REAL": real, "GLOBAL_VALUES": 1}))
        sets += [("learn_step", {"REAL": real, "OPTIMIZER": i}) for i in range(len(OPTIMIZERS))]
    return sets


def step_rules(rule: UpdateRule, dtype: np.dtype[Any]) -> Array:
    """[S, 2, 11] the numbers of `StepRule` for every step, with weight decay and without."""
    rules = np.empty((len(rule.corrections), 2, 11))
    for i, decay in enumerate((rule.decay, 0.0)):
        rules[:, i, :9] = (
            *(-rule.rate, -(rule.rate * decay), decay, rule.momentum),
            *(rule.beta1, 1 - rule.beta1, rule.beta2, 1 - rule.beta2, rule.epsilon),
        )
        rules[:, i, 9:] = rule.corrections
    return rules.astype(dtype)


class Reverse:
    """The genomes [begin, end) of a schedule on one GPU, for one call."""

    def __init__(self, device: Device, schedule: Schedule, begin: int, end: int) -> None:
        s = schedule
        self._device = device
        self._schedule = s
        self._begin, self._end = begin, end
        self.nodes = slice(int(s.node_start[begin]), int(s.node_start[end]))
        self.edges = slice(int(s.edge_start[self.nodes.start]), int(s.edge_start[self.nodes.stop]))
        arrays = {
            "node_start": s.node_start[begin : end + 1] - self.nodes.start,
            "edge_start": s.edge_start[self.nodes.start : self.nodes.stop + 1] - self.edges.start,
            "num_slots": s.num_slots[begin:end],
            "activation": s.activation[self.nodes],
            "aggregation": s.aggregation[self.nodes],
            "slot": s.slot[self.nodes],
            "source": s.source[self.edges],
            "cell": s.cell[self.nodes],
            **trace_readers(s, begin, end),
        }
        self._arrays = {name: device.upload(np.ascontiguousarray(a)) for name, a in arrays.items()}
        self._functions = functions_define(custom_functions(s))

    def upload_genes(self, genes: Genes) -> Genes:
        """This part of genes in the layout of the schedule."""
        parts = (genes.weight[self.edges], genes.bias[self.nodes], genes.response[self.nodes])
        return Genes(*(self._device.upload(np.ascontiguousarray(part)) for part in parts))

    def download_genes(self, genes: Genes, to: Genes) -> None:
        """The opposite."""
        parts = (to.weight[self.edges], to.bias[self.nodes], to.response[self.nodes])
        for source, target in zip(genes, parts, strict=True):
            if target.size:
                self._device.download(source, target)

    def gradient(
        self, x: Array, targets: Array, loss: int, genes: Genes, backward: bool, found: Gradients
    ) -> None:
        """Writes this part of losses and derivatives; see `Bound.gradient`."""
        device, s = self._device, self._schedule
        own = x[self._begin : self._end] if x.ndim == 4 else x
        count = self._end - self._begin
        samples = device.upload(np.ascontiguousarray(own))
        answers = device.upload(targets)
        losses = device.empty((count, 2), s.dtype)
        learned = self.upload_genes(genes)
        sums = Genes(*(device.empty(a.shape, s.dtype) for a in learned))
        cell = device.empty(found.cell[self.nodes].shape, s.dtype)
        of_x = None
        if found.x is not None and backward:
            of_x = device.empty(found.x[self._begin : self._end].shape, s.dtype)
        self._launch_gradient(
            (samples, answers, None, None),
            (*x.shape[-3:-1], x.shape[-2], len(targets), x.ndim == 4),
            loss,
            backward,
            learned,
            (losses, *sums, cell, of_x),
        )
        device.download(losses, found.losses[self._begin : self._end])
        if not backward:
            return
        self.download_genes(sums, found.genes)
        if cell.size:
            device.download(cell, found.cell[self.nodes])
        if of_x is not None and found.x is not None and of_x.size:
            device.download(of_x, found.x[self._begin : self._end])

    def learn(
        self,
        state: LearningState,
        x: Array,
        targets: Array,
        order: npt.NDArray[np.int64],
        loss: int,
        rule: UpdateRule,
        losses: Array,
    ) -> None:
        """Takes all steps, and writes this part of the state and of losses [S, P] at the end."""
        device, s = self._device, self._schedule
        part = slice(self._begin, self._end)
        count = self._end - self._begin
        samples, answers = device.upload(x), device.upload(targets)
        batches = device.upload(np.ascontiguousarray(order))
        rules = device.upload(step_rules(rule, s.dtype))
        genes, first, second = (
            self.upload_genes(g) for g in (state.genes, state.first, state.second)
        )
        sums = Genes(*(device.empty(a.shape, s.dtype) for a in genes))
        cell = device.empty((self.nodes.stop - self.nodes.start, s.cell.shape[1]), s.dtype)
        active = device.upload(state.active[part].view(np.uint8))
        steps = device.upload(np.ascontiguousarray(state.steps[part]))
        found = device.empty((count, 2), s.dtype)
        means = device.upload(np.full((len(order), count), np.nan, s.dtype))
        sizes = (*x.shape[:2], order.shape[1], len(targets), False)
        for step in range(len(order)):
            self._launch_gradient(
                (samples, answers, batches[step : step + 1], active),
                sizes,
                loss,
                True,
                genes,
                (found, *sums, cell, None),
            )
            device.launch(
                "learn_step",
                {"REAL": real_name(s.dtype), "OPTIMIZER": rule.optimizer},
                (-(-count * WARP // THREADS),),
                (THREADS,),
                (
                    *(np.int32(count), np.int32(order.shape[1]), *map(np.int32, rule.learns)),
                    s.dtype.type(rule.clip),
                    *(self._arrays["node_start"], self._arrays["edge_start"]),
                    rules[step : step + 1],
                    found,
                    *(*sums, *genes, *first, *second, active, steps),
                    means[step : step + 1],
                ),
            )
        for arrays, target in ((genes, state.genes), (first, state.first), (second, state.second)):
            self.download_genes(arrays, target)
        device.download(active, state.active[part].view(np.uint8))
        device.download(steps, state.steps[part])
        here = np.empty((len(order), count), s.dtype)
        if here.size:
            device.download(means, here)
        losses[:, part] = here

    def _launch_gradient(
        self,
        data: tuple[Any, ...],
        sizes: tuple[Any, ...],
        loss: int,
        backward: bool,
        genes: Genes,
        results: tuple[Any, ...],
    ) -> None:
        """Launches the reverse pass; `sizes` are T, B, the batch, T' and whether x is [P, ...]."""
        device, s, arrays = self._device, self._schedule, self._arrays
        x, targets, chosen, active = data
        num_steps, num_samples, batch, num_target_steps, own_x = sizes
        dynamics = s.dynamics
        count = self._end - self._begin
        rows = rows_of_genomes(s, self._begin, self._end, num_steps, num_target_steps)
        blocks = min(-(-count * WARP // THREADS), BLOCKS * device.limits.num_sms)
        team_values = WARP * int(rows.max(initial=1))
        scratch: DeviceArray = device.empty((blocks * THREADS // WARP * team_values,), s.dtype)
        waits = dynamics.has_memory and dynamics.propagation == "next-step"
        device.launch(
            "gradient",
            {"REAL": real_name(s.dtype), "GLOBAL_VALUES": 1, **self._functions},
            (blocks,),
            (THREADS,),
            (
                *map(np.int32, (count, s.num_inputs, s.num_outputs, num_samples, batch)),
                *map(np.int32, (num_steps, num_target_steps, own_x, loss, backward)),
                *map(np.int32, (dynamics.kind_id, dynamics.steps, waits)),
                s.dtype.type(dynamics.time_step),
                np.int64(team_values),
                *(arrays[name] for name in KERNEL_ARRAYS),
                arrays["cell"] if dynamics.num_parameters else NULL,
                *genes,
                *(NULL if a is None else a for a in (x, targets, chosen, active)),
                *(NULL if a is None else a for a in results),
                scratch,
            ),
        )


KERNEL_ARRAYS: Final = (
    *("node_start", "edge_start", "num_slots", "first_slot", "reader_start", "reader_edge"),
    *("reader_row", "link_row", "num_rows", "output_node", "output_of", "next_output"),
    *("activation", "aggregation", "slot", "source"),
)
