"""Reads what docstrings explain, so that it is explained once, for files and commands too."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any


def read_section(documented: object, title: str) -> dict[str, str]:
    """Returns the entries of a section of a Google-style docstring, each on one line.

    Args:
        documented: A class or a function.
        title: "Args" or "Attributes".
    """
    text = inspect.cleandoc(getattr(documented, "__doc__", None) or "").partition(f"{title}:\n")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", text.split("\n\n")[0], re.MULTILINE)
    return {name: re.sub(r"\s+", " ", meaning) for name, meaning in found}


def read_arguments(function: Callable[..., Any]) -> dict[str, str]:
    """Returns what the arguments of a function, or of a class, mean."""
    while isinstance(function, partial):
        function = function.func
    documented = vars(function).get("__init__") if isinstance(function, type) else function
    return read_section(documented, "Args")


def in_a_file(meaning: str) -> str:
    """Words a meaning for files, which cannot say None: an option is left out there."""
    return meaning.replace("None for", "leave it out for").replace("None", "leaving it out")
