"""The line of champions: each new best genome with its genes, one JSON line each."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from evonet.errors import FileFormatError
from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.record import GenerationRecord
from evonet.files.generation_lines import GenerationLines
from evonet.genes.genome import Genome


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
                **_genes(best.genome[0]),
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
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                found.append(_parse(json.loads(line)))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise FileFormatError(
                    f"{os.fspath(path)}: line {number} is no improvement: {error}"
                ) from error
    return found


def _parse(line: dict[str, Any]) -> Improvement:
    return Improvement(
        generation=int(line["generation"]),
        fitness=float(line["fitness"]),
        id=int(line["id"]),
        nodes={
            int(key): (float(bias), float(response), str(activation), str(aggregation))
            for key, bias, response, activation, aggregation in line["nodes"]
        },
        connections={
            int(innovation): (int(source), int(target), float(weight), bool(enabled))
            for innovation, source, target, weight, enabled in line["connections"]
        },
    )
