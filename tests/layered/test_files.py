"""Files of layered networks are read exactly and cached; wrong ones are refused with one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from evonet import FileFormatError
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.functions.registry import unregister_activation
from evonet.genes.layers import Layer, read_layers
from evonet.layered import (
    load_layers,
    load_pruned,
    radix_layers,
    read_challenge,
    read_inputs,
    save_layers,
)
from evonet.layered.files import ARRAYS, CACHE, FORMAT, VERSION
from evonet.layered.radix import CLAMP, clamp_id


@pytest.fixture(autouse=True)
def clamp() -> Iterator[None]:
    clamp_id()
    yield
    unregister_activation(CLAMP)


def write_challenge(folder: Path, width: int = 32, depth: int = 3) -> list[Layer]:
    layers = list(radix_layers(width, depth))
    folder.mkdir(exist_ok=True)
    for i, layer in enumerate(layers, 1):
        target = np.repeat(np.arange(width), np.diff(layer.start))
        lines = (
            f"{s + 1}\t{t + 1}\t{w:g}\n"
            for s, t, w in zip(layer.source, target, layer.weight, strict=True)
        )
        (folder / f"n{width}-l{i}.tsv").write_text("".join(lines))
    return layers


def assert_equal(found: list[Layer], expected: list[Layer]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a.num_inputs, a.activation) == (b.num_inputs, b.activation)
        for name in ("start", "source", "weight", "bias"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_a_folder_of_the_challenge_is_read_and_cached(tmp_path: Path) -> None:
    expected = write_challenge(tmp_path)
    seen: list[tuple[int, int]] = []
    assert_equal(read_challenge(tmp_path, report=lambda *n: seen.append(n)), expected)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    seen.clear()
    assert_equal(read_challenge(tmp_path, report=lambda *n: seen.append(n)), expected)
    assert seen == [], "the second time, the cache answers"
    assert_equal(read_challenge(tmp_path, depth=2), expected[:2])


def test_a_changed_file_and_a_damaged_cache_are_read_anew(tmp_path: Path) -> None:
    write_challenge(tmp_path)
    first = tmp_path / "n32-l1.tsv"
    before = read_challenge(tmp_path)
    first.write_text(first.read_text().replace("0.0625", "0.125"))
    after = read_challenge(tmp_path)
    assert (after[0].weight == 2 * before[0].weight).all()
    cache = tmp_path / CACHE
    data = bytearray(cache.read_bytes())
    data[-3] ^= 1
    cache.write_bytes(data)
    assert_equal(read_challenge(tmp_path), after)


def line(number: int, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "n32-l2.tsv"
        lines = file.read_text().splitlines()
        lines[number - 1] = text
        file.write_text("\n".join(lines) + "\n")

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (line(5, "33\t1\t0.5"), "line 5: row 33 is not a whole number from 1 to 32"),
        (line(7, "1\t0\t0.5"), "line 7: column 0 is not"),
        (line(9, "1.5\t1\t0.5"), "line 9: row 1.5 is not"),
        (line(2, "1\t1\tnan"), "line 2: nan is not finite"),
        (line(4, "1\t1\tinf"), "line 4: inf is not finite"),
        (line(3, "1\t1"), "number of columns|columns"),
        (line(3, "one\t1\t2"), "could not convert"),
        (line(2, "1\t1\t0.0625"), "line 2: this connection is there already"),
        (lambda folder: (folder / "n32-l2.tsv").unlink(), "layer 2 is missing"),
        (lambda folder: (folder / "n32-l2.tsv").write_text(""), "n32-l2.tsv: .*empty|no data"),
        (lambda folder: (folder / "n64-l1.tsv").write_text("1\t1\t1\n"), "of one width"),
        (lambda folder: (folder / "n32-l2.tsv").write_bytes(b"\xff\xfe\x00"), "n32-l2.tsv"),
    ],
)
def test_a_wrong_file_is_refused_with_one_line(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    write_challenge(tmp_path)
    change(tmp_path)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_challenge(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_layers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="expected files"):
        read_challenge(tmp_path)
    with pytest.raises(FileFormatError, match="expected a folder"):
        read_challenge(tmp_path / "nowhere")


def test_layers_of_any_widths_and_functions_survive_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=s) * (rng.random(s) < 0.4) for s in ((4, 6), (6, 5), (5, 2))]
    layers = read_layers(matrices, 0.5, ["relu", "tanh", CLAMP], np.dtype(np.float64))
    save_layers(tmp_path / "layers.safetensors", layers)
    assert_equal(load_layers(tmp_path / "layers.safetensors"), layers)
    data = (tmp_path / "layers.safetensors").read_bytes()
    for cut in (0, 7, 100, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:cut])
        with pytest.raises(FileFormatError):
            load_layers(tmp_path / "cut")
    (tmp_path / "huge").write_bytes((10 << 30).to_bytes(8, "little") + data[8:])
    with pytest.raises(FileFormatError):
        load_layers(tmp_path / "huge")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("source", lambda a: np.where(np.arange(a.size) == 3, 32, a), "does not exist"),
        ("source", lambda a: np.where(np.arange(a.size) == 3, -1, a), "does not exist"),
        ("source", lambda a: a[::-1], "do not ascend"),
        ("weight", lambda a: np.where(np.arange(a.size) == 3, np.nan, a), "not finite"),
        ("bias", lambda a: a + np.inf, "not finite"),
        ("bias", lambda a: a[:-1], "do not fit"),
        ("start", lambda a: a + 1, "do not fit"),
        ("width", lambda a: a[:-1], "do not describe"),
    ],
)
def test_a_cache_with_a_right_checksum_is_checked_all_the_same(
    tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    path = tmp_path / "layers.safetensors"
    save_layers(path, list(radix_layers(32, 2)))
    settings, arrays = read_tensors(path, FORMAT, VERSION, ARRAYS)
    arrays[name] = np.ascontiguousarray(change(arrays[name]), arrays[name].dtype)
    write_tensors(path, FORMAT, VERSION, {"activation": settings["activation"]}, arrays)
    with pytest.raises(FileFormatError, match=message):
        load_layers(path)


def test_pruned_models_are_read_by_the_numbers_in_their_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    state = {}
    sizes = [3, *range(4, 15)]
    for i in range(11):
        state[f"net.{i}.weight"] = rng.normal(size=(sizes[i + 1], sizes[i])).astype(np.float32)
        state[f"net.{i}.bias"] = rng.normal(size=sizes[i + 1]).astype(np.float32)
    save_file(state, tmp_path / "model.safetensors")
    found = load_pruned(tmp_path / "model.safetensors")
    expected = read_layers(state, None, "relu", np.dtype(np.float32))
    assert_equal(found, expected)
    (tmp_path / "bad.safetensors").write_bytes((10 << 30).to_bytes(8, "little") + b"{}")
    with pytest.raises(FileFormatError):
        load_pruned(tmp_path / "bad.safetensors")


def test_images_are_read_from_tsv_and_npy(tmp_path: Path) -> None:
    (tmp_path / "images.tsv").write_text("1\t2\t1\n3\t4\t1\n")
    found = read_inputs(tmp_path / "images.tsv", 4)
    assert found.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert read_inputs(tmp_path / "images.tsv", 4, 5).shape == (5, 4)
    np.save(tmp_path / "images.npy", found)
    np.testing.assert_array_equal(read_inputs(tmp_path / "images.npy", 4), found)
    for name, width in (("images.npy", 5), ("images.tsv", 3)):
        with pytest.raises(FileFormatError):
            read_inputs(tmp_path / name, width)
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    np.save(tmp_path / "nan.npy", np.full((1, 4), np.nan))
    for name in ("objects.npy", "nan.npy"):
        with pytest.raises(FileFormatError):
            read_inputs(tmp_path / name, 4)
