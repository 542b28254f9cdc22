"""The contents of metrics.jsonl as arrays over generations, thinned to what a page can show."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError, check_whole
from evonet.files.generation_lines import read_lines
from evonet.messages import name as name_of
from evonet.messages import show

Floats = npt.NDArray[np.float64]

# More points than this cannot be distinguished on a page.
MOST_POINTS: Final = 400
# Smaller species beyond this number are shown as one.
MOST_SPECIES: Final = 40
PHASES: Final = ("ask", "compile", "evaluate", "tell")
# Numbers beyond this are drawn as if they were this, so that no sum or difference overflows.
FARTHEST: Final = 1e300
MOST_COUNT: Final = 2**53


def drawable(value: float) -> float:
    """Brings a number into the range of what charts can hold."""
    return min(max(value, -FARTHEST), FARTHEST)


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

    def optional(self, name: str) -> Floats | None:
        """[K] a column that only some runs have, at the last generation of each point."""
        return self.last(name) if name in self.columns else None

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
# What a generation may also have.
_OPTIONAL: Final = ("validation",)


# What a line raises that is no JSON, or the wrong one.
LINE_FAULTS: Final = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


def _number(record: Any, name: str) -> float:
    """Reads a finite number."""
    value = record[name]
    if not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} is {show(value)}")
    return drawable(float(value))


def _count(record: Any, name: str) -> int:
    return check_whole(name, record[name], 0, MOST_COUNT)


def read_history(path: str | os.PathLike[str]) -> History:
    """Reads metrics.jsonl, except for an incomplete last line.

    Raises:
        FileFormatError: A line is not what a run writes; names it.
        OSError: There is no such file, or it cannot be read.
    """
    rows: list[list[float]] = []
    extra: list[list[float]] = []
    species: list[dict[int, int]] = []
    last = -1
    for number, line in read_lines(path):
        try:
            record = json.loads(line)
            last = check_whole("generation", record["generation"], last + 1, MOST_COUNT)
            values = [_number(record, name) for name in _NUMBERS]
            values += [_number(record["seconds"], phase) for phase in PHASES]
            listed = record.get("species") or ()
            sizes = {_count(s, "key"): _count(s, "size") for s in listed}
        except LINE_FAULTS as error:
            raise FileFormatError(
                f"{os.fspath(path)}: line {number} is not about a generation: {name_of(str(error))}"
            ) from error
        rows.append(values)
        extra.append([_optional(record.get(name)) for name in _OPTIONAL])
        species.append(sizes)
    table = np.array(rows).reshape(-1, len(_NUMBERS) + len(PHASES))
    names = (*_NUMBERS, *(f"seconds.{phase}" for phase in PHASES))
    columns = {name: table[:, i] for i, name in enumerate(names)}
    more = np.array(extra).reshape(-1, len(_OPTIONAL))
    columns |= {n: more[:, i] for i, n in enumerate(_OPTIONAL) if np.isfinite(more[:, i]).all()}
    return History(columns, species)


def _optional(value: object) -> float:
    """Reads a number that may be missing."""
    if not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        return math.nan
    return drawable(float(value))
