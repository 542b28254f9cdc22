"""Correct kernels for the runner's own tests, and how the tests launch them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import simt
from tests.simt.module import Mode

FOLDER = Path(__file__).parent
MODES: tuple[Mode, ...] = ("plain", "checked")
ORDERS = ("forward", "reverse", "random")

needs_compiler = pytest.mark.skipif(
    simt.why_unavailable() is not None, reason=str(simt.why_unavailable())
)


@functools.cache
def load(name: str, mode: Mode) -> simt.Module:
    """Compiles one file of this folder."""
    return simt.compile(FOLDER / f"{name}.cu", mode=mode)


@functools.cache
def load_text(source: str, mode: Mode = "plain") -> simt.Module:
    """Compiles a source once, however many tests use it."""
    return simt.compile(source, mode=mode)


def launch(sample: str, mode: Mode, grid: Any, block: Any, *args: Any, **options: Any) -> None:
    """Launches "file.kernel"."""
    file, name = sample.split(".")
    load(file, mode).get_function(name)(grid, block, args, **options)


def floats(n: int, seed: int = 0) -> np.ndarray:
    """Draws normal numbers."""
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


def bits(x: np.ndarray) -> list[int]:
    """Returns floats as integers: equal means equal to the last bit, signs of zeros too."""
    return x.view(np.uint32 if x.itemsize == 4 else np.uint64).ravel().tolist()


def tree_sum(x: np.ndarray, block: int) -> np.ndarray:
    """Sums blocks in the tree that barriers.block_sum uses."""
    rows = np.zeros((-(-x.size // block), block), np.float32)
    rows.ravel()[: x.size] = x
    while rows.shape[1] > 1:
        rows = rows[:, : rows.shape[1] // 2] + rows[:, rows.shape[1] // 2 :]
    return rows[:, 0]
