"""Runs in folders, as a library: what is kept, what is refused, what is read again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evonet.config import Config
from evonet.errors import FileFormatError, FitnessError, RunFolderError
from evonet.network import Network
from evonet.runs import RunFolder, resume_run, start_run
from evonet.runs.champion import read_champion
from evonet.runs.folder import FILES, next_folder
from evonet.runs.improvements import read_improvements
from evonet.tasks import xor
from tests.support.evolution_cases import xor_config


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def config(**changes: Any) -> Config:
    return xor_config(20).replace({"run.generations": 4, **changes})


def test_a_run_keeps_all_but_the_report(tmp_path: Path) -> None:
    result = start_run(tmp_path / "run", xor(), config())
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {*FILES, ".lock"} - {"film.png", "report.html"}  # the command line's
    assert result.best is not None
    champion = read_champion(tmp_path / "run" / "champion.json")
    assert champion.population == result.best.population
    assert champion.fitness == result.best.fitness


def test_the_folders_config_holds_unless_another_is_given(tmp_path: Path) -> None:
    start_run(tmp_path / "run", xor(), config())
    assert resume_run(tmp_path / "run", xor()).generation == 3
    assert resume_run(tmp_path / "run", xor(), config(**{"run.generations": 6})).generation == 5
    assert Config.load(tmp_path / "run" / "config.toml").run.generations == 6


@pytest.mark.parametrize("name", FILES)
def test_a_folder_with_anything_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    with pytest.raises(RunFolderError, match=f"already holds {name} of a run"):
        start_run(tmp_path, xor(), config())
    assert (tmp_path / name).read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_with_other_things_is_welcome(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    start_run(tmp_path, xor(), config())
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_that_fails_can_go_on(tmp_path: Path) -> None:
    class Moody:
        num_inputs, num_outputs = 2, 1
        fitness_threshold = xor().fitness_threshold

        def __init__(self, bad: int) -> None:
            self.left = bad

        def evaluate(self, network: Network, seed: int) -> Any:
            self.left -= 1
            fitness = xor().evaluate(network, seed)
            return fitness if self.left else fitness * float("nan")

    start_run(tmp_path / "whole", xor(), config())
    with pytest.raises(FitnessError):
        start_run(tmp_path / "run", Moody(3), config())
    resume_run(tmp_path / "run", Moody(0))
    for name in ("champion.json", "improvements.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_runs_that_begin_together_get_folders_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        homes = list(pool.map(lambda _: next_folder(tmp_path / "runs", "x"), range(24)))
    assert len({home.path for home in homes}) == 24


def test_only_an_empty_folder_is_discarded(tmp_path: Path) -> None:
    empty, full = RunFolder(tmp_path / "empty"), RunFolder(tmp_path / "full")
    for home in (empty, full):
        home.create()
        with home.locked():
            pass
    full.metrics.write_text("")
    for home in (empty, full, RunFolder(tmp_path / "nowhere")):
        home.discard(FitnessError("nan"))
    assert not empty.path.exists()
    assert full.metrics.exists()


def test_settings_are_kept_where_a_run_can_begin_again(tmp_path: Path) -> None:
    home = RunFolder(tmp_path / "run")
    home.create()
    home.config.write_text("")
    for error in (KeyboardInterrupt(), OSError("no space left")):
        home.discard(error)
        assert home.config.exists()
    home.discard(FitnessError("nan"))
    assert not home.path.exists()


@pytest.mark.parametrize(
    "line", ["3", "{}", '{"generation": 0, "fitness": 1, "id": 2, "nodes": [[1]]}', "{" * 100_000]
)
def test_what_is_no_improvement_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "improvements.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(FileFormatError, match="line 1 is no improvement"):
        read_improvements(path)
    path.write_text(line)  # without an end it was cut short
    assert read_improvements(path) == []
