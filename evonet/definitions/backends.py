"""The one list of backends, and of how work is laid out over the threads of a GPU."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

BackendName: TypeAlias = Literal["auto", "cuda", "cpu", "reference"]
"""What users write; "auto" takes the first of BACKENDS that works."""

Mapping: TypeAlias = Literal["auto", "levels", "samples", "wide"]
"""How work is laid out over the threads of a GPU; "auto" lets a cost model choose."""

BACKEND_NAMES: Final[tuple[BackendName, ...]] = get_args(BackendName)
BACKENDS: Final[tuple[BackendName, ...]] = BACKEND_NAMES[1:]
MAPPINGS: Final[tuple[Mapping, ...]] = get_args(Mapping)
