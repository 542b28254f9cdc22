"""The progress of a fit: sums over a pass, and a bar on the terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

NAMES = ("samples", "loss", "hits", "active")


class Progress:
    """Counts samples, and shows a bar if wanted.

    Args:
        shown: Whether to show a bar.
        total: Samples of all passes.
        first: Samples that were done before.
        sums: What the pass had added up when it was interrupted.
    """

    def __init__(
        self, shown: bool, total: int, first: int = 0, sums: dict[str, float] | None = None
    ) -> None:
        self.sums = dict.fromkeys(NAMES, 0.0) | (sums or {})
        self._bar: Any = None
        if shown:
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=first, unit=" samples", dynamic_ncols=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def count(self, found: dict[str, float]) -> None:
        """Adds a batch."""
        for name in NAMES:
            self.sums[name] += found[name]
        if self._bar is not None:
            count = found["samples"]
            self._bar.set_postfix_str(
                f"loss {found['loss'] / count:.3f}, P@1 {found['hits'] / count:.2f} of "
                f"{100 * found['active'] / count:.2g} % active",
                refresh=False,
            )
            self._bar.update(int(count))

    def finish_pass(self) -> dict[str, float]:
        """Returns the means over the pass, and starts the next one."""
        count = max(self.sums["samples"], 1.0)
        means = {
            "loss": self.sums["loss"] / count,
            "precision": self.sums["hits"] / count,
            "active_share": self.sums["active"] / count,
        }
        self.sums = dict.fromkeys(NAMES, 0.0)
        return means
