"""Evolution: NEAT as ask and tell, and the loop on top."""

from __future__ import annotations

from evonet.evolution.neat.neat import NEAT, Best
from evonet.evolution.neat.species import Species

__all__ = ["NEAT", "Best", "Species"]
