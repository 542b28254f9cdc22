"""evonet tasks: lists the tasks."""

from __future__ import annotations

import textwrap

import click


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List all tasks, or what the options of the task NAME mean.

    The [task] table of a config sets the options of its task, and so does
    `evonet evolve NAME --set task.OPTION=VALUE`.
    """
    from evonet.config.docstrings import in_a_file
    from evonet.config.task_defaults import LEARNING_DEFAULTS
    from evonet.installation import resource_folder
    from evonet.messages import show
    from evonet.tasks.registry import TASKS, find_task

    if name is None:
        rows = [(entry.name, entry.summary) for entry in TASKS.values()]
        rows += [
            ("gym:NAME", "a Gymnasium environment, such as gym:LunarLander-v3"),
            ("minatar:NAME", "a game of MinAtar, such as minatar:breakout"),
            ("jax:PLACE:NAME", "an environment in JAX, such as jax:brax.envs:ant"),
            ("module:Class", "your own task, from the current folder or an installed package"),
        ]
        width = max(len(task) for task, _ in rows)
        for task, summary in rows:
            click.echo(f"{task.ljust(width)}  {summary}")
        return
    entry = find_task(name)
    click.echo(f"{entry.name}: {entry.summary}")
    defaults, meanings = entry.defaults, entry.meanings
    width = max(map(len, entry.options), default=0)
    for option in entry.options:
        default = defaults.get(option)
        note = "optional" if default is None else f"default {show(default)}"
        click.echo(f"  {option:{width}}  {'required' if option in entry.required else note}")
        meaning = in_a_file(meanings.get(option, ""))
        for line in textwrap.wrap(meaning, 94 - width):
            click.echo(f"  {'':{width}}    {line}")
    if entry.settings:
        click.echo("Its own defaults for other settings:")
        for setting, value in entry.settings.items():
            click.echo(f"  {setting} = {show(value)}")
    if name in LEARNING_DEFAULTS:
        click.echo("Without learning (--no-learn) there are others: see docs/tables.md.")
    if (resource_folder("configs") / f"{name}.toml").is_file():
        click.echo(f"evonet ships a config for it, which `evonet evolve {name}` uses.")
