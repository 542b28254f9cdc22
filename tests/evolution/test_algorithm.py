"""The seam of algorithms, shown with one that is not NEAT: the example's (mu + lambda) strategy."""

from __future__ import annotations

import copy
import json
import pickle
import signal
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import evonet
from evonet.errors import CheckpointError, OptionError
from evonet.evolution.algorithms import find_algorithm, reference_to
from evonet.evolution.islands import islands_of
from evonet.evolution.record import GenerationRecord
from evonet.tasks import xor
from tests.support.cli_runs import CommandLine, finish, metrics_of, start, wait_for_generations
from tests.support.evolution_cases import make_config

SCRIPT = Path(__file__).parents[2] / "examples" / "mu_plus_lambda.py"
NAME = f"{SCRIPT}:MuPlusLambda"
TOML = f"""
[task]
name = "xor"
[run]
generations = 60
algorithm = "{NAME}"
[neat]
pop_size = 60
fitness_threshold = 1e9
"""


def test_the_best_survive_and_the_rest_are_their_children() -> None:
    config = make_config({"neat.pop_size": 10, "reproduction.survival_threshold": 0.3})
    algorithm = find_algorithm(NAME)(config, num_inputs=2, num_outputs=1)
    population = algorithm.ask()
    algorithm.tell(np.array([0, 9, 1, 2, 8, 3, 4, 7, 5, 6]))
    children = algorithm.ask()
    assert algorithm.state.ids.tolist() == [2, 5, 8, *range(11, 18)]
    assert children[[0, 1, 2]] == population[[1, 4, 7]]
    assert algorithm.generation == 1


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("kind", [evonet.NEAT, islands_of(evonet.NEAT)])
def test_a_pickled_algorithm_evolves_as_the_original_does(
    kind: type[evonet.NEAT], told: bool
) -> None:
    fitness = np.arange(10.0)
    islands = 1 if kind is evonet.NEAT else 2
    config = make_config({"neat.pop_size": 10 // islands, "islands.count": islands})
    algorithm = kind(config, num_inputs=2, num_outputs=1)
    if told:
        algorithm.tell(fitness)
        assert repr(algorithm).endswith("seed 0)")
        algorithm.ask()  # the next generation, of which nothing is known yet
    copies = [pickle.loads(pickle.dumps(algorithm)), copy.deepcopy(algorithm)]
    algorithm.tell(fitness)
    for other in copies:
        assert "10 genomes, 2 inputs, 1 output" in repr(other)
        other.tell(fitness)
        assert other.ask() == algorithm.ask()


def test_records_have_what_the_algorithm_describes() -> None:
    records: list[GenerationRecord] = []
    config = make_config({"neat.pop_size": 12})
    evonet.evolve(
        xor(), config, generations=3, algorithm=find_algorithm(NAME), callbacks=[records.append]
    )
    assert set(records[-1].details) == {"spread"}
    assert records[-1].summary.startswith("spread ")
    assert "species" not in records[-1].to_dict()
    json.dumps(records[-1].to_dict(), allow_nan=False)


def test_a_killed_run_ends_with_the_bytes_of_one_that_was_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command, config = CommandLine(capsys), tmp_path / "strategy.toml"
    config.write_text(TOML)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert command("evolve", config, "--out", whole).status == 0
    process = start("evolve", config, "--out", killed)
    wait_for_generations(killed, 5, process)
    process.send_signal(signal.SIGKILL)
    assert finish(process).status == -signal.SIGKILL
    assert command("resume", killed).status == 0
    last = sorted((whole / "checkpoints").iterdir())[-1].name
    for name in ("champion.json", "config.toml", "improvements.jsonl", f"checkpoints/{last}"):
        assert (whole / name).read_bytes() == (killed / name).read_bytes(), name
    assert metrics_of(whole) == metrics_of(killed)
    assert "mu_plus_lambda" in (killed / "report.html").read_text()


def test_a_checkpoint_of_another_algorithm_is_refused(tmp_path: Path) -> None:
    config = make_config({"neat.pop_size": 6})
    strategy = find_algorithm(NAME)
    saver = evonet.CheckpointSaver(tmp_path)
    evonet.evolve(xor(), config, generations=2, algorithm=strategy, callbacks=[saver])
    with pytest.raises(CheckpointError, match=r'written by the algorithm "mu_plus_lambda".*"neat"'):
        evonet.evolve(xor(), config, resume=tmp_path, generations=4)
    again = evonet.evolve(xor(), config, resume=tmp_path, generations=4, algorithm=strategy)
    assert again.generation == 3


def test_an_algorithm_goes_by_where_it_is_defined() -> None:
    assert find_algorithm("neat") is evonet.NEAT
    assert reference_to(evonet.NEAT) == "neat"
    assert find_algorithm(reference_to(evonet.NEAT)) is evonet.NEAT
    with pytest.raises(OptionError, match="not a class that derives from Algorithm"):
        find_algorithm("json:dumps")
    with pytest.raises(OptionError, match="not an algorithm"):
        find_algorithm("neet")
    with pytest.raises(OptionError, match="not a class that derives from Algorithm"):
        evonet.evolve(xor(), make_config({}), algorithm=dict)  # type: ignore[arg-type]


def test_an_algorithm_of_a_notebook_is_found_as_long_as_the_notebook_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notebook = ModuleType("__main__")  # without a file
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    exec("import evonet\nclass Mine(evonet.NEAT): pass", notebook.__dict__)
    assert reference_to(notebook.Mine) == "__main__:Mine"
    assert find_algorithm("__main__:Mine") is notebook.Mine
