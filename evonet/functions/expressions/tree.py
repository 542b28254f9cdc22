"""The tree of an expression: what people may write, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

FunctionKind: TypeAlias = Literal["activation", "aggregation"]

MOST_NODES: Final = 400
MOST_DEPTH: Final = 100
MOST_EXPONENT: Final = 16
LARGEST_NUMBER: Final = 3.4028234663852886e38  # of float32

# Operators with their text and how strongly they bind; a larger number binds stronger.
IF, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(10)
COMPARISONS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
BINARY: Final = {
    "or": ("or", OR),
    "and": ("and", AND),
    **{op: (sign, COMPARE) for op, sign in COMPARISONS.items()},
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "div": ("/", PRODUCT),
}
CONDITIONS: Final = frozenset({"or", "and", "not", *COMPARISONS})
# Functions of numbers, with the smallest and largest number of arguments.
FUNCTIONS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor"), (1, 1)),
    "sigmoid": (1, 1),
    "min": (2, MOST_NODES),
    "max": (2, MOST_NODES),
    "clip": (3, 3),
}
# Reductions over all links: the word that people write, and the operation.
REDUCTIONS: Final = {
    "sum": "sum_of",
    "product": "product_of",
    "mean": "mean_of",
    "max": "max_of",
    "min": "min_of",
}
REDUCED: Final = {op: word for word, op in REDUCTIONS.items()}


@dataclass(frozen=True, slots=True)
class ExpressionNode:
    """One operation and what it is applied to."""

    # "number", "x", "count", a name of `BINARY`, `FUNCTIONS` or `REDUCED`, "neg", "not", "power" or
    # "if" (condition, then, else).
    op: str
    args: tuple[ExpressionNode, ...] = ()  # the operands
    value: float = 0.0  # the value of a number, at least 0, or the exponent of a power


def number(value: float) -> ExpressionNode:
    """A constant; a negative one is the negation of a positive one."""
    if value < 0:
        return ExpressionNode("neg", (ExpressionNode("number", value=-value),))
    return ExpressionNode("number", value=value + 0.0)


def varies(node: ExpressionNode) -> bool:
    """Whether a value differs between links: it has an x outside of all reductions."""
    if node.op in REDUCED:
        return False
    return node.op == "x" or any(varies(arg) for arg in node.args)


def size_of(node: ExpressionNode) -> int:
    """The number of nodes of a tree; a shared one counts every time."""
    return _measure(node, {})[0]


def depth_of(node: ExpressionNode) -> int:
    """The number of nodes on the longest path from the root."""
    return _measure(node, {})[1]


def _measure(node: ExpressionNode, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    found = known.get(id(node))
    if found is None:
        parts = [_measure(arg, known) for arg in node.args]
        found = 1 + sum(size for size, _ in parts), 1 + max((d for _, d in parts), default=0)
        known[id(node)] = found
    return found


def write(node: ExpressionNode) -> str:
    """Writes a tree as text, always in the same way; the parser gives an equal tree."""
    return _write(node)[0]


def _write(node: ExpressionNode) -> tuple[str, int]:
    """Text, and how strongly its outermost operator binds."""
    op, args = node.op, node.args
    if op in BINARY:
        sign, level = BINARY[op]
        # Operators of one level are read from the left; comparisons are chained instead.
        left = _within(args[0], level + (level == COMPARE))
        return f"{left} {sign} {_within(args[1], level + 1)}", level
    if op == "if":
        condition, then, other = args
        return f"{_within(then, OR)} if {_within(condition, OR)} else {_within(other, IF)}", IF
    if op == "not":
        return f"not {_within(args[0], NOT)}", NOT
    if op == "neg":
        return f"-{_within(args[0], SIGN)}", SIGN
    if op == "power":
        return f"{_within(args[0], ATOM)} ** {int(node.value)}", POWER
    if op == "number":
        whole = node.value.is_integer() and node.value < 1e15
        return str(int(node.value)) if whole else repr(node.value), ATOM
    if not args:
        return op, ATOM
    return f"{REDUCED.get(op, op)}({', '.join(_write(arg)[0] for arg in args)})", ATOM


def _within(node: ExpressionNode, least: int) -> str:
    text, level = _write(node)
    return text if level >= least else f"({text})"
