"""What is printed about a process that cannot say anything any more."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os
from evonet.evaluators.last_words import LastWords

words = LastWords("it was Ray")
"""


@pytest.mark.parametrize(
    ("end", "printed"),
    [
        ("os._exit(1)", "it was Ray\n"),
        ("os.kill(os.getpid(), 9)", "it was Ray\n"),
        ("words.close(); os._exit(1)", ""),
        ("words.close(); words.close()", ""),
        ("", ""),
        ("raise SystemExit('an error')", "an error\n"),
        ("import subprocess; words = None; os._exit(1)", ""),
    ],
)
def test_only_ends_that_nobody_noticed_are_reported(end: str, printed: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT + end], capture_output=True, text=True, timeout=60
    )
    assert said.stderr == printed
