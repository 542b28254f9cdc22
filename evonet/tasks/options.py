"""Checks the options of a task, which are Python arguments or entries of [task]."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from evonet.config.rules import RefusedError, Rule
from evonet.errors import OptionError
from evonet.messages import show

T = TypeVar("T")


class FilePath(Rule[Path]):
    """The path of a file."""

    def check(self, value: object) -> Path:
        """Accepts text and paths."""
        if not isinstance(value, (str, Path)):
            raise RefusedError("must be the path of a file.")
        return Path(value)


def read_option(name: str, found: object, rule: Rule[T], default: T | None = None) -> T:
    """Returns the value of an option in its canonical form, or its default for None.

    Raises:
        OptionError: The rule refuses the value.
    """
    if found is None and default is not None:
        return default
    try:
        return rule.check(found)
    except RefusedError as refusal:
        raise OptionError(f"{name} = {show(found)} {refusal}", name) from None
