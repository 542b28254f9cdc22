"""Lets many threads call something at once, and collects what they raise."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def run_together(works: Sequence[Callable[[], object]], turns: int = 1) -> list[BaseException]:
    """Runs each work in a thread of its own, so many times; returns all that was raised."""
    raised: list[BaseException] = []
    start = threading.Barrier(len(works))

    def repeat(work: Callable[[], object]) -> None:
        start.wait()
        for _ in range(turns):
            try:
                work()
            except BaseException as error:
                raised.append(error)

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised
