"""The [task] table: read-only, and interpreted by the task itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from evonet.errors import ConfigFault
from evonet.messages import name, show

# Tables and lists within each other; deeper nesting could exhaust the stack.
MOST_LEVELS: Final = 16
# Longer numbers cannot be written again: Python prints at most 4,300 digits.
MOST_BITS: Final = 4096


class FrozenTable(Mapping[str, object]):
    """A read-only mapping of what `freeze` returned: its tables and lists are read-only too."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, key: str) -> object:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"FrozenTable({self._values!r})"


def freeze(value: object, key: str, faults: list[ConfigFault], level: int = 0) -> object:
    """Copies what TOML can express into read-only form: tuples and `FrozenTable`.

    Everything that TOML cannot express is a fault; `level` tables and lists are around the value.
    """
    if level > MOST_LEVELS:
        problem = f"is nested too deeply. Allowed: {MOST_LEVELS} levels"
    elif isinstance(value, Mapping):
        for inner in value:
            if not isinstance(inner, str) or not _encodes(inner):
                faults.append(ConfigFault(key, f"{key} has the key {show(inner)}. Expected text."))
        return FrozenTable(
            {
                str(inner): freeze(item, f"{key}.{name(inner)}", faults, level + 1)
                for inner, item in value.items()
            }
        )
    elif isinstance(value, (list, tuple)):
        return tuple(freeze(item, key, faults, level + 1) for item in value)
    elif isinstance(value, bool):
        return value
    elif isinstance(value, int):
        if value.bit_length() <= MOST_BITS:
            return int(value)  # NumPy's numbers and enums are written differently
        problem = f"= {show(value)} is too long. Allowed: {MOST_BITS} bits"
    elif isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        problem = f"= {value} must be finite"
    elif isinstance(value, str):
        if _encodes(value):
            return str(value)
        problem = f"= {show(value)} must be valid Unicode"
    else:
        found = type(value).__name__
        problem = f"is a {found}. Expected a string, number, boolean, list or table"
    faults.append(ConfigFault(key, f"{key} {problem}."))
    return value


def thaw(value: object) -> object:
    """Copies a read-only value into plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [thaw(inner) for inner in value]
    return value


def _encodes(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)
