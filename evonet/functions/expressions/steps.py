"""A tree as steps in a fixed order: the one telling of what every backend does.

A step is a single correctly rounded operation, or one of the functions of
`kernels/numerics/expression.h`.
What people write shortly is spelled out here: powers are products, `sigmoid(x)` is
`1 / (1 + exp(-x))`, `clip(x, a, b)` is `max(a, min(b, x))`, a mean is a sum divided by the count.
Equal values are computed once.

An activation is one list of steps. An aggregation goes over its links as often as its reductions
are nested: `sum((x - mean(x)) ** 2)` twice. Steps that are equal for all links come before the pass
that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from evonet.functions.expressions.tree import REDUCED, Kind, Node, varies

MOST_PASSES: Final = 4
MOST_REDUCTIONS: Final = 8

UNARY: Final = ("neg", "exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor", "not")
COMPARISONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
BINARY: Final = ("add", "sub", "mul", "div", "min", "max", "and", "or", *COMPARISONS)
REDUCTIONS: Final = ("sum_of", "product_of", "max_of", "min_of")


class Step(NamedTuple):
    """One operation.

    Attributes:
        op: "x", "count", "number", "if", or a name of `UNARY`, `BINARY` or `REDUCTIONS`.
        args: Positions of earlier steps.
        value: Of a number, of either sign.
    """

    op: str
    args: tuple[int, ...] = ()
    value: float = 0.0


@dataclass
class Pass:
    """One way over all links.

    Attributes:
        before: Steps that are equal for all links, and come first.
        each: Steps for every link, in order; they begin with x.
        reductions: What joins the links; results are equal for all links again.
    """

    before: list[int] = field(default_factory=list)
    each: list[int] = field(default_factory=list)
    reductions: list[int] = field(default_factory=list)


@dataclass
class Steps:
    """All steps of an expression.

    Attributes:
        steps: By position.
        passes: Ways over the links, of an aggregation; an activation has none.
        last: Steps behind the last pass; all steps of an activation.
        result: Position of the step whose value is the result.
    """

    steps: list[Step] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    result: int = 0


def lower(tree: Node, kind: Kind) -> Steps:
    """Brings a tree into order.

    Raises:
        ValueError: An aggregation has too many reductions, or nests them too deeply.
    """
    lowering = _Lowering(kind, _nesting(tree))
    lowering.result.result = lowering.place(tree, lowering.num_passes)
    return lowering.result


def _nesting(node: Node) -> int:
    """How many passes must be over before a value is known."""
    inner = max((_nesting(arg) for arg in node.args), default=0)
    return inner + (node.op in REDUCED)


def _registers(node: Node) -> int:
    """How many values must be kept at a time to compute one, at the least."""
    needs = sorted((_registers(arg) for arg in node.args), reverse=True)
    return max((need + kept for kept, need in enumerate(needs)), default=1)


class _Lowering:
    def __init__(self, kind: Kind, num_passes: int) -> None:
        if num_passes > MOST_PASSES:
            raise ValueError(f"reductions are nested {num_passes} deep. Allowed: {MOST_PASSES}.")
        self.num_passes = num_passes
        self.result = Steps(passes=[Pass() for _ in range(num_passes)])
        self._kind = kind
        self._known: dict[tuple[str, tuple[int, ...], str, int], int] = {}

    def place(self, node: Node, number: int) -> int:
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

    def _build(self, node: Node, number: int, home: list[int]) -> int:
        def step(op: str, *args: int) -> int:
            return self._add(Step(op, args), home)

        op = node.op
        if op in REDUCED:
            return self._reduce(node)
        if op == "number":
            return self._constant(node.value)
        if op == "neg" and node.args[0].op == "number":
            return self._constant(-node.args[0].value)
        # What needs most registers comes first; it does not matter to the values.
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
            return self._add(Step("count"), self._before(0))
        return step(op, *args)

    def _reduce(self, node: Node) -> int:
        number = _nesting(node.args[0])
        value = self.place(node.args[0], number)
        op = "sum_of" if node.op == "mean_of" else node.op
        total = self._add(Step(op, (value,)), self.result.passes[number].reductions)
        if sum(len(each.reductions) for each in self.result.passes) > MOST_REDUCTIONS:
            raise ValueError(f"has too many reductions. At most {MOST_REDUCTIONS} are allowed.")
        if node.op != "mean_of":
            return total
        count = self._add(Step("count"), self._before(0))
        return self._add(Step("div", (total, count)), self._before(number + 1))

    def _power(self, x: int, exponent: int, home: list[int]) -> int:
        """By squaring, from the highest bit down."""
        if exponent == 0:
            return self._constant(1.0)
        power = x
        for bit in bin(abs(exponent))[3:]:
            power = self._add(Step("mul", (power, power)), home)
            if bit == "1":
                power = self._add(Step("mul", (power, x)), home)
        if exponent > 0:
            return power
        return self._add(Step("div", (self._constant(1.0), power)), home)

    def _constant(self, value: float) -> int:
        return self._add(Step("number", (), value), self._before(0))

    def _add(self, step: Step, home: list[int]) -> int:
        # By its digits, because 0 and -0 are equal.
        key = step.op, step.args, step.value.hex(), id(home)
        if key not in self._known:
            self._known[key] = len(self.result.steps)
            self.result.steps.append(step)
            home.append(self._known[key])
        return self._known[key]
