"""evonet layered: categories and rates of deep sparse networks, and one line about mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from evonet.cli.app import Exit
from evonet.functions.registry import unregister_activation
from evonet.layered import LayeredNetwork, challenge_digits, radix_layers
from evonet.layered.radix import CLAMP, clamp_id
from tests.support.cli_runs import CommandLine


@pytest.fixture
def evonet(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CommandLine]:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    clamp_id()
    yield CommandLine(capsys)
    unregister_activation(CLAMP)


def test_categories_rates_and_times_are_printed(evonet: CommandLine) -> None:
    expected = LayeredNetwork(radix_layers(64, 12)).run(challenge_digits(64, 400)).categories
    for options in ((), ("--keep-zeros",), ("--backend", "reference"), ("--threads", 1)):
        outcome = evonet("layered", "radix:64x12", "--rows", 400, "--out", "found.txt", *options)
        assert outcome.status == Exit.DONE, outcome.err
        assert "64 inputs, 12 layers, 24,576 links" in outcome.out
        assert f"of 400 samples: {expected[0] + 1}, " in outcome.out
        assert "nominal" in outcome.out
        keeps = options[:1] == ("--keep-zeros",) or "reference" in options
        assert ("100.0 % of the work" in outcome.out) == keeps
        found = [int(line) - 1 for line in Path("found.txt").read_text().split()]
        assert found == expected.tolist()
    assert "1-8 " in evonet("layered", "radix:64x12", "--rows", 100).out


def test_pruned_models_and_files_of_samples_run_too(evonet: CommandLine) -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(16, 8)).astype(np.float32)
    save_file({"a.weight": first, "b.weight": np.ones((2, 16), np.float32)}, "model.safetensors")
    x = rng.normal(size=(50, 8)).astype(np.float32)
    np.save("x.npy", x)
    outcome = evonet("layered", "model.safetensors", "--inputs", "x.npy", "--rows", 20)
    assert outcome.status == Exit.DONE, outcome.err
    assert "of 20 samples" in outcome.out
    assert "8 inputs, 2 layers" in outcome.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("radix:64",), "not radix:WIDTHxDEPTH"),
        (("radix:65x3",), "radix network is"),
        (("nowhere",), "expected a folder"),
        (("nowhere.safetensors",), "No such file"),
        (("radix:32x3",), "digits need"),
        (("radix:64x3", "--inputs", "nowhere.npy"), "No such file"),
    ],
)
def test_mistakes_are_one_line(evonet: CommandLine, words: tuple[str, ...], message: str) -> None:
    outcome = evonet("layered", *words)
    assert outcome.status == Exit.ERROR
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
