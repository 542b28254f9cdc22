"""Work that may not fit into a GPU's memory at once: done in pieces, smaller ones if need be."""

from __future__ import annotations

from collections.abc import Callable

from evonet.errors import DeviceMemoryError


class PieceSize:
    """How much fitted at a time, so that what failed once is not tried again."""

    def __init__(self) -> None:
        self._piece = 0  # at a time, for things at least as large as:
        self._short_from = 0  # the size at which memory ran short; 0 if it never did

    def known(self, size: int) -> int | None:
        """How many to begin with, of things that have this size each; None if anything may fit."""
        return self._piece if 0 < self._short_from <= size else None

    def shrink(self, size: int, piece: int) -> None:
        """Remembers that only so many fit."""
        self._piece, self._short_from = piece, max(1, size)


def run_in_pieces(
    begin: int,
    end: int,
    piece: int,
    run: Callable[[int, int], None],
    shrink: Callable[[int], None],
    advice: Callable[[int], str],
) -> None:
    """Runs all of [begin, end), half as much at a time whenever memory runs short.

    Args:
        begin: First thing to do.
        end: Behind the last.
        piece: How many to begin with at a time.
        run: Does [begin, end); what it had done when memory ran short is done again.
        shrink: Frees what can be made anew; is told how many it will be at a time from now on.
        advice: What to tell people if a single thing does not fit, given which.

    Raises:
        DeviceMemoryError: Not even one fits, with everything forgotten.
    """
    tried = False
    while begin < end:
        last = min(begin + piece, end)
        fault = _try(run, begin, last)
        if fault is None:
            begin, tried = last, False
            continue
        piece = (last - begin + 1) // 2
        shrink(piece)
        if last - begin == 1 and tried:
            raise DeviceMemoryError(f"{fault} {advice(begin)}")
        tried = last - begin == 1  # once more, now that everything is forgotten


def _try(run: Callable[[int, int], None], begin: int, end: int) -> str | None:
    """Returns what the GPU said if memory ran short."""
    try:
        run(begin, end)
    except DeviceMemoryError as error:
        return str(error)  # and not the error, whose frames keep arrays alive
    return None
