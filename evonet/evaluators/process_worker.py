"""What runs in a worker process.

The process has a session of its own, so that Ctrl-C reaches the driver alone, and so that whatever
a task starts can be ended together with it. It ends when the driver does, however that ends.
"""

from __future__ import annotations

import multiprocessing.process
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from evonet.errors import EvonetError
from evonet.evaluators.jobs import Fault, Job, Piece
from evonet.evaluators.packing import Arrays, cut_arrays
from evonet.evaluators.parcel import unpack_task, unpickled
from evonet.evaluators.shared_block import Layout, attach, lay_out, view_arrays, write_arrays
from evonet.evaluators.workbench import Workbench, describe_error


def main(pipe: Connection, alive: Connection, parent: int, in_main_thread: bool) -> None:
    """Works until the driver has no more work.

    Args:
        pipe: Messages from and to the driver.
        alive: Ends when the driver does; nothing is ever sent through it.
        parent: The driver's process.
        in_main_thread: Whether the driver's main thread started this process.
    """
    _settle(alive, parent, in_main_thread)
    worker = _Worker(pipe)
    with suppress(EOFError, OSError):  # the driver is gone
        while True:
            worker.answer(unpickled(pipe.recv_bytes()))


def _settle(alive: Connection, parent: int, in_main_thread: bool) -> None:
    if hasattr(os, "setsid"):
        os.setsid()
    # The driver's kind of child must not have children by itself; tasks may.
    multiprocessing.process.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    # What a task prints must not mix with what the driver prints for other programs.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        os.dup2(2, 1)
    threading.Thread(target=_watch, args=(alive,), name="watch", daemon=True).start()
    if in_main_thread:
        _end_with_parent(parent)


def _watch(alive: Connection) -> None:
    """Ends this process, and all that it started, when the driver is gone."""
    with suppress(EOFError, OSError):
        alive.recv_bytes()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _end_with_parent(parent: int) -> None:
    """Asks Linux to end this process with the driver, even while a task holds Python's lock.

    The system means the thread that started this process, so it must be one that lasts.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            set_parent_death_signal = 1
            ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def used_megabytes(process: int | str = "self") -> float:
    """The memory that a process has in use; 0 where the system does not report it."""
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


class _Worker:
    """Answers the driver's messages."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._process = os.getpid()
        self._bench: Workbench | None = None
        self._blocks: dict[str, SharedMemory] = {}
        self._job: tuple[Job, str, Layout] | None = None

    def answer(self, message: tuple[Any, ...]) -> None:
        kind, *content = message
        if kind == "task":
            self._set_up(content[0])
        elif kind == "job":
            job, block, layout = content
            self._job = job, block, layout
        elif kind == "piece":
            self._work(*content)

    def _send(self, *message: Any) -> None:
        if os.getpid() != self._process:  # a task has forked, and this is its child
            os._exit(1)
        self._pipe.send_bytes(pickle.dumps(message))

    def _set_up(self, data: bytes) -> None:
        try:
            self._bench = Workbench(*unpack_task(data))
        except EvonetError as error:
            self._send("broken", Fault(str(error).rstrip("."), error))
        else:
            self._send("ready")

    def _work(self, token: int, piece: Piece, result_block: str) -> None:
        start = time.perf_counter()
        try:
            facts, arrays = self._evaluate(piece)
            layout = lay_out(arrays)
            seconds = time.perf_counter() - start
            block = self._room_for(token, layout, result_block)
            write_arrays(block, layout, arrays)
            self._send("done", token, facts, layout, seconds, used_megabytes())
        except (EOFError, OSError) as error:
            if self._pipe.closed or isinstance(error, EOFError):
                raise
            self._send("failed", token, describe_error(error))
        except BaseException as error:  # tasks may raise anything, SystemExit too
            self._send("failed", token, describe_error(error))

    def _evaluate(self, piece: Piece) -> tuple[dict[str, Any], Arrays]:
        assert self._bench is not None
        assert self._job is not None
        job, name, layout = self._job
        # Copied, since the driver writes the next generation to the same place.
        arrays = cut_arrays(view_arrays(self._block(name), layout), piece.start, piece.stop)
        return self._bench.work(job, piece, arrays)

    def _room_for(self, token: int, layout: Layout, name: str) -> SharedMemory:
        """The block for results, for which the driver may first have to make room."""
        if name:
            block = self._block(name)
            if block.size >= layout.size:
                return block
        self._send("room", token, layout.size)
        kind, name = unpickled(self._pipe.recv_bytes())
        assert kind == "room"
        return self._block(name)

    def _block(self, name: str) -> SharedMemory:
        """Opens a block, and closes others of the same use, which have been outgrown."""
        if name not in self._blocks:
            self._blocks[name] = attach(name)
        while len(self._blocks) > 4:
            with suppress(BufferError):
                self._blocks.pop(next(iter(self._blocks))).close()
        return self._blocks[name]
