"""Config: frozen dataclasses, read from TOML or from neat-python's INI files.

    config = Config.load("xor.toml")
    config.genome.weight.mutate_power
    config = config.replace({"neat.pop_size": 500, "genome.weight_mutate_power": 0.3})

A config that exists is valid: every way to make one checks all of it, and an error lists all
faults at once. Each table has a file of its own here, with its settings, rules and defaults;
`Config` lists the tables.
"""

from __future__ import annotations

from evonet.config.config import Config
from evonet.config.genes import BoolGene, ChoiceGene, FloatGene
from evonet.config.genome import GenomeTable, InitialConnection
from evonet.config.neat import NeatTable
from evonet.config.network import NetworkTable
from evonet.config.reproduction import ReproductionTable
from evonet.config.run import RunTable
from evonet.config.speciation import SpeciationTable
from evonet.config.stagnation import StagnationTable

__all__ = [
    "BoolGene",
    "ChoiceGene",
    "Config",
    "FloatGene",
    "GenomeTable",
    "InitialConnection",
    "NeatTable",
    "NetworkTable",
    "ReproductionTable",
    "RunTable",
    "SpeciationTable",
    "StagnationTable",
]
