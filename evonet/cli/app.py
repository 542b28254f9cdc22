"""The entry point: finds a command, runs it, and turns errors into one line and an exit code.

Only click is imported here; a command's module is imported when it is called. So `--help` is
fast.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, TextIO

import click

from evonet import __version__
from evonet.errors import EvonetError
from evonet.messages import did_you_mean

# Each command has a module of that name, with a `command`.
COMMANDS: Final = {
    "evolve": "Evolve networks on a task, and write a run folder.",
    "resume": "Resume a run that was interrupted, or extend it.",
    "report": "Write the report of a run.",
    "predict": "Let the champion of a run answer new rows of a table.",
    "inspect": "Draw a champion, and analyse how parallel its network is.",
    "tasks": "List the tasks to evolve on.",
    "new": "Write a commented config to start from.",
    "bench": "Time evonet against others and against this machine's limits.",
    "doctor": "Report what works on this machine.",
}


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0  # the command succeeded, whether or not the task was solved
    ERROR = 1  # a file, a setting, a task or the machine is at fault; one line names it
    USAGE = 2  # there is no such command or option
    INTERRUPTED = 130  # Ctrl-C; what was evolved is saved


class LazyGroup(click.Group):
    """Lists its commands by name, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns all names, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Imports the command."""
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"evonet.cli.{name}").command
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
)
@click.version_option(__version__, prog_name="evonet")
def app() -> None:
    """Evolve neural networks of any topology, a whole population at once."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command with arguments, None for those of the process; returns the exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            status = app.main(
                None if arguments is None else list(arguments),
                prog_name="evonet",
                standalone_mode=False,
            )
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return Exit.USAGE
        except click.ClickException as error:
            return _fail(error.format_message(), Exit.USAGE)
        except EvonetError as error:
            return _fail(str(error), Exit.ERROR)
        except (KeyboardInterrupt, click.Abort):
            return _fail("interrupted.", Exit.INTERRUPTED)
        except BrokenPipeError:  # the reader of a pipe, such as head, has exited
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Exit.ERROR
        except OSError as error:
            return _fail(describe(error), Exit.ERROR)
    return int(status or Exit.DONE)


def describe(error: OSError) -> str:
    """Describes what the system refused, and where."""
    where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    return f"{where}{error.strerror or error}."


def _fail(message: str, status: Exit) -> int:
    click.echo(f"evonet: {message}", err=True)
    return status


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> Any:
    click.echo(f"evonet: warning: {message}", err=True)
