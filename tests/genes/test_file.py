"""Files: whole or not at all on the way out, trusted in nothing on the way in."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from evonet.errors import FileFormatError
from evonet.files.atomic import open_atomic
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.genes.arrays import ARRAYS
from evonet.genes.file import FORMAT, VERSION
from evonet.genes.population import Population
from tests.support.strategies import populations

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def small() -> Population:
    return Population.from_genes(2, 1, [([0, 1], [(-1, 1, 0.5), (1, 0, 1.5, False)])])


def contents(population: Population) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Takes apart what `save` would write, to build files with one thing wrong."""
    described = {
        "num_inputs": population.num_inputs,
        "num_outputs": population.num_outputs,
        "activations": [f.name for f in ACTIVATIONS],
        "aggregations": [f.name for f in AGGREGATIONS],
    }
    return described, {name: getattr(population, name) for name in ARRAYS}


def write(path: Path, described: dict[str, Any], tensors: dict[str, np.ndarray]) -> Path:
    write_tensors(path, FORMAT, VERSION, described, tensors)
    return path


def refused(path: Path, message: str) -> None:
    with pytest.raises(FileFormatError, match=message) as caught:
        Population.load(path)
    assert str(caught.value).startswith(f"{path}: ")


# There and back.


@given(population=populations())
@same_folder
def test_a_loaded_population_equals_the_saved_one(population: Population, tmp_path: Path) -> None:
    path = tmp_path / "population.safetensors"
    population.save(path)
    again = Population.load(str(path))
    assert again == population
    assert not any(getattr(again, name).flags.writeable for name in ARRAYS)


@given(population=populations())
@same_folder
def test_equal_populations_give_equal_bytes(population: Population, tmp_path: Path) -> None:
    population.save(tmp_path / "a")
    (population[:0] + population).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_other_tools_can_read_the_file(tmp_path: Path) -> None:
    from safetensors import safe_open

    small().save(tmp_path / "a")
    with safe_open(tmp_path / "a", framework="np") as file:
        facts = json.loads(file.metadata()["evonet"])
        weight = file.get_tensor("weight")
    assert facts["format"] == "evonet.population"
    assert (facts["version"], facts["num_inputs"], facts["num_outputs"]) == (1, 2, 1)
    assert facts["activations"][0] == "sigmoid"
    assert weight.tolist() == [0.5, 1.5]


def test_functions_are_found_by_name_if_ids_have_changed(tmp_path: Path) -> None:
    described, tensors = contents(small())
    described["activations"] = ["never used", "relu", "tanh"]
    described["aggregations"] = ["mean"]
    tensors["activation"] = np.array([2, 1], np.uint8)
    loaded = Population.load(write(tmp_path / "a", described, tensors))
    assert [(n.activation, n.aggregation) for n in loaded[0].nodes] == [
        ("tanh", "mean"),
        ("relu", "mean"),
    ]


def test_a_missing_file_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Population.load(tmp_path / "nowhere")


# Damage.


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    small().save(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            Population.load(path)


def test_a_file_with_something_appended_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    small().save(path)
    path.write_bytes(path.read_bytes() + b" ")
    refused(path, "is damaged")


@pytest.mark.parametrize("flip", [1, 2, 4, 8, 16, 32, 64, 128, 255, ord(" ") ^ ord("\t")])
def test_a_file_with_any_byte_changed_is_refused(flip: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    small().save(path)
    whole = bytearray(path.read_bytes())
    for i in range(len(whole)):
        whole[i] ^= flip
        path.write_bytes(whole)
        with pytest.raises(FileFormatError):
            Population.load(path)
        whole[i] ^= flip


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 8,
        b"\xff" * 100,
        b"not a population, but a text of some length",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b'{"a"',
        (600_000).to_bytes(8, "little") + b'{"a":' * 120_000,
        (200_001).to_bytes(8, "little") + b"{" + b"[" * 200_000,
    ],
)
def test_a_file_of_another_kind_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    refused(tmp_path / "a", "is not a safetensors file|is damaged|not written by evonet")


def test_a_safetensors_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"weight": np.zeros(3)}, tmp_path / "a", {"format": "pt"})
    refused(tmp_path / "a", "this safetensors file was not written by evonet")


# Whole files with the wrong contents and a right checksum.


def test_another_format_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", "evonet.checkpoint", 1, *contents(small()))
    refused(tmp_path / "a", 'the format is "evonet.checkpoint". Expected "evonet.population"')


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", FORMAT, VERSION + 1, *contents(small()))
    refused(tmp_path / "a", "version 2 is from a newer evonet. This one reads versions up to 1")


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.0])
def test_a_strange_version_is_refused(version: Any, tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", FORMAT, version, *contents(small()))
    refused(tmp_path / "a", "the version is .*. Expected 1 to 1.")


@pytest.mark.parametrize("name", list(ARRAYS))
def test_a_missing_tensor_is_named(name: str, tmp_path: Path) -> None:
    described, tensors = contents(small())
    del tensors[name]
    refused(write(tmp_path / "a", described, tensors), f"tensor {name} is missing. Expected exac")


def test_an_unknown_tensor_is_named(tmp_path: Path) -> None:
    described, tensors = contents(small())
    tensors["colour"] = np.zeros(2)
    refused(write(tmp_path / "a", described, tensors), "tensor colour is unknown. Expected exactly")


@pytest.mark.parametrize("name", list(ARRAYS))
def test_a_tensor_of_the_wrong_type_is_named(name: str, tmp_path: Path) -> None:
    described, tensors = contents(small())
    tensors[name] = tensors[name].astype(np.uint64)
    refused(write(tmp_path / "a", described, tensors), f"{name} has type uint64. Expected ")


def test_a_tensor_of_a_type_that_evonet_never_writes_is_named(tmp_path: Path) -> None:
    described, tensors = contents(small())
    tensors["weight"] = tensors["weight"].astype(np.float16)
    refused(write(tmp_path / "a", described, tensors), "tensor weight has type F16. Expected one")


@pytest.mark.parametrize("name", list(ARRAYS))
def test_a_tensor_of_the_wrong_shape_is_named(name: str, tmp_path: Path) -> None:
    described, tensors = contents(small())
    tensors[name] = tensors[name][None]
    refused(write(tmp_path / "a", described, tensors), rf"{name} has shape \(1, 2\). Expected one")


def test_tensors_of_different_lengths_are_refused(tmp_path: Path) -> None:
    described, tensors = contents(small())
    tensors["weight"] = np.zeros(3, np.float32)
    refused(write(tmp_path / "a", described, tensors), "weight has 3 entries. Expected 2")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("target", 9, r"genome 0: connection \(-1, 9\): target 9 is not a node of this genome"),
        ("weight", np.nan, r"genome 0: connection \(-1, 1\): weight is nan"),
        ("rank", 5, "rank is 5"),
        ("node_start", 1, "node_start starts with 1"),
        ("activation", 200, "activation has an id 200, and the file names 18"),
    ],
)
def test_genes_that_make_no_sense_are_named(
    name: str, value: float, message: str, tmp_path: Path
) -> None:
    described, tensors = contents(small())
    tensors[name] = tensors[name].copy()
    tensors[name][0] = value
    refused(write(tmp_path / "a", described, tensors), message)


def test_a_truth_value_that_is_neither_true_nor_false_is_refused(tmp_path: Path) -> None:
    described, tensors = contents(small())
    tensors["enabled"] = np.array([1, 2], np.uint8).view(np.bool_)
    refused(write(tmp_path / "a", described, tensors), "enabled has values other than true and f")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_inputs": -1}, "num_inputs is -1. Expected 0 to"),
        ({"num_inputs": True}, "num_inputs is true. Expected 0 to"),
        ({"num_outputs": 2**40}, f"num_outputs is {2**40}. Expected 0 to"),
        ({"num_outputs": "1"}, 'num_outputs is "1". Expected 0 to'),
        ({"num_outputs": 5}, "genome 0: output node 2 is missing"),
        ({"activations": "sigmoid"}, 'activations are "sigmoid". Expected a list of names'),
        ({"activations": [1]}, r"activations are \[1\]. Expected a list of names"),
        ({"activations": []}, "activation has an id 0, and the file names 0"),
        ({"activations": ["sigmiod"]}, 'activation "sigmiod" is not known. Did you mean "sigmoi'),
        ({"aggregations": ["x"]}, 'aggregation "x" is not known. '),
        (
            {"colour": "red"},
            'has the settings ."activations", .*"colour", .*. Expected ',
        ),
    ],
)
def test_settings_that_make_no_sense_are_named(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    described, tensors = contents(small())
    refused(write(tmp_path / "a", {**described, **changes}, tensors), message)


def test_missing_settings_are_named(tmp_path: Path) -> None:
    described, tensors = contents(small())
    del described["num_inputs"]
    refused(write(tmp_path / "a", described, tensors), "has the settings .*. Expected .*num_inputs")


def test_swapped_tensors_do_not_match_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a"
    small().save(path)
    data = path.read_bytes()
    swapped = data.replace(b'"source"', b'"@"').replace(b'"target"', b'"source"')
    swapped = swapped.replace(b'"@"', b'"target"')
    assert len(swapped) == len(data)
    path.write_bytes(swapped)
    refused(path, "is damaged. Its contents do not match its checksum")


def test_settings_and_tensors_of_any_format_come_back(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6).reshape(2, 3), "b": np.zeros((0, 4), np.float32)}
    tensors["c"] = np.array(7, np.uint32)
    described = {"name": 'Größe "x"\n', "list": [1, 2.5, None, {"deep": True}]}
    write_tensors(tmp_path / "a", "evonet.test", 3, described, tensors)
    facts, again = read_tensors(tmp_path / "a", "evonet.test", 4, ["a", "b", "c"])
    assert facts == {"format": "evonet.test", "version": 3, **described}
    for name, array in tensors.items():
        np.testing.assert_array_equal(again[name], array, strict=True)


def test_a_changed_shape_does_not_match_the_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_tensors(path, "evonet.test", 1, {}, {"a": np.zeros((2, 3))})
    path.write_bytes(path.read_bytes().replace(b"[2,3]", b"[3,2]"))
    with pytest.raises(FileFormatError, match="do not match its checksum"):
        read_tensors(path, "evonet.test", 1, ["a"])


# Failing disks.


def break_call(monkeypatch: pytest.MonkeyPatch, name: str, when: int = 1) -> None:
    """Makes a function of `os` fail at its n-th call."""
    original: Callable[..., Any] = getattr(os, name)
    calls = iter(range(1, 100))

    def broken(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == when:
            raise OSError(errno.EIO, "the disk is on fire")
        return original(*args, **kwargs)

    monkeypatch.setattr(f"evonet.files.atomic.os.{name}", broken)


@pytest.mark.parametrize("name", ["open", "fdopen", "fsync", "replace"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(
    name: str, exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    if exists:
        path.write_text("old")
    with monkeypatch.context() as patch:
        break_call(patch, name)
        with pytest.raises(OSError, match="on fire"):
            small().save(path)
    assert [file.name for file in tmp_path.iterdir()] == (["a"] if exists else [])
    if exists:
        assert path.read_text() == "old"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    error: BaseException, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def interrupted_write() -> None:
        with open_atomic(path) as file:
            file.write(b"half of the new")
            file.flush()
            raise error

    with pytest.raises(type(error)):
        interrupted_write()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_write_that_fails_when_the_buffer_is_flushed_leaves_the_old_file(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    path = tmp_path / "a"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        with pytest.raises(OSError, match="File too large"):
            small().save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_cannot_be_synced_is_an_error_unless_it_never_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        break_call(patch, "fsync", when=2)
        with pytest.raises(OSError, match="on fire"):
            small().save(tmp_path / "a")
    original = os.fsync

    def only_files(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EINVAL, "no")
        original(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr("evonet.files.atomic.os.fsync", only_files)
        small().save(tmp_path / "a")
    assert Population.load(tmp_path / "a") == small()


def test_the_data_reach_the_disk_before_the_name_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    for name in ("fsync", "replace"):
        original: Callable[..., Any] = getattr(os, name)

        def spy(*args: Any, name: str = name, original: Any = original) -> Any:
            steps.append(name)
            return original(*args)

        monkeypatch.setattr(f"evonet.files.atomic.os.{name}", spy)
    small().save(tmp_path / "a")
    assert steps == ["fsync", "replace", "fsync"]


def test_a_symbolic_link_keeps_pointing_to_the_new_contents(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    small().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Population.load(tmp_path / "real") == small()


def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    small().save(tmp_path / "a")
    (tmp_path / "b").write_text("an ordinary file")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_missing_folder_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        small().save(tmp_path / "nowhere" / "a")
