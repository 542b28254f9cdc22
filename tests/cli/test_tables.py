"""Tables on the command line: evolve on a file, then predict new rows."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evonet.cli.app import Exit
from evonet.config import Config
from evonet.errors import FileFormatError
from evonet.runs.champion import read_champion
from evonet.runs.prediction import predict_file
from tests.support.cli_runs import CommandLine


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def evonet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """The command line in an empty folder with two tables."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    rows = []
    for i in range(60):
        kind = ("apple", "lemon", "melon")[i % 3]
        colour = {"apple": "red", "lemon": "yellow", "melon": ("green", "yellow")[i % 2]}[kind]
        rows.append(
            f"{rng.normal({'apple': 150, 'lemon': 100, 'melon': 900}[kind], 9):.1f},{colour},{kind}"
        )
    Path("fruit.csv").write_text("\n".join(["weight,colour,kind", *rows]))
    x = rng.normal(50, 20, (80, 2))
    y = 3 * x[:, 0] - x[:, 1] + 1000
    Path("line.csv").write_text(
        "\n".join(f"{a:.3f},{b:.3f},{c:.3f}" for (a, b), c in zip(x, y, strict=True))
    )
    return CommandLine(capsys)


def test_a_table_is_evolved_on_and_new_rows_are_predicted(
    evonet: CommandLine, tmp_path: Path
) -> None:
    said = evonet("evolve", "fruit.csv", "--target", "kind", "--generations", 80, "--out", "run")
    assert said.status == Exit.DONE
    assert 'fruit.csv: classification, because "kind" holds 3 different texts' in said.err
    assert "colour become 3 inputs" in said.out
    assert "38 train, 10 validation, 12 held out" in said.out
    config = Config.load("run/config.toml")
    assert config.task["standardize"] is True
    results = json.loads(Path("run/results.json").read_text())
    assert results["outputs"] == ["apple", "lemon", "melon"]
    (tmp_path / "run").rename(tmp_path / "moved")
    (tmp_path / "fruit.csv").rename(tmp_path / "old.csv")

    Path("new.csv").write_text("colour,weight\nred,152\nyellow,101\ngreen,890\n")
    assert evonet("predict", "moved", "new.csv", "--out", "answers.csv").status == Exit.DONE
    rows = list(csv.DictReader(Path("answers.csv").read_text().splitlines()))
    assert [row["prediction"] for row in rows] == ["apple", "lemon", "melon"]
    assert [row["weight"] for row in rows] == ["152", "101", "890"]
    for row in rows:
        chances = {name: float(row[f"p({name})"]) for name in ("apple", "lemon", "melon")}
        assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
        assert max(chances, key=lambda name: chances[name]) == row["prediction"]
    scored = evonet("predict", "moved/champion.json", "old.csv", "--out", "answers.csv")
    assert "accuracy" in scored.out
    assert "99 % interval" in scored.out
    assert "on 60 examples" in scored.out


def test_predictions_are_in_the_units_of_the_table(evonet: CommandLine) -> None:
    said = evonet("evolve", "line.csv", "--generations", 120, "--test", 0.25, "--out", "run")
    assert 'regression, because "c3" (the last column) holds numbers' in said.err
    assert "line.csv has no line of column names" in said.out
    assert "20 held out" in said.out
    held_out = json.loads(Path("run/results.json").read_text())["parts"]["held out"]
    assert held_out["scores"]["r2"] > 0.99
    assert all(700 < right < 1500 for right, _ in held_out["points"][0])
    Path("new.csv").write_text("50,50\n60,40\n")
    out = evonet("predict", "run", "new.csv").out
    rows = list(csv.DictReader(out.splitlines()))
    assert float(rows[0]["prediction"]) == pytest.approx(1100, abs=10)
    assert float(rows[1]["prediction"]) == pytest.approx(1140, abs=10)
    whole = evonet("predict", "run", "line.csv", "--out", "all.csv")
    assert float(whole.out.split("r2 ")[1].split(",")[0]) > 0.99


def test_quiet_runs_on_tables_print_nothing(evonet: CommandLine) -> None:
    said = evonet("evolve", "fruit.csv", "--generations", 1, "--out", "run", "--quiet")
    assert (said.status, said.out, said.err) == (Exit.DONE, "", "")


def test_a_champion_of_a_table_has_nothing_to_play(evonet: CommandLine) -> None:
    evonet("evolve", "fruit.csv", "--generations", 1, "--out", "run", "-q")
    said = evonet("play", "run")
    assert said.status == Exit.ERROR
    assert "evonet predict run FILE" in said.err


def test_the_other_kind_is_a_name_away(evonet: CommandLine) -> None:
    Path("level.csv").write_text("x,y\n" + "\n".join(f"{i},{i % 3}" for i in range(30)))
    said = evonet("evolve", "level.csv", "--generations", 1, "--out", "a")
    assert "For regression: evonet evolve regression --data level.csv" in said.err
    said = evonet("evolve", "regression", "--data", "level.csv", "--generations", 1, "--out", "b")
    assert said.status == Exit.DONE
    config = Config.load("b/config.toml")
    assert (config.task["name"], config.task["standardize_targets"]) == ("regression", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour\nred\n", 'has no column "weight". Its columns are colour.'),
        ("weight,color\n1,red\n", 'has no column "colour". Did you mean "color"?'),
        ("weight,colour\n1,red\n2,blue\n", 'row 3, column "colour" holds "blue", which no example'),
        ("weight,colour\n1,red\nheavy,red\n", 'row 3, column "weight" holds "heavy"'),
        ("weight,colour\n1,red\n,red\n", "1 row with missing cells, the first of them row 3"),
    ],
)
def test_rows_that_cannot_be_predicted_are_named(
    evonet: CommandLine, text: str, message: str
) -> None:
    evonet("evolve", "fruit.csv", "--generations", 1, "--out", "run", "-q")
    Path("new.csv").write_text(text)
    said = evonet("predict", "run", "new.csv", "--out", "answers.csv")
    assert said.status == Exit.ERROR
    assert message in said.err
    assert not Path("answers.csv").exists()


def test_rows_with_gaps_follow_the_policy_of_the_run(evonet: CommandLine) -> None:
    gaps = "weight,colour\n150,red\n,red\n"
    Path("new.csv").write_text(gaps)
    for policy, answered in (("fill", 2), ("drop", 1)):
        options = ("--set", f"task.missing={policy}", "--generations", 1, "--out", policy, "-q")
        assert evonet("evolve", "fruit.csv", *options).status == Exit.DONE
        prediction = predict_file(read_champion(f"{policy}/champion.json"), "new.csv")
        assert len(prediction.answers) - prediction.num_unanswered == answered
    said = evonet("predict", "drop", "new.csv")
    assert "1 row without a prediction" in said.err
    assert said.out.splitlines()[2] == ",red,,,,"


def test_a_champion_without_an_encoding_cannot_predict(evonet: CommandLine) -> None:
    evonet("evolve", "xor", "--generations", 1, "--out", "run", "-q")
    said = evonet("predict", "run", "fruit.csv")
    assert said.status == Exit.ERROR
    assert "the champion has no encoding" in said.err


def test_a_damaged_encoding_is_refused(evonet: CommandLine) -> None:
    evonet("evolve", "fruit.csv", "--generations", 1, "--out", "run", "-q")
    path = Path("run/champion.json")
    document = json.loads(path.read_text())
    del document["sha256"]
    document["encoding"]["scale"][0] = 0
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=r"encoding\.scale holds 0"):
        read_champion(path)
    document["encoding"]["scale"][0] = 1
    document["encoding"]["classes"] = ["apple", "lemon"]
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="encoding has 2 outputs, and the genome 3"):
        read_champion(path)


def test_arrays_are_evolved_on_and_predicted(evonet: CommandLine) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 2))
    np.savez("table.npz", x=x, y=(x[:, 0] > 0).astype(int))
    said = evonet("evolve", "table.npz", "--generations", 60, "--out", "run")
    assert "table.npz: classification, because y holds int64" in said.err
    np.savez("new.npz", x=np.array([[2.0, 0.0], [-2.0, 0.0]]))
    rows = list(csv.DictReader(evonet("predict", "run", "new.npz").out.splitlines()))
    assert [row["prediction"] for row in rows] == ["1", "0"]
    np.savez("wrong.npz", x=np.ones((1, 3)))
    assert "x has shape [1, 3]" in evonet("predict", "run", "wrong.npz").err
