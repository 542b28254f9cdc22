"""Defines custom functions in the compiled extension."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import ModuleType
from typing import Final

from evonet.errors import ExpressionError
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.functions.table import Functions

_LOCK: Final = threading.Lock()
_slopes: set[tuple[str, int]] = set()  # kinds and ids whose derivatives it knows
_defined: dict[str, int] = {}  # by kind, the first id that the extension does not know


def define_natively(native: ModuleType) -> None:
    """Makes sure that kernels know all functions that are registered; costs nothing if they do."""
    for functions in (ACTIVATION_TABLE, AGGREGATION_TABLE):
        if _defined.get(functions.kind, functions.num_builtin) < len(functions):
            _define(native, functions)


def define_slopes(native: ModuleType, functions: Functions, ids: Iterable[int]) -> None:
    """Makes sure that kernels know the derivatives of some custom functions.

    Args:
        native: The compiled extension.
        functions: `ACTIVATION_TABLE` or `AGGREGATION_TABLE`.
        ids: The functions; built-in ones are left out.

    Raises:
        ExpressionError: A derivative needs more registers than there are.
    """
    for i in ids:
        expression = functions[i].expression if i >= functions.num_builtin else None
        if expression is None or (functions.kind, i) in _slopes:
            continue
        try:
            code = expression.derivative.program
        except ValueError as error:
            raise ExpressionError(
                f"the derivative of the {functions.kind} {functions[i].name}, {expression.text}, "
                f'{error} The backend "reference" has no such limit.'
            ) from None
        joins = functions.kind == "aggregation"
        native.define(joins, i, code.code, code.constants, code.bounds, code.result, slope=True)
        _slopes.add((functions.kind, i))


def _define(native: ModuleType, functions: Functions) -> None:
    with functions.used() as end, _LOCK:
        first = _defined.get(functions.kind, functions.num_builtin)
        for i in range(first, end):
            expression = functions[i].expression
            if expression is None:
                raise AssertionError(f"{functions[i].name} has no expression")
            code = expression.program
            native.define(
                functions.kind == "aggregation",
                i,
                code.code,
                code.constants,
                code.bounds,
                code.result,
            )
        _defined[functions.kind] = end
