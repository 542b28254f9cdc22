"""Decoders: how a genotype becomes the phenotype that is compiled and evaluated.

NEAT's genomes are their own phenotypes. An indirect encoding evolves small genomes that describe
large networks: its decoder turns a population of the former into one of the latter.
"""

from __future__ import annotations

from typing import Protocol

from evonet.genes.population import Population

__all__ = ["Decoder", "Identity"]


class Decoder(Protocol):
    """Turns genotypes into phenotypes."""

    def decode(self, population: Population) -> Population:
        """Returns one phenotype per genome, in the same order.

        Args:
            population: [P] genotypes.
        """


class Identity:
    """Genomes that are their own phenotypes."""

    def decode(self, population: Population) -> Population:
        """Returns the population itself."""
        return population
