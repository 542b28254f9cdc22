"""Tests leave no global state behind, and would be caught if they did."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import evonet
from evonet.definitions import providers
from evonet.definitions.providers import Provider
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS
from evonet.tasks import xor
from evonet.tasks.registry import TASKS, register
from tests.support.isolation import State, remove_custom_functions


def _add_task() -> None:
    register("left_behind", "A task.", xor, {"neat.pop_size": 7})


def _change_folder() -> None:
    os.chdir(Path(__file__).parent.parent / "docs")


LEAKS: dict[str, Callable[[], object]] = {
    "environment variables: EVONET_LEFT": lambda: os.environ.update(EVONET_LEFT="1"),
    "environment variables: PATH": lambda: os.environ.pop("PATH"),
    "registered tasks: left_behind": _add_task,
    "registered tasks: xor": lambda: TASKS.pop("xor"),
    "prefixes of tasks: left": lambda: providers.TASK_PREFIXES.update(left=Provider("a:b")),
    "the working folder": _change_folder,
    "sys.path": lambda: sys.path.append("left"),
    "handlers of signals": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "NumPy's treatment of floating-point errors": lambda: np.seterr(divide="ignore"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_named_and_undone(leak: str) -> None:
    before = State()
    LEAKS[leak]()
    assert leak in before.restore()
    assert before.restore() == []
    assert State().restore() == []


@pytest.mark.parametrize("turn", [1, 2])
def test_a_custom_function_is_unknown_to_the_next_test(turn: int) -> None:
    assert not {"left_behind", "left_joined"} & {*ACTIVATION_IDS, *AGGREGATION_IDS}
    evonet.register_activation("left_behind", f"x + {turn}")
    evonet.register_aggregation("left_joined", f"sum(x) + {turn}")


def test_custom_functions_are_removed_and_built_in_ones_stay() -> None:
    built_in = dict(ACTIVATION_IDS)
    evonet.register_activation("left_behind", "x + 3")
    remove_custom_functions()
    assert dict(ACTIVATION_IDS) == built_in
