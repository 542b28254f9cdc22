"""Champions: small files that people can read, and that lose no bit."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from evonet.config import Config
from evonet.definitions.dynamics import Dynamics
from evonet.errors import FileFormatError, OptionError
from evonet.evolution import Best
from evonet.genes.population import Population
from evonet.runs.champion import load_champion, read_champion, save_champion
from tests.support.strategies import populations

same_folder = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def genome(weight: float = 0.1, dtype: Any = np.float32) -> Population:
    nodes = [{"key": 0, "bias": -0.5, "activation": "tanh"}, {"key": 3, "aggregation": "max"}]
    links = [(3, 0, weight, True, 9), (-1, 3, -2.5, False, 4), (-2, 3, 1.0, True, 5)]
    return Population.from_genes(2, 1, [(nodes, links)], dtype)


def best() -> Best:
    return Best(genome(), fitness=3.75, generation=12, id=345)


def edited(path: Path, **changes: Any) -> Path:
    """Writes a champion with some entries changed by hand, and so without its checksum."""
    save_champion(path, best())
    document = json.loads(path.read_text())
    del document["sha256"]
    for name, value in changes.items():
        if value is ...:
            del document[name]
        else:
            document[name] = value
    path.write_text(json.dumps(document))
    return path


def refused(path: Path, message: str) -> None:
    with pytest.raises(FileFormatError, match=message) as caught:
        load_champion(path)
    assert str(caught.value).startswith(f"{path}: ")


# There and back.


@given(population=populations())
@same_folder
def test_a_loaded_champion_has_the_bits_of_the_saved_one(
    population: Population, tmp_path: Path
) -> None:
    for i in range(len(population)):
        save_champion(tmp_path / "a", population[i : i + 1])
        assert load_champion(tmp_path / "a") == population[i : i + 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_finite_number_comes_back_with_equal_bits(dtype: Any, tmp_path: Path) -> None:
    bits = np.random.default_rng(1).integers(0, 2**63, 300, np.int64)
    numbers = bits.view(np.float64) if dtype is np.float64 else bits.astype(np.int32).view(dtype)
    special = [0.0, -0.0, 5e-324, 1e-45, 1.17549435e-38, 16777216.0, 3.4028235e38, 1 / 3]
    numbers = np.append(numbers[np.isfinite(numbers)], np.array(special, dtype))
    links = [(-1 - i, 0, weight) for i, weight in enumerate(numbers.tolist())]
    population = Population.from_genes(len(links), 1, [([0], links)], dtype)
    save_champion(tmp_path / "a", population)
    assert load_champion(tmp_path / "a") == population


def test_the_file_is_readable(tmp_path: Path) -> None:
    save_champion(tmp_path / "a.json", best(), Config().replace({"run.seed": 5}))
    text = (tmp_path / "a.json").read_text()
    assert '\n "fitness": 3.75,\n' in text
    assert '\n "functions": {},\n' in text
    assert (
        '{"enabled": true, "innovation": 9, "source": 3, "target": 0, "weight": 0.1},\n'
        '  {"enabled": false, "innovation": 4, "source": -1, "target": 3, "weight": -2.5}'
    ) in text
    document = json.loads(text)
    assert list(document) == sorted(document)
    assert (document["seed"], document["generation"], document["id"]) == (5, 12, 345)
    assert (document["kind"], document["num_inputs"], document["num_outputs"]) == (
        "feedforward",
        2,
        1,
    )


def test_equal_champions_give_equal_bytes(tmp_path: Path) -> None:
    metadata = {"task": "xor", "size": 3}
    save_champion(tmp_path / "a", best(), metadata=metadata)
    save_champion(tmp_path / "b", best(), metadata=dict(reversed(metadata.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_is_known_about_a_champion_comes_back(tmp_path: Path) -> None:
    config = Config()
    metadata: dict[str, Any] = {"task": 'x "or"\n', "ok": True, "n": 3, "r": 0.1, "none": None}
    save_champion(tmp_path / "a", best(), config, seed=2**64 - 1, metadata=metadata)
    found = read_champion(tmp_path / "a")
    assert (found.fitness, found.generation, found.id) == (3.75, 12, 345)
    assert found.seed == 2**64 - 1
    assert found.config_digest == config.digest()
    assert found.metadata == metadata
    save_champion(tmp_path / "a", genome(), fitness=-1.5, generation=2)
    found = read_champion(tmp_path / "a")
    assert (found.fitness, found.generation, found.id, found.seed) == (-1.5, 2, None, None)


def test_a_file_changed_by_hand_is_read_without_its_checksum(tmp_path: Path) -> None:
    path = edited(tmp_path / "a", fitness=5)
    assert read_champion(path).fitness == 5


@pytest.mark.parametrize("champion", [Population.empty(2, 1), genome() + genome(), "champion.json"])
def test_only_one_genome_is_a_champion(champion: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="A champion is one genome"):
        save_champion(tmp_path / "a", champion)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fitness": float("nan")}, "fitness is nan. Expected a finite number"),
        ({"seed": -1}, "seed is -1"),
        ({"generation": 1.5}, "generation is 1.5"),
        ({"metadata": {"a": [1]}}, "metadata is a table. Expected"),
        ({"metadata": {1: "a"}}, "metadata is a table. Expected"),
        ({"dynamics": Dynamics(steps=0)}, "steps is 0. Expected"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=message):
        save_champion(tmp_path / "a", genome(), **options)
    assert not (tmp_path / "a").exists()


def test_a_failing_disk_leaves_the_old_champion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError("the disk is full")

    save_champion(tmp_path / "a", best())
    monkeypatch.setattr("evonet.files.atomic.os.fsync", full)
    with pytest.raises(OSError, match="full"):
        save_champion(tmp_path / "a", genome(7.0))
    assert load_champion(tmp_path / "a") == genome()
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_missing_file_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_champion(tmp_path / "nowhere")


# Damage.


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_champion(path, best())
    for length in reversed(range(path.stat().st_size - 1)):  # the last byte is a line end
        os.truncate(path, length)
        refused(path, "is not valid JSON, or cut short: ")


def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    save_champion(path, best())
    whole = path.read_bytes()
    rng = random.Random(1)
    loaded = 0
    for _ in range(600):
        bit = rng.randrange(8 * len(whole))
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            found = read_champion(path)
        except FileFormatError:
            continue
        # White space, or an escape that means the same.
        assert found.population == genome()
        assert (found.fitness, found.generation, found.id) == (3.75, 12, 345)
        loaded += 1
    assert loaded < 25


def test_a_changed_value_does_not_match_the_checksum(tmp_path: Path) -> None:
    save_champion(tmp_path / "a", best())
    text = (tmp_path / "a").read_text()
    (tmp_path / "a").write_text(text.replace("3.75", "3.76"))
    refused(tmp_path / "a", r"do not match its sha256\. If it was changed by hand on purpose, rem")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not valid JSON, or cut short"),
        ("{}", r'format is None. Expected "evonet.champion"'),
        ("[]", "holds a list. Expected a JSON object"),
        ("3", "holds a int. Expected a JSON object"),
        ('{"format": "evonet.champion", "format": 1}', "a name appears twice"),
        ('{"format": NaN}', "NaN is not a number"),
        ('{"format": 1' + "0" * 5000 + "}", "is not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format": "evonet.population"}', r'format is "evonet.population". Expected'),
        ("\x80", "is not valid JSON"),
    ],
)
def test_a_file_of_another_kind_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(text.encode("latin-1"))
    refused(tmp_path / "a", message)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    refused(edited(tmp_path / "a", version=2, news=1), "has version 2, from a newer evonet")


NODE = {
    "key": 0,
    "bias": 0.0,
    "response": 1.0,
    "activation": "tanh",
    "aggregation": "sum",
    "time_constant": 1.0,
}
LINK = {"source": -1, "target": 0, "weight": 1.0, "enabled": True, "innovation": 0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 0}, "version is 0. Expected 1 to 1"),
        ({"version": True}, "version is true"),
        ({"kind": "magic"}, 'kind is "magic". Expected "feedforward"'),
        ({"dtype": "float16"}, 'dtype is "float16". Expected "float32" or "float64"'),
        ({"num_inputs": -1}, "num_inputs is -1"),
        ({"num_inputs": 1.0}, "num_inputs is 1.0"),
        ({"num_inputs": 0}, "source -1 is not an input"),
        ({"num_outputs": 2}, "genome 0: output node 1 is missing"),
        ({"fitness": "high"}, 'fitness is "high". Expected a finite number, or null'),
        ({"generation": -1}, "generation is -1"),
        ({"seed": 2**64}, "seed is"),
        ({"config_digest": "abc"}, 'config_digest is "abc". Expected a SHA-256, or null'),
        ({"metadata": 3}, "metadata is 3"),
        ({"functions": {"wave": "sin(x)"}}, "functions is a table. Expected tables of activations"),
        ({"functions": ...}, "functions is missing. Expected config_digest, connections"),
        ({"colour": "red"}, "colour is unknown. Expected config_digest, connections"),
        ({"nodes": {}}, "nodes is a table. Expected a list"),
        ({"nodes": []}, "genome 0: output node 0 is missing"),
        ({"nodes": [3]}, r"nodes\[0\] is 3. Expected an object"),
        ({"nodes": [{"key": 0}]}, r"nodes\[0\].activation is missing"),
        ({"nodes": [{**NODE, "size": 3}]}, r"nodes\[0\].size is unknown"),
        ({"nodes": [{**NODE, "bias": "1.0"}]}, r'nodes\[0\].bias is "1.0". Expected a finite num'),
        ({"nodes": [{**NODE, "bias": True}]}, r"nodes\[0\].bias is true"),
        ({"nodes": [{**NODE, "bias": 1e39}]}, "bias is inf. Expected a finite number"),
        ({"nodes": [{**NODE, "activation": "x"}]}, '"x" is not a known activation'),
        ({"nodes": [{**NODE, "activation": ["x"]}]}, r"nodes\[0\].activation is"),
        ({"nodes": [NODE, NODE]}, "its key appears twice"),
        ({"nodes": [{**NODE, "key": 2**70}]}, r"nodes\[0\].key is"),
        ({"connections": [{**LINK, "enabled": 1}]}, r"connections\[0\].enabled is 1. Expected tr"),
        ({"connections": [{**LINK, "innovation": None}]}, r"connections\[0\].innovation is None"),
        ({"connections": [{**LINK, "target": 77}]}, "target 77 is not a node"),
        ({"connections": [LINK, LINK]}, "innovation 0 is also that of connection"),
    ],
)
def test_entries_that_make_no_sense_are_named(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    refused(edited(tmp_path / "a", **changes), message)


def test_the_path_is_in_every_message(tmp_path: Path) -> None:
    path = edited(tmp_path / "b", nodes=None)
    with pytest.raises(FileFormatError, match=re.escape(str(path))):
        read_champion(path)
