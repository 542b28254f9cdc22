"""Species: genomes that are close to each other, and how they have fared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, overload

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]

MOST_SCORES: Final = 100


class ScoreHistory(Sequence[float]):
    """The last scores of a species, generation by generation; it never changes.

    Only the last `MOST_SCORES` are kept, so that a generation costs the same, in time and in a
    checkpoint, however many there were before.

    Attributes:
        best: The highest score of all, of forgotten ones too; minus infinity if there is none.
    """

    __slots__ = ("_forgotten", "_recent", "best")

    def __init__(self, scores: Iterable[float] = ()) -> None:
        every = tuple(scores)
        self._recent = every[-MOST_SCORES:]
        self._forgotten = max(every[:-MOST_SCORES], default=-np.inf)  # the best of them
        self.best = max(every, default=-np.inf)

    def extended(self, score: float) -> ScoreHistory:
        """Returns a history with one more score."""
        longer = ScoreHistory.__new__(ScoreHistory)
        recent = self._recent
        if len(recent) < MOST_SCORES:
            longer._recent, longer._forgotten = (*recent, score), self._forgotten
        else:
            longer._recent = (*recent[1:], score)
            longer._forgotten = max(self._forgotten, recent[0])
        longer.best = score if score > self.best else self.best
        return longer

    def packed(self) -> list[float]:
        """Returns scores that make an equal history: the best forgotten one, and the others."""
        return [self._forgotten, *self._recent] if self._forgotten > -np.inf else [*self._recent]

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> list[float]: ...
    def __getitem__(self, index: int | slice) -> float | list[float]:
        return list(self._recent[index]) if isinstance(index, slice) else self._recent[index]

    def __len__(self) -> int:
        return len(self._recent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ScoreHistory({list(self)!r})"


@dataclass(eq=False, slots=True, repr=False)
class Species:
    """Genomes that are close to each other; it never changes.

    There is a new one per species and generation, and frozen ones would take three times as long
    to make.

    Attributes:
        key: Its number, counted from 1 over the whole run.
        created: The generation that founded it.
        last_improved: The last generation in which its score rose.
        members: Positions of its genomes in the population, ascending.
        representative: Position of the genome that stands for it.
        score_history: Its scores in the last generations, at most `MOST_SCORES`.
    """

    key: int
    created: int
    last_improved: int
    members: npt.NDArray[np.int64]
    representative: int
    score_history: ScoreHistory = field(default_factory=ScoreHistory)

    def __repr__(self) -> str:
        score = f", score={self.score_history[-1]:.6g}" if len(self.score_history) else ""
        return (
            f"Species(key={self.key}, size={len(self.members)}, created={self.created}, "
            f"last_improved={self.last_improved}{score})"
        )

    def with_members(self, members: npt.NDArray[np.int64], representative: int) -> Species:
        """Returns the species in its next generation."""
        return Species(
            self.key,
            self.created,
            self.last_improved,
            members,
            representative,
            self.score_history,
        )

    def with_score(self, score: float, generation: int) -> Species:
        """Returns the species with its score in a generation."""
        history = self.score_history
        improved = score > history.best or not history._recent
        return Species(
            self.key,
            self.created,
            generation if improved else self.last_improved,
            self.members,
            self.representative,
            history.extended(score),
        )

    def __len__(self) -> int:
        return len(self.members)


def join_members(species: Sequence[Species]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the members of all species in turn, and where those of each begin, [S + 1]."""
    groups = [s.members for s in species]
    members = np.concatenate(groups) if groups else np.zeros(0, np.int64)
    return members, np.array([0, *accumulate(map(len, groups))])


@dataclass(slots=True, kw_only=True)
class SpeciesRecord:
    """One species of a generation, for records.

    Attributes:
        key: Its number.
        size: How many genomes belong to it.
        best: The best fitness among them.
        age: Generations since it was founded.
        last_improved: The last generation in which its score rose.
    """

    key: int
    size: int
    best: float
    age: int
    last_improved: int
