"""The line of champions: each new best genome with its genes, one JSON line each."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from typing import Any

from evonet.errors import FileFormatError, check_whole
from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.record import GenerationRecord
from evonet.files.generation_lines import GenerationLines, read_lines
from evonet.genes.arrays import LARGEST_KEY
from evonet.genes.genome import Genome
from evonet.messages import name


@dataclass(frozen=True)
class Improvement:
    """A genome that was better than all before it.

    Attributes:
        generation: When it was found.
        fitness: What it scored.
        id: Its number in the run.
        nodes: Bias, response, activation and aggregation of each node by key.
        connections: Source, target, weight and whether enabled of each connection, by
            innovation.
    """

    generation: int
    fitness: float
    id: int
    nodes: dict[int, tuple[float, float, str, str]]
    connections: dict[int, tuple[int, int, float, bool]]


class ImprovementWriter(Callback):
    """Writes a line for every generation that found a new best genome."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens nothing yet.

        Args:
            path: The file, usually improvements.jsonl.
        """
        self._lines = GenerationLines(path)

    def on_start(self, run: Run) -> None:
        """Looks where the run is."""
        self._algorithm = run.algorithm

    def on_generation(self, record: GenerationRecord) -> None:
        """Writes a line, if there is a new best genome."""
        self._lines.begin(record.generation)
        best = self._algorithm.best
        if best is None or best.generation != record.generation:
            return
        self._lines.write(
            {
                "generation": best.generation,
                "fitness": best.fitness,
                "id": best.id,
                **_genes(best.genome),
            }
        )

    def on_end(self, result: Result) -> None:
        """Closes the file."""
        self._lines.close()


def _genes(genome: Genome) -> dict[str, list[Any]]:
    return {
        "nodes": [
            [n.key, _short(n.bias), _short(n.response), n.activation, n.aggregation]
            for n in genome.nodes
        ],
        "connections": [
            [c.innovation, c.source, c.target, _short(c.weight), c.enabled]
            for c in genome.connections
        ],
    }


def _short(value: float) -> float:
    """Enough digits to tell float32 values apart."""
    return float(f"{value:.9g}")


def read_improvements(path: str | os.PathLike[str]) -> list[Improvement]:
    """Reads all lines, except one that was cut short at the end.

    Raises:
        FileFormatError: A line is not what `ImprovementWriter` writes.
        OSError: There is no such file, or it cannot be read.
    """
    found: list[Improvement] = []
    for number, line in read_lines(path):
        try:
            found.append(_parse(json.loads(line)))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise FileFormatError(
                f"{os.fspath(path)}: line {number} is no improvement: {name(str(error))}"
            ) from error
    return found


def _key(found: object) -> int:
    return check_whole("key", found, -LARGEST_KEY, LARGEST_KEY)


def _parse(line: dict[str, Any]) -> Improvement:
    fitness = float(line["fitness"])
    if not math.isfinite(fitness):
        raise ValueError(f"fitness is {fitness}")
    return Improvement(
        generation=check_whole("generation", line["generation"], 0, LARGEST_KEY),
        fitness=fitness,
        id=check_whole("id", line["id"], 0, LARGEST_KEY),
        nodes={
            _key(key): (float(bias), float(response), str(activation), str(aggregation))
            for key, bias, response, activation, aggregation in line["nodes"]
        },
        connections={
            _key(innovation): (_key(source), _key(target), float(weight), bool(enabled))
            for innovation, source, target, weight, enabled in line["connections"]
        },
    )
