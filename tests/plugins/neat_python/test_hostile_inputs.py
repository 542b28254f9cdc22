"""Drop-in networks whose inputs and functions do what they should not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evonet.errors import BusyError, EvonetError
from evonet.installation import require_native
from evonet.plugins.neat_python import FeedForwardNetwork, RecurrentNetwork

NATIVE = require_native()


class Clears:
    """A number that empties a list when it is read, and fills the memory again."""

    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner
        self.kept: list[Any] = []

    def __float__(self) -> float:
        self.owner.clear()
        self.kept = [[float(i)] * 7 for i in range(2000)]
        return 1.0


def nodes(activation: Callable[[float], float]) -> list[Any]:
    links = [(-1, 1.0), (-2, 1.0), (-3, 1.0)]
    return [(0, activation, sum, 0.0, 1.0, links)]


@pytest.mark.parametrize("kind", [FeedForwardNetwork, RecurrentNetwork])
def test_inputs_that_vanish_while_they_are_read_are_refused(kind: Any) -> None:
    network = kind([-1, -2, -3], [0], nodes(abs))
    inputs: list[Any] = []
    inputs += [Clears(inputs), 2.0, 3.0]
    with pytest.raises(RuntimeError, match="became fewer"):
        network.activate(inputs)
    assert network.activate([1.0, 2.0, 3.0]) == kind([-1, -2, -3], [0], nodes(abs)).activate(
        [1.0, 2.0, 3.0]
    )


def test_a_function_that_calls_its_own_network_gets_an_error() -> None:
    networks: list[Any] = []

    def again(z: float) -> float:
        networks[0].reset()
        return z

    networks.append(RecurrentNetwork([-1, -2, -3], [0], nodes(again)))
    with pytest.raises(BusyError, match="at work already"):
        networks[0].activate([1.0, 2.0, 3.0])
    networks.clear()  # or both would keep each other alive


def test_a_second_thread_is_told_that_a_network_is_at_work() -> None:
    inside, done = threading.Event(), threading.Event()

    def wait(z: float) -> float:
        inside.set()
        done.wait(30)
        return z

    network = FeedForwardNetwork([-1, -2, -3], [0], nodes(wait))
    first = threading.Thread(target=network.activate, args=([1.0, 2.0, 3.0],))
    first.start()
    assert inside.wait(30)
    with pytest.raises(BusyError):
        network.activate([1.0, 2.0, 3.0])
    done.set()
    first.join()
    assert network.activate([1.0, 2.0, 3.0]) == [6.0]


def engine() -> Any:
    rows = [(0, abs, sum, 0.0, 1.0, [(-1, 1.0), (-2, 1.0)], 1.0)]
    return NATIVE.NeatNetwork.of_rows([-1, -2], [0], rows)


CALLS: dict[str, Callable[[], object]] = {
    "rows that are too short": lambda: NATIVE.NeatNetwork.of_rows([-1], [0], [(0, abs)]),
    "links that are too short": lambda: NATIVE.NeatNetwork.of_rows(
        [-1], [0], [(0, abs, sum, 0.0, 1.0, [(-1,)], 1.0)]
    ),
    "x of other inputs": lambda: engine().answer_rows(True, np.ones((4, 3)), np.ones((1, 4, 1))),
    "x of one dimension": lambda: engine().answer_rows(True, np.ones(2), np.ones((1, 1, 1))),
    "y of other samples": lambda: engine().answer_rows(True, np.ones((4, 2)), np.ones((1, 9, 1))),
    "y of other outputs": lambda: engine().answer_rows(True, np.ones((4, 2)), np.ones((1, 4, 7))),
    "samples that nobody began": lambda: engine().answer_rows(
        False, np.ones((4, 2)), np.ones((1, 4, 1))
    ),
    "fewer samples than none": lambda: engine().begin(-1),
    "time that stands still": lambda: engine().advance([1.0, 1.0], 1.0, 0.0, True),
    "time that runs backwards": lambda: engine().advance([1.0, 1.0], 1.0, -0.1, True),
    "time without an end": lambda: engine().advance([1.0, 1.0], float("inf"), 0.1, True),
    "squares of other targets": lambda: NATIVE.subtract_squares(
        np.ones((2, 3, 1)), np.ones((9, 1)), 1.0, np.ones(2)
    ),
    "squares into too few numbers": lambda: NATIVE.subtract_squares(
        np.ones((2, 3, 1)), np.ones((3, 1)), 1.0, np.ones(1)
    ),
    "more functions than ids": lambda: NATIVE.set_neat_functions([abs] * 300, [], sum, False),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_engine_refuses(call: str) -> None:
    with pytest.raises((EvonetError, ValueError, TypeError, IndexError, RuntimeError)):
        CALLS[call]()


def test_a_network_without_memory_for_a_sample_is_not_activated() -> None:
    network = engine()
    network.begin(0)
    with pytest.raises(RuntimeError, match="remembers 0 samples"):
        network.activate_feed_forward([1.0, 1.0])


def test_a_population_of_networks_checks_samples_and_memory() -> None:
    empty = NATIVE.NeatPopulation.create(False, [], [-1], [0], *registries(), 1.0, 3000)
    empty.begin(3)
    empty.answer(1, np.ones((3, 1)), np.empty((0, 3, 1)))
    with pytest.raises(EvonetError):
        empty.begin(-5)


def registries() -> tuple[Any, Any]:
    return SimpleNamespace(functions={}), SimpleNamespace(functions={})


def test_an_input_that_appears_twice_is_refused() -> None:
    genome = SimpleNamespace(nodes={}, connections={})
    with pytest.raises(ValueError, match="appears twice"):
        NATIVE.NeatNetwork.create(True, genome, [-1, -1, -1], [], *registries(), 1.0)
