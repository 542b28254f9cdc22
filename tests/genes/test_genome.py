"""A genome is a readable, comparable view of one slice of a population."""

from __future__ import annotations

import pytest
from hypothesis import given

from evonet.genes.genome import Connection, Genome, Node
from evonet.genes.population import Population
from tests.support.strategies import populations


def example() -> Genome:
    nodes = [Node(0, bias=0.5, activation="tanh"), Node(3, aggregation="max", time_constant=0.25)]
    connections = [Connection(3, 0, 1.5, True, 9), Connection(-2, 3, -2.0, False, 4)]
    return Population.from_genes(2, 1, [(nodes, connections)])[0]


def test_nodes_carry_the_names_of_their_functions() -> None:
    assert example().nodes == [
        Node(0, 0.5, 1.0, "tanh", "sum", 1.0),
        Node(3, 0.0, 1.0, "sigmoid", "max", 0.25),
    ]


def test_connections_come_in_listed_order_not_in_that_of_innovations() -> None:
    assert example().connections == [
        Connection(3, 0, 1.5, True, 9),
        Connection(-2, 3, -2.0, False, 4),
    ]
    assert example().population.innovation.tolist() == [4, 9]


def test_gene_values_are_plain_python_numbers() -> None:
    genome = example()
    assert [type(value) for value in genome.nodes[0]] == [int, float, float, str, str, float]
    assert [type(value) for value in genome.connections[0]] == [int, int, float, bool, int]


def test_counts() -> None:
    genome = example()
    counts = (genome.num_inputs, genome.num_outputs, genome.num_nodes, genome.num_connections)
    assert counts == (2, 1, 2, 2)


def test_repr_describes_the_size() -> None:
    assert repr(example()) == "Genome(inputs=2, outputs=1, nodes=2, connections=2)"


def test_str_shows_all_genes() -> None:
    assert str(example()).splitlines() == [
        "Genome: 2 inputs, 1 outputs, 1 hidden nodes, 2 connections (1 enabled)",
        "  node    kind  bias  response  activation  aggregation   tau",
        "     0  output   0.5         1        tanh          sum     1",
        "     3  hidden     0         1     sigmoid          max  0.25",
        "  source  target  weight       innovation",
        "       3       0     1.5                9",
        "      -2       3      -2  off           4",
    ]


def test_str_of_a_genome_without_genes_is_one_line() -> None:
    genome = Population.from_genes(0, 0, [([], [])])[0]
    assert str(genome).splitlines() == [
        "Genome: 0 inputs, 0 outputs, 0 hidden nodes, 0 connections (0 enabled)"
    ]


def test_genomes_with_equal_genes_are_equal_wherever_they_stand() -> None:
    population = Population.random(3, 2, 1, num_nodes=4, num_connections=6)
    again = population[[2, 0]]
    assert population[0] == again[1]
    assert population[2] == again[0]
    assert population[0] != population[1]
    assert population[0] != "a genome"


def test_genomes_cannot_be_hashed_because_they_compare_by_value() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(example())


def test_a_genome_views_exactly_one() -> None:
    with pytest.raises(ValueError, match="views a population of 1, not of 0"):
        Genome(Population.empty(1, 1))


@given(populations())
def test_the_population_of_each_genome_joins_to_the_whole(population: Population) -> None:
    parts = [genome.population for genome in population]
    assert all(len(part) == 1 for part in parts)
    empty = population[:0]
    assert Population.concatenate([empty, *parts]) == population


@given(populations())
def test_readable_genes_pack_to_the_same_genome(population: Population) -> None:
    listed = [(genome.nodes, genome.connections) for genome in population]
    again = Population.from_genes(
        population.num_inputs, population.num_outputs, listed, population.dtype
    )
    assert again == population
