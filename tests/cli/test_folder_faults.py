"""Run folders with something wrong in them: nothing is lost, and nothing outside is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import evonet.runs.start
from evonet.cli.app import Exit
from evonet.files.atomic import open_atomic, remove_leftovers
from tests.support.cli_runs import CommandLine, finish, start, wait_for_generations, write_parity

GENERATIONS = 6


@pytest.fixture
def evonet_(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The command line in an empty folder, saving after every generation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evonet.runs.start, "SAVING_EVERY", 0.0)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return CommandLine(capsys)


@pytest.fixture
def run(evonet_: CommandLine, tmp_path: Path) -> Path:
    """A run of a few generations."""
    folder = tmp_path / "run"
    config = write_parity(tmp_path, GENERATIONS)
    assert evonet_("evolve", config, "--quiet", "--out", folder).status == Exit.DONE
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


# Checkpoints that are gone.


@pytest.mark.parametrize("way", ["moved", "emptied", "unmounted"])
@pytest.mark.parametrize("left", ["everything", "champion.json", "metrics.jsonl"])
def test_a_run_whose_checkpoints_are_gone_is_not_started_again(
    way: str, left: str, run: Path, evonet_: CommandLine, tmp_path: Path
) -> None:
    shutil.move(run / "checkpoints", tmp_path / "elsewhere")
    if way == "emptied":
        (run / "checkpoints").mkdir()
    if way == "unmounted":
        (run / "checkpoints").symlink_to(tmp_path / "not-mounted")
    for name in ("champion.json", "metrics.jsonl", "improvements.jsonl"):
        if left not in ("everything", name):
            (run / name).unlink()
    before = contents(run)
    outcome = evonet_("resume", run, "--generations", GENERATIONS + 2)
    assert outcome.status == Exit.ERROR
    assert contents(run) == before
    assert "checkpoints" in outcome.err
    if way != "unmounted":
        assert "put them back" in outcome.err
        shutil.rmtree(run / "checkpoints", ignore_errors=True)
        shutil.move(tmp_path / "elsewhere", run / "checkpoints")
        more = evonet_("resume", run, "--quiet", "--generations", GENERATIONS + 2)
        assert more.status == Exit.DONE


def test_a_run_that_was_killed_before_its_first_checkpoint_starts_again(
    run: Path, evonet_: CommandLine
) -> None:
    before = contents(run)
    shutil.rmtree(run / "checkpoints")
    for name in ("metrics.jsonl", "improvements.jsonl"):
        first = (run / name).read_bytes().splitlines(keepends=True)[0]
        (run / name).write_bytes(first + b'{"generation": 1, "be')
    (run / "champion.json").unlink()
    assert evonet_("resume", run, "--quiet").status == Exit.DONE
    for name in ("champion.json", "improvements.jsonl"):
        assert contents(run)[name] == before[name]


# Links and other things that are no files.

LINKS = ("report.html", "champion.json", "metrics.jsonl", "improvements.jsonl", ".lock")


@pytest.mark.parametrize("name", [*LINKS, "config.toml"])
@pytest.mark.parametrize("command", ["report", "resume"])
def test_nothing_is_written_through_a_link_out_of_the_folder(
    command: str, name: str, run: Path, evonet_: CommandLine, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    shutil.move(run / name, outside)
    (run / name).symlink_to(outside)
    before = outside.read_bytes()
    more = ("--generations", GENERATIONS + 1) if command == "resume" else ()
    outcome = evonet_(command, run, *more)
    assert outside.read_bytes() == before
    assert (run / name).is_symlink()
    assert (outcome.status == Exit.ERROR) == (command == "resume" or name == "report.html")
    if outcome.status == Exit.ERROR:
        assert name in outcome.err


@pytest.mark.filterwarnings("default:.*not a safetensors file")
def test_a_checkpoint_that_is_a_link_is_not_written_through(
    run: Path, evonet_: CommandLine, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (run / "checkpoints" / f"checkpoint-{GENERATIONS:06d}.safetensors").symlink_to(outside)
    outcome = evonet_("resume", run, "--generations", GENERATIONS + 1)
    assert outside.read_text() == "precious"
    assert "Traceback" not in outcome.err


def test_a_link_that_stays_in_the_folder_is_followed(run: Path, evonet_: CommandLine) -> None:
    (run / "report.html").rename(run / "page.html")
    (run / "report.html").symlink_to("page.html")
    (run / "page.html").write_text("old")
    assert evonet_("report", run).status == Exit.DONE
    assert (run / "report.html").is_symlink()
    assert "<html" in (run / "page.html").read_text()


def test_a_run_in_a_linked_folder_is_resumed(
    run: Path, evonet_: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "latest").symlink_to(run)
    more = ("--quiet", "--generations", GENERATIONS + 1)
    assert evonet_("resume", tmp_path / "latest", *more).status == Exit.DONE


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
@pytest.mark.parametrize("name", [*LINKS, "config.toml"])
def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused_by_name(
    name: str, make: Callable[[Path], None], run: Path, evonet_: CommandLine
) -> None:
    (run / name).unlink()
    make(run / name)
    outcome = evonet_("resume", run, "--generations", GENERATIONS + 1)
    assert name in outcome.err
    assert not (run / name).is_file()
    # The report alone does not spoil a run that succeeded.
    assert outcome.status == (Exit.DONE if name == "report.html" else Exit.ERROR)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
@pytest.mark.parametrize("generation", [3, 99])
def test_what_is_named_like_a_checkpoint_and_is_no_file_is_left_alone(
    generation: int, make: Callable[[Path], None], run: Path, evonet_: CommandLine
) -> None:
    strange = run / "checkpoints" / f"checkpoint-{generation:06d}.safetensors"
    strange.unlink(missing_ok=True)
    make(strange)
    more = ("--quiet", "--generations", GENERATIONS + 1)
    assert evonet_("resume", run, *more) == (Exit.DONE, "", "")
    assert strange.exists()


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, problem in (("pipe", "regular file"), ("folder", "is a folder")):
        with pytest.raises(OSError, match=problem), open_atomic(tmp_path / name) as file:
            file.write(b"x")
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_snapshot_by_hard_links_stays_as_it_is(
    run: Path, evonet_: CommandLine, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "snapshot", copy_function=os.link)
    before = contents(tmp_path / "snapshot")
    more = ("--quiet", "--generations", GENERATIONS + 2)
    assert evonet_("resume", run, *more).status == Exit.DONE
    assert contents(tmp_path / "snapshot") == before


# What killed processes leave behind.


def test_temporary_files_of_killed_processes_are_removed(run: Path, evonet_: CommandLine) -> None:
    checkpoint = f"checkpoint-{GENERATIONS - 1:06d}.safetensors"
    left = [
        *(run / f".{name}.{'0a' * 8}.tmp" for name in ("champion.json", "report.html")),
        run / "checkpoints" / f".{checkpoint}.{'0b' * 8}.tmp",
    ]
    foreign = run / f".notes.{'0c' * 8}.tmp"
    for path in (*left, foreign):
        path.write_bytes(b"half")
    more = ("--quiet", "--generations", GENERATIONS + 1)
    assert evonet_("resume", run, *more).status == Exit.DONE
    assert [path for path in left if path.exists()] == []
    assert foreign.exists()


def test_a_file_that_is_being_written_is_no_leftover(tmp_path: Path) -> None:
    with open_atomic(tmp_path / "report.html") as file:
        file.write(b"new")
        remove_leftovers(tmp_path, ["report.html"])
        assert len(list(tmp_path.iterdir())) == 1
    assert (tmp_path / "report.html").read_bytes() == b"new"


def test_a_killed_run_leaves_nothing_behind_once_it_is_resumed(tmp_path: Path) -> None:
    config, folder = write_parity(tmp_path, 10_000, 60), tmp_path / "run"
    for _ in range(3):
        command = ("resume", folder) if folder.exists() else ("evolve", config, "--out", folder)
        process = start(*command, "--quiet")
        wait_for_generations(folder, 2, process)
        process.kill()
        process.communicate()
    done = len((folder / "metrics.jsonl").read_bytes().splitlines())
    assert finish(start("resume", folder, "--quiet", "--generations", done + 1)).status == Exit.DONE
    assert [path.name for path in folder.rglob("*.tmp")] == []


# A task that has changed.


def test_a_changed_task_needs_a_fork(run: Path, evonet_: CommandLine) -> None:
    config = run / "config.toml"
    config.write_text(config.read_text().replace("bits = 4", "bits = 4\nsolved = 15.5"))
    before = contents(run)
    more = ("--generations", GENERATIONS + 1)
    refused = evonet_("resume", run, *more)
    assert refused.status == Exit.ERROR
    assert "task.solved = not set, now 15.5" in refused.err
    assert "--fork" in refused.err
    assert contents(run) == before
    assert evonet_("resume", run, "--quiet", "--fork", *more) == (Exit.DONE, "", "")
    assert evonet_("resume", run, "--quiet", *more) == (Exit.DONE, "", "")
