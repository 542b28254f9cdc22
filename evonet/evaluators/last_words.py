"""A small process that says what happened if this one is ended without a chance to say it.

Ray's libraries end the process that uses them when the node or the head they need is gone.
"""

from __future__ import annotations

import subprocess
import sys
import weakref
from contextlib import suppress
from typing import Final

# Nothing to read means that nobody is left who could write.
SCRIPT: Final = "import sys\nif not sys.stdin.buffer.read(1): print(sys.argv[1], file=sys.stderr)"


class LastWords:
    """Prints a line to the standard error if this process ends before `close` was called.

    Ends that Python notices, such as an error that nobody catches, count as `close`.
    """

    def __init__(self, line: str) -> None:
        """Starts the process that waits.

        Args:
            line: What to print.
        """
        command = [sys.executable, "-I", "-S", "-c", SCRIPT, line]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
        )
        self._dismiss = weakref.finalize(self, _dismiss, process)

    def close(self) -> None:
        """Ends the process without a word."""
        self._dismiss()


def _dismiss(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):  # somebody has ended it
        process.communicate(b".")
