"""Makes neat-python genomes from a population; `neat_genes.py` is the way there."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from evonet.errors import GenomeError, OptionError
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.genes.arrays import owner_of
from evonet.plugins.neat_python.genes import NODE_NUMBERS, NeatConfig, NeatGenome, pin_counts

if TYPE_CHECKING:
    from evonet.genes.population import Population


def genomes_to_neat(
    population: Population, config: NeatConfig, keys: Iterable[int] | None
) -> list[tuple[int, NeatGenome]]:
    """Makes neat-python genomes; `Population.to_neat` documents the arguments.

    Raises:
        OptionError: The config or the keys do not fit the population.
        GenomeError: The installed neat-python has no time constants, and a node needs one.
    """
    num_inputs, num_outputs = pin_counts(config)
    if (num_inputs, num_outputs) != (population.num_inputs, population.num_outputs):
        raise OptionError(
            f"The config has {num_inputs} inputs and {num_outputs} outputs, the population "
            f"{population.num_inputs} and {population.num_outputs}."
        )
    keys = list(range(1, len(population) + 1) if keys is None else keys)
    if len(keys) != len(population) or len(set(keys)) != len(keys):
        raise OptionError(
            f"keys has {len(set(keys))} distinct entries. "
            f"Expected one for each of {len(population)} genomes."
        )
    genome_config: Any = getattr(config, "genome_config", config)
    nodes = _write_nodes(population, genome_config.node_gene_type)
    connections = _write_connections(population, genome_config.connection_gene_type)
    genome_type = _genome_type(config)
    node_start, conn_start = population.node_start.tolist(), population.conn_start.tolist()
    genomes = []
    for i, key in enumerate(keys):
        genome = genome_type(key)
        genome.nodes = {n.key: n for n in nodes[node_start[i] : node_start[i + 1]]}
        genome.connections = {c.key: c for c in connections[conn_start[i] : conn_start[i + 1]]}
        genomes.append((key, genome))
    return genomes


def _genome_type(config: NeatConfig) -> Any:
    if hasattr(config, "genome_type"):
        return config.genome_type
    import neat

    return neat.DefaultGenome


def _write_nodes(p: Population, gene_type: Any) -> list[Any]:
    """Makes a gene for every node, by genome and key."""
    columns = {name: getattr(p, name).tolist() for name in NODE_NUMBERS}
    columns["activation"] = [ACTIVATION_TABLE[i].name for i in p.activation.tolist()]
    columns["aggregation"] = [AGGREGATION_TABLE[i].name for i in p.aggregation.tolist()]
    names = _attribute_names(gene_type, columns)
    if "time_constant" not in names and (p.time_constant != 1).any():
        i = int(np.argmax(p.time_constant != 1))
        genome = int(owner_of(p.node_start)[i])
        raise GenomeError(
            f"genome {genome}: node {p.node_key[i]}: time_constant is {p.time_constant[i]}, and "
            "this version of neat-python has no time constants. Install neat-python 2.",
            genome,
        )
    genes = []
    for i, key in enumerate(p.node_key.tolist()):
        gene = gene_type(key)
        for name in names:
            setattr(gene, name, columns[name][i])
        genes.append(gene)
    return genes


def _write_connections(p: Population, gene_type: Any) -> list[Any]:
    """Makes a gene for every connection, by genome and rank."""
    order = p.conn_start[owner_of(p.conn_start)] + p.rank
    listed = np.empty(len(order), np.int64)
    listed[order] = np.arange(len(order))
    columns = {name: getattr(p, name)[listed].tolist() for name in ("weight", "enabled")}
    names = _attribute_names(gene_type, columns)
    has_innovation = "innovation" in inspect.signature(gene_type).parameters
    keys = zip(p.source[listed].tolist(), p.target[listed].tolist(), strict=True)
    innovations = p.innovation[listed].tolist()
    genes = []
    for i, key in enumerate(keys):
        gene = gene_type(key, innovation=innovations[i]) if has_innovation else gene_type(key)
        for name in names:
            setattr(gene, name, columns[name][i])
        genes.append(gene)
    return genes


def _attribute_names(gene_type: Any, known: Iterable[str]) -> list[str]:
    """Lists which attributes a gene type has.

    Raises:
        OptionError: It has one that a population does not hold.
    """
    names = [attribute.name for attribute in gene_type._gene_attributes]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise OptionError(
            f"{gene_type.__name__} has attributes that a population does not hold: "
            f"{', '.join(unknown)}."
        )
    return names
