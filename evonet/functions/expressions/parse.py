"""Parses text to a tree. Every character is checked before Python's parser sees the text."""

from __future__ import annotations

import ast
import re
from typing import Final

from evonet.errors import ExpressionError
from evonet.functions.expressions.convert import Converter, FaultError
from evonet.functions.expressions.tree import ExpressionNode, FunctionKind

MOST_CHARACTERS: Final = 1000
MOST_BRACKETS: Final = 50  # within each other
# The number of characters of a long text that a message shows.
WINDOW: Final = 80

_TOKEN: Final = re.compile(
    r"""  [A-Za-z_][A-Za-z_0-9]*
        | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z_0-9.])
        | \*\* | <= | >= | == | != | [-+*/<>(),]""",
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def parse(text: str, kind: FunctionKind, where: str) -> ExpressionNode:
    """Reads an expression; nothing in it is ever executed. `where` starts error messages."""
    if not isinstance(text, str):
        raise ExpressionError(f"{where}: {type(text).__name__} is no expression. Expected a text.")
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(
            f"{where}: has {len(text)} characters. At most {MOST_CHARACTERS} are allowed."
        )
    line = re.sub(r"[\t\r\n]", " ", text)
    _check_tokens(line, where)
    try:
        tree = ast.parse(line.lstrip(" "), mode="eval").body
    except SyntaxError as error:
        begin = len(line) - len(line.lstrip(" "))
        at = begin + max(0, (error.offset or 1) - 1)
        raise fault_in(line, min(at, len(line)), _reason(error), where) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{where}: is nested too deeply, or has an endless number.") from None
    begin = len(line) - len(line.lstrip(" "))
    try:
        return Converter(kind).convert(tree)
    except FaultError as fault:
        at = begin + getattr(fault.at, "col_offset", 0)
        end = begin + (getattr(fault.at, "end_col_offset", None) or 0)
        raise fault_in(line, at, _quote(line[at:end], fault.message), where) from None


def fault_in(line: str, at: int, message: str, where: str) -> ExpressionError:
    """An error with the text and a mark below the offending character."""
    first = max(0, min(at - WINDOW // 2, len(line) - WINDOW))
    shown = "".join(c if " " <= c <= "~" else "?" for c in line[first : first + WINDOW])
    before, behind = "..." * (first > 0), "..." * (first + WINDOW < len(line))
    mark = " " * (len(before) + at - first) + "^"
    return ExpressionError(f"{where}: {message}\n  {before}{shown}{behind}\n  {mark}", at)


def _check_tokens(line: str, where: str) -> None:
    at, brackets, empty = 0, 0, True
    while (at := _end(_SPACE.match(line, at))) < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            raise fault_in(line, at, _stranger(line, at), where)
        brackets += (token[0] == "(") - (token[0] == ")")
        if brackets > MOST_BRACKETS:
            message = f"is nested too deeply. At most {MOST_BRACKETS} brackets may be open."
            raise fault_in(line, at, message, where)
        at, empty = token.end(), False
    if empty:
        raise ExpressionError(f"{where}: the expression is empty.")


def _end(match: re.Match[str] | None) -> int:
    return match.end() if match else 0


def _stranger(line: str, at: int) -> str:
    word = re.compile(r"[.0-9A-Za-z_]+").match(line, at)
    if word and word[0][0] in "0123456789":
        return f"{_quote(word[0], 'is not a number.')}"
    if line[at] == "." and at > 0 and (line[at - 1].isalnum() or line[at - 1] in "_)"):
        return f"{line[:at].split()[-1][-20:]}{word[0][:20] if word else '.'} is not allowed here."
    character = line[at] if line[at].isascii() and line[at].isprintable() else ascii(line[at])[1:-1]
    return f'"{character}" is not allowed in an expression.'


def _quote(text: str, message: str) -> str:
    """Puts the offending text in front of a message that lacks a subject."""
    if not message.startswith(("is ", "has ", "compares ")):
        return message
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return f"{shown} {message}"


def _reason(error: SyntaxError) -> str:
    return f"cannot be read as an expression: {error.msg}."
