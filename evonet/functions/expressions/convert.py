"""Builds our tree from Python's, node by node, from an allow-list."""

from __future__ import annotations

import ast
import math
from typing import Final

from evonet.functions.expressions.tree import (
    FUNCTIONS,
    LARGEST_NUMBER,
    MOST_DEPTH,
    MOST_EXPONENT,
    MOST_NODES,
    REDUCTIONS,
    ExpressionNode,
    FunctionKind,
    number,
    size_of,
)
from evonet.messages import did_you_mean

CONSTANTS: Final = {"pi": math.pi, "e": math.e}
_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_WHAT: Final = {
    ast.Attribute: "an attribute",
    ast.Lambda: "a lambda",
    ast.Subscript: "an index",
    ast.GeneratorExp: "a generator",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.List: "a list",
    ast.Tuple: "a tuple",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.NamedExpr: "an assignment",
    ast.JoinedStr: "a text",
    ast.Starred: "a star",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}


class FaultError(Exception):
    """A part of an expression that is not allowed, and the node of Python's tree to point at."""

    def __init__(self, message: str, at: ast.AST | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class Converter:
    """Converts expressions written as text; subclasses may change what names mean.

    Every method raises a `FaultError` for what is not allowed.
    """

    def __init__(self, kind: FunctionKind) -> None:
        self.kind = kind
        self._reductions = 0  # around the node that is being converted

    def convert(self, tree: ast.expr) -> ExpressionNode:
        """Converts a whole expression."""
        return self.number(tree, 0)

    def number(self, at: ast.expr, depth: int) -> ExpressionNode:
        """Converts an expression with a numeric value."""
        if depth > MOST_DEPTH:
            raise FaultError(f"is nested too deeply. At most {MOST_DEPTH} levels are allowed.", at)
        node = self._number(at, depth + 1)
        if size_of(node) > MOST_NODES:
            raise FaultError(f"is too long. At most {MOST_NODES} operations are allowed.", at)
        return node

    def _number(self, at: ast.expr, depth: int) -> ExpressionNode:
        match at:
            case ast.Constant():
                return self._constant(at)
            case ast.Name():
                return self.name(at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return ExpressionNode("neg", (self.number(operand, depth),))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand, depth)
            case ast.BinOp(op=ast.Pow(), left=base, right=exponent):
                power = float(self._exponent(exponent))
                return ExpressionNode("power", (self.number(base, depth),), power)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
                operands = self.number(left, depth), self.number(right, depth)
                return ExpressionNode(_BINARY[type(op)], operands)
            case ast.IfExp(test=test, body=then, orelse=other):
                condition = self.condition(test, depth)
                return ExpressionNode(
                    "if", (condition, self.number(then, depth), self.number(other, depth))
                )
            case ast.Call():
                return self._call(at, depth)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                raise FaultError("is a condition. Use it as in: 1 if x > 0 else 0.", at)
        raise self.refuse(at)

    def condition(self, at: ast.expr, depth: int) -> ExpressionNode:
        """Converts a condition."""
        if depth > MOST_DEPTH:
            raise FaultError(f"is nested too deeply. At most {MOST_DEPTH} levels are allowed.", at)
        match at:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ExpressionNode("not", (self.condition(operand, depth + 1),))
            case ast.BoolOp(op=op, values=values):
                parts = [self.condition(value, depth + 1) for value in values]
                return _join("and" if isinstance(op, ast.And) else "or", parts)
            case ast.Compare(left=left, ops=ops, comparators=others):
                numbers = [self.number(each, depth + 1) for each in (left, *others)]
                words = [_COMPARISONS.get(type(sign), "") for sign in ops]
                if "" in words:
                    raise FaultError("compares in a way that numbers have not.", at)
                compared = zip(words, numbers[:-1], numbers[1:], strict=True)
                return _join("and", [ExpressionNode(word, (a, b)) for word, a, b in compared])
        raise FaultError("is a number. A condition compares: write x > 0, say.", at)

    def name(self, at: ast.Name) -> ExpressionNode:
        """Converts a name."""
        if at.id in ("x", "z"):
            return self.x(at)
        if at.id == "count" and self.kind == "aggregation":
            return ExpressionNode("count")
        if at.id in CONSTANTS:
            return number(CONSTANTS[at.id])
        words = ["x", *CONSTANTS, *FUNCTIONS]
        if self.kind == "aggregation":
            words += ["count", *REDUCTIONS]
        if at.id in words:
            raise FaultError(f"{at.id} is a function: write {at.id}(...).", at)
        raise FaultError(f"{at.id} is not known here. {did_you_mean(at.id, words)}", at)

    def x(self, at: ast.expr) -> ExpressionNode:
        """Converts the input, of which aggregations have one for every link."""
        if self.kind == "aggregation" and not self._reductions:
            words = ", ".join(f"{word}(...)" for word in REDUCTIONS)
            raise FaultError(f"there is an x for every link. Put it into one of {words}.", at)
        return ExpressionNode("x")

    def function(self, at: ast.expr) -> str:
        """The word of `FUNCTIONS` or `REDUCTIONS` that a call means."""
        if isinstance(at, ast.Name):
            words = [*FUNCTIONS, *(REDUCTIONS if self.kind == "aggregation" else ())]
            if at.id in words:
                return at.id
            if at.id in REDUCTIONS:
                raise FaultError(f"{at.id} joins links, so it is for aggregations alone.", at)
            raise FaultError(f"{at.id} is not a known function. {did_you_mean(at.id, words)}", at)
        raise self.refuse(at)

    def _call(self, at: ast.Call, depth: int) -> ExpressionNode:
        word = self.function(at.func)
        for keyword in at.keywords:
            raise FaultError(f"{word} takes no arguments by name.", keyword.value)
        if word in REDUCTIONS and len(at.args) == 1:
            if self.kind == "aggregation":
                return self._reduction(word, at.args[0], depth)
            if word in FUNCTIONS:
                raise FaultError(f"{word} of one number is for aggregations alone.", at)
        if word not in FUNCTIONS:
            raise FaultError(f"{word} takes 1 argument, found {len(at.args)}.", at)
        least, most = FUNCTIONS[word]
        if not least <= len(at.args) <= most:
            wanted = f"{least}" if least == most else f"{least} or more"
            plural = "" if wanted == "1" else "s"
            raise FaultError(f"{word} takes {wanted} argument{plural}, found {len(at.args)}.", at)
        return ExpressionNode(word, tuple(self.number(arg, depth) for arg in at.args))

    def _reduction(self, word: str, body: ast.expr, depth: int) -> ExpressionNode:
        self._reductions += 1
        try:
            return ExpressionNode(REDUCTIONS[word], (self.reduced(body, depth),))
        finally:
            self._reductions -= 1

    def reduced(self, body: ast.expr, depth: int) -> ExpressionNode:
        """Converts the operand of a reduction, which is evaluated for every link."""
        return self.number(body, depth)

    def _constant(self, at: ast.Constant) -> ExpressionNode:
        found = at.value
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise FaultError("is not a number.", at)
        try:
            return self.constant(float(found), at)
        except OverflowError:
            return self.constant(math.inf, at)

    def constant(self, value: float, at: ast.expr) -> ExpressionNode:
        """A number that both float32 and float64 can represent."""
        if not abs(value) <= LARGEST_NUMBER:
            raise FaultError("is too large. Numbers go up to 3.4e38.", at)
        return number(value)

    def _exponent(self, at: ast.expr) -> int:
        sign, inner = 1, at
        if isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub):
            sign, inner = -1, at.operand
        if isinstance(inner, ast.Constant) and type(inner.value) is int:
            if inner.value <= MOST_EXPONENT:
                return sign * inner.value
            raise FaultError(f"is too large. Exponents go from -{MOST_EXPONENT} to 16.", at)
        hint = " Write sqrt(...)." if isinstance(inner, ast.Constant) and inner.value == 0.5 else ""
        raise FaultError(f"is not a whole number as ** needs it: 2 or -3, say.{hint}", at)

    def refuse(self, at: ast.expr) -> FaultError:
        """The error for anything that is not on the allow-list."""
        if isinstance(at, ast.BinOp):
            return FaultError("has an operator that is not allowed. Allowed: + - * / **.", at)
        if isinstance(at, ast.UnaryOp):
            return FaultError("has a sign that is not allowed.", at)
        return FaultError(f"is {_WHAT.get(type(at), 'something')} that is not allowed here.", at)


def _join(op: str, parts: list[ExpressionNode]) -> ExpressionNode:
    joined = parts[0]
    for part in parts[1:]:
        joined = ExpressionNode(op, (joined, part))
    return joined
