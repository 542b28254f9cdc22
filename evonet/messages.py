"""How messages quote what was found, suggest what was meant, and put numbers into sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

# Longer text is cut; a message stays readable whatever a file holds.
MOST_CHARACTERS: Final = 100
MOST_ITEMS: Final = 8
# Longer lists of names are searched for the nearest one, but not printed.
MOST_NAMES: Final = 24


def show(value: object) -> str:
    """Quotes a value: on one line, and not too long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > 199:
        return "a huge number"  # str() itself refuses the very longest
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        dots = ["..."] if len(value) > MOST_ITEMS else []
        text = f"[{', '.join([*map(show, value[:MOST_ITEMS]), *dots])}]"
    elif isinstance(value, str):
        text = f'"{name(value)}"' if value else '""'
    else:
        text = printable(str(value))
    return text if len(text) <= MOST_CHARACTERS + 2 else f"{text[:MOST_CHARACTERS]}..."


def name(key: object) -> str:
    """Quotes a key or a word from a file, without quotation marks."""
    text = printable(str(key)[: MOST_CHARACTERS + 1]) or '""'
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def printable(text: str) -> str:
    """Escapes line ends and other characters that would garble a message."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def did_you_mean(found: object, allowed: Iterable[str], listed_as: str = "Allowed:") -> str:
    """Ends a message with the nearest allowed names, or with all of them if they are few.

    Args:
        found: What was found; upper and lower case count as equal.
        allowed: What would have been accepted; names may come from a file.
        listed_as: How the list of all names starts.
    """
    options = list(map(name, allowed))
    word = found.lower()[:MOST_CHARACTERS] if isinstance(found, str) else ""
    longer = [option for option in options if option.startswith(f"{word}_")]
    if len(longer) > 1:
        return f"Did you mean {', '.join(longer)}?"
    by_lower_case = {option.lower(): option for option in options}
    for match in difflib.get_close_matches(word, by_lower_case, n=1):
        return f'Did you mean "{by_lower_case[match]}"?'
    return f"{listed_as} {', '.join(sorted(options))}." if len(options) <= MOST_NAMES else ""


def number(value: float, digits: int = 5) -> str:
    """Writes a number for people: 100,000 rather than 1e+05.

    Args:
        value: The number.
        digits: How many digits to show of smaller ones.
    """
    if 1e5 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def counted(number: int, noun: str) -> str:
    """Writes a number with its noun: "1 link", "1,200 links".

    Args:
        number: The number.
        noun: The singular; the plural adds an s.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
