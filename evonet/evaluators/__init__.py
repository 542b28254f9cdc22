"""Evaluators: where a population is decoded, compiled and scored.

In this process: `Here`. In workers: `Distributed`, with a crew of processes or on Ray.
"""

from __future__ import annotations

from evonet.evaluators.base import Evaluator
from evonet.evaluators.distributed import Distributed
from evonet.evaluators.here import Here
from evonet.evaluators.lifetime import Lifetime
from evonet.evaluators.opening import open_evaluator, read_workers

__all__ = ["Distributed", "Evaluator", "Here", "Lifetime", "open_evaluator", "read_workers"]
