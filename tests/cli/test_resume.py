"""Runs that are killed, interrupted or starved of disk: they go on as if nothing had happened."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evonet.runs.start
from evonet.cli.app import Exit
from evonet.files.generation_lines import GenerationLines
from evonet.runs import RunFolder
from tests.support.cli_runs import (
    CommandLine,
    finish,
    metrics_of,
    start,
    wait_for_generations,
    write_parity,
)

GENERATIONS = 40
FILES = ("champion.json", "improvements.jsonl", "config.toml")


@pytest.fixture
def evonet_(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The command line in an empty folder, saving after every generation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evonet.runs.start, "SAVING_EVERY", 0.0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return CommandLine(capsys)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parity(tmp_path_factory.mktemp("config"), GENERATIONS, 400)


@pytest.fixture(scope="module")
def uninterrupted(config: Path) -> Path:
    """What every run below must end with."""
    run = config.parent / "uninterrupted"
    assert finish(start("evolve", config, "--quiet", "--out", run)) == (Exit.DONE, "", "")
    return run


def assert_same(run: Path, uninterrupted: Path) -> None:
    for name in FILES:
        assert (run / name).read_bytes() == (uninterrupted / name).read_bytes(), name
    assert metrics_of(run) == metrics_of(uninterrupted)
    assert [record["generation"] for record in metrics_of(run)] == list(range(GENERATIONS))


@pytest.mark.parametrize("saving_every", [0.0, 1e9], ids=["saving always", "saving once"])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    config: Path, uninterrupted: Path, tmp_path: Path, saving_every: float
) -> None:
    run = tmp_path / "run"
    command: list[object] = ["evolve", config, "--quiet", "--out", run]
    for generation in (1, 9, 23):
        process = start(*command, saving_every=saving_every)
        wait_for_generations(run, generation, process)
        process.send_signal(signal.SIGKILL)
        assert finish(process).status == -signal.SIGKILL
        command = ["resume", run, "--quiet"]
    assert finish(start(*command, saving_every=saving_every)) == (Exit.DONE, "", "")
    assert_same(run, uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_saves_and_says_how_to_go_on(
    config: Path, uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    process = start("evolve", config, "--out", run, saving_every=1e9)
    wait_for_generations(run, 12, process)
    process.send_signal(number)
    status, _, said = finish(process)
    assert status == Exit.INTERRUPTED
    last = said.splitlines()[-1]
    assert last.startswith("evonet: interrupted after ")
    assert last.endswith(f"Resume with: evonet resume {run}")
    assert "Traceback" not in said
    assert len(list(RunFolder(run).checkpoints.iterdir())) >= 2  # the first, and the last
    assert finish(start("resume", run, "--quiet")) == (Exit.DONE, "", "")
    assert_same(run, uninterrupted)


def test_a_run_killed_before_its_first_checkpoint_begins_again(
    evonet_: CommandLine, config: Path, uninterrupted: Path
) -> None:
    Path("run").mkdir()
    Path("run/config.toml").write_bytes((uninterrupted / "config.toml").read_bytes())
    Path("run/metrics.jsonl").write_text('{"generation": 0, "be')
    assert evonet_("resume", "run", "--quiet").status == Exit.DONE
    assert_same(Path("run"), uninterrupted)


def test_a_finished_run_can_be_given_more_generations(
    evonet_: CommandLine, config: Path, uninterrupted: Path
) -> None:
    evonet_("evolve", config, "--generations", 7, "--quiet", "--out", "run")
    said = evonet_("resume", "run", "--generations", GENERATIONS)
    assert "from generation 7" in said.out
    assert_same(Path("run"), uninterrupted)


def test_a_resumed_run_counts_all_evaluations_and_only_its_own_time(
    evonet_: CommandLine, config: Path
) -> None:
    evonet_("evolve", config, "--generations", 7, "--quiet", "--out", "run")
    said = evonet_("resume", "run", "--generations", 9).out
    assert "after 9 generations" in said
    assert "3,600 evaluations, of which the last 2 generations took " in said


TASK = """
from evonet.tasks import Supervised

class Mine(Supervised):
    def __init__(self):
        super().__init__([[0.0], [1.0]], [[0.0], [1.0]])
"""


@pytest.mark.parametrize("named_in_a_config", [False, True])
def test_a_task_in_a_file_is_found_when_resuming_from_another_folder(
    named_in_a_config: bool,
    evonet_: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "mine_here.py").write_text(TASK)
    (tmp_path / "elsewhere").mkdir()
    what = "mine_here.py:Mine"
    if named_in_a_config:  # beside the config, not in the current folder
        (tmp_path / "mine.toml").write_text(f'[task]\nname = "{what}"\n')
        monkeypatch.chdir(tmp_path / "elsewhere")
        what = "../mine.toml"
    run = tmp_path / "run"
    assert evonet_("evolve", what, "--generations", 2, "--quiet", "--out", run).err == ""
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert evonet_("resume", run, "--generations", 3, "--quiet").err == ""


def test_resuming_a_finished_run_changes_nothing(
    evonet_: CommandLine, config: Path, tmp_path: Path
) -> None:
    evonet_("evolve", config, "--generations", 3, "--quiet", "--out", "run")
    before = {p: p.read_bytes() for p in Path("run").rglob("*") if p.is_file()}
    assert evonet_("resume", "run", "--quiet").status == Exit.DONE
    assert {p: p.read_bytes() for p in Path("run").rglob("*") if p.is_file()} == before


@pytest.mark.filterwarnings("always")
def test_a_damaged_checkpoint_is_named_and_an_older_one_taken(
    evonet_: CommandLine, config: Path, uninterrupted: Path
) -> None:
    evonet_("evolve", config, "--generations", 9, "--quiet", "--out", "run")
    newest = max(Path("run/checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:-100])
    said = evonet_("resume", "run", "--generations", GENERATIONS, "--quiet")
    assert said.status == Exit.DONE
    assert said.err.startswith(f"evonet: warning: {newest}: ")
    assert_same(Path("run"), uninterrupted)


def test_a_changed_config_needs_a_fork(evonet_: CommandLine, config: Path) -> None:
    evonet_("evolve", config, "--generations", 4, "--quiet", "--out", "run")
    settings = Path("run/config.toml")
    changed = settings.read_text().replace("conn_add_prob = 0.5", "conn_add_prob = 0.9")
    settings.write_text(changed)
    said = evonet_("resume", "run", "--generations", 8)
    assert said.status == Exit.ERROR
    assert "genome.conn_add_prob = 0.5, now 0.9" in said.err
    assert "--fork to change them" in said.err
    assert settings.read_text() == changed
    assert len(metrics_of(Path("run"))) == 4
    assert evonet_("resume", "run", "--generations", 8, "--fork", "--quiet").status == Exit.DONE
    assert len(metrics_of(Path("run"))) == 8


def test_two_processes_cannot_write_to_one_run(evonet_: CommandLine, config: Path) -> None:
    evonet_("evolve", config, "--generations", 2, "--quiet", "--out", "run")
    with RunFolder("run").locked():
        said = evonet_("resume", "run", "--generations", 5)
    assert said.status == Exit.ERROR
    assert said.err.count("\n") == 1
    assert "another process is working on this run" in said.err
    assert evonet_("resume", "run", "--generations", 5, "--quiet").status == Exit.DONE


def test_a_disk_that_is_full_from_the_beginning_leaves_nothing_behind(
    evonet_: CommandLine, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for out in ([], ["--out", "run"]):
        said = evonet_("evolve", config, "--quiet", *out)
        assert said.status == Exit.ERROR
        assert said.err.count("\n") == 1, said.err
        assert said.err.endswith("No space left on device. Choose another folder.\n")
    assert sorted(path.name for path in Path().rglob("*")) == ["runs"]


@pytest.mark.parametrize("writes", [1, 2, 3, 4, 17, 60])
def test_a_full_disk_loses_nothing(
    evonet_: CommandLine,
    config: Path,
    uninterrupted: Path,
    monkeypatch: pytest.MonkeyPatch,
    writes: int,
) -> None:
    """Whichever write fails, the run stops with one line, and goes on once there is space."""
    left = writes

    def full(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        said = evonet_("evolve", config, "--quiet", "--out", "run")
    assert said.status == Exit.ERROR
    assert said.err.count("\n") == 1, said.err
    assert "No space left on device" in said.err
    assert said.err.endswith("resume with: evonet resume run\n")
    assert not list(Path("run").rglob("*.tmp"))
    assert evonet_("resume", "run", "--quiet").status == Exit.DONE
    assert_same(Path("run"), uninterrupted)


def test_a_line_cut_short_by_a_full_disk_is_written_again(
    evonet_: CommandLine, config: Path, uninterrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = GenerationLines.write

    def full(self: GenerationLines, line: Mapping[str, Any]) -> None:
        if line["generation"] < 11:
            return write(self, line)
        assert self._file is not None
        self._file.write('{"generation": 11, "be')
        self._file.flush()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(GenerationLines, "write", full)
        said = evonet_("evolve", config, "--quiet", "--out", "run")
    assert said.status == Exit.ERROR
    assert said.err.count("\n") == 1
    assert "No space left on device" in said.err
    assert Path("run/metrics.jsonl").read_text().endswith('"be')
    assert evonet_("resume", "run", "--quiet").status == Exit.DONE
    assert_same(Path("run"), uninterrupted)
