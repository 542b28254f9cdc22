"""Operations that share their operands, and the rules that shorten sums and products of them.

A tree of a derivative repeats its parts many times over. In a graph every value exists once, so a
derivative has a few times as many operations as what it was made from.
"""

from __future__ import annotations

from typing import Final

from evonet.functions.expressions.steps import REDUCTIONS, ExpressionStep, ExpressionSteps, Pass
from evonet.functions.expressions.tree import LARGEST_NUMBER, FunctionKind


class Graph:
    """Values by number; each is one operation on values before it."""

    def __init__(self) -> None:
        self.steps: Final[list[ExpressionStep]] = []
        self.varies: Final[list[bool]] = []  # whether a value differs between links
        self.nesting: Final[list[int]] = []  # passes that must be complete before it is known
        self._registers: Final[list[int]] = []  # as `_registers` of steps.py
        self._known: Final[dict[tuple[str, tuple[int, ...], str], int]] = {}

    def add(self, op: str, *args: int, value: float = 0.0) -> int:
        """Adds an operation as it is, unless it is known."""
        key = op, args, value.hex()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.steps)
            self.steps.append(ExpressionStep(op, args, value))
            joins = op in REDUCTIONS
            inner = max((self.nesting[arg] for arg in args), default=0)
            self.nesting.append(inner + joins)
            self.varies.append(not joins and (op == "x" or any(self.varies[a] for a in args)))
            needs = sorted((self._registers[arg] for arg in args), reverse=True)
            need = max((need + kept for kept, need in enumerate(needs)), default=1)
            self._registers.append(1 if joins else need)
        return found

    def read(self, steps: ExpressionSteps) -> int:
        """Adds all steps of an expression and returns its result; no rule is applied to them."""
        at: list[int] = []
        for op, args, value in steps.steps:
            at.append(self.add(op, *(at[arg] for arg in args), value=value))
        return at[steps.result]

    def number(self, value: float) -> int:
        """A constant."""
        return self.add("number", value=value + 0.0)

    def value_of(self, a: int) -> float | None:
        """The value of a constant; None for anything else."""
        return self.steps[a].value if self.steps[a].op == "number" else None

    def negative(self, a: int) -> int:
        """A value with the other sign."""
        value = self.value_of(a)
        if value is not None:
            return self.number(-value)
        return self.steps[a].args[0] if self.steps[a].op == "neg" else self.add("neg", a)

    def plus(self, a: int, b: int) -> int:
        """The sum of two values."""
        x, y = self.value_of(a), self.value_of(b)
        if x is not None and y is not None and abs(x + y) <= LARGEST_NUMBER:
            return self.number(x + y)
        if x == 0 or y == 0:
            return b if x == 0 else a
        if self.steps[b].op == "neg":
            return self.add("sub", a, self.steps[b].args[0])
        return self.add("add", a, b)

    def minus(self, a: int, b: int) -> int:
        """The difference of two values."""
        return self.plus(a, self.negative(b))

    def times(self, a: int, b: int) -> int:
        """The product of two values; 0 times anything is 0."""
        x, y = self.value_of(a), self.value_of(b)
        if x is not None and y is not None and abs(x * y) <= LARGEST_NUMBER:
            return self.number(x * y)
        for value, constant, other in ((x, a, b), (y, b, a)):
            if value == 0:
                return constant
            if value == 1:
                return other
            if value == -1:
                return self.negative(other)
        for minus, other in ((a, b), (b, a)):
            if self.steps[minus].op == "neg":
                return self.negative(self.times(self.steps[minus].args[0], other))
        return self.add("mul", a, b)

    def over(self, a: int, b: int) -> int:
        """The quotient of two values; 0 divided by anything is 0."""
        x, y = self.value_of(a), self.value_of(b)
        if self.steps[a].op == "neg":
            return self.negative(self.over(self.steps[a].args[0], b))
        if x == 0 or y == 1:
            return a
        if x is not None and y and abs(x) <= LARGEST_NUMBER * abs(y):
            return self.number(x / y)
        return self.add("div", a, b)

    def choose(self, condition: int, then: int, other: int) -> int:
        """`then if condition else other`."""
        return then if then == other else self.add("if", condition, then, other)

    def total(self, a: int) -> int:
        """The sum of a over all links."""
        return self.add("sum_of", a) if self.varies[a] else self.times(a, self.add("count"))

    def to_steps(self, result: int, kind: FunctionKind) -> ExpressionSteps:
        """Orders what a result needs as all backends execute it.

        The result of an aggregation's graph is a value for every link: it is computed by the last
        pass, which has no reductions.
        """
        return _Ordering(self, result, kind).steps

    def order(self, args: tuple[int, ...]) -> list[int]:
        """Operands in the order that needs fewest registers."""
        return sorted(args, key=lambda arg: self._registers[arg], reverse=True)


class _Ordering:
    def __init__(self, graph: Graph, result: int, kind: FunctionKind) -> None:
        self._graph = graph
        self._at: dict[tuple[int, int], int] = {}
        self._links = kind == "aggregation"
        num_passes = graph.nesting[result] + 1 if self._links else 0
        self.steps = ExpressionSteps(passes=[Pass() for _ in range(num_passes)])
        self.steps.terms = self._links
        self._place(result, num_passes - 1)
        self.steps.result = self._at[self._key(result, num_passes - 1)]

    def _key(self, value: int, number: int) -> tuple[int, int]:
        """A value that differs between links is computed in every pass that needs it."""
        return value, number if self._links and self._graph.varies[value] else -1

    def _place(self, root: int, last: int) -> None:
        # Not by recursion: a derivative may be nested deeper than Python's stack.
        graph, waiting = self._graph, [(root, last, False)]
        while waiting:
            value, number, ready = waiting.pop()
            key = self._key(value, number)
            if key in self._at:
                continue
            op, args, constant = graph.steps[value]
            inner = graph.nesting[args[0]] if op in REDUCTIONS else number
            if not ready:
                waiting.append((value, number, True))
                waiting += [(arg, inner, False) for arg in reversed(graph.order(args))]
                continue
            operands = tuple(self._at[self._key(arg, inner)] for arg in args)
            self._at[key] = len(self.steps.steps)
            self.steps.steps.append(ExpressionStep(op, operands, constant))
            self._home(value, number, inner).append(self._at[key])

    def _home(self, value: int, number: int, inner: int) -> list[int]:
        passes, graph = self.steps.passes, self._graph
        if not self._links:
            return self.steps.last
        if graph.steps[value].op in REDUCTIONS:
            return passes[inner].reductions
        return passes[number].each if graph.varies[value] else passes[graph.nesting[value]].before
