"""Runs the command line: `evonet`, or python -m evonet."""

from __future__ import annotations

import _thread
import sys
import threading
from typing import Any

# Seconds after which an interrupt that was lost comes again.
AGAIN_AFTER = 0.01


def _interrupt_again(lost: Any) -> None:
    """Repeats an interrupt that came in a callback of Python's own, most of which run in imports.

    Python can raise nothing there: it would print a traceback, and carry on as if nobody had
    pressed Ctrl-C.
    """
    if lost.exc_type is KeyboardInterrupt:
        repeat = threading.Timer(AGAIN_AFTER, _thread.interrupt_main)
        repeat.daemon = True
        repeat.start()
    else:
        sys.__unraisablehook__(lost)


def main() -> int:
    """Runs the command line, which takes a while to import; Ctrl-C may come before it is."""
    sys.unraisablehook = _interrupt_again
    try:
        from evonet.cli.app import main as run

        return run()
    except KeyboardInterrupt:
        print("evonet: interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
