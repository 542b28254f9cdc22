"""Interrupts come through where nothing is lost, and wait elsewhere."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from evonet.cli.interrupts import SIGNALS, Interrupts
from evonet.evolution.callbacks import GenerationRecord
from evonet.network import Network
from evonet.runs.loop import evolve
from evonet.tasks import xor
from tests.support.evolution_cases import xor_config


class InterruptedXor:
    """Is interrupted while it evaluates for the third time."""

    num_inputs, num_outputs = 2, 1

    def __init__(self) -> None:
        self.evaluations = 0

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        self.evaluations += 1
        if self.evaluations == 3:
            signal.raise_signal(signal.SIGINT)
        return np.zeros(len(network))


def test_an_evaluation_is_interrupted_at_once() -> None:
    seen: list[GenerationRecord] = []
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        evolve(
            InterruptedXor(),
            xor_config(12),
            generations=9,
            callbacks=[seen.append, interrupts],
        )
    assert len(seen) == 2


@pytest.mark.parametrize("number", SIGNALS)
def test_elsewhere_an_interrupt_waits_for_the_end_of_the_generation(
    number: signal.Signals,
) -> None:
    seen: list[int] = []

    def interrupt(record: GenerationRecord) -> None:
        if record.generation == 2:
            signal.raise_signal(number)
        seen.append(record.generation)

    with Interrupts() as interrupts:
        result = evolve(
            xor(),
            xor_config(12),
            generations=9,
            callbacks=[interrupt, interrupts],
        )
    assert seen == [0, 1, 2]
    assert interrupts.asked
    assert result.generation == 2


def test_an_interrupt_between_generations_waits_for_the_next_evaluation() -> None:
    task = InterruptedXor()
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            evolve(task, xor_config(12), generations=9, callbacks=[interrupts])
    assert task.evaluations == 0


def test_a_second_interrupt_does_not_wait() -> None:
    with Interrupts():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupts():
        pass
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_the_threshold_of_a_task_ends_a_run() -> None:
    task = xor()
    task.fitness_threshold = 2.4
    config = xor_config(150).replace({"neat.no_fitness_termination": False})
    result = evolve(task, config, generations=60, callbacks=[Interrupts()])
    assert result.solved
    assert result.best.fitness < 3.9


LOST = """
import signal, sys, time, weakref
import evonet.cli.app
from evonet.__main__ import main

class Lock:
    pass

def interrupted(_):
    raise KeyboardInterrupt

def run():
    lock = Lock()
    watched = weakref.ref(lock, interrupted)
    del lock  # as importlib does with its locks
    for _ in range(600):
        time.sleep(0.1)
    return 0

evonet.cli.app.main = run
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has none
sys.exit(main())
"""


def test_an_interrupt_where_python_can_raise_nothing_is_not_lost() -> None:
    ended = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, "evonet: interrupted.\n")
