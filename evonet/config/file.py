"""Reads the text of a config file, and finds out whether it is TOML or INI."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, TypeAlias

from evonet.errors import ConfigError, ConfigFault

Format: TypeAlias = Literal["toml", "ini"]

# Longer files are not configs.
MOST_BYTES: Final = 1 << 18

SUFFIXES: Final[dict[str, Format]] = {".toml": "toml", ".ini": "ini", ".cfg": "ini", "": "ini"}

_INI_SECTION = re.compile(r"^[ \t]*\[(NEAT|Default[A-Z]\w*)\]", re.MULTILINE)


def read_text(path: str | os.PathLike[str], source: str) -> str:
    """Reads a file, called `source` in errors, as UTF-8 with or without a byte-order mark."""
    if Path(path).is_dir():
        raise _unfit(source, "This is a folder. Expected a config file.")
    with Path(path).open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise _unfit(source, f"The file has more than {MOST_BYTES} bytes. That is no config.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _unfit(source, "The file is UTF-16. Save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}"
        raise _unfit(source, f"The file is not UTF-8 text: {found}.", line) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _unfit(source, "The file is not text: it holds a zero byte.", line)
    return text


def find_format(
    path: str | os.PathLike[str], text: str, tables: Iterable[str], source: str
) -> Format:
    """Finds a file's format by its ending, or else by the sections that it has."""
    ini = set(_INI_SECTION.findall(text))
    toml = re.search(rf"^[ \t]*\[({'|'.join(tables)})[\].]", text, re.MULTILINE)
    form = SUFFIXES.get(Path(path).suffix.lower(), "ini" if ini and not toml else "toml")
    if form == "toml" and len(ini) > 1 and not toml:
        raise _unfit(source, "This is a neat-python file. Rename it to end in .ini.")
    if form == "ini" and toml and not ini:
        raise _unfit(source, "This is a TOML file. Rename it to end in .toml.")
    return form


def _unfit(source: str, message: str, line: int | None = None) -> ConfigError:
    return ConfigError(source, [ConfigFault("", message, line)])
