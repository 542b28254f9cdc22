"""A population: building it from lists or at random, selecting, joining, comparing."""

from __future__ import annotations

import copy
import graphlib
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.errors import EvonetError, GenomeError, OptionError, ShapeError, UnknownFunctionError
from evonet.genes.arrays import ARRAYS
from evonet.genes.population import Population
from evonet.genes.random import DENSE
from evonet.genes.validation import check_population
from tests.support.strategies import populations


def xor(**node: Any) -> Population:
    return Population.from_genes(
        2,
        1,
        [
            (
                [dict(key=0, bias=-0.5, **node), {"key": 1, "bias": -1.5}],
                [(-1, 0, 1.0), (-2, 0, 1.0), (-1, 1, 1.0), (-2, 1, 1.0), (1, 0, -2.0)],
            )
        ],
    )


# Reading and changing.


def test_counts_and_sizes() -> None:
    population = xor() + xor()[[]] + Population.from_genes(2, 1, [([0], [(-1, 0, 1.0)])])
    assert (len(population), population.num_genomes) == (2, 2)
    assert (population.num_nodes, population.num_connections) == (3, 6)
    assert population.sizes.tolist() == [[2, 5], [1, 1]]
    assert population.dtype == np.float32
    assert repr(population) == (
        "Population(2 genomes, 2 inputs, 1 output, 3 nodes, 6 connections, float32)"
    )


@given(populations())
def test_genes_are_counted_as_in_the_genome_alone(population: Population) -> None:
    for i in range(len(population)):
        alone = population[[i]]
        assert population.nodes_and_enabled(i) == (alone.num_nodes, alone.num_enabled)


def test_nbytes_counts_every_array() -> None:
    # Per genome 2 offsets, per node 8 + 3 * 4 + 2 bytes, per connection 3 * 8 + 4 + 1 + 4 bytes.
    assert xor().nbytes == 2 * 16 + 2 * 22 + 5 * 33


def test_arrays_are_read_only() -> None:
    population = xor()
    for name in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(population, name)[0] = 0


def test_attributes_cannot_be_set_or_deleted() -> None:
    population = xor()
    with pytest.raises(AttributeError, match="never changes, so weight cannot be set"):
        population.weight = population.weight  # type: ignore[misc]
    with pytest.raises(AttributeError, match="never changes, so weight cannot be deleted"):
        del population.weight


def test_the_arrays_of_the_caller_stay_writable_and_are_not_copied() -> None:
    arrays = {name: getattr(xor(), name).copy() for name in ARRAYS}
    population = Population(num_inputs=2, num_outputs=1, **arrays)
    assert all(array.flags.writeable for array in arrays.values())
    assert np.shares_memory(population.weight, arrays["weight"])


def test_populations_cannot_be_hashed_because_they_compare_by_value() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(xor())


# From lists of genes.


def test_nodes_may_be_dicts_tuples_or_just_keys() -> None:
    as_dict = Population.from_genes(0, 1, [([{"key": 0, "bias": 0.5, "response": 2.0}], [])])
    as_tuple = Population.from_genes(0, 1, [([(0, 0.5, 2.0)], [])])
    assert as_dict == as_tuple
    assert Population.from_genes(0, 1, [([0], [])]) == Population.from_genes(0, 1, [([(0,)], [])])


def test_connections_may_be_dicts_or_tuples() -> None:
    connection = {"source": -1, "target": 0, "weight": 2.0, "enabled": False, "innovation": 3}
    as_dict = Population.from_genes(1, 1, [([0], [connection])])
    assert as_dict == Population.from_genes(1, 1, [([0], [(-1, 0, 2.0, False, 3)])])


def test_nodes_are_sorted_by_key() -> None:
    assert Population.from_genes(0, 2, [([5, 1, 0], [])]).node_key.tolist() == [0, 1, 5]


def test_equal_pairs_get_equal_innovations_in_order_of_appearance() -> None:
    first = [(-1, 1, 1.0), (1, 0, 1.0)]
    second = [(1, 0, 1.0), (-1, 0, 1.0), (-1, 1, 1.0)]
    population = Population.from_genes(1, 1, [([0, 1], first), ([0, 1], second)])
    assert population.innovation.tolist() == [0, 1, 0, 1, 2]
    assert population.target.tolist() == [1, 0, 1, 0, 0]
    assert population.rank.tolist() == [0, 1, 2, 0, 1]


def test_given_innovations_are_kept_and_shared_by_structure() -> None:
    first = [(-1, 0, 1.0, True, 7)]
    second = [(-1, 0, 1.0), (0, 0, 1.0)]
    population = Population.from_genes(1, 1, [([0], first), ([0], second)])
    assert population.innovation.tolist() == [7, 7, 8]


@pytest.mark.parametrize(
    ("genome", "message"),
    [
        (([{"bias": 1.0}], []), "node {'bias': 1.0} does not read as (key, bias, response, "),
        (([{"key": 0, "bais": 1.0}], []), "node {'key': 0, 'bais': 1.0} does not read as (key"),
        (([(0, 0.0, 1.0, "tanh", "sum", 1.0, 5)], []), "does not read as (key, bias"),
        (([(0.5,)], []), "node (0.5,) does not read as (key"),
        (([(0, "zero")], []), "node (0, 'zero') does not read as (key"),
        (([(0, 0.0, 1.0, 3)], []), "node (0, 0.0, 1.0, 3) does not read as (key"),
        ((["output"], []), "node 'output' does not read as (key"),
        (([0], [(-1, 0)]), "connection (-1, 0) does not read as (source, target, weight, "),
        (([0], [(-1, 0, None)]), "connection (-1, 0, None) does not read as (source"),
        (([0], [(-1, 0, 1.0, 2)]), "connection (-1, 0, 1.0, 2) does not read as (source"),
        (([0], [(-1, 0, 1.0, "no")]), "connection (-1, 0, 1.0, 'no') does not read as (source"),
        (([0], [(-1, 0, 1.0, True, "a")]), "'a') does not read as (source"),
        (([0],), "expected a pair (nodes, connections), found ([0],)."),
        ((0, []), "expected a pair (nodes, connections), found (0, [])."),
        (([(0, 10**400)], []), "does not read as (key"),
        (7, "expected a pair (nodes, connections), found 7."),
        (([2**80], []), f"node {2**63 - 1}: its key is too large."),
        (([0, -(2**80)], []), "its key is negative."),
        (([(0, 1e300)], []), "node 0: bias is inf."),
    ],
)
def test_a_gene_that_does_not_read_is_named(genome: Any, message: str) -> None:
    with pytest.raises(GenomeError, match="genome 1: .*" + re.escape(message)) as caught:
        Population.from_genes(1, 1, [([0], []), genome])
    assert caught.value.genome == 1


@pytest.mark.parametrize("what", ["activation", "aggregation"])
def test_an_unknown_function_names_genome_node_and_the_nearest(what: str) -> None:
    name = {"activation": "sigmiod", "aggregation": "summ"}[what]
    nearest = {"activation": "sigmoid", "aggregation": "sum"}[what]
    message = f'genome 0: node 0: "{name}" is not a known {what}. Did you mean "{nearest}"?'
    with pytest.raises(UnknownFunctionError, match=re.escape(message)):
        xor(**{what: name})


# Selecting and joining.


@given(populations(), st.data())
def test_slices_and_lists_of_numbers_select_alike(population: Population, data: Any) -> None:
    part = data.draw(st.slices(len(population)))
    numbers = list(range(len(population)))[part]
    assert population[part] == population[numbers]
    check_population(population[part])


@given(populations(), st.data())
def test_masks_and_lists_of_numbers_select_alike(population: Population, data: Any) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(population), max_size=len(population)))
    numbers = [i for i, wanted in enumerate(mask) if wanted]
    assert population[np.array(mask, np.bool_)] == population[numbers]


@given(populations(min_genomes=1), st.data())
def test_numbers_select_genomes_in_any_order_and_repeatedly(
    population: Population, data: Any
) -> None:
    last = len(population) - 1
    numbers = data.draw(st.lists(st.integers(-last - 1, last), max_size=8))
    selected = population[numbers]
    assert list(selected) == [population[i] for i in numbers]
    check_population(selected)


@given(populations(), st.data())
def test_a_population_cut_in_two_joins_to_itself(population: Population, data: Any) -> None:
    at = data.draw(st.integers(0, len(population)))
    assert population[:at] + population[at:] == population


@given(populations(max_genomes=2), st.integers(0, 3))
def test_concatenating_copies_equals_selecting_repeatedly(
    population: Population, copies: int
) -> None:
    joined = Population.concatenate([population] * copies + [population[:0]])
    assert joined == population[list(range(len(population))) * copies]


def test_a_slice_shares_memory() -> None:
    population = Population.random(5, 2, 1, num_nodes=3, num_connections=4)
    assert np.shares_memory(population[1:3].weight, population.weight)
    assert np.shares_memory(population[1].population.weight, population.weight)


def test_negative_numbers_count_from_the_end() -> None:
    population = Population.random(5, 2, 1, num_nodes=3, num_connections=4)
    assert population[-1] == population[4]
    assert population[np.int32(-5)] == population[0]


@pytest.mark.parametrize("index", [3, -4])
def test_a_genome_that_does_not_exist_is_an_index_error(index: int) -> None:
    population = Population.random(3, 2, 1, num_nodes=3, num_connections=4)
    with pytest.raises(IndexError, match=f"genome {index} does not exist: the population has 3"):
        population[index]
    with pytest.raises(IndexError):
        population[[0, index]]


@pytest.mark.parametrize("index", [1.5, [0.5], [[0]], "first", True, None])
def test_an_index_of_another_kind_is_a_shape_error(index: Any) -> None:
    population = Population.random(3, 2, 1, num_nodes=3, num_connections=4)
    with pytest.raises(ShapeError, match="selects no genomes"):
        population[index]


def test_a_mask_of_the_wrong_length_is_a_shape_error() -> None:
    population = Population.random(3, 2, 1, num_nodes=3, num_connections=4)
    with pytest.raises(ShapeError, match="The mask has 2 entries for 3 genomes"):
        population[[True, False]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Population.empty(3, 1), "Population 1 has num_inputs=3 and population 0 has num_inputs=2"),
        (Population.empty(2, 2), "Population 1 has num_outputs=2 and population 0 has"),
        (Population.empty(2, 1, np.float64), "Population 1 has dtype=float64 and population 0 has"),
    ],
)
def test_populations_that_differ_in_kind_do_not_join(other: Population, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        xor() + other


def test_nothing_cannot_be_concatenated() -> None:
    with pytest.raises(OptionError, match="nothing to concatenate"):
        Population.concatenate([])


def test_adding_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        xor() + 1  # type: ignore[operator]


# Comparing and copying.


@given(populations(min_genomes=1), st.data())
def test_a_change_of_any_array_makes_a_difference(population: Population, data: Any) -> None:
    sizes = {name: len(getattr(population, name)) for name in ARRAYS}
    name = data.draw(st.sampled_from([name for name, size in sizes.items() if size]))
    array = getattr(population, name).copy()
    i = data.draw(st.integers(0, len(array) - 1))
    array.view(np.uint8).reshape(len(array), -1)[i, 0] ^= 1
    assert population._with({name: array}) != population


def test_zero_and_minus_zero_differ() -> None:
    assert xor(response=0.0) != xor(response=-0.0)
    assert xor(response=-0.0) == xor(response=-0.0)


def test_populations_of_different_types_or_pins_differ() -> None:
    population = xor()
    assert population != population.astype(np.float64)
    assert Population.empty(1, 0) != Population.empty(2, 0)
    assert Population.empty(1, 0) != Population.empty(1, 1)
    assert population != "a population"


@given(populations())
def test_pickled_and_copied_populations_are_equal_and_read_only(population: Population) -> None:
    for again in (pickle.loads(pickle.dumps(population)), copy.deepcopy(population)):
        assert again == population
        assert not any(getattr(again, name).flags.writeable for name in ARRAYS)


def test_a_pickled_slice_does_not_carry_the_whole_population() -> None:
    population = Population.random(100, 2, 1, num_nodes=20, num_connections=50)
    assert len(pickle.dumps(population[0:1])) < len(pickle.dumps(population)) / 20


@given(populations(dtypes=(np.float32,)))
def test_float32_genes_survive_a_trip_through_float64(population: Population) -> None:
    wide = population.astype("float64")
    assert wide.dtype == np.float64
    assert wide.astype("float32") == population
    check_population(wide)


def test_astype_to_the_same_type_is_the_same_object() -> None:
    population = xor()
    assert population.astype(np.float32) is population


def test_a_weight_too_large_for_float32_is_named() -> None:
    wide = Population.from_genes(1, 1, [([0], [(-1, 0, 1e300)])], np.float64)
    with pytest.raises(GenomeError, match=r"genome 0: connection \(-1, 0\): weight is inf"):
        wide.astype(np.float32)


def test_a_time_constant_too_small_for_float32_is_named() -> None:
    wide = Population.from_genes(0, 1, [([{"key": 0, "time_constant": 1e-300}], [])], np.float64)
    with pytest.raises(GenomeError, match=r"genome 0: node 0: time_constant is 0.0"):
        wide.astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float16, "int32", "no type", np.dtype(">f4")])
def test_genes_of_another_type_are_refused(dtype: Any) -> None:
    with pytest.raises(ShapeError, match="float32 or float64"):
        xor().astype(dtype)
    with pytest.raises(ShapeError, match="float32 or float64"):
        Population.empty(1, 1, dtype)


# Random populations.

SIZES = [
    # genomes, inputs, outputs, nodes, connections
    (3, 2, 1, 1, 0),
    (3, 2, 1, 1, 2),
    (3, 0, 0, 0, 0),
    (0, 2, 1, 4, 3),
    (20, 3, 2, 10, 20),
    (20, 3, 2, 10, 74),  # As many as there is room for.
    (20, 0, 2, 10, 30),
    (20, 3, 0, 10, 30),
    (20, 5, 2, 50, 200),
    (2, 30, 30, 200, 300),
    (2, 3, 2, 2000, 6000),
]


@pytest.mark.parametrize("feed_forward", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_random_genomes_are_valid_and_have_the_exact_size(
    size: tuple[int, ...], feed_forward: bool
) -> None:
    genomes, inputs, outputs, nodes, connections = size
    population = Population.random(
        genomes,
        inputs,
        outputs,
        num_nodes=nodes,
        num_connections=connections,
        feed_forward=feed_forward,
    )
    check_population(population)
    assert population.sizes.tolist() == [[nodes, connections]] * genomes
    if feed_forward:
        for genome in population:
            edges: dict[int, set[int]] = {}
            for link in genome.connections:
                edges.setdefault(link.target, set()).add(link.source)
            graphlib.TopologicalSorter(edges).prepare()


def live_connections(population: Population, genome: int) -> int:
    """Counts the connections from which an output can be reached."""
    links = population[genome].connections
    live = set(range(population.num_outputs))
    while True:
        more = live | {link.source for link in links if link.target in live}
        if more == live:
            return sum(link.target in live for link in links)
        live = more


@pytest.mark.parametrize("feed_forward", [True, False])
@pytest.mark.parametrize(("nodes", "connections"), [(50, 200), (50, 100), (50, 48), (10, 50)])
def test_all_random_connections_matter_to_an_output(
    feed_forward: bool, nodes: int, connections: int
) -> None:
    """48 hidden nodes need 48 connections to be read; then the whole network is alive."""
    population = Population.random(
        20, 5, 2, num_nodes=nodes, num_connections=connections, feed_forward=feed_forward
    )
    for i in range(20):
        assert live_connections(population, i) == connections


def test_a_tight_budget_goes_to_being_read_before_reading() -> None:
    population = Population.random(50, 1, 1, num_nodes=5, num_connections=4)
    for i in range(50):
        assert {link.source for link in population[i].connections} == {1, 2, 3, 4}
        assert live_connections(population, i) == 4


@pytest.mark.parametrize(("nodes", "connections"), [(50, 98), (10, 18), (5, 8)])
def test_all_random_nodes_read_something(nodes: int, connections: int) -> None:
    population = Population.random(50, 5, 2, num_nodes=nodes, num_connections=connections)
    for genome in population:
        assert {link.target for link in genome.connections} == set(range(nodes))


def test_recurrent_random_networks_have_loops() -> None:
    population = Population.random(
        5, 1, 2, num_nodes=8, num_connections=40, feed_forward=False, seed=3
    )
    assert (population.source == population.target).any()
    assert (population.source < 2).any()


def test_the_seed_decides() -> None:
    def draw(seed: int) -> Population:
        return Population.random(5, 3, 2, num_nodes=10, num_connections=20, seed=seed)

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_random_float32_genes_are_the_rounded_float64_genes() -> None:
    def draw(dtype: Any) -> Population:
        return Population.random(5, 3, 2, num_nodes=10, num_connections=20, dtype=dtype)

    assert draw(np.float64).astype(np.float32) == draw(np.float32)


def test_equal_random_connections_have_equal_innovations() -> None:
    population = Population.random(50, 3, 2, num_nodes=8, num_connections=20)
    pairs = list(zip(population.source.tolist(), population.target.tolist(), strict=True))
    numbers = dict(zip(pairs, population.innovation.tolist(), strict=True))
    assert [numbers[pair] for pair in pairs] == population.innovation.tolist()
    assert len(set(numbers.values())) == len(numbers)


def test_random_genomes_list_their_links_by_innovation() -> None:
    population = Population.random(2, 3, 2, num_nodes=8, num_connections=20)
    assert population.rank.tolist() == [*range(20), *range(20)]


def test_random_functions_come_from_the_given_names() -> None:
    population = Population.random(
        20,
        3,
        2,
        num_nodes=10,
        num_connections=5,
        activations=("tanh", "relu"),
        aggregations=("max", "mean"),
    )
    nodes = [node for genome in population for node in genome.nodes]
    assert {node.activation for node in nodes} == {"tanh", "relu"}
    assert {node.aggregation for node in nodes} == {"max", "mean"}


def test_scales_and_the_enabled_fraction_are_followed() -> None:
    population = Population.random(
        100, 3, 2, num_nodes=20, num_connections=50, enabled=0.25, weight_scale=3, bias_scale=0
    )
    assert abs(population.enabled.mean() - 0.25) < 0.02
    assert abs(population.weight.std() - 3) < 0.1
    assert not population.bias.any()
    assert Population.random(9, 3, 2, num_nodes=9, num_connections=9).enabled.all()


@pytest.mark.parametrize("connections", [12 // DENSE - 1, 12 // DENSE, 12])
def test_random_connections_are_drawn_evenly_whether_few_or_many(connections: int) -> None:
    """3 inputs and 4 outputs have room for 12 connections and nothing to prefer but outputs."""
    population = Population.random(4000, 3, 4, num_nodes=4, num_connections=connections)
    uses = np.bincount(population.innovation)
    uses = uses[uses > 0]
    assert len(uses) == 12
    expected = 4000 * connections / 12
    assert np.abs(uses - expected).max() < 6 * np.sqrt(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_connections": 75}, "num_connections=75 does not fit. A feed-forward network of 3 "),
        ({"num_connections": 131, "feed_forward": False}, "A recurrent network of 3 inputs, 8 hid"),
        ({"num_connections": -1}, "num_connections=-1 is too small. Use 0 or more."),
        ({"num_nodes": 1}, "num_nodes=1 is too small. Use 2 or more."),
        ({"num_genomes": -1}, "num_genomes=-1 is too small."),
        ({"num_inputs": -1}, "num_inputs=-1 is too small."),
        ({"num_outputs": -1}, "num_outputs=-1 is too small."),
        ({"enabled": 1.5}, "enabled=1.5 is not between 0 and 1."),
        ({"enabled": float("nan")}, "enabled=nan is not between 0 and 1."),
        ({"activations": ()}, r"activations=\(\) is not a list of at least one name."),
        ({"aggregations": "sum"}, "aggregations='sum' is not a list"),
        ({"activations": ["sigmiod"]}, 'Did you mean "sigmoid"?'),
        ({"weight_scale": float("inf")}, "weight_scale=inf is not between 0 and 1e"),
        ({"bias_scale": -1.0}, "bias_scale=-1.0 is not between 0 and"),
        ({"seed": -1}, "seed=-1 is too small."),
        ({"num_inputs": 2**40}, f"num_inputs={2**40} is not between 0 and"),
    ],
)
def test_impossible_random_populations_are_refused(changes: dict[str, Any], message: str) -> None:
    size = {
        "num_genomes": 2,
        "num_inputs": 3,
        "num_outputs": 2,
        "num_nodes": 10,
        "num_connections": 20,
    }
    with pytest.raises(EvonetError, match=message):
        Population.random(**{**size, **changes})


@pytest.mark.parametrize("seed", [None, 1.5])
def test_a_seed_that_is_no_whole_number_is_a_type_error(seed: Any) -> None:
    with pytest.raises(TypeError):
        Population.random(2, 3, 2, num_nodes=4, num_connections=5, seed=seed)
