"""Evolution as ask and tell: the seam of algorithms, NEAT, records, callbacks and checkpoints."""

from __future__ import annotations

from evonet.evolution.algorithm import Algorithm
from evonet.evolution.neat.neat import NEAT
from evonet.evolution.neat.species import Species
from evonet.evolution.state import Best

__all__ = ["NEAT", "Algorithm", "Best", "Species"]
