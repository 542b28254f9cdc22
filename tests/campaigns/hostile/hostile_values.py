"""Values that break things, and how to put them into documents."""

from __future__ import annotations

import copy
import random
from typing import Any, Final

# What JSON, TOML and Python can express and nobody expects.
SCALARS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -0.0, 1, -1, 2, 0.5, 1e-320, 5e-324, 1e308, -1.7976931348623157e308),
    *(2**31 - 1, 2**31, -(2**31), 2**53, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(float("inf"), float("-inf"), float("nan"), "", "x", "0", "nan", "sigmoid", "-1", "1e999"),
    *(
        "\x00",
        "\x1b[31m",
        "\ud800",
        "\u202e",
        "\U0001f9ec",
        "a" * 5000,
        "<script>",
        "%s%n",
        "../..",
    ),
)


def value(rng: random.Random, depth: int = 2) -> Any:
    """Any value, nested or not."""
    kind = rng.randrange(12)
    if depth and kind == 0:
        return [value(rng, depth - 1) for _ in range(rng.choice((0, 1, 3, 40)))]
    if depth and kind == 1:
        names = ("key", "x", "", "\ud800", "source", "activations", "a" * 300)
        return {rng.choice(names): value(rng, depth - 1) for _ in range(rng.choice((0, 1, 3)))}
    if kind == 2:
        return rng.uniform(-10, 10) * 10.0 ** rng.randint(-300, 300)
    if kind == 3:
        return rng.randint(-(2 ** rng.randrange(1, 80)), 2 ** rng.randrange(1, 80))
    return rng.choice(SCALARS)


def spoil(document: Any, rng: random.Random, times: int = 1) -> Any:
    """Copies a document of dicts and lists with values replaced, removed, added and repeated."""
    spoilt = copy.deepcopy(document)
    for _ in range(times):
        holder = spoilt
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = rng.choice(keys)
            inner = holder[key]
            if isinstance(inner, (dict, list)) and inner and rng.random() < 0.8:
                holder = inner
                continue
            _spoil_entry(holder, key, rng)
            break
    return spoilt


def _spoil_entry(holder: Any, key: Any, rng: random.Random) -> None:
    way = rng.randrange(8)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.extend([holder[key]] * rng.choice((1, 2, 500)))
    elif way == 1:
        holder[rng.choice(("", "extra", "\x1b", "num_inputs"))] = holder[key]
    elif way == 2 and isinstance(holder[key], (int, float)):
        holder[key] = holder[key] * rng.choice((-1, 2, 1000, 2**31, 2**100))
    else:
        holder[key] = value(rng)


def damage(data: bytes, rng: random.Random) -> bytes:
    """Changes, inserts, removes and repeats bytes."""
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(spoilt) + 1)
        way = rng.randrange(6)
        if way == 0:
            del spoilt[at:]
        elif way == 1:
            del spoilt[at : at + rng.randrange(1, 20)]
        elif way == 2:
            spoilt[at:at] = rng.randbytes(rng.randrange(1, 20))
        elif way == 3:
            spoilt[at:at] = spoilt[at : at + rng.randrange(1, 200)] * rng.choice((1, 3))
        elif at < len(spoilt):
            spoilt[at] = rng.choice((0, 0xFF, spoilt[at] ^ 1 << rng.randrange(8), 0x22, 0x7B))
    return bytes(spoilt)
