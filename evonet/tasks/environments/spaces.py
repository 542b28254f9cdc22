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
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from evonet.errors import OptionError

Floats: TypeAlias = npt.NDArray[np.float64]
# Makes an action of O outputs.
Decode: TypeAlias = Callable[[list[float]], Any]

ALLOWED: Final = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple of these"

# Numbers up to so many bend a tanh at once, but leave it something to learn.
NEAR: Final = 50.0
# Bounds beyond are those of a type of numbers, and describe nothing.
BOUNDLESS: Final = 1e30


def size_of(space: spaces.Space[Any], name: str, what: str) -> int:
    """How many numbers stand for a space.

    Args:
        space: The space.
        name: What users call the environment, for errors.
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
        f"{name} has {what} of type {type(space).__name__}. Allowed: {ALLOWED}. Wrap the "
        "environment, or write a custom World."
    )


def names_of(space: spaces.Space[Any], name: str = "") -> list[str]:
    """Names the numbers that stand for a space by the keys of its Dicts, such as "arm.speed 2".

    Args:
        space: A space that `size_of` accepts.
        name: The names of the Dicts and Tuples around it.
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        inner = [names_of(part, f"{name}.{key}" if name else str(key)) for key, part in parts]
        return [found for names in inner for found in names]
    if isinstance(space, spaces.Discrete):
        return [f"{name} = {value + int(space.start)}" for value in range(int(space.n))]
    size = size_of(space, "", "")
    return [name] if size == 1 else [f"{name} {i}" for i in range(size)]


def is_wide(space: spaces.Space[Any]) -> bool:
    """Whether networks may see numbers far from 1: by wide bounds, or none; not for images."""
    if isinstance(space, spaces.Box):
        reach = np.maximum(np.abs(space.low), np.abs(space.high)).astype(np.float64)
        unbounded = reach > BOUNDLESS
        wide = bool(((reach > NEAR) & ~unbounded).any() or (reach.size and unbounded.all()))
        return wide and len(space.shape) <= 1
    if isinstance(space, spaces.Dict):
        return any(map(is_wide, space.spaces.values()))
    return isinstance(space, spaces.Tuple) and any(map(is_wide, space.spaces))


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
    """Returns a function that makes an action of O outputs; the space contains it."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return lambda outputs: start + _largest(outputs)
    if isinstance(space, spaces.Box):
        return _box(space)
    if isinstance(space, spaces.MultiBinary):
        shape = space.shape
        return lambda outputs: np.array([y > 0 for y in outputs], np.int8).reshape(shape)
    if isinstance(space, spaces.MultiDiscrete):
        return _multi_discrete(space)
    keys = list(space.spaces) if isinstance(space, spaces.Dict) else None
    parts: list[Any] = list(
        space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces  # type: ignore[attr-defined]
    )
    places = _slices([size_of(part, "", "actions") for part in parts])
    decoders = [decoder(part) for part in parts]

    def join(outputs: list[float]) -> Any:
        found = [d(outputs[place]) for d, place in zip(decoders, places, strict=True)]
        return tuple(found) if keys is None else dict(zip(keys, found, strict=True))

    return join


def _slices(sizes: Iterable[int]) -> list[slice]:
    ends = list(accumulate(sizes))
    return [slice(*pair) for pair in pairwise([0, *ends])]


def _largest(outputs: list[float]) -> int:
    """The position of the largest number, the first of equals; never one that is NaN."""
    largest = max(outputs)
    if largest != largest:  # max passes over a NaN, but not over the first number
        known = [-math.inf if y != y else y for y in outputs]
        return known.index(max(known))
    return outputs.index(largest)


def _multi_discrete(space: spaces.MultiDiscrete) -> Decode:
    places = _slices(space.nvec.reshape(-1).tolist())
    starts = space.start.reshape(-1).tolist()

    def choose(outputs: list[float]) -> npt.NDArray[Any]:
        pairs = zip(places, starts, strict=True)
        chosen = [start + _largest(outputs[place]) for place, start in pairs]
        return np.array(chosen, space.dtype).reshape(space.nvec.shape)

    return choose


def _box(box: spaces.Box) -> Decode:
    dtype, shape = box.dtype, None if len(box.shape) == 1 else box.shape
    whole = np.issubdtype(dtype, np.integer)
    farthest = math.inf if whole else float(np.finfo(cast(Any, dtype)).max)
    ranges = []
    for low, high in zip(*(b.reshape(-1).tolist() for b in (box.low, box.high)), strict=True):
        bounded = math.isfinite(low) and math.isfinite(high)
        middle, reach = (low / 2 + high / 2, high / 2 - low / 2) if bounded else (0.0, None)
        ranges.append((max(low, -farthest), min(high, farthest), middle, reach))

    def scale(outputs: list[float]) -> npt.NDArray[Any]:
        moves: list[float] = []
        # A step of the environment waits for this: no arrays, and comparisons rather than min, max.
        for y, (low, high, middle, reach) in zip(outputs, ranges, strict=True):
            if reach is not None:
                y = middle + reach * (y if -1.0 <= y <= 1.0 else -1.0 if y < -1.0 else 1.0)
            elif y != y:
                y = 0.0
            moves.append(y if low <= y <= high else low if y < low else high)
        made = np.array(list(map(round, moves)) if whole else moves, dtype)
        return made if shape is None else made.reshape(shape)

    return scale
