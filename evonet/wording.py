"""Numbers in sentences for people."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Writes a number with its noun: "1 link", "1,200 links".

    Args:
        number: How many.
        noun: For one of them; the plural adds an s.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
