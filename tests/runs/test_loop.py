"""The loop: how long it runs, what it gives, and that an interruption makes no difference."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import evonet
from evonet.config import Config
from evonet.errors import CheckpointError, FitnessError, OptionError
from evonet.evolution import NEAT
from evonet.evolution.callbacks import CheckpointSaver, GenerationRecord, MetricsWriter
from evonet.evolution.checkpoint import save_checkpoint
from evonet.evolution.checkpoint.file import pack
from evonet.network import Network
from evonet.runs.champion import save_champion
from evonet.runs.loop import Result, evolve, task_seed
from evonet.tasks import xor
from tests.support.evolution_cases import xor_config

GENERATIONS = 12


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def config(**changes: Any) -> Config:
    return xor_config(15).replace({"speciation.threshold": 1.5, **changes})


def stopping(**changes: Any) -> Config:
    """A config that ends where the task is solved."""
    return config(**{"neat.no_fitness_termination": False, **changes})


def state_of(neat: NEAT) -> tuple[dict[str, Any], dict[str, bytes]]:
    settings, tensors = pack(neat)
    return settings, {name: array.tobytes() for name, array in tensors.items()}


class NoisyXor:
    """Adds noise to the fitness that depends on nothing but the seed."""

    num_inputs = 2
    num_outputs = 1

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        self.seeds.append(seed)
        noise: npt.NDArray[Any] = np.random.default_rng(seed).normal(0, 0.1, len(network))
        return xor().evaluate(network, seed) + noise


# How long.


def test_evolve_does_what_ask_and_tell_do() -> None:
    lent = config(**{"neat.fitness_threshold": xor().fitness_threshold})
    neat = NEAT(lent, 3, num_inputs=2, num_outputs=1)
    for _ in range(GENERATIONS):
        neat.tell(xor().evaluate(evonet.compile(neat.ask()), 0))
    result = evolve(xor(), config(), generations=GENERATIONS, seed=3)
    assert state_of(result.algorithm) == state_of(neat)
    assert result.best == neat.best
    assert (result.generation, result.solved) == (GENERATIONS - 1, False)
    assert result.evaluations == 15 * GENERATIONS
    assert result.seconds > 0


def test_a_solved_task_ends_the_run() -> None:
    result = evolve(xor(), stopping(**{"neat.fitness_threshold": 2.4}), generations=100)
    assert result.solved
    assert result.best is not None
    assert result.best.fitness >= 2.4
    assert result.generation == result.best.generation < 99


def test_the_config_says_how_long_if_nobody_else_does() -> None:
    assert evolve(xor(), config(**{"run.generations": 3})).generation == 2


def test_the_threshold_of_a_task_holds_where_the_config_has_none() -> None:
    task = xor()
    task.fitness_threshold = 2.4
    assert evolve(task, stopping(), generations=100).solved
    higher = stopping(**{"neat.fitness_threshold": 3.99})
    assert not evolve(task, higher, generations=5).solved


def test_no_generations_give_no_best_genome() -> None:
    result = evolve(xor(), config(), generations=0)
    assert (result.best, result.generation, result.evaluations) == (None, 0, 0)


@pytest.mark.parametrize("dtype", ["float32", np.float64])
def test_genes_have_the_type_asked_for(dtype: Any) -> None:
    result = evolve(xor(), config(), generations=1, dtype=dtype)
    assert result.algorithm.state.population.dtype == np.dtype(dtype)


def test_neither_threads_nor_saving_change_the_bits(tmp_path: Path) -> None:
    plain = evolve(xor(), config(), generations=GENERATIONS, threads=1)
    saving = evolve(
        xor(),
        config(),
        generations=GENERATIONS,
        threads=3,
        callbacks=[CheckpointSaver(tmp_path), MetricsWriter(tmp_path / "m")],
    )
    assert state_of(saving.algorithm) == state_of(plain.algorithm)


def test_a_task_gets_another_seed_in_each_generation_and_run() -> None:
    task = NoisyXor()
    evolve(task, config(), generations=5, seed=1)
    evolve(task, config(), generations=5, seed=2)
    assert len(set(task.seeds)) == 10
    assert task.seeds[:5] == [task_seed(1, generation) for generation in range(5)]
    assert all(0 <= seed < 2**63 for seed in task.seeds)


def test_the_seed_of_a_task_never_changes_between_releases() -> None:
    assert task_seed(0, 0) == 1603111252072552417
    assert task_seed(2**64 - 1, 10**6) == 3891477208153691493


# What does not fit.


@pytest.mark.parametrize("name", ["num_inputs", "num_outputs"])
def test_a_task_that_contradicts_the_config_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=rf"{name}=. of the task contradicts .*genome.{name} = 5"):
        evolve(xor(), config(**{f"genome.{name}": 5}))


def test_what_is_no_task_is_refused() -> None:
    with pytest.raises(OptionError, match="is not a task, which has num_inputs"):
        evolve("xor", config())  # type: ignore[arg-type]


def test_a_fresh_run_needs_a_config() -> None:
    with pytest.raises(OptionError, match="evolve needs a config, such as Config"):
        evolve(xor())
    with pytest.raises(OptionError, match=r"config=3 is not a Config\. Make one with"):
        evolve(xor(), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("generations", [-1, 1.5, True, "3"])
def test_generations_that_make_no_sense_are_refused(generations: Any) -> None:
    with pytest.raises(OptionError, match=r"generations=.* must be a whole number"):
        evolve(xor(), config(), generations=generations)


def test_a_fitness_that_is_no_number_is_refused_unless_it_counts_as_the_worst() -> None:
    class Broken(NoisyXor):
        def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
            fitness = xor().evaluate(network, seed)
            fitness[2] = np.nan
            return fitness

    with pytest.raises(FitnessError, match="genome 2"):
        evolve(Broken(), config(), generations=3)
    assert evolve(Broken(), config(), generations=3, on_bad_fitness="worst").generation == 2


# Resuming.


def leave_traces(
    folder: Path, resume: Path | None = None, generations: int = GENERATIONS
) -> Result:
    """Runs with everything that leaves a file."""
    result = evolve(
        NoisyXor(),
        config(),
        generations=generations,
        resume=resume,
        callbacks=[
            CheckpointSaver(folder / "states", keep=GENERATIONS),
            MetricsWriter(folder / "metrics.jsonl"),
        ],
    )
    if result.best is not None:
        save_champion(folder / "champion.json", result.best, result.algorithm.config)
    return result


def traces(folder: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    metrics = [{k: v for k, v in json.loads(x).items() if "second" not in k} for x in lines]
    files = [folder / "champion.json", *(folder / "states").iterdir()]
    return {path.name: path.read_bytes() for path in files}, metrics


def test_a_run_resumed_after_any_generation_leaves_what_an_uninterrupted_one_leaves(
    tmp_path: Path,
) -> None:
    whole = leave_traces(tmp_path / "whole")
    expected = traces(tmp_path / "whole")
    for stop in range(1, GENERATIONS + 1):
        folder = tmp_path / str(stop)
        leave_traces(folder, generations=stop)
        again = leave_traces(folder, folder / "states")
        assert traces(folder) == expected
        assert state_of(again.algorithm) == state_of(whole.algorithm)
        assert (again.generation, again.evaluations) == (whole.generation, whole.evaluations)


def test_a_run_resumed_in_every_generation_leaves_the_same_too(tmp_path: Path) -> None:
    leave_traces(tmp_path / "whole")
    leave_traces(tmp_path / "bits", generations=1)
    for generations in range(2, GENERATIONS + 1):
        leave_traces(tmp_path / "bits", tmp_path / "bits" / "states", generations)
    assert traces(tmp_path / "bits") == traces(tmp_path / "whole")


def test_a_solved_run_that_is_resumed_is_still_solved(tmp_path: Path) -> None:
    solved = stopping(**{"neat.fitness_threshold": 2.4})
    first = evolve(xor(), solved, generations=99, callbacks=[CheckpointSaver(tmp_path)])
    again = evolve(xor(), solved, generations=99, resume=tmp_path)
    assert again.solved
    assert again.generation == first.generation
    assert again.evaluations == first.evaluations


def test_a_generation_that_was_bred_but_not_evaluated_is_resumed(tmp_path: Path) -> None:
    neat = evolve(NoisyXor(), config(), generations=4).algorithm
    neat.ask()
    save_checkpoint(neat, tmp_path)
    again = evolve(NoisyXor(), config(), generations=GENERATIONS, resume=tmp_path)
    whole = evolve(NoisyXor(), config(), generations=GENERATIONS)
    assert state_of(again.algorithm) == state_of(whole.algorithm)
    assert again.evaluations == whole.evaluations


def test_a_checkpoint_has_a_config_of_its_own(tmp_path: Path) -> None:
    evolve(xor(), config(), generations=3, seed=5, callbacks=[CheckpointSaver(tmp_path)])
    again = evolve(xor(), generations=6, resume=tmp_path)
    whole = evolve(xor(), config(), generations=6, seed=5)
    assert state_of(again.algorithm) == state_of(whole.algorithm)


def test_a_changed_config_is_only_for_a_fork(tmp_path: Path) -> None:
    evolve(xor(), config(), generations=3, callbacks=[CheckpointSaver(tmp_path)])
    changed = config(**{"neat.pop_size": 25})
    with pytest.raises(CheckpointError, match=r"neat.pop_size = 15, now 25"):
        evolve(xor(), changed, generations=6, resume=tmp_path)
    fork = evolve(xor(), changed, generations=6, resume=tmp_path, fork=True)
    assert len(fork.algorithm.state.population) == 25
    assert fork.evaluations == 3 * 15 + 3 * 25


def test_a_checkpoint_of_another_task_or_type_is_refused(tmp_path: Path) -> None:
    evolve(xor(), config(), generations=1, callbacks=[CheckpointSaver(tmp_path)])
    task = NoisyXor()
    task.num_inputs = 3
    with pytest.raises(CheckpointError, match="have num_inputs=2, and the task has num_inputs=3"):
        evolve(task, resume=tmp_path)
    with pytest.raises(CheckpointError, match="its genes are float32, not float64"):
        evolve(xor(), resume=tmp_path, dtype=np.float64)


# Interrupts.


@pytest.mark.parametrize("where", ["ask", "evaluate", "tell", "tell half done", "callback"])
def test_an_interrupt_anywhere_leaves_a_state_to_go_on_from(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = evolve(NoisyXor(), config(), generations=GENERATIONS)

    class Interrupted(NoisyXor):
        def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
            fitness = super().evaluate(network, seed)
            if where == "evaluate" and len(self.seeds) == 5:
                raise KeyboardInterrupt
            return fitness

    original_ask, original_tell = NEAT.ask, NEAT.tell
    original_told_state = NEAT.told_state

    def ask(neat: NEAT) -> evonet.Population:
        if where == "ask" and neat.generation == 4:
            raise KeyboardInterrupt
        return original_ask(neat)

    def tell(neat: NEAT, fitness: npt.ArrayLike, best: evonet.Best | None = None) -> None:
        if where == "tell" and neat.generation == 4:
            raise KeyboardInterrupt
        original_tell(neat, fitness, best)

    def told_state(neat: NEAT, state: Any, evaluation: evonet.Evaluation) -> Any:
        if where == "tell half done" and neat.generation == 4:
            raise KeyboardInterrupt
        return original_told_state(neat, state, evaluation)

    def callback(record: GenerationRecord) -> None:
        if where == "callback" and record.generation == 4:
            raise KeyboardInterrupt

    ended: list[Result] = []

    class Ending(CheckpointSaver):
        def on_end(self, result: Result) -> None:
            super().on_end(result)
            ended.append(result)

    with monkeypatch.context() as patch:
        patch.setattr(NEAT, "ask", ask)
        patch.setattr(NEAT, "tell", tell)
        patch.setattr(NEAT, "told_state", told_state)
        with pytest.raises(KeyboardInterrupt):
            evolve(
                Interrupted(),
                config(),
                generations=GENERATIONS,
                callbacks=[Ending(tmp_path, every=3), callback],
            )
    assert len(ended) == 1
    for resume in ("folder", "neat"):
        if resume == "neat":
            save_checkpoint(ended[0].algorithm, tmp_path / "other")
        folder = tmp_path if resume == "folder" else tmp_path / "other"
        again = evolve(NoisyXor(), config(), generations=GENERATIONS, resume=folder)
        assert state_of(again.algorithm) == state_of(expected.algorithm)
