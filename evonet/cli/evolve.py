"""evonet evolve: starts a run from a task or a config."""

from __future__ import annotations

from pathlib import Path

import click

from evonet.cli.options import (
    FilePath,
    generations,
    learn,
    minutes,
    on_bad_fitness,
    profile,
    quiet,
    read_workers,
    set_options,
    where_to_run,
)


@click.command()
@click.argument("task_or_config", metavar="TASK_OR_FILE")
@click.option(
    "--config",
    type=FilePath(),
    help="The config for a task given by name, such as one of neat-python.",
)
@click.option("--population", type=int, help="Genomes per generation.")
@generations
@minutes
@click.option(
    "--seed", type=int, help="The seed of all random numbers; equal seeds give equal runs."
)
@where_to_run
@on_bad_fitness
@set_options
@learn
@click.option("--episodes", type=int, help="Episodes per genome, for tasks that have them.")
@click.option(
    "--data",
    type=FilePath(),
    help="The table of examples, for tasks that have one: a CSV or NPZ file.",
)
@click.option("--target", multiple=True, help="The column to predict; may be repeated for numbers.")
@click.option("--test", type=float, help="The fraction of examples to hold out.")
@click.option(
    "--out",
    type=FilePath(),
    help="The run's folder. [default: runs/TASK-001, -002, ...]",
)
@profile
@quiet
def command(
    task_or_config: str,
    config: Path | None,
    population: int | None,
    generations: int | None,
    minutes: float | None,
    seed: int | None,
    backend: str | None,
    threads: int | None,
    workers: str | None,
    on_bad_fitness: str | None,
    assignments: tuple[str, ...],
    learn: bool | None,
    episodes: int | None,
    data: Path | None,
    target: tuple[str, ...],
    test: float | None,
    out: Path | None,
    profile: bool,
    quiet: bool,
) -> int:
    """Evolve networks on TASK_OR_FILE until it is solved.

    TASK_OR_FILE is the name of a task (see `evonet tasks`), "gym:NAME" for a Gymnasium
    environment, "module:Class" or "file.py:Class" for a custom task, a config file (see
    `evonet new`), or a table of examples: data.csv --target COLUMN.

    With --config and a config of neat-python, "file.py:NAME" may also be the fitness function or
    evaluator of a neat-python script; a neat-python reporter then prints the progress.

    The run folder holds config.toml, metrics.jsonl, checkpoints/, champion.json and report.html.
    Ctrl-C saves; `evonet resume` continues.
    """
    from evonet.cli.settings import find_settings, gather
    from evonet.cli.watch import Watch
    from evonet.evolution.hooks import Result
    from evonet.runs import RunFolder, start_run
    from evonet.runs.folder import next_folder

    changes = gather(
        {
            "neat.pop_size": population,
            "run.generations": generations,
            "run.minutes": minutes,
            "run.seed": seed,
            "run.backend": backend,
            "run.threads": threads,
            "run.on_bad_fitness": on_bad_fitness,
            **read_workers(workers),
            "task.episodes": episodes,
            "task.data": None if data is None else str(data.resolve()),
            "task.targets": list(target) or None,
            "task.test_fraction": test,
        },
        assignments,
    )
    settings = find_settings(task_or_config, changes, config, learn)
    if settings.inferred and not quiet:
        click.echo(settings.inferred, err=True)
    home = next_folder(Path("runs"), settings.name) if out is None else RunFolder(out)
    watch = Watch(home, settings.name, quiet, profile, progress=not settings.scores_genomes)
    if settings.scores_genomes and not quiet:
        from evonet.plugins.neat_python.evolving import reporter_of

        watch.callbacks.append(reporter_of(settings.task))

    def run() -> Result:
        try:
            return start_run(home.path, settings.task, settings.config, watch.callbacks)
        except BaseException as error:
            if out is None:  # a numbered folder without a generation
                home.discard(error)
            raise

    return watch.over(run)
