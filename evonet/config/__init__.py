"""Config: frozen dataclasses, read from TOML or from neat-python's INI files.

    config = Config.load("xor.toml")
    config.genome.weight.mutate_power
    config = config.replace({"neat.pop_size": 500, "genome.weight_mutate_power": 0.3})

A config that exists is valid: every way to make one checks all of it, and an error lists all
faults at once.
"""

from __future__ import annotations

from evonet.config.config import Config
from evonet.config.connection import InitialConnection
from evonet.config.genes import BoolGene, ChoiceGene, FloatGene
from evonet.config.parts import Genome, Neat, Reproduction, Run, Speciation, Stagnation

__all__ = [
    "BoolGene",
    "ChoiceGene",
    "Config",
    "FloatGene",
    "Genome",
    "InitialConnection",
    "Neat",
    "Reproduction",
    "Run",
    "Speciation",
    "Stagnation",
]
