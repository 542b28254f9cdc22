"""Writes networks in neat-python's JSON format."""

from __future__ import annotations

import os
from typing import Any

from evonet.errors import OptionError
from evonet.genes.genome import Genome
from evonet.genes.population import Population
from evonet.plugins.neat_python.compiling import kind_of, network_maker
from evonet.plugins.neat_python.genes import NeatConfig


def export_json(
    genome: Any,
    config: NeatConfig,
    path: str | os.PathLike[str] | None = None,
    *,
    kind: str = "auto",
    metadata: dict[str, Any] | None = None,
) -> str:
    """Writes the network of a genome as neat-python's `export_network_json` does.

    Args:
        genome: A neat-python genome, or evonet's `Genome` or `Population` of one.
        config: A `neat.Config`.
        path: The file to write, or None to write none.
        kind: A kind of network; "auto" for what the config describes.
        metadata: Further entries of the file.

    Returns:
        The JSON.

    Raises:
        OptionError: The population has more or fewer genomes than one, or there is no such kind.
    """
    from neat.export import export_network_json

    make = network_maker(kind_of(config, kind), config)
    if isinstance(genome, Genome):
        genome = genome.population
    if isinstance(genome, Population):
        if len(genome) != 1:
            raise OptionError(f"a file holds one network; this population has {len(genome)}.")
        ((_, genome),) = genome.to_neat(config)
    where = None if path is None else os.fspath(path)
    found: str = export_network_json(make(genome), filepath=where, metadata=metadata)
    return found
