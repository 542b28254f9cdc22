"""TOML text to tables and back, with every syntax fault that can be found."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from evonet.errors import ConfigFault
from evonet.messages import name, printable

# After this many syntax faults the rest of a file is not read.
MOST_SYNTAX_FAULTS: Final = 20
# How many lines may have begun a broken statement.
MOST_BEGINNINGS: Final = 40
# Characters that are read in search of faults, again and again; of long files not all are found.
MOST_WORK: Final = 1 << 21

_PIECE = r"""(?:[\w-]+|"[^"\n]{0,99}"|'[^'\n]{0,99}')"""
_KEY = re.compile(rf"\s*({_PIECE}(?:\s*\.\s*{_PIECE})*)\s*=")
# tomllib takes minutes over keys of thousands of pieces.
_ENDLESS_KEY = re.compile(rf"(?<![\w-]){_PIECE}(?:[ \t]*\.[ \t]*{_PIECE}){{64}}")
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_WORD = re.compile(r"[^=]*=\s*[A-Za-z_]\w*\s*(#.*)?$")
# A key with a value that does not continue in the next line.
_ONE_LINE = re.compile(_KEY.pattern + r"""(?!\s*(?:\[|\{|\"{3}|'{3}))""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r", '"': r"\"", "\\": r"\\"}


class Document(NamedTuple):
    """What a TOML text says."""

    tables: dict[str, Any] | None  # all but the faulty lines; None if the rest cannot be read
    faults: list[ConfigFault]  # the faulty lines
    lines: dict[str, int]  # the line of every key and table


def parse(text: str) -> Document:
    """Reads TOML, and continues after a faulty line where the rest does not depend on it."""
    lines = text.replace("\r\n", "\n").split("\n")
    faults: list[ConfigFault] = []
    work = _Work()
    endless = _ENDLESS_KEY.search(text)
    if endless:
        line = text.count("\n", 0, endless.start()) + 1
        message = f'"{name(endless[0])}" is a key of too many pieces.'
        return Document(None, [ConfigFault("", message, line)], {})
    while True:
        keys = _line_keys(lines)
        try:
            tables = work.parse("\n".join(lines))
        except (ValueError, RecursionError) as error:
            at = _faulty_line(lines, error, work)
            faults.append(_syntax_fault(lines[at], keys[at], error, at + 1))
            enough = len(faults) == MOST_SYNTAX_FAULTS or work.is_done
            if enough or not _ONE_LINE.match(lines[at]):
                return Document(None, faults, {})
            lines[at] = ""
        else:
            return Document(tables, faults, _line_numbers(lines, keys))


def _line_keys(lines: Sequence[str]) -> list[str]:
    """Names the dotted key that each line sets, or "" for other lines.

    Good enough for messages: a line within a longer string is mistaken for a key.
    """
    found: list[str] = []
    table = ""
    for line in lines:
        header, entry = _header(line), _KEY.match(line)
        if header:
            table = _plain(header) + "."
        found.append(table + _plain(entry[1]) if entry and not header else "")
    return found


def _line_numbers(lines: Sequence[str], keys: Sequence[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, (line, key) in enumerate(zip(lines, keys, strict=True), 1):
        header = _header(line)
        numbers.setdefault(_plain(header) if header else key, number)
    numbers.pop("", None)
    return numbers


def write(tables: Mapping[str, Mapping[str, object]]) -> str:
    """Writes tables of plain values as TOML, always in the same way; inner ones are inline."""
    parts = []
    for title, table in tables.items():
        entries = (f"{_key(key)} = {_value(value)}\n" for key, value in table.items())
        parts.append(f"[{_key(title)}]\n" + "".join(entries))
    return "\n".join(parts)


def _header(line: str) -> str:
    """Returns what stands between the brackets that a line starts with, or "".

    Not by a regular expression: of many spaces, each part could be the end of the name.
    """
    text = line.lstrip()
    name, end, _ = text[1:].removeprefix("[").partition("]")
    return name.strip() if text.startswith("[") and end and "[" not in name else ""


class _Work:
    """Parses again and again, and counts the characters."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    @property
    def is_done(self) -> bool:
        return self._left < 0

    def parse(self, text: str) -> dict[str, Any]:
        self._left -= len(text) + 1
        return tomllib.loads(text)

    def failure(self, text: str) -> Exception | None:
        try:
            self.parse(text)
        except (ValueError, RecursionError) as error:
            return error
        return None


def _faulty_line(lines: list[str], error: Exception, work: _Work) -> int:
    """Finds the line that begins the statement that an error is about.

    tomllib reports where it gave up: for a string or list without end, far below. Everything
    before a statement is valid TOML, but nothing that ends within one is; and the line that
    begins a statement of many lines is not valid alone.
    """
    position = _POSITION.search(str(error))
    if position is None:  # not tomllib's own: a huge number, or nesting without end
        alone = (i for i, line in enumerate(lines) if isinstance(work.failure(line), type(error)))
        return next(alone, 0)
    last = int(position[1] or len(lines)) - 1
    above = (i for i in range(last - 1, -1, -1) if work.is_done or work.failure(lines[i]))
    for at in itertools.islice(itertools.chain([last], above), MOST_BEGINNINGS):
        if work.is_done or work.failure("\n".join(lines[:at])) is None:
            return at
    return last


def _syntax_fault(line: str, key: str, error: Exception, number: int) -> ConfigFault:
    reason = _POSITION.sub("", str(error))
    if isinstance(error, RecursionError):
        reason = "Too many brackets within each other"
    elif not isinstance(error, tomllib.TOMLDecodeError):
        reason = "A number is too long"
    header = _header(line)
    if header and reason.startswith("Cannot declare"):
        key = _plain(header)
        return ConfigFault(key, f"[{key}] appears twice.", number)
    if key and reason == "Cannot overwrite a value":
        return ConfigFault(key, f"{key} appears twice.", number)
    hint = ""
    if key and _WORD.match(line):
        hint = " Text needs quotes; true and false are spelled in small letters."
    what = key or f'"{name(line.strip())}"'
    return ConfigFault(key, f"{what} is not valid TOML: {printable(reason)}.{hint}", number)


def _plain(dotted: str) -> str:
    parts = re.findall(_PIECE, dotted)
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
