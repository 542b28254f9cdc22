"""Custom functions: text that is nearly an expression, and expressions of any size."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import numpy as np

from evonet.functions.expressions.expression import make_expression
from tests.campaigns.hostile.watch import Input

SHARE: Final = 70
TOKENS: Final = (
    *("x", "x", "x", "1", "0", "2.5", "1e999", "1e-999", "9" * 400, ".5", "5.", "1j", "0x1", "1_0"),
    *(
        "+",
        "-",
        "*",
        "/",
        "**",
        "%",
        "//",
        "<",
        "==",
        "and",
        "or",
        "not",
        "if",
        "else",
        "lambda x:",
    ),
    *("(", ")", "[", "]", "{", "}", ",", ".", ":", "=", ":=", ";", "\\", "\n", "\t", "#", '"', "'"),
    *(
        "exp(",
        "log(",
        "sum(",
        "max(",
        "min(",
        "count",
        "mean(",
        "abs(",
        "sqrt(",
        "pi",
        "__import__('os')",
    ),
    *(
        "\x00",
        "\x1b",
        "\ud800",
        "\u00b2",
        "\u2212",
        "\uff58",
        "x.__class__",
        "f'{x}'",
        "await x",
        "*x",
    ),
)
PAIRS: Final = (
    ("(", ")"),
    ("-(", ")"),
    ("exp(", ")"),
    ("x + (", ")"),
    ("max(x, ", ")"),
    ("[", "]"),
)


def attack(rng: random.Random, folder: Path) -> Input:
    """Makes a hostile text, and translates it; what is accepted is computed."""
    kind = rng.choice(("activation", "aggregation"))
    text = _tree(rng, 4) if rng.random() < 0.4 else _soup(rng)
    if rng.random() < 0.05:
        before, after = rng.choice(PAIRS)
        depth = rng.choice((10, 100, 1000, 20_000))
        text = before * depth + "x" + after * (depth if rng.random() < 0.8 else depth - 1)
    elif rng.random() < 0.02:
        text = rng.choice((" + ", " * ", "", " ", "-")).join(["x"] * rng.choice((100, 3000)))

    def translate() -> None:
        made = make_expression(text, kind, "here")  # type: ignore[arg-type]
        again = make_expression(made.text, kind, "here")  # type: ignore[arg-type]
        if again.text != made.text:
            raise AssertionError(f"{made.text} is spelled {again.text} the second time")
        np.asarray(made.program.constants, np.float64)

    return translate


def _soup(rng: random.Random) -> str:
    return rng.choice(("", " ")).join(rng.choices(TOKENS, k=rng.choice((1, 3, 8, 40))))


def _tree(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(("x", "x", "1", "2.5", "1e30", "count", "pi", "y", "-x", "1e400"))
    kind = rng.randrange(5)
    if kind == 0:
        name = rng.choice(
            ("exp", "log", "tanh", "abs", "sum", "mean", "max", "min", "sqrt", "sin", "eval")
        )
        some = ", ".join(_tree(rng, depth - 1) for _ in range(rng.choice((0, 1, 1, 1, 2, 3))))
        return f"{name}({some})"
    if kind == 1:
        return (
            f"({_tree(rng, depth - 1)} if {_tree(rng, depth - 1)} < 0 else {_tree(rng, depth - 1)})"
        )
    sign = rng.choice(("+", "-", "*", "/", "**", "<", ">=", "%", "and"))
    return f"({_tree(rng, depth - 1)} {sign} {_tree(rng, depth - 1)})"
