"""Inputs for the native kernels, and what the installed extension makes of them.

`tests/machines/harness.cpp` runs the same inputs without Python, on any machine. An operation that
the kernels gain needs a function here that yields its cases, and one in the harness.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet import Population, _native
from evonet.backends.learning import LearningState
from evonet.definitions.controls import CONTROL_IDS, CONTROLS
from evonet.definitions.dynamics import KIND_NAMES, Dynamics
from evonet.functions.registry import LOSS_IDS
from evonet.genes.arrays import ARRAYS
from evonet.genes.rules import distance_rules, genome_rules
from evonet.schedule import Schedule, build_schedule, reference
from tests.support.evolution_cases import WILD, make_config
from tests.support.random_networks import random_genes, random_samples

Arrays = dict[str, NDArray[Any]]
DTYPES = {"f32": np.float32, "f64": np.float64}
SUFFIXES = {"f32": "32", "f64": "64"}
THREADS = 2


class Case(NamedTuple):
    """One call of a kernel.

    Attributes:
        name: OPERATION/f32 or f64/what is special about it.
        inputs: What the harness reads, by name.
        run: Returns all results of the extension at a SIMD level, by name.
    """

    name: str
    inputs: Arrays
    run: Callable[[str], Arrays]


def all_cases() -> Iterator[Case]:
    """Yields the cases of all operations, equal ones each time."""
    for numbers in DTYPES:
        yield from compiled(numbers)
        yield from forward_passes(numbers)
        yield from single_samples(numbers)
        yield from losses(numbers)
        yield from lessons(numbers)
        yield from rollouts(numbers)
        yield from generations(numbers)


def compiled(numbers: str) -> Iterator[Case]:
    """Schedules of untidy genomes, with and without cycles."""
    for cyclic in (False, True):
        population = _untidy(numbers, 12, cyclic)
        dynamics = Dynamics.of("recurrent", "same-step") if cyclic else Dynamics()
        schedule = build_schedule(population, dynamics)
        wiring = reference.SAME_STEP if cyclic else reference.LEVELS
        inputs = _population(population)
        inputs |= _scalars(wiring=wiring, num_states=dynamics.num_states, reuse_slots=1)
        found = {name: array for name, array in schedule.arrays().items() if name != "cell"}
        yield Case(f"compile/{numbers}/{'cyclic' if cyclic else 'levels'}", inputs, _always(found))


def forward_passes(numbers: str) -> Iterator[Case]:
    """All functions and kinds of network, and sample counts around the widths of blocks."""
    for kind in KIND_NAMES:
        for samples in (1, 5, 40) if kind != "feedforward" else (1, 2, 7, 33, 150):
            schedule = _schedule(numbers, kind)
            x = random_samples(
                random.Random(samples), (samples, schedule.num_inputs), _type(numbers)
            )
            inputs = _schedule_arrays(schedule)
            inputs |= {"x": x} | _scalars(num_samples=samples, shared=1)
            state = _state(schedule, samples)
            if schedule.dynamics.has_memory:
                inputs["state"] = state
            yield Case(
                f"forward/{numbers}/{kind}-{samples}", inputs, _forward(numbers, schedule, x, state)
            )


def single_samples(numbers: str) -> Iterator[Case]:
    """Networks side by side."""
    for activations in (("tanh",), ("sigmoid", "sin", "relu", "gauss")):
        population = Population.random(
            50,
            4,
            3,
            num_nodes=12,
            num_connections=40,
            activations=activations,
            dtype=_type(numbers),
            seed=8,
        )
        schedule = build_schedule(population)
        x = random_samples(random.Random(9), (1, 4), _type(numbers))
        inputs = _schedule_arrays(schedule) | {"x": x}
        run = _single(numbers, schedule, x)
        yield Case(f"single/{numbers}/{len(activations)}", inputs, run)


def losses(numbers: str) -> Iterator[Case]:
    """Every loss."""
    schedule = _schedule(numbers, "feedforward")
    rng = np.random.default_rng(3)
    x = rng.normal(size=(77, schedule.num_inputs)).astype(_type(numbers))
    targets = rng.uniform(size=(77, schedule.num_outputs)).astype(_type(numbers))
    for loss, number in LOSS_IDS.items():
        inputs = _schedule_arrays(schedule) | {"x": x, "targets": targets}
        inputs |= _scalars(num_samples=len(x), shared=1, loss=number)
        yield Case(f"loss/{numbers}/{loss}", inputs, _loss(numbers, schedule, x, targets, number))


def lessons(numbers: str) -> Iterator[Case]:
    """Every optimiser, loss and kind of network that learns; SGD's momentum is the gradient."""
    names = [name for name in LOSS_IDS if name != "misses"]
    for turn, (kind, samples) in enumerate((("feedforward", 70), ("recurrent", 33), ("ctrnn", 5))):
        for optimizer in range(3):
            schedule = _schedule(numbers, kind, reuse_slots=False)
            rng = np.random.default_rng(6)
            shape = (3, 1 + 2 * bool(turn), samples)
            x = rng.normal(size=(*shape, schedule.num_inputs)).astype(_type(numbers))
            targets = rng.uniform(size=(*shape, schedule.num_outputs)).astype(_type(numbers))
            loss = LOSS_IDS[names[(turn + optimizer) % len(names)]]
            rule = np.array([0.01, 0.5, 0.9, 0.999, 1e-8, 0.02, 5.0])
            corrections = rng.uniform(0.01, 2.0, (3, 2))
            inputs = _schedule_arrays(schedule) | {"x": x, "targets": targets}
            inputs |= {"rule": rule, "corrections": corrections}
            inputs |= _scalars(
                loss=loss,
                num_samples=samples,
                num_steps=3,
                T=shape[1],
                optimizer=optimizer,
                waits=int(turn > 0),
            )
            run = _learn(numbers, schedule, x, targets, loss, optimizer, rule, corrections)
            yield Case(f"learn/{numbers}/{kind}-{optimizer}", inputs, run)


def rollouts(numbers: str) -> Iterator[Case]:
    """Every control task: many genomes side by side, and many episodes of few genomes."""
    for control in CONTROLS:
        for genomes, episodes, kind in ((21, 1, "feedforward"), (2, 70, "recurrent")):
            population = Population.random(
                genomes,
                control.num_inputs,
                control.num_outputs,
                num_nodes=control.num_outputs + 5,
                num_connections=20,
                activations=("tanh", "sigmoid", "relu", "sin"),
                dtype=_type(numbers),
                seed=4,
            )
            schedule = build_schedule(population, Dynamics.of(kind))
            chosen = np.arange(genomes, dtype=np.int64)[::-1].copy()
            call = {
                "control": CONTROL_IDS[control.name],
                "first_episode": 3,
                "episodes": episodes,
                "max_steps": min(control.max_steps, 60),
                "seed": 2**40 + 7,
            }
            inputs = _schedule_arrays(schedule) | {"genomes": chosen} | _scalars(**call)
            yield Case(
                f"rollout/{numbers}/{control.name}-{kind}",
                inputs,
                _rollout(numbers, schedule, chosen, call),
            )


def generations(numbers: str) -> Iterator[Case]:
    """Children by every mutation, and their species."""
    parents = Population.random(
        40, 3, 2, num_nodes=9, num_connections=20, dtype=_type(numbers), seed=5
    )
    config = make_config(WILD, {"genome.time_constant_min_value": 0.01})
    rng = np.random.default_rng(6)
    fitter = rng.integers(0, 40, 90)
    other = np.where(rng.random(90) < 0.1, -1, rng.integers(0, 40, 90))
    for turn in range(2):
        rules = genome_rules(config.replace({"genome.feed_forward": turn == 0}))
        call = {
            "seed": 2**35 + turn,
            "generation": 9,
            "next_node_key": int(parents.node_key.max()) + 1,
            "next_innovation": int(parents.innovation.max()) + 1,
        }
        inputs = _population(parents) | {"fitter": fitter, "other": other} | _scalars(**call)
        inputs |= _rules(rules)
        run = _breed(numbers, parents, fitter, other, rules, call)
        yield Case(f"breed/{numbers}/{turn}", inputs, run)

        old, chosen = parents[5:20], np.array([3, 0, 14, 7])
        distance = distance_rules(config)
        inputs = _rules(distance, "distance.") | _scalars(threshold=1.5 + turn)
        inputs |= _population(old, "old.") | _population(parents) | {"representatives": chosen}
        run = _speciate(numbers, parents, old, chosen, 1.5 + turn, distance)
        yield Case(f"speciate/{numbers}/{turn}", inputs, run)


def _type(numbers: str) -> Any:
    return DTYPES[numbers]


def _typed(name: str, numbers: str) -> Any:
    return getattr(_native, name + SUFFIXES[numbers])


def _untidy(numbers: str, genomes: int, cyclic: bool) -> Population:
    rng = random.Random(1)
    genes = [random_genes(rng, 4, 3, 3 + 4 * i, cyclic) for i in range(genomes)]
    return Population.from_genes(4, 3, genes, _type(numbers))


def _schedule(numbers: str, kind: str, reuse_slots: bool = True) -> Schedule:
    memory = kind != "feedforward"
    dynamics = Dynamics.of(kind, steps=1 + memory)
    return build_schedule(_untidy(numbers, 10, memory), dynamics, reuse_slots=reuse_slots)


def _state(schedule: Schedule, samples: int) -> NDArray[Any]:
    shape = (schedule.dynamics.num_states, schedule.num_nodes, samples)
    return np.random.default_rng(2).normal(size=shape).astype(schedule.dtype)


def _forward(numbers: str, schedule: Schedule, x: Any, state: Any) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        kernel = _typed("Forward", numbers)(schedule, THREADS, simd)
        y = np.empty((schedule.num_genomes, len(x), schedule.num_outputs), schedule.dtype)
        next_state = np.empty_like(state)
        if schedule.dynamics.has_memory:
            kernel.step(x, y, state, next_state)
        else:
            kernel(x, y)
        return {"y": y, "next_state": next_state}

    return run


def _single(numbers: str, schedule: Schedule, x: Any) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        kernel = _typed("Forward", numbers)(schedule, THREADS, simd)
        found = {}
        for gathers, name in ((False, "y"), (True, "y_gathered")):
            y = np.empty((schedule.num_genomes, 1, schedule.num_outputs), schedule.dtype)
            assert kernel.side_by_side(x, y, gathers)
            found[name] = y
        return found

    return run


def _loss(
    numbers: str, schedule: Schedule, x: Any, targets: Any, loss: int
) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        found = np.empty((schedule.num_genomes, 2), schedule.dtype)
        _typed("Forward", numbers)(schedule, THREADS, simd).loss(x, targets, loss, found)
        return {"losses": found}

    return run


def _learn(
    numbers: str,
    schedule: Schedule,
    x: Any,
    targets: Any,
    loss: int,
    optimizer: int,
    rule: Any,
    corrections: Any,
) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        waits = schedule.dynamics.has_memory
        kernel = _typed("Gradient", numbers)(schedule, THREADS, simd, waits)
        state = LearningState.start(schedule)
        losses = np.zeros((len(x), schedule.num_genomes), schedule.dtype)
        order = np.arange(x.shape[2])[None]
        for step, samples in enumerate(x):
            kernel.learn(
                *(samples, targets[step], order, loss, optimizer, rule),
                *(corrections[step : step + 1], True, True, True, *state.genes),
                *(*state.first, *state.second, state.active, state.steps),
                losses[step : step + 1],
            )
        found: Arrays = {"steps": state.steps, "losses": losses}
        for prefix, genes in (
            ("", state.genes),
            ("first_", state.first),
            ("second_", state.second),
        ):
            found |= {prefix + name: array for name, array in genes._asdict().items()}
        return found

    return run


def _rollout(
    numbers: str, schedule: Schedule, genomes: Any, call: dict[str, int]
) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        play = _typed("rollout", numbers)
        total, steps = play(schedule=schedule, genomes=genomes, threads=THREADS, simd=simd, **call)
        return {"total": total, "steps": steps}

    return run


def _breed(
    numbers: str, parents: Population, fitter: Any, other: Any, rules: Any, call: dict[str, int]
) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        breed = _typed("breed", numbers)
        found, *following = breed(parents, fitter, other, rules, **call, threads=THREADS, simd=simd)
        return {**found, "next": np.array(following, np.int64)}

    return run


def _speciate(
    numbers: str, population: Population, old: Population, chosen: Any, threshold: float, rules: Any
) -> Callable[[str], Arrays]:
    def run(simd: str) -> Arrays:
        divide = _typed("speciate", numbers)
        found = divide(population, old, chosen, threshold, rules, THREADS, simd)
        return dict(zip(("members", "starts", "representative"), found, strict=True))

    return run


def _always(found: Arrays) -> Callable[[str], Arrays]:
    return lambda simd: found


def _population(population: Population, prefix: str = "") -> Arrays:
    arrays = {prefix + name: getattr(population, name) for name in ARRAYS}
    sizes = {"num_inputs": population.num_inputs, "num_outputs": population.num_outputs}
    return arrays | _scalars(**sizes)


def _schedule_arrays(schedule: Schedule) -> Arrays:
    dynamics = schedule.dynamics
    return schedule.arrays() | _scalars(
        num_genomes=schedule.num_genomes,
        num_inputs=schedule.num_inputs,
        num_outputs=schedule.num_outputs,
        kind_id=dynamics.kind_id,
        num_states=dynamics.num_states,
        num_parameters=dynamics.num_parameters,
        steps=dynamics.steps,
        time_step=dynamics.time_step,
    )


def _rules(rules: dict[str, Any], prefix: str = "") -> Arrays:
    found: Arrays = {}
    for name, value in rules.items():
        if isinstance(value, dict):
            found |= _rules(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            found[prefix + name] = np.array(value, np.int64)
        else:
            found |= _scalars(**{prefix + name: value})
    return found


def _scalars(**numbers: float) -> Arrays:
    """Whole numbers and truths as int64, others as float64."""
    return {
        name: np.array([value], np.float64 if isinstance(value, float) else np.int64)
        for name, value in numbers.items()
    }
