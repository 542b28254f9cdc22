"""Opens the evaluator that a config or an argument asks for."""

from __future__ import annotations

import dataclasses
from typing import Any

from evonet.config.workers import WorkersTable
from evonet.errors import ConfigError, OptionError
from evonet.evaluation import OnBadFitness
from evonet.evaluators.base import Evaluator
from evonet.evaluators.crew import Crew
from evonet.evaluators.distributed import Distributed
from evonet.evaluators.forgiving import Forgiving
from evonet.evaluators.here import Here
from evonet.evaluators.parcel import pack_task
from evonet.evaluators.processes import ProcessCrew
from evonet.tasks.base import Task


def read_workers(workers: int | str | None, table: WorkersTable) -> WorkersTable:
    """Applies the argument `workers` of `evolve` to the settings of [workers].

    Args:
        workers: A number of processes, 0 for none; "ray", or "ray://host:port"; or None.
        table: The settings.

    Raises:
        OptionError: It is something else.
    """
    if workers is None:
        return table
    changes: dict[str, Any] = {"where": "processes", "count": workers}
    if isinstance(workers, str):
        changes = {"where": workers}
    try:
        return dataclasses.replace(table, **changes)
    except ConfigError:
        raise OptionError(
            f'workers={workers!r} must be a number of processes, "ray" or "ray://host:port".'
        ) from None


def open_evaluator(
    task: Task,
    table: WorkersTable,
    options: dict[str, Any],
    on_bad_fitness: OnBadFitness = "error",
) -> Evaluator:
    """Opens an evaluator, which has to be closed.

    Args:
        task: What scores networks.
        table: Where that happens.
        options: The arguments of `Here` beside the task; workers have their own number of threads.
        on_bad_fitness: What to do about a genome that cannot be evaluated.

    Raises:
        OptionError: The task cannot be sent to workers.
        WorkerError: Workers cannot start.
    """
    if table.where == "processes" and table.count == 0:
        if on_bad_fitness == "worst":
            return Forgiving(task, options, table.retries)
        return Here(task, **options)
    whole_node = table.where != "processes" and table.cpus == 0
    inner = {**options, "threads": 0 if whole_node else table.threads}
    crew: Crew
    if table.where == "processes":
        data = pack_task(task, inner)
        crew = ProcessCrew(data, table.count, threads=table.threads, memory=table.memory)
    else:
        from evonet.evaluators.ray_crew import RayCrew, dumps_by_value

        crew = RayCrew(pack_task(task, inner, dumps_by_value, as_config=False), table)
    return Distributed(
        task,
        crew,
        timeout=table.timeout,
        retries=table.retries,
        on_bad_fitness=on_bad_fitness,
    )
