"""Worker processes give the bits of this process, and survive what tasks do to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import shared_memory
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import OptionError, Population, WorkerError
from evonet.config.workers import WorkersTable
from evonet.definitions.dynamics import Dynamics
from evonet.evaluation import Evaluation, OnBadFitness
from evonet.evaluators import Distributed, Here, open_evaluator, processes, read_workers
from evonet.evaluators.processes import ProcessCrew
from evonet.tasks import Control, make_task
from evonet.tasks.base import Task
from tests.support.import_paths import importing_from
from tests.support.worker_tasks import Bad, Indexed, Lamarckian, Stubborn, Unmakeable, Unsplit

POPULATION = Population.random(23, 2, 1, num_nodes=4, num_connections=8, seed=3)
IDS = np.arange(100, 123)
OPTIONS: dict[str, Any] = {"dynamics": Dynamics()}


@contextmanager
def workers(
    task: Task, count: int = 1, on_bad_fitness: OnBadFitness = "worst", **settings: Any
) -> Iterator[Distributed]:
    table = WorkersTable(count=count, **settings)
    found = open_evaluator(task, table, OPTIONS, on_bad_fitness)
    assert isinstance(found, Distributed)
    try:
        yield found
    finally:
        found.close()


def processes_of(evaluator: Distributed) -> list[int]:
    assert isinstance(evaluator.crew, ProcessCrew)
    return evaluator.crew.processes


def same(found: Evaluation, wanted: Evaluation) -> None:
    wanted = wanted.checked(len(POPULATION))
    assert found.fitness.tobytes() == wanted.fitness.tobytes()
    if wanted.measures is not None:
        assert found.measures is not None
        assert found.measures.tobytes() == wanted.measures.tobytes()
    assert found.gathered.keys() == wanted.gathered.keys()
    for name, array in wanted.gathered.items():
        assert found.gathered[name].tobytes() == array.tobytes()
    assert found.population == wanted.population
    assert found.task_state == wanted.task_state


@pytest.mark.parametrize("kind", [Indexed, Lamarckian])
def test_scores_and_everything_with_them_have_the_bits_of_one_process(kind: type[Task]) -> None:
    task, other = kind(), kind()
    here = Here(task, **OPTIONS)
    with workers(other, 2) as there:
        for generation in range(3):
            wanted = here.evaluate(POPULATION, IDS, 11 + generation, generation)
            found = there.evaluate(POPULATION, IDS, 11 + generation, generation)
            same(found, wanted)
            if kind is Indexed:
                assert found.info["steps"] == len(POPULATION)
            task.merge(wanted.gathered)
            other.merge(found.gathered)
        assert sum(rate.genomes for rate in there.rates) == len(POPULATION)


def test_retests_have_the_bits_of_one_process() -> None:
    genomes = Population.random(3, 4, 2, num_nodes=4, num_connections=8, seed=2)
    task = Control("cartpole", episodes=2)
    with workers(task, 2) as there:
        found = there.retest(genomes, 5, 3, 20)
        wide = there.retest(genomes, 5, 3, 2)
    wanted = Here(task, **OPTIONS).retest(genomes, 5, 3, 20)
    assert found.tobytes() == wanted.tobytes()
    assert wide.tolist() == wanted[:, :2].tolist()


def test_custom_functions_travel_under_other_ids() -> None:
    for i in range(3):  # the worker registers only what is in use, and so under another id
        evonet.register_activation(f"other{i}", f"x + {i}")
    evonet.register_activation("mine", "x * x + 0.25")
    genomes = Population.random(
        9, 2, 1, num_nodes=4, num_connections=8, seed=1, activations=["mine", "tanh"]
    )
    with workers(Lamarckian()) as there:
        found = there.evaluate(genomes, IDS[:9], 1, 0)
    wanted = Here(Lamarckian(), **OPTIONS).evaluate(genomes, IDS[:9], 1, 0)
    assert found.fitness.tobytes() == wanted.fitness.tobytes()
    assert found.population == wanted.population


def test_a_task_that_does_not_split_is_scored_whole() -> None:
    with workers(Unsplit(), 2) as there:
        found = there.evaluate(POPULATION, IDS, 1, 0)
    assert sorted(found.fitness.tolist()) == list(range(23))


# What a worker survives or is replaced for, and what the genome is worth then.
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "raise": ({}, r"ZeroDivisionError: by zero \(.*worker_tasks.py, line \d+\)"),
    "exit": ({}, "SystemExit: 3"),
    "die": ({}, "ended with exit code 4"),
    "kill": ({}, "killed by SIGKILL"),
    "shape": ({}, r"fitness must have shape \[1\]"),
    "text": ({}, "fitness must be an array of numbers"),
    "hang": ({"timeout": 0.1}, "it took longer than"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_genome_that_fails_everywhere_counts_as_the_worst_or_ends_the_run(how: str) -> None:
    settings, message = FAULTS[how]
    settings = {"retries": 0, **settings}
    genomes, ids = POPULATION[:4], IDS[:4]
    wanted = Here(Bad("nothing"), **OPTIONS).evaluate(genomes, ids, 1, 0).fitness
    with workers(Bad(how, guilty=(2,)), **settings) as there:
        fitness = there.evaluate(genomes, ids, 1, 0).fitness
        assert np.isnan(fitness).nonzero()[0].tolist() == [2]
        assert np.delete(fitness, 2).tolist() == np.delete(wanted, 2).tolist()
        there._on_bad_fitness = "error"
        with pytest.raises(evonet.EvonetError, match=message) as caught:
            there.evaluate(genomes, ids, 1, 0)
        if isinstance(caught.value, WorkerError):
            assert str(caught.value).startswith("genome 2 (id 102) could not be evaluated")
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("how", ["raise", "kill", "children", "fork", "print", "nan"])
def test_what_happens_once_changes_nothing(how: str, tmp_path: Path) -> None:
    task = Bad(how, once=str(tmp_path / "done"))
    with workers(task) as there:
        fitness = there.evaluate(POPULATION, IDS, 1, 0).fitness
        again = there.evaluate(POPULATION, IDS, 1, 0).fitness
    wanted = Here(Bad("nothing"), **OPTIONS).evaluate(POPULATION, IDS, 1, 0).fitness
    assert again.tobytes() == wanted.tobytes()
    if how == "nan":
        assert np.isnan(fitness).sum() == 1
    else:
        assert fitness.tobytes() == wanted.tobytes()


@pytest.mark.limits_memory
def test_a_worker_that_leaks_is_replaced_between_pieces() -> None:
    task = Bad("leak", guilty=tuple(range(23)))
    with workers(task, memory=120.0) as there:
        first = processes_of(there)
        for generation in range(3):
            found = there.evaluate(POPULATION, IDS, 1, generation)
            assert np.isfinite(found.fitness).all()
        assert processes_of(there) != first
        assert sum(rate.failures for rate in there.rates) == 0


def test_a_worker_that_eats_far_too_much_is_ended_within_its_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = tmp_path / "once"
    used = iter([5000.0])
    monkeypatch.setattr(
        processes, "used_megabytes", lambda _: next(used, 0.0) if once.exists() else 0.0
    )
    with workers(Bad("hang", once=str(once)), memory=2000.0) as there:
        first = processes_of(there)
        found = there.evaluate(POPULATION, IDS, 1, 0)
        assert np.isfinite(found.fitness).all()
        assert processes_of(there) != first
        assert sum(rate.failures for rate in there.rates) == 1


def test_a_task_that_cannot_travel_is_refused() -> None:
    with pytest.raises(OptionError, match=r"cannot be sent to workers: .*module:Class"):
        open_evaluator(Stubborn(), WorkersTable(count=1), OPTIONS)
    with (
        workers(Unmakeable()) as there,
        pytest.raises(WorkerError, match="cannot be made in a worker: RuntimeError: not here"),
    ):
        there.evaluate(POPULATION, IDS, 1, 0)


def test_closing_leaves_no_process_and_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = set()

    def make(*arguments: Any, **options: Any) -> shared_memory.SharedMemory:
        block = SharedMemory(*arguments, **options)
        blocks.add(block.name)
        return block

    monkeypatch.setattr(shared_memory, "SharedMemory", make)
    with workers(Indexed(), 2) as there:
        there.evaluate(POPULATION, IDS, 1, 0)
        started = processes_of(there)
        os.kill(started[0], signal.SIGKILL)
        there.evaluate(POPULATION, IDS, 1, 0)
        started += processes_of(there)
    for process in started:
        with pytest.raises(OSError, match="No such process"):
            os.kill(process, 0)
    assert len(blocks) > 1
    for name in blocks:
        with pytest.raises(FileNotFoundError):
            SharedMemory(name)


DRIVER = """
import os, signal, sys, time
import numpy as np
from evonet import Population
from evonet.config.workers import WorkersTable
from evonet.definitions.dynamics import Dynamics
from evonet.evaluators import open_evaluator
from tests.support.worker_tasks import Bad, Indexed

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    population = Population.random(23, 2, 1, num_nodes=4, num_connections=8, seed=3)
    there = open_evaluator(Bad("hang"), WorkersTable(count=2), {"dynamics": Dynamics()})
    there._dispatch._handle(there.crew.wait(None)[0])
    print(*there.crew.processes, there.crew._block.name, flush=True)
    there.evaluate(population, np.arange(23), 1, 0)
"""


@pytest.mark.parametrize("end", ["SIGKILL", "SIGINT"])
def test_workers_end_when_the_driver_ends(end: str, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    home = Path(__file__).parents[2]
    driver = subprocess.Popen(
        [sys.executable, str(script)],
        env=importing_from(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert driver.stdout is not None
    started = [int(word) for word in driver.stdout.readline().split()]
    assert len(started) == 2
    time.sleep(0.1)
    driver.send_signal(getattr(signal, end))
    _, errors = driver.communicate(timeout=30)
    assert errors.count("Traceback") == (end == "SIGINT"), errors
    deadline = time.monotonic() + 20
    while any(is_running(process) for process in started):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_a_run_has_the_champion_of_a_run_without_workers(tmp_path: Path) -> None:
    champions = []
    for count in (0, 2):
        config = evonet.Config.from_dict(
            {
                "task": {"name": "cartpole", "episodes": 2, "max_steps": 40, "retests": 8},
                "neat": {"pop_size": 30},
                "run": {"generations": 3},
                "workers": {"count": count},
            }
        )
        folder = tmp_path / str(count)
        evonet.start_run(folder, make_task("cartpole", **_options(config)), config)
        champions.append((folder / "champion.json").read_bytes())
        assert ('"workers": [{' in (folder / "metrics.jsonl").read_text()) == (count > 0)
    assert champions[0] == champions[1]


def _options(config: evonet.Config) -> dict[str, Any]:
    return {key: value for key, value in config.task.items() if key != "name"}


def test_a_task_of_a_file_is_made_again_in_each_worker(tmp_path: Path) -> None:
    file = tmp_path / "somewhere.py"
    file.write_text(
        "import numpy as np\n"
        "class Mine:\n"
        "    num_inputs, num_outputs = 2, 1\n"
        "    def __init__(self, scale=1.0):\n"
        "        self.scale = scale\n"
        "    def evaluate(self, network, seed):\n"
        "        return network(np.ones((1, 2)))[:, 0, 0] * self.scale\n"
    )
    try:
        task = evonet.tasks.base.adopt(make_task(f"{file}:Mine", scale=3.0))
        with workers(task) as there:
            found = there.evaluate(POPULATION, IDS, 1, 0)
        wanted = Here(task, **OPTIONS).evaluate(POPULATION, IDS, 1, 0).fitness
        assert found.fitness.tolist() == wanted.tolist()
    finally:
        sys.modules.pop("somewhere", None)


def test_the_argument_wins_over_the_table() -> None:
    table = WorkersTable(count=3, timeout=2.0)
    assert read_workers(None, table) is table
    assert read_workers(0, table) == WorkersTable(count=0, timeout=2.0)
    assert read_workers("ray", table).where == "ray"
    for bad in (-1, "many", 1.5, "ray://", True):
        with pytest.raises(OptionError, match="must be a number of processes"):
            read_workers(bad, table)  # type: ignore[arg-type]


def test_workers_do_not_enter_the_digest() -> None:
    assert (
        evonet.Config().replace({"workers.count": 4, "workers.timeout": 3}).digest()
        == evonet.Config().digest()
    )
