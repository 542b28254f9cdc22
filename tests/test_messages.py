"""Numbers and objects as people read them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import evonet
from evonet.messages import number
from evonet.tasks import Stepwise, Task, xor


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100000.0, "100,000"),
        (-1234567.8, "-1,234,568"),
        (99999.0, "99999"),
        (3.14159265, "3.1416"),
        (1e15, "1e+15"),
        (0.0, "0"),
        (float("nan"), "nan"),
    ],
)
def test_large_numbers_are_written_out(value: float, text: str) -> None:
    assert number(value) == text


def test_algorithms_and_species_describe_themselves() -> None:
    neat = evonet.NEAT(evonet.Config(), seed=4, num_inputs=2, num_outputs=1)
    assert repr(neat) == "NEAT(generation 0, 150 genomes, 2 inputs, 1 output, seed 4)"
    neat.tell(xor().evaluate(evonet.compile(neat.ask()), 0))
    assert "best " in repr(neat)
    assert f"species {len(neat.species)}" in repr(neat)
    assert len(repr(neat)) < 120
    assert repr(neat.species[0]).startswith("Species(key=1, size=")
    assert len(repr(neat.species[0])) < 100


def test_tasks_describe_themselves() -> None:
    class Mine(Task):
        num_inputs, num_outputs = 3, 2

    class Walk:
        num_inputs, num_outputs, max_steps = 1, 1, 5

        def reset(self, seeds: np.ndarray) -> np.ndarray:
            return np.zeros((len(seeds), 1))

        def step(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            zeros = np.zeros(len(outputs))
            return zeros[:, None], zeros, zeros == 0

    assert repr(Mine()) == "Mine(3 inputs, 2 outputs)"
    assert "object at" not in repr(Stepwise(Walk()))


@pytest.mark.parametrize("carry", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_network_says_how_to_carry_it(carry: object) -> None:
    network = evonet.compile(evonet.Population.random(2, 2, 1, num_nodes=2, num_connections=2))
    with pytest.raises(TypeError, match=r"population\.save\(path\).*read_champion"):
        carry(network)  # type: ignore[operator]
