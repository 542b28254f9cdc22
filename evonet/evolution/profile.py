"""Where the time of a run goes, and what could be done about it."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evonet.evolution.hooks import Callback, Result, Run, name_of
from evonet.evolution.record import GenerationRecord, Seconds

if TYPE_CHECKING:
    from evonet.tasks import Task

# Callbacks that take less of the time are not listed.
LEAST_SHARE: Final = 0.002
# Phases that are named after what they do, not after the method that does it.
_NAMES: Final = {"evaluate": "evaluate", "compile": "compile", "tell": "take fitness"}


@dataclass(frozen=True)
class Phase:
    """A part of a run.

    Attributes:
        name: The name of a phase or of a callback.
        seconds: In all.
        kind: "evaluate", "breed", "callback" or "other".
    """

    name: str
    seconds: float
    kind: str


class Profile(Callback):
    """Adds up the phases of all generations.

    Attributes:
        generations: How many there were.
    """

    def __init__(self) -> None:
        """Has seen nothing yet."""
        self.generations = 0
        self._totals = dict.fromkeys((field.name for field in dataclasses.fields(Seconds)), 0.0)
        self._run: Run | None = None
        self._started = self._ended = 0.0
        self._before: dict[str, float] = {}
        self._evaluations = 0

    def on_start(self, run: Run) -> None:
        """Starts the clock."""
        self._run = run
        self._before = dict(run.algorithm.spent)  # the first generation is made before a run starts
        self._started = self._ended = time.perf_counter()

    def on_generation(self, record: GenerationRecord) -> None:
        """Takes down what the phases of this generation took."""
        self.generations += 1
        self._evaluations += record.size
        for name in self._totals:
            self._totals[name] += getattr(record.seconds, name)
        self._ended = time.perf_counter()

    def on_end(self, result: Result) -> None:
        """Stops the clock."""
        self.stop()

    def stop(self) -> None:
        """Stops the clock again, later: callbacks that end after this one have taken time too."""
        self._ended = time.perf_counter()

    @property
    def seconds(self) -> float:
        """From the start of the run until the clock was stopped."""
        return self._ended - self._started

    def phases(self) -> list[Phase]:
        """All phases by falling time; "other" is what is left, tiny callbacks included."""
        least = LEAST_SHARE * self.seconds
        known = [p for p in self._known() if p.kind != "callback" or p.seconds > least]
        rest = self.seconds - sum(phase.seconds for phase in known)
        found = [*known, Phase("other", max(0.0, rest), "other")]
        return sorted(found, key=lambda phase: -phase.seconds)

    def _known(self) -> list[Phase]:
        if self._run is None:
            return []
        spent = {
            name: total - self._before.get(name, 0.0)
            for name, total in self._run.algorithm.spent.items()
        }
        plan = max(0.0, self._totals["ask"] - sum(spent.values()))
        found = [
            Phase(_NAMES[name], total, "evaluate" if name == "evaluate" else "other")
            for name, total in self._totals.items()
            if name in _NAMES
        ]
        found += [Phase(name, total, "breed") for name, total in spent.items()]
        found.append(Phase("plan who mates", plan, "breed"))
        for name, total in self._run.spent.items():
            kind = "other" if name == "describe" else "callback"
            if name != name_of(self):
                found.append(Phase(name, total, kind))
        return found

    def table(self) -> str:
        """Milliseconds per generation and shares, for a terminal."""
        whole, count = self.seconds or 1.0, max(1, self.generations)
        lines = [f"{'phase':24} {'ms per generation':>18} {'share':>7}"]
        lines += [
            f"{phase.name:24} {1e3 * phase.seconds / count:18.3f} {phase.seconds / whole:7.1%}"
            for phase in self.phases()
        ]
        lines.append(f"{'whole':24} {1e3 * whole / count:18.3f} {1:7.1%}")
        return "\n".join(lines)

    def advice(self, task: Task, threads: int, available: int) -> str:
        """Returns where time goes, and what would save some of it.

        Args:
            task: What was evolved on.
            threads: That the run used, 0 for all.
            available: That this process may use.
        """
        share = dict.fromkeys(("evaluate", "breed", "callback", "other"), 0.0)
        for phase in self.phases():
            share[phase.kind] += phase.seconds / (self.seconds or 1.0)
        most = max(share, key=lambda kind: share[kind])
        used = threads or available
        if most == "evaluate":
            text = f"Evaluation takes {share[most]:.0%}. "
            if not task.is_native:
                return text + (
                    "The task runs in Python: score all genomes in one call with arrays, or use a "
                    "task that ships with evonet, whose steps are compiled."
                )
            if used < available:
                return text + f"{used} of {available} threads are in use: try --threads 0."
            return text + (
                "It runs on all threads, so more cores or a GPU (`evonet doctor`) would shorten "
                "it, or fewer samples, episodes or steps."
            )
        if most == "breed":
            text = f"Breeding and species take {share[most]:.0%}, so the task is cheap. "
            if used < available:
                return text + f"{used} of {available} threads are in use: try --threads 0."
            return text + (
                "Harder scoring (more samples or episodes) costs little more; a higher "
                "speciation.threshold makes fewer species to compare with."
            )
        if most == "callback":
            return (
                f"Callbacks take {share[most]:.0%}: generations are shorter than what is written "
                "and shown about them. A larger population does more in each."
            )
        size = self._evaluations // max(1, self.generations)
        return (
            f"Compiling, bookkeeping and Python take {share[most]:.0%}. With {size:,} genomes a "
            "generation, fixed costs weigh: a larger population makes each genome cheaper."
        )
