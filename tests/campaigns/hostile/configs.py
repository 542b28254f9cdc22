"""Configs: TOML and INI from a grammar of hostile pieces, and tables from Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from evonet.config import Config
from evonet.config.schema import settings
from evonet.installation import resource_folder
from evonet.tasks import task_from_config
from tests.campaigns.hostile.hostile_values import damage, spoil
from tests.campaigns.hostile.watch import Input

SHARE: Final = 6
VALUES: Final = (
    *(
        "1",
        "0",
        "-1",
        "1.5",
        "true",
        '"x"',
        "[]",
        "{}",
        "[[[[1]]]]",
        "{a = {b = {}}}",
        "nan",
        "inf",
    ),
    *("9" * 30, "9" * 5000, "0x" + "f" * 400, "1e400", "1979-05-27", '"\\u0000"', "'''\nx\n'''"),
    *('"' + "a" * 3000 + '"', "[" * 200, '"', "'", '"""', "=", "[1, 2", "{a =", "0b2", "1__0", ""),
)
KEYS: Final = (
    "a",
    "a.b",
    '"a b"',
    "''",
    "name",
    "pop_size",
    "a" * 400,
    "=",
    "[",
    "\u00e9",
    "-",
    "1",
)
SEPARATORS: Final = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", " ", "\t", "#\n", "\x0b", "\u2028")


def attack(rng: random.Random, folder: Path) -> Input:
    """Writes a hostile config, and loads it; makes its task if it is one that needs no file."""
    if rng.random() < 0.2:
        tables = spoil(_tables(), rng, rng.choice((1, 2, 5)))
        return lambda: _use(lambda: Config.from_dict(tables))
    if rng.random() < 0.3:
        data = damage(rng.choice(_texts()), rng)
    else:
        data = _text(rng).encode("utf-8", "replace")
    path = folder / rng.choice(("a.toml", "a.toml", "a.ini", "a.cfg", "a", "a.txt"))
    path.write_bytes(data)
    return lambda: _use(lambda: Config.load(path))


def prepare() -> None:
    """Reads the configs that are spoilt."""
    _names()
    _texts()
    _tables()


def _use(load: Callable[[], Config]) -> None:
    config = load()
    again = Config.loads(config.to_toml())
    if again != config:
        raise AssertionError("the config differs after being written and read again")
    if config.task.get("name") in ("xor", "parity", "cartpole"):
        task_from_config(config, "a.toml")


def _text(rng: random.Random) -> str:
    names = _names()
    parts = []
    for _ in range(rng.choice((1, 5, 30))):
        kind = rng.randrange(8)
        if kind == 0:
            parts.append(
                rng.choice(("[neat]", "[task]", "[[neat]]", "[", "[ ]", "[functions.x]", "[NEAT]"))
            )
        elif kind == 1:
            parts.append(
                rng.choice((" ", "[", "a", '"', ".", "]", "=", "a.")) * rng.choice((3, 3000))
            )
        elif kind == 2:
            table, _, key = rng.choice(names).partition(".")
            parts.append(f"[{table}]\n{key} = {rng.choice(VALUES)}")
        else:
            parts.append(f"{rng.choice(KEYS)} = {rng.choice(VALUES)}")
        parts.append(rng.choice(SEPARATORS))
    return "".join(parts)


@cache
def _names() -> tuple[str, ...]:
    return (*settings(Config), "task.name", "task.bits", "functions.activations")


@cache
def _texts() -> tuple[bytes, ...]:
    folder = resource_folder("configs")
    return tuple(
        path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".toml", ".ini")
    )


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = Config().to_dict()
    tables["task"] = {"name": "parity", "bits": 3, "inner": {"a": [1, 2.5, "b"]}}
    tables["functions"] = {"activations": {"swish": "x / (1 + exp(-x))"}}
    return tables
