"""Slots are only names: whatever slots a schedule gives its nodes, every bit stays the same."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from evonet import Network, Population
from evonet.backends.base import Episodes
from evonet.backends.cuda.layout import pack_schedule
from evonet.definitions.dynamics import Dynamics
from evonet.installation import require_native
from evonet.schedule import Schedule, build_schedule
from evonet.schedule.lifetimes import reuse_slots
from evonet.schedule.slots import trace_slots
from tests.support.cuda_runs import SMALL, TINY, run_forward, run_rollout
from tests.support.random_networks import random_genes, random_samples

DTYPES = (np.float32, np.float64)
DYNAMICS = {
    "feedforward": Dynamics.of(),
    "recurrent": Dynamics.of("recurrent"),
    "same-step": Dynamics.of("recurrent", "same-step", steps=2),
    "ctrnn": Dynamics.of("ctrnn", steps=2),
    "izhikevich": Dynamics.of("izhikevich"),
}
SIMD_LEVELS = require_native().simd_levels()


def relabel(schedule: Schedule) -> Schedule:
    """Gives the nodes of every genome other slots, with some that nobody uses among them."""
    s, rng = schedule, np.random.default_rng(7)
    slot, source, output = s.slot.copy(), s.source.copy(), s.output_slot.copy()
    num_slots = s.num_slots.copy()
    for g in range(s.num_genomes):
        nodes = slice(s.node_start[g], s.node_start[g + 1])
        links = slice(s.edge_start[nodes.start], s.edge_start[nodes.stop])
        old, end = int(s.first_state[g]), int(s.num_slots[g])
        gaps = int(rng.integers(6))
        new = np.arange(end + gaps)
        new[s.num_inputs : old] = (
            s.num_inputs + rng.permutation(old - s.num_inputs + gaps)[: old - s.num_inputs]
        )
        new[old:end] = np.arange(old + gaps, end + gaps)
        slot[nodes], source[links] = new[slot[nodes]], new[source[links]]
        output[g] = np.where(output[g] < 0, -1, new[output[g]])
        num_slots[g] += gaps
    return dataclasses.replace(s, slot=slot, source=source, output_slot=output, num_slots=num_slots)


def reuse(schedule: Schedule) -> Schedule:
    """Gives a slot to the next node once the last level that reads it is done."""
    s, read = schedule, trace_slots(schedule)
    slot, source, output = s.slot.copy(), s.source.copy(), s.output_slot.copy()
    num_slots = s.num_slots.copy()
    for g in range(s.num_genomes):
        first, count = int(s.node_start[g]), int(np.diff(s.node_start)[g])
        ends = s.level_end[s.level_start[g] : s.level_start[g + 1]]
        nodes = range(s.num_inputs, s.num_inputs + count)
        levels = np.searchsorted(ends, np.arange(count), side="right")
        starts = s.edge_start[first : first + count + 1]
        sources = {
            p: read.source[begin:end].tolist()
            for p, (begin, end) in zip(nodes, pairwise(starts), strict=True)
        }
        found = reuse_slots(
            nodes,
            dict(zip(nodes, levels.tolist(), strict=True)),
            sources,
            set(read.output[g].tolist()),
            s.num_inputs,
        )
        new = np.array([*range(s.num_inputs), *(found[p] for p in nodes)], np.int32)
        slot[first : first + count] = new[s.num_inputs :]
        links = slice(starts[0], starts[-1])
        source[links] = new[read.source[links]]
        output[g] = [-1 if p < 0 else new[p] for p in read.output[g]]
        num_slots[g] = max(s.num_inputs, new.max(initial=-1) + 1)
    return dataclasses.replace(s, slot=slot, source=source, output_slot=output, num_slots=num_slots)


Change = Callable[[Schedule], Schedule]
CHANGES: dict[str, Change] = {
    "permuted": relabel,
    "reused": reuse,
}
CASES = [
    pytest.param(dynamics, change, id=f"{name}-{how}")
    for name, dynamics in DYNAMICS.items()
    for how, change in CHANGES.items()
    if how != "reused" or not dynamics.has_memory
]


@functools.cache
def untidy(dtype: Any = np.float32, count: int = 24) -> Population:
    """Genomes with all functions, some with cycles."""
    rng = random.Random("slots")
    genes = [
        random_genes(rng, 3, 2, rng.randint(0, 16), cyclic=rng.random() < 0.3) for _ in range(count)
    ]
    return Population.from_genes(3, 2, genes, dtype)


@functools.cache
def schedule(dynamics: Dynamics, dtype: Any = np.float32, count: int = 24) -> Schedule:
    """Every node has a slot of its own."""
    return build_schedule(untidy(dtype, count), dynamics, on_cycle="zero", reuse_slots=False)


@functools.cache
def players(dynamics: Dynamics, dtype: Any = np.float32) -> Schedule:
    """Genomes of sums for cartpole, which run side by side in the lanes of vectors."""
    population = Population.random(
        40,
        4,
        2,
        num_nodes=9,
        num_connections=26,
        feed_forward=not dynamics.has_memory,
        activations=("tanh", "sigmoid", "relu"),
        dtype=dtype,
        seed=2,
    )
    return build_schedule(population, dynamics, reuse_slots=False)


def assert_same_bits(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def samples(dtype: Any, *shape: int) -> np.ndarray:
    return random_samples(random.Random(str(shape)), shape, dtype)


def assert_same_answers(found: Network, expected: Network, num_samples: int) -> None:
    for shape in ((num_samples, 3), (24, num_samples, 3)):
        x = samples(expected.dtype, *shape)
        assert_same_bits(found(x), expected(x))
    if expected.state is not None:
        assert_same_bits(found.state, expected.state)
        found.state = expected.state
        assert_same_bits(found(x), expected(x))
    targets = samples(expected.dtype, num_samples, 2)
    assert_same_bits(found.loss(x, targets), expected.loss(x, targets))


@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_the_changes_change_slots_and_nothing_else(dynamics: Dynamics, change: Change) -> None:
    before, after = schedule(dynamics), change(schedule(dynamics))
    assert (before.slot != after.slot).any()
    assert (change is reuse) == (after.num_slots.sum() < before.num_slots.sum())
    pairs = zip(before.arrays().items(), after.arrays().values(), strict=True)
    changed = {name for (name, old), new in pairs if not np.array_equal(old, new, equal_nan=True)}
    assert changed <= {"slot", "num_slots", "source", "output_slot"}


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_on_the_processor(
    dynamics: Dynamics, change: Change, dtype: Any, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    for num_samples in (1, 7, 70):
        before = schedule(dynamics, dtype)
        found, expected = (Network(s, "cpu", 2) for s in (change(before), before))
        assert_same_answers(found, expected, num_samples)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_on_the_reference(dynamics: Dynamics, change: Change, dtype: Any) -> None:
    before = schedule(dynamics, dtype)
    found, expected = (
        Network(s, backend, 1) for s, backend in ((change(before), "reference"), (before, "cpu"))
    )
    assert_same_answers(found, expected, 3)


@pytest.mark.parametrize("simd", SIMD_LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_in_rollouts(
    dynamics: Dynamics, change: Change, dtype: Any, simd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    before = players(dynamics, dtype)
    found, expected = (Network(s, "cpu", 2) for s in (change(before), before))
    for episodes in (1, 20):  # different networks side by side, then episodes of the same one
        for a, b in zip(
            found.rollout("cartpole", episodes=episodes, max_steps=60),
            expected.rollout("cartpole", episodes=episodes, max_steps=60),
            strict=True,
        ):
            assert_same_bits(a, b)
    chosen = {"episodes": 2, "max_steps": 20, "genomes": [3, 11]}
    on_reference = Network(change(before), "reference", 1).rollout("cartpole", **chosen)
    for a, b in zip(on_reference, expected.rollout("cartpole", **chosen), strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize("mapping", ["levels", "samples"])
@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_on_gpus(dynamics: Dynamics, change: Change, dtype: Any, limits: Any, mapping: str) -> None:
    before = schedule(dynamics, dtype, 9)
    for num_samples in (1, 40):
        x = samples(dtype, num_samples, 3)
        expected = Network(before, "cpu", 1)(x)
        found = run_forward(change(before), x, mapping, limits=limits, begin=2)
        assert_same_bits(found, expected[2:])


@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_in_rollouts_on_gpus(dynamics: Dynamics, change: Change, dtype: Any, limits: Any) -> None:
    before = players(dynamics, dtype)
    episodes = Episodes("cartpole", count=2, max_steps=15, seed=5)
    chosen = [4, 9, 12]
    expected = Network(before, "cpu", 1).rollout(
        "cartpole", episodes=2, max_steps=15, seed=5, genomes=chosen
    )
    found = run_rollout(change(before), episodes, chosen, limits=limits, begin=3)
    for a, b in zip(found, expected, strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_both_packers_agree(dynamics: Dynamics, change: Change, dtype: Any) -> None:
    changed = change(schedule(dynamics, dtype))
    found, expected = (pack_schedule(changed, 3, 20, native) for native in (None, False))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.parametrize(("dynamics", "change"), CASES)
def test_positions_and_analysis_stay(dynamics: Dynamics, change: Change) -> None:
    before, after = schedule(dynamics), change(schedule(dynamics))
    expected, found = trace_slots(before), trace_slots(after)
    np.testing.assert_array_equal(found.source, expected.source)
    np.testing.assert_array_equal(found.output, expected.output)
    for name in ("work", "span", "slack", "finish", "waits_for"):
        np.testing.assert_array_equal(
            getattr(after.analyze(), name), getattr(before.analyze(), name)
        )
    for genome in range(before.num_genomes):
        path = after.analyze().critical_path(genome)
        assert path == before.analyze().critical_path(genome)


@pytest.mark.parametrize("dynamics", DYNAMICS.values(), ids=DYNAMICS)
def test_without_reuse_every_node_has_a_slot_of_its_own_in_order(dynamics: Dynamics) -> None:
    s = schedule(dynamics)
    counts = np.diff(s.node_start)
    position = np.arange(s.num_nodes) - np.repeat(s.node_start[:-1], counts)
    np.testing.assert_array_equal(s.slot, s.num_inputs + position)
    np.testing.assert_array_equal(s.num_slots, s.num_inputs + (1 + dynamics.num_states) * counts)
    np.testing.assert_array_equal(s.first_state, s.num_inputs + counts)
    read = trace_slots(s)
    np.testing.assert_array_equal(read.source, s.source)
    np.testing.assert_array_equal(read.output, s.output_slot)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dynamics", DYNAMICS.values(), ids=DYNAMICS)
def test_builders_reuse_slots_except_of_networks_with_memory(
    dynamics: Dynamics, native: bool
) -> None:
    kept = schedule(dynamics)
    found = build_schedule(untidy(), dynamics, on_cycle="zero", native=native)
    assert found == (kept if dynamics.has_memory else reuse(kept))
    np.testing.assert_array_equal(kept.analyze().live_slots, found.num_slots)


def deep_genes(rng: random.Random) -> Any:
    """A genome of up to 40 levels whose values live short and long."""
    hidden = rng.randint(0, 40)
    order = [*rng.sample(range(2, 2 + hidden), hidden), 0, 1]
    sources = [-1, -2, -3, *order]
    links = [
        (source, key)
        for k, key in enumerate(order)
        for source in {
            *rng.sample(sources[: k + 3], min(k + 3, rng.randint(0, 3))),
            *sources[k + 2 : k + 3][: rng.random() < 0.7],
        }
    ]
    return range(2 + hidden), [(a, b, rng.gauss(0, 1)) for a, b in links]


@pytest.mark.parametrize("seed", range(30))
def test_no_slot_is_taken_while_somebody_still_reads_it(seed: int) -> None:
    rng = random.Random(seed)
    population = Population.from_genes(3, 2, [deep_genes(rng) for _ in range(8)])
    kept = build_schedule(population, reuse_slots=False)
    found = build_schedule(population)
    assert found == reuse(kept) == build_schedule(population, native=False)
    np.testing.assert_array_equal(trace_slots(found).source, kept.source)
    np.testing.assert_array_equal(trace_slots(found).output, kept.output_slot)
    for g in range(8):
        nodes = slice(found.node_start[g], found.node_start[g + 1])
        ends = found.level_end[found.level_start[g] : found.level_start[g + 1]]
        for level in np.split(found.slot[nodes], ends[:-1]):
            assert len(set(level.tolist())) == len(level), "two nodes of a level share a slot"
        # No assignment needs fewer: so many values are needed at once.
        assert found.num_slots[g] == 3 + most_alive(kept, g)
    np.testing.assert_array_equal(kept.analyze().live_slots, found.num_slots)
    np.testing.assert_array_equal(found.analyze().live_slots, found.num_slots)


def most_alive(kept: Schedule, genome: int) -> int:
    """Counts, at every level, the nodes that were computed and are still needed."""
    s = kept
    first, end = s.node_start[genome], s.node_start[genome + 1]
    ends = s.level_end[s.level_start[genome] : s.level_start[genome + 1]]
    level = np.searchsorted(ends, np.arange(end - first), side="right")
    most = 0
    for now in range(len(ends)):
        needed = {k for k in range(end - first) if level[k] == now}
        for reader in range(end - first):
            links = s.source[s.edge_start[first + reader] : s.edge_start[first + reader + 1]]
            needed |= {
                k - s.num_inputs
                for k in links.tolist()
                if level[reader] >= now and k >= s.num_inputs and level[k - s.num_inputs] <= now
            }
        outputs = s.output_slot[genome] - s.num_inputs
        needed |= {k for k in outputs.tolist() if level[k] <= now}
        most = max(most, len(needed))
    return most


def test_layers_take_turns_in_two_rows_of_slots_side_by_side() -> None:
    layers = 6
    genes = [(6 + 6 * d + i) for d in range(layers) for i in range(6)]
    links = [(-1 - i, 6 + j, 0.5) for i in range(6) for j in range(6)]
    links += [
        (6 + 6 * (d - 1) + i, 6 + 6 * d + j, 0.5)
        for d in range(1, layers)
        for i in range(6)
        for j in range(6)
    ]
    links += [(6 + 6 * (layers - 1) + i, i, 1.0) for i in range(6)]
    s = build_schedule(Population.from_genes(6, 6, [([*range(6), *genes], links)]))
    rows = s.slot.reshape(layers + 1, 6)
    for d, row in enumerate(rows.tolist()):
        assert row == list(range(6, 12) if d % 2 == 0 else range(12, 18))
    assert s.num_slots.tolist() == [18]


@pytest.mark.parametrize("num_genomes", [0, 3])
def test_populations_without_genomes_or_nodes_have_slots_too(num_genomes: int) -> None:
    s = build_schedule(Population.from_genes(2, 0, [([], [])] * num_genomes))
    assert s.num_slots.tolist() == [2] * num_genomes
    assert trace_slots(s).source.shape == (0,)
    assert trace_slots(s).output.shape == (num_genomes, 0)
