"""Every example runs from beginning to end, as a user would start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted(Path(__file__).parent.parent.joinpath("examples").glob("*.py"))
# What it prints; the second text where a package that it needs is missing.
EXPECTED: dict[str, str | tuple[str, str]] = {
    "ask_tell.py": "of the points right",
    "atari.py": ("features of a screen", "pip install ale-py"),
    "cartpole.py": "solved: True",
    "custom_task.py": "solved: True",
    "double_pole_no_velocities.py": "balanced for 100,000 steps",
    "forward.py": "x faster",
    "gymnasium_env.py": "solved: True",
    "learn_digits.py": "held-out digits",
    "mu_plus_lambda.py": "best fitness 500",
    "neat_python_plugin.py": "gene by gene: True",
    "parallelism.py": "a model of a launch-bound GPU",
    "regression.py": "on held-out ones",
    "workers.py": "solved: True",
    "wide_trunk.py": "after the full training, trunk and level",
    "xor.py": "solved: True",
}


def test_every_example_is_expected_to_say_something() -> None:
    assert {path.name for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = EXPECTED[path.name]
    texts = (expected,) if isinstance(expected, str) else expected
    assert any(text in done.stdout for text in texts)
