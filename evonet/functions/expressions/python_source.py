"""Converts a simple Python function to a tree by reading its source; it is never called."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import numbers
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from evonet.errors import ExpressionError
from evonet.functions.expressions.convert import Converter, FaultError
from evonet.functions.expressions.parse import fault_in
from evonet.functions.expressions.tree import (
    FUNCTIONS,
    REDUCTIONS,
    ExpressionNode,
    FunctionKind,
    varies,
)

# The names of Python's and NumPy's functions in expressions.
_WORDS: Final[dict[Any, str]] = {
    **{getattr(math, word): word for word in ("exp", "log", "sin", "cos", "tanh", "sqrt", "floor")},
    **{getattr(np, word): word for word in ("exp", "log", "sin", "cos", "tanh", "sqrt", "floor")},
    **{getattr(np, word): word for word in ("clip", "sum", "mean", "max", "min", "abs")},
    np.minimum: "min",
    np.maximum: "max",
    np.prod: "product",
    np.fabs: "abs",
    math.fabs: "abs",
    math.fsum: "sum",
    math.prod: "product",
    abs: "abs",
    min: "min",
    max: "max",
    sum: "sum",
}


def from_function(function: Callable[..., Any], kind: FunctionKind, where: str) -> ExpressionNode:
    """Reads a function of one argument: assignments, `if`, and a `return`.

    An activation gets a number; an aggregation gets all products of weights and values, as in
    `math.sqrt(sum(v * v for v in x))`.
    """
    try:
        lines, _ = inspect.getsourcelines(function)
        source = textwrap.dedent("".join(lines))
        tree = _find(source, function)
    except (OSError, TypeError, SyntaxError):
        tree = None
    if tree is None:
        raise ExpressionError(
            f"{where}: the source of {getattr(function, '__name__', function)!s} cannot be read. "
            'Write the expression as text: "x / (1 + exp(-x))", say.'
        )
    converter = FunctionConverter(kind, function)
    try:
        return converter.convert_function(tree)
    except FaultError as fault:
        rows = source.split("\n")
        row = rows[getattr(fault.at, "lineno", 1) - 1]
        at = len(row.encode()[: getattr(fault.at, "col_offset", 0)].decode(errors="ignore"))
        found = ast.get_source_segment(source, fault.at) if isinstance(fault.at, ast.expr) else None
        message = fault.message
        if message.startswith(("is ", "has ", "compares ")):
            message = f"{(found or 'this').splitlines()[0][:40]} {message}"
        raise fault_in(row, at, message, where) from None


def _find(source: str, function: Callable[..., Any]) -> ast.FunctionDef | ast.Lambda | None:
    """The only definition in a source; a lambda may stand in the middle of a line."""
    is_lambda = getattr(function, "__name__", "") == "<lambda>"
    found: list[ast.FunctionDef | ast.Lambda] = []
    for node in ast.walk(_parse_lines(source)):
        if is_lambda and isinstance(node, ast.Lambda):
            found.append(node)
        if not is_lambda and isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            found.append(node)
    return found[0] if len(found) == 1 else None


def _parse_lines(source: str) -> ast.Module:
    """Parses a statement, or the part of one that a lambda's lines hold."""
    try:
        return ast.parse(source)
    except SyntaxError:
        # A lambda among the arguments of a call: its own lines may lack the closing bracket.
        return ast.parse("(" + source.strip().rstrip(",") + ")")


class FunctionConverter(Converter):
    """Converts the body of a function; names mean what they mean to the function."""

    def __init__(self, kind: FunctionKind, function: Callable[..., Any]) -> None:
        super().__init__(kind)
        self._outside = _names_around(function)
        self._links: set[str] = set()  # names of all x together
        self._one: set[str] = set()  # names of one x
        self._assigned: dict[str, ExpressionNode] = {}

    def convert_function(self, tree: ast.FunctionDef | ast.Lambda) -> ExpressionNode:
        """Converts a whole definition."""
        args = tree.args
        names = [*args.posonlyargs, *args.args]
        if len(names) != 1 or args.vararg or args.kwarg or args.kwonlyargs:
            raise FaultError("A custom function takes one argument, x.", tree)
        (self._links if self.kind == "aggregation" else self._one).add(names[0].arg)
        if isinstance(tree, ast.Lambda):
            return self.convert(tree.body)
        body = tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # the docstring
        return self._block(body, tree)

    def _block(self, body: list[ast.stmt], around: ast.stmt) -> ExpressionNode:
        for position, statement in enumerate(body):
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return self.convert(value)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._assign(name, value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._assign(name, value)
                case ast.If(test=test, body=then, orelse=other):
                    condition = self.condition(test, 0)
                    known = dict(self._assigned)
                    yes = self._block(then, statement)
                    self._assigned = known
                    no = self._block(other or body[position + 1 :], statement)
                    return ExpressionNode("if", (condition, yes, no))
                case _:
                    raise FaultError(
                        "Only assignments, if and return can be translated.", statement
                    )
        raise FaultError("Every way through the function must end with a return.", around)

    def _assign(self, name: str, value: ast.expr) -> None:
        if name in self._links | self._one:
            raise FaultError(f"{name} is the argument, and cannot be assigned anew.", value)
        self._reductions += 1  # whether x may stand where the name is used shows there
        try:
            self._assigned[name] = self.number(value, 0)
        finally:
            self._reductions -= 1

    def name(self, at: ast.Name) -> ExpressionNode:
        """Looks names up as Python does: arguments and assignments, then enclosing scopes."""
        if at.id in self._assigned:
            assigned = self._assigned[at.id]
            return self.x(at) and assigned if varies(assigned) else assigned
        if at.id in self._one:
            return ExpressionNode("x")
        if at.id in self._links:
            return self.x(at)
        found = self._outside.get(at.id)
        if isinstance(found, numbers.Real) and not isinstance(found, (bool, np.bool_)):
            return self.constant(float(found), at)
        raise FaultError(f"{at.id} is not a number that can be read where it is used.", at)

    def _number(self, at: ast.expr, depth: int) -> ExpressionNode:
        if isinstance(at, ast.Attribute):
            return self._attribute(at)
        if isinstance(at, ast.Call):
            meant = self._object(at.func)
            if meant is len and self._is_links(at.args):
                return ExpressionNode("count")
            if meant is np.where and len(at.args) == 3 and not at.keywords:
                condition, then, other = at.args
                return super()._number(
                    ast.copy_location(ast.IfExp(condition, then, other), at), depth
                )
            if meant is np.square and len(at.args) == 1 and not at.keywords:
                return ExpressionNode("power", (self.number(at.args[0], depth),), 2.0)
        return super()._number(at, depth)

    def _is_links(self, args: list[ast.expr]) -> bool:
        return len(args) == 1 and isinstance(args[0], ast.Name) and args[0].id in self._links

    def _attribute(self, at: ast.Attribute) -> ExpressionNode:
        found = self._object(at)
        if isinstance(found, float):
            return self.constant(found, at)
        raise self.refuse(at)

    def function(self, at: ast.expr) -> str:
        """The name of a called function, found by identity and not by spelling."""
        found = self._object(at)
        try:
            word = _WORDS.get(found)
        except TypeError:  # not hashable
            word = None
        only_links = word in REDUCTIONS and word not in FUNCTIONS
        if word is None or (only_links and self.kind == "activation"):
            raise FaultError("is not a function that can be translated.", at)
        return word

    def reduced(self, body: ast.expr, depth: int) -> ExpressionNode:
        """Also accepts `f(v) for v in x`."""
        if not isinstance(body, (ast.GeneratorExp, ast.ListComp)):
            return super().reduced(body, depth)
        match body.generators:
            case [ast.comprehension(target=ast.Name(id=name), iter=source, ifs=[], is_async=0)]:
                if not self._is_links([source]) or name in self._links | self._one:
                    raise FaultError("A generator must go over the argument.", source)
            case _:
                raise FaultError("is more than one simple loop.", body)
        self._one.add(name)
        hidden = self._assigned.pop(name, None)
        try:
            return self.number(body.elt, depth)
        finally:
            self._one.discard(name)
            if hidden is not None:
                self._assigned[name] = hidden

    def _object(self, at: ast.expr) -> Any:
        """The object behind a name, or a name in math or NumPy; None if it is unknown."""
        if isinstance(at, ast.Name):
            if at.id in self._links | self._one or at.id in self._assigned:
                return None
            return self._outside.get(at.id)
        if isinstance(at, ast.Attribute) and isinstance(at.value, ast.Name):
            home = self._outside.get(at.value.id)
            if isinstance(home, types.ModuleType) and home in (math, np):
                return vars(home).get(at.attr)
        return None


def _names_around(function: Callable[..., Any]) -> Mapping[str, Any]:
    """What a function's free names mean: closure, globals, builtins."""
    names: dict[str, Any] = dict(vars(builtins))
    names |= getattr(function, "__globals__", {})
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    for name, cell in zip(code.co_freevars if code else (), cells or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # still empty
            names.pop(name, None)
    return names
