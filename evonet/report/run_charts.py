"""The charts of a run: what `charts` is to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from evonet.config import Config
from evonet.report.charts import HUES, Band, Line, area_chart, line_chart
from evonet.report.history import PHASES, History
from evonet.runs.improvements import Improvement

# Fitness that grows by more than this factor is drawn on a logarithmic axis.
MUCH: Final = 100.0


def draw_charts(config: Config, history: History, line: Sequence[Improvement]) -> list[str]:
    """Draws fitness, species if there are any, complexity, time and speed over generations.

    The first figure is for wide windows, and the second shows the same in narrow ones.
    """
    x = history.generation
    speed = history.mean("evaluations_per_second")
    species = _species(history)
    return [
        _fitness_chart(config, history, line, width=1152, shown="in-wide"),
        _fitness_chart(config, history, line, width=560, shown="in-narrow"),
        *([area_chart("Species", x, species, legend=False)] if species else []),
        line_chart(
            "Complexity",
            x,
            [
                Line("links, mean", history.mean("mean_connections"), "c1", dashed=True),
                Line("nodes, mean", history.mean("mean_nodes"), "c3", dashed=True),
                Line("links, best", history.last("best_connections"), "c1"),
                Line("nodes, best", history.last("best_nodes"), "c3"),
            ],
        ),
        _phases_chart(history),
        line_chart(
            "Evaluations per second",
            x,
            [Line("evaluations/s", speed, "c4")],
            limits=(0.0, float(speed.max())),
        ),
    ]


def _fitness_chart(
    config: Config, history: History, line: Sequence[Improvement], *, width: int, shown: str
) -> str:
    lower = config.neat.fitness_criterion == "min"
    best = history.extreme("best", largest=not lower)
    mean, std = history.mean("mean"), history.mean("std")
    low = np.maximum(mean - std, history.extreme("min", largest=False))
    high = np.minimum(mean + std, history.extreme("max", largest=True))
    threshold = config.neat.fitness_threshold
    # A few very bad genomes must not squeeze the rest into a line.
    log = bool(best.min() > 0 and best.max() > MUCH * best.min())
    ends = [best.min(), best.max(), *np.quantile(mean, [0.05, 0.95]), np.quantile(low, 0.2)]
    if log:
        ends = [end for end in ends if end > 0.1 * best.min()]
    if threshold is not None:
        span = max(ends) - min(ends)
        if min(ends) - span <= threshold <= max(ends) + span:
            ends.append(threshold)
    return line_chart(
        "Fitness",
        history.generation,
        [Line("mean", mean, "c2"), Line("best", best, "c1")],
        [Band("± deviation", low, high, "c2")],
        limits=(float(min(ends)), float(max(ends))),
        log=log,
        rule=None if threshold is None else (threshold, f"solved at {threshold:g}"),
        marks=[
            (i.generation, i.fitness, f"generation {i.generation}: {i.fitness:g}") for i in line
        ],
        width=width,
        shown=shown,
    )


def _species(history: History) -> list[Line]:
    return [
        Line(f"species {key}" if key else "others", sizes, f"h{key % HUES}" if key else "other")
        for key, sizes in history.species_sizes().items()
    ]


def _phases_chart(history: History) -> str:
    totals = {phase: float(history[f"seconds.{phase}"].sum()) for phase in PHASES}
    whole = sum(totals.values()) or 1.0
    words = {"ask": "breed", "compile": "compile", "evaluate": "evaluate", "tell": "tell"}
    layers = [
        Line(
            f"{words[phase]} {totals[phase] / whole:.0%}",
            1e3 * history.mean(f"seconds.{phase}"),
            f"c{number}",
        )
        for phase, number in (("evaluate", 1), ("ask", 3), ("compile", 4), ("tell", 5))
    ]
    return area_chart("Milliseconds per generation", history.generation, layers)
