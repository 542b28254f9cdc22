"""Defines custom functions in the compiled extension."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Final

from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.functions.table import Functions

_LOCK: Final = threading.Lock()
_defined: dict[str, int] = {}  # by kind, the first id that the extension does not know


def define_natively(native: ModuleType) -> None:
    """Makes sure that kernels know all functions that are registered; costs nothing if they do."""
    for functions in (ACTIVATION_TABLE, AGGREGATION_TABLE):
        if _defined.get(functions.kind, functions.num_builtin) < len(functions):
            _define(native, functions)


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
