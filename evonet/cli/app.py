"""The entry point: finds a command, runs it, and turns errors into one line and an exit code.

Only click is imported here; a command's module is imported when it is called. So `--help` is
fast.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any, Final, TextIO

import click

from evonet import __version__
from evonet.cli.streams import complain, finish_streams, prepare_streams
from evonet.errors import EvonetError
from evonet.messages import did_you_mean, name

# Each command has a module of that name, with a `command`.
COMMANDS: Final = {
    "evolve": "Evolve networks on a task, and write a run folder.",
    "resume": "Resume a run that was interrupted, or extend it.",
    "report": "Write the report of a run.",
    "predict": "Let the champion of a run answer new rows of a table.",
    "play": "Let the champion of a run play fresh episodes.",
    "inspect": "Draw a champion, and analyse how parallel its network is.",
    "layered": "Run a deep sparse network, as the Graph Challenge has them.",
    "tasks": "List the tasks to evolve on.",
    "new": "Write a commented config to start from.",
    "wide": "Train and use classifiers for very many classes.",
    "bench": "Time evonet against others and against this machine's limits.",
    "doctor": "Report what works on this machine.",
}


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0  # the command succeeded, whether or not the task was solved
    ERROR = 1  # a file, a setting, a task or the machine is at fault; one line names it
    USAGE = 2  # there is no such command or option
    INTERRUPTED = 130  # Ctrl-C; what was evolved is saved


DEBUG: Final = click.Option(
    ["--debug"], is_flag=True, expose_value=False, help="Print the traceback of an error."
)


class LazyGroup(click.Group):
    """Lists its commands by name, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns all names, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"evonet.cli.{cmd_name}").command
        if DEBUG not in command.params:
            command.params.append(DEBUG)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command that the arguments start with."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"{args[0]!r} is not a command. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: evonet evolve cartpole",
    params=[DEBUG],
)
@click.version_option(__version__, prog_name="evonet")
def app() -> None:
    """Evolve neural networks of any topology, a whole population at once."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command with arguments, None for those of the process; returns the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            status = app.main(given, prog_name="evonet", standalone_mode=False) or Exit.DONE
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            if DEBUG.opts[0] in itertools.takewhile(lambda word: word != "--", given):
                complain("".join(traceback.format_exception(error)))
            status = _end(error)
    return finish_streams(int(status))


def _end(error: BaseException) -> Exit:
    """Prints what ended a command, and returns its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with suppress(OSError):
            error.show()
        return Exit.USAGE
    if isinstance(error, click.ClickException):
        return _fail(error.format_message(), Exit.USAGE)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return _fail("interrupted.", Exit.INTERRUPTED)
    if isinstance(error, BrokenPipeError):  # the reader of a pipe, such as head, has exited
        return Exit.ERROR
    if isinstance(error, EvonetError):
        return _fail(str(error), Exit.ERROR)
    if isinstance(error, OSError):
        return _fail(describe(error), Exit.ERROR)
    if isinstance(error, MemoryError):
        return _fail("there is not enough memory for this.", Exit.ERROR)
    return _fail(_describe_unexpected(error), Exit.ERROR)


def describe(error: OSError) -> str:
    """Describes what the system refused, and where."""
    where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}."


def _describe_unexpected(error: BaseException) -> str:
    """Describes an error that nobody raised on purpose: where it was raised, in one line.

    The innermost place outside of evonet comes from a custom task or its config.
    """
    home = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
    places = traceback.extract_tb(error.__traceback__)
    started = next((i for i, place in enumerate(places) if not _is_ours(place, home)), None)
    if started is None or not any(_is_ours(place, home) for place in places[:started]):
        place, note = places[-1], " This is a fault in evonet: please report it."
    else:
        theirs = [place for place in places[started:] if not _is_library(place)]
        place, note = (theirs or places)[-1], ""
    reason = name(str(error).partition("\n")[0]) if str(error) else ""
    found = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    return f"{found} ({place.filename}, line {place.lineno}).{note} --debug prints the traceback."


def _is_ours(place: traceback.FrameSummary, home: str) -> bool:
    return place.filename.startswith(home) or _is_library(place)


def _is_library(place: traceback.FrameSummary) -> bool:
    return place.filename.startswith("<") or "-packages" in place.filename


def _fail(message: str, status: Exit) -> Exit:
    complain(f"evonet: {message}")
    return status


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> Any:
    complain(f"evonet: warning: {message}")
