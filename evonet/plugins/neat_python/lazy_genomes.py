"""neat-python genomes that are made when somebody looks at their genes."""

from __future__ import annotations

import functools
from typing import Any

from evonet.genes.population import Population
from evonet.plugins.neat_python.genes import NeatConfig


def lazy_genome(population: Population, i: int, key: int, fitness: Any, config: NeatConfig) -> Any:
    """A genome of the config's own type, with genes on demand.

    Args:
        population: Where the genes are.
        i: Position of the genome.
        key: Its id.
        fitness: What it scored, or None.
        config: A `neat.Config`.
    """
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
            ((_, made),) = population[i : i + 1].to_neat(config, [self.key])
            self.__dict__.update(nodes=made.nodes, connections=made.connections)

        def __reduce__(self) -> tuple[Any, ...]:
            """Pickles and copies as a genome like any other."""
            if "_genes" in self.__dict__:
                self._make()
            return genome_type, (self.key,), dict(self.__dict__)

    LazyGenome.__name__ = LazyGenome.__qualname__ = genome_type.__name__
    return LazyGenome
