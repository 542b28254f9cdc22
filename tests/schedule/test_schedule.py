"""Schedules follow neat-python's feed-forward layers, and both compilers give the same arrays."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from typing import Any

import neat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evonet
from evonet import BackendError, CyclicGenomeError, OptionError, Population, Schedule
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import load_native
from evonet.schedule import build_schedule
from evonet.schedule.slots import trace_slots
from tests.support import strategies
from tests.support.neat_configs import forward_config, to_neat_genome
from tests.support.random_networks import random_genes

NODE_ARRAYS = ("node_key", "bias", "response", "activation", "aggregation")


def layers_of(schedule: Schedule, genome: int) -> list[set[int]]:
    """The node keys on each level."""
    s = schedule
    keys = s.node_key[s.node_start[genome] : s.node_start[genome + 1]].tolist()
    ends = s.level_end[s.level_start[genome] : s.level_start[genome + 1]].tolist()
    assert ends[-1:] == ([len(keys)] if keys else [])
    return [set(keys[a:b]) for a, b in itertools.pairwise([0, *ends])]


def links_of(schedule: Schedule, genome: int) -> dict[int, list[tuple[int, float]]]:
    """The (source key, weight) pairs that each node reads, in order."""
    s = schedule
    first, end = int(s.node_start[genome]), int(s.node_start[genome + 1])
    keys = s.node_key[first:end].tolist()
    position = [*range(-1, -1 - s.num_inputs, -1), *keys]
    read = trace_slots(s).source
    found = {}
    for k, key in enumerate(keys):
        links = slice(int(s.edge_start[first + k]), int(s.edge_start[first + k + 1]))
        sources, weights = read[links].tolist(), s.weight[links].tolist()
        assert all(p < s.num_inputs + k for p in sources), "a node reads a later one"
        found[key] = [(position[i], w) for i, w in zip(sources, weights, strict=True)]
    return found


def assert_same_bits(a: Schedule, b: Schedule) -> None:
    assert (a.num_inputs, a.num_outputs) == (b.num_inputs, b.num_outputs)
    for name, array in a.arrays().items():
        other = b.arrays()[name]
        assert (array.dtype, array.shape) == (other.dtype, other.shape), name
        assert array.tobytes() == other.tobytes(), name


def build_all_ways(population: Population) -> Schedule:
    """Compiles natively with 1, 2 and 3 threads and readably, and wants equal arrays."""
    expected = build_schedule(population, on_cycle="zero", native=False)
    for threads in (1, 2, 3):
        found = build_schedule(population, on_cycle="zero", threads=threads, native=True)
        assert_same_bits(found, expected)
    return expected


def raise_all_ways(population: Population) -> CyclicGenomeError:
    """Compiles natively and readably, and wants the same error."""
    errors = []
    for options in ({"native": False}, *({"native": True, "threads": n} for n in (1, 2, 3))):
        with pytest.raises(CyclicGenomeError) as caught:
            build_schedule(population, **options)
        errors.append(caught.value)
    assert len({(str(error), error.genome) for error in errors}) == 1
    return errors[0]


def genomes_of(seed: int, count: int, num_inputs: int, num_outputs: int, cyclic: bool) -> list:
    rng = random.Random(seed)
    return [
        random_genes(
            rng, num_inputs, num_outputs, rng.randint(0, 15), cyclic, rng.choice((1.0, 2.0, 3.0))
        )
        for _ in range(count)
    ]


def packed(
    num_inputs: int, num_outputs: int, source: Any, target: Any, dtype: Any = np.float32
) -> Population:
    """One genome with identity nodes 0, 1, ... and weights 0, 1, ... in the order of its links."""
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    num_nodes = 1 + max(int(source.max(initial=0)), int(target.max(initial=0)), num_outputs - 1)
    return Population(
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        node_start=np.array([0, num_nodes]),
        node_key=np.arange(num_nodes),
        bias=np.zeros(num_nodes, dtype),
        response=np.ones(num_nodes, dtype),
        activation=np.full(num_nodes, 9, np.uint8),
        aggregation=np.zeros(num_nodes, np.uint8),
        time_constant=np.ones(num_nodes, dtype),
        conn_start=np.array([0, len(source)]),
        innovation=np.arange(len(source)),
        source=source,
        target=target,
        weight=np.arange(len(source)).astype(dtype),
        enabled=np.ones(len(source), np.bool_),
        rank=np.arange(len(source), dtype=np.int32),
    )


# ---- neat-python --------------------------------------------------------------------------------


def assert_equal_to_neat(genome: Any, config: Any, schedule: Schedule, g: int) -> None:
    inputs, outputs = config.genome_config.input_keys, config.genome_config.output_keys
    enabled = [key for key, c in genome.connections.items() if c.enabled]
    layers, _ = neat.graphs.feed_forward_layers(inputs, outputs, enabled)
    assert layers_of(schedule, g) == layers
    node_evals = neat.nn.FeedForwardNetwork.create(genome, config).node_evals
    assert links_of(schedule, g) == {node: links for node, *_, links in node_evals}
    first, end = int(schedule.node_start[g]), int(schedule.node_start[g + 1])
    for k in range(first, end):
        gene = genome.nodes[int(schedule.node_key[k])]
        assert (schedule.bias[k], schedule.response[k]) == (gene.bias, gene.response)
        assert ACTIVATIONS[schedule.activation[k]].name == gene.activation
        assert AGGREGATIONS[schedule.aggregation[k]].name == gene.aggregation
    keys = schedule.node_key[first:end].tolist()
    assert trace_slots(schedule).output[g].tolist() == [
        len(inputs) + keys.index(key) if key in keys else -1 for key in outputs
    ]


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_nodes_levels_and_link_order_are_those_of_neat_python(seed: int, cyclic: bool) -> None:
    num_inputs, num_outputs = seed, (seed * 2) % 5
    config = forward_config(num_inputs, num_outputs)
    genomes = [
        to_neat_genome(genes, key)
        for key, genes in enumerate(genomes_of(seed, 40, num_inputs, num_outputs, cyclic))
    ]
    schedule = build_all_ways(Population.from_neat(genomes, config))
    for g, genome in enumerate(genomes):
        assert_equal_to_neat(genome, config, schedule, g)


@pytest.mark.parametrize("feed_forward", [True, False])
def test_genomes_that_neat_python_mutated_keep_its_layers(feed_forward: bool) -> None:
    config = strategies.neat_config(3, 2, num_hidden=2, feed_forward=feed_forward)
    genomes = strategies.random_neat_genomes(config, 40, num_mutations=15)
    schedule = build_all_ways(Population.from_neat(genomes, config))
    for g, (_, genome) in enumerate(genomes):
        assert_equal_to_neat(genome, config, schedule, g)


def test_nodes_without_links_form_a_first_level_of_their_own() -> None:
    # 3 reads nothing; 4 reads an input; 0 reads both; 1 reads nothing at all.
    population = Population.from_genes(
        1, 2, [([0, 1, 3, 4], [(3, 0, 1.0), (4, 0, 2.0), (-1, 4, 3.0)])]
    )
    assert layers_of(build_all_ways(population), 0) == [{1, 3}, {4}, {0}]


def test_a_node_that_reads_only_nodes_without_links_comes_right_after_them() -> None:
    population = Population.from_genes(1, 2, [([0, 1, 2], [(2, 0, 1.0), (-1, 1, 1.0)])])
    assert layers_of(build_all_ways(population), 0) == [{2}, {0, 1}]


def test_a_disabled_link_neither_counts_nor_orders() -> None:
    population = Population.from_genes(
        1, 1, [([0, 1, 2], [(-1, 0, 1.0), (1, 0, 2.0, False), (-1, 1, 3.0), (2, 2, 4.0, False)])]
    )
    schedule = build_all_ways(population)
    assert layers_of(schedule, 0) == [{0}]
    assert links_of(schedule, 0) == {0: [(-1, 1.0)]}


def test_nodes_that_lead_to_no_output_are_pruned_with_their_links() -> None:
    population = Population.from_genes(
        2, 1, [([0, 1, 2, 3], [(-1, 0, 1.0), (0, 1, 2.0), (1, 2, 3.0), (-2, 3, 4.0)])]
    )
    schedule = build_all_ways(population)
    assert links_of(schedule, 0) == {0: [(-1, 1.0)]}
    assert (schedule.num_nodes, schedule.num_edges) == (1, 1)


def test_outputs_may_read_outputs() -> None:
    population = Population.from_genes(
        1, 3, [([0, 1, 2], [(1, 0, 1.0), (2, 1, 2.0), (-1, 2, 3.0), (2, 0, 4.0)])]
    )
    schedule = build_all_ways(population)
    assert layers_of(schedule, 0) == [{2}, {1}, {0}]
    assert schedule.output_slot.tolist() == [[3, 2, 1]]


def test_links_follow_rank_and_not_innovation() -> None:
    genes = [(-1, 0, 1.0, True, 30), (-3, 0, 2.0, True, 10), (-2, 0, 3.0, True, 20)]
    population = Population.from_genes(3, 1, [([0], genes)])
    assert population.rank.tolist() == [1, 2, 0]
    assert links_of(build_all_ways(population), 0) == {0: [(-1, 1.0), (-3, 2.0), (-2, 3.0)]}


def test_live_nodes_are_ordered_by_level_functions_in_degree_and_key() -> None:
    schedule = build_all_ways(Population.from_genes(3, 4, genomes_of(5, 60, 3, 4, True)))
    degree = np.diff(schedule.edge_start).tolist()
    for g in range(schedule.num_genomes):
        layers = layers_of(schedule, g)
        level = {key: i for i, keys in enumerate(layers) for key in keys}
        order = [
            (
                level[int(schedule.node_key[k])],
                int(schedule.aggregation[k]),
                int(schedule.activation[k]),
                degree[k],
                int(schedule.node_key[k]),
            )
            for k in range(int(schedule.node_start[g]), int(schedule.node_start[g + 1]))
        ]
        assert order == sorted(order)


# ---- cycles -------------------------------------------------------------------------------------


def cycle_in(error: CyclicGenomeError) -> list[int]:
    found = re.search(r"the nodes (-?\d+(?: -> -?\d+)*) form a cycle", str(error))
    assert found, str(error)
    return [int(key) for key in found[1].split(" -> ")]


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_a_cycle_error_names_the_first_cyclic_genome_and_a_cycle_that_exists(seed: int) -> None:
    rng = random.Random(seed)
    genes = [random_genes(rng, 1, 2, rng.randint(0, 5), rng.random() < 0.7, 1.5) for _ in range(4)]
    population = Population.from_genes(1, 2, genes)
    config = forward_config(1, 2)
    cyclic = []
    for _, links in genes:
        enabled = [(s, t) for s, t, _, on in links if on]
        layers, required = neat.graphs.feed_forward_layers(
            config.genome_config.input_keys, config.genome_config.output_keys, enabled
        )
        cyclic.append(sum(map(len, layers)) < len(required))
    if True not in cyclic:
        build_schedule(population)
        return
    error = raise_all_ways(population)
    assert error.genome == cyclic.index(True)
    assert str(error).startswith(f"genome {error.genome}: ")
    cycle = cycle_in(error)
    enabled = {(s, t) for s, t, _, on in genes[error.genome][1] if on}
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert set(itertools.pairwise(cycle)) <= enabled


def test_a_self_loop_is_a_cycle() -> None:
    population = Population.from_genes(1, 1, [([0, 7], [(-1, 0, 1.0), (7, 7, 1.0), (7, 0, 1.0)])])
    assert cycle_in(raise_all_ways(population)) == [7, 7]
    assert build_all_ways(population).output_slot.tolist() == [[-1]]


def test_a_cycle_error_says_how_to_go_on() -> None:
    population = Population.from_genes(1, 1, [([0], [(0, 0, 1.0)])])
    assert 'on_cycle="zero"' in str(raise_all_ways(population))


def test_a_cycle_that_no_output_needs_is_no_fault() -> None:
    population = Population.from_genes(
        1, 1, [([0, 1, 2], [(-1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0), (0, 1, 1.0)])]
    )
    assert layers_of(build_schedule(population), 0) == [{0}]
    build_all_ways(population)


def test_a_cycle_through_a_disabled_link_is_no_fault() -> None:
    population = Population.from_genes(1, 1, [([0, 1], [(1, 0, 1.0), (0, 1, 1.0, False)])])
    assert layers_of(build_schedule(population), 0) == [{1}, {0}]


def test_nodes_behind_a_cycle_are_left_out_and_all_others_stay() -> None:
    # 2 <-> 3 feed 0; 1 is free; 4 feeds both.
    population = Population.from_genes(
        1,
        2,
        [
            (
                [0, 1, 2, 3, 4],
                [(2, 3, 1.0), (3, 2, 1.0), (3, 0, 1.0), (4, 0, 1.0), (4, 1, 1.0), (-1, 4, 1.0)],
            )
        ],
    )
    schedule = build_all_ways(population)
    assert layers_of(schedule, 0) == [{4}, {1}]
    assert schedule.output_slot.tolist() == [[-1, 2]]


def test_a_node_met_again_on_another_path_is_no_cycle() -> None:
    # A ladder: two ways into every node, so a walk meets most nodes many times.
    links = [(k + j, k, 1.0) for k in range(30) for j in (1, 2) if k + j < 31]
    population = Population.from_genes(1, 1, [(range(31), links)])
    schedule = build_all_ways(population)
    assert layers_of(schedule, 0) == [{k} for k in range(30, -1, -1)]


def test_the_first_cyclic_genome_is_named_whatever_thread_finds_another_first() -> None:
    plain = Population.random(4000, 3, 2, num_nodes=8, num_connections=14, seed=2)
    loop = Population.from_genes(3, 2, [([0, 1], [(1, 1, 1.0)])])
    population = Population.concatenate([plain[:2111], loop, plain[2111:3000], loop, plain, loop])
    assert raise_all_ways(population).genome == 2111


def test_a_long_cycle_is_told_in_short() -> None:
    count = 20_000
    nodes = np.arange(count)
    error = raise_all_ways(packed(1, 1, (nodes + 1) % count, nodes))
    shown = re.search(r"the nodes (.*) form a cycle", str(error))
    assert shown
    keys = shown[1].split(" -> ")
    assert len(keys) == 10
    assert keys[-2] == "..."
    assert keys[0] == keys[-1]
    steps = {(b - a) % count for a, b in itertools.pairwise(map(int, keys[:8]))}
    assert steps == {count - 1}


# ---- both compilers -----------------------------------------------------------------------------


@settings(max_examples=150)
@given(strategies.populations())
def test_the_native_compiler_gives_the_reference_arrays(population: Population) -> None:
    schedule = build_all_ways(population)
    assert schedule.dtype == population.dtype
    assert schedule.num_genomes == len(population)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cyclic", [False, True])
def test_a_population_cut_into_parts_gives_the_reference_arrays(dtype: Any, cyclic: bool) -> None:
    # More than 60,000 genes make several parts; the genomes differ in size by a factor of 300.
    sizes = [(1500, 4, 6), (700, 13, 29), (2, 700, 3001), (1, 1, 2), (100, 30, 101)]
    population = Population.concatenate(
        Population.random(
            count,
            3,
            1,
            num_nodes=nodes,
            num_connections=links,
            dtype=dtype,
            feed_forward=not cyclic,
            enabled=0.9,
            activations=("sigmoid", "relu", "sin"),
            aggregations=("sum", "max"),
            seed=7,
        )
        for count, nodes, links in sizes
    )
    assert population.num_connections + population.num_nodes > 60_000
    build_all_ways(population)


@pytest.mark.parametrize(("genomes", "nodes", "links"), [(1, 1, 1), (7, 13, 31), (101, 2, 3)])
def test_prime_sizes_give_the_reference_arrays(genomes: int, nodes: int, links: int) -> None:
    build_all_ways(Population.random(genomes, 5, 1, num_nodes=nodes, num_connections=links, seed=3))


def test_the_same_genome_has_the_same_schedule_among_any_others() -> None:
    population = Population.from_genes(2, 3, genomes_of(11, 30, 2, 3, True))
    alone = [build_schedule(population[g : g + 1], on_cycle="zero") for g in range(30)]
    together = build_schedule(population, on_cycle="zero")
    for g, schedule in enumerate(alone):
        assert layers_of(together, g) == layers_of(schedule, 0)
        assert links_of(together, g) == links_of(schedule, 0)
        assert together.output_slot[g].tolist() == schedule.output_slot[0].tolist()
        nodes = slice(int(together.node_start[g]), int(together.node_start[g + 1]))
        for name in NODE_ARRAYS:
            assert together.arrays()[name][nodes].tolist() == schedule.arrays()[name].tolist()
    assert_same_bits(
        build_schedule(population[5:17], on_cycle="zero"),
        build_schedule(population[list(range(5, 17))], on_cycle="zero"),
    )


def keys_with_home(count: int, home: int, bits: int) -> list[int]:
    """Keys that the native hash table of 2^bits slots puts into one slot."""
    rng, found = random.Random(count), set()
    while len(found) < count:
        key = rng.randint(1000, 2**62)
        if (key * 0x9E3779B97F4A7C15) % 2**64 >> (64 - bits) == home:
            found.add(key)
    return sorted(found)


@pytest.mark.parametrize("home", [0, 7, 15])
def test_keys_that_collide_in_the_hash_table_are_told_apart(home: int) -> None:
    hidden = keys_with_home(7, home, 4)
    links = [(-1, hidden[0], 1.0), (hidden[-1], 0, 2.0)]
    links += [(a, b, 3.0 + i) for i, (a, b) in enumerate(itertools.pairwise(hidden))]
    schedule = build_all_ways(Population.from_genes(1, 1, [([0, *hidden], links)]))
    assert layers_of(schedule, 0) == [{key} for key in [*hidden, 0]]


def test_the_largest_key_is_found() -> None:
    keys = [0, 1, 2**62, 2**62 - 1, 2**61, 2**33, 2**32, 2**31]
    links = [(a, b, 1.0) for a, b in itertools.pairwise(keys[::-1])]
    schedule = build_all_ways(Population.from_genes(1, 1, [(keys, links)]))
    assert layers_of(schedule, 0) == [{key} for key in keys[::-1]]


def test_dense_and_sparse_genomes_may_follow_each_other() -> None:
    chain = [[0, 1, 2, 3], [0, 2**40, 2**50, 2**60], [0, 5, 6, 200], [0, 9, 2**62]]
    genomes = [([*keys], [(b, a, 1.0) for a, b in itertools.pairwise(keys)]) for keys in chain]
    schedule = build_all_ways(Population.from_genes(1, 1, genomes * 5))
    for g in range(20):
        assert layers_of(schedule, g) == [{key} for key in chain[g % 4][::-1]]


# ---- sizes --------------------------------------------------------------------------------------


def test_no_genomes_make_an_empty_schedule() -> None:
    schedule = build_all_ways(Population.empty(3, 2))
    assert (schedule.num_genomes, schedule.num_nodes, schedule.num_edges) == (0, 0, 0)
    assert schedule.output_slot.shape == (0, 2)
    assert schedule.node_start.tolist() == schedule.edge_start.tolist() == [0]


def test_no_outputs_need_no_nodes() -> None:
    population = Population.from_genes(2, 0, [([3, 4], [(-1, 3, 1.0), (3, 3, 1.0)]), ([], [])])
    schedule = build_schedule(population)
    assert_same_bits(schedule, build_all_ways(population))
    assert (schedule.num_genomes, schedule.num_nodes) == (2, 0)
    assert schedule.output_slot.shape == (2, 0)
    assert schedule.num_levels.tolist() == [0, 0]


def test_no_inputs_leave_slot_0_to_the_first_node() -> None:
    population = Population.from_genes(0, 1, [([0, 1], [(1, 0, 1.0)])])
    schedule = build_all_ways(population)
    assert schedule.source.tolist() == [0]
    assert schedule.output_slot.tolist() == [[1]]


def test_an_output_without_links_is_evaluated() -> None:
    schedule = build_all_ways(Population.from_genes(4, 1, [([0], [])]))
    assert layers_of(schedule, 0) == [{0}]
    assert schedule.output_slot.tolist() == [[4]]


def test_a_chain_of_20000_nodes_has_20000_levels() -> None:
    count = 20_000
    chain = np.arange(count)
    schedule = build_all_ways(packed(1, 1, np.append(chain[1:], -1), chain))
    assert schedule.num_levels.tolist() == [count]
    assert schedule.node_key.tolist() == chain[::-1].tolist()
    assert schedule.source.tolist() == [0, *(1 + chain[:-1] % 2).tolist()]
    assert schedule.num_slots.tolist() == [3], "two values take turns"


def test_a_node_may_read_10007_links_in_any_order() -> None:
    count = 10_007
    source = -1 - np.random.default_rng(1).permutation(count)
    schedule = build_all_ways(packed(count, 1, source, np.zeros(count), np.float64))
    assert links_of(schedule, 0) == {0: [(s, float(i)) for i, s in enumerate(source.tolist())]}


def test_one_node_may_be_read_by_10007() -> None:
    readers = np.arange(10_007)
    population = packed(
        1,
        len(readers),
        np.append(np.full_like(readers, len(readers)), -1),
        [
            *readers,
            len(readers),
        ],
    )
    schedule = build_all_ways(population)
    assert layers_of(schedule, 0) == [{len(readers)}, set(readers.tolist())]


def test_a_genome_of_100000_nodes_gives_the_reference_arrays() -> None:
    population = Population.random(
        1, 10, 10, num_nodes=100_000, num_connections=200_000, enabled=0.95, seed=4
    )
    build_all_ways(population)


# ---- the object ---------------------------------------------------------------------------------


@pytest.mark.parametrize("native", [False, True])
def test_schedule_arrays_are_read_only(native: bool) -> None:
    schedule = build_schedule(
        Population.random(3, 2, 1, num_nodes=4, num_connections=6), native=native
    )
    for name, array in schedule.arrays().items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        assert not array.flags.writeable, name
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.weight = np.zeros(3)  # type: ignore[misc]


def test_a_schedule_does_not_share_memory_with_its_population() -> None:
    population = Population.random(3, 2, 1, num_nodes=4, num_connections=6)
    schedule = build_schedule(population)
    for mine in schedule.arrays().values():
        for name in evonet.genes.arrays.ARRAYS:
            assert not np.shares_memory(mine, getattr(population, name))


def test_schedules_are_equal_if_all_their_arrays_are() -> None:
    population = Population.random(3, 2, 1, num_nodes=4, num_connections=6)
    schedule = build_schedule(population)
    assert schedule == build_schedule(population, native=False)
    assert schedule != build_schedule(population[:2])
    assert schedule != build_schedule(population.astype(np.float64))
    assert schedule != dataclasses.replace(schedule, num_inputs=3)
    assert schedule != dataclasses.replace(schedule, weight=schedule.weight + 1)
    for name, array in schedule.arrays().items():
        assert schedule != dataclasses.replace(schedule, **{name: array[1:]}), name
    assert schedule != "a schedule"
    with pytest.raises(TypeError, match="unhashable"):
        hash(schedule)


def test_a_schedule_says_what_it_holds() -> None:
    population = Population.from_genes(
        2, 1, [([0, 1], [(-1, 1, 1.0), (1, 0, 1.0), (-2, 0, 1.0)]), ([0], [])]
    )
    schedule = build_schedule(population)
    assert repr(schedule) == (
        "Schedule(2 genomes, 2 -> 1, 3 nodes, 3 links, at most 2 levels, float32)"
    )
    assert (schedule.num_genomes, schedule.num_nodes, schedule.num_edges) == (2, 3, 3)
    assert schedule.num_levels.tolist() == [2, 1]
    assert schedule.dtype == np.float32
    assert schedule.nbytes == sum(a.nbytes for a in schedule.arrays().values()) > 0
    assert "no" not in repr(build_schedule(Population.empty(1, 1))).split("nodes")[1]


def test_types_of_the_arrays_are_the_documented_ones() -> None:
    for dtype, native in itertools.product((np.float32, np.float64), (False, True)):
        population = Population.random(2, 2, 1, num_nodes=4, num_connections=6, dtype=dtype)
        schedule = build_schedule(population, native=native)
        assert {name: array.dtype.name for name, array in schedule.arrays().items()} == {
            "node_start": "int64",
            "node_key": "int64",
            "bias": dtype.__name__,
            "response": dtype.__name__,
            "activation": "uint8",
            "aggregation": "uint8",
            "slot": "int32",
            "num_slots": "int64",
            "edge_start": "int64",
            "source": "int32",
            "weight": dtype.__name__,
            "level_start": "int64",
            "level_end": "int32",
            "output_slot": "int32",
            "cell": dtype.__name__,
        }


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"on_cycle": "ignore"}, r"on_cycle='ignore' is not a choice. Allowed: error, zero\."),
        ({"on_cycle": "zeros"}, r'Did you mean "zero"\?'),
        ({"on_cycle": None}, "on_cycle=None"),
        ({"threads": -1}, "threads=-1 "),
        ({"threads": 1.5}, "threads=1.5 "),
        ({"threads": True}, "threads=True "),
        ({"threads": "2"}, "threads='2' "),
        ({"threads": 2**40}, "threads=1099511627776 "),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: Any, says: str, native: bool) -> None:
    population = Population.random(1, 2, 1, num_nodes=4, num_connections=6)
    with pytest.raises(OptionError, match=says):
        build_schedule(population, native=native, **options)


def test_more_threads_than_genomes_are_no_fault() -> None:
    population = Population.random(3, 2, 1, num_nodes=4, num_connections=6)
    assert build_schedule(population, threads=4096) == build_schedule(population, threads=1)


def test_asking_for_the_native_compiler_where_there_is_none_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evonet.installation._find", lambda: None)
    monkeypatch.setattr("evonet.schedule.build.load_native", lambda: None, raising=False)
    population = Population.random(1, 2, 1, num_nodes=4, num_connections=6)
    with pytest.raises(BackendError, match="compiled extension"):
        build_schedule(population, native=True)
    assert build_schedule(population) == build_schedule(population, native=False)


def test_the_native_extension_is_what_these_tests_compare_with() -> None:
    assert load_native() is not None
