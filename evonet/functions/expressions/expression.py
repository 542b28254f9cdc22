"""An expression as the registry stores it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evonet.errors import ExpressionError
from evonet.functions.expressions.derivative import Derivative, derivative
from evonet.functions.expressions.parse import MOST_CHARACTERS, parse
from evonet.functions.expressions.program import Program, assemble
from evonet.functions.expressions.steps import ExpressionSteps, lower
from evonet.functions.expressions.tree import ExpressionNode, FunctionKind, write


@dataclass(frozen=True)
class Expression:
    """A formula that every backend can compute."""

    kind: FunctionKind  # what the expression is for
    tree: ExpressionNode  # what it computes
    text: str  # the tree as text, always written in the same way

    @cached_property
    def steps(self) -> ExpressionSteps:
        """The operations in the order in which all backends execute them."""
        return lower(self.tree, self.kind)

    @cached_property
    def program(self) -> Program:
        """The steps for the compiled extension."""
        return assemble(self.steps)

    @cached_property
    def derivative(self) -> Derivative:
        """The derivative by x, of an aggregation by the x of each link."""
        return derivative(self.steps, self.kind)


def make_expression(
    definition: str | Callable[..., Any], kind: FunctionKind, where: str
) -> Expression:
    """Reads a text or a simple Python function, which are never executed."""
    if isinstance(definition, str):
        tree = parse(definition, kind, where)
    elif callable(definition):
        from evonet.functions.expressions.python_source import from_function

        tree = from_function(definition, kind, where)
    else:
        raise ExpressionError(
            f"{where}: found {type(definition).__name__}. Expected an expression as text, or a "
            "Python function of one argument."
        )
    text = write(tree)
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(
            f"{where}: is too long, {len(text)} characters when written out. At most "
            f"{MOST_CHARACTERS} are allowed."
        )
    made = Expression(kind, tree, text)
    try:
        _ = made.program
    except ValueError as error:
        raise ExpressionError(f"{where}: {error}") from None
    return made
