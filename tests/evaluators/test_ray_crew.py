"""Workers on Ray give the bits of this process, whatever the cluster does; Ray is a stand-in.

`python -m tests.campaigns.workers ray` does it with clusters of one and two real nodes.
"""

from __future__ import annotations

import socket
import sys
import threading
import types
from typing import Any

import numpy as np
import pytest

from evonet import OptionError, Population, WorkerError
from evonet.config.workers import WorkersTable
from evonet.definitions.dynamics import Dynamics
from evonet.evaluators import Distributed, Here, open_evaluator, ray_crew
from tests.support.ray_stand_in import RayActorError, RaySystemError, StandIn
from tests.support.worker_tasks import Bad, Indexed, Unmakeable

POPULATION = Population.random(23, 2, 1, num_nodes=4, num_connections=8, seed=3)
IDS = np.arange(100, 123)
OPTIONS: dict[str, Any] = {"dynamics": Dynamics()}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    found = StandIn((2, 3))
    monkeypatch.setattr(ray_crew, "import_ray", lambda: found)
    monkeypatch.setitem(sys.modules, "ray", found)  # type: ignore[arg-type]
    return found


def open_ray(task: Any, **settings: Any) -> Distributed:
    table = WorkersTable(**{"where": "ray", **settings})
    found = open_evaluator(task, table, OPTIONS, "worst")
    assert isinstance(found, Distributed)
    return found


def evaluate(there: Distributed) -> Any:
    return there.evaluate(POPULATION, IDS, 1, 0)


def test_scores_have_the_bits_of_one_process(ray: StandIn) -> None:
    there = open_ray(Indexed())
    wanted = Here(Indexed(), **OPTIONS).evaluate(POPULATION, IDS, 1, 0)
    found = evaluate(there)
    assert found.fitness.tobytes() == wanted.fitness.tobytes()
    assert found.measures.tobytes() == wanted.measures.tobytes()
    assert len(ray.started) == 5  # one per core
    assert {options["num_cpus"] for options in ray.started} == {1}
    assert {rate.name for rate in there.rates} >= {"0 on 127.0.0.1"}
    assert sum(len(arrays["ids"]) for arrays in ray.stored) == 23  # every genome travels once
    assert there.notes == ("5 workers on Ray",)
    there.close()
    assert len(ray.killed) == 5
    assert not ray.is_on


def test_a_cluster_that_was_there_before_stays(ray: StandIn) -> None:
    ray.is_on = True
    there = open_ray(Indexed(), count=2)
    assert len(ray.started) == 2
    there.close()
    assert ray.is_on


def test_settings_reach_the_cluster(ray: StandIn) -> None:
    there = open_ray(
        Indexed(), where="ray://head:10001", cpus=2, files="src", packages=["gymnasium"], threads=2
    )
    assert ray.options["address"] == "ray://head:10001"
    assert ray.options["runtime_env"] == {"working_dir": "src", "pip": ["gymnasium"]}
    assert len(ray.started) == 2  # each node has room for one worker of two cores
    assert ray.started[0]["runtime_env"] == {"env_vars": {"OMP_NUM_THREADS": "2"}}
    there.close()


def test_the_dashboard_is_named(ray: StandIn) -> None:
    ray.dashboard = "127.0.0.1:8265"
    there = open_ray(Indexed(), count=1)
    assert there.notes == ("1 worker on Ray, dashboard at http://127.0.0.1:8265",)
    there.close()


def test_an_actor_that_dies_is_replaced(ray: StandIn) -> None:
    def plan(actor: int, method: str) -> Exception | None:
        return RayActorError("its node is gone\nmore") if (actor, method) == (0, "work") else None

    ray.plan = plan
    there = open_ray(Indexed(), count=1)
    wanted = Here(Indexed(), **OPTIONS).evaluate(POPULATION, IDS, 1, 0)
    assert evaluate(there).fitness.tobytes() == wanted.fitness.tobytes()
    assert len(ray.started) == 2
    assert there.rates[0].failures == 1
    there.close()


def test_faults_of_tasks_count_for_their_genome(ray: StandIn) -> None:
    there = open_ray(Bad("exit"), count=2, retries=0)
    assert np.isnan(evaluate(there).fitness).nonzero()[0].tolist() == [5]
    there.close()


def test_a_cluster_that_is_lost_ends_the_run_with_a_line(ray: StandIn) -> None:
    ray.plan = lambda actor, method: RaySystemError("no head") if method == "work" else None
    there = open_ray(Indexed(), count=1)
    with pytest.raises(WorkerError, match=r"the Ray cluster is lost: .*no head.* resume the run"):
        evaluate(there)
    there.close()


def test_a_head_that_does_not_answer_ends_the_run(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    context = types.SimpleNamespace(gcs_address=address)
    ray.get_runtime_context = lambda: context
    ray.answers = False
    there = open_ray(Indexed(), count=1)
    monkeypatch.setattr(ray_crew, "LOOK_EVERY", 0.0)
    with pytest.raises(WorkerError, match=r"lost: its head does not answer: .* resume the run"):
        evaluate(there)
    there.close()


@pytest.mark.parametrize("stuck", ["put", "get", "shutdown"])
def test_a_call_that_waits_for_a_lost_head_ends_the_run(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        head.listen()
        context = types.SimpleNamespace(gcs_address=f"127.0.0.1:{head.getsockname()[1]}")
        ray.get_runtime_context = lambda: context
        there = open_ray(Indexed(), count=1)
    monkeypatch.setattr(ray_crew, "LOOK_EVERY", 0.01)
    never = threading.Event()
    monkeypatch.setattr(ray, stuck, lambda *_: never.wait())
    if stuck != "shutdown":
        with pytest.raises(WorkerError, match=r"lost: its head does not answer: .* resume the"):
            evaluate(there)
    there.close()
    never.set()


def test_a_task_that_cannot_be_made_there_ends_the_run(ray: StandIn) -> None:
    there = open_ray(Unmakeable(), count=1)
    with pytest.raises(WorkerError, match="cannot be made in a worker: RuntimeError: not here"):
        evaluate(there)
    there.close()


def test_a_worker_that_leaks_is_replaced(ray: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_crew, "used_megabytes", lambda: 900.0)
    there = open_ray(Indexed(), count=1, memory=800)
    evaluate(there)
    assert len(ray.started) > 2
    assert sum(rate.failures for rate in there.rates) == 0
    there.close()


def test_no_cluster_no_room_and_no_ray_are_named(
    ray: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WorkerError, match="ray://nowhere:1: nobody answers Start one with"):
        open_ray(Indexed(), where="ray://nowhere:1")
    with pytest.raises(WorkerError, match="no node of the Ray cluster has 9 cores for a worker"):
        open_ray(Indexed(), cpus=9)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"need Ray\. Install it with: "):
        open_ray(Indexed())
