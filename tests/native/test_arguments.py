"""Native entry points refuse arrays of the wrong type, shape, order or range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.backends.genetics import NativeEngine
from evonet.config import Config
from evonet.definitions.dynamics import Dynamics
from evonet.errors import EvonetError, GenomeError, ShapeError
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS
from evonet.genes.population import PARTS
from evonet.genes.rules import distance_rules, genome_rules
from evonet.installation import require_native
from evonet.schedule import build_schedule

NATIVE = require_native()
P, INS, OUTS, B = 4, 3, 2, 5
POPULATION = evonet.Population.random(P, INS, OUTS, num_nodes=6, num_connections=14)
RULES = genome_rules(Config())
REFUSED = (EvonetError, TypeError, ValueError, IndexError, MemoryError)


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def misaligned(*shape: int) -> Any:
    size = int(np.prod(shape)) * 4
    return np.frombuffer(bytearray(size + 1), np.uint8)[1:].view(np.float32).reshape(shape)


FORWARD: dict[str, tuple[Any, Any]] = {
    "x of too many inputs": (zeros(B, INS + 1), zeros(P, B, OUTS)),
    "x of one dimension": (zeros(INS), zeros(P, 1, OUTS)),
    "x of four dimensions": (zeros(1, P, B, INS), zeros(P, B, OUTS)),
    "x of another population": (zeros(P + 1, B, INS), zeros(P, B, OUTS)),
    "x of another type": (zeros(B, INS, dtype=np.float64), zeros(P, B, OUTS)),
    "x of whole numbers": (zeros(B, INS, dtype=np.int32), zeros(P, B, OUTS)),
    "x in another order": (np.asfortranarray(zeros(B, INS)), zeros(P, B, OUTS)),
    "x with gaps": (zeros(2 * B, INS)[::2], zeros(P, B, OUTS)),
    "x that is misaligned": (misaligned(B, INS), zeros(P, B, OUTS)),
    "too few samples": (zeros(B - 1, INS), zeros(P, B, OUTS)),
    "too many samples": (zeros(B + 1, INS), zeros(P, B, OUTS)),
    "y of too few genomes": (zeros(B, INS), zeros(P - 1, B, OUTS)),
    "y of too few outputs": (zeros(B, INS), zeros(P, B, OUTS - 1)),
    "y that is read-only": (zeros(B, INS), np.broadcast_to(zeros(1), (P, B, OUTS))),
    "lists": ([[0.0] * INS] * B, zeros(P, B, OUTS)),
    "nothing": (None, None),
}


@pytest.mark.parametrize("fault", FORWARD)
def test_forward_refuses(fault: str) -> None:
    forward = NATIVE.Forward32(build_schedule(POPULATION), 1, "baseline")
    with pytest.raises(REFUSED):
        forward(*FORWARD[fault])


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ((1, 0, B), None),
        ((1, None, B - 1), None),
        ((2, None, B), None),
        (None, (1, None, B + 1)),
        (None, (0, 0, 0)),
    ],
)
def test_step_refuses_states_of_other_shapes(state: Any, after: Any) -> None:
    """One network called by two threads with different batch sizes came to this."""
    schedule = build_schedule(POPULATION, Dynamics.of("recurrent"))
    forward = NATIVE.Forward32(schedule, 1, "baseline")

    def of(shape: Any) -> Any:
        wanted = shape or (1, None, B)
        return zeros(*(schedule.num_nodes if n is None else n for n in wanted))

    with pytest.raises(ShapeError, match="state must have shape"):
        forward.step(zeros(B, INS), zeros(P, B, OUTS), of(state), of(after))


def test_loss_refuses() -> None:
    forward = NATIVE.Forward32(build_schedule(POPULATION), 1, "baseline")
    good = zeros(B, INS), zeros(B, OUTS), 0, zeros(P, 2)
    forward.loss(*good)
    for position, wrong in (
        (0, zeros(B + 1, INS)),
        (1, zeros(B, OUTS + 1)),
        (2, 99),
        (2, -1),
        (3, zeros(P - 1, 2)),
        (3, zeros(P, 1)),
    ):
        arguments = list(good)
        arguments[position] = wrong
        with pytest.raises(ShapeError):
            forward.loss(*arguments)


def breed(**changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "parents": POPULATION,
        "fitter": np.zeros(3, np.int64),
        "other": np.full(3, -1),
        "rules": RULES,
        "seed": 0,
        "generation": 1,
        "next_node_key": 100,
        "next_innovation": 100,
        "threads": 1,
        "simd": "baseline",
    }
    return NATIVE.breed32(**{**arguments, **changes})


def corrupt(name: str, position: int, value: int) -> evonet.Population:
    arrays = {name: getattr(POPULATION, name) for name in PARTS}
    arrays[name] = arrays[name].copy()
    arrays[name][position] = value
    return evonet.Population(**arrays, validate=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"fitter": np.full(3, P)},
        {"fitter": np.full(3, -1)},
        {"other": np.full(3, P)},
        {"other": np.full(3, -2)},
        {"other": np.full(2, -1)},
        {"fitter": np.zeros(3, np.int32)},
        {"fitter": np.zeros(6, np.int64)[::2]},
        {"fitter": np.zeros((3, 1), np.int64)},
        {"next_node_key": -1},
        {"next_innovation": 2**63 - 1},
        {"parents": corrupt("node_start", 1, 10**6)},
        {"parents": corrupt("conn_start", 1, -5)},
        {"parents": POPULATION.astype(np.float64)},
        {"parents": None},
        {"rules": {}},
        {"simd": "v99"},
        {"generation": -1},
    ],
)
def test_breed_refuses(changes: dict[str, Any]) -> None:
    breed()
    with pytest.raises((*REFUSED, KeyError, AttributeError)):
        breed(**changes)


def test_genes_that_make_no_sense_neither_crash_breeding_nor_speciation() -> None:
    engine = NativeEngine(1)
    for population in (
        corrupt("source", 0, 10**12),
        corrupt("target", 0, -7),
        corrupt("node_key", 0, 10**15),
        corrupt("node_key", 5, 0),
        corrupt("innovation", 3, -1),
        corrupt("activation", 0, 255),
    ):
        everybody = np.arange(P)
        for generation in range(20):
            engine.breed(population, everybody, everybody, RULES, 0, generation, 100, 100)
        engine.speciate(population, population, everybody, 3.0, distance_rules(Config()))


def test_truth_values_are_0_or_1() -> None:
    arrays = {name: getattr(POPULATION, name) for name in PARTS}
    arrays["enabled"] = np.full(POPULATION.num_connections, 7, np.uint8).view(np.bool_)
    population = evonet.Population(**arrays, validate=False)
    for work in (evonet.compile, lambda p: breed(parents=p)):
        with pytest.raises(ShapeError, match="enabled holds bytes"):
            work(population)


CALLS: dict[str, Callable[[], object]] = {
    "weights fewer than values": lambda: NATIVE.aggregate(0, zeros(2), zeros(3, 4), "baseline"),
    "an unknown activation": lambda: NATIVE.activate(255, zeros(3), "baseline"),
    "a negative activation": lambda: NATIVE.activate(-1, zeros(3), "baseline"),
    "an unknown aggregation": lambda: NATIVE.aggregate(255, zeros(3), zeros(3, 4), "baseline"),
    "a negative aggregation": lambda: NATIVE.aggregate(-9, zeros(3), zeros(3, 4), "baseline"),
    "misaligned numbers": lambda: NATIVE.activate(0, misaligned(3), "baseline"),
    "distances to nobody": lambda: NATIVE.distances32(
        POPULATION, np.array([0, 9]), np.array([0, 0]), distance_rules(Config()), "baseline"
    ),
    "distances of unequal lists": lambda: NATIVE.distances32(
        POPULATION,
        np.zeros(5, np.int64),
        np.zeros(2, np.int64),
        distance_rules(Config()),
        "baseline",
    ),
    "no threads": lambda: NATIVE.fma_peak("baseline", 0),
    "many threads": lambda: NATIVE.read_bandwidth("baseline", 2**30, 64, 1, 1),
    "episodes below 0": lambda: NATIVE.Control32(0, "baseline").reset(0, 0, -1),
    "a state of other rows": lambda: NATIVE.Control32(0, "baseline").observe(zeros(99, 2)),
    "outputs of other columns": lambda: NATIVE.Control32(0, "baseline").step(
        zeros(4, 2), zeros(1, 3)
    ),
    "a first generation with dangling ends": lambda: NATIVE.first_generation32(
        2, 1, 1, np.array([-1]), np.array([7]), 1, False, RULES, 0, 0, 1, "baseline"
    ),
    "a first generation of nobody knows how many": lambda: NATIVE.first_generation32(
        -1, 1, 1, np.array([-1]), np.array([0]), 1, False, RULES, 0, 0, 1, "baseline"
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_native_functions_refuse(call: str) -> None:
    with pytest.raises(REFUSED):
        CALLS[call]()


@pytest.mark.parametrize(
    ("code", "bounds"),
    [
        ([[0, 2, 300, 0, 0]], [1]),  # a constant that does not exist
        ([[0, 2, 5, 0, 0]], [1]),  # a register that nothing has set
        ([[26, 2, 0, 0, 0]], [1]),  # joins links outside of a pass
        ([[0, 2, 256, 0, 0]], [0, 0, 1, 1]),  # copies a constant where links are joined
        ([[0, 2, 0, 0, 0]], [2]),
        ([[0, 2, 0, 0, 0]], [-1]),
        ([[99, 2, 0, 0, 0]], [1]),
        ([[0, 40, 0, 0, 0]], [1]),
    ],
)
def test_programs_are_checked(code: list[list[int]], bounds: list[int]) -> None:
    arrays = np.array(code, np.uint16), np.array([1.0]), np.array(bounds, np.int32)
    with pytest.raises((ValueError, TypeError)):
        NATIVE.Function(*arrays, 2)


@pytest.mark.parametrize("name", ["log", "softplus"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_with_a_logarithm_bear_nan_and_infinities(name: str, dtype: Any) -> None:
    x = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).tiny], dtype)
    found = [NATIVE.activate(ACTIVATION_IDS[name], x, simd) for simd in NATIVE.simd_levels()]
    assert all(y.tobytes() == found[0].tobytes() for y in found)
    assert AGGREGATION_IDS


def test_errors_name_the_array_and_both_shapes() -> None:
    forward = NATIVE.Forward32(build_schedule(POPULATION), 1, "baseline")
    with pytest.raises(ShapeError, match=r"y must have shape \[4, 5, 2\], found \[4, 5, 1\]\."):
        forward(zeros(B, INS), zeros(P, B, 1))
    with pytest.raises(GenomeError, match="validate=True"):
        evonet.compile(corrupt("target", 0, 99))
