"""evonet tasks: what can be evolved on."""

from __future__ import annotations

import inspect

import click


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List all tasks, or the options of the task NAME.

    Options of a task stand in the [task] table of a config.
    """
    from evonet.resources import resource_folder
    from evonet.tasks.registry import TASKS, find_task

    if name is None:
        rows = [(entry.name, entry.summary) for entry in TASKS.values()]
        rows += [
            ("gym:NAME", "a Gymnasium environment, such as gym:LunarLander-v3"),
            ("module:Class", "a task of your own, imported from the current folder or installed"),
        ]
        width = max(len(task) for task, _ in rows)
        for task, summary in rows:
            click.echo(f"{task.ljust(width)}  {summary}")
        return
    entry = find_task(name)
    click.echo(f"{entry.name}: {entry.summary}")
    for option in entry.options.values():
        required = option.default is inspect.Parameter.empty
        default = "required" if required else "optional" if option.default is None else None
        click.echo(f"  {option.name:14} {default or f'default {option.default}'}")
    if (resource_folder("configs") / f"{name}.toml").is_file():
        click.echo(f"It has a config of its own: evonet evolve {name}")
