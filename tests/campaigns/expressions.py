"""Gives hostile expressions to the parser, and checks the message for each.

    python -m tests.campaigns.expressions [--expressions 5000] [--seed 1]

Attributes, calls of everything, imports, huge powers, deep nesting, look-alikes of other alphabets,
zero bytes, lambdas, comprehensions, assignments, formatted texts, endless texts, mutated and
truncated honest expressions, and random characters. For every one,

  * `register_activation` or `register_aggregation` accepts it or raises an ExpressionError, and
    nothing else, within a second;
  * nothing is executed: a trap counts calls;
  * an error about a character shows the text and points at it;
  * an accepted expression is written and read again as the same tree, and computes the same numbers
    on the backends `reference` and `cpu`.

The exit code is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from evonet.backends.reference.expressions import activate_expression, aggregate_expression
from evonet.errors import ExpressionError
from evonet.functions.expressions.expression import Expression, make_expression
from evonet.installation import require_native

SECONDS = 1.0  # no expression takes longer to refuse
HONEST = (
    "x / (1 + exp(-x))",
    "x if x > 0 else 0.01 * x",
    "tanh(log(1 + exp(clip(x, -30, 30)))) * x",
    "min(max(x, -1), 1) ** 3",
    "sin(x) + cos(2 * x) - floor(x) / 3",
    "1 if -1 < x <= 1 and not x == 0 or x > 5 else sigmoid(z)",
    "sqrt(abs(x)) * pi - e",
)
HONEST_JOINS = (
    "sqrt(sum(x * x))",
    "sum(x) / sqrt(count)",
    "max(x) - min(x)",
    "max(x) + log(sum(exp(x - max(x))))",
    "sum((x - mean(x)) ** 2) / count",
    "product(1 + x) - 1",
)
ATTACKS = (
    "__import__('os').system('true')",
    "trap()",
    "trap(x)",
    "x.__class__",
    "x.__class__.__mro__[1].__subclasses__()",
    "().__class__",
    "(1).real",
    "exp.__globals__",
    "exp.__call__(x)",
    "getattr(x, 'real')",
    "eval('trap()')",
    "exec('trap()')",
    "open('/etc/passwd')",
    "print(x)",
    "globals()",
    "[trap() for _ in x]",
    "(trap() for _ in (1, 2))",
    "{trap(): 1}",
    "{trap()}",
    "lambda: trap()",
    "(lambda x: x)(x)",
    "(y := trap())",
    "y := 1",
    "y = 1",
    "x; trap()",
    "x\ntrap()",
    "x\\\n+1",
    "import os",
    "f'{trap()}'",
    "'text'",
    "b'bytes'",
    '"" if x > 0 else 1',
    "...",
    "None",
    "True",
    "x if True else 0",
    "1 if None else x",
    "await x",
    "yield x",
    "yield from x",
    "x @ x",
    "x % 2",
    "x // 2",
    "x & 1",
    "x | 1",
    "x ^ 1",
    "~x",
    "x << 3",
    "x in x",
    "x is x",
    "1 if x is 1 else 0",
    "1 if x in x else 0",
    "x[0]",
    "x[:]",
    "[x]",
    "(x, x)",
    "(x,)",
    "x,",
    "*x",
    "exp(*x)",
    "exp(**x)",
    "exp(x=x)",
    "exp(x, x)",
    "exp()",
    "x(x)",
    "2(3)",
    "exp(exp)",
    "exp",
    "sum",
    "count",
    "1j",
    "0x10",
    "0b1",
    "0o7",
    "007",
    "1_000",
    "1e999",
    "1e39",
    "1..real",
    "1.e",
    "1ex",
    "nan",
    "inf",
    "x ** x",
    "x ** 0.5",
    "x ** 17",
    "x ** 99999999999999999999",
    "9 ** 9 ** 9 ** 9",
    "x ** -17",
    "x ** (2)",
    "x ** --2",
    "x ** True",
    "x < 1",
    "not x",
    "x and x",
    "1 if x else 0",
    "1 if x > 0",
    "if x > 0: 1",
    "x if x > 0 else",
    "(x",
    "x)",
    ")(",
    "",
    " ",
    "\t\n",
    "# comment",
    "x # comment",
    "x\0",
    "\0",
    "x\ufeff",
    "\ufeffx",
    "x\u200b",
    "\uff58 + 1",
    "\u0445 + 1",
    "\U0001d465",
    "x \u2212 1",
    "x \u00d7 2",
    "x\u00b2",
    "\u0663 * x",
    "x\u2028+ 1",
    "x\xa0+ 1",
    "\ud800",
    "e\u0301xp(x)",
    "ex\u0440(x)",
    "$x",
    "x?",
    "`x`",
    "x!",
    "x != ",
    "x -> x",
    "@x",
    "x :",
    "x\x1b[31m",
    "'" * 3,
    "x" * 999,
    "max(x)",
    "sum(sum(sum(sum(sum(sum(x))))))",
    "mean()",
    "sum(x for x in x)",
    "sum(x, 1)",
    "x + sum(x)",
    "max(x, sum(x))",
)


class Trap:
    """Is put where an executed expression would find it."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *args: object, **named: object) -> int:
        """Counts."""
        self.calls += 1
        return 0


def deep(rng: random.Random) -> str:
    depth = rng.choice((40, 60, 99, 200, 400, 450, 5000))
    opening, closing = rng.choice(
        (
            ("(", ")"),
            ("exp(", ")"),
            ("-", ""),
            ("+", ""),
            ("not ", ""),
            ("1 if x > 0 else ", ""),
            ("x + (", ")"),
            ("x ** ", ""),
            ("max(x, ", ")"),
            ("sum(", ")"),
            ("[", "]"),
            ("(x if x > (", ") else 1)"),
        )
    )
    return opening * depth + "x" + closing * depth


def mutated(rng: random.Random) -> str:
    text = rng.choice(HONEST + HONEST_JOINS + ATTACKS)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        piece = rng.choice(
            (
                *"()+-*/<>=!.,:;'\"[]{}#\\@ \n\t\0x0189_",
                "**",
                " if ",
                " else ",
                " and ",
                "not ",
                "lambda ",
                "trap()",
                "exp(",
                "sum(",
                "\u0445",
                ":=",
                "1e9",
                "__class__",
            )
        )
        end = at + rng.choice((0, 0, 1, 3, 20))
        text = text[:at] + piece + text[end:]
    return text


def shuffled(rng: random.Random) -> str:
    words = ("x", "1", "2.5", "exp", "(", ")", "+", "-", "*", "/", "**", "if", "else", ">", ",")
    return " ".join(
        rng.choices((*words, "sum", "max", "count", "not", "and"), k=rng.randint(1, 40))
    )


def noise(rng: random.Random) -> str:
    return "".join(
        chr(rng.randrange(rng.choice((128, 256, 0x3000)))) for _ in range(rng.randint(1, 99))
    )


def endless(rng: random.Random) -> str:
    unit = rng.choice(("x + ", "exp(x) * ", "9", "x if x > 0 else ", "x, ", "(", "-", "x" * 9))
    return unit * rng.choice((30, 90, 200, 2000, 100_000)) + "x"


def honest(rng: random.Random) -> str:
    return rng.choice(HONEST + HONEST_JOINS)


MAKERS: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: rng.choice(ATTACKS),
    deep,
    mutated,
    mutated,
    shuffled,
    noise,
    endless,
    honest,
)


def check_message(error: ExpressionError, text: str) -> str | None:
    """What is wrong with an error, if anything."""
    lines = str(error).split("\n")
    if not lines[0].startswith("here: ") or "Traceback" in lines[0]:
        return f"message {lines[0]!r}"
    if any(not line.isprintable() for line in lines):
        return "a message that cannot be printed"
    if error.position is None:
        return None if len(lines) == 1 else "a mark without a position"
    if len(lines) != 3 or lines[2].strip() != "^":
        return f"no mark in {lines!r}"
    # The mark stands below the character, or one behind the end.
    at, shown = lines[2].index("^"), lines[1]
    if error.position < len(text) and " " < text[error.position] <= "~":
        return None if shown[at] == text[error.position] else "a mark at another character"
    return None


def check_taken(expression: Expression, rng: random.Random) -> str | None:
    again = make_expression(expression.text, expression.kind, "here")
    if again != expression:
        return f"{expression.text} is read as {again.text}"
    native = require_native()
    code = expression.program
    function = native.Function(code.code, code.constants, code.bounds, code.result)
    x = np.array([rng.gauss(0, 3) for _ in range(12)] + [0.0, np.inf, -np.inf, np.nan], np.float32)
    simd = rng.choice(native.simd_levels())
    with np.errstate(all="ignore"):
        if expression.kind == "activation":
            found, wanted = function.activate(x, simd), activate_expression(expression.steps, x)
        else:
            weights, values = x[:4].copy(), np.tile(x, (4, 1))
            found = function.aggregate(weights, values, simd)
            wanted = aggregate_expression(expression.steps, weights[:, None] * values)
    same = (found.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(found) & np.isnan(wanted))
    return None if same.all() else f"{expression.text} gives {found} and {wanted}"


def try_one(
    text: str, kind: Literal["activation", "aggregation"], rng: random.Random
) -> tuple[str, str | None]:
    """What became of an expression, and what was wrong with that."""
    begun = time.process_time()  # of this process alone, however busy the machine is
    try:
        expression = make_expression(text, kind, "here")
        outcome, fault = "taken", check_taken(expression, rng)
    except ExpressionError as error:
        outcome, fault = "refused", check_message(error, text)
    except BaseException:
        outcome, fault = "crashed", traceback.format_exc()
    if time.process_time() - begun > SECONDS:
        fault = fault or f"took {time.process_time() - begun:.1f} s"
    return outcome, fault


def run(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Tries many expressions; every attack that is listed is among the first.

    Returns:
        How often each thing happened, and all faults.
    """
    import builtins

    rng, trap = random.Random(seed), Trap()
    seen: Counter[str] = Counter()
    faults: list[str] = []
    here = sys.modules[try_one.__module__]
    spaces: list[dict[str, Any]] = [vars(builtins), vars(here)]
    for space in spaces:
        space["trap"] = trap
    try:
        for i in range(count):
            text = ATTACKS[i] if i < len(ATTACKS) else rng.choice(MAKERS)(rng)
            kind: Literal["activation", "aggregation"] = rng.choice(("activation", "aggregation"))
            outcome, fault = try_one(text, kind, rng)
            seen[outcome] += 1
            if fault:
                faults.append(f"{kind} {text[:80]!r}: {fault}")
    finally:
        for space in spaces:
            space.pop("trap", None)
    if trap.calls:
        faults.append(f"{trap.calls} expressions were executed")
    return seen, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--expressions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begun = time.perf_counter()
    seen, faults = run(options.expressions, options.seed)
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    print(
        f"{options.expressions} expressions in {time.perf_counter() - begun:.0f} s: "
        f"{seen['taken']} taken, {seen['refused']} refused, {seen['crashed']} crashed, "
        f"{len(faults)} faults"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
