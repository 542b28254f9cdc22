"""Reads the lists that C++ includes: the .def files of kernels/.

An entry is a macro with its arguments, which are names, numbers, and texts in double quotes:

    EVONET_ACTIVATION(IDENTITY, identity, "z")

A list takes a fraction of a millisecond, so modules read theirs when they are imported.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from evonet.errors import EvonetError
from evonet.installation import resource_folder

_ENTRY: Final = re.compile(r'^EVONET_(\w+)\(((?:[^"()]|"[^"\n]*")*)\)$', re.MULTILINE)
_ARGUMENT: Final = re.compile(r'"([^"\n]*)"|([^\s",]+)')


def read_list(name: str, *kinds: str) -> tuple[tuple[str, ...], ...]:
    """Reads the entries of a list, in the order of the file.

    Args:
        name: The file, relative to kernels/.
        kinds: The macros wanted, in lower case and without their prefix: "activation", say.

    Returns:
        The arguments of each entry, texts without their quotes.

    Raises:
        EvonetError: The installation is incomplete: the file or the entries are missing.
    """
    found = tuple(arguments for kind, arguments in _read(name) if kind in kinds)
    if not found:
        raise EvonetError(f"kernels/{name} has no entries of {kinds}. Reinstall evonet.")
    return found


@cache
def _read(name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    path = resource_folder("kernels") / name
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EvonetError(f"cannot read {path}: {error}. Reinstall evonet.") from error
    return tuple(
        (kind.lower(), tuple(quoted or word for quoted, word in _ARGUMENT.findall(arguments)))
        for kind, arguments in _ENTRY.findall(text)
    )
