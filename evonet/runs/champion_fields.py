"""What a champion file may hold, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from evonet.definitions.dynamics import KIND_NAMES, MOST_STEPS, PROPAGATIONS
from evonet.errors import FileFormatError
from evonet.functions.registry import is_texts
from evonet.genes.arrays import LARGEST_KEY, MOST_PINS
from evonet.messages import show

FORMAT: Final = "evonet.champion"
VERSION: Final = 1

Scalar: TypeAlias = "str | int | float | bool | None"
# A test, and what it expects in words.
Rule: TypeAlias = tuple[Callable[[Any], bool], str]


def check_fields(document: Mapping[str, Any]) -> None:
    """Raises unless every entry is there and has the right type and range.

    Whether the genes make sense together is for `Population` to find out.

    Raises:
        FileFormatError: Something is missing, unknown or wrong; the message names it.
    """
    if document.get("format") != FORMAT:
        raise FileFormatError(f'format is {show(document.get("format"))}. Expected "{FORMAT}".')
    version = document.get("version")
    if type(version) is int and version > VERSION:
        raise FileFormatError(
            f"has version {show(version)}, from a newer evonet. This one reads up to version "
            f"{VERSION}. Update evonet."
        )
    optional = {name: rule for name, rule in OPTIONAL.items() if name in document}
    _check_table(document, FIELDS | optional, "")
    if "tested" in document:
        _check_table(document["tested"], TESTED, "tested.")
    for name, rules in (("nodes", NODE), ("connections", CONNECTION)):
        if _all_fit(document[name], rules):
            continue
        for i, gene in enumerate(document[name]):
            if not isinstance(gene, dict):
                raise FileFormatError(f"{name}[{i}] is {show(gene)}. Expected an object.")
            _check_table(gene, rules, f"{name}[{i}].")


def _all_fit(genes: list[Any], rules: Mapping[str, Rule]) -> bool:
    """Whether `_check_table` would accept all genes, column by column and so in half the time."""
    names = rules.keys()
    if not all(type(gene) is dict and gene.keys() == names for gene in genes):
        return False
    return all(all(map(fits, [gene[name] for gene in genes])) for name, (fits, _) in rules.items())


def _check_table(table: Mapping[str, Any], rules: Mapping[str, Rule], prefix: str) -> None:
    for name in sorted(rules.keys() ^ table.keys()):
        problem = "is missing" if name in rules else "is unknown"
        expected = ", ".join(sorted(rules))
        raise FileFormatError(f"{prefix}{show(name)[1:-1]} {problem}. Expected {expected}.")
    for name, (fits, expected) in rules.items():
        if not fits(table[name]):
            raise FileFormatError(f"{prefix}{name} is {show(table[name])}. Expected {expected}.")


def _whole(least: int, most: int) -> Rule:
    return lambda value: type(value) is int and least <= value <= most, f"{least} to {most}"


def _maybe(rule: Rule) -> Rule:
    return lambda value: value is None or rule[0](value), f"{rule[1]}, or null"


def _one_of(*options: str) -> Rule:
    return lambda value: value in options, " or ".join(f'"{option}"' for option in options)


def _is_real(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= LARGEST_KEY
    return type(value) is float and math.isfinite(value)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _is_metadata(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(name, str) and _is_scalar(item) for name, item in value.items())


def _is_arrays(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(item, list) and all(map(_is_real, item)) for item in value.values())


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool)) or _is_real(value)


REAL: Final[Rule] = (_is_real, "a finite number")
TEXT: Final[Rule] = (lambda value: isinstance(value, str), "a text")
LIST: Final[Rule] = (lambda value: isinstance(value, list), "a list")
KEY: Final = _whole(-MOST_PINS, LARGEST_KEY)

FIELDS: Final[dict[str, Rule]] = {
    "format": _one_of(FORMAT),
    "version": _whole(1, VERSION),
    "kind": _one_of(*KIND_NAMES),
    "propagation": _one_of(*PROPAGATIONS),
    "time_step": _maybe(REAL),
    "steps": _whole(1, MOST_STEPS),
    "num_inputs": _whole(0, MOST_PINS),
    "num_outputs": _whole(0, MOST_PINS),
    "dtype": _one_of("float32", "float64"),
    "fitness": _maybe(REAL),
    "generation": _maybe(_whole(0, LARGEST_KEY)),
    "id": _maybe(_whole(0, LARGEST_KEY)),
    "seed": _maybe(_whole(0, 2**64 - 1)),
    "config_digest": _maybe((_is_digest, "a SHA-256")),
    "metadata": (_is_metadata, "an object of texts, numbers, true, false and null"),
    "functions": (is_texts, "tables of activations and aggregations with expressions"),
    "nodes": LIST,
    "connections": LIST,
}
# What only some champions have.
OPTIONAL: Final[dict[str, Rule]] = {
    "encoding": (lambda value: isinstance(value, dict), "an object"),
    "tested": (lambda value: isinstance(value, dict), "an object"),
    "task_state": (lambda value: _is_arrays(value), "an object of lists of finite numbers"),
}
TESTED: Final[dict[str, Rule]] = {
    "episodes": _whole(2, 2**31 - 1),
    "low": REAL,
    "high": REAL,
    "worst": REAL,
}
NODE: Final[dict[str, Rule]] = {
    "key": KEY,
    "bias": REAL,
    "response": REAL,
    "activation": TEXT,
    "aggregation": TEXT,
    "time_constant": REAL,
}
CONNECTION: Final[dict[str, Rule]] = {
    "source": KEY,
    "target": KEY,
    "weight": REAL,
    "enabled": (lambda value: isinstance(value, bool), "true or false"),
    "innovation": _whole(0, LARGEST_KEY),
}
