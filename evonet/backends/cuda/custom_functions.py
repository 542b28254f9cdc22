"""Functions of one's own in CUDA kernels: which of them, and the header that holds them.

A kernel is compiled for the functions that its networks use. Their set has a name, such as
"a18_a21_g7" for two activations and an aggregation by id, which travels as the value of a macro.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from evonet.functions.expressions.cuda_source import write_header
from evonet.functions.expressions.steps import Steps
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.functions.table import Functions

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

HEADER: Final = "nodes/custom_functions.h"
MACRO: Final = "CUSTOM_FUNCTIONS"
_KINDS: Final = {"a": ACTIVATION_TABLE, "g": AGGREGATION_TABLE}

_LOCK: Final = threading.Lock()
_last: frozenset[str] = frozenset()


def functions_of(schedule: Schedule) -> str:
    """Names a set that has all functions of one's own in a schedule; "" if there are none.

    While a population evolves, functions come and go. So that kernels are not compiled again for
    every such set, a set that has something in common with the one before is joined to it.
    """
    global _last
    used = frozenset(
        f"{letter}{i}"
        for letter, ids in (("a", schedule.activation), ("g", schedule.aggregation))
        for i in _own(ids, _KINDS[letter])
    )
    if not used:
        return ""
    with _LOCK:
        if used & _last:
            used |= _last
        _last = used
    return "_".join(sorted(used, key=lambda word: (word[0], int(word[1:]))))


def _own(ids: NDArray[np.uint8], functions: Functions) -> list[int]:
    if ids.max(initial=0) < functions.num_builtin:
        return []
    return [i for i in np.unique(ids).tolist() if i >= functions.num_builtin]


def macro_of(name: str) -> dict[str, str]:
    """What a kernel is compiled with so that it knows a set of functions."""
    return {MACRO: name} if name else {}


def header_of(name: str) -> str:
    """The text of `kernels/nodes/custom_functions.h` for a set of functions."""
    found: dict[str, dict[int, Steps]] = {letter: {} for letter in _KINDS}
    for word in name.split("_"):
        expression = _KINDS[word[0]][int(word[1:])].expression
        if expression is None:
            raise AssertionError(f"{word} is built in")
        found[word[0]][int(word[1:])] = expression.steps
    return write_header(found["a"], found["g"])
