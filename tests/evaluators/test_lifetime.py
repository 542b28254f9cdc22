"""Lifetime learning: what is learned, who inherits it, and what no score may depend on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Config, ConfigError, Evaluation, OptionError, Population, evolve
from evonet.config.learning import USUAL_STEPS
from evonet.definitions.dynamics import Dynamics
from evonet.evaluators import Here, Lifetime
from evonet.evaluators.packing import join_evaluations, pack_evaluation, unpack_evaluation
from evonet.evolution.state import State
from evonet.runs import resume_run, start_run
from evonet.tasks import Control, Supervised, make_task
from evonet.tasks.examples import Examples
from tests.evaluators.test_here import Half

TASK = make_task("parity", bits=3)
CONFIG = Config.from_dict(
    {
        "neat": {"pop_size": 12},
        "genome": {
            "num_hidden": 2,
            "initial_connection": "full_direct",
            "activation_default": "tanh",
            "activation_options": ["tanh"],
        },
        "learning": {"steps": 6, "rate": 0.05, "batch": 3},
    }
)
POPULATION = Population.random(6, 3, 1, num_nodes=5, num_connections=14, seed=3)
IDS = np.arange(1, 7)


def lifetime(**changes: Any) -> Lifetime:
    found = Lifetime.of(CONFIG.replace({f"learning.{k}": v for k, v in changes.items()}), TASK)
    assert found is not None
    return found


def evaluate(population: Population = POPULATION, **changes: Any) -> Evaluation:
    here = Here(TASK, Dynamics(), lifetime=lifetime(**changes))
    return here.evaluate(population, IDS[: len(population)], seed=4, generation=2)


def bits(state: State) -> dict[str, bytes]:
    found = {n: getattr(state.population, n).tobytes() for n in ("weight", "bias", "innovation")}
    assert state.best is not None
    return found | {"best": state.best.population.weight.tobytes(), "id": bytes([state.best.id])}


def test_fitness_is_that_after_learning() -> None:
    found, before = evaluate(), TASK.evaluate(evonet.compile(POPULATION), 4)
    assert found.population is not None
    assert found.fitness.tolist() == TASK.evaluate(evonet.compile(found.population), 4).tolist()
    assert (found.fitness >= before).mean() > 0.5
    assert found.fitness.sum() > before.sum()


def test_a_genome_learns_the_same_in_any_part_of_a_population() -> None:
    whole = evaluate()
    here = Here(TASK, Dynamics(), lifetime=lifetime(), threads=2)
    parts = []
    for start in (0, 2):
        part = POPULATION[start : 2 if start == 0 else 6]
        index = np.arange(start, start + len(part))
        found = here.evaluate(part, index, seed=4, generation=2, genome_index=index)
        parts.append((part, unpack_evaluation(*pack_evaluation(found.checked(len(part))))))
    joined = join_evaluations(parts, {})
    assert joined.fitness.tobytes() == whole.fitness.tobytes()
    assert joined.population is not None
    assert whole.population is not None
    assert joined.population.weight.tobytes() == whole.population.weight.tobytes()
    assert joined.curves["loss"].tobytes() == whole.curves["loss"].tobytes()


def test_the_seed_of_the_generation_decides_the_order_of_the_examples() -> None:
    here = Here(TASK, Dynamics(), lifetime=lifetime())
    a, b, c = (here.evaluate(POPULATION, IDS, seed=s, generation=0).fitness for s in (1, 1, 2))
    assert a.tobytes() == b.tobytes() != c.tobytes()


@pytest.mark.parametrize("inherit", ["lamarckian", "baldwinian"])
def test_children_inherit_what_was_learned_or_what_was_born(inherit: str) -> None:
    algorithm = evonet.NEAT(CONFIG, 1, num_inputs=3, num_outputs=1)
    born = algorithm.ask()
    found = Here(TASK, Dynamics(), lifetime=lifetime(inherit=inherit)).evaluate(
        born, algorithm.state.ids, 0, 0
    )
    algorithm.tell(found)
    assert found.population is not None
    bred_from = found.population if inherit == "lamarckian" else born
    assert algorithm.state.population.weight.tobytes() == bred_from.weight.tobytes()
    # The champion is what was scored, in either case.
    assert algorithm.best is not None
    top = int(np.argmax(found.fitness))
    assert algorithm.best.population.weight.tobytes() == found.population[[top]].weight.tobytes()
    assert TASK.evaluate(evonet.compile(algorithm.best.genome), 0)[0] == algorithm.best.fitness


def test_the_champion_keeps_how_it_learned() -> None:
    best = evolve(TASK, CONFIG, generations=2).best
    assert best is not None
    assert list(best.curves["steps"]) == [0, 1, 2, 3, 4, 5]
    assert len(best.curves["loss"]) == 6


def test_looks_at_validation_end_where_learning_ends() -> None:
    x = np.random.default_rng(1).normal(size=(60, 3))
    task = make_task("regression", data=(x, x[:, :1]), validation_fraction=0.5)
    settings = {"steps": 40, "rate": 2.0, "patience": 1, "check_every": 4}
    config = CONFIG.replace({f"learning.{name}": value for name, value in settings.items()})
    life = Lifetime.of(config, task)
    assert life is not None
    found = Here(task, Dynamics(), lifetime=life).evaluate(POPULATION, IDS, 0, 0)
    learned = np.isfinite(found.curves["steps"]).sum(axis=1)
    assert learned.min() < 40  # of steps of such a size most do harm
    assert np.nanmax(found.curves["looks"], axis=1).tolist() == learned.tolist()
    assert np.isnan(found.curves["looks"]).tolist() == np.isnan(found.curves["validation"]).tolist()


@pytest.mark.parametrize("inherit", ["lamarckian", "baldwinian"])
def test_a_resumed_run_ends_as_one_that_was_never_interrupted(inherit: str, tmp_path: Path) -> None:
    config = CONFIG.replace({"learning.inherit": inherit, "run.generations": 5})
    for name in ("whole", "parts"):
        first = config if name == "whole" else config.replace({"run.generations": 2})
        start_run(tmp_path / name, TASK, first)
    resume_run(tmp_path / "parts", TASK, config)
    for file in ("champion.json", "checkpoints/checkpoint-000004.safetensors", "results.json"):
        whole, parts = ((tmp_path / name / file).read_bytes() for name in ("whole", "parts"))
        assert whole == parts, file


def test_weights_stay_in_their_range() -> None:
    config = CONFIG.replace({"genome.weight_max_value": 0.3, "genome.weight_min_value": -0.3})
    found = Lifetime.of(config.replace({"learning.rate": 2.0}), TASK)
    learned = Here(TASK, Dynamics(), lifetime=found).evaluate(POPULATION, IDS, 0, 0).population
    assert learned is not None
    assert abs(learned.weight).max() == np.float32(0.3)


def test_networks_with_memory_learn_too() -> None:
    config = CONFIG.replace({"genome.feed_forward": False, "network.kind": "recurrent"})
    found = Lifetime.of(config, TASK)
    here = Here(TASK, config.dynamics, lifetime=found)
    after = here.evaluate(POPULATION, IDS, 0, 0).fitness
    assert after.sum() > Here(TASK, config.dynamics).evaluate(POPULATION, IDS, 0, 0).fitness.sum()


# ---- what nothing is learned from ----


def examples_task(held_out: float = 0.0, validation: float = 0.0) -> Supervised:
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (90, 2))
    y = (x[:, :1] * 0.7 - x[:, 1:]) + rng.normal(0, 0.1, (90, 1))
    parts = [Examples(x[i : i + 30], y[i : i + 30]) for i in (0, 30, 60)]
    parts[1] = replace(parts[1], y=parts[1].y + validation)
    parts[2] = replace(parts[2], y=parts[2].y + held_out)
    return Supervised(parts[0].x, parts[0].y, mean=True, validation=parts[1], test=parts[2])


def test_held_out_examples_decide_nothing() -> None:
    config = CONFIG.replace({"learning.patience": 2, "learning.check_every": 1})
    a, b = (evolve(examples_task(shift), config, generations=2) for shift in (0.0, 99.0))
    assert bits(a.algorithm.state) == bits(b.algorithm.state)
    assert a.best is not None
    assert b.best is not None
    assert a.best.fitness == b.best.fitness


def test_the_validation_part_stops_learning() -> None:
    config = CONFIG.replace(
        {"learning.patience": 2, "learning.check_every": 1, "learning.rate": 0.5}
    )
    populations = []
    for shift in (0.0, -3.0):
        task = examples_task(validation=shift)
        here = Here(task, Dynamics(), lifetime=Lifetime.of(config, task))
        genomes = Population.random(6, 2, 1, num_nodes=5, num_connections=14, seed=3)
        populations.append(here.evaluate(genomes, IDS, 0, 0).population)
    assert populations[0].weight.tobytes() != populations[1].weight.tobytes()
    never = CONFIG.replace({"learning.patience": 0})
    found = Lifetime.of(never, examples_task())
    assert found is not None
    assert not found.stops


# ---- settings ----


def test_without_a_table_nothing_is_learned() -> None:
    plain = CONFIG.replace({"learning.steps": 0})
    assert Lifetime.of(plain, TASK) is None
    found = Here(TASK, Dynamics()).evaluate(POPULATION, IDS, 4, 2)
    assert found.population is None
    assert found.fitness.tolist() == TASK.evaluate(evonet.compile(POPULATION), 4).tolist()
    assert Config().learning.steps == 0
    # So that runs of before resume: digests of configs without the table stay as they were.
    assert Config().digest() == Config.from_dict({"learning": {"steps": 0}}).digest()
    assert Config().digest() != Config.from_dict({"learning": {"steps": 1}}).digest()


def test_a_table_without_steps_has_the_usual_number() -> None:
    assert Config.from_dict({"learning": {"rate": 0.1}}).learning.steps == USUAL_STEPS
    assert Config.loads("[learning]\nrate = 0.1\n").learning.steps == USUAL_STEPS
    with pytest.raises(ConfigError, match=r"learning.rate = 0 must be above 0"):
        Config.from_dict({"learning": {"rate": 0}})
    with pytest.raises(ConfigError, match=r"learning.inherit = .* is not a choice"):
        Config.from_dict({"learning": {"inherit": "darwinian"}})


def test_tables_learn_unless_told_not_to() -> None:
    learns = Config.from_dict({"task": {"name": "digits"}})
    alone = Config.from_dict({"task": {"name": "digits"}, "learning": {"steps": 0}})
    assert learns.learning.steps > 0
    assert alone.learning.steps == 0
    assert alone.neat.pop_size == 500  # as before there was learning


def test_a_task_without_examples_cannot_be_learned() -> None:
    with pytest.raises(OptionError, match=r"learning.steps = 6, but .* has no examples"):
        evolve(Control("cartpole"), CONFIG)


def test_spiking_networks_cannot_learn() -> None:
    config = CONFIG.replace({"genome.feed_forward": False, "network.kind": "izhikevich"})
    with pytest.raises(OptionError, match="fire in jumps"):
        Lifetime.of(config, TASK)


def test_phenotypes_of_a_decoder_are_not_inherited() -> None:
    with pytest.raises(OptionError, match="baldwinian"):
        Here(TASK, Dynamics(), decoder=Half(), lifetime=lifetime())
    here = Here(TASK, Dynamics(), decoder=Half(), lifetime=lifetime(inherit="baldwinian"))
    found = here.evaluate(POPULATION, IDS, 0, 0)
    assert found.population is None
    assert (
        found.fitness.sum()
        > Here(TASK, Dynamics(), decoder=Half()).evaluate(POPULATION, IDS, 0, 0).fitness.sum()
    )
