"""Schedules that users make by hand: everything that would point outside is refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.definitions.dynamics import Dynamics
from evonet.errors import EvonetError, OptionError, ShapeError
from evonet.genes.population import PARTS
from evonet.installation import require_native
from evonet.network import Network
from evonet.schedule import Schedule, build_schedule
from evonet.schedule.checks import check_schedule

BACKENDS = ("cpu", "reference")


def made(kind: str = "feedforward", dtype: Any = np.float32, seed: int = 0) -> Schedule:
    population = evonet.Population.random(
        4, 3, 2, num_nodes=6, num_connections=14, seed=seed, dtype=dtype
    )
    return build_schedule(population, Dynamics.of(kind))


def changed(schedule: Schedule, name: str, change: Callable[[Any], Any]) -> Schedule:
    array = getattr(schedule, name).copy()
    replaced = change(array)
    return dataclasses.replace(schedule, **{name: array if replaced is None else replaced})


def put(position: Any, value: int) -> Callable[[Any], None]:
    def change(array: Any) -> None:
        array.reshape(-1)[position] = value

    return change


def frozen(array: Any) -> Any:
    array.flags.writeable = False  # or the schedule takes a copy, which is contiguous
    return array


FAULTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a source beyond all slots": ("source", put(0, 10**9)),
    "a negative source": ("source", put(3, -1)),
    "a source that is written later": ("source", put(0, 8)),
    "a slot of an input": ("slot", put(0, 0)),
    "a slot beyond all": ("slot", put(-1, 2**30)),
    "a negative slot": ("slot", put(0, -5)),
    "too few slots": ("num_slots", put(0, 1)),
    "too many slots": ("num_slots", put(0, 2**40)),
    "nodes that start in reverse": ("node_start", lambda a: a[::-1].copy()),
    "nodes that end early": ("node_start", put(-1, 3)),
    "links that fall": ("edge_start", put(1, 10**6)),
    "levels beyond the nodes": ("level_end", put(0, 100)),
    "levels that do not hold all nodes": ("level_end", put(-1, 1)),
    "levels that fall": ("level_start", put(1, -1)),
    "an output that does not exist": ("output_slot", put(0, 10**6)),
    "an output below -1": ("output_slot", put(0, -2)),
    "an unknown activation": ("activation", put(0, 255)),
    "an unknown aggregation": ("aggregation", put(0, 255)),
    "sources of another type": ("source", lambda a: a.astype(np.int64)),
    "slots of another type": ("slot", lambda a: a.astype(np.int16)),
    "weights that are not contiguous": ("weight", lambda a: frozen(np.repeat(a, 2))[::2]),
    "biases of another type": ("bias", lambda a: a.astype(np.float64)),
    "biases in another byte order": ("bias", lambda a: a.astype(">f4")),
    "too few biases": ("bias", lambda a: a[:-1].copy()),
    "outputs of one dimension": ("output_slot", lambda a: a.reshape(-1)),
    "cells of another shape": ("cell", lambda a: np.zeros((len(a), 3), a.dtype)),
    "starts that are missing": ("node_start", lambda a: a[:0]),
    "something but an array": ("weight", lambda a: a.tolist()),
    "weights that are whole numbers": ("weight", lambda a: a.astype(np.int32)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_schedule_is_refused_when_it_is_bound(fault: str, backend: str) -> None:
    name, change = FAULTS[fault]
    with pytest.raises(ShapeError, match=r"schedule"):
        Network(changed(made(), name, change), backend, 1)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["feedforward", "recurrent", "ctrnn"])
def test_both_checks_agree_about_random_damage(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(kind)])
    schedule = made(kind, seed=seed)
    if seed % 2 and kind == "feedforward":  # a slot that nobody needs: slots are not all in order
        schedule = dataclasses.replace(schedule, num_slots=schedule.num_slots + 1)
        check_schedule(schedule)
    names = ["source", "slot", "num_slots", "node_start", "edge_start", "level_start", "level_end"]
    name = str(rng.choice([*names, "output_slot"]))
    size = getattr(schedule, name).size
    wrong = changed(schedule, name, put(int(rng.integers(size)), int(rng.integers(-2, 12))))

    def verdict(native: bool | None) -> bool:
        try:
            check_schedule(wrong, native)
        except ShapeError:
            return False
        return True

    assert verdict(None) == verdict(False)


@pytest.mark.parametrize("kind", ["feedforward", "recurrent", "ctrnn", "izhikevich"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_schedules_pass_both_checks(kind: str, dtype: Any) -> None:
    check_schedule(made(kind, dtype))
    check_schedule(made(kind, dtype), native=False)


def test_a_schedule_keeps_its_arrays_whatever_happens_to_those_it_was_made_of() -> None:
    schedule = made()
    mine = schedule.source.copy()
    taken = dataclasses.replace(schedule, source=mine)
    network = Network(taken, "cpu", 1)
    x = np.ones((2, 3))
    before = network(x)
    mine[:] = 10**9
    assert (network(x) == before).all()
    assert not taken.source.flags.writeable


def test_a_network_outlives_what_replaces_its_schedule() -> None:
    schedule = made()
    network = Network(schedule, "cpu", 1)
    x = np.ones((2, 3))
    before = network(x)
    object.__setattr__(schedule, "source", np.full(3, 10**9))
    assert (network(x) == before).all()


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_bound_schedule_can_be_copied_and_pickled(duplicate: Callable[[Any], Any]) -> None:
    schedule = made()
    Network(schedule, "cpu", 1)
    other = duplicate(schedule)
    assert other == schedule
    assert (
        Network(other, "cpu", 1)(np.ones((1, 3))) == Network(schedule, "cpu", 1)(np.ones((1, 3)))
    ).all()


@pytest.mark.parametrize(
    "dynamics",
    [
        Dynamics("bogus"),
        Dynamics(steps=0),
        Dynamics("recurrent", steps=2**40),
        Dynamics("ctrnn", time_step=-1.0),
        None,
    ],  # type: ignore[arg-type]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_dynamics_made_by_hand_are_checked(dynamics: Any, backend: str) -> None:
    with pytest.raises(EvonetError):
        Network(dataclasses.replace(made(), dynamics=dynamics), backend, 1)


def test_something_else_than_a_schedule_is_refused() -> None:
    with pytest.raises(OptionError, match=r"schedule must be an evonet\.Schedule"):
        Network(object(), "cpu", 1)  # type: ignore[arg-type]


def test_a_schedule_of_another_type_is_refused_by_native_entry_points() -> None:
    native = require_native()
    with pytest.raises(ShapeError, match=r"schedule\.bias must be .* float32 .* found float64"):
        native.Forward32(made(dtype=np.float64), 1, "baseline")
    with pytest.raises(ShapeError, match="end is 9"):
        native.SchedulePacker32(made(), 0, 9, 1)


def test_a_population_that_nobody_validated_is_refused_by_compile() -> None:
    good = evonet.Population.random(3, 3, 2, num_nodes=6, num_connections=14)
    arrays = {name: getattr(good, name) for name in PARTS}
    for name, value, position in (
        ("target", 10**12, 4),
        ("target", -3, 4),
        ("source", -9, 0),
        ("source", 77, 0),
        ("node_key", -1, 0),
        ("node_key", 0, 3),
        ("rank", 99, 0),
        ("rank", 1, 0),
        ("node_start", 1, 1),
        ("conn_start", 10**6, 1),
    ):
        wrong = arrays[name].copy()
        wrong[position] = value
        population = evonet.Population(**{**arrays, name: wrong}, validate=False)
        with pytest.raises(EvonetError):
            evonet.compile(population)
