"""The rules of genetics as a GPU reads them: the structs of `kernels/genetics/gene_rules.h`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.genes.rules import Rules

_MOST_OPTIONS: Final = 32

_CHOICE: Final = np.dtype(
    [
        ("mutate_rate", np.float32),
        ("first", np.int32),
        ("count", np.int32),
        ("options", np.uint8, _MOST_OPTIONS),
    ],
    align=True,
)
_BOOL: Final = np.dtype(
    [
        ("mutate_rate", np.float32),
        ("to_true_add", np.float32),
        ("to_false_add", np.float32),
        ("first", np.int32),
    ],
    align=True,
)


def genome_rules_type(real: npt.DTypeLike) -> np.dtype[Any]:
    """The layout of GenomeRules<real>."""
    number = [
        *((name, real) for name in ("init_mean", "init_stdev", "mutate_power")),
        *((name, real) for name in ("max_value", "min_value")),
        *((name, np.float32) for name in ("mutate_rate", "replace_rate")),
        ("init_uniform", np.bool_),
    ]
    numbers = np.dtype(number, align=True)
    return np.dtype(
        [
            *((name, numbers) for name in ("bias", "response", "time_constant", "weight")),
            *((name, _CHOICE) for name in ("activation", "aggregation")),
            ("enabled", _BOOL),
            *((name, np.float32) for name in ("conn_add", "conn_delete")),
            *((name, np.float32) for name in ("node_add", "node_delete")),
            *((name, np.bool_) for name in ("single_structural_mutation",)),
            *((name, np.bool_) for name in ("structural_mutation_surer", "feed_forward")),
        ],
        align=True,
    )


def distance_rules_type(real: npt.DTypeLike) -> np.dtype[Any]:
    """The layout of DistanceRules<real>."""
    return np.dtype(
        [
            *((name, real) for name in ("disjoint", "excess", "weight", "enable_penalty")),
            ("include_nodes", np.bool_),
        ],
        align=True,
    )


def pack_rules(rules: Rules, layout: np.dtype[Any]) -> npt.NDArray[np.uint8]:
    """Writes rules as bytes; numbers are rounded as the native engine rounds them."""
    packed = np.zeros((), layout)
    for name, value in rules.items():
        _write(packed, name, value)
    return np.frombuffer(packed.tobytes(), np.uint8)


def _write(packed: npt.NDArray[Any], name: str, value: Any) -> None:
    if not isinstance(value, dict):
        packed[name] = value
        return
    for field, number in value.items():
        if field == "options":
            packed[name]["count"] = len(number)
            packed[name][field][: len(number)] = number
        else:
            packed[name][field] = number
