"""Children keep the laws of inheritance and mutation, on the compiled engine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import neat
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings

from evonet import Population
from evonet.backends.genetics import NativeEngine
from evonet.evolution import NEAT
from evonet.genes.genome import Connection, Genome, Node
from evonet.genes.rules import distance_rules, genome_rules
from tests.support import strategies
from tests.support.evolution_cases import (
    WILD,
    about,
    assert_same_genes,
    breed,
    distances,
    ends_of,
    is_acyclic,
    make_config,
    one_genome,
    validate,
)

FLOATS = (np.float32, np.float64)
NODES = [
    Node(0, 0.5),
    Node(1, -1.5, 2.0, "tanh", "max", 3.0),
    Node(2, 2.5, 0.5, "relu", "sum", 0.25),
]
LINKS = [
    Connection(-1, 0, 0.25, True, 0),
    Connection(-2, 0, -4.0, False, 1),
    Connection(-1, 1, 8.0, True, 2),
    Connection(1, 0, -0.5, True, 3),
    Connection(1, 2, 1.5, True, 4),
    Connection(2, 0, 0.75, False, 5),
]
MANY = 400


@pytest.fixture(params=FLOATS, ids=["float32", "float64"])
def parent(request: pytest.FixtureRequest) -> Population:
    """Two inputs, one output, two hidden nodes in a row, six connections."""
    return one_genome(NODES, LINKS, dtype=request.param)


def mutants(parent: Population, changes: Mapping[str, object], count: int = MANY) -> Population:
    """Children with one parent only, so that nothing but mutation changes them."""
    return breed(parent, [0] * count, [0] * count, changes)


def crossed(a: Population, b: Population, count: int = 2000) -> Population:
    """Children of a fitter parent a with b, without mutation."""
    return breed(a + b, [0] * count, [1] * count)


def big_parent(dtype: npt.DTypeLike = np.float32) -> Population:
    """A genome with enough genes for statistics."""
    return Population.random(1, 4, 2, num_nodes=10, num_connections=30, dtype=dtype, enabled=0.5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_children_do_not_depend_on_how_many_genomes_surround_their_parents(
    dtype: npt.DTypeLike,
) -> None:
    """Of many small genomes, those with children are packed first."""
    few = Population.random(60, 3, 2, num_nodes=4, num_connections=5, dtype=dtype, enabled=0.6)
    others = Population.random(500, 3, 2, num_nodes=2, num_connections=4, dtype=dtype)
    crowd = Population.concatenate([others] * 50 + [few] + [others] * 50)
    assert crowd.num_nodes + crowd.num_connections > 1 << 18
    rng = np.random.default_rng(2)
    fitter, other = rng.integers(0, 60, (2, 3000))
    other[:40] = -1
    first = 50 * 500
    among = np.where(other < 0, -1, other + first)
    assert_same_genes(
        breed(crowd, (fitter + first).tolist(), among.tolist(), WILD),
        breed(few, fitter.tolist(), other.tolist(), WILD),
    )


# ---- what does not change ---------------------------------------------------------------------


def test_zero_rates_change_nothing(parent: Population) -> None:
    assert_same_genes(mutants(parent, {}, 100), parent[[0] * 100])


def test_copies_are_unchanged_whatever_the_rates() -> None:
    parents = Population.random(9, 3, 2, num_nodes=6, num_connections=15, enabled=0.5)
    wanted = [3, 3, 8, 0]
    assert_same_genes(breed(parents, wanted, [-1] * 4, WILD), parents[wanted])


def test_copies_keep_the_order_in_which_links_are_listed(parent: Population) -> None:
    shuffled = one_genome(NODES, [LINKS[i] for i in (4, 0, 5, 3, 1, 2)], dtype=parent.dtype)
    copy = breed(shuffled + shuffled, [1, 0], [-1, 0], {"genome.conn_add_prob": 1.0})
    assert_same_genes(copy[:1], shuffled)


def test_there_are_exactly_as_many_children_as_asked_for(parent: Population) -> None:
    for count in (0, 1, 63, 64, 65, 1000):
        assert len(mutants(parent, WILD, count)) == count


# ---- crossover --------------------------------------------------------------------------------


def test_only_the_fitter_parent_gives_structure(parent: Population) -> None:
    other = one_genome(
        [Node(0, 9.0), Node(2, 9.0), Node(7, 9.0)],
        [
            Connection(-1, 0, 90.0, True, 0),
            Connection(2, 0, 95.0, True, 5),
            Connection(-2, 7, 9.0, True, 6),
        ],
        dtype=parent.dtype,
    )
    children = crossed(parent, other, 200)
    for child in children:
        assert ends_of(child) == ends_of(parent[0])
        assert [n.key for n in child.nodes] == [0, 1, 2]
        assert child.nodes[1] == NODES[1]
        assert child.connections[1:5] == LINKS[1:5]
        assert child.connections[0].weight in (0.25, 90.0)
        assert child.connections[5].weight in (0.75, 95.0)
        assert child.nodes[0].bias in (0.5, 9.0)
        assert child.nodes[2].bias in (2.5, 9.0)
    validate(children)


def test_each_attribute_comes_from_either_parent_independently(parent: Population) -> None:
    other = one_genome(
        [Node(n.key, -n.bias, 7.0, "abs", "product", 5.0) for n in NODES],
        [c._replace(weight=-c.weight, enabled=True) for c in LINKS],
        dtype=parent.dtype,
    )
    children = crossed(parent, other)
    second = children.node_key == 1
    names = ("bias", "response", "activation", "aggregation", "time_constant")
    mine = np.array([getattr(children, n)[second] == getattr(parent, n)[1] for n in names])
    for a in range(len(names)):
        assert about(int(mine[a].sum()), 2000, 0.5)
        for b in range(a):
            assert about(int((mine[a] & mine[b]).sum()), 2000, 0.25)
    weight = children.weight.reshape(-1, 6) == parent.weight
    for i in range(6):
        assert about(int(weight[:, i].sum()), 2000, 0.5)


def test_a_link_that_one_parent_disabled_is_disabled_as_often_as_in_neat_python() -> None:
    """That is 7 times in 8: a coin picks the flag, then 3 times in 4 it is off anyway."""
    on = one_genome([0], [Connection(-1, 0, 1.0, True, 0)])
    off = one_genome([0], [Connection(-1, 0, 1.0, False, 0)])
    ours = [int((~crossed(a, b).enabled).sum()) for a, b in ((on, off), (off, on))]

    genes = [neat.genes.DefaultConnectionGene((-1, 0), innovation=0) for _ in range(2)]
    for gene, enabled in zip(genes, (True, False), strict=True):
        gene.weight, gene.enabled = 1.0, enabled
    state = random.getstate()
    random.seed(1)
    theirs = [sum(not genes[0].crossover(genes[1]).enabled for _ in range(2000))]
    random.setstate(state)

    assert all(about(count, 2000, 7 / 8) for count in ours + theirs)
    assert not crossed(off, off).enabled.any()
    assert crossed(on, on).enabled.all()


def test_links_with_one_number_but_other_ends_do_not_mix() -> None:
    a = one_genome([0], [Connection(-1, 0, 1.0, True, 3)])
    b = one_genome([0], [Connection(-2, 0, 2.0, False, 3)])
    assert_same_genes(crossed(a, b, 50), a[[0] * 50])


# ---- structural mutation ----------------------------------------------------------------------


def new_links(child: Genome, next_innovation: int = 6) -> list[Connection]:
    return [c for c in child.connections if (c.innovation or 0) >= next_innovation]


def test_add_node_splits_a_connection(parent: Population) -> None:
    changes = {"genome.node_add_prob": 1.0, "genome.bias_init_mean": 3.0}
    splits: dict[int, set[tuple[int, int, int]]] = {}
    for child in mutants(parent, changes):
        *old, new = child.nodes
        assert old == NODES
        assert (new.key >= 3, new.bias, new.response) == (True, 0.0, 1.0)
        before, behind = new_links(child)
        assert (before.target, before.weight, before.enabled) == (new.key, 1.0, True)
        assert (behind.source, behind.enabled) == (new.key, True)
        (split,) = (c for c in LINKS if (c.source, c.target) == (before.source, behind.target))
        assert behind.weight == split.weight
        assert [*child.connections[:6]] == [
            c._replace(enabled=False) if c is split else c for c in LINKS
        ]
        assert split.innovation is not None
        assert before.innovation is not None
        assert behind.innovation is not None
        numbers = (new.key, before.innovation, behind.innovation)
        splits.setdefault(split.innovation, set()).add(numbers)
    # Equal splits share their numbers, others never do, and none is left out.
    assert all(len(numbers) == 1 for numbers in splits.values())
    given = [numbers for (numbers,) in splits.values()]
    assert sorted(key for key, _, _ in given) == [3, 4, 5, 6, 7, 8]
    assert sorted(i for _, *both in given for i in both) == [*range(6, 18)]
    assert set(splits) == {0, 1, 2, 3, 4, 5}


def test_add_connection_adds_what_was_missing(parent: Population) -> None:
    changes = {
        "genome.conn_add_prob": 1.0,
        "genome.weight_init_mean": 6.0,
        "genome.weight_init_stdev": 0.0,
        "genome.enabled_default": False,
    }
    found: dict[tuple[int, int], set[int | None]] = {}
    for child in mutants(parent, changes):
        assert child.nodes == NODES
        assert child.connections[:6] == LINKS
        assert is_acyclic(child)
        for c in new_links(child):
            assert (c.weight, c.enabled) == (6.0, False)
            found.setdefault((c.source, c.target), set()).add(c.innovation)
        assert len(child.connections) <= 7
    # All others exist, begin at the output, or close a cycle.
    assert set(found) == {(-2, 1), (-1, 2), (-2, 2)}
    numbers = [i for numbers in found.values() for i in numbers]
    assert sorted(i for i in numbers if i is not None) == [6, 7, 8]


def test_disabled_links_count_when_cycles_are_avoided() -> None:
    """They may be enabled later."""
    chain = one_genome([0, 1, 2], [(-1, 1, 1.0), (1, 2, 1.0, False), (2, 0, 1.0)], num_inputs=1)
    children = mutants(chain, {"genome.conn_add_prob": 1.0})
    found = {(c.source, c.target) for child in children for c in new_links(child, 3)}
    assert found == {(-1, 0), (-1, 2), (1, 0)}


def test_recurrent_genomes_get_self_loops_and_cycles(parent: Population) -> None:
    changes = {"genome.conn_add_prob": 1.0, "genome.feed_forward": False}
    found = {(c.source, c.target) for g in mutants(parent, changes) for c in new_links(g)}
    assert found == {(-2, 1), (-1, 2), (-2, 2), (1, 1), (2, 2), (2, 1)}


def test_delete_node_removes_its_links(parent: Population) -> None:
    gone: Counter[int] = Counter()
    for child in mutants(parent, {"genome.node_delete_prob": 1.0}):
        (key,) = {1, 2} - {n.key for n in child.nodes}
        gone[key] += 1
        assert child.nodes == [n for n in NODES if n.key != key]
        assert child.connections == [c for c in LINKS if key not in (c.source, c.target)]
    assert about(gone[1], MANY, 0.5)


def test_delete_connection_removes_any_one(parent: Population) -> None:
    gone: Counter[int | None] = Counter()
    for child in mutants(parent, {"genome.conn_delete_prob": 1.0}):
        (link,) = (c for c in LINKS if c not in child.connections)
        assert len(child.connections) == 5
        assert child.nodes == NODES
        gone[link.innovation] += 1
    assert all(about(gone[i], MANY, 1 / 6) for i in range(6))


@pytest.mark.parametrize("name", ["node_add", "node_delete", "conn_delete"])
def test_structural_mutations_happen_as_often_as_the_config_says(
    parent: Population, name: str
) -> None:
    children = mutants(parent, {f"genome.{name}_prob": 0.3}, 2000)
    changed = (children.sizes != parent.sizes).any(axis=1)
    assert about(int(changed.sum()), 2000, 0.3)


def test_a_single_structural_mutation_is_one_of_four() -> None:
    # Deleting node 1 takes its two links along; nothing else removes more than one.
    parent = one_genome([0, 1], [(-1, 1, 1.0), (1, 0, 1.0)])
    rates = {"conn_add": 1.0, "conn_delete": 0.5, "node_add": 0.25, "node_delete": 0.75}
    changes: dict[str, object] = {f"genome.{name}_prob": rate for name, rate in rates.items()}
    changes["genome.single_structural_mutation"] = True
    sizes = Counter(map(tuple, mutants(parent, changes, 4000).sizes.tolist()))
    assert about(sizes[3, 4], 4000, 0.25 / 2.5)
    assert about(sizes[1, 0], 4000, 0.75 / 2.5)
    assert about(sizes[2, 1], 4000, 0.5 / 2.5)
    # Of the six candidates two exist and one, (1, 1), is a cycle; those leave all as it was.
    assert about(sizes[2, 3], 4000, 1.0 / 2.5 / 2)
    assert about(sizes[2, 2], 4000, 1.0 / 2.5 / 2)


def test_rates_that_sum_to_less_than_one_leave_some_children_alone(parent: Population) -> None:
    changes = {
        "genome.single_structural_mutation": True,
        "genome.node_add_prob": 0.125,
        "genome.conn_delete_prob": 0.25,
    }
    children = mutants(parent, changes, 2000)
    same = (children.sizes == parent.sizes).all(axis=1)
    assert about(int(same.sum()), 2000, 1 - 0.375)


def test_surer_mutation_enables_a_connection_that_exists() -> None:
    off = one_genome([0], [(-1, 0, 1.0, False), (-2, 0, 1.0, False)])
    sure = {"genome.conn_add_prob": 1.0, "genome.structural_mutation_surer": "true"}
    children = mutants(off, sure)
    assert (children.enabled.reshape(-1, 2).sum(axis=1) == 1).all()
    assert not mutants(off, {"genome.conn_add_prob": 1.0}).enabled.any()


def test_surer_mutation_connects_where_there_is_nothing_to_split() -> None:
    bare = one_genome([0], [])
    sure = {"genome.node_add_prob": 1.0, "genome.structural_mutation_surer": "true"}
    children = mutants(bare, sure)
    assert (children.sizes == [1, 1]).all()
    assert set(children.source.tolist()) == {-1, -2}
    assert_same_genes(mutants(bare, {"genome.node_add_prob": 1.0}), bare[[0] * MANY])


def test_a_connection_that_goes_with_its_node_takes_no_number() -> None:
    """A surer mutation connects the hidden node; then the node is deleted."""
    bare = one_genome([0, 1], [], num_inputs=1)
    config = make_config(
        {
            "genome.node_add_prob": 1.0,
            "genome.node_delete_prob": 1.0,
            "genome.conn_add_prob": 0.0,
            "genome.conn_delete_prob": 0.0,
            "genome.structural_mutation_surer": "true",
        }
    )
    children, node_key, innovation = NativeEngine().breed(
        bare, np.zeros(50, np.int64), np.zeros(50, np.int64), genome_rules(config), 1, 1, 2, 0
    )
    assert set(zip(children.source.tolist(), children.target.tolist(), strict=True)) == {(-1, 0)}
    assert (node_key, innovation) == (2, 1)


def test_genomes_without_inputs_or_hidden_nodes_stay_unconnected() -> None:
    bare = one_genome([0], [], num_inputs=0)
    names = ("conn_add", "conn_delete", "node_add", "node_delete")
    always: dict[str, object] = {f"genome.{name}_prob": 1.0 for name in names}
    always["genome.structural_mutation_surer"] = "true"
    assert_same_genes(mutants(bare, always, 50), bare[[0] * 50])


def test_genomes_of_2000_connections_breed() -> None:
    parents = Population.random(4, 30, 5, num_nodes=160, num_connections=2000, enabled=0.7)
    fitter, other = np.arange(40) % 4, np.arange(40) // 4 % 4
    children = breed(parents, fitter, other, WILD)
    assert (np.abs(children.sizes[:, 0] - 160) <= 1).all()
    assert children.sizes[:, 1].max() > 2000
    assert all(map(is_acyclic, children))


# ---- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_weights_move_and_are_replaced_as_often_as_the_config_says(dtype: npt.DTypeLike) -> None:
    parent = big_parent(dtype)
    changes = {
        "genome.weight_mutate_rate": 0.3,
        "genome.weight_mutate_power": 0.125,
        "genome.weight_replace_rate": 0.2,
        "genome.weight_init_mean": 100.0,
        "genome.weight_init_stdev": 0.0,
        "genome.weight_max_value": 200.0,
    }
    children = mutants(parent, changes)
    old = np.tile(parent.weight, MANY)
    replaced = children.weight == 100.0
    moved = (children.weight != old) & ~replaced
    assert about(int(replaced.sum()), len(old), 0.2)
    assert about(int(moved.sum()), len(old), 0.3)
    steps = (children.weight - old)[moved]
    assert abs(float(steps.std()) - 0.125) < 0.01
    assert abs(float(steps.mean())) < 0.01
    assert children.bias.tolist() == np.tile(parent.bias, MANY).tolist()


@pytest.mark.parametrize("name", ["bias", "response", "time_constant"])
def test_node_values_mutate_each_on_their_own(name: str) -> None:
    parent = big_parent()
    changes = {f"genome.{name}_mutate_rate": 0.5, f"genome.{name}_mutate_power": 0.1}
    children = mutants(parent, changes)
    for other in ("bias", "response", "time_constant"):
        changed = getattr(children, other) != np.tile(getattr(parent, other), MANY)
        assert about(int(changed.sum()), len(changed), 0.5 if other == name else 0.0)


@pytest.mark.parametrize("init_type", ["gaussian", "uniform"])
def test_values_stay_in_their_range(init_type: str) -> None:
    changes = {
        "genome.weight_mutate_rate": 0.5,
        "genome.weight_mutate_power": 10.0,
        "genome.weight_replace_rate": 0.5,
        "genome.weight_init_stdev": 5.0,
        "genome.weight_init_type": init_type,
        "genome.weight_max_value": 0.75,
        "genome.weight_min_value": -0.25,
    }
    weight = mutants(big_parent(), changes).weight
    assert weight.max() == 0.75
    assert weight.min() == -0.25
    assert np.count_nonzero((weight > -0.25) & (weight < 0.75)) > 100


@pytest.mark.parametrize("mean", [50.0, -50.0])
def test_a_uniform_draw_around_a_mean_outside_the_range_gives_the_limit(mean: float) -> None:
    """neat-python's random.uniform(48, 30) would exceed the largest value."""
    changes = {
        "genome.weight_replace_rate": 1.0,
        "genome.weight_init_mean": mean,
        "genome.weight_init_type": "uniform",
    }
    assert set(mutants(big_parent(), changes).weight.tolist()) == {np.copysign(30.0, mean)}


def test_uniform_values_span_two_deviations() -> None:
    changes = {
        "genome.weight_replace_rate": 1.0,
        "genome.weight_init_mean": 1.0,
        "genome.weight_init_stdev": 0.5,
        "genome.weight_init_type": "uniform",
    }
    weight = mutants(big_parent(), changes).weight
    assert 0.0 <= weight.min() < 0.01
    assert 1.99 < weight.max() <= 2.0
    assert about(int((weight < 0.5).sum()), len(weight), 0.25)


@pytest.mark.parametrize(
    ("to_true_add", "to_false_add"), [(0.0, 0.0), (0.4, 0.2), (-0.3, 0.6), (-1.0, 1.0)]
)
def test_flags_flip_as_often_as_the_config_says(to_true_add: float, to_false_add: float) -> None:
    parent = big_parent()
    changes = {
        "genome.enabled_mutate_rate": 0.3,
        "genome.enabled_rate_to_true_add": to_true_add,
        "genome.enabled_rate_to_false_add": to_false_add,
    }
    children = mutants(parent, changes)
    old = np.tile(parent.enabled, MANY)
    flipped = children.enabled != old
    for value, add in ((False, to_true_add), (True, to_false_add)):
        # Half of the mutations pick the old value.
        rate = min(1.0, max(0.0, 0.3 + add)) / 2
        assert about(int(flipped[old == value].sum()), int((old == value).sum()), rate)


def test_functions_change_as_often_as_the_config_says() -> None:
    parent = big_parent()  # all sigmoid and sum
    changes: dict[str, object] = {
        "genome.activation_mutate_rate": 0.6,
        "genome.activation_options": ["sigmoid", "tanh", "relu"],
        "genome.aggregation_mutate_rate": 0.5,
        "genome.aggregation_options": ["sum", "sum", "sum", "max"],
    }
    children = mutants(parent, changes)
    trials = children.num_nodes
    changed = children.activation != np.tile(parent.activation, MANY)
    joined = children.aggregation != np.tile(parent.aggregation, MANY)
    assert about(int(changed.sum()), trials, 0.6 * 2 / 3)
    assert about(int(joined.sum()), trials, 0.5 / 4)  # a repeated name is picked more often
    assert about(int((changed & joined).sum()), trials, 0.6 * 2 / 3 * 0.5 / 4)


# ---- laws of whole populations ----------------------------------------------------------------


@settings(max_examples=50)
@given(parents=strategies.populations(min_genomes=1))
def test_children_of_any_genomes_are_valid(parents: Population) -> None:
    assume(max(parents.node_key.max(initial=0), parents.innovation.max(initial=0)) < 2**62 - 200)
    count = len(parents)
    breed(parents, np.arange(24) % count, np.arange(24) // count % count, WILD)  # validates


@pytest.mark.parametrize("feed_forward", [True, False])
def test_evolved_genomes_keep_all_laws(feed_forward: bool) -> None:
    changes = {"neat.pop_size": 60, "genome.feed_forward": feed_forward}
    evolution = NEAT(make_config(WILD, changes), seed=4, num_inputs=3, num_outputs=2)
    ends: dict[int | None, tuple[int, int]] = {}
    rng = np.random.default_rng(0)
    cyclic = 0
    for _ in range(15):
        before = (evolution.state.next_node_key, evolution.state.next_innovation)
        population = evolution.ask()
        validate(population)
        assert population.node_key.max() < evolution.state.next_node_key
        assert population.innovation.max() < evolution.state.next_innovation
        assert before <= (evolution.state.next_node_key, evolution.state.next_innovation)
        number_of: dict[tuple[int, int], int | None] = {}
        for genome in population:
            cyclic += not is_acyclic(genome)
            for number, pair in ends_of(genome).items():
                assert ends.setdefault(number, pair) == pair, "a number was given twice"
                if number is not None and number >= before[1]:
                    assert number_of.setdefault(pair, number) == number, "two numbers for one link"
        evolution.tell(rng.normal(size=60))
    assert len(ends) > 200
    assert (cyclic == 0) == feed_forward


# ---- distance ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("disjoint", "weight"), [(1.0, 0.5), (0.3, 1.7), (0.0, 1.0), (1.0, 0.0)])
def test_distance_is_that_of_neat_python(disjoint: float, weight: float) -> None:
    config = strategies.neat_config(
        3, 2, num_hidden=1, activations="sigmoid tanh", aggregations="sum max"
    )
    config.genome_config.compatibility_disjoint_coefficient = disjoint
    config.genome_config.compatibility_weight_coefficient = weight
    genomes = strategies.random_neat_genomes(config, 25, num_mutations=12)
    population = Population.from_neat(genomes, config)
    rules = distance_rules(
        make_config(
            {
                "genome.compatibility_disjoint_coefficient": disjoint,
                "genome.compatibility_weight_coefficient": weight,
            }
        )
    )
    found = distances(population, rules)
    theirs = [[a.distance(b, config.genome_config) for _, b in genomes] for _, a in genomes]
    np.testing.assert_allclose(found, theirs, rtol=1e-12)
    assert (np.diag(found) == 0).all()
    single = distances(population.astype(np.float32), rules)
    np.testing.assert_allclose(single, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_excess_genes_and_flags_have_coefficients_of_their_own(dtype: npt.DTypeLike) -> None:
    a = one_genome(
        [Node(0, 1.0), Node(1)],
        [
            Connection(-1, 0, 1.5, True, 0),
            Connection(-1, 1, 1.0, True, 1),
            Connection(1, 0, 1.0, True, 4),
        ],
        dtype=dtype,
    )
    b = one_genome(
        [Node(0, 1.5, 2.0), Node(5), Node(6)],
        [
            Connection(-1, 0, 1.0, False, 0),
            Connection(-2, 0, 1.0, True, 2),
            Connection(-2, 5, 1.0, True, 5),
            Connection(5, 6, 1.0, True, 6),
        ],
        dtype=dtype,
    )
    changes: dict[str, object] = {
        "genome.compatibility_disjoint_coefficient": 2.0,
        "genome.compatibility_weight_coefficient": 0.5,
        "genome.compatibility_excess_coefficient": 16.0,
        "genome.compatibility_enable_penalty": 4.0,
    }
    # One match; 1, 2 and 4 are disjoint; 5 and 6 lie beyond the other's last one.
    links = ((0.5 + 4.0) * 0.5 + 2.0 * 3 + 16.0 * 2) / 4
    nodes = ((0.5 + 1.0) * 0.5 + 2.0 * 3) / 3
    pair = a + b
    found = distances(pair, distance_rules(make_config(changes)))[0, 1]
    assert found == nodes + links
    changes["genome.compatibility_include_node_genes"] = False
    assert distances(pair, distance_rules(make_config(changes)))[0, 1] == links


def test_a_link_that_was_deleted_and_added_again_is_the_same_link() -> None:
    a = one_genome([0], [Connection(-1, 0, 1.0, True, 3), Connection(-2, 0, 1.0, True, 4)])
    b = one_genome([0], [Connection(-2, 0, 1.0, True, 4), Connection(-1, 0, 2.0, True, 9)])
    excess = {"genome.compatibility_excess_coefficient": 100.0}
    for pair in (a + b, b + a):
        assert distances(pair, distance_rules(make_config(excess)))[0, 1] == 0.5 / 2


def test_links_with_one_number_but_other_ends_are_two_disjoint_genes() -> None:
    a = one_genome([0], [Connection(-1, 0, 1.0, True, 3)])
    b = one_genome([0], [Connection(-2, 0, 1.0, True, 3)])
    assert distances(a + b, distance_rules(make_config()))[0, 1] == 2.0


def test_genomes_without_connections_differ_by_their_nodes() -> None:
    a, b = one_genome([Node(0, 1.0)], []), one_genome([Node(0, 3.0)], [])
    assert distances(a + b, distance_rules(make_config()))[0, 1] == 1.0
    without = {"genome.compatibility_include_node_genes": False}
    assert distances(a + b, distance_rules(make_config(without)))[0, 1] == 0.0
