"""From a checkpoint back to an evolution, and which settings may differ from before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evonet.config import Config
from evonet.config.config import EVOLUTION
from evonet.errors import CheckpointError, CyclicGenomeError
from evonet.evaluation import OnBadFitness
from evonet.evolution.checkpoint.file import Checkpoint, check_acyclic
from evonet.genes.population import Population
from evonet.messages import show

if TYPE_CHECKING:
    from evonet.evolution.algorithm import Algorithm


def restore(
    checkpoint: Checkpoint,
    config: Config | None = None,
    fork: bool = False,
    *,
    seed: int | None = None,
    backend: str | None = None,
    threads: int | None = None,
    on_bad_fitness: OnBadFitness | None = None,
) -> Algorithm:
    """Continues from a checkpoint; `load_checkpoint` documents the arguments.

    Raises:
        CheckpointError: The config or the seed has changed.
    """
    state, old = checkpoint.state, checkpoint.config
    new = old if config is None else config
    if seed is None:
        # It may have been given apart from the config, so only a change of it counts.
        seed = checkpoint.seed if new.run.seed == old.run.seed else new.run.seed
    if on_bad_fitness is None:
        changed = new.run.on_bad_fitness != old.run.on_bad_fitness
        on_bad_fitness = new.run.on_bad_fitness if changed else checkpoint.on_bad_fitness
    changes = _changes(old, new, state.population)
    if seed != checkpoint.seed:
        changes["seed"] = f"{checkpoint.seed}, now {seed}"
    if changes and not fork:
        listed = "; ".join(f"{name} = {change}" for name, change in changes.items())
        raise CheckpointError(
            f"{checkpoint.path}: the run has other settings: {listed}. Resume with the settings "
            "it has, or with fork=True to change them on the way."
        )
    _check_fork(checkpoint, new, changes)
    state = checkpoint.algorithm.forked_state(state, new, frozenset(changes))
    return checkpoint.algorithm(
        new,
        seed,
        num_inputs=state.population.num_inputs,
        num_outputs=state.population.num_outputs,
        dtype=state.population.dtype,
        backend=backend,
        threads=threads,
        on_bad_fitness=on_bad_fitness,
        state=state,
    )


def _changes(old: Config, new: Config, population: Population) -> dict[str, str]:
    """Names the settings that make a run evolve otherwise, with both values.

    Those of the task are among them: what it scores decides what evolves. A config without [task]
    leaves the task to the caller.
    """
    tables = ("task", *EVOLUTION) if old.task and new.task else EVOLUTION
    if old.digest() == new.digest() and (old.task == new.task or "task" not in tables):
        return {}
    before, after = old.to_dict(), new.to_dict()
    for config in (before, after):
        config.setdefault("functions", {})
        # Spelling out what was left to the task is no change.
        for name in ("num_inputs", "num_outputs"):
            config["genome"].setdefault(name, getattr(population, name))
    return {
        f"{table}.{key}": f"{_shown(before[table], key)}, now {_shown(after[table], key)}"
        for table in tables
        for key in before[table] | after[table]
        if before[table].get(key) != after[table].get(key)
    }


def _shown(table: dict[str, object], key: str) -> str:
    return show(table[key]) if key in table else "not set"


def _check_fork(checkpoint: Checkpoint, config: Config, changes: dict[str, str]) -> None:
    """Raises for a change that the genomes of a checkpoint cannot follow."""
    for name in ("genome.num_inputs", "genome.num_outputs"):
        if name in changes:
            raise CheckpointError(
                f"{checkpoint.path}: {name} = {changes[name]}. Not even a fork can change that."
            )
    name = "neat.fitness_criterion"
    if name in changes and "min" in (
        checkpoint.config.neat.fitness_criterion,
        config.neat.fitness_criterion,
    ):
        raise CheckpointError(
            f"{checkpoint.path}: {name} = {changes[name]}. What was best would be worst; not even "
            "a fork can change that."
        )
    if "genome.feed_forward" in changes and config.genome.feed_forward:
        try:
            check_acyclic(checkpoint.state.population)
        except CyclicGenomeError as error:
            raise CheckpointError(
                f"{checkpoint.path}: genome.feed_forward = {changes['genome.feed_forward']}, but "
                f"{error}"
            ) from error
