"""Calls of the compiled extension with arguments of the wrong type, shape, order or range."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import evonet
from evonet.config import Config
from evonet.definitions.dynamics import KIND_NAMES, Dynamics
from evonet.genes.population import PARTS
from evonet.genes.rules import distance_rules, genome_rules
from evonet.installation import require_native
from evonet.schedule import build_schedule
from tests.campaigns.hostile.watch import Input

SHARE: Final = 120
ALLOWED: Final = (
    *(TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError, RuntimeError),
    MemoryError,
)
NUMBERS: Final = (
    -(2**63),
    -(2**31),
    -7,
    -2,
    -1,
    0,
    1,
    2,
    3,
    5,
    8,
    60,
    255,
    2**31 - 1,
    2**31,
    2**40,
)
TYPES: Final = ("f4", "f8", ">f4", "i4", "i8", "u1", "u2", "?", "c8", "O", "S4", "f2")
# What work takes time in proportion to; everything else is any number.
SMALL: Final = (
    "episodes",
    "max_steps",
    "steps",
    "count",
    "num_genomes",
    "rounds",
    "turns",
    "bytes",
)


def attack(rng: random.Random, folder: Path) -> Input:
    """Makes a call that works, and spoils some of its arguments."""
    name = rng.choice(sorted(_calls()))
    call, arguments = _calls()[name](rng)

    def run() -> None:
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            key = rng.choice(sorted(arguments))
            arguments[key] = _spoil(rng, key, arguments[key])
        call(**arguments)

    return run


def _spoil(rng: random.Random, name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _spoil_array(rng, value)
    if isinstance(value, evonet.Population):
        return _spoil_fields(rng, value, PARTS, _population)
    if isinstance(value, evonet.Schedule):
        return _spoil_fields(rng, value, [*value.arrays(), "num_inputs"], _schedule)
    if isinstance(value, bool):
        return rng.choice((not value, None, "x"))
    if isinstance(value, int):
        some = NUMBERS[:12] if name in SMALL else NUMBERS
        return rng.choice((*some, 1.5, "1", None, np.int64(3)))
    if isinstance(value, str):
        return rng.choice(("", "v99", "baseline\0", None, 3, "x" * 1000))
    if isinstance(value, dict):
        return {key: found for key, found in value.items() if rng.random() < 0.8}
    if isinstance(value, list):
        return rng.choice(([], value[:-1], value * 3, None, [None], ["x"], [2**70]))
    return rng.choice((None, 0, "x", [], np.zeros(3)))


def _spoil_fields(
    rng: random.Random, value: Any, names: Any, make: Callable[[dict[str, Any]], Any]
) -> Any:
    fields = {name: getattr(value, name) for name in names}
    for _ in range(rng.choice((1, 1, 2, 4))):
        name = rng.choice(list(fields))
        fields[name] = _spoil(rng, name, fields[name])
    if rng.random() < 0.1:
        return SimpleNamespace(**fields)
    return make(fields)


def _population(fields: dict[str, Any]) -> Any:
    return evonet.Population(**fields, validate=False)


def _schedule(fields: dict[str, Any]) -> Any:
    return evonet.Schedule(num_outputs=2, **fields)


def _spoil_array(rng: random.Random, array: Any) -> Any:
    way = rng.randrange(14)
    if way < 5:  # a wrong value, which most need a closer look to find
        spoilt = array.copy()
        for _ in range(rng.choice((1, 1, 3))):
            if spoilt.size:
                number = rng.choice(NUMBERS) if rng.random() < 0.5 else rng.randint(-2, 12)
                with np.errstate(all="ignore"):
                    spoilt.reshape(-1)[rng.randrange(spoilt.size)] = np.array(number).astype(
                        spoilt.dtype
                    )
        return spoilt
    if way == 5:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(TYPES))
    if way == 6:
        return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    if way == 7:
        return rng.choice((array[:-1], array[1:], array[:0], np.concatenate([array, array])))
    if way == 8:
        return np.asfortranarray(array) if array.ndim > 1 else array[::-1]
    if way == 9:
        return np.broadcast_to(array.reshape(-1)[:1], array.shape) if array.size else array
    if way == 10:
        raw = np.frombuffer(bytearray(array.nbytes + 1), np.uint8)[1:]
        return raw.view(array.dtype).reshape(array.shape)
    if way == 11:
        return array[None] if rng.random() < 0.5 else array.reshape(-1)
    if way == 12:
        return np.empty((rng.choice((0, 2**20)), 0), array.dtype)
    return rng.choice((None, array.tolist(), "x", 3, memoryview(b"abc"), np.ma.array(array)))


@functools.cache
def _calls() -> dict[str, Callable[[random.Random], tuple[Callable[..., object], dict[str, Any]]]]:
    native = require_native()
    config = Config()
    genome, distance = genome_rules(config), distance_rules(config)

    def population(rng: random.Random) -> evonet.Population:
        return _populations()[rng.randrange(len(_populations()))]

    def schedule(rng: random.Random) -> evonet.Schedule:
        kind = rng.choice(KIND_NAMES)
        return build_schedule(population(rng), Dynamics.of(kind), on_cycle="zero", threads=1)

    def common(rng: random.Random) -> dict[str, Any]:
        return {"threads": rng.choice((0, 1, 2)), "simd": rng.choice(native.simd_levels())}

    def forward(schedule: Any, threads: Any, simd: Any, method: str, **arrays: Any) -> object:
        bound = native.Forward32(schedule, threads, simd)
        return bound(**arrays) if method == "call" else getattr(bound, method)(**arrays)

    def call(rng: random.Random) -> Any:
        arrays = {"x": np.ones((3, 3), np.float32), "y": np.empty((4, 3, 2), np.float32)}
        run = functools.partial(forward, method="call")
        return run, {"schedule": schedule(rng), **common(rng), **arrays}

    def step(rng: random.Random) -> Any:
        s = schedule(rng)
        state = np.zeros((s.dynamics.num_states, s.num_nodes, 3), np.float32)
        arrays = {"x": np.ones((3, 3), np.float32), "y": np.empty((4, 3, 2), np.float32)}
        states = {"state": state, "next_state": state.copy()}
        run = functools.partial(forward, method="step")
        return run, {"schedule": s, **common(rng), **arrays, **states}

    def loss(rng: random.Random) -> Any:
        arrays = {"x": np.ones((3, 3), np.float32), "targets": np.zeros((3, 2), np.float32)}
        rest = {"loss": rng.randrange(3), "out": np.empty((4, 2), np.float32)}
        run = functools.partial(forward, method="loss")
        return run, {"schedule": schedule(rng), **common(rng), **arrays, **rest}

    def rollout(rng: random.Random) -> Any:
        rest = {"control": rng.randrange(3), "genomes": np.arange(4), "first_episode": 0}
        rest |= {"episodes": 2, "max_steps": 8, "seed": 1}
        return native.rollout32, {"schedule": schedule(rng), **common(rng), **rest}

    def pack(rng: random.Random) -> Any:
        def run(schedule: Any, begin: Any, end: Any, threads: Any) -> Any:
            packer = native.SchedulePacker32(schedule, begin, end, threads)
            piece = np.empty(packer.nbytes(0, end - begin), np.uint8)
            return packer.write(0, end - begin, piece)

        return run, {"schedule": schedule(rng), "begin": 0, "end": 4, "threads": 1}

    def compile_schedule(rng: random.Random) -> Any:
        p = population(rng)
        fields = {name: getattr(p, name) for name in PARTS}
        del fields["time_constant"], fields["innovation"]
        return native.compile_schedule, {
            **fields,
            "wiring": rng.randrange(4),
            "num_states": rng.randrange(4),
            "reuse_slots": rng.random() < 0.5,
            "threads": 1,
        }

    def breed(rng: random.Random) -> Any:
        some = [rng.randrange(4) for _ in range(6)], [rng.randrange(-1, 4) for _ in range(6)]
        rest = {"fitter": np.array(some[0]), "other": np.array(some[1]), "rules": genome}
        numbers = {"seed": 1, "generation": rng.randrange(9)}
        counters = {"next_node_key": 100, "next_innovation": 100}
        return native.breed32, {
            "parents": population(rng),
            **rest,
            **numbers,
            **counters,
            **common(rng),
        }

    def first(rng: random.Random) -> Any:
        links = {"source": np.array([-1, -2, -3, 2]), "target": np.array([0, 1, 2, 0])}
        counts = {"num_genomes": 5, "num_inputs": 3, "num_nodes": 3, "num_wanted": 2}
        rest = {"one_input": False, "rules": genome, "seed": 1, "generation": 0}
        return native.first_generation32, {**counts, **links, **rest, **common(rng)}

    def speciate(rng: random.Random) -> Any:
        both = {"population": population(rng), "parents": population(rng)}
        rest = {"representatives": np.array([0, 2]), "threshold": 2.0, "rules": distance}
        return native.speciate32, {**both, **rest, **common(rng)}

    def distances(rng: random.Random) -> Any:
        pairs = {"a": np.array([0, 1, 2]), "b": np.array([3, 2, 2])}
        rest = {"rules": distance, "simd": "baseline"}
        return native.distances32, {"population": population(rng), **pairs, **rest}

    def mate(rng: random.Random) -> Any:
        members = {"members": np.arange(6), "member_start": np.array([0, 2, 6])}
        shares = {"num_elites": np.array([1, 1]), "num_parents": np.array([2, 3])}
        rest = {"num_children": np.array([2, 3]), "interspecies": 0.1, "seed": 1}
        more = {"generation": 1, "threads": 1}
        return native.plan_mating, {"scores": np.arange(6.0), **members, **shares, **rest, **more}

    def share(rng: random.Random) -> Any:
        members = {"members": np.arange(6), "member_start": np.array([0, 2, 6])}
        rules = {"pop_size": 9, "least": 2, "elitism": 1, "survival": 0.2}
        ways = {"canonical": rng.random() < 0.5, "proportional": rng.random() < 0.5}
        return native.share_out, {"scores": np.arange(6.0), **members, **rules, **ways}

    def group(rng: random.Random) -> Any:
        species = np.array([1, 0, 2, 1], np.int32)
        return native.group_by_species, {"species": species, "num_species": 3}

    def sums(rng: random.Random) -> Any:
        return native.exact_group_sums, {"values": np.arange(6.0), "starts": np.array([0, 2, 6])}

    def activate(rng: random.Random) -> Any:
        x = np.array([rng.uniform(-9, 9), float("nan"), 1e30, -0.0], np.float32)
        return native.activate, {"id": rng.randrange(18), "x": x, "simd": common(rng)["simd"]}

    def aggregate(rng: random.Random) -> Any:
        arrays = {"weights": np.ones(3, np.float32), "values": np.ones((3, 5), np.float32)}
        return native.aggregate, {"id": rng.randrange(7), **arrays, "simd": common(rng)["simd"]}

    def function(rng: random.Random) -> Any:
        def run(x: Any, weights: Any, values: Any, simd: Any, **program: Any) -> object:
            made = native.Function(**program)
            joined = made.aggregate(weights, values, simd)
            return joined, made.activate(x, simd)

        code = [[rng.randrange(30), rng.randrange(2, 6), *_operands(rng)] for _ in range(4)]
        bounds = rng.choice(([4], [0, 3, 4, 4], [1, 2, 3, 4], [1, 3, 4, 4]))
        program = {"code": np.array(code, np.uint16), "constants": np.ones(2), "result": 2}
        arrays = {"weights": np.ones(3, np.float32), "values": np.ones((3, 4), np.float32)}
        return run, {
            **program,
            "bounds": np.array(bounds, np.int32),
            "x": np.ones(5, np.float32),
            **arrays,
            "simd": common(rng)["simd"],
        }

    def control(rng: random.Random) -> Any:
        def run(control: Any, simd: Any, state: Any, output: Any, count: Any) -> object:
            made = native.Control32(control, simd)
            return made.reset(1, 0, count), made.observe(state), made.step(state, output)

        arrays = {"state": np.zeros((4, 3), np.float32), "output": np.zeros((2, 3), np.float32)}
        return run, {"control": 0, "simd": common(rng)["simd"], **arrays, "count": 3}

    def neat_rows(rng: random.Random) -> Any:
        def run(inputs: Any, outputs: Any, rows: Any, begin: Any, x: Any, y: Any) -> object:
            made = native.NeatNetwork.of_rows(inputs, outputs, rows)
            made.answer_rows(True, x, y)
            made.activate_feed_forward([1.0, 2.0])
            made.begin(begin)
            made.answer_rows(False, x, y)
            return made.advance_rows(x, y, 0.1, 0.05, True)

        links = [(-1, 1.0), (-2, 0.5), (1, 2.0)]
        rows = [(1, abs, sum, 0.0, 1.0, links[:2], 1.0), (0, abs, max, 0.0, 1.0, links, 1.0)]
        if rng.random() < 0.3:
            rows[0] = rng.choice(((), (1, abs), (None,) * 7, rows[0][:6], (1, 2, 3, 4, 5, 6, 7)))
        arrays = {"x": np.ones((3, 2)), "y": np.empty((1, 3, 1))}
        return run, {"inputs": [-1, -2], "outputs": [0], "rows": rows, "begin": 3, **arrays}

    def squares(rng: random.Random) -> Any:
        arrays = {"y": np.ones((2, 3, 1)), "targets": np.ones((3, 1)), "out": np.ones(2)}
        return native.subtract_squares, {**arrays, "best": 1.0}

    return {
        name: made
        for name, made in locals().copy().items()
        if callable(made) and name not in ("population", "schedule", "common", "forward")
    }


def _operands(rng: random.Random) -> list[int]:
    return [rng.choice((0, 0, 1, 2, 3, 256, 257, 258, 39, 40)) for _ in range(3)]


@functools.cache
def _populations() -> list[evonet.Population]:
    def make(seed: int, **options: Any) -> evonet.Population:
        return evonet.Population.random(
            4, 3, 2, num_nodes=6, num_connections=14, seed=seed, **options
        )

    functions = {"activations": ("sigmoid", "log", "cube"), "aggregations": ("sum", "median")}
    return [make(0), make(1, feed_forward=False), make(2, **functions), make(3, enabled=0.5)]
