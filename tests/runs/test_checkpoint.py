"""Checkpoints: nothing is lost on the way out, nothing is believed on the way in."""

from __future__ import annotations

import hashlib
import os
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.errors import CheckpointError, OptionError
from evonet.evolution import NEAT
from evonet.evolution.checkpoint import (
    list_checkpoints,
    load_checkpoint,
    open_checkpoint,
    save_checkpoint,
)
from evonet.evolution.checkpoint.file import FORMAT, VERSION, pack
from evonet.files.checksummed_tensors import write_tensors
from evonet.genes.arrays import ARRAYS
from evonet.tasks import xor
from tests.campaigns import checkpoints as checkpoint_campaign
from tests.support.evolution_cases import evolved, xor_config


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def step(neat: NEAT, generations: int = 1) -> NEAT:
    for _ in range(generations):
        neat.tell(xor().evaluate(evonet.compile(neat.ask(), threads=1), 0))
    return neat


def small(generations: int = 8) -> NEAT:
    """A run of 12 genomes in a few species."""
    config = xor_config(12).replace({"speciation.threshold": 1.5})
    return step(NEAT(config, num_inputs=2, num_outputs=1), generations)


def state_of(neat: NEAT) -> tuple[dict[str, Any], dict[str, bytes]]:
    """All of a run that can be compared."""
    settings, tensors = pack(neat)
    return settings, {name: array.tobytes() for name, array in tensors.items()}


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def file_of(generation: int) -> str:
    return f"checkpoint-{generation:06d}.safetensors"


# There and back.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("generations", [0, 1, 8])
def test_a_loaded_run_is_the_saved_one(generations: int, dtype: Any, tmp_path: Path) -> None:
    neat = step(NEAT(xor_config(12), 5, num_inputs=2, num_outputs=1, dtype=dtype), generations)
    path = save_checkpoint(neat, tmp_path)
    assert path == tmp_path / file_of(max(0, generations - 1))
    again = load_checkpoint(tmp_path, algorithm=NEAT)
    assert state_of(again) == state_of(neat)
    assert again.state.population == neat.state.population
    assert again.config == neat.config
    assert again.seed == 5
    assert again.solved == neat.solved


def test_a_loaded_run_goes_on_as_the_saved_one(tmp_path: Path) -> None:
    neat = small(5)
    again = load_checkpoint(save_checkpoint(neat, tmp_path), algorithm=NEAT)
    for _ in range(10):
        assert state_of(step(again)) == state_of(step(neat))


def test_a_generation_that_was_asked_for_but_not_told_is_resumed_too(tmp_path: Path) -> None:
    neat = small(3)
    asked = neat.ask()
    again = load_checkpoint(save_checkpoint(neat, tmp_path), algorithm=NEAT)
    assert again.state.fitness is None
    assert again.ask() == asked
    assert state_of(step(again, 3)) == state_of(step(neat, 3))


def test_saving_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    saved, alone = small(0), small(0)
    for _ in range(10):
        step(saved)
        before = state_of(saved)
        saved.save(tmp_path)
        assert state_of(saved) == before
        assert before == state_of(step(alone))


def test_equal_states_give_equal_bytes(tmp_path: Path) -> None:
    one = save_checkpoint(small(), tmp_path / "a")
    two = save_checkpoint(small(), tmp_path / "b")
    three = save_checkpoint(load_checkpoint(one, algorithm=NEAT), tmp_path / "c")
    assert one.read_bytes() == two.read_bytes() == three.read_bytes()


def test_neat_saves_and_resumes_by_methods_of_its_own(tmp_path: Path) -> None:
    neat = small()
    assert neat.save(tmp_path, keep=1) == tmp_path / file_of(7)
    assert state_of(NEAT.resume(tmp_path)) == state_of(neat)
    assert state_of(NEAT.resume(tmp_path, neat.config)) == state_of(neat)


def test_what_the_run_does_about_nan_is_remembered(tmp_path: Path) -> None:
    neat = NEAT(xor_config(5), num_inputs=2, num_outputs=1, on_bad_fitness="worst")
    neat.tell([1.0, np.nan, 3.0, 2.0, 5.0])
    again = load_checkpoint(neat.save(tmp_path), algorithm=NEAT)
    again.ask()
    again.tell([1.0, np.nan, 3.0, 2.0, 5.0])
    assert again.state.fitness is not None
    assert again.state.fitness.tolist() == [1.0, 1.0, 3.0, 2.0, 5.0]


def test_a_run_that_minimises_is_resumed(tmp_path: Path) -> None:
    config = xor_config(8).replace({"neat.fitness_criterion": "min"})
    neat = NEAT(config, num_inputs=2, num_outputs=1)
    for turn in range(3):
        neat.ask()
        neat.tell(np.arange(8.0) - turn)
    assert state_of(load_checkpoint(neat.save(tmp_path), algorithm=NEAT)) == state_of(neat)


def test_a_run_that_began_anew_after_extinction_is_resumed(tmp_path: Path) -> None:
    changes = {"neat.reset_on_extinction": True, "stagnation.max_stagnation": 1}
    config = xor_config(8).replace({**changes, "stagnation.species_elitism": 0})
    neat = NEAT(config, num_inputs=2, num_outputs=1)
    for _ in range(6):
        neat.ask()
        neat.tell(np.ones(8))
    assert neat.species[0].created > 0
    assert state_of(load_checkpoint(neat.save(tmp_path), algorithm=NEAT)) == state_of(neat)


# Keeping some.


def test_the_last_three_are_kept(tmp_path: Path) -> None:
    neat = small(0)
    for _ in range(6):
        step(neat).save(tmp_path)
    assert names(tmp_path) == [file_of(3), file_of(4), file_of(5)]


def test_a_run_that_was_set_back_removes_what_lies_ahead(tmp_path: Path) -> None:
    neat = small(0)
    for _ in range(6):
        step(neat).save(tmp_path, keep=9)
    step(load_checkpoint(tmp_path / file_of(2), algorithm=NEAT)).save(tmp_path, keep=9)
    assert names(tmp_path) == [file_of(i) for i in range(4)]


def test_what_a_killed_process_left_behind_goes_with_the_next_save(tmp_path: Path) -> None:
    (tmp_path / f".{file_of(4)}.0123456789abcdef.tmp").write_bytes(b"half of a checkp")
    (tmp_path / "notes.txt").write_text("mine")
    small(6).save(tmp_path)
    assert names(tmp_path) == [file_of(5), "notes.txt"]


@pytest.mark.parametrize("keep", [0, -1, True, 1.0, "3"])
def test_a_number_to_keep_that_makes_no_sense_is_refused(keep: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"keep=.* must be a whole number, at least 1"):
        save_checkpoint(small(1), tmp_path, keep)
    assert names(tmp_path) == []


def test_checkpoints_are_listed_by_generation_whatever_their_digits(tmp_path: Path) -> None:
    for name in (file_of(999_999), file_of(1_000_000), file_of(7), "checkpoint-12.safetensors"):
        (tmp_path / name).touch()
    assert [p.name for p in list_checkpoints(tmp_path)] == [
        file_of(7),
        file_of(999_999),
        file_of(1_000_000),
    ]
    assert list_checkpoints(tmp_path / "nowhere") == []


# Falling back.


def test_an_unreadable_checkpoint_gives_way_to_the_next_older_one(tmp_path: Path) -> None:
    neat = small(0)
    for _ in range(3):
        step(neat).save(tmp_path)
    for generation in (1, 2):
        (tmp_path / file_of(generation)).write_bytes(b"rubbish")
    with pytest.warns(UserWarning, match="taken instead, although it is older") as caught:
        again = load_checkpoint(tmp_path, algorithm=NEAT)
    assert again.generation == 0
    for generation in range(3):
        assert file_of(generation) in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(again).save(tmp_path)
        assert load_checkpoint(tmp_path, algorithm=NEAT).generation == 1


def test_an_unreadable_file_asked_for_by_name_is_refused(tmp_path: Path) -> None:
    neat = small(0)
    for _ in range(2):
        step(neat).save(tmp_path)
    (tmp_path / file_of(1)).write_bytes(b"rubbish")
    with pytest.raises(CheckpointError, match="is not a safetensors file"):
        load_checkpoint(tmp_path / file_of(1), algorithm=NEAT)


def test_a_folder_of_nothing_readable_is_refused(tmp_path: Path) -> None:
    for generation in range(2):
        (tmp_path / file_of(generation)).write_bytes(b"rubbish")
    with pytest.raises(CheckpointError, match="no checkpoint in it can be read") as caught:
        load_checkpoint(tmp_path, algorithm=NEAT)
    assert file_of(0) in str(caught.value)
    assert file_of(1) in str(caught.value)
    assert str(caught.value).count("is not a safetensors file") == 1


def test_a_missing_or_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere: there is no such file or folder"):
        load_checkpoint(tmp_path / "nowhere", algorithm=NEAT)
    with pytest.raises(CheckpointError, match="holds no checkpoints"):
        load_checkpoint(tmp_path, algorithm=NEAT)


def test_a_folder_named_like_a_checkpoint_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / file_of(3)).mkdir()
    with pytest.raises(CheckpointError, match="holds no checkpoints"):
        load_checkpoint(tmp_path, algorithm=NEAT)


# Changed settings.


def test_a_changed_config_is_refused_and_the_changes_are_listed(tmp_path: Path) -> None:
    neat = small()
    neat.save(tmp_path)
    changed = neat.config.replace(
        {"neat.pop_size": 20, "speciation.target_num_species": 3, "genome.num_inputs": 2}
    )
    with pytest.raises(
        CheckpointError,
        match=r"neat.pop_size = 12, now 20; speciation.target_num_species = not set, now 3\. "
        "Resume",
    ):
        load_checkpoint(tmp_path, changed, algorithm=NEAT)


def test_how_a_run_is_carried_out_may_change(tmp_path: Path) -> None:
    neat = small()
    neat.save(tmp_path)
    config = neat.config.replace(
        {"run.generations": 5, "run.threads": 2, "task.name": "x", "genome.num_inputs": 2}
    )
    again = load_checkpoint(tmp_path, config, algorithm=NEAT)
    assert again.threads == 2
    assert again.config is config
    assert state_of(step(again))[1] == state_of(step(neat))[1]


@pytest.mark.parametrize("way", ["argument", "config"])
def test_another_seed_is_refused_unless_it_is_a_fork(way: str, tmp_path: Path) -> None:
    neat = small()
    neat.save(tmp_path)
    config = neat.config.replace({"run.seed": 8}) if way == "config" else neat.config
    seed = 8 if way == "argument" else None
    with pytest.raises(CheckpointError, match="seed = 7, now 8"):
        load_checkpoint(tmp_path, config, seed=seed, algorithm=NEAT)
    again = load_checkpoint(tmp_path, config, fork=True, seed=seed, algorithm=NEAT)
    assert again.seed == 8
    assert again.ask() != neat.ask()


def test_a_seed_that_was_given_apart_from_the_config_is_kept(tmp_path: Path) -> None:
    neat = step(NEAT(xor_config(5), 99, num_inputs=2, num_outputs=1))
    neat.save(tmp_path)
    assert load_checkpoint(tmp_path, xor_config(5), algorithm=NEAT).seed == 99


def test_a_fork_goes_on_with_the_new_settings(tmp_path: Path) -> None:
    neat = small()
    neat.save(tmp_path / "old")
    changed = neat.config.replace({"neat.pop_size": 30, "speciation.threshold": 2.5})
    fork = load_checkpoint(tmp_path / "old", changed, fork=True, algorithm=NEAT)
    assert fork.state.threshold == 2.5
    assert len(step(fork).state.population) == 30
    fork.save(tmp_path / "new")
    assert state_of(load_checkpoint(tmp_path / "new", changed, algorithm=NEAT)) == state_of(fork)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"genome.num_inputs": 3}, "genome.num_inputs = 2, now 3. Not even a fork"),
        ({"genome.num_outputs": 2}, "genome.num_outputs = 1, now 2. Not even a fork"),
        ({"neat.fitness_criterion": "min"}, "What was best would be worst"),
    ],
)
def test_what_genomes_cannot_follow_is_no_fork(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    neat = small()
    neat.save(tmp_path)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path, neat.config.replace(changes), fork=True, algorithm=NEAT)


def test_genomes_with_cycles_cannot_become_feed_forward(tmp_path: Path) -> None:
    config = xor_config(5).replace({"genome.feed_forward": False})
    neat = NEAT(config, num_inputs=2, num_outputs=1)  # every output reads itself
    neat.save(tmp_path)
    assert load_checkpoint(tmp_path, algorithm=NEAT).ask() == neat.ask()
    changed = config.replace({"genome.feed_forward": True})
    with pytest.raises(CheckpointError, match=r"feed_forward = false, now true, but .* cycle"):
        load_checkpoint(tmp_path, changed, fork=True, algorithm=NEAT)


# Damage.


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(evolved(3, 2), tmp_path)
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        with pytest.raises(CheckpointError, match=re.escape(str(path))):
            open_checkpoint(path, NEAT)


def test_flipped_bits_and_broken_sectors_are_refused(tmp_path: Path) -> None:
    path = save_checkpoint(small(), tmp_path)
    kinds = Counter[str]()
    for kind, damaged in checkpoint_campaign.damages(path.read_bytes(), 400, random.Random(3)):
        if kind == "truncated":
            continue
        kinds[kind] += 1
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            open_checkpoint(path, NEAT)
    assert kinds["bit flipped"] == 400
    assert len(kinds) == 7


def test_a_population_is_no_checkpoint(tmp_path: Path) -> None:
    small(1).state.population.save(tmp_path / "a")
    with pytest.raises(CheckpointError, match=r'the format is "evonet.population". Expected'):
        load_checkpoint(tmp_path / "a", algorithm=NEAT)


# Whole files with the wrong contents and a right checksum.


def refused(path: Path, version: int, settings: Any, tensors: Any, message: str) -> None:
    write_tensors(path, FORMAT, version, settings, tensors)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(path, algorithm=NEAT)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "a", VERSION + 1, *pack(small()), "version 2 is from a newer evonet")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generation": -1}, "generation is -1. Expected 0 to"),
        ({"generation": 8}, "a species lacks scores, or has too many"),
        ({"generation": True}, "generation is true. Expected 0 to"),
        ({"generation": 2**40}, "generation is"),
        ({"threshold": float("nan")}, "threshold is nan. Expected a finite number"),
        ({"threshold": -1.0}, "threshold is -1.0"),
        ({"threshold": "3"}, 'threshold is "3"'),
        ({"seed": 2**64}, "seed is"),
        ({"seed": 1.0}, "seed is 1.0"),
        ({"next_id": 5}, "ids do not ascend from 1 to next_id - 1"),
        ({"next_node_key": 0}, "next_node_key is 0. Expected more than"),
        ({"next_innovation": 1}, "next_innovation is 1. Expected more than"),
        ({"next_innovation": 2**62}, "next_innovation is"),
        ({"next_species": 1}, "species do not ascend from 1 to next_species - 1"),
        ({"num_inputs": 1}, "source -2 is not an input"),
        ({"num_outputs": 0}, "num_outputs is 0. Expected 1 to"),
        ({"activations": ["x"]}, 'activation "x" is not known'),
        ({"activations": 3}, "activations are 3. Expected a list"),
        ({"functions": {"f": "x + 1"}}, "functions is a table. Expected tables of activations"),
        ({"functions": None}, "functions is None. Expected tables of activations"),
        ({"on_bad_fitness": "ignore"}, 'on_bad_fitness is "ignore". Expected "error" or "worst"'),
        ({"config": 3}, "config is 3. Expected a text"),
        ({"config": "[neat]\npopsize = 3\n"}, "its config: neat.popsize is not a setting"),
        ({"config": ""}, "config_digest is .*. Expected .*, that of its config"),
        ({"config_digest": "0" * 64}, "config_digest is .*. Expected .*, that of its config"),
        ({"best": 3}, "best is 3. Expected a table of fitness, generation and id"),
        ({"best": {"fitness": 1.0}}, "best is a table. Expected"),
        ({"colour": "red"}, 'setting "colour" is unknown'),
    ],
)
def test_settings_that_make_no_sense_are_named(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    settings, tensors = pack(small())
    refused(tmp_path / "a", VERSION, {**settings, **changes}, tensors, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fitness": float("inf")}, "best.fitness is inf"),
        ({"fitness": 0.5}, "the best genome so far is not the best one"),
        ({"generation": 8}, "best.generation is 8. Expected 0 to 7"),
        ({"id": 0}, "best.id is 0"),
        ({"id": 10**9}, "best.id is 1000000000"),
        ({"id": "1"}, 'best.id is "1"'),
    ],
)
def test_a_best_genome_that_makes_no_sense_is_named(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    settings, tensors = pack(small())
    settings["best"] = {**settings["best"], **changes}
    refused(tmp_path / "a", VERSION, settings, tensors, message)


def test_a_told_generation_needs_a_best_genome(tmp_path: Path) -> None:
    settings, tensors = pack(small())
    arrays = small().state.population
    tensors.update({name: getattr(arrays, name) for name in ARRAYS})
    refused(tmp_path / "a", VERSION, {**settings, "best": None}, tensors, "is not the best one")


@pytest.mark.parametrize("name", sorted(pack(small(1))[0]))
def test_a_missing_setting_is_named(name: str, tmp_path: Path) -> None:
    settings, tensors = pack(small(1))
    del settings[name]
    refused(tmp_path / "a", VERSION, settings, tensors, f'setting "{name}" is missing')


@pytest.mark.parametrize("name", sorted(pack(small(1))[1]))
def test_a_tensor_of_the_wrong_type_or_shape_is_refused(name: str, tmp_path: Path) -> None:
    settings, tensors = pack(small(3))
    for wrong in (tensors[name].astype(np.uint32), tensors[name][None], np.array(3)):
        refused(tmp_path / "a", VERSION, settings, {**tensors, name: wrong}, name)
    del tensors[name]
    refused(tmp_path / "a", VERSION, settings, tensors, f"tensor {name} is missing")


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("ids", 0, 0, "ids do not ascend"),
        ("ids", 1, 1, "ids do not ascend"),
        ("fitness", 0, np.nan, "a fitness is not finite"),
        ("fitness", 0, 9.0, "the best genome so far is not the best one"),
        ("species_key", 0, 0, "species do not ascend"),
        ("species_key", -1, 1, "species do not ascend"),
        ("species_created", 0, -1, "a species improved before it was founded"),
        ("species_last_improved", 0, 8, "or in the future"),
        ("species_representative", 0, -1, "a species is represented by a genome that is no mem"),
        ("species_representative", 0, 12, "a species is represented by a genome that is no mem"),
        ("species_representative", 0, -(2**63), "a species is represented by a genome that is no"),
        ("member_start", 0, 1, "member_start does not ascend from 0 to 12"),
        ("member_start", 1, 0, "a species has no members"),
        ("member_start", -1, 11, "member_start does not ascend from 0 to 12"),
        ("member", 0, 12, "species do not partition the genomes"),
        ("member", 0, -1, "species do not partition the genomes"),
        ("score_start", 1, 2, "a species lacks scores, or has too many"),
        ("score", 0, np.inf, "a score of a species is not finite"),
        ("weight", 0, np.nan, "weight is nan. Expected a finite number"),
        ("target", 0, 99, "target 99 is not a node"),
        ("activation", 0, 77, "activation has an id 77"),
        ("time_constant", 0, 0.0, "time_constant is 0.0"),
        ("node_key", 0, 5, "output node 0 is missing"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(
    name: str, at: int, value: float, message: str, tmp_path: Path
) -> None:
    settings, tensors = pack(small())
    assert len(tensors["species_key"]) > 1
    tensors[name] = tensors[name].copy()
    tensors[name][at] = value
    refused(tmp_path / "a", VERSION, settings, tensors, message)


def test_a_representative_of_another_species_is_refused(tmp_path: Path) -> None:
    settings, tensors = pack(small())
    tensors["species_representative"] = tensors["species_representative"][::-1].copy()
    refused(tmp_path / "a", VERSION, settings, tensors, "is represented by a genome that is no mem")


def test_members_out_of_order_are_refused(tmp_path: Path) -> None:
    settings, tensors = pack(small())
    count = tensors["member_start"][1]
    assert count > 1
    tensors["member"] = tensors["member"].copy()
    tensors["member"][:count] = tensors["member"][:count][::-1]
    refused(tmp_path / "a", VERSION, settings, tensors, "members do not ascend")


def test_no_species_and_no_genomes_are_refused(tmp_path: Path) -> None:
    settings, tensors = pack(small(0))
    none = {name: tensors[name][:0] for name in tensors if name.startswith("species_")}
    none |= {name: tensors[name][:1] for name in ("member_start", "score_start")}
    none |= {name: tensors[name][:0] for name in ("member", "score")}
    refused(tmp_path / "a", VERSION, settings, {**tensors, **none}, "there are no species")
    empty = {name: getattr(small(0).state.population[:0], name) for name in ARRAYS}
    refused(tmp_path / "a", VERSION, settings, {**tensors, **empty}, "there are no genomes")


def test_a_cycle_in_a_feed_forward_run_is_refused(tmp_path: Path) -> None:
    settings, tensors = pack(small(0))
    tensors["source"] = tensors["source"].copy()
    tensors["source"][0] = 0
    tensors["enabled"] = np.zeros_like(tensors["enabled"])
    refused(tmp_path / "a", VERSION, settings, tensors, "genome 0: .* form a cycle")


def test_inputs_that_contradict_the_config_are_refused(tmp_path: Path) -> None:
    config = xor_config(5).replace({"genome.num_inputs": 2, "genome.num_outputs": 1})
    settings, tensors = pack(step(NEAT(config)))
    settings["num_inputs"] = 3
    refused(tmp_path / "a", VERSION, settings, tensors, "num_inputs is 3. Expected 2, as in its c")


def test_settings_nested_without_end_are_refused(tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(700):
        deep = [deep]
    settings, tensors = pack(small(1))
    refused(
        tmp_path / "a",
        VERSION,
        {**settings, "functions": deep},
        tensors,
        "nested too deeply|functions is",
    )


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    evil = "__import__('os').mkdir('hacked')"
    settings, tensors = pack(small(1))
    settings["config"] = f'[task]\nname = "gym:os:mkdir"\ncode = "{evil}"\n' + settings["config"]
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        refused(tmp_path / "a", VERSION, settings, tensors, "its config: ")
        refused(
            tmp_path / "a", VERSION, {**settings, "functions": {"f": evil}}, tensors, "functions is"
        )
    finally:
        os.chdir(here)
    assert names(tmp_path) == ["a"]


def test_values_changed_behind_the_checksum_are_refused_or_harmless() -> None:
    assert checkpoint_campaign.verify_tamper(100, 12, seed=5) == 0


# Failing disks and killed processes.


def test_every_failing_operation_leaves_a_checkpoint_to_go_on_from() -> None:
    assert checkpoint_campaign.verify_faults(6, generations=3, keep=1, step=1500) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started by a fork")
def test_killed_runs_end_with_equal_bits() -> None:
    assert checkpoint_campaign.verify_kill(tries=5, generations=8, pop_size=20, seed=2) == 0


def test_the_config_of_an_older_evonet_with_fewer_settings_is_read(tmp_path: Path) -> None:
    neat = small()
    settings, tensors = pack(neat)
    lines = settings["config"].splitlines(keepends=True)
    text = "".join(x for x in lines if "interspecies_crossover_prob" not in x)
    text = settings["config"] = text[: text.index("\n[learning]")]  # nor had it that table
    settings["config_digest"] = hashlib.sha256(text[text.index("[neat]") :].encode()).hexdigest()
    write_tensors(tmp_path / "a", FORMAT, VERSION, settings, tensors)
    assert load_checkpoint(tmp_path / "a", neat.config, algorithm=NEAT).config == neat.config
