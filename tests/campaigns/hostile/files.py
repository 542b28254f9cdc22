"""Champions, populations and checkpoints: spoilt values with checksums that match, and bytes."""

from __future__ import annotations

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from evonet.config import Config
from evonet.evolution import NEAT
from evonet.evolution.checkpoint.file import FORMAT, VERSION, pack, read_checkpoint
from evonet.files.checksummed_tensors import write_tensors
from evonet.genes.arrays import ARRAYS
from evonet.genes.file import FORMAT as POPULATION
from evonet.genes.file import pack_functions
from evonet.genes.population import Population
from evonet.report.layout import lay_out
from evonet.report.names import pin_names
from evonet.report.terminal import draw_in_terminal
from evonet.runs.champion import read_champion, save_champion
from tests.campaigns.hostile.hostile_values import damage, spoil
from tests.campaigns.hostile.watch import Input

SHARE: Final = 6
TYPES: Final = (np.uint8, np.int32, np.int64, np.float32, np.float64, np.bool_, np.uint64)


def attack(rng: random.Random, folder: Path) -> Input:
    """Writes a hostile file, and reads it."""
    kind = rng.choice((_champion, _champion, _champion, _population, _checkpoint))
    return kind(rng, folder)


def prepare() -> None:
    """Makes the files that are spoilt."""
    _good_champion()
    _good_population()
    _good_checkpoint()


def _champion(rng: random.Random, folder: Path) -> Input:
    path = folder / "champion.json"
    document, text = _good_champion()
    if rng.random() < 0.3:
        path.write_bytes(damage(text, rng))
    else:
        spoilt = spoil(document, rng, rng.choice((1, 1, 1, 2, 6)))
        path.write_text(json.dumps(spoilt))

    def read() -> None:
        champion = read_champion(path)
        population = champion.population
        layout = lay_out(population, champion.dynamics)
        pins = population.num_inputs, population.num_outputs
        draw_in_terminal(layout, pin_names(None, *pins, champion.metadata))

    return read


@cache
def _good_champion() -> tuple[dict[str, Any], bytes]:
    genome = Population.random(1, 3, 2, num_nodes=6, num_connections=12, enabled=0.8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "champion.json"
        save_champion(
            path, genome, fitness=1.5, generation=3, metadata={"task": "xor", "input 0": "a"}
        )
        text = path.read_bytes()
    document = json.loads(text)
    del document["sha256"]
    document["tested"] = {"episodes": 5, "low": 0.5, "high": 1.5, "worst": 0.0}
    document["task_state"] = {"mean": [0.5, 1.5]}
    document["encoding"] = _good_encoding()
    document["functions"] = {"activations": {"swish": "x / (1 + exp(-x))"}, "aggregations": {}}
    return document, text


def _good_encoding() -> Any:
    from evonet.tasks import classification

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text("a,b,c,kind\n1,x,5,yes\n2,y,6,no\n3,x,7,no\n4,y,9,yes\n")
        encoding = classification(data=str(path), standardize=True).encoding
    assert encoding is not None
    return encoding.to_dict()


def _spoil_arrays(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Changes values, lengths, types and shapes of some arrays."""
    spoilt = dict(arrays)
    for name in rng.sample(sorted(spoilt), min(len(spoilt), rng.choice((0, 1, 1, 2)))):
        array = spoilt[name].copy()
        way = rng.randrange(6)
        if way == 0 and array.size:
            array.reshape(-1)[rng.randrange(array.size)] = _element(array.dtype, rng)
        elif way == 1:
            array = array.astype(rng.choice(TYPES))
        elif way == 2:
            array = array[: rng.randrange(array.size + 1)].copy()
        elif way == 3:
            array = np.concatenate([array, array])
        elif way == 4:
            array = array.reshape((1,) * rng.choice((1, 3, 20)) + array.shape)
        else:
            array = np.zeros(rng.choice((0, 1, 1000)), array.dtype)
        spoilt[name] = np.ascontiguousarray(array)
        if way == 4:
            spoilt[name] = array
    return spoilt


def _element(dtype: np.dtype[Any], rng: random.Random) -> Any:
    if dtype.kind == "f":
        return rng.choice((np.nan, np.inf, -np.inf, 0.0, -1.0, 1e30, 1e-40))
    if dtype.kind == "b":
        return rng.random() < 0.5
    limits = np.iinfo(dtype)
    return rng.choice((limits.min, limits.max, 0, 1, 2, 3, 7, limits.max // 2))


def _population(rng: random.Random, folder: Path) -> Input:
    path = folder / "population.safetensors"
    settings, arrays = _good_population()
    if rng.random() < 0.7:
        settings = spoil(settings, rng, rng.choice((0, 1, 1, 2)))
    if not _write(path, POPULATION, settings, _spoil_arrays(arrays, rng), rng):
        return lambda: None
    return lambda: Population.load(path)


@cache
def _good_population() -> tuple[dict[str, Any], dict[str, Any]]:
    population = Population.random(4, 3, 2, num_nodes=6, num_connections=10)
    names, custom, tensors = pack_functions(population)
    return {"num_inputs": 3, "num_outputs": 2, **names, "functions": custom}, dict(tensors)


def _checkpoint(rng: random.Random, folder: Path) -> Input:
    path = folder / "checkpoint-000001.safetensors"
    settings, arrays = _good_checkpoint()
    settings = spoil(settings, rng, rng.choice((0, 1, 1, 2)))
    if not _write(path, FORMAT, settings, _spoil_arrays(arrays, rng), rng):
        return lambda: None
    return lambda: read_checkpoint(path, NEAT)


@cache
def _good_checkpoint() -> tuple[dict[str, Any], dict[str, Any]]:
    config = Config().replace(
        {"neat.pop_size": 8, "genome.num_inputs": 2, "genome.num_outputs": 1, "run.seed": 3}
    )
    neat = NEAT(config, threads=1)
    for _ in range(3):
        neat.tell(np.arange(len(neat.ask()), dtype=float))
    settings, arrays = pack(neat)
    return settings, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _write(
    path: Path, form: str, settings: Any, arrays: dict[str, Any], rng: random.Random
) -> bool:
    """Writes a file whose checksum is right, and may spoil it; False if JSON cannot hold it."""
    assert set(ARRAYS) <= set(arrays)
    try:
        write_tensors(
            path, form, rng.choice((1, 1, 1, 1, 2)) if form else VERSION, settings, arrays
        )
    except (TypeError, ValueError, OverflowError):
        return False
    if rng.random() < 0.25:
        path.write_bytes(damage(path.read_bytes(), rng))
    return True
