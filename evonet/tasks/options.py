"""Checks the options of a task, which are Python arguments or entries of [task]."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

from evonet.config.rules import RefusedError, Rule, Whole
from evonet.errors import OptionError
from evonet.messages import show

T = TypeVar("T")

# Fresh episodes that test a champion where episodes differ.
RETESTS: Final = 100


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


def read_retests(found: object, default: int) -> int:
    """Returns how many fresh episodes test a champion.

    Raises:
        OptionError: It is not a whole number, or 1, which has no spread.
    """
    retests = read_option("retests", found, Whole(0), default)
    if retests == 1:
        raise OptionError(
            "retests = 1 must be 0 for no tests, or at least 2: one episode shows no spread.",
            "retests",
        )
    return retests
