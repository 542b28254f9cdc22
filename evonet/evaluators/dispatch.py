"""Who does which piece: first come, first served, and somebody else again if it fails.

A piece that fails, whose worker dies or that takes too long is cut in two and tried again, until a
single genome is to blame; that one is tried a few more times before it is given up. Towards the
end of a job, workers without work repeat pieces that take unusually long: the first result counts.
All results of a piece have the same bits, so nothing depends on who was first.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from evonet.errors import WorkerError
from evonet.evaluators.crew import Crew
from evonet.evaluators.jobs import Event, Fault, Piece, WorkerRate
from evonet.evaluators.planning import Plan

# A piece is repeated elsewhere if it takes so many times what it should, and at least so long.
STRAGGLING: Final = 4.0
LEAST_STRAGGLING_SECONDS: Final = 1.0
# Workers that die before they are ready, one after the other, end the run.
MOST_FALSE_STARTS: Final = 5
# If nothing has ever worked, so many genomes that failed alone are enough to end the run.
MOST_FAILED_WITHOUT_SUCCESS: Final = 8
# Seconds that a worker may be late with a piece that somebody else has done, if there is no limit.
LATENESS: Final = 60.0


@dataclass(eq=False)
class _Task:
    """A piece that has to be done."""

    piece: Piece
    failures: int = 0
    avoid: int = -1  # the worker that failed it last
    is_done: bool = False
    runners: set[int] = field(default_factory=set)


@dataclass
class _Running:
    """What a worker is doing."""

    task: _Task
    token: int
    since: float
    deadline: float | None


class Dispatch:
    """Gives pieces to the workers of a crew, and deals with those that fail.

    Attributes:
        rates: What each worker did in the last job.
        done: How much of the last job is done, of `total`.
        total: Genomes of the last job, or genomes times episodes.
        replaced: Workers that died or were ended because they took too long, in all.
    """

    def __init__(
        self,
        crew: Crew,
        *,
        timeout: float = 0.0,
        retries: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes a crew.

        Args:
            crew: The workers.
            timeout: Seconds that a genome may take; 0 for no limit.
            retries: How often a single genome that failed is tried again.
            clock: Returns seconds.
        """
        self.rates: list[WorkerRate] = []
        self.done = self.total = self.replaced = 0
        self._crew = crew
        self._timeout = timeout
        self._retries = retries
        self._clock = clock
        self._idle: dict[int, None] = {}  # in the order in which they became so
        self._running: dict[int, _Running] = {}
        self._late: set[int] = set()  # those that still do a piece of a job that is over
        self._token = 0
        self._false_starts = 0
        self._has_worked = False
        self._paces = {False: 0.0, True: 0.0}  # seconds per cost, for evaluations and re-tests

    def run(
        self,
        plan: Plan,
        on_done: Callable[[Piece, Event], None],
        on_failed: Callable[[Piece, Fault], None],
    ) -> None:
        """Gets all pieces of a plan done; the crew has begun the job.

        Args:
            plan: What to do.
            on_done: Takes a result.
            on_failed: Takes a piece that was given up: a single genome, or one of its episodes,
                or the whole job if it does not split. It may raise.

        Raises:
            WorkerError: Workers cannot start, or nothing works at all.
        """
        self._plan, self._on_done, self._on_failed = plan, on_done, on_failed
        self._again: deque[_Task] = deque()
        self._given_up = 0
        self.done, self.total = 0, plan.total
        self.rates = [WorkerRate(self._crew.name(i)) for i in range(len(self._crew))]
        try:
            self._run()
        finally:
            self._leave()

    def _run(self) -> None:
        while self.done < self.total:
            while self._idle and self._give(next(iter(self._idle))):
                pass
            for event in self._crew.wait(self._patience()):
                self._handle(event)
            self._replace_late()

    @property
    def _pace(self) -> float:
        return self._paces[self._plan.is_retest]

    # ---- giving --------------------------------------------------------------------------------

    def _give(self, worker: int) -> bool:
        task = self._next_task(worker)
        if task is None:
            return False
        now, self._token = self._clock(), self._token + 1
        limit = None
        if self._timeout > 0:
            limit = now + self._timeout * max(1, self._plan.size(task.piece))
        del self._idle[worker]
        task.runners.add(worker)
        self._running[worker] = _Running(task, self._token, now, limit)
        self._crew.submit(worker, self._token, task.piece)
        return True

    def _next_task(self, worker: int) -> _Task | None:
        for task in self._again:
            if task.avoid != worker:
                self._again.remove(task)
                return task
        piece = self._plan.take(len(self._crew), self._pace)
        if piece is not None:
            return _Task(piece)
        return self._again.popleft() if self._again else self._straggler(worker)

    def _straggler(self, worker: int) -> _Task | None:
        """Finds the piece that takes longest beyond what it should; None if all is well."""
        now, longest, found = self._clock(), 0.0, None
        for other in self._running.values():
            task, passed = other.task, now - other.since
            if task.is_done or len(task.runners) > 1 or task.failures or worker in task.runners:
                continue
            if self._pace > 0 and passed > max(self._slow(task), longest):
                longest, found = passed, task
        return found

    def _slow(self, task: _Task) -> float:
        """Seconds after which a piece is a straggler."""
        expected = self._plan.cost(task.piece) * self._pace
        return max(LEAST_STRAGGLING_SECONDS, STRAGGLING * expected)

    def _patience(self) -> float | None:
        """Seconds until something may have to be done even if nothing happens."""
        if not self._has_deadlines and not (self._idle and self._pace > 0):
            return None
        now = self._clock()
        times = [r.deadline for r in self._running.values() if r.deadline is not None]
        if self._idle and self._pace > 0:
            times += [
                r.since + self._slow(r.task)
                for r in self._running.values()
                if not r.task.is_done and len(r.task.runners) == 1 and not r.task.failures
            ]
        return max(0.0, min(times) - now) + 1e-3 if times else None

    @property
    def _has_deadlines(self) -> bool:
        return self._timeout > 0 or bool(self._late)

    # ---- what happens --------------------------------------------------------------------------

    def _handle(self, event: Event) -> None:
        worker, fault = event.worker, event.fault
        running = self._running.get(worker)
        if event.kind == "ready":
            self._false_starts = 0
            self._idle[worker] = None
        elif event.kind == "left":
            self._idle.pop(worker, None)
        elif event.kind == "broken":
            assert fault is not None
            raise WorkerError(f"workers cannot start: {fault.words}.") from fault.error
        elif event.kind == "died":
            assert fault is not None
            self.replaced += 1
            if running is not None:
                self._stop(worker)
                self._fail(running.task, worker, fault)
            elif worker in self._idle:
                del self._idle[worker]
            else:
                self._count_false_start(fault)
        elif running is not None and running.token == event.token:
            self._stop(worker)
            self._idle[worker] = None
            if event.kind == "done":
                self._finish(running, event)
            else:
                assert fault is not None
                self._fail(running.task, worker, fault)

    def _stop(self, worker: int) -> None:
        del self._running[worker]
        self._late.discard(worker)

    def _count_false_start(self, fault: Fault) -> None:
        self._false_starts += 1
        if self._false_starts >= MOST_FALSE_STARTS:
            raise WorkerError(
                f"workers cannot start: {self._false_starts} of them ended before they were "
                f"ready: {fault.words}. If a script starts the run, what it does must stand under: "
                'if __name__ == "__main__":'
            )

    def _finish(self, running: _Running, event: Event) -> None:
        task = running.task
        task.runners.discard(event.worker)
        self._has_worked = True
        rate = self.rates[event.worker]
        rate.seconds += event.seconds
        if task.is_done:
            return
        task.is_done = True
        size, cost = self._plan.size(task.piece), self._plan.cost(task.piece)
        rate.genomes += size
        pace = event.seconds / max(cost, 1e-12)
        known = self._pace
        self._paces[self._plan.is_retest] = pace if known == 0 else 0.7 * known + 0.3 * pace
        self.done += size
        self._on_done(task.piece, event)

    def _fail(self, task: _Task, worker: int, fault: Fault) -> None:
        task.runners.discard(worker)
        self.rates[worker].failures += 1
        if task.is_done or task.runners:  # somebody else has done it, or is doing it
            return
        halves = self._plan.halves(task.piece)
        if halves:
            # First of all that is left, so that the guilty genome is soon found.
            self._again.extendleft(_Task(half, avoid=worker) for half in halves)
            return
        task.failures += 1
        task.avoid = worker
        if task.failures <= self._retries:
            self._again.appendleft(task)
            return
        task.is_done = True
        self.done += self._plan.size(task.piece)
        self._given_up += 1
        self._on_failed(task.piece, fault)
        if not self._has_worked and self._given_up >= MOST_FAILED_WITHOUT_SUCCESS:
            raise WorkerError(
                f"no genome could be evaluated, and {self._given_up} failed on their own: "
                f"{fault.words}."
            ) from fault.error

    def _replace_late(self) -> None:
        """Ends workers that have reached their limit."""
        if not self._has_deadlines:
            return
        now = self._clock()
        for worker, running in list(self._running.items()):
            if running.deadline is None or now < running.deadline:
                continue
            self._stop(worker)
            self.replaced += 1
            self._crew.replace(worker)
            seconds = now - running.since
            self._fail(running.task, worker, Fault(f"it took longer than {seconds:.3g} s"))

    def _leave(self) -> None:
        """Ends the job: what workers are still doing counts for nothing."""
        late = self._clock() + (self._timeout or LATENESS)
        for running in self._running.values():
            running.task.is_done = True
            running.deadline = late
        self._late = set(self._running)
        for worker, rate in enumerate(self.rates):  # known only once a worker is ready
            rate.name = self._crew.name(worker)
