"""Gets the text of a config file, and tells TOML from INI."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal, TypeAlias

from evonet.errors import ConfigError, ConfigFault

Format: TypeAlias = Literal["toml", "ini"]

# The longest config file that is believed to be one.
MOST_BYTES: Final = 1 << 20

SUFFIXES: Final[dict[str, Format]] = {".toml": "toml", ".ini": "ini", ".cfg": "ini", "": "ini"}

_INI_SECTION = re.compile(r"^[ \t]*\[(NEAT|Default[A-Z]\w*)\]", re.MULTILINE)


def read_text(path: str | os.PathLike[str], source: str) -> str:
    """Reads a file as UTF-8, with or without a byte-order mark.

    Args:
        path: The file.
        source: What errors call it.

    Raises:
        ConfigError: It is a folder, or not text, or too long.
        OSError: It cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise _unfit(source, "This is a folder. Expected a config file.") from None
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


def guess_format(path: str, text: str) -> Format:
    """Tells a file's format by its ending, or else by the sections that it has."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    return "ini" if _INI_SECTION.search(text) else "toml"


def _unfit(source: str, message: str, line: int | None = None) -> ConfigError:
    return ConfigError(source, [ConfigFault("", message, line)])
