"""What one round of evaluation is given, and what it gives back."""

from __future__ import annotations

from evonet.evaluation.evaluation import Evaluation, Round
from evonet.evaluation.fitness import OnBadFitness, check_fitness

__all__ = ["Evaluation", "OnBadFitness", "Round", "check_fitness"]
