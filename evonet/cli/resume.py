"""evonet resume: continues a run from its last checkpoint."""

from __future__ import annotations

from pathlib import Path

import click

from evonet.cli.options import (
    FilePath,
    generations,
    minutes,
    on_bad_fitness,
    profile,
    quiet,
    read_workers,
    set_options,
    where_to_run,
)


@click.command()
@click.argument("run", type=FilePath())
@generations
@minutes
@where_to_run
@on_bad_fitness
@set_options
@click.option("--fork", is_flag=True, help="Resume although config.toml has changed.")
@profile
@quiet
def command(
    run: Path,
    generations: int | None,
    minutes: float | None,
    backend: str | None,
    threads: int | None,
    workers: str | None,
    on_bad_fitness: str | None,
    assignments: tuple[str, ...],
    fork: bool,
    profile: bool,
    quiet: bool,
) -> int:
    """Resume the run in the folder RUN.

    It ends with the same champion, bit for bit, as a run that was never interrupted. Settings come
    from RUN/config.toml. Those in [run] and [workers] may change freely; any other change affects
    what evolves from here on, and needs --fork.
    """
    from evonet.cli.settings import change, gather
    from evonet.cli.watch import Watch
    from evonet.config import Config
    from evonet.errors import CheckpointError
    from evonet.runs import RunFolder, resume_run
    from evonet.tasks import task_from_config

    home = RunFolder(run)
    home.check()
    changes = {
        "run.generations": generations,
        "run.minutes": minutes,
        "run.backend": backend,
        "run.threads": threads,
        "run.on_bad_fitness": on_bad_fitness,
        **read_workers(workers),
    }
    given = gather(changes, assignments)
    config = change(Config.load(home.config), given, str(home.config))
    task = task_from_config(config, str(home.config))
    watch = Watch(home, run.resolve().name, quiet, profile)
    try:
        return watch.over(lambda: resume_run(home.path, task, config, watch.callbacks, fork))
    except CheckpointError as error:
        raise CheckpointError(str(error).replace("fork=True", "--fork")) from error
