"""Evaluators: where a population is decoded, compiled and scored."""

from __future__ import annotations

from evonet.evaluators.base import Evaluator
from evonet.evaluators.here import Here

__all__ = ["Evaluator", "Here"]
