"""Streams of imaginary GPUs: queues of work that run as late as events allow.

A real GPU may run two streams in any order that their events permit, so code that forgets an event
works on most days. Here work waits in its queue until the host or another stream waits for it, and
`pace` picks one of several legal orders:

    "late"    other streams run only as far as somebody waits for them
    "early"   other streams run first, as far as they can
    "random"  other streams run a few steps now and then
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

Pace = Literal["late", "early", "random"]
PACES: tuple[Pace, ...] = ("late", "early", "random")
NULL_STREAM, PER_THREAD_STREAM = 0, 2  # as CUDA numbers them

StreamKey: TypeAlias = tuple[int, int, int]
"""GPU, number of the stream, and the Python thread if every thread has its own of that number."""


class Mark:
    """A place in a queue that was recorded by an event."""

    def __init__(self, stream: StreamKey) -> None:
        self.stream = stream
        self.is_reached = False


class Wait:
    """Lets a stream wait for a place in another."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark


Step: TypeAlias = "Callable[[], None] | Mark | Wait"


class Queues:
    """All streams of a machine."""

    def __init__(self, pace: Pace, seed: int) -> None:
        self.pace = pace
        self.lock = threading.RLock()
        self._random = random.Random(seed)
        self._queues: dict[StreamKey, deque[Step]] = {}

    def add(self, stream: StreamKey, step: Step) -> None:
        with self.lock:
            self._queues.setdefault(stream, deque()).append(step)

    def is_idle(self, device: int) -> bool:
        """Whether no stream of a GPU has anything to do."""
        with self.lock:
            return not any(queue for key, queue in self._queues.items() if key[0] == device)

    def finish(self, stream: StreamKey) -> None:
        """Runs all work of a stream, as `cudaStreamSynchronize` does."""
        with self.lock:
            self._run_others(stream)
            self._run(stream)

    def finish_device(self, device: int) -> None:
        """Runs all work of a GPU."""
        with self.lock:
            for stream in [key for key in self._queues if key[0] == device]:
                self._run(stream)

    def reach(self, mark: Mark) -> None:
        """Runs a stream up to a mark."""
        with self.lock:
            if not mark.is_reached:
                self._run_others(mark.stream)
                self._run(mark.stream, mark)

    def _run_others(self, stream: StreamKey) -> None:
        others = sorted(key for key in self._queues if key != stream)
        self._random.shuffle(others)
        for key in others:
            if self.pace == "early":
                self._run(key)
            elif self.pace == "random":
                for _ in range(self._random.randint(0, len(self._queues.get(key, ())))):
                    self._run_step(key)

    def _run(self, stream: StreamKey, until: Mark | None = None) -> None:
        while self._queues.get(stream) and not (until and until.is_reached):
            self._run_step(stream)
        if not self._queues.get(stream):
            self._queues.pop(stream, None)

    def _run_step(self, stream: StreamKey) -> None:
        queue = self._queues.get(stream)
        if not queue:
            return
        step = queue[0]
        if isinstance(step, Wait):
            if not step.mark.is_reached:
                self._run(step.mark.stream, step.mark)
            queue.popleft()
        elif isinstance(step, Mark):
            queue.popleft()
            step.is_reached = True
        else:
            queue.popleft()
            step()
