"""The loop on top of ask and tell: evolve on a task until it is solved or time is up."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.config import Config
from evonet.errors import CheckpointError, OptionError, check_whole
from evonet.evaluation import Evaluation, OnBadFitness
from evonet.evaluators import Evaluator, Lifetime, open_evaluator, read_workers
from evonet.evolution import checkpoint
from evonet.evolution.algorithm import Algorithm
from evonet.evolution.algorithms import find_algorithm, reference_to
from evonet.evolution.hooks import Callback, CallbackLike, Result, Run, arrange, name_of
from evonet.evolution.islands import islands_of
from evonet.evolution.race import Generation, Race
from evonet.evolution.record import GenerationRecord, Seconds, describe_generation
from evonet.evolution.state import Best
from evonet.genes.arrays import real_type
from evonet.genes.population import Population
from evonet.tasks.base import Task, adopt

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
    algorithm: type[Algorithm] | None = None,
    evaluator: Evaluator | None = None,
    workers: int | str | None = None,
) -> Result:
    """Evolves until the task is solved, or progress stalls, or all generations are done.

    Progress stalls when the best genome is run.patience generations old, if the config sets that.
    The config's run.minutes and callbacks can also end the run.

    A run that was interrupted anywhere and resumed ends with the bits of one that was not.

    Args:
        task: What to evolve on: a `Task`, or any object with num_inputs, num_outputs and
            evaluate. Its `fitness_threshold` holds where the config has none.
        config: All settings; None, when resuming, for those of the checkpoint.
        generations: The most generations, those before a resumption included; None for the
            config's.
        seed: Wins over the config's.
        callbacks: Callbacks, or functions of a GenerationRecord; one that returns True ends
            the run.
        resume: A checkpoint or a folder of them to continue from.
        fork: Whether to resume with another config or seed than before, on purpose.
        dtype: Type of the genes; None for float32, or the checkpoint's.
        backend: Wins over the config's.
        threads: Wins over the config's.
        on_bad_fitness: What to do about NaN; None for the config's, or what the run did before.
        algorithm: What evolves; None for the one that the config's run.algorithm names.
        evaluator: What scores genomes; None for this process, or workers. It is not closed.
        workers: A number of worker processes, 0 for none; "ray", or "ray://host:port"; None for
            what the config's [workers] says. Nothing that evolves depends on it.

    Raises:
        OptionError: The task does not fit the config, or an argument is out of range.
        CheckpointError: There is nothing to resume, or the config has changed.
        FitnessError: The task gave something else than a finite number per genome.
        WorkerError: Workers cannot start, or a genome fails on all of them.
        ExtinctionError: All species died out.
        KeyboardInterrupt: Passed on; callbacks have ended, and no generation is half done.
    """
    task = adopt(task)
    config = _fit(config, task, algorithm)
    hooks = arrange(callbacks)
    source: Path | None = None
    options: dict[str, Any] = {"backend": backend, "threads": threads}
    if resume is not None:
        saved = _open_checkpoint(resume, config, algorithm)
        source = saved.path
        evolution = checkpoint.restore(
            saved, config, fork, seed=seed, on_bad_fitness=on_bad_fitness, **options
        )
        _check_genomes(saved.path, evolution, task, dtype)
        task.state = dict(saved.task_state)
    elif config is None:
        raise OptionError(
            "evolve needs a config, such as Config() or Config.load(path). Only resume= does "
            "without: a checkpoint has its own."
        )
    else:
        evolution = _kind_of(config, algorithm)(
            config,
            seed,
            num_inputs=task.num_inputs,
            num_outputs=task.num_outputs,
            dtype=real_type("float32" if dtype is None else dtype),
            on_bad_fitness=on_bad_fitness,
            **options,
        )
    limit = evolution.config.run.generations if generations is None else generations
    check_whole("generations", limit)
    run = partial(Run, task, evolution, evolution.generations_done, limit, source)
    if evaluator is not None:
        return _Loop(run(evaluator=evaluator), evaluator, hooks).run()
    settings = {
        "dynamics": evolution.config.dynamics,
        "backend": evolution.backend,
        "threads": evolution.threads,
        "lifetime": Lifetime.of(evolution.config, task),
    }
    table = read_workers(workers, evolution.config.workers)
    with closing(open_evaluator(task, table, settings, evolution.on_bad_fitness)) as opened:
        return _Loop(run(evaluator=opened), opened, hooks).run()


def _kind_of(config: Config, algorithm: type[Algorithm] | None) -> type[Algorithm]:
    """Returns the class of what evolves."""
    kind = algorithm or find_algorithm(config.run.algorithm)
    return islands_of(kind) if config.islands.count > 1 else kind


def _open_checkpoint(
    path: str | os.PathLike[str], config: Config | None, algorithm: type[Algorithm] | None
) -> checkpoint.Checkpoint:
    """Reads a checkpoint; without a config, with or without islands."""
    if config is not None:
        return checkpoint.open_checkpoint(path, _kind_of(config, algorithm))
    kind = algorithm or find_algorithm("neat")
    try:
        return checkpoint.open_checkpoint(path, kind)
    except CheckpointError as error:
        with suppress(CheckpointError):
            return checkpoint.open_checkpoint(path, islands_of(kind))
        raise error from None


def task_seed(seed: int, generation: int) -> int:
    """The seed for the chance in a task: one per run and generation, 0 to 2^63 - 1.

    Args:
        seed: The run's seed.
        generation: The generation that is evaluated.
    """
    return _hashed(f"evonet task {seed} {generation}")


def retest_seed(seed: int) -> int:
    """The seed for the tests of champions, the same for all champions of a run.

    Args:
        seed: The run's seed.
    """
    return _hashed(f"evonet test {seed}")


def _hashed(text: str) -> int:
    """A seed, 0 to 2^63 - 1."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


class _Loop:
    """One generation after the other, and what came out of them."""

    def __init__(self, run: Run, evaluator: Evaluator, hooks: list[Callback]) -> None:
        self._run = run
        self._algorithm = run.algorithm
        self._evaluator = evaluator
        self._hooks = hooks
        self._started = time.perf_counter()
        self._out_of_time = False
        done = run.first_generation
        self._done_before = done, done * len(run.algorithm.state.population)

    def run(self) -> Result:
        algorithm = self._algorithm
        with ExitStack() as ending:  # ends all that started, last first, whatever some raise
            for hook in self._hooks:
                hook.on_start(self._run)
                ending.callback(self._end, hook)
            stopped = False
            while (
                not (stopped or self._out_of_time)
                and not (algorithm.solved or algorithm.stalled)
                and algorithm.generations_done < self._run.generations
            ):
                record = self._run_generation()
                for hook in self._hooks:
                    with self._timed(name_of(hook)):
                        stopped |= hook.on_generation(record) is True
                self._out_of_time = self._is_time_up()
        return self._result

    def _is_time_up(self) -> bool:
        """Whether the config's run.minutes have passed."""
        limit = 60.0 * self._algorithm.config.run.minutes
        return 0.0 < limit <= time.perf_counter() - self._started

    @cached_property
    def _result(self) -> Result:
        algorithm = self._algorithm
        return Result(
            best=algorithm.best,
            generation=algorithm.generation,
            solved=algorithm.solved,
            evaluations=self._evaluations,
            seconds=time.perf_counter() - self._started,
            algorithm=algorithm,
            out_of_time=self._out_of_time,
        )

    @property
    def _evaluations(self) -> int:
        algorithm, (done, evaluations) = self._algorithm, self._done_before
        new = algorithm.generations_done - done
        return evaluations + new * len(algorithm.state.population)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        """Adds the time of a block to what is spent under a name."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = self._run.spent
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - start

    def _end(self, hook: Callback) -> None:
        result = self._result  # its clock stops before files are closed
        with self._timed(name_of(hook)):
            hook.on_end(result)

    def _run_generation(self) -> GenerationRecord:
        algorithm, evaluator = self._algorithm, self._evaluator
        before = dict(evaluator.spent)
        start = time.perf_counter()
        population = algorithm.ask()
        asked = time.perf_counter()
        with ExitStack() as around:
            for hook in self._hooks:
                around.enter_context(hook.evaluating())
            seed = task_seed(algorithm.seed, algorithm.generation)
            evaluation = evaluator.evaluate(
                population, algorithm.state.ids, seed, algorithm.generation
            ).checked(len(population))
            best = self._race(evaluation, seed) if self._run.task.retests else None
        evaluated = time.perf_counter()
        algorithm.tell(evaluation, best)
        self._run.task.merge(evaluation.gathered)
        told = time.perf_counter()
        compiling = evaluator.spent["compile"] - before["compile"]
        seconds = Seconds(
            ask=asked - start,
            compile=compiling,
            evaluate=evaluated - asked - compiling,
            tell=told - evaluated,
        )
        with self._timed("describe"):
            rates = evaluator.rates
            return describe_generation(algorithm, self._evaluations, seconds, rates)

    def _race(self, evaluation: Evaluation, seed: int) -> Best | None:
        """Finds the best genome so far by tests; see `evonet.evolution.race`."""
        algorithm, task = self._algorithm, self._run.task
        state = algorithm.state
        population = state.population if evaluation.population is None else evaluation.population
        race = Race(
            play=self._evaluator.retest,
            play_best=partial(self._retest_as_before, state.best),
            sign=algorithm.sign,
            threshold=algorithm.config.neat.fitness_threshold,
            retests=task.retests,
            retest_seed=retest_seed(algorithm.seed),
            on_bad_fitness=algorithm.on_bad_fitness,
        )
        scored = Generation(
            population=population,
            ids=state.ids,
            fitness=evaluation.fitness,
            number=state.generation,
            episodes=task.episodes,
            task_state=evaluation.task_state,
        )
        return race.champion(state.best, scored, seed)

    def _retest_as_before(
        self, best: Best | None, genomes: Population, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Tests the champion with the state that the task had when it was scored."""
        task = self._run.task
        now = task.state
        if best is None or not best.task_state:
            return self._evaluator.retest(genomes, seed, first_episode, episodes)
        task.state = dict(best.task_state)
        try:
            return self._evaluator.retest(genomes, seed, first_episode, episodes)
        finally:
            task.state = now


def _fit(config: Config | None, task: Task, algorithm: type[Algorithm] | None) -> Config | None:
    """Returns a config with what the task and the algorithm add to it.

    Raises:
        OptionError: The task does not fit the config.
    """
    if algorithm is not None and not (
        isinstance(algorithm, type) and issubclass(algorithm, Algorithm)
    ):
        raise OptionError(f"algorithm={algorithm!r} is not a class that derives from Algorithm.")
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
    changes = dict(task.settings)
    if algorithm is not None:
        changes["run.algorithm"] = reference_to(algorithm)
    if task.fitness_threshold is not None and config.neat.fitness_threshold is None:
        changes["neat.fitness_threshold"] = float(task.fitness_threshold)
    return config.replace(changes) if changes else config


def _check_genomes(
    path: Path, algorithm: Algorithm, task: Task, dtype: npt.DTypeLike | None
) -> None:
    """Raises unless a task and a type fit the genomes of a checkpoint."""
    population = algorithm.state.population
    for name in ("num_inputs", "num_outputs"):
        wanted, found = getattr(population, name), getattr(task, name)
        if wanted != found:
            raise CheckpointError(
                f"{path}: its genomes have {name}={wanted}, and the task has {name}={found}. "
                "Resume with the task that the run started with."
            )
    if dtype is not None and real_type(dtype) != population.dtype:
        raise CheckpointError(
            f"{path}: its genes are {population.dtype}, not {real_type(dtype)}. Leave out dtype."
        )
