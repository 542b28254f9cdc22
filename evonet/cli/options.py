"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from evonet.definitions.backends import BACKEND_NAMES

Decorated = Callable[..., Any]


class FilePath(click.Path):
    """The path of a file or folder; an empty one would mean the folder one is in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses what no file can be called."""
        if not str(value).strip() or "\0" in str(value):
            self.fail("the path is empty. Expected a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)


generations = click.option(
    "--generations", type=int, help="The maximum number of generations in total."
)
minutes = click.option(
    "--minutes", type=float, help="Stop after so many minutes; `evonet resume` continues."
)
profile = click.option("--profile", is_flag=True, help="Print where the time went.")
quiet = click.option(
    "--quiet", "-q", is_flag=True, help="Print nothing unless something goes wrong."
)

set_options = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Change any setting, such as genome.weight_mutate_rate=0.05; may be repeated.",
)
learn = click.option(
    "--learn/--no-learn",
    default=None,
    help="Let networks learn from examples by gradients before they are scored, or not.",
)
on_bad_fitness = click.option(
    "--on-bad-fitness",
    type=click.Choice(("error", "worst")),
    help="What to do about a fitness that is not a finite number.",
)


def where_to_run(command: Decorated) -> Decorated:
    """Adds --backend, --threads and --workers."""
    command = click.option(
        "--workers",
        metavar="N|ray|ray://HOST:PORT",
        help="Worker processes, or the Ray cluster, that evaluate genomes.",
    )(command)
    command = click.option("--threads", type=int, help="CPU threads; 0 uses all.")(command)
    return click.option(
        "--backend",
        type=click.Choice(BACKEND_NAMES),
        help="Where networks run; auto uses the fastest that works.",
    )(command)


def read_workers(text: str | None) -> dict[str, object]:
    """Returns the settings that --workers changes; None for those that it leaves alone."""
    if text is not None and text.strip().isdecimal():
        return {"workers.where": "processes", "workers.count": int(text)}
    return {"workers.where": text, "workers.count": None}
