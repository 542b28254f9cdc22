"""A schedule that the host builds when somebody reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evonet.definitions.lock import Lock
from evonet.schedule.build import build_schedule

if TYPE_CHECKING:
    import numpy as np

    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.build import OnCycle
    from evonet.schedule.schedule import Schedule


class PendingSchedule:
    """What is known of a schedule without its arrays.

    Attributes:
        num_genomes: P.
        num_inputs: I.
        num_outputs: O.
        dtype: float32 or float64.
        dynamics: How the networks work through time.
        on_cycle: As for `build_schedule`.
    """

    def __init__(
        self, population: Population, dynamics: Dynamics, on_cycle: OnCycle, threads: int
    ) -> None:
        self._population = population
        self._threads = threads
        self._lock = Lock()
        self._built: Schedule | None = None
        self.num_genomes = population.num_genomes
        self.num_inputs = population.num_inputs
        self.num_outputs = population.num_outputs
        self.dtype: np.dtype[Any] = population.dtype
        self.dynamics = dynamics
        self.on_cycle: OnCycle = on_cycle

    def build(self) -> Schedule:
        """Builds the schedule, once.

        Raises:
            EvonetError: As for `build_schedule`.
        """
        with self._lock:
            if self._built is None:
                self._built = build_schedule(
                    self._population,
                    self.dynamics,
                    on_cycle=self.on_cycle,
                    threads=self._threads,
                )
            return self._built

    def __repr__(self) -> str:
        return f"PendingSchedule({self.num_genomes} genomes)"
