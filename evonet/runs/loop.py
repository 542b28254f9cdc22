"""The loop on top of ask and tell: evolve on a task until it is solved or time is up."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy.typing as npt

from evonet.runs import checkpoint
from evonet.config import Config
from evonet.errors import CheckpointError, OptionError
from evonet.evolution.hooks import Callback, CallbackLike, Result, Run, arrange, name_of
from evonet.evolution.neat.neat import NEAT, OnBadFitness
from evonet.evolution.record import GenerationRecord, Seconds, describe_generation
from evonet.genes.arrays import real_type
from evonet.network import compile as compile_network
from evonet.tasks.base import Task

__all__ = ["Result", "evolve", "task_seed"]


def evolve(
    task: Task,
    config: Config | None = None,
    *,
    generations: int | None = None,
    seed: int | None = None,
    callbacks: Iterable[CallbackLike] = (),
    resume: str | os.PathLike[str] | None = None,
    fork: bool = False,
    dtype: npt.DTypeLike | None = None,
    backend: str | None = None,
    threads: int | None = None,
    on_bad_fitness: OnBadFitness | None = None,
) -> Result:
    """Evolves until the task is solved, or all generations are done, or a callback says so.

    A run that was interrupted anywhere and resumed ends with the bits of one that was not.

    Args:
        task: What to evolve on. If it has a `fitness_threshold`, that holds where the config
            has none.
        config: All settings; None, when resuming, for those of the checkpoint.
        generations: The most generations, those before a resumption included; None for the
            config's.
        seed: Wins over the config's.
        callbacks: Callbacks, or functions of a GenerationRecord; one that returns True ends
            the run.
        resume: A checkpoint or a folder of them to go on from.
        fork: Whether to resume with another config or seed than before, on purpose.
        dtype: Type of the genes; None for float32, or the checkpoint's.
        backend: Wins over the config's.
        threads: Wins over the config's.
        on_bad_fitness: What to do about NaN; None for "error", or what the run did before.

    Raises:
        OptionError: The task does not fit the config, or an argument is out of range.
        CheckpointError: There is nothing to resume, or the config has changed.
        FitnessError: The task gave something else than a finite number per genome.
        ExtinctionError: All species died out.
        KeyboardInterrupt: Passed on; callbacks have ended, and no generation is half done.
    """
    config = _check_task(task, config)
    hooks = arrange(callbacks)
    options: dict[str, Any] = {"backend": backend, "threads": threads}
    if resume is not None:
        source = checkpoint.open_checkpoint(resume)
        neat = checkpoint.resume_run(
            source, config, fork, seed=seed, on_bad_fitness=on_bad_fitness, **options
        )
        _check_genomes(source.path, neat, task, dtype)
    elif config is None:
        raise OptionError(
            "evolve needs a config, such as Config() or Config.load(path). Only resume= does "
            "without: a checkpoint has its own."
        )
    else:
        neat = NEAT(
            config,
            seed,
            num_inputs=task.num_inputs,
            num_outputs=task.num_outputs,
            dtype=real_type("float32" if dtype is None else dtype),
            on_bad_fitness=on_bad_fitness or "error",
            **options,
        )
    limit = neat.config.run.generations if generations is None else generations
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise OptionError(f"generations={generations!r} must be a whole number, at least 0.")

    done = _generations_done(neat)
    run = Run(task, neat, done, limit, None if resume is None else source.path)
    loop = _Loop(task, neat, done * len(neat.state.population), run.spent)
    with ExitStack() as ending:  # ends all that began, last first, whatever some of them raise
        for hook in hooks:
            hook.on_start(run)
            ending.callback(loop.end, hook)
        stopped = False
        while not stopped and not neat.solved and _generations_done(neat) < limit:
            record = loop.run_generation()
            for hook in hooks:
                with loop.timed(name_of(hook)):
                    stopped |= hook.on_generation(record) is True
    return loop.result


def task_seed(seed: int, generation: int) -> int:
    """The seed for the chance in a task: one per run and generation, 0 to 2^63 - 1.

    Args:
        seed: Of the run.
        generation: That is evaluated.
    """
    digest = hashlib.sha256(f"evonet task {seed} {generation}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


class _Loop:
    """One generation after the other, and what came out of them."""

    def __init__(self, task: Task, neat: NEAT, evaluations: int, spent: dict[str, float]) -> None:
        self._task = task
        self._neat = neat
        self._dynamics = neat.config.dynamics
        self._evaluations = evaluations
        self._spent = spent
        self._begun = time.perf_counter()

    @cached_property
    def result(self) -> Result:
        return Result(
            best=self._neat.best,
            generation=self._neat.generation,
            solved=self._neat.solved,
            evaluations=self._evaluations,
            seconds=time.perf_counter() - self._begun,
            neat=self._neat,
        )

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Adds the time of a block to what is spent under a name."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + time.perf_counter() - begin

    def end(self, hook: Callback) -> None:
        result = self.result  # its clock stops before files are closed
        with self.timed(name_of(hook)):
            hook.on_end(result)

    def run_generation(self) -> GenerationRecord:
        neat = self._neat
        times = [time.perf_counter()]
        population = neat.ask()
        times.append(time.perf_counter())
        backend: Any = neat.backend
        network = compile_network(
            population, backend=backend, threads=neat.threads, **self._dynamics.options()
        )
        times.append(time.perf_counter())
        fitness = self._task.evaluate(network, task_seed(neat.seed, neat.generation))
        times.append(time.perf_counter())
        self._tell(fitness)
        times.append(time.perf_counter())
        ask, compiling, evaluate, tell = (b - a for a, b in pairwise(times))
        seconds = Seconds(ask=ask, compile=compiling, evaluate=evaluate, tell=tell)
        with self.timed("describe"):
            return describe_generation(neat, self._evaluations, seconds)

    def _tell(self, fitness: npt.NDArray[Any]) -> None:
        before = replace(self._neat.state), self._evaluations
        try:
            self._neat.tell(fitness)
            self._evaluations += len(fitness)
        except BaseException:  # an interrupt may come between two assignments
            self._neat.state, self._evaluations = before
            raise


def _generations_done(neat: NEAT) -> int:
    return neat.generation + (neat.state.fitness is not None)


def _check_task(task: Task, config: Config | None) -> Config | None:
    """Raises unless a task fits a config; lends the config the task's threshold."""
    if not isinstance(task, Task):
        raise OptionError(
            f"task={task!r} is not a task, which has num_inputs, num_outputs and evaluate."
        )
    if config is None:
        return None
    if not isinstance(config, Config):
        raise OptionError(
            f"config={config!r} is not a Config. Make one with Config(), Config.load(path) or "
            "Config.from_dict(tables)."
        )
    for name in ("num_inputs", "num_outputs"):
        wanted, found = getattr(config.genome, name), getattr(task, name)
        if wanted not in (None, found):
            raise OptionError(
                f"{name}={found} of the task contradicts the config, which says "
                f"genome.{name} = {wanted}. Leave it out there, and the task decides."
            )
    threshold = getattr(task, "fitness_threshold", None)
    if threshold is not None and config.neat.fitness_threshold is None:
        config = config.replace({"neat.fitness_threshold": float(threshold)})
    return config


def _check_genomes(path: Path, neat: NEAT, task: Task, dtype: npt.DTypeLike | None) -> None:
    """Raises unless a task and a type fit the genomes of a checkpoint."""
    population = neat.state.population
    for name in ("num_inputs", "num_outputs"):
        wanted, found = getattr(population, name), getattr(task, name)
        if wanted != found:
            raise CheckpointError(
                f"{path}: its genomes have {name}={wanted}, and the task has {name}={found}. "
                "Resume with the task that the run began with."
            )
    if dtype is not None and real_type(dtype) != population.dtype:
        raise CheckpointError(
            f"{path}: its genes are {population.dtype}, not {real_type(dtype)}. Leave out dtype."
        )
