"""The readable engine and the compiled one evolve equal bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from evonet import Population
from evonet.backends.genetics import NativeEngine, make_engine
from evonet.backends.reference.genes import Genes, normal
from evonet.backends.reference.genetics import ReferenceEngine, distance
from evonet.config.genome import ConnectionKind
from evonet.evolution import NEAT
from evonet.genes.first_generation import plan_first_generation
from evonet.genes.mating import MatingShares
from evonet.genes.rules import distance_rules, genome_rules
from evonet.installation import require_native
from evonet.numerics.philox import Purpose, choose, philox, uniform
from tests.support import strategies
from tests.support.evolution_cases import (
    QUIET,
    WILD,
    assert_same_genes,
    distances,
    make_config,
    one_genome,
)

Changes = Mapping[str, object]
FLOATS = (np.float32, np.float64)
SIZES: Changes = {"genome.num_inputs": 3, "genome.num_outputs": 2}

SCENARIOS: dict[str, Changes] = {
    "all rates high": {},
    "one structural mutation at a time": {"genome.single_structural_mutation": True},
    "surer": {
        "genome.structural_mutation_surer": "true",
        "genome.initial_connection": "unconnected",
    },
    "recurrent": {"genome.feed_forward": False},
    "uniform": {"genome.weight_init_type": "uniform", "genome.bias_init_type": "uniform"},
    "narrow ranges": {"genome.weight_max_value": 0.5, "genome.weight_min_value": -0.25},
    "parents of other species": {"reproduction.interspecies_crossover_prob": 0.5},
    "flags with a bias": {
        "genome.enabled_rate_to_true_add": 0.4,
        "genome.enabled_rate_to_false_add": -0.2,
    },
    "distance of 2.1": {
        "genome.compatibility_excess_coefficient": 0.3,
        "genome.compatibility_enable_penalty": 0.7,
        "genome.compatibility_include_node_genes": False,
        "speciation.target_num_species": 4,
        "speciation.threshold": 0.8,
    },
}


def evolve_both(changes: Changes, generations: int, dtype: npt.DTypeLike, seed: int) -> NEAT:
    """Tells both engines the same fitness and wants the same generations."""
    config = make_config(SIZES, {"neat.pop_size": 10}, changes)
    native = NEAT(config, seed, dtype=dtype, backend="cpu", threads=2)
    readable = NEAT(config, seed, dtype=dtype, backend="reference")
    rng = np.random.default_rng(seed)
    for _ in range(generations):
        assert_same_genes(native.ask(), readable.ask())
        a, b = native.state, readable.state
        assert a.ids.tolist() == b.ids.tolist()
        assert (a.next_node_key, a.next_innovation) == (b.next_node_key, b.next_innovation)
        assert [(s.key, s.representative, s.members.tolist()) for s in a.species] == [
            (s.key, s.representative, s.members.tolist()) for s in b.species
        ]
        fitness = rng.normal(size=len(a.ids))
        native.tell(fitness)
        readable.tell(fitness)
    return native


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("feed_forward", [True, False])
@pytest.mark.parametrize("kind", get_args(ConnectionKind))
@pytest.mark.parametrize("num_hidden", [0, 2])
def test_first_generations_are_equal(
    kind: str, num_hidden: int, feed_forward: bool, dtype: npt.DTypeLike
) -> None:
    scheme = f"{kind} 0.4" if kind.startswith("partial") else kind
    changes = {
        "genome.initial_connection": scheme,
        "genome.num_hidden": num_hidden,
        "genome.feed_forward": feed_forward,
    }
    config = make_config(SIZES, WILD, changes)
    plan = plan_first_generation(config, 3, 2)
    made = [
        engine.first_generation(6, 2, plan, genome_rules(config), 7, 5, np.dtype(dtype))
        for engine in (NativeEngine(2), ReferenceEngine())
    ]
    assert_same_genes(*made)
    assert len(made[0]) == 6


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_generations_are_equal(name: str, dtype: npt.DTypeLike) -> None:
    evolve_both({**WILD, **SCENARIOS[name]}, 7, dtype, seed=11)


@pytest.mark.parametrize(("size", "generations"), [(1, 12), (2, 8), (3, 8), (50, 4)])
def test_generations_of_any_size_are_equal(size: int, generations: int) -> None:
    changes = {"neat.pop_size": size, "reproduction.elitism": 1, "reproduction.min_species_size": 1}
    neat = evolve_both({**WILD, **changes}, generations, np.float32, seed=2**63 + size)
    assert len(neat.ask()) == size


@pytest.mark.parametrize("rates", [{}, WILD], ids=["default", "wild"])
@pytest.mark.parametrize("level", require_native().simd_levels())
def test_children_of_any_size_are_equal(
    level: str, rates: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random numbers of small children are made together, those of larger ones in blocks."""
    parents = Population.concatenate(
        [
            Population.random(1, 3, 2, num_nodes=nodes, num_connections=links, seed=nodes + links)
            for nodes in (2, 3, 7, 8, 9, 17, 25)
            for links in (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 25)
            if links <= 3 * (nodes - 1)
        ]
    )
    fitter, other = np.random.default_rng(3).integers(0, len(parents), (2, 400))
    other[:100] = fitter[:100]  # nothing to inherit from anybody else
    rules = genome_rules(make_config(SIZES, rates))
    monkeypatch.setenv("EVONET_SIMD", level)
    bred = [
        engine.breed(parents, fitter, other, rules, 5, 9, 1000, 1000)
        for engine in (NativeEngine(2), ReferenceEngine())
    ]
    assert_same_genes(bred[0][0], bred[1][0])
    assert bred[0][1:] == bred[1][1:]


def test_a_long_run_with_the_default_config_is_equal() -> None:
    neat = evolve_both({}, 25, np.float32, seed=3)
    assert neat.generation == 24


@pytest.mark.parametrize("surer", ["true", "false"])
@pytest.mark.parametrize("links", [[], [(-1, 1, 1.0)], [(-1, 0, 1.0), (-1, 2, 1.0), (2, 0, 1.0)]])
def test_mutations_that_undo_each_other_are_equal(links: list[Any], surer: str) -> None:
    """Every child adds and deletes a node and adds a connection; half delete one."""
    names = ("conn_add", "node_add", "node_delete")
    always: dict[str, object] = {f"genome.{name}_prob": 1.0 for name in names}
    always |= {"genome.conn_delete_prob": 0.5, "genome.structural_mutation_surer": surer}
    parent, nobody = one_genome([0, 1, 2], links, num_inputs=1), np.zeros(60, np.int64)
    rules = genome_rules(make_config(QUIET, always))
    bred = [
        engine.breed(parent, nobody, nobody, rules, 1, 1, 3, 3)
        for engine in (NativeEngine(2), ReferenceEngine())
    ]
    assert_same_genes(bred[0][0], bred[1][0])
    assert bred[0][1:] == bred[1][1:]


@pytest.mark.parametrize("dtype", FLOATS)
def test_distances_of_large_genomes_are_equal(dtype: npt.DTypeLike) -> None:
    """Enough terms for NumPy's own sum to add in another order."""
    sizes: dict[str, Any] = {"num_nodes": 20, "num_connections": 150, "feed_forward": False}
    population = Population.random(12, 5, 3, **sizes, dtype=dtype, enabled=0.6)
    rules = distance_rules(make_config({"genome.compatibility_enable_penalty": 0.3}))
    genomes = [Genes.of(population, g) for g in range(12)]
    readable = np.array([[distance(a, b, rules) for b in genomes] for a in genomes])
    found = distances(population, rules)
    assert found.dtype == readable.dtype
    assert found.tolist() == readable.tolist()


RATE = st.sampled_from([0.0, 0.1, 0.5, 1.0])
PLAIN = st.sampled_from([0.0, 1.0, -0.5, 2.5, 1e-3])


@st.composite
def float_genes(draw: st.DrawFn, name: str) -> dict[str, object]:
    least, most = sorted([draw(PLAIN), draw(PLAIN)])
    return {
        f"genome.{name}_init_mean": draw(PLAIN),
        f"genome.{name}_init_stdev": abs(draw(PLAIN)),
        f"genome.{name}_init_type": draw(st.sampled_from(["gaussian", "uniform"])),
        f"genome.{name}_mutate_rate": draw(RATE),
        f"genome.{name}_replace_rate": draw(RATE),
        f"genome.{name}_mutate_power": abs(draw(PLAIN)),
        f"genome.{name}_min_value": least,
        f"genome.{name}_max_value": most,
    }


@st.composite
def mutation_rules(draw: st.DrawFn) -> dict[str, object]:
    """Draws what a config may say about mutation."""
    changes: dict[str, object] = {}
    for name in ("bias", "response", "weight"):
        changes |= draw(float_genes(name))
    for name in ("conn_add", "conn_delete", "node_add", "node_delete"):
        changes[f"genome.{name}_prob"] = draw(RATE)
    for name in ("activation_mutate_rate", "aggregation_mutate_rate", "enabled_mutate_rate"):
        changes[f"genome.{name}"] = draw(RATE)
    more = draw(st.sampled_from([[], ["sin"], ["sin", "inv"]]))
    changes["genome.activation_options"] = ["sigmoid", *more]
    changes["genome.enabled_default"] = draw(st.sampled_from([True, False, "random"]))
    changes["genome.single_structural_mutation"] = draw(st.booleans())
    changes["genome.structural_mutation_surer"] = draw(
        st.sampled_from(["true", "false", "default"])
    )
    changes["genome.feed_forward"] = draw(st.booleans())
    return changes


@settings(max_examples=30)
@given(
    changes=mutation_rules(),
    shape=st.tuples(st.integers(0, 3), st.integers(1, 2), st.integers(0, 2)),
    scheme=st.sampled_from(["unconnected", "full_direct", "partial_direct 0.5", "fs_neat_hidden"]),
    dtype=st.sampled_from(FLOATS),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_config_breeds_equal_children(
    changes: Changes, shape: tuple[int, int, int], scheme: str, dtype: npt.DTypeLike, seed: int
) -> None:
    num_inputs, num_outputs, num_hidden = shape
    sizes = {
        "genome.num_inputs": num_inputs,
        "genome.num_outputs": num_outputs,
        "genome.num_hidden": num_hidden,
        "genome.initial_connection": scheme,
        "neat.pop_size": 4,
    }
    evolve_both({**sizes, **changes}, 4, dtype, seed)


@settings(max_examples=60)
@given(
    parents=strategies.populations(min_genomes=1),
    changes=mutation_rules(),
    seed=st.integers(0, 2**64 - 1),
    data=st.data(),
)
def test_any_genomes_have_equal_children(
    parents: Population, changes: Changes, seed: int, data: st.DataObject
) -> None:
    node_key = int(parents.node_key.max(initial=parents.num_outputs - 1)) + 1
    innovation = int(parents.innovation.max(initial=-1)) + 1
    assume(max(node_key, innovation) < 2**62)
    anyone = st.integers(0, len(parents) - 1)
    pairs = data.draw(st.lists(st.tuples(anyone, st.just(-1) | anyone), min_size=1, max_size=5))
    fitter, other = np.array(pairs, np.int64).T.copy()
    rules = genome_rules(make_config(changes))
    bred = [
        engine.breed(parents, fitter, other, rules, seed, 2**32 - 1, node_key, innovation)
        for engine in (NativeEngine(1), ReferenceEngine())
    ]
    assert_same_genes(bred[0][0], bred[1][0])
    assert bred[0][1:] == bred[1][1:]


@settings(max_examples=60)
@given(
    everyone=strategies.populations(max_genomes=7),
    num_old=st.integers(0, 4),
    threshold=st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e40]),
    include_nodes=st.booleans(),
    excess=st.sampled_from(["auto", 0.0, 2.0]),
    weight=st.sampled_from([0.0, 0.5]),
)
@example(Population.empty(2, 1), 0, 3.0, True, "auto", 0.5)
def test_any_genomes_are_divided_equally(
    everyone: Population,
    num_old: int,
    threshold: float,
    include_nodes: bool,
    excess: float | str,
    weight: float,
) -> None:
    changes = {
        "genome.compatibility_include_node_genes": include_nodes,
        "genome.compatibility_excess_coefficient": excess,
        "genome.compatibility_weight_coefficient": weight,
    }
    rules = distance_rules(make_config(changes))
    old, new = np.arange(min(num_old, len(everyone))), everyone[num_old:]
    found = [
        engine.speciate(new, everyone, old, threshold, rules)
        for engine in (NativeEngine(2), ReferenceEngine())
    ]
    for one, another in zip(*found, strict=True):
        assert one.dtype == another.dtype
        assert one.tolist() == another.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_species_that_takes_no_genome_leaves_it_to_the_next(dtype: npt.DTypeLike) -> None:
    far = float(np.finfo(dtype).max)
    weights = (-far, far, -far, -far, -far)
    everyone = Population.from_genes(1, 1, [([0], [(-1, 0, w)]) for w in weights], dtype)
    rules = distance_rules(make_config({"genome.compatibility_weight_coefficient": 0.0}))
    for engine in (NativeEngine(2), ReferenceEngine()):
        found = engine.speciate(everyone[3:], everyone, np.arange(3), 3.0, rules)
        assert found.representatives.tolist() == [0, -1, 1]  # infinity times 0 is no distance
        assert found.members.tolist() == [0, 1]


@pytest.mark.parametrize("num_old", [0, 2])
def test_many_founders_are_found_in_order(num_old: int) -> None:
    """More than are measured at once; later genomes may prefer later founders."""
    everyone = Population.random(48, 2, 1, num_nodes=3, num_connections=5, seed=4)
    rules, old = distance_rules(make_config()), np.arange(num_old)
    founders, *others = (
        engine.speciate(everyone, everyone, old, 1.1, rules)
        for engine in (ReferenceEngine(), NativeEngine(1), NativeEngine(2))
    )
    assert 18 < len(founders.representatives) < 40
    for found in others:
        assert all(map(np.array_equal, found, founders))


@pytest.mark.parametrize("simd", require_native().simd_levels())
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_instruction_sets_do_not_matter(
    simd: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(SIZES, WILD, {"neat.pop_size": 300})
    rules, plan = genome_rules(config), plan_first_generation(config, 3, 2)
    fitter, other = np.random.default_rng(5).integers(0, 300, (2, 700))

    def bred() -> Population:
        engine = NativeEngine(threads)
        first = engine.first_generation(300, 2, plan, rules, 1, 0, np.dtype(np.float32))
        return engine.breed(first, fitter, other, rules, 1, 1, plan.num_nodes, len(plan.source))[0]

    expected = bred()
    monkeypatch.setenv("EVONET_SIMD", simd)
    assert_same_genes(bred(), expected)


def test_the_reference_backend_breeds_readably() -> None:
    assert isinstance(make_engine("reference", 0), ReferenceEngine)
    assert isinstance(make_engine("cpu", 0), NativeEngine)


def test_where_nothing_was_compiled_evolution_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(SIZES, WILD, {"neat.pop_size": 8})

    def evolve() -> Population:
        evolution = NEAT(config, seed=6)
        for _ in range(3):
            evolution.ask()
            evolution.tell(np.arange(8))
        return evolution.ask()

    expected = evolve()
    for module in ("backends.genetics", "numerics.exact_sum"):
        monkeypatch.setattr(f"evonet.{module}.load_native", lambda: None)
    assert isinstance(make_engine("auto", 0), ReferenceEngine)
    assert_same_genes(evolve(), expected)


# Known answers of Random123, the reference implementation: counter, key, result.
KNOWN = """
00000000 00000000 00000000 00000000  00000000 00000000  6627e8d5 e169c58d bc57ac4c 9b00dbd8
ffffffff ffffffff ffffffff ffffffff  ffffffff ffffffff  408f276d 41c83b0e a20bc7c6 6d5451fd
243f6a88 85a308d3 13198a2e 03707344  a4093822 299f31d0  d16cfe09 94fdcceb 5001e420 24126ea1
"""


@pytest.mark.parametrize("line", KNOWN.strip().splitlines())
def test_philox_gives_the_known_answers(line: str) -> None:
    draw, purpose, child, generation, low, high, *words = (int(word, 16) for word in line.split())
    found = philox(low | high << 32, generation, child, cast(Any, purpose), draw)
    assert found.tolist() == words


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    interspecies=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**64 - 1),
    generation=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_both_engines_pick_the_same_parents(
    sizes: list[int], interspecies: float, seed: int, generation: int, data: st.DataObject
) -> None:
    num_genomes = sum(sizes)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scores = rng.integers(-3, 3, num_genomes).astype(np.float64)  # with many ties
    pieces = np.split(rng.permutation(num_genomes), np.cumsum(sizes)[:-1])
    shares = MatingShares(
        np.concatenate([np.sort(piece) for piece in pieces]),
        np.cumsum([0, *sizes]),
        np.array([data.draw(st.integers(0, size)) for size in sizes]),
        np.array([data.draw(st.integers(1, size)) for size in sizes]),
        np.array([data.draw(st.integers(0, 30)) for _ in sizes]),
        interspecies,
    )
    theirs = ReferenceEngine().mate(scores, shares, seed, generation)
    for threads in (1, 3):
        ours = NativeEngine(threads).mate(scores, shares, seed, generation)
        for one, another in zip(ours, theirs, strict=True):
            assert one.dtype == another.dtype
            assert one.tolist() == another.tolist()


@pytest.mark.parametrize("kind", ["normal", "few values", "equal", "ascending"])
def test_large_species_are_ranked_as_small_ones_are(kind: str) -> None:
    rng = np.random.default_rng(7)
    sizes = np.array([40_000, 3, 33_000, 1])  # the large ones are ranked by several threads
    total = int(sizes.sum())
    scores = {
        "normal": rng.normal(size=total),
        "few values": rng.integers(0, 3, total).astype(np.float64),
        "equal": np.zeros(total),
        # The sample is taken evenly; the best lie where it looks least.
        "ascending": np.where(np.arange(total) % 17 == 5, np.arange(total), -1.0),
    }[kind]
    order = np.split(rng.permutation(total), np.cumsum(sizes)[:-1])
    shares = MatingShares(
        np.concatenate([np.sort(members) for members in order]),
        np.cumsum([0, *sizes]),
        np.array([2, 3, 33_000, 0]),
        np.array([8_000, 1, 20, 1]),
        np.array([500, 5, 700, 9]),
        0.1,
    )
    theirs = ReferenceEngine().mate(scores, shares, 3, 4)
    for threads in (1, 2):
        ours = NativeEngine(threads).mate(scores, shares, 3, 4)
        assert all(map(np.array_equal, ours, theirs))


def test_draws_are_uniform_and_normal() -> None:
    words = philox(9, 0, 0, Purpose.PARENTS, np.arange(40_000))
    flat, bell = uniform(words[0]), normal(words[1], words[2])
    assert flat.min() >= 0
    assert flat.max() < 1
    assert abs(flat.mean() - 0.5) < 0.01
    assert abs(bell.mean()) < 0.03
    assert abs(bell.std() - 1) < 0.03
    assert abs((bell < -1).mean() - 0.1587) < 0.01
    assert np.abs(bell).max() <= 5.8
    counts = np.bincount(choose(words[3], 7), minlength=7)
    assert np.abs(counts / 40_000 - 1 / 7).max() < 0.01
