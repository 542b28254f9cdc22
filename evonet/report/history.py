"""The contents of metrics.jsonl as arrays over generations, thinned to what a page can show."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError

Floats = npt.NDArray[np.float64]

# More points than this cannot be distinguished on a page.
MOST_POINTS: Final = 400
# Smaller species beyond this number are shown as one.
MOST_SPECIES: Final = 40
PHASES: Final = ("ask", "compile", "evaluate", "tell")


@dataclass(frozen=True)
class History:
    """A run, generation by generation."""

    # [G] each, named as in `GenerationRecord`; phases are named like "seconds.ask", and "solved" is
    # 0 or 1.
    columns: dict[str, Floats]
    # [G] the size of each species by its key; empty for algorithms without species.
    species: list[dict[int, int]]

    def __len__(self) -> int:
        return len(self.species)

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name]

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """[K] the index of the last generation that each point on the page stands for."""
        count = len(self)
        if count <= MOST_POINTS:
            return np.arange(count)
        return np.unique(np.linspace(0, count, MOST_POINTS + 1).astype(np.int64)[1:] - 1)

    @property
    def _starts(self) -> npt.NDArray[np.int64]:
        """[K] the index of the first generation that each point stands for."""
        return np.append(0, self.ends[:-1] + 1)

    @property
    def generation(self) -> Floats:
        """[K] the last generation of each point."""
        return self["generation"][self.ends]

    def last(self, name: str) -> Floats:
        """[K] a column at the last generation of each point."""
        return self[name][self.ends]

    def mean(self, name: str) -> Floats:
        """[K] the mean of a column over the generations of each point."""
        totals: Floats = np.add.reduceat(self[name], self._starts)
        means: Floats = totals / (self.ends - self._starts + 1)
        return means

    def extreme(self, name: str, largest: bool) -> Floats:
        """[K] the largest or smallest of a column over the generations of each point."""
        fold: Any = np.maximum if largest else np.minimum
        folded: Floats = fold.reduceat(self[name], self._starts)
        return folded

    def species_sizes(self) -> dict[int, Floats]:
        """[K] genomes of each species by key, the oldest first; key 0 is all small ones."""
        total: dict[int, int] = defaultdict(int)
        for i in self.ends:
            for key, size in self.species[i].items():
                total[key] += size
        shown = sorted(sorted(total, key=lambda key: -total[key])[:MOST_SPECIES])
        sizes = {key: np.zeros(len(self.ends)) for key in shown}
        others = np.zeros(len(self.ends))
        for point, i in enumerate(self.ends):
            for key, size in self.species[i].items():
                target = sizes.get(key, others)
                target[point] += size
        return sizes if not others.any() else {**sizes, 0: others}


_NUMBERS: Final = (
    *("generation", "best", "mean", "min", "max", "std", "best_so_far", "solved"),
    *("mean_nodes", "mean_connections", "best_nodes", "best_connections"),
    *("evaluations", "evaluations_per_second"),
)


def read_history(path: str | os.PathLike[str]) -> History:
    """Reads metrics.jsonl, except for an incomplete last line."""
    rows: list[list[float]] = []
    species: list[dict[int, int]] = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                values = [float(record[name]) for name in _NUMBERS]
                values += [float(record["seconds"][phase]) for phase in PHASES]
                listed = record.get("species") or ()
                sizes = {int(s["key"]): int(s["size"]) for s in listed}
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise FileFormatError(
                    f"{os.fspath(path)}: line {number} is not about a generation: {error}"
                ) from error
            rows.append(values)
            species.append(sizes)
    table = np.array(rows).reshape(-1, len(_NUMBERS) + len(PHASES))
    names = (*_NUMBERS, *(f"seconds.{phase}" for phase in PHASES))
    return History({name: table[:, i] for i, name in enumerate(names)}, species)
