"""The text format of the XMC repository, and the commands that read it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from evonet import FileFormatError
from evonet.cli.app import main
from evonet.installation import require_native
from evonet.learning.wide.planted import plant
from evonet.learning.wide.text import read_xmc, write_xmc
from evonet.learning.wide.text_reference import read_text

GOOD = b"3 10 5\n0,4 1:0.5 7:-0.25\n 2:1e-3\n3\n"


def read_both(text: bytes) -> list[object]:
    """What the native reader and the reference make of a text: arrays, or the faulty line."""
    found: list[object] = []
    for read in (require_native().read_xmc, read_text):
        try:
            arrays = read(text, "x")
            found.append([*arrays[:2], *(each.tolist() for each in arrays[2:])])
        except FileFormatError as error:
            found.append(str(error))
    for message in found:
        if isinstance(message, str):
            assert "\n" not in message
            assert len(message) < 200
    return [each.split(":")[0] if isinstance(each, str) else each for each in found]


def test_a_file_becomes_two_matrices(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(GOOD)
    x, y = read_xmc(tmp_path / "f")
    assert (x.shape, y.shape) == ((3, 10), (3, 5))
    assert x.toarray()[0, 7] == np.float32(-0.25)
    np.testing.assert_array_equal(y.toarray().nonzero(), ([0, 0, 2], [0, 4, 3]))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    x, y = plant("small", 40, seed=4)
    write_xmc(tmp_path / "f", x, y)
    for found, expected in zip(read_xmc(tmp_path / "f"), (x, y), strict=True):
        assert found.shape == expected.shape
        assert (found != expected).nnz == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", "empty"),
        (b"3 10\n", "line 1"),
        (b"3 10 5 7\n", "line 1"),
        (b"0 10 5\n", "line 1: the number of samples is 0"),
        (b"-1 10 5\n", "line 1"),
        (b"99999999999999999999 10 5\n", "line 1"),
        (b"1 10 5\n5 1:1\n", "line 2: a label .*0 to 4"),
        (b"1 10 5\n1,1 1:1\n", "line 2: label 1 appears twice"),
        (b"1 10 5\n1, 1:1\n", "line 2"),
        (b"1 10 5\n1 10:1\n", "line 2: a feature .*0 to 9"),
        (b"1 10 5\n1 3:1 3:2\n", "line 2: feature 3 appears twice"),
        (b"1 10 5\n1 3:nan\n", "line 2: expected a finite number"),
        (b"1 10 5\n1 3:1e39\n", "line 2: expected a finite number"),
        (b"1 10 5\n1 3:inf\n", "line 2: expected a finite number"),
        (b"1 10 5\n1 3\n", "line 2: expected feature:value"),
        (b"1 10 5\n1 3:1x\n", "line 2: expected a space"),
        (b"2 10 5\n1 3:1\n", "line 2: the file ends after 1 samples"),
        (b"1 10 5\n1 3:1\n2 3:1\n", "line 3: there are more samples"),
        (b"1 10 5\n\xff\x00 3:1\n", "line 2: expected a label"),
    ],
)
def test_faults_are_named_with_their_line(text: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(text)
    with pytest.raises(FileFormatError, match=fault):
        read_xmc(tmp_path / "f")


@pytest.mark.parametrize("seed", range(5))
def test_mutations_are_read_alike_or_refused_in_the_same_line(seed: int) -> None:
    rng = random.Random(seed)
    refused = 0
    for _ in range(60):
        text = bytearray(GOOD)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text[at : at + rng.randint(0, 2)] = rng.choices(b"0123456789,: \n\r-+.einfx\xff", k=1)
        native, reference = read_both(bytes(text))
        assert native == reference, bytes(text)
        refused += isinstance(native, str)
    assert 20 < refused < 60


def test_commands_train_and_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_xmc(tmp_path / "train.txt", *plant("small", 1500, seed=5))
    write_xmc(tmp_path / "test.txt", *plant("small", 100, seed=5, first=5000))
    model, train, test = (str(tmp_path / name) for name in ("model", "train.txt", "test.txt"))
    options = ["--out", model, "--epochs", "4", "--hidden", "64", "-q", "--test", test]
    assert main(["wide", "train", train, *options]) == 0
    printed = capsys.readouterr().out
    assert "1,000 classes after 4 passes over 1,500 samples" in printed
    assert "P@5" in printed
    assert main(["wide", "predict", model, test, "-k", "3"]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 100
    assert len(printed.out.splitlines()[0].split()) == 3
    assert "P@1" in printed.err
    assert main(["wide", "predict", model, test, "--out", str(tmp_path / "answers")]) == 0
    assert len((tmp_path / "answers").read_text().splitlines()) == 100


def test_commands_name_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f").write_bytes(b"1 10 5\n7 1:1\n")
    assert main(["wide", "train", str(tmp_path / "f"), "--out", str(tmp_path / "m")]) == 1
    assert "line 2" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
    assert main(["wide", "predict", str(tmp_path / "f"), str(tmp_path / "f")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
