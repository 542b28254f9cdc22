"""Files that the previous version wrote: they load, and a run resumed from them has equal bits.

`saved/known.json` holds what the previous version computed from the files beside it. Checkpoints
are compared without the text of their config, which may gain settings at their defaults. The run
of cartpole ends as this version tests champions; the others do without such tests.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import evonet
from evonet.tasks import make_task

SAVED = Path(__file__).parent / "saved"
KNOWN: dict[str, dict[str, Any]] = json.loads((SAVED / "known.json").read_text())
CHECKPOINT, RESUMED = "checkpoint-000004.safetensors", "resumed-000008.safetensors"

pytestmark = pytest.mark.parametrize("case", KNOWN)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a checkpoint, without the config and the checksum over it, and its arrays."""
    with safe_open(path, "numpy") as file:
        settings = json.loads(file.metadata()["evonet"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del settings["config"], settings["sha256"]
    return settings, {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}


def test_there_is_a_folder_for_every_case(case: str) -> None:
    files = {"config.toml", "champion.json", "population.safetensors", CHECKPOINT, RESUMED}
    assert {file.name for file in (SAVED / case).iterdir()} == files
    assert sha256((SAVED / case / RESUMED).read_bytes()) == KNOWN[case]["resumed_sha256"]


def test_a_config_has_the_digest_that_it_had(case: str) -> None:
    assert evonet.Config.load(SAVED / case / "config.toml").digest() == KNOWN[case]["digest"]


def test_a_population_computes_what_it_did_and_is_saved_as_it_was(
    case: str, tmp_path: Path
) -> None:
    file = SAVED / case / "population.safetensors"
    population = evonet.Population.load(file)
    dynamics = evonet.Config.load(SAVED / case / "config.toml").dynamics
    network = evonet.compile(
        population,
        kind=dynamics.kind,
        propagation=dynamics.propagation,
        time_step=dynamics.time_step or None,
        steps=dynamics.steps,
    )
    x = np.linspace(-2, 2, 7 * population.num_inputs).reshape(7, -1)
    assert sha256(network(x).tobytes()) == KNOWN[case]["outputs_sha256"]
    population.save(tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_a_champion_is_the_best_of_its_checkpoint(case: str, tmp_path: Path) -> None:
    neat = evonet.NEAT.resume(SAVED / case / CHECKPOINT)
    best, file = neat.best, SAVED / case / "champion.json"
    assert best is not None
    champion = evonet.read_champion(file)
    assert champion.population == best.population
    assert champion.dynamics == neat.config.dynamics
    evonet.save_champion(tmp_path / file.name, best, neat.config, seed=11)
    assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_a_checkpoint_is_saved_as_it_was(case: str, tmp_path: Path) -> None:
    evonet.NEAT.resume(SAVED / case / CHECKPOINT).save(tmp_path)
    assert contents(tmp_path / CHECKPOINT) == contents(SAVED / case / CHECKPOINT)


def test_a_resumed_run_ends_where_the_previous_version_did(case: str, tmp_path: Path) -> None:
    known = KNOWN[case]
    config = evonet.Config.load(SAVED / case / "config.toml")
    checkpoint = Path(shutil.copy(SAVED / case / CHECKPOINT, tmp_path))
    result = evonet.evolve(
        make_task(str(config.task["name"]), **known.get("options", {})),
        generations=9,
        resume=checkpoint,
        callbacks=[evonet.CheckpointSaver(tmp_path, keep=1)],
    )
    assert result.best.fitness == known["fitness"]
    assert contents(tmp_path / known["resumed"]) == contents(SAVED / case / RESUMED)
    evonet.save_champion(tmp_path / "champion.json", result.best, config, seed=11)
    assert sha256((tmp_path / "champion.json").read_bytes()) == known["champion_sha256"]
