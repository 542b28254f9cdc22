"""Whatever a command is given, and wherever it prints to: one line, an exit code, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evonet.cli import app
from evonet.cli.app import Exit
from evonet.genes.population import Population
from evonet.runs.champion import save_champion
from tests.support.cli_runs import CommandLine, metrics_of, write_parity

BROKEN_TASK = """
class Broken:
    num_inputs, num_outputs = 2, 1

    def evaluate(self, network, seed):
        return self.score(network)

    def score(self, network):
        raise {error}
"""


@pytest.fixture
def evonet_(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return CommandLine(capsys)


@pytest.fixture
def champion(tmp_path: Path) -> Path:
    """A champion file whose task has escape codes and half a character in its name."""
    path = tmp_path / "champion.json"
    genome = Population.from_genes(2, 1, [([0], [(-1, 0, 1.5)])])
    save_champion(path, genome, metadata={"task": "\x1b[31mred\ud800", "input 0": "\x07bell"})
    return path


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command.replace("evonet", f"{sys.executable} -m evonet"),
        shell=True,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


# Errors that nobody raised on purpose.


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("ZeroDivisionError('by zero')", "ZeroDivisionError: by zero ("),
        ("MemoryError", "there is not enough memory for this."),
        ("RecursionError('too deep')", "RecursionError: too deep ("),
        ("RuntimeError('two\\nlines \\x1b[31m')", "RuntimeError: two ("),
        ("SystemError", "SystemError ("),
    ],
)
def test_an_error_in_a_custom_task_is_one_line_that_names_its_place(
    error: str, said: str, evonet_: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN_TASK.format(error=error))
    outcome = evonet_("evolve", "broken.py:Broken", "--quiet")
    assert outcome.status == Exit.ERROR
    assert outcome.err.startswith(f"evonet: {said}")
    assert len(outcome.err.splitlines()) == 1
    if "(" in said:
        assert "broken.py, line 9)" in outcome.err
        assert "fault in evonet" not in outcome.err
    debugged = evonet_("evolve", "broken.py:Broken", "--quiet", "--debug")
    assert debugged.status == Exit.ERROR
    assert "Traceback (most recent call last)" in debugged.err
    assert debugged.err.splitlines()[-1] == outcome.err.splitlines()[0]


def test_an_error_in_evonet_itself_asks_for_a_report(
    evonet_: CommandLine, champion: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise KeyError("planted")

    monkeypatch.setattr("evonet.report.layout.lay_out", fail)
    outcome = evonet_("inspect", champion)
    assert outcome.status == Exit.ERROR
    assert len(outcome.err.splitlines()) == 1
    assert "KeyError: 'planted'" in outcome.err
    assert "--debug prints the traceback" in outcome.err


@pytest.mark.parametrize("where", ["before", "after"])
def test_every_command_takes_debug(where: str, evonet_: CommandLine) -> None:
    for name in app.COMMANDS:
        words = ("--debug", name) if where == "before" else (name, "--debug")
        assert evonet_(*words, "--help").status == Exit.DONE


@pytest.mark.parametrize(
    "words",
    [
        ("evolve", "xor", "--out", ""),
        ("evolve", "xor", "--out", "  "),
        ("evolve", "xor", "--config", ""),
        ("inspect", ""),
        ("inspect", "champion.json", "--svg", ""),
        ("report", ""),
        ("resume", ""),
        ("new", ""),
    ],
)
def test_an_empty_path_is_refused(words: tuple[str, ...], evonet_: CommandLine) -> None:
    outcome = evonet_(*words)
    assert outcome.status == Exit.USAGE
    assert "is empty" in outcome.err
    assert list(Path().iterdir()) == []


# Streams.


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_closed_streams_do_no_harm(closed: str, champion: Path) -> None:
    done = shell(f"evonet inspect {champion} {closed}")
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16", "cp437"])
def test_output_that_is_not_utf_8_does_no_harm(encoding: str, champion: Path) -> None:
    done = shell(f"evonet inspect {champion}", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_a_full_disk_behind_the_output_is_one_line(champion: Path) -> None:
    done = shell(f"evonet inspect {champion} > /dev/full")
    assert done.returncode == Exit.ERROR
    assert done.stderr.count(b"\n") <= 1
    assert b"Traceback" not in done.stderr


def test_a_name_that_is_not_unicode_is_printed_somehow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evonet", "inspect", os.fsencode(tmp_path) + b"/\xff\xfe.json"],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == Exit.ERROR
    assert done.stderr.count(b"\n") == 1
    assert b"No such file" in done.stderr


def test_ctrl_c_during_imports_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "click").mkdir()
    (tmp_path / "click" / "__init__.py").write_text(
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # jobs may start without it
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    )
    done = shell("evonet --help", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (130, b"evonet: interrupted.\n")


# Escape codes.


def test_inspect_prints_no_escape_codes_of_a_file(champion: Path) -> None:
    done = shell(f"evonet inspect {champion}")
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert b"\x07" not in done.stdout
    assert rb"\x1b[31mred\ud800" in done.stdout


def test_messages_spell_out_the_escape_codes_of_a_path(evonet_: CommandLine) -> None:
    outcome = evonet_("inspect", "\x1b[31mred.json")
    assert outcome.status == Exit.ERROR
    assert r"\x1b[31mred.json" in outcome.err
    assert "\x1b" not in outcome.err


def test_a_config_may_have_a_name_that_is_not_unicode(evonet_: CommandLine) -> None:
    assert evonet_("new", "\udcff").status == Exit.DONE
    assert r"# \udcff: evolve networks" in Path("\udcff.toml").read_text()


# Reports on metrics that were edited, or are extreme.


@pytest.fixture
def run(evonet_: CommandLine, tmp_path: Path) -> Path:
    config = write_parity(tmp_path, 4)
    assert evonet_("evolve", config, "--quiet", "--out", tmp_path / "run").status == Exit.DONE
    return tmp_path / "run"


@pytest.mark.parametrize(
    "value", ["Infinity", "-Infinity", "NaN", "1" + "0" * 400, "1" + "0" * 5000, "1e999", '"5"']
)
@pytest.mark.parametrize("key", ["best", "generation", "seconds", "evaluations"])
def test_a_report_on_edited_metrics_is_refused_in_one_line(
    key: str, value: str, run: Path, evonet_: CommandLine
) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    record = json.loads(lines[2])
    record[key] = "HERE"
    lines[2] = json.dumps(record).replace('"HERE"', value)
    (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    outcome = evonet_("report", run)
    assert outcome.status == Exit.ERROR
    assert len(outcome.err.splitlines()) == 1
    assert "metrics.jsonl: line 3 is not about a generation" in outcome.err
    assert len(outcome.err) < 600


def test_generations_out_of_order_are_refused(run: Path, evonet_: CommandLine) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(reversed(lines)))
    assert "line 2 is not about a generation" in evonet_("report", run).err


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [(1.7e308, -1.7e308), (5e-324, 1e-323), (1e308, 1e308), (0, 1)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_report_draws_numbers_of_any_size(
    sign: int, values: tuple[float, float], run: Path, evonet_: CommandLine
) -> None:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    written = []
    for number, line in enumerate(lines):
        record = json.loads(line)
        names = ("best", "mean", "min", "max", "std", "best_so_far", "evaluations_per_second")
        record |= dict.fromkeys(names, sign * values[number % 2])
        record["seconds"] = dict.fromkeys(record["seconds"], values[0])
        written.append(json.dumps(record) + "\n")
    (run / "metrics.jsonl").write_text("".join(written))
    assert evonet_("report", run).status == Exit.DONE


@pytest.mark.parametrize("size", ["1.7976931348623157e308", "-1.7976931348623157e308", "5e-324"])
def test_a_run_with_extreme_fitness_succeeds_and_has_a_report(
    size: str, evonet_: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "extreme.py").write_text(
        "class Extreme:\n"
        "    num_inputs, num_outputs = 2, 1\n"
        "    def evaluate(self, network, seed):\n"
        "        import numpy as np\n"
        f"        return np.where(np.arange(len(network.genome_index)) % 2, {size}, -{size})\n"
    )
    options = ("--generations", 3, "--population", 20, "--out", tmp_path / "run")
    outcome = evonet_("evolve", "extreme.py:Extreme", *options)
    assert (outcome.status, outcome.err) == (Exit.DONE, "")
    assert (tmp_path / "run" / "report.html").is_file()
    assert len(metrics_of(tmp_path / "run")) == 3


def test_a_fitness_beyond_all_floats_is_one_line(evonet_: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "extreme.py").write_text(
        "class Extreme:\n"
        "    num_inputs, num_outputs = 2, 1\n"
        "    def evaluate(self, network, seed):\n"
        "        return [10**400] * 20\n"
    )
    outcome = evonet_("evolve", "extreme.py:Extreme", "--population", 20, "--quiet")
    assert outcome.status == Exit.ERROR
    assert len(outcome.err.splitlines()) == 1
