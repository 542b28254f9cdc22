"""Populations compiled for gradients: on a backend with a reverse pass, all values kept."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.backends import resolve_backend
from evonet.backends.arrays import as_type, read_answers, read_numbers
from evonet.errors import OptionError, ShapeError, check_option, check_threads
from evonet.functions.registry import LOSS_IDS
from evonet.installation import load_native
from evonet.schedule.build import OnCycle, build_schedule
from evonet.schedule.cells import time_constant_slopes
from evonet.schedule.gene_map import GeneMap, map_genes

if TYPE_CHECKING:
    from evonet.backends.base import Backend
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population

Array = npt.NDArray[Any]


class Differentiable:
    """A population compiled for gradients and for learning.

    A backend without a reverse pass leaves it to the processor, which gives the same bits.

    Attributes:
        population: P genomes.
        schedule: Their schedule, in which every node keeps its value.
        bound: The schedule on a backend.
    """

    def __init__(
        self,
        population: Population,
        dynamics: Dynamics,
        *,
        backend: str | Backend = "auto",
        threads: int = 0,
        on_cycle: OnCycle = "error",
    ) -> None:
        """Compiles a population.

        Raises:
            OptionError: Networks of this kind have no gradients.
            EvonetError: As for `evonet.compile`.
        """
        if dynamics.kind == "izhikevich":
            raise OptionError(
                'kind="izhikevich" has no gradients: its neurons fire in jumps. '
                'Use kind="recurrent" or kind="ctrnn".'
            )
        threads = check_threads(threads)
        where = resolve_backend(backend) if isinstance(backend, str) else backend
        self.population = population
        self._threads = threads
        self._native = False if where.name == "reference" else None
        self.schedule = build_schedule(
            population,
            dynamics,
            on_cycle=on_cycle,
            threads=threads,
            reuse_slots=False,
            native=self._native,
        )
        self.bound = where.bind(self.schedule, threads)
        for name in ("cpu", "reference"):
            if not self.bound.has_gradients and (name != "cpu" or load_native() is not None):
                self.bound = resolve_backend(name).bind(self.schedule, threads)

    @cached_property
    def genes(self) -> GeneMap:
        """Where the schedule's nodes and links are in the population."""
        return map_genes(self.population, self.schedule, threads=self._threads, native=self._native)

    def gradients(
        self, x: Any, targets: Any, loss: str, inputs: bool
    ) -> tuple[npt.NDArray[np.float64], dict[str, Array]]:
        """Losses and gradients, as `Network.gradients` describes them."""
        check_slopes(loss, self.schedule.num_outputs)
        samples, answers = self.read(x, targets)
        found = self.bound.gradient(samples, answers, LOSS_IDS[loss], inputs=inputs)
        arrays = {
            "weight": self.genes.of_links(found.genes.weight),
            "bias": self.genes.of_nodes(found.genes.bias),
            "response": self.genes.of_nodes(found.genes.response),
        }
        dynamics = self.schedule.dynamics
        if dynamics.kind == "ctrnn":
            constants = self.population.time_constant[self.genes.node]
            slopes = time_constant_slopes(dynamics, constants, self.schedule.cell[:, 0])
            arrays["time_constant"] = self.genes.of_nodes(found.cell[:, 0] * slopes)
        if found.x is not None:
            arrays["x"] = found.x if dynamics.has_memory else found.x[:, 0]
        pairs = found.losses.astype(np.float64)
        return pairs[:, 0] + pairs[:, 1], arrays

    def read(self, x: Any, targets: Any, *, own: bool = True) -> tuple[Array, Array]:
        """Brings samples and answers into the form that `Bound.gradient` takes.

        Args:
            x: [B, I]; with memory [T, B, I].
            targets: [B, O] or [T, B, O].
            own: Whether every genome may have samples of its own: [P, B, I] or [P, T, B, I].

        Raises:
            ShapeError: They have other shapes, or hold something but real numbers.
        """
        s = self.schedule
        samples = np.asarray(read_numbers("x", x, None, "cpu"))
        answers = np.asarray(read_numbers("targets", targets, None, "cpu"))
        shared = (
            ("T", "B", str(s.num_inputs)) if s.dynamics.has_memory else ("B", str(s.num_inputs))
        )
        depth = len(shared)
        fits = samples.ndim == depth or (
            own and samples.ndim == depth + 1 and len(samples) == s.num_genomes
        )
        if not fits or samples.shape[-1] != s.num_inputs:
            wanted = f"[{', '.join(shared)}]"
            if own:
                wanted += f" or [{', '.join((str(s.num_genomes), *shared))}]"
            note = ", T steps of B sequences" if s.dynamics.has_memory else ""
            raise ShapeError(f"x must have shape {wanted}{note}, found {list(samples.shape)}.")
        if not s.dynamics.has_memory:
            samples = samples[..., None, :, :]
        if samples.shape[-3] == 0:
            raise ShapeError(f"x has no steps: its shape is {list(samples.shape)}.")
        answers = read_answers(answers, samples.shape[-3], samples.shape[-2], s.num_outputs)
        return as_type(samples, s.dtype), as_type(answers, s.dtype)


def check_slopes(loss: str, num_outputs: int) -> None:
    """Raises unless a loss has a derivative and fits the outputs.

    Raises:
        OptionError: It changes in jumps, or needs several outputs.
    """
    check_option("loss", loss, [name for name in LOSS_IDS if name != "misses"])
    check_outputs(loss, num_outputs)


def check_outputs(loss: str, num_outputs: int) -> None:
    """Raises unless networks have enough outputs for a loss.

    Raises:
        OptionError: It needs several.
    """
    if loss == "cross_entropy" and num_outputs == 1:
        raise OptionError(
            'loss="cross_entropy" needs one output per class; this network has a single '
            'output. Use "binary_cross_entropy" or "squared", or two outputs.'
        )
