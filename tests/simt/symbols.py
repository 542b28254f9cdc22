"""Reads compiled modules with binutils: variables, and lines of source."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .build import RUNTIME_NAME
from .errors import Location


@dataclass(frozen=True)
class Variable:
    """A variable of a module, with its address relative to the module.

    A __shared__ variable's address is relative to the thread-local block instead.
    """

    name: str
    address: int
    size: int
    is_shared: bool
    in_read_only_section: bool

    @property
    def short_name(self) -> str:
        """Returns the name without the function or namespace that it is in."""
        return re.split(r"::", self.name)[-1]


def read_variables(module: Path) -> list[Variable]:
    """Returns all variables of a module."""
    output = _run(["readelf", "--wide", "--demangle", "--symbols", str(module)])
    sections = _run(["readelf", "--wide", "--section-headers", str(module)])
    read_only = {
        number
        for number, flags in re.findall(
            r"^\s*\[\s*(\d+)\] \S+\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+([A-Z]*)", sections, re.MULTILINE
        )
        if "W" not in flags
    }
    table = output[output.find("Symbol table '.symtab'") :]
    found = {}
    for line in table.splitlines():
        columns = line.split(maxsplit=7)
        if len(columns) == 8 and columns[3] in ("TLS", "OBJECT") and columns[6].isdigit():
            name, size = columns[7], int(columns[2], 0)
            is_shared = columns[3] == "TLS"
            found[name, columns[1]] = Variable(
                name, int(columns[1], 16), size, is_shared, columns[6] in read_only
            )
    return list(found.values())


def locate(module: Path, sites: Sequence[int]) -> dict[int, Location]:
    """Returns the line of a kernel for return addresses, relative to the module.

    A call out of a function of the runtime that was inlined counts for the line that called it.
    """
    known = sorted({site for site in sites if site})
    if not known:
        return {}
    # A return address may belong to the next line already; one byte before does not.
    addresses = [hex(site - 1) for site in known]
    command = ["addr2line", "--addresses", "--inlines", "--exe", str(module), *addresses]
    places: dict[int, Location] = {}
    site = 0
    for line in _run(command).splitlines():
        if line.startswith("0x"):
            site = int(line, 16) + 1
            continue
        file, _, number = re.sub(r" \(discriminator.*", "", line).rpartition(":")
        if (
            site not in places
            and number.isdigit()
            and file != "??"
            and Path(file).parent.name != RUNTIME_NAME
        ):
            places[site] = Location(_shorten(file), int(number))
    return places


def _shorten(file: str) -> str:
    """Returns a path relative to the folder of headers or the working folder that it is in."""
    path = Path(os.path.normpath(file))
    if not path.is_absolute():
        return str(path)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(path) if path.exists() else path.name


def _run(command: list[str]) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    ).stdout
