"""One network alone, one observation at a time: what steps in an environment ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from evonet.backends.cpu import CpuBackend
from evonet.backends.reference.backend import run_genome
from evonet.functions.native import define_natively
from evonet.installation import load_native
from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule


class Actor(Protocol):
    """A network that acts. Its answers have the bits of a call for the whole population."""

    def __call__(self, x: npt.NDArray[Any]) -> list[float]:
        """Answers one observation; with memory, it continues from where the last call ended.

        Args:
            x: [I] contiguous, float32 or float64.

        Returns:
            O numbers.
        """

    def reset(self) -> None:
        """Forgets all calls."""


def make_actor(schedule: Schedule, genome: int, backend: str) -> Actor:
    """Makes an actor of one genome of a schedule.

    Single observations are answered on the processor, wherever the network is: starting a kernel on
    a GPU costs more than most networks do.

    Args:
        schedule: What is run.
        genome: The position of the genome.
        backend: Where the network runs; "reference" is kept to.
    """
    native = None if backend == "reference" else load_native()
    if native is None:
        return _ReferenceActor(schedule, genome)
    define_natively(native)
    make = native.Actor32 if schedule.dtype == np.float32 else native.Actor64
    actor: Actor = make(schedule, genome, CpuBackend().simd_level())
    return actor


class _ReferenceActor:
    def __init__(self, schedule: Schedule, genome: int) -> None:
        self._schedule = schedule
        self._genome = genome
        self._nodes = slice(*schedule.node_start[genome : genome + 2].tolist())
        self.reset()

    def __call__(self, x: npt.NDArray[Any]) -> list[float]:
        sample = x.astype(self._schedule.dtype)[None]
        outputs: list[float] = run_genome(self._schedule, self._genome, sample, self._state)[
            0
        ].tolist()
        return outputs

    def reset(self) -> None:
        self._state = first_state(self._schedule, 1)[:, self._nodes]
