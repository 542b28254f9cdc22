"""Standard output and error: usable whatever they are connected to, and without escape codes."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Final

import click

from evonet.messages import printable

# Longer messages are cut; nobody reads them, and a terminal takes seconds to print them.
MOST_CHARACTERS: Final = 20_000


def prepare_streams() -> None:
    """Makes both streams take any text, even where there is none or it is not UTF-8."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        try:
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        except ValueError:  # it is closed
            stream = None
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def finish_streams(status: int) -> int:
    """Flushes both streams; what the system does not take is dropped, with exit code 1.

    Without this, Python would try again at its end, and print a traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 1
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status


def complain(text: str) -> None:
    """Prints to standard error; where nobody listens, that is no error of its own.

    Args:
        text: One or more lines, which may hold anything: escape codes are spelled out, and endless
            text is cut.
    """
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]} ..."
    shown = "\n".join(printable(line) for line in text.split("\n"))
    with suppress(OSError, ValueError):
        click.echo(shown, err=True)
