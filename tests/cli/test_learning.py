"""--learn, --no-learn and --set learning: what networks learn from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evonet import ConfigError, FileFormatError
from evonet.cli.settings import find_settings
from evonet.config import Config
from evonet.config.learning import USUAL_STEPS
from evonet.report.learning import draw_learning
from tests.support.cli_runs import CommandLine


def steps(what: str, learn: bool | None = None, **changes: object) -> int:
    named = {f"learning.{name}": value for name, value in changes.items()}
    return find_settings(what, named, learn=learn).config.learning.steps


def test_learning_starts_when_it_is_asked_for() -> None:
    assert steps("xor") == 0
    assert steps("xor", True) == USUAL_STEPS
    assert steps("xor", rate=0.1) == USUAL_STEPS
    assert steps("xor", True, steps=3) == 3
    assert steps("xor", False, rate=0.1) == 0


def test_a_file_can_be_overruled(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[task]\nname = "xor"\n\n[learning]\nsteps = 7\n')
    assert steps(str(path)) == 7
    assert steps(str(path), True) == 7
    assert steps(str(path), False) == 0


def test_without_learning_a_table_evolves_as_before(tmp_path: Path) -> None:
    alone = Config.from_dict({"task": {"name": "wine"}, "learning": {"steps": 0}})
    assert find_settings("wine", {}, learn=False).config == alone
    path = tmp_path / "my.toml"
    path.write_text('[task]\nname = "wine"\n')
    assert find_settings(str(path), {}, learn=False).config.digest() == alone.digest()


def test_contradictions_are_faults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match=r"--no-learn contradicts learning.steps = 5"):
        steps("xor", False, steps=5)
    with pytest.raises(ConfigError, match=r"--learn contradicts learning.steps = 0"):
        steps("xor", True, steps=0)
    done = CommandLine(capsys)("evolve", "cartpole", "--learn")
    assert done.status != 0
    assert "has no examples to learn from" in done.err


def test_a_new_config_explains_learning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my.toml"
    assert CommandLine(capsys)("new", path, "--task", "xor").status == 0
    text = path.read_text()
    assert re.search(r"^\[learning\]\n# Steps that every genome learns for", text, re.MULTILINE)
    assert '#inherit = "lamarckian"' in text


def test_a_run_reports_how_its_champion_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = ["evolve", "xor", "--learn", "--set", "learning.steps=4", "--population", "10"]
    done = CommandLine(capsys)(*arguments, "--generations", "2", "--out", out)
    assert done.status == 0, done.err
    found = json.loads((out / "results.json").read_text())
    assert found["learning"]["steps"] == [0, 1, 2, 3]
    assert "matters" not in found  # half of the inputs of a truth table are 0
    page = (out / "report.html").read_text()
    assert "How the champion learned" in page
    assert "Which inputs matter" not in page


def test_what_is_no_learning_curve_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for bad in (
        {"learning": {"steps": [0, 1], "loss": [1.0]}},
        {"learning": {"steps": [0], "loss": [float("nan")]}},
        {"matters": [0.5], "inputs": ["a", "b"]},
        {"learning": 3},
        [1],
    ):
        path.write_text(json.dumps(bad))
        with pytest.raises(FileFormatError, match="no results of a champion"):
            draw_learning(path)
    path.write_text(json.dumps({"matters": [0.9, 0.1], "inputs": ["<b>", "plain"]}))
    assert "&lt;b&gt;" in draw_learning(path)
    assert draw_learning(tmp_path / "none.json") == ""
