"""Locks of objects that threads may share."""

from __future__ import annotations

import threading
from typing import Any


class Lock:
    """Lets one thread after the other in, and the same thread again.

    An object that has one can still be copied and pickled: the copy has a lock of its own.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()
