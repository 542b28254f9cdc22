"""Times what Python and NumPy add to a generation of XOR, beside the extension's own work.

    python -m benchmarks.fixed_costs [--genomes 1000] [--generations 200] [--profile]

Every function of the extension is wrapped by a stopwatch; what a generation takes besides them is
Python, NumPy and the calls; what the stopwatches themselves take is left out. `--profile` prints
where that time goes instead. Times are those of the processor, on one thread, so that other
programs matter little.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable
from typing import Any

from evonet.bench.generation import EvonetRun, workload
from evonet.config import Config
from evonet.installation import require_native


class Clock:
    """Adds up the seconds in which any wrapped function runs, and counts its calls."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0

    def reset(self) -> None:
        """Starts over."""
        self.seconds, self.calls = 0.0, 0

    def own_seconds(self, calls: int = 2000) -> float:
        """Measures what a wrapper adds to a call beside the time that it notes."""
        bare: Callable[[], None] = lambda: None  # noqa: E731
        wrapped = self.wrap(bare)
        self.reset()
        start = time.thread_time()
        for _ in range(calls):
            wrapped()
        between = time.thread_time()
        for _ in range(calls):
            bare()
        loop = time.thread_time() - between
        return max(0.0, (between - start - self.seconds - loop) / calls)

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the same function, with a stopwatch."""

        def timed(*args: Any, **options: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                self.seconds += time.thread_time() - start
                self.calls += 1

        return timed

    def wrap_class(self, kind: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a class of the extension: its constructor and the methods that compute."""
        make, clock = self.wrap(kind), self

        class Timed:
            def __init__(self, *args: Any) -> None:
                made = make(*args)
                self.loss = clock.wrap(made.loss)
                self.step = clock.wrap(made.step)
                self._call = clock.wrap(made.__call__)

            def __call__(self, *args: Any) -> Any:
                return self._call(*args)

        return Timed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--genomes", type=int, default=1000)
    parser.add_argument("--generations", type=int, default=200)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    native, clock = require_native(), Clock()
    if not options.profile:
        for name in dir(native):
            found = getattr(native, name)
            if name.startswith("Forward"):
                setattr(native, name, clock.wrap_class(found))
            elif callable(found) and not isinstance(found, type):
                setattr(native, name, clock.wrap(found))
    with workload(f"xor-{options.genomes}") as (ini, task, warm_up):
        run = EvonetRun(Config.load(ini), task, threads=1, describe=True)
        run.warm_up(warm_up + 20)
        if options.profile:
            profile = cProfile.Profile(time.thread_time)
            profile.runcall(run.replay, options.generations)
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
            return
        whole, outside = [], []
        for _ in range(10):
            own = clock.own_seconds()
            clock.reset()
            start = time.thread_time()
            run.replay(options.generations // 10)
            seconds = time.thread_time() - start - own * clock.calls
            whole.append(1e6 * seconds / (options.generations // 10))
            outside.append(1e6 * (seconds - clock.seconds) / (options.generations // 10))
        print(f"a generation of {options.genomes}: {statistics.median(whole):.0f} us")
        print(f"Python and NumPy: {statistics.median(outside):.0f} us, least {min(outside):.0f}")


if __name__ == "__main__":
    main()
