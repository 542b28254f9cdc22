"""Runs neat-python's own tests with evonet's drop-in classes in place of its networks.

    python -m tests.campaigns.neat_tests /path/to/neat-python/tests [pytest options]

The folder belongs to the source of the installed version; nothing is fetched or copied. evonet's
classes are put into `neat.nn`, `neat.ctrnn` and `neat.iznn` before any test is imported, so the
tests run on them without knowing evonet. The run fails if a test fails, or if a class was never
used.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import tempfile
from pathlib import Path

import neat
import pytest

from evonet.plugins.neat_python import CTRNN, IZNN, FeedForwardNetwork, RecurrentNetwork

# Where each class is looked up by tests and examples.
PLACES = {
    FeedForwardNetwork: ("neat.nn", "neat.nn.feed_forward"),
    RecurrentNetwork: ("neat.nn", "neat.nn.recurrent"),
    CTRNN: ("neat.ctrnn",),
    IZNN: ("neat.iznn",),
}


class DropIn:
    """A pytest plugin that replaces the classes, and counts how often they are made."""

    def __init__(self) -> None:
        self.made = dict.fromkeys((cls.__name__ for cls in PLACES), 0)

    def pytest_configure(self) -> None:
        """Replaces the classes before tests are imported."""
        for cls, places in PLACES.items():
            self._count(cls)
            for place in places:
                setattr(importlib.import_module(place), cls.__name__, cls)

    def _count(self, cls: type) -> None:
        for name in ("__init__", "create"):
            original = getattr(cls, name)

            def counting(*args: object, _original=original, **kwargs: object) -> object:
                self.made[cls.__name__] += 1
                return _original(*args, **kwargs)

            setattr(cls, name, counting if name == "__init__" else staticmethod(counting))


def main() -> int:
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        print(__doc__)
        return 2
    plugin = DropIn()
    folder = Path(sys.argv[1]).resolve()
    options = ["-q", "-p", "no:cacheprovider", f"--rootdir={folder}", "-c", "/dev/null"]
    # The tests leave checkpoints and tables where they run.
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        status = int(pytest.main([*options, *sys.argv[2:], str(folder)], plugins=[plugin]))
    print(f"neat-python {neat.__version__}: networks made by tests:", plugin.made)
    unused = [name for name, made in plugin.made.items() if made == 0]
    if unused and not sys.argv[2:]:
        print("never used:", ", ".join(unused))
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
