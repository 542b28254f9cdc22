"""Radix networks have the structure of the Graph Challenge's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evonet import OptionError
from evonet.functions.registry import unregister_activation
from evonet.layered import radix_layers
from evonet.layered.radix import CLAMP, clamp_id


@pytest.fixture(autouse=True)
def clamp() -> Iterator[None]:
    clamp_id()
    yield
    unregister_activation(CLAMP)


def matrix(layer: Any) -> np.ndarray:
    dense = np.zeros((layer.num_inputs, layer.num_nodes))
    target = np.repeat(np.arange(layer.num_nodes), np.diff(layer.start))
    dense[layer.source, target] = layer.weight
    return dense


@pytest.mark.parametrize("width", [32, 64, 1024])
def test_every_node_feeds_32_nodes_by_the_rule(width: int) -> None:
    n = width // 16
    cycle = max(1, n.bit_length() - 1)
    for level, layer in enumerate(radix_layers(width, cycle)):
        dense = matrix(layer)
        for i in (0, 1, width // 2, width - 1):
            q, stride = i % n, 2 ** (level % cycle)
            fed = {q + n * k for k in range(16)} | {(q - stride) % n + n * k for k in range(16)}
            assert set(np.flatnonzero(dense[i]).tolist()) == fed
        assert (np.diff(layer.start) == 32).all()
        assert set(layer.weight.tolist()) == {1 / 16}


def test_every_input_reaches_every_node_within_a_cycle() -> None:
    reach = np.eye(256)
    for layer in radix_layers(256, 4):
        reach = (reach @ matrix(layer) > 0).astype(float)
    assert reach.all()


def test_equal_seeds_give_equal_networks_and_permutations_follow_the_first_cycle() -> None:
    one, two, other = (list(radix_layers(64, 9, seed=s)) for s in (1, 1, 2))
    for a, b in zip(one, two, strict=True):
        assert a.source.tobytes() == b.source.tobytes()
    same = [np.array_equal(a.source, b.source) for a, b in zip(one, other, strict=True)]
    assert same[:2] == [True, True]
    assert not all(same)


@pytest.mark.parametrize(("width", "depth"), [(0, 1), (33, 1), (48, 1), (16, 1), (1024, 0)])
def test_other_sizes_are_refused(width: int, depth: int) -> None:
    with pytest.raises(OptionError, match="radix network"):
        list(radix_layers(width, depth))
