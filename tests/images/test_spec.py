"""`[task.front]`: what a config may say about a front, and what it is told otherwise."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from evonet.errors import EvonetError, FileFormatError, OptionError
from evonet.images import Conv, ConvFront, Pool, front_from_table
from evonet.images.spec import table_from_layers

LAYERS = (
    Conv(4, 3, padding=1, pool=2),
    Conv(6, (2, 3), stride=2, activation="tanh", pool=Pool(2, 1, "average")),
)
TEXT = """
[[layers]]
channels = 4
kernel = 3
padding = 1
pool = 2

[[layers]]
channels = 6
kernel = [2, 3]
stride = 2
activation = "tanh"
pool = { size = 2, stride = 1, kind = "average" }
"""


def test_a_table_makes_the_front_that_it_describes() -> None:
    front = front_from_table(tomllib.loads(TEXT), (1, 20, 20), seed=5)
    wanted = ConvFront(LAYERS, (1, 20, 20), seed=5)
    assert [layer.kernel_size for layer in front.layers] == [(3, 3), (2, 3)]
    assert [layer.pooling for layer in front.layers] == [layer.pooling for layer in LAYERS]
    x = np.random.default_rng(0).standard_normal((2, 1, 20, 20))
    np.testing.assert_array_equal(front(x), wanted(x))


def test_a_seed_of_the_table_wins() -> None:
    table = {**tomllib.loads(TEXT), "seed": 7}
    front = front_from_table(table, (1, 20, 20), seed=5)
    np.testing.assert_array_equal(
        front.weights[0][0], ConvFront(LAYERS, (1, 20, 20), seed=7).weights[0][0]
    )


def test_layers_become_a_table_and_layers_again() -> None:
    front = front_from_table(table_from_layers(LAYERS), (1, 20, 20))
    assert table_from_layers(front.layers) == table_from_layers(LAYERS)


def test_weights_come_from_a_file_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "conv.10.weight": rng.standard_normal((2, 3, 1, 1)).astype(np.float32),
        "conv.2.weight": rng.standard_normal((3, 1, 3, 3)).astype(np.float32),
        "conv.2.bias": rng.standard_normal(3).astype(np.float32),
    }
    save_file(arrays, tmp_path / "front.safetensors")
    table = {
        "layers": [{"channels": 3}, {"channels": 2, "kernel": 1}],
        "weights": str(tmp_path / "front.safetensors"),
    }
    front = front_from_table(table, (1, 5, 5))
    np.testing.assert_array_equal(front.weights[0][0], arrays["conv.2.weight"])
    np.testing.assert_array_equal(front.weights[0][1], arrays["conv.2.bias"])
    np.testing.assert_array_equal(front.weights[1][0], arrays["conv.10.weight"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (3, "front = 3 must be a table"),
        ({}, "front.layers is missing"),
        ({"layers": []}, "front.layers = [] must be a list"),
        ({"layers": "conv"}, 'front.layers = "conv" must be a list'),
        ({"layers": [3]}, "front.layers[0] = 3 must be a table"),
        ({"layers": [{}]}, "front.layers[0] has no channels"),
        ({"layers": [{"channels": 4}], "layer": 1}, "front.layer is not known. Did you mean"),
        ({"layers": [{"channels": 4, "kernal": 3}]}, "front.layers[0].kernal is not known"),
        ({"layers": [{"channels": 4, "kernel": "3"}]}, "front.layers[0].kernel = "),
        ({"layers": [{"channels": 4, "kernel": [1, 2, 3]}]}, "front.layers[0]: kernel must be"),
        ({"layers": [{"channels": 4}, {"channels": 0}]}, "front.layers[1]: channels=0"),
        ({"layers": [{"channels": 4, "pool": "max"}]}, 'front.layers[0].pool = "max" must be'),
        ({"layers": [{"channels": 4, "pool": {}}]}, "front.layers[0].pool has no size"),
        ({"layers": [{"channels": 4, "pool": {"size": 2, "kind": "min"}}]}, "pool.kind"),
        ({"layers": [{"channels": 4, "activation": "no"}]}, "front.layers[0]: "),
        ({"layers": [{"channels": 4, "kernel": 30}]}, "front: layer 0: a window of 30 x 30"),
        ({"layers": [{"channels": 4}], "seed": -1}, "front: seed=-1"),
        ({"layers": [{"channels": 4}], "weights": 3}, "front.weights = 3 must be the path"),
        ({"layers": [{"channels": 4}] * 101}, "front.layers has 101 layers"),
    ],
)
def test_a_bad_table_is_refused_by_the_key_to_blame(table: Any, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        front_from_table(table, (1, 20, 20))
    assert words in str(caught.value)
    assert caught.value.option == "front"
    assert "\n" not in str(caught.value)


def test_a_bad_file_of_weights_is_named(tmp_path: Path) -> None:
    path = tmp_path / "front.safetensors"
    table = {"layers": [{"channels": 4}], "weights": str(path)}
    with pytest.raises(FileNotFoundError):
        front_from_table(table, (1, 20, 20))
    path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="safetensors: this is not a safetensors"):
        front_from_table(table, (1, 20, 20))
    save_file({"a.weight": np.zeros((5, 1, 3, 3))}, path)
    with pytest.raises(EvonetError, match=r"front: .*a.weight.* must have shape \[4, 1, 3, 3\]"):
        front_from_table(table, (1, 20, 20))
