"""The names that `run.algorithm` can have; `evonet/evolution/algorithms.py` has their classes."""

from __future__ import annotations

from typing import Final

ALGORITHM_NAMES: Final = ("neat",)
