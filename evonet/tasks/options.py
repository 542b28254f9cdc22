"""Checks of a task's options, whether Python arguments or entries of [task]."""

from __future__ import annotations

from pathlib import Path

from evonet.config.rules import MOST, Real, RefusedError, Whole
from evonet.errors import OptionError
from evonet.messages import show


def check_whole(name: str, found: object, least: int, default: int) -> int:
    """Returns a whole number, or the default for None.

    Raises:
        OptionError: It is not a whole number, or is too small or large.
    """
    if found is None:
        return default
    try:
        return Whole(least, MOST).check(found)
    except RefusedError as refusal:
        raise OptionError(f"{name} = {show(found)} {refusal}", name) from None


def check_real(
    name: str, found: object, least: float | None = None, most: float | None = None
) -> float:
    """Returns a finite number.

    Raises:
        OptionError: It is not a finite number, or is out of range.
    """
    try:
        return Real(least, most).check(found)
    except RefusedError as refusal:
        raise OptionError(f"{name} = {show(found)} {refusal}", name) from None


def check_path(name: str, found: object) -> Path:
    """Returns a path.

    Raises:
        OptionError: It is not a path.
    """
    if not isinstance(found, (str, Path)):
        raise OptionError(f"{name} = {show(found)} must be the path of a file.", name)
    return Path(found)
