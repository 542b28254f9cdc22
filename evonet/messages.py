"""How messages quote what was found, and put numbers into sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from evonet.errors import did_you_mean

# Longer text is cut; a message stays readable whatever a file holds.
MOST_CHARACTERS: Final = 100
MOST_ITEMS: Final = 8
# More names than this are not listed, only searched for the nearest.
MOST_NAMES: Final = 24


def show(value: object) -> str:
    """Quotes a value: on one line, and not too long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**60:
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
    """Writes a key or a word that a file made up."""
    text = printable(str(key)[: MOST_CHARACTERS + 1]) or '""'
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def printable(text: str) -> str:
    """Escapes line ends and other characters that would garble a message."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def nearest(found: object, allowed: Iterable[str]) -> str:
    """Ends a message with the nearest allowed name, or with all of them if they are few."""
    options = list(allowed)
    word = found.lower()[:MOST_CHARACTERS] if isinstance(found, str) else ""
    longer = [option for option in options if option.startswith(f"{word}_")]
    if len(longer) > 1:
        return f"Did you mean {', '.join(longer)}?"
    hint = did_you_mean(word, options)
    return hint if len(options) <= MOST_NAMES or hint.startswith("Did") else ""


def counted(number: int, noun: str) -> str:
    """Writes a number with its noun: "1 link", "1,200 links".

    Args:
        number: How many.
        noun: For one of them; the plural adds an s.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
