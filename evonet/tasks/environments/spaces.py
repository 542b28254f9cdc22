"""Between spaces and networks: observations as inputs, and outputs as actions.

| space | as inputs | as outputs |
|---|---|---|
| Box | its numbers | -1 to 1, scaled to the bounds; without bounds the numbers themselves |
| Discrete | one per value, 1 for the one that holds | one per value, of which the largest counts |
| MultiDiscrete | as several Discrete | as several Discrete |
| MultiBinary | 0 or 1 | on if above 0 |
| Dict, Tuple | all parts in order | all parts in order |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from evonet.errors import OptionError

Floats: TypeAlias = npt.NDArray[np.float64]
# Makes one action of each row of outputs [n, O].
Decode: TypeAlias = Callable[[Floats], Any]

ALLOWED: Final = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple of these"


def size_of(space: spaces.Space[Any], name: str, what: str) -> int:
    """How many numbers stand for a space.

    Args:
        space: The space.
        name: The environment, for errors.
        what: "observations" or "actions", for errors.

    Raises:
        OptionError: Networks cannot work with such a space.
    """
    if isinstance(space, spaces.Box):
        return math.prod(space.shape)
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, spaces.MultiBinary):
        return math.prod(space.shape)
    if isinstance(space, spaces.Dict):
        return sum(size_of(part, name, what) for part in space.spaces.values())
    if isinstance(space, spaces.Tuple):
        return sum(size_of(part, name, what) for part in space.spaces)
    raise OptionError(
        f"gym:{name} has {what} of type {type(space).__name__}. Allowed: {ALLOWED}. Wrap the "
        "environment, or write a custom World."
    )


def flatten(space: spaces.Space[Any], seen: Any) -> Floats:
    """Makes numbers of an observation."""
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return np.asarray(seen, np.float64).reshape(-1)
    if isinstance(space, spaces.Discrete):
        return _one_hot(int(seen) - int(space.start), int(space.n))
    if isinstance(space, spaces.MultiDiscrete):
        chosen = np.asarray(seen).reshape(-1) - space.start.reshape(-1)
        parts = zip(chosen.tolist(), space.nvec.reshape(-1).tolist(), strict=True)
        return np.concatenate([_one_hot(value, size) for value, size in parts])
    if isinstance(space, spaces.Dict):
        inner = [flatten(part, seen[key]) for key, part in space.spaces.items()]
        return np.concatenate(inner)
    assert isinstance(space, spaces.Tuple)
    pairs = zip(space.spaces, seen, strict=True)
    return np.concatenate([flatten(part, value) for part, value in pairs])


def _one_hot(value: int, size: int) -> Floats:
    row = np.zeros(size)
    row[value] = 1.0
    return row


def decoder(space: spaces.Space[Any]) -> Decode:
    """Returns a function that makes actions of outputs [n, O], one per row."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return lambda outputs: (_largest(outputs) + start).tolist()
    if isinstance(space, spaces.Box):
        return _box(space)
    if isinstance(space, spaces.MultiBinary):
        shape = space.shape
        return lambda outputs: (outputs > 0).astype(np.int8).reshape(-1, *shape)
    if isinstance(space, spaces.MultiDiscrete):
        return _multi_discrete(space)
    keys = list(space.spaces) if isinstance(space, spaces.Dict) else None
    parts: list[Any] = list(
        space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces  # type: ignore[attr-defined]
    )
    ends = np.cumsum([size_of(part, "", "actions") for part in parts])[:-1]
    decoders = [decoder(part) for part in parts]

    def join(outputs: Floats) -> list[Any]:
        columns = np.split(outputs, ends, axis=1)
        rows = zip(*(d(c) for d, c in zip(decoders, columns, strict=True)), strict=True)
        return [row if keys is None else dict(zip(keys, row, strict=True)) for row in rows]

    return join


def _largest(outputs: Floats) -> npt.NDArray[np.int64]:
    """[n] the column of the largest number, the first of equals; never one that is NaN."""
    known = np.where(np.isnan(outputs), -np.inf, outputs)
    return np.asarray(np.argmax(known, axis=1))


def _multi_discrete(space: spaces.MultiDiscrete) -> Decode:
    ends = np.cumsum(space.nvec.reshape(-1))[:-1]

    def choose(outputs: Floats) -> npt.NDArray[Any]:
        chosen = np.stack([_largest(part) for part in np.split(outputs, ends, axis=1)], axis=1)
        return (chosen.reshape(-1, *space.nvec.shape) + space.start).astype(space.dtype)

    return choose


def _box(box: spaces.Box) -> Decode:
    low, high = box.low.astype(np.float64).reshape(-1), box.high.astype(np.float64).reshape(-1)
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(bounded, low / 2 + high / 2, 0.0)
        reach = np.where(bounded, high / 2 - low / 2, 0.0)
    whole = np.issubdtype(box.dtype, np.integer)

    def scale(outputs: Floats) -> npt.NDArray[Any]:
        unit = np.nan_to_num(np.clip(outputs, -1, 1), nan=1.0)
        free = np.nan_to_num(outputs)
        moves = np.clip(np.where(bounded, middle + reach * unit, free), low, high)
        if whole:
            moves = np.rint(moves)
        return moves.astype(box.dtype).reshape(-1, *box.shape)

    return scale
