"""Where a task comes from: the name and the options that made it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

ATTRIBUTE: Final = "_evonet_origin"


class Origin(NamedTuple):
    """What `make_task` was called with."""

    name: str
    options: Mapping[str, Any]


def note_origin(task: object, name: str, options: Mapping[str, Any]) -> None:
    """Notes on a task what made it, if the task takes notes."""
    with suppress(AttributeError, TypeError):
        setattr(task, ATTRIBUTE, Origin(name, dict(options)))


def origin_of(task: object) -> Origin | None:
    """What made a task; None if that is not known."""
    found = getattr(task, ATTRIBUTE, None)
    return found if isinstance(found, Origin) else None
