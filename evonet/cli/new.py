"""evonet new: writes a config that explains itself."""

from __future__ import annotations

from pathlib import Path

import click

from evonet.cli.options import FilePath


@click.command()
@click.argument("name", type=FilePath())
@click.option("--task", default="cartpole", show_default=True, help="What to evolve on.")
def command(name: Path, task: str) -> None:
    """Write NAME.toml: every setting with its meaning and its default.

    Defaults are commented out, so that the file sets only what differs: for a task that evonet
    has a config for, the settings of that config.
    """
    from evonet.cli.template import write_template
    from evonet.errors import RunFolderError
    from evonet.tasks.registry import find_task

    path = name if name.suffix == ".toml" else Path(f"{name}.toml")
    text = write_template(path, find_task(task))
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise RunFolderError(f"{path} already exists. Choose another name.") from None
    click.echo(f"{path} is written. Change it, then: evonet evolve {path}")
