"""Files that claim more than they hold, and what refused files leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import evonet
from evonet.config import Config
from evonet.errors import (
    MOST_FAULTS,
    ConfigError,
    EvonetError,
    FileFormatError,
    OptionError,
    ShapeError,
)
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.files.regular import read_bytes
from evonet.functions.registry import OWN
from evonet.functions.table import NUM_IDS
from evonet.genes.population import Population
from evonet.genes.selection import drop_idle_inputs
from evonet.report.layout import lay_out
from evonet.report.names import pin_names
from evonet.runs.champion import read_champion, save_champion

# Of address space; imports and threads take some hundred megabytes of it.
MOST_MEMORY = 2 << 30


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def write_champion(path: Path, **changes: Any) -> None:
    """Writes a champion of three links, changed by hand."""
    genome = Population.from_genes(3, 2, [([0, 1, 2], [(-1, 2, 1.0), (2, 0, 1.0), (-3, 1, 0.5)])])
    save_champion(path, genome)
    document = json.loads(path.read_text())
    del document["sha256"]
    path.write_text(json.dumps(document | changes))


# Sizes.


@pytest.mark.limits_memory
@pytest.mark.parametrize("num_inputs", [20_000_000, 2**31 - 1])
def test_memory_follows_the_genes_and_not_the_declared_inputs(
    num_inputs: int, tmp_path: Path
) -> None:
    path = tmp_path / "champion.json"
    write_champion(path, num_inputs=num_inputs)
    code = (
        "import resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_AS, ({MOST_MEMORY}, {MOST_MEMORY})); "
        "from evonet.cli.app import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{num_inputs:,} inputs" in done.stdout
    assert "+0.5 in 2" in done.stdout


def test_of_very_many_inputs_those_that_are_read_are_drawn() -> None:
    genome = Population.from_genes(5000, 1, [([0], [(-1, 0, 1.0), (-4000, 0, 2.0)])])
    layout = lay_out(genome)
    assert [spot.key for spot in layout.spots] == [-1, -4000, 0]
    assert [(link.source, link.target, link.weight) for link in layout.links] == [
        (0, 2, 1.0),
        (1, 2, 2.0),
    ]
    names = pin_names(None, 2**31 - 1, 2, {"input 3999": "far"})
    assert (names[-4000], names[-(2**31) + 1], names[1]) == ("far", "in 2147483646", "out 1")
    assert names.get(2) is None


def test_without_its_idle_inputs_a_population_computes_the_same() -> None:
    whole = Population.random(5, 40, 2, num_nodes=6, num_connections=12, seed=3)
    less, keys = drop_idle_inputs(whole)
    x = np.random.default_rng(1).normal(size=(7, 40))
    assert less.num_inputs == len(keys) < 40
    assert np.array_equal(evonet.compile(whole)(x), evonet.compile(less)(x[:, -1 - keys]))


def test_a_network_of_endless_inputs_is_not_compiled() -> None:
    genome = Population.from_genes(2**31 - 1, 1, [([0], [(-1, 0, 1.0)])])
    with pytest.raises(OptionError, match="cannot be compiled"):
        evonet.compile(genome)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "champion.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # no bytes on the disk
    with pytest.raises(FileFormatError, match="has more than 1,073,741,824 bytes"):
        read_champion(path)
    with pytest.raises(FileFormatError, match="has more than 10 bytes"):
        read_bytes(path, 10)
    with pytest.raises(FileFormatError, match="not a safetensors file"):
        Population.load(path)


@pytest.mark.parametrize("shape", [(1,) * 1000, (0, 2**62, 2**62), (0, 2**63)])
def test_a_tensor_of_impossible_shape_is_named(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    write_tensors(path, "odd", 1, {}, {"x": np.zeros(shape[0] and 1, np.uint8)})
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["x"]["shape"] = list(shape)
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(FileFormatError, match=r"tensor x has|damaged or truncated"):
        read_tensors(path, "odd", 1, ["x"])


def test_a_header_that_claims_more_than_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    path.write_bytes((2**62).to_bytes(8, "little") + save({"x": np.zeros(3)})[8:])
    with pytest.raises(FileFormatError, match="not a safetensors file, or it is truncated"):
        Population.load(path)


# Champions of many links.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_champion_is_written_as_json_would_write_it(dtype: Any, tmp_path: Path) -> None:
    path = tmp_path / "champion.json"
    genome = Population.random(
        1, 30, 3, num_nodes=60, num_connections=500, dtype=dtype, enabled=0.5, weight_scale=1e9
    )
    save_champion(path, genome, fitness=0.1, metadata={"a": 1, "z": "\ud800"})
    text = path.read_text()
    document = json.loads(text)
    lines = [json.dumps(gene, sort_keys=True) for gene in document["connections"]]
    assert all(f"\n  {line}" in text for line in lines)
    read = read_champion(path)  # checks the digest
    assert read.population == genome
    shortest = [float(str(weight)) for weight in genome.weight[np.argsort(genome.rank)]]
    assert [gene["weight"] for gene in document["connections"]] == shortest


# Functions.


def test_a_refused_file_leaves_no_functions_behind(tmp_path: Path) -> None:
    path = tmp_path / "champion.json"
    before = {title: len(functions) for title, functions in OWN.items()}
    room = NUM_IDS - before["activations"]  # other tests may have taken some
    own = {f"f{i}": f"x + {i}.5" for i in range(room)}
    for number in range(3):
        write_champion(
            path,
            functions={"activations": {f"{name}_{number}": text for name, text in own.items()}},
            num_outputs=99,
        )
        with pytest.raises(FileFormatError, match="output node 3 is missing"):
            read_champion(path)
    assert {title: len(functions) for title, functions in OWN.items()} == before
    bad = "\n".join(f'g{i} = "x - {i}.5"' for i in range(room))
    with pytest.raises(ConfigError):
        Config.loads(f"[functions.activations]\n{bad}\n[neat]\npop_size = -1\n")
    assert {title: len(functions) for title, functions in OWN.items()} == before
    assert not {name for name in OWN["activations"].ids if name.startswith(("f0", "g0"))}


def test_functions_that_a_network_uses_keep_their_ids_when_a_file_is_refused() -> None:
    with suppress(RuntimeError), OWN["activations"].undone_on_error():
        evonet.register_activation("kept_by_kernels", "x * 3.25")
        genome = Population.from_genes(
            1, 1, [([{"key": 0, "activation": "kept_by_kernels"}], [(-1, 0, 1.0)])]
        )
        network = evonet.compile(genome)
        assert network([[2.0]])[0, 0, 0] == 6.5
        raise RuntimeError
    assert "kept_by_kernels" not in OWN["activations"].ids
    evonet.register_activation("comes_after", "x * 7.25")
    try:
        again = Population.from_genes(
            1, 1, [([{"key": 0, "activation": "comes_after"}], [(-1, 0, 1.0)])]
        )
        assert evonet.compile(again)([[2.0]])[0, 0, 0] == 14.5
        assert network([[2.0]])[0, 0, 0] == 6.5
    finally:
        evonet.unregister_activation("comes_after")


# Configs.


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("toml", "[" + " " * 100_000),
        ("toml", "[a" + " " * 100_000 + "b"),
        ("ini", "[NEAT]\na" + " " * 100_000 + "b\n"),
        ("ini", "[NEAT]\n" + "a\n" * 100_000),
        ("toml", "a = 1\n" * 30_000),
        ("toml", "".join(f"k{i} = x\n" for i in range(20_000))),
    ],
)
def test_a_hostile_config_is_refused_before_anybody_waits(form: Any, text: str) -> None:
    # A quadratic search would take minutes here.
    with pytest.raises(ConfigError):
        Config.loads(text, form)


@pytest.mark.parametrize("form", ["toml", "ini"])
def test_the_message_about_a_file_of_faults_is_short(form: Any) -> None:
    lines = "".join(f"{'k' * 60}{i} = 1\n" for i in range(3000))
    title = "neat" if form == "toml" else "NEAT"
    with pytest.raises(ConfigError) as caught:
        Config.loads(f"[{title}]\n{lines}", form)
    assert len(caught.value.faults) >= 3000
    assert len(str(caught.value)) < 20_000
    rest = len(caught.value.faults) - MOST_FAULTS
    assert str(caught.value).endswith(f"There are {rest:,} more faults.")


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_a_literal_of_5000_digits_is_a_fault_of_the_task(number: str) -> None:
    with pytest.raises(ConfigError, match=r"task\.bits .*too long"):
        Config.loads(f'[task]\nname = "parity"\nbits = {number}\n')
    with pytest.raises(ConfigError, match=r"task\.bits .*too long"):
        Config.from_dict({"task": {"bits": 16**5000}})


# Numbers beyond float32.


def test_inputs_beyond_float32_are_refused_and_not_infinite() -> None:
    genome = Population.from_genes(2, 1, [([0], [(-1, 0, 1.0)])])
    network = evonet.compile(genome)
    with pytest.raises(ShapeError, match=r"1e\+39 at \[1, 0\] is beyond the range of float32"):
        network(np.array([[1.0, np.inf], [1e39, 0.0]]))
    assert np.isfinite(network(np.array([[np.inf, -np.inf]]))).all()
    double = evonet.compile(genome, dtype="float64")
    assert np.isfinite(double(np.array([[1e300, 0.0]]))).all()


def test_every_refusal_is_an_error_of_evonet(tmp_path: Path) -> None:
    path = tmp_path / "champion.json"
    for changes in (
        {"num_inputs": 10**400},
        {"num_inputs": -1},
        {"fitness": 10**400},
        {"generation": "x"},
        {"nodes": [[]]},
        {"nodes": 5},
        {"connections": [{"source": 10**30}]},
        {"functions": {"activations": {"\ud800": "x"}}},
        {"metadata": {"a": []}},
    ):
        write_champion(path, **changes)
        with pytest.raises(EvonetError):
            read_champion(path)
