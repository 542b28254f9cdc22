"""Workers as processes of this machine.

Each is started afresh (spawned), so that nothing of the driver's threads, locks and libraries is
half copied. Genomes and results are in shared memory; only small messages go through pipes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

from evonet.errors import OptionError
from evonet.evaluators import process_worker
from evonet.evaluators.jobs import Event, Fault, Job, Piece
from evonet.evaluators.packing import Arrays
from evonet.evaluators.parcel import unpickled
from evonet.evaluators.process_worker import used_megabytes
from evonet.evaluators.shared_block import Layout, SharedBlock
from evonet.messages import counted

# Libraries that would start threads of their own in each worker read these.
THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Seconds from one look at the memory of busy workers to the next.
MEMORY_EVERY: Final = 0.5
# A worker that uses so many times the limit is not even allowed to finish its piece.
TOO_MUCH: Final = 2.0

_starting = threading.Lock()


@dataclass
class _Member:
    """One worker, as the driver sees it."""

    process: BaseProcess
    pipe: Connection
    alive: Connection
    results: SharedBlock = field(default_factory=SharedBlock)
    job: int = -1  # the last job that it has heard of
    leads: bool = False  # whether it has a session, and so a process group, of its own
    killed_for: str = ""


class ProcessCrew:
    """Workers as processes of this machine; see `Crew`."""

    def __init__(self, data: bytes, count: int, *, threads: int = 1, memory: float = 0.0) -> None:
        """Starts processes, which get ready while others work.

        Args:
            data: What `pack_task` returned.
            count: How many.
            threads: Threads of libraries in each worker; 0 leaves that to them.
            memory: Megabytes after which a worker is replaced; 0 for no limit.

        Raises:
            OptionError: This process is a worker itself, or imports a script that starts a run.
        """
        if getattr(multiprocessing.process.current_process(), "_inheriting", False):
            raise OptionError(
                "a script that starts workers must not start them when it is imported, as its "
                'workers do. Put what it does under: if __name__ == "__main__":'
            )
        self._data = data
        self._threads = threads
        self._memory = memory
        self._block = SharedBlock()
        self._job: tuple[int, bytes] = (-1, b"")
        self._members: list[_Member] = []
        # Whatever happens to the driver's own objects, nothing outlives the interpreter.
        self._end = weakref.finalize(self, _end_all, self._members, self._block)
        try:
            for _ in range(count):
                self._members.append(self._start())
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._members)

    def name(self, worker: int) -> str:
        """The worker's number."""
        return str(worker)

    @property
    def notes(self) -> tuple[str, ...]:
        """How many there are."""
        return (f"{counted(len(self), 'worker')}, each a process",)

    @property
    def processes(self) -> list[int]:
        """The workers' process ids."""
        return [member.process.pid or 0 for member in self._members]

    def begin(self, job: Job, arrays: Arrays) -> None:
        """Copies a job's arrays into shared memory; see `Crew`."""
        layout = self._block.write(arrays)
        message = pickle.dumps(("job", job, self._block.name, layout))
        self._job = self._job[0] + 1, message

    def submit(self, worker: int, token: int, piece: Piece) -> None:
        """Sends a piece; see `Crew`."""
        member = self._members[worker]
        with suppress(OSError):  # it is dead, which `wait` is going to report
            if member.job != self._job[0]:
                member.job = self._job[0]
                member.pipe.send_bytes(self._job[1])
            message = ("piece", token, piece, member.results.name)
            member.pipe.send_bytes(pickle.dumps(message))

    def wait(self, seconds: float | None) -> list[Event]:
        """Waits for messages and deaths; see `Crew`."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            limit = None if end is None else max(0.0, end - time.monotonic())
            if self._memory:
                limit = MEMORY_EVERY if limit is None else min(limit, MEMORY_EVERY)
            watched: list[Any] = [member.pipe for member in self._members]
            watched += [member.process.sentinel for member in self._members]
            ready = set(wait(watched, limit))
            events: list[Event] = []
            for worker, member in enumerate(self._members):
                if member.pipe in ready or member.process.sentinel in ready:
                    events += self._hear(worker)
            if events or (end is not None and time.monotonic() >= end):
                return events
            if self._memory:
                self._end_hungry()

    def replace(self, worker: int) -> None:
        """Kills a worker and starts another; see `Crew`."""
        member = self._members[worker]
        _end_member(member)
        member.results.close()
        self._members[worker] = self._start()

    def close(self) -> None:
        """Kills all workers and gives shared memory back; see `Crew`."""
        self._end()

    def _start(self) -> _Member:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        alive_theirs, alive_ours = context.Pipe(duplex=False)
        main = threading.current_thread() is threading.main_thread()
        process = context.Process(
            target=process_worker.main,
            args=(theirs, alive_theirs, os.getpid(), main),
            name="evonet-worker",
            daemon=True,  # so that not even an interpreter that fails waits for it
        )
        with _starting, _few_threads(self._threads), _uninterrupted():
            process.start()
        theirs.close()
        alive_theirs.close()
        with suppress(OSError):  # it died at once, which `wait` is going to report
            ours.send_bytes(pickle.dumps(("task", self._data)))
        return _Member(process, ours, alive_ours)

    def _hear(self, worker: int) -> list[Event]:
        """Reads all messages of a worker, and finds out whether it is dead."""
        member, events = self._members[worker], list[Event]()
        try:
            while member.pipe.poll():
                events += self._read(worker, member, unpickled(member.pipe.recv_bytes()))
                if self._members[worker] is not member:
                    return events
            dead = not member.process.is_alive()
        except (EOFError, OSError, pickle.UnpicklingError):
            dead = True
        if dead:
            member.process.join(1.0)
            words = member.killed_for or _describe_end(member.process.exitcode)
            self.replace(worker)
            events.append(Event(worker, "died", fault=Fault(words)))
        return events

    def _read(self, worker: int, member: _Member, message: tuple[Any, ...]) -> Iterator[Event]:
        kind, *content = message
        member.leads = True
        if kind == "ready":
            yield Event(worker, "ready")
        elif kind == "broken":
            yield Event(worker, "broken", fault=content[0])
        elif kind == "failed":
            yield Event(worker, "failed", content[0], fault=content[1])
        elif kind == "room":
            member.results.reserve(content[1])
            member.pipe.send_bytes(pickle.dumps(("room", member.results.name)))
        elif kind == "done":
            token, facts, layout, seconds, used = content
            assert isinstance(layout, Layout)
            arrays = member.results.read(layout)
            yield Event(worker, "done", token, facts, arrays, seconds=seconds)
            if self._memory and used > self._memory:
                self.replace(worker)
                yield Event(worker, "left")

    def _end_hungry(self) -> None:
        for member in self._members:
            used = used_megabytes(member.process.pid or 0)
            if used > TOO_MUCH * self._memory:
                member.killed_for = f"its worker used {used:,.0f} MB of memory"
                _end_member(member, wait=False)  # `wait` is going to report it


def _end_all(members: list[_Member], block: SharedBlock) -> None:
    for member in members:
        _end_member(member, wait=False)
    for member in members:
        _end_member(member)
        member.results.close()
    members.clear()
    block.close()


def _end_member(member: _Member, wait: bool = True) -> None:
    """Kills a worker and all that it has started."""
    process = member.process
    if member.leads and process.pid is not None and not member.pipe.closed:
        with suppress(OSError):  # all of them are gone already
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    if wait:
        process.join()
        member.pipe.close()
        member.alive.close()


def _describe_end(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"its worker was killed by {signal.Signals(-code).name}"
    return f"its worker ended with exit code {code}"


@contextmanager
def _few_threads(threads: int) -> Iterator[None]:
    """Lets libraries in processes that are started here use few threads."""
    before = dict(os.environ)
    try:
        if threads:
            for name in THREAD_VARIABLES:
                os.environ.setdefault(name, str(threads))
        yield
    finally:
        for name in THREAD_VARIABLES:
            if name not in before:
                os.environ.pop(name, None)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keeps Ctrl-C from processes that are started here, and from here meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
