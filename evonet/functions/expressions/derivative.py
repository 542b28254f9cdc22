"""Derivatives of custom functions, as steps and programs that every backend executes.

    derivative(expression)   of an activation: df/dx, for every x
                             of an aggregation: df/dx of every link, one number per link

The reverse pass calls it through `Expression.derivative`. Where a function has no derivative, one
is chosen: `min`, `max` and `a if c else b` pass the derivative of the operand that they return
(`min` and `max` return the first of equal ones, and conditions are taken as constant);
`abs` and `sqrt` have 0 at 0, `floor` has 0 everywhere, and a quotient by infinity has 0. The
largest or smallest link passes it on alone, and links that tie have equal parts of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from evonet.functions.expressions.graph import Graph
from evonet.functions.expressions.program import Program, assemble
from evonet.functions.expressions.steps import REDUCTIONS, ExpressionSteps
from evonet.functions.expressions.tree import CONDITIONS, FunctionKind

MOST_PASSES: Final = 6  # reductions nest 4 deep; ties and zeros need one more, each link another


@dataclass(frozen=True)
class Derivative:
    """What the derivative of a custom function computes."""

    kind: FunctionKind  # the kind of the function
    # The operations in the order in which all backends execute them. The result of an
    # aggregation's is a value for each link in its last pass.
    steps: ExpressionSteps

    @cached_property
    def program(self) -> Program:
        """The steps for the compiled extension.

        Raises:
            ValueError: They need too many values at a time.
        """
        return assemble(self.steps)


def derivative(steps: ExpressionSteps, kind: FunctionKind) -> Derivative:
    """Differentiates a function by its input, or by the product of each of its links."""
    graph = Graph()
    result = graph.read(steps)
    x = graph.add("x")
    slope = _partial(graph, result, x) if kind == "activation" else _by_links(graph, result, x)
    made = graph.to_steps(slope, kind)
    if len(made.passes) > MOST_PASSES:
        raise AssertionError(f"a derivative has {len(made.passes)} passes")
    return Derivative(kind, made)


def _by_links(graph: Graph, result: int, x: int) -> int:
    """The derivative by one link's x, from those of all reductions, innermost first.

    A link's x changes a reduction where its own term is joined, and through every reduction that
    the terms of all links read.
    """
    by_link: dict[int, int] = {}

    def through(value: int, passed: _Passed) -> int:
        found = passed.here(_partial(graph, value, x))
        for inner in _reductions(graph, value):
            everywhere = passed.everywhere(_partial(graph, value, inner))
            found = graph.plus(found, _weighted(graph, everywhere, by_link[inner]))
        return found

    for reduction in [at for at, step in enumerate(graph.steps) if step.op in REDUCTIONS]:
        op, (term,), _ = graph.steps[reduction]
        passed = _PASSED[op](graph, reduction, term)
        by_link[reduction] = passed.ended(through(term, passed))
    slope = graph.number(0.0)
    for reduction in _reductions(graph, result):
        part = _weighted(graph, _partial(graph, result, reduction), by_link[reduction])
        slope = graph.plus(slope, part)
    return slope


def _weighted(graph: Graph, weight: int, slope: int) -> int:
    """Their product; 0 where a condition chose a weight of 0, even if the slope is not a number."""
    if all(graph.steps[at].op != "if" for at in _region(graph, weight)):
        return graph.times(weight, slope)
    return _where_not_flat(graph, weight, slope)


def _where_not_flat(graph: Graph, weight: int, slope: int) -> int:
    zero = graph.number(0.0)
    product = graph.times(weight, slope)
    return graph.choose(graph.add("eq", weight, zero), zero, product)


def _saturating(graph: Graph, weight: int, slope: int) -> int:
    """Their product, for a function that is flat far from 0, where the slope may be infinite."""
    if all(graph.steps[at].op not in ("exp", "div") for at in _region(graph, slope)):
        return graph.times(weight, slope)
    return _where_not_flat(graph, weight, slope)


class _Passed:
    """What a reduction passes on of a change of its terms; a sum passes on all."""

    def __init__(self, graph: Graph, reduction: int, term: int) -> None:
        self.graph = graph
        self.reduction = reduction
        self.term = term

    def here(self, change: int) -> int:
        """Of a change of this link's term."""
        return change

    def everywhere(self, change: int) -> int:
        """Of a change of every link's term."""
        return self.graph.total(self.here(change))

    def ended(self, change: int) -> int:
        """What is common to all changes."""
        return change


class _Chosen(_Passed):
    """The largest or smallest passes on the changes of the links that have it."""

    def _if_chosen(self, change: int) -> int:
        equal = self.graph.add("eq", self.term, self.reduction)
        return self.graph.choose(equal, change, self.graph.number(0.0))

    def here(self, change: int) -> int:
        return self._if_chosen(change)

    def ended(self, change: int) -> int:
        return self.graph.over(change, self.graph.total(self._if_chosen(self.graph.number(1.0))))


class _Multiplied(_Passed):
    """A product passes on a change times all other terms, which are not divided by a zero."""

    def here(self, change: int) -> int:
        graph, term = self.graph, self.term
        zero, one = graph.number(0.0), graph.number(1.0)
        is_zero = graph.add("eq", term, zero)
        num_zeros = graph.total(graph.choose(is_zero, one, zero))
        rest = graph.add("product_of", graph.choose(is_zero, one, term))
        others = graph.choose(
            is_zero,
            graph.choose(graph.add("eq", num_zeros, one), rest, zero),
            graph.choose(graph.add("eq", num_zeros, zero), graph.over(rest, term), zero),
        )
        return graph.times(others, change)


_PASSED: Final[dict[str, type[_Passed]]] = {
    "sum_of": _Passed,
    "product_of": _Multiplied,
    "max_of": _Chosen,
    "min_of": _Chosen,
}


def _region(graph: Graph, root: int) -> list[int]:
    """The values that one is made from, down to links and reductions, operands first."""
    found, waiting = {root}, [root]
    while waiting:
        at = waiting.pop()
        if graph.steps[at].op not in REDUCTIONS:
            waiting += [arg for arg in graph.steps[at].args if arg not in found]
            found.update(graph.steps[at].args)
    return sorted(found)


def _reductions(graph: Graph, root: int) -> list[int]:
    return [at for at in _region(graph, root) if graph.steps[at].op in REDUCTIONS]


def _partial(graph: Graph, root: int, leaf: int) -> int:
    """The derivative of a value by another, all reductions between them held constant."""
    zero = graph.number(0.0)
    slopes: dict[int, int] = {}
    for at in _region(graph, root):
        op, args, _ = graph.steps[at]
        if at == leaf:
            slopes[at] = graph.number(1.0)
        elif op in REDUCTIONS or op in CONDITIONS or all(slopes[arg] == zero for arg in args):
            slopes[at] = zero
        else:
            slopes[at] = _chain(graph, at, [slopes[arg] for arg in args])
    return slopes[root]


def _chain(graph: Graph, y: int, slopes: list[int]) -> int:
    """The derivative of an operation, given those of its operands."""
    op, args, _ = graph.steps[y]
    a, da = args[0], slopes[0]
    zero, one = graph.number(0.0), graph.number(1.0)
    match op:
        case "neg":
            return graph.negative(da)
        case "exp":
            return _saturating(graph, y, da)
        case "log":
            return graph.over(da, a)
        case "sin":
            return graph.times(graph.add("cos", a), da)
        case "cos":
            return graph.negative(graph.times(graph.add("sin", a), da))
        case "tanh":
            return _saturating(graph, graph.minus(one, graph.times(y, y)), da)
        case "sqrt":
            slope = graph.over(da, graph.times(graph.number(2.0), y))
            return graph.choose(graph.add("eq", a, zero), zero, slope)
        case "abs":
            below = graph.choose(graph.add("lt", a, zero), graph.negative(da), zero)
            return graph.choose(graph.add("gt", a, zero), da, below)
        case "floor":
            return zero
        case "if":
            return graph.choose(a, slopes[1], slopes[2])
    b, db = args[1], slopes[1]
    match op:
        case "add":
            return graph.plus(da, db)
        case "sub":
            return graph.minus(da, db)
        case "mul":
            return graph.plus(graph.times(da, b), graph.times(a, db))
        case "div":
            slope = graph.over(graph.minus(da, graph.times(y, db)), b)
            if db == zero:
                return slope
            # Infinity minus itself is not 0. Without this, 1 / (1 + exp(-x)) has NaN far from 0.
            finite = graph.add("eq", graph.add("sub", b, b), zero)
            return graph.choose(finite, slope, zero)
        case "min" | "max":  # the second if it is smaller, or larger
            second = graph.add("lt" if op == "min" else "gt", b, a)
            return graph.choose(second, db, da)
    raise AssertionError(f"{op} has no rule")
