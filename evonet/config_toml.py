"""TOML text to tables and back, with every syntax fault that can be told apart."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evonet.config_rules import printable
from evonet.errors import ConfigFault

# After this many syntax faults a file is something else, or hopeless.
MOST_SYNTAX_FAULTS: Final = 20
# How far up a broken statement is searched for its first line.
MOST_LINES_UP: Final = 40

_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_WORD = re.compile(r"[^=]*=\s*[A-Za-z_]\w*\s*(#.*)?$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {
    "\b": r"\b",
    "\t": r"\t",
    "\n": r"\n",
    "\f": r"\f",
    "\r": r"\r",
    '"': r"\"",
    "\\": r"\\",
}


def parse(text: str) -> tuple[dict[str, Any] | None, list[ConfigFault]]:
    """Reads TOML, and goes on after a faulty line where the rest does not depend on it.

    Returns:
        The tables without the faulty lines, or None if the rest cannot be told; and the faults.
    """
    lines = text.split("\n")
    keys = line_keys(lines)
    faults: list[ConfigFault] = []
    while True:
        try:
            return tomllib.loads("\n".join(lines)), faults
        except (ValueError, RecursionError) as error:
            first, last = _statement(lines, error)
            key = keys[first]
            faults.append(_syntax_fault(lines[first], key, error, first + 1))
            if not key or first != last or len(faults) == MOST_SYNTAX_FAULTS:
                return None, faults
            lines[first] = ""


def line_keys(lines: Sequence[str]) -> list[str]:
    """Names the dotted key that each line sets, or "" for other lines.

    A look at the surface, good enough for messages: a line within a longer string may fool it.
    """
    found: list[str] = []
    table = ""
    for line in lines:
        header, entry = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _plain(header[1]) + "."
        found.append(table + _plain(entry[1]) if entry and not header else "")
    return found


def write(tables: Mapping[str, Mapping[str, object]]) -> str:
    """Writes tables of plain values as TOML, always in the same way.

    Args:
        tables: What to write; inner mappings become inline tables.
    """
    parts = []
    for name, table in tables.items():
        entries = (f"{_key(key)} = {_value(value)}\n" for key, value in table.items())
        parts.append(f"[{_key(name)}]\n" + "".join(entries))
    return "\n".join(parts)


def _statement(lines: list[str], error: Exception) -> tuple[int, int]:
    """Finds the first and last line of the statement that an error is about.

    All that stands before a statement is valid TOML, but nothing that ends within one is.
    """
    position = _POSITION.search(str(error))
    if position is None:  # not tomllib's own: a huge number, or nesting without end
        alone = (i for i, line in enumerate(lines) if isinstance(_failure(line), type(error)))
        return (next(alone, 0),) * 2
    last = int(position[1] or len(lines)) - 1
    for first in range(last, max(-1, last - MOST_LINES_UP), -1):
        if _failure("\n".join(lines[:first])) is None:
            return first, last
    return last, last + 1


def _failure(text: str) -> Exception | None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return error
    except (ValueError, RecursionError) as error:
        return error
    return None


def _syntax_fault(line: str, key: str, error: Exception, number: int) -> ConfigFault:
    reason = _POSITION.sub("", str(error)) or type(error).__name__
    if isinstance(error, RecursionError):
        reason = "Too many brackets within each other"
    if reason == "Cannot overwrite a value":
        return ConfigFault(key, f"{key or 'A key'} appears twice.", number)
    hint = ""
    if key and _WORD.match(line):
        hint = " Text needs quotes; true and false are spelled in small letters."
    what = key or f'"{printable(line.strip()[:60])}"'
    return ConfigFault(key, f"{what} is not valid TOML: {printable(reason)}.{hint}", number)


def _plain(dotted: str) -> str:
    parts = re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", dotted)
    return printable(".".join(part.strip("\"'") for part in parts))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inner = (f"{_key(key)} = {_value(v)}" for key, v in value.items())
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return _string(value) if isinstance(value, str) else repr(value)


def _string(text: str) -> str:
    def escape(c: str) -> str:
        return _ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else c)

    return f'"{"".join(map(escape, text))}"'
