"""Lowers a tree to steps in a fixed order, which every backend follows.

A step is a single correctly rounded operation, or one of the functions of
`kernels/numerics/expression.h`. Short forms are spelled out here: powers are products, `sigmoid(x)`
is `1 / (1 + exp(-x))`, `clip(x, a, b)` is `max(a, min(b, x))`, a mean is a sum divided by the
count. Equal values are computed once.

An activation is one list of steps. An aggregation makes as many passes over its links as its
reductions are nested: `sum((x - mean(x)) ** 2)` makes two. Steps that are equal for all links come
before the pass that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from evonet.functions.expressions.tree import (
    COMPARISONS,
    REDUCED,
    ExpressionNode,
    FunctionKind,
    varies,
)

MOST_PASSES: Final = 4
MOST_REDUCTIONS: Final = 8

UNARY: Final = ("neg", "exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor", "not")
BINARY: Final = ("add", "sub", "mul", "div", "min", "max", "and", "or", *COMPARISONS)
REDUCTIONS: Final = ("sum_of", "product_of", "max_of", "min_of")


class ExpressionStep(NamedTuple):
    """One operation."""

    op: str  # "x", "count", "number", "if", or a name of `UNARY`, `BINARY` or `REDUCTIONS`
    args: tuple[int, ...] = ()  # positions of earlier steps
    value: float = 0.0  # the value of a number, of either sign


@dataclass
class Pass:
    """One pass over all links."""

    # Steps that come first and are equal for all links.
    before: list[int] = field(default_factory=list)
    each: list[int] = field(default_factory=list)  # steps for every link, in order, starting with x
    # Steps that join the links; their results are equal for all links.
    reductions: list[int] = field(default_factory=list)


@dataclass
class ExpressionSteps:
    """All steps of an expression."""

    steps: list[ExpressionStep] = field(default_factory=list)  # the steps by position
    # The passes of an aggregation over its links; an activation has none.
    passes: list[Pass] = field(default_factory=list)
    # Steps after the last pass; all steps of an activation.
    last: list[int] = field(default_factory=list)
    result: int = 0  # position of the step whose value is the result
    # Whether the result is a value for each link of the last pass, as derivatives have it.
    terms: bool = False


def lower(tree: ExpressionNode, kind: FunctionKind) -> ExpressionSteps:
    """Lowers a tree; raises ValueError if it has too many reductions or nests them too deeply."""
    lowering = _Lowering(kind, _nesting(tree))
    lowering.result.result = lowering.place(tree, lowering.num_passes)
    return lowering.result


def _nesting(node: ExpressionNode) -> int:
    """The number of passes that must be complete before a value is known."""
    inner = max((_nesting(arg) for arg in node.args), default=0)
    return inner + (node.op in REDUCED)


def _registers(node: ExpressionNode) -> int:
    """The smallest number of values that must be kept at a time to compute one."""
    needs = sorted((_registers(arg) for arg in node.args), reverse=True)
    return max((need + kept for kept, need in enumerate(needs)), default=1)


class _Lowering:
    def __init__(self, kind: FunctionKind, num_passes: int) -> None:
        if num_passes > MOST_PASSES:
            raise ValueError(f"reductions are nested {num_passes} deep. Allowed: {MOST_PASSES}.")
        self.num_passes = num_passes
        self.result = ExpressionSteps(passes=[Pass() for _ in range(num_passes)])
        self._kind = kind
        self._known: dict[tuple[str, tuple[int, ...], str, int], int] = {}

    def place(self, node: ExpressionNode, number: int) -> int:
        """Adds the steps of a value that pass `number`, or what is last, will need."""
        if self._kind == "activation":
            home = self.result.last
        elif varies(node):
            home = self.result.passes[number].each
        else:
            home = self._before(_nesting(node))
        return self._build(node, number, home)

    def _before(self, number: int) -> list[int]:
        """The steps that are equal for all links and come before a pass."""
        passes = self.result.passes
        return passes[number].before if number < len(passes) else self.result.last

    def _build(self, node: ExpressionNode, number: int, home: list[int]) -> int:
        def step(op: str, *args: int) -> int:
            return self._add(ExpressionStep(op, args), home)

        op = node.op
        if op in REDUCED:
            return self._reduce(node)
        if op == "number":
            return self._constant(node.value)
        if op == "neg" and node.args[0].op == "number":
            return self._constant(-node.args[0].value)
        # Operands that need most registers come first; the values do not depend on it.
        placed = {
            arg: self.place(arg, number) for arg in sorted(node.args, key=_registers, reverse=True)
        }
        args = [placed[arg] for arg in node.args]
        if op == "power":
            return self._power(args[0], int(node.value), home)
        if op == "sigmoid":
            one = self._constant(1.0)
            return step("div", one, step("add", one, step("exp", step("neg", args[0]))))
        if op == "clip":
            x, low, high = args
            return step("max", low, step("min", high, x))
        if op in ("min", "max"):
            joined = args[0]
            for arg in args[1:]:
                joined = step(op, joined, arg)
            return joined
        if op == "count":
            return self._add(ExpressionStep("count"), self._before(0))
        return step(op, *args)

    def _reduce(self, node: ExpressionNode) -> int:
        number = _nesting(node.args[0])
        value = self.place(node.args[0], number)
        op = "sum_of" if node.op == "mean_of" else node.op
        total = self._add(ExpressionStep(op, (value,)), self.result.passes[number].reductions)
        if sum(len(each.reductions) for each in self.result.passes) > MOST_REDUCTIONS:
            raise ValueError(f"has too many reductions. At most {MOST_REDUCTIONS} are allowed.")
        if node.op != "mean_of":
            return total
        count = self._add(ExpressionStep("count"), self._before(0))
        return self._add(ExpressionStep("div", (total, count)), self._before(number + 1))

    def _power(self, x: int, exponent: int, home: list[int]) -> int:
        """By squaring, from the highest bit down."""
        if exponent == 0:
            return self._constant(1.0)
        power = x
        for bit in bin(abs(exponent))[3:]:
            power = self._add(ExpressionStep("mul", (power, power)), home)
            if bit == "1":
                power = self._add(ExpressionStep("mul", (power, x)), home)
        if exponent > 0:
            return power
        return self._add(ExpressionStep("div", (self._constant(1.0), power)), home)

    def _constant(self, value: float) -> int:
        return self._add(ExpressionStep("number", (), value), self._before(0))

    def _add(self, step: ExpressionStep, home: list[int]) -> int:
        # By its digits, because 0 and -0 are equal.
        key = step.op, step.args, step.value.hex(), id(home)
        if key not in self._known:
            self._known[key] = len(self.result.steps)
            self.result.steps.append(step)
            home.append(self._known[key])
        return self._known[key]
