"""neat-python's genomes as populations, and populations as neat-python's genomes.

Nothing here copies a neat-python config or asks it for a node id: both would change how the same
seed evolves. Reading needs genomes that look like neat-python's, not neat-python itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import DTypeLike

from evonet.errors import GenomeError, OptionError
from evonet.genes.arrays import GeneArrays, real_type
from evonet.genes.population import Population
from evonet.genes.validation import check_population
from evonet.plugins.neat_python.genes import (
    NODE_NAMES,
    FunctionIds,
    NeatConfig,
    NeatGenome,
    NeatGenomes,
    arrays_from_neat,
    explain_genes,
    write_connections,
    write_nodes,
)


def input_and_output_counts(config: NeatConfig) -> tuple[int, int]:
    """Reads the numbers of inputs and outputs from a `neat.Config` or its `genome_config`."""
    genome_config: Any = getattr(config, "genome_config", config)
    try:
        inputs, outputs = list(genome_config.input_keys), list(genome_config.output_keys)
    except AttributeError:
        raise OptionError(
            f"config is a {type(config).__name__}. Expected a neat.Config or its genome_config."
        ) from None
    if inputs != [-1 - i for i in range(len(inputs))] or outputs != list(range(len(outputs))):
        raise OptionError(
            f"The config has input keys {inputs} and output keys {outputs}. "
            "Expected -1, -2, ... and 0, 1, ..."
        )
    return len(inputs), len(outputs)


def list_genomes(genomes: NeatGenomes) -> tuple[list[Any], list[NeatGenome]]:
    """Splits pairs (id, genome), genomes, or a dict of genomes into ids and genomes."""
    items: Iterable[Any] = genomes.items() if isinstance(genomes, Mapping) else genomes
    ids, found = [], []
    try:
        for item in items:
            key, genome = item if isinstance(item, (tuple, list)) else (item.key, item)
            ids.append(key)
            found.append(genome)
        if all(hasattr(genome, "nodes") and hasattr(genome, "connections") for genome in found):
            return ids, found
    except (TypeError, ValueError, AttributeError):
        pass
    raise OptionError(
        "genomes are not neat-python genomes. Expected pairs (id, genome), genomes, or a dict."
    )


def read_genomes(
    genomes: NeatGenomes, config: NeatConfig, dtype: DTypeLike, make: Callable[..., Population]
) -> Population:
    """Packs genomes; `Population.from_neat` documents the arguments, and `make` is that class."""
    counts = input_and_output_counts(config)
    ids, found = list_genomes(genomes)
    arrays = arrays_from_neat(ids, found, real_type(dtype))
    return build_population(arrays, counts, ids, found, make=make)


def build_population(
    arrays: GeneArrays,
    counts: tuple[int, int],
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    functions: FunctionIds = NODE_NAMES,
    make: Callable[..., Population] = Population,
) -> Population:
    """Builds a population from arrays that were read from genomes, and checks it."""
    num_inputs, num_outputs = counts
    population = make(num_inputs=num_inputs, num_outputs=num_outputs, **arrays, validate=False)
    try:
        check_population(population, lambda i: f"genome id {ids[i]}")
    except GenomeError:
        explain_genes(ids, genomes, functions)  # NumPy turned None into nan; say what it was.
        raise
    return population


def write_genomes(
    population: Population, config: NeatConfig, keys: Iterable[int] | None
) -> list[tuple[int, NeatGenome]]:
    """Makes neat-python genomes; `Population.to_neat` documents the arguments."""
    num_inputs, num_outputs = input_and_output_counts(config)
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
    nodes = write_nodes(population, genome_config.node_gene_type)
    connections = write_connections(population, genome_config.connection_gene_type)
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


def lazy_genome(population: Population, i: int, key: int, fitness: Any, config: NeatConfig) -> Any:
    """Makes genome i of a population, of the config's type, that reads its genes on first use."""
    genome: Any = object.__new__(_lazy_type(config.genome_type))
    genome.__dict__.update(key=key, fitness=fitness, _genes=(population, i, config))
    return genome


@functools.cache
def _lazy_type(genome_type: type) -> type:
    class LazyGenome(genome_type):  # type: ignore[misc]
        """One genome of a packed population."""

        def __getattr__(self, name: str) -> Any:
            if name in ("nodes", "connections"):
                self._make()
                return self.__dict__[name]
            raise AttributeError(f"{genome_type.__name__!r} object has no attribute {name!r}")

        def _make(self) -> None:
            population, i, config = self.__dict__.pop("_genes")
            ((_, made),) = write_genomes(population[i : i + 1], config, [self.key])
            self.__dict__.update(nodes=made.nodes, connections=made.connections)

        def __reduce__(self) -> tuple[Any, ...]:
            """Pickles and copies as a genome like any other."""
            if "_genes" in self.__dict__:
                self._make()
            return genome_type, (self.key,), dict(self.__dict__)

    LazyGenome.__name__ = LazyGenome.__qualname__ = genome_type.__name__
    return LazyGenome
