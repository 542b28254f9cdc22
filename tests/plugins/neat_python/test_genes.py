"""neat-python genomes become populations and come back."""

from __future__ import annotations

import random
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonet.errors import GenomeError, OptionError, ShapeError, UnknownFunctionError
from evonet.genes.population import Population
from tests.support.strategies import (
    has_innovations,
    has_time_constants,
    neat_config,
    populations,
    random_neat_genomes,
)

neat = pytest.importorskip("neat")

needs_innovations = pytest.mark.skipif(not has_innovations(), reason="neat-python before 1.0")
needs_neat_2 = pytest.mark.skipif(not has_time_constants(), reason="neat-python before 2.0")

CONFIG = neat_config(3, 2)


def evolved(count: int = 12, seed: int = 0) -> tuple[list[tuple[int, Any]], Any]:
    config = neat_config(
        3,
        2,
        num_hidden=2,
        activations="sigmoid tanh relu",
        aggregations="sum max",
        feed_forward=False,
        initial_connection="partial_direct 0.5",
    )
    return random_neat_genomes(config, count, num_mutations=15, seed=seed), config


def gene_like(**attributes: Any) -> SimpleNamespace:
    return SimpleNamespace(**attributes)


def old_genome(pairs: list[tuple[int, int]], keys: tuple[int, ...] = (0, 1, 5)) -> SimpleNamespace:
    """A genome as neat-python before 1.0 has it: no innovations, no time constants."""
    node = {"bias": 0.5, "response": 1.0, "activation": "sigmoid", "aggregation": "sum"}
    return SimpleNamespace(
        key=41,
        nodes={key: gene_like(key=key, **node) for key in keys},
        connections={pair: gene_like(key=pair, weight=1.0, enabled=True) for pair in pairs},
    )


# Reading.


def test_every_gene_of_an_evolved_genome_is_read() -> None:
    genomes, config = evolved()
    population = Population.from_neat(genomes, config)
    assert population.dtype == np.float64
    assert (population.num_inputs, population.num_outputs) == (3, 2)
    for genome, (_, expected) in zip(population, genomes, strict=True):
        assert [node.key for node in genome.nodes] == sorted(expected.nodes)
        for node in genome.nodes:
            gene = expected.nodes[node.key]
            assert node == (
                gene.key,
                gene.bias,
                gene.response,
                gene.activation,
                gene.aggregation,
                getattr(gene, "time_constant", 1.0),
            )
        for link, gene in zip(genome.connections, expected.connections.values(), strict=True):
            assert link[:4] == (*gene.key, gene.weight, gene.enabled)
            if has_innovations():
                assert link.innovation == gene.innovation


def test_evolved_genomes_list_links_in_another_order_than_by_innovation() -> None:
    """Otherwise the tests here would not test rank."""
    genomes, config = evolved()
    for _, genome in genomes:
        genome.connections = dict(reversed(genome.connections.items()))
    population = Population.from_neat(genomes, config)
    assert (population.rank != Population.from_neat(evolved()[0], config).rank).any()
    for genome, (_, expected) in zip(population, genomes, strict=True):
        assert [link[:2] for link in genome.connections] == list(expected.connections)


def test_pairs_genomes_and_dicts_read_alike() -> None:
    genomes, config = evolved()
    population = Population.from_neat(genomes, config)
    assert Population.from_neat([genome for _, genome in genomes], config) == population
    assert Population.from_neat(dict(genomes), config) == population
    assert Population.from_neat(iter(genomes), config) == population
    assert Population.from_neat(genomes, config.genome_config) == population


def test_no_genomes_read_as_an_empty_population() -> None:
    assert Population.from_neat([], CONFIG) == Population.empty(3, 2, np.float64)


def test_float32_is_the_rounded_float64() -> None:
    genomes, config = evolved()
    wide = Population.from_neat(genomes, config)
    assert Population.from_neat(genomes, config, dtype=np.float32) == wide.astype(np.float32)


def test_neither_config_nor_random_state_nor_genomes_change() -> None:
    genomes, config = evolved()
    next_key = config.genome_config.get_new_node_key({})
    state, before = random.getstate(), [str(genome) for _, genome in genomes]
    Population.from_neat(genomes, config).to_neat(config)
    assert random.getstate() == state
    assert [str(genome) for _, genome in genomes] == before
    assert config.genome_config.get_new_node_key({}) == next_key + 1


def test_a_run_of_neat_python_stays_readable_to_the_end() -> None:
    config = neat_config(2, 1, pop_size=30)
    random.seed(5)

    def fitness(genomes: list[tuple[int, Any]], config: Any) -> None:
        population = Population.from_neat(genomes, config)
        keys = [key for key, _ in genomes]
        assert Population.from_neat(population.to_neat(config, keys), config) == population
        for _, genome in genomes:
            genome.fitness = random.random()

    neat.Population(config).run(fitness, 15)


# Other versions of neat-python.


def test_without_innovations_equal_pairs_get_equal_numbers_in_sorted_order() -> None:
    first = old_genome([(5, 0), (-1, 5), (-3, 1)])
    second = old_genome([(-1, 5), (0, 0), (5, 0)])
    population = Population.from_neat([first, second], CONFIG)
    assert population.innovation.tolist() == [0, 1, 3, 1, 2, 3]
    assert population.source.tolist() == [-3, -1, 5, -1, 0, 5]
    assert population.rank.tolist() == [2, 1, 0, 0, 1, 2]


def test_without_time_constants_they_are_1() -> None:
    population = Population.from_neat([old_genome([])], CONFIG)
    assert population.time_constant.tolist() == [1.0, 1.0, 1.0]


def test_nodes_in_any_order_are_sorted() -> None:
    population = Population.from_neat([old_genome([], keys=(7, 1, 5, 0))], CONFIG)
    assert population.node_key.tolist() == [0, 1, 5, 7]


def test_keys_near_the_limit_are_sorted_too() -> None:
    keys = (2**62, 1, 2**61, 0)
    population = Population.from_neat([old_genome([], keys=keys)] * 5, CONFIG)
    assert population.node_key.tolist() == sorted(keys) * 5


def test_an_innovation_used_twice_in_a_genome_renumbers_all_and_warns() -> None:
    genome = old_genome([(5, 0), (-1, 5)])
    for gene in genome.connections.values():
        gene.innovation = 3
    with pytest.warns(RuntimeWarning, match="one innovation number for two connections") as caught:
        population = Population.from_neat([genome], CONFIG)
    assert caught[0].filename == __file__
    assert population.innovation.tolist() == [0, 1]
    assert population.rank.tolist() == [1, 0]


# Genes that cannot be read.


@pytest.mark.parametrize(
    ("name", "found", "nearest"),
    [("activation", "sigmiod", "sigmoid"), ("aggregation", "summ", "sum")],
)
def test_an_unknown_function_names_genome_id_node_and_the_nearest(
    name: str, found: str, nearest: str
) -> None:
    genome = old_genome([])
    setattr(genome.nodes[5], name, found)
    message = f'genome id 9: node 5: "{found}" is not a known {name}. Did you mean "{nearest}"?'
    with pytest.raises(UnknownFunctionError, match=re.escape(message)) as caught:
        Population.from_neat([(8, old_genome([])), (9, genome)], CONFIG)
    assert caught.value.genome == 1


def test_a_genome_without_id_is_called_by_its_key() -> None:
    genome = old_genome([(-1, 9)])
    with pytest.raises(GenomeError, match=r"genome id 41: connection \(-1, 9\): target 9 is not"):
        Population.from_neat([genome], CONFIG)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda g: delattr(g.nodes[1], "bias"),
            "node 1: a SimpleNamespace has no bias. Only genes",
        ),
        (
            lambda g: delattr(g.nodes[1], "activation"),
            "node 1: a SimpleNamespace has no activation",
        ),
        (lambda g: setattr(g.nodes[1], "bias", None), "node 1: bias is None. Expected a number."),
        (lambda g: setattr(g.nodes[1], "bias", "x"), "node 1: bias is 'x'. Expected a number."),
        (lambda g: setattr(g.nodes[1], "bias", 10**400), "Expected a number."),
        (lambda g: setattr(g.nodes[1], "bias", np.inf), "node 1: bias is inf. Expected a finite"),
        (lambda g: setattr(g.nodes[1], "activation", 3), 'node 1: "3" is not a known activation.'),
        (lambda g: setattr(g.nodes[1], "time_constant", 0.0), ""),
        (lambda g: g.nodes.update({"two": g.nodes[1]}), "node two: key is 'two'. Expected a whole"),
        (lambda g: g.nodes.update({2**70: g.nodes[1]}), "Expected a whole number."),
        (lambda g: g.nodes.pop(1), "output node 1 is missing."),
        (
            lambda g: delattr(g.connections[-1, 0], "weight"),
            "connection (-1, 0): a SimpleNamespace has no weight.",
        ),
        (
            lambda g: setattr(g.connections[-1, 0], "weight", None),
            "connection (-1, 0): weight is None. Expected a number.",
        ),
        (
            lambda g: setattr(g.connections[-1, 0], "innovation", None),
            "connection (-1, 0): innovation is None. Expected a whole number.",
        ),
        (
            lambda g: g.connections.update({7: g.connections[-1, 0]}),
            "connection 7: its key is not a pair (source, target).",
        ),
        (
            lambda g: g.connections.update({("in", 0): g.connections[-1, 0]}),
            "source is 'in'. Expected a whole number.",
        ),
        (
            lambda g: g.connections.update({(0, 1, 2): g.connections[-1, 0]}),
            "connection (0, 1, 2): its key is not a pair (source, target).",
        ),
    ],
)
def test_a_gene_that_cannot_be_read_is_named(change: Any, message: str) -> None:
    genome = old_genome([(-1, 0)])
    if not message:  # The first node decides whether there are time constants at all.
        for gene in genome.nodes.values():
            gene.time_constant = 1.0
        message = "node 1: time_constant is 0.0. Expected more than 0."
    change(genome)
    with pytest.raises(GenomeError, match="genome id 41: .*" + re.escape(message)):
        Population.from_neat([genome], CONFIG)


@pytest.mark.parametrize("genomes", [[1, 2], ["ab"], [(1, 2, 3)], [(1, "genome")], [object()], 5])
def test_something_else_than_genomes_is_refused(genomes: Any) -> None:
    with pytest.raises(OptionError, match=r"not neat-python genomes. Expected pairs"):
        Population.from_neat(genomes, CONFIG)


def test_a_single_genome_is_refused_with_a_hint() -> None:
    with pytest.raises(OptionError, match="Expected pairs"):
        Population.from_neat(evolved(1)[0][0][1], CONFIG)


def test_something_else_than_a_config_is_refused() -> None:
    with pytest.raises(
        OptionError, match=r"config is a dict. Expected a neat.Config or its genome"
    ):
        Population.from_neat([], {})


def test_unusual_input_keys_are_refused() -> None:
    config = SimpleNamespace(input_keys=[-1, -3], output_keys=[0])
    with pytest.raises(OptionError, match=r"has input keys \[-1, -3\] and output keys"):
        Population.from_neat([], config)


def test_another_dtype_is_refused() -> None:
    with pytest.raises(ShapeError, match="float32 or float64"):
        Population.from_neat([], CONFIG, dtype=np.int32)


# There and back.


@needs_neat_2
@given(populations(num_inputs=3, num_outputs=2))
def test_genomes_made_for_neat_python_read_back_equal(population: Population) -> None:
    genomes = population.to_neat(CONFIG)
    assert Population.from_neat(genomes, CONFIG, population.dtype) == population


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_evolved_genomes_come_back_equal(seed: int) -> None:
    genomes, config = evolved(count=3, seed=seed)
    population = Population.from_neat(genomes, config)
    again = population.to_neat(config, [key for key, _ in genomes])
    assert Population.from_neat(again, config) == population
    for (key, genome), (same_key, same) in zip(genomes, again, strict=True):
        assert key == same_key == same.key
        assert list(same.connections) == list(genome.connections)
        assert same.fitness is None
        assert same.distance(genome, config.genome_config) == 0


def test_genomes_made_for_neat_python_compute_the_same() -> None:
    genomes, config = evolved()
    again = Population.from_neat(genomes, config).to_neat(config)
    for (_, genome), (_, same) in zip(genomes, again, strict=True):
        first = neat.nn.RecurrentNetwork.create(genome, config)
        second = neat.nn.RecurrentNetwork.create(same, config)
        for x in ([0.5, -1.0, 2.0], [1.0, 0.0, -0.25]):
            assert first.activate(x) == second.activate(x)


@needs_innovations
def test_genomes_made_for_neat_python_can_mutate_and_cross_over() -> None:
    genomes, config = evolved()
    made = Population.from_neat(genomes, config).to_neat(config)
    child = config.genome_type(99)
    for _, genome in made:
        genome.fitness = float(genome.key)
    child.configure_crossover(made[0][1], made[1][1], config.genome_config)
    child.mutate(config.genome_config)
    assert Population.from_neat([child], config).num_genomes == 1


def test_gene_values_are_plain_python_numbers() -> None:
    population = Population.random(1, 3, 2, num_nodes=4, num_connections=5)
    ((key, genome),) = population.to_neat(CONFIG)
    assert type(key) is int
    for gene in genome.nodes.values():
        assert (type(gene.key), type(gene.bias), type(gene.activation)) == (int, float, str)
    for pair, gene in genome.connections.items():
        assert [type(end) for end in pair] == [int, int]
        assert (type(gene.weight), type(gene.enabled)) == (float, bool)


def test_keys_count_from_1_unless_given() -> None:
    population = Population.random(3, 3, 2, num_nodes=4, num_connections=5)
    assert [key for key, _ in population.to_neat(CONFIG)] == [1, 2, 3]
    assert [genome.key for _, genome in population.to_neat(CONFIG, [7, 5, 6])] == [7, 5, 6]


def test_a_genome_config_alone_makes_default_genomes() -> None:
    population = Population.random(1, 3, 2, num_nodes=4, num_connections=5)
    ((_, genome),) = population.to_neat(CONFIG.genome_config)
    assert type(genome) is neat.DefaultGenome


@pytest.mark.parametrize("keys", [[1], [1, 2, 2], [1, 2, 3, 4]])
def test_keys_that_do_not_fit_are_refused(keys: list[int]) -> None:
    population = Population.random(3, 3, 2, num_nodes=4, num_connections=5)
    with pytest.raises(
        OptionError, match=r"keys has . distinct entries. Expected one for each of 3"
    ):
        population.to_neat(CONFIG, keys)


def test_a_config_with_other_inputs_is_refused() -> None:
    with pytest.raises(
        OptionError, match="The config has 3 inputs and 2 outputs, the population 4"
    ):
        Population.empty(4, 2).to_neat(CONFIG)


def test_gene_types_with_more_attributes_are_refused() -> None:
    more = SimpleNamespace(name="colour")
    gene_type = type("Painted", (), {"_gene_attributes": [more]})
    config = SimpleNamespace(
        input_keys=[-1], output_keys=[0], node_gene_type=gene_type, connection_gene_type=gene_type
    )
    with pytest.raises(OptionError, match="Painted has attributes that a population does not hold"):
        Population.empty(1, 1).to_neat(config)


def test_a_time_constant_that_an_old_neat_python_cannot_hold_is_named() -> None:
    attributes = ["bias", "response", "activation", "aggregation"]
    gene_type = type(
        "Old", (), {"_gene_attributes": [SimpleNamespace(name=name) for name in attributes]}
    )
    config = SimpleNamespace(
        input_keys=[-1], output_keys=[0], node_gene_type=gene_type, connection_gene_type=gene_type
    )
    population = Population.from_genes(1, 1, [([{"key": 0, "time_constant": 2.0}], [])])
    with pytest.raises(GenomeError, match=r"genome 0: node 0: time_constant is 2.0, and this vers"):
        population.to_neat(config)


# The compiled packer.


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_packer_and_the_readable_one_give_equal_arrays(
    dtype: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    genomes, config = evolved(20, seed)
    rng = random.Random(seed)
    for _, genome in genomes:  # dicts in any order
        for name in ("nodes", "connections"):
            items = list(getattr(genome, name).items())
            rng.shuffle(items)
            setattr(genome, name, dict(items))
    packed = Population.from_neat(genomes, config, dtype)
    monkeypatch.setattr("evonet.plugins.neat_python.genes.load_native", lambda: None)
    assert packed == Population.from_neat(genomes, config, dtype)


def test_genes_that_change_while_they_are_read_are_refused() -> None:
    genomes, config = evolved(2)
    victim = genomes[1][1]

    class Restless(type(next(iter(victim.connections.values())))):  # type: ignore[misc]
        @property
        def weight(self) -> float:
            victim.connections.clear()
            return 1.0

        @weight.setter
        def weight(self, value: float) -> None:
            pass

    gene = next(iter(victim.connections.values()))
    gene.__class__ = Restless
    with pytest.raises((ValueError, RuntimeError)):
        Population.from_neat(genomes, config)
