"""The charts of a run: what `charts` is to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from evonet.config import Config
from evonet.report.charts import HUES, Band, Line, area_chart, line_chart
from evonet.report.history import PHASES, History, drawable
from evonet.report.markup import short
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
    # Without species the other charts are three, and the last one takes the whole row.
    widths = [(560, "")] if species else [(1152, "in-wide"), (560, "in-narrow")]
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
        *(
            line_chart(
                "Evaluations per second",
                x,
                [Line("evaluations/s", speed, "c4")],
                limits=(0.0, float(speed.max())),
                width=width,
                shown=shown,
            )
            for width, shown in widths
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
    validation = history.optional("validation")
    threshold = config.neat.fitness_threshold
    if threshold is not None:
        threshold = drawable(threshold)
    # The axis is that of the best; the mean may cost a third of the height.
    log = bool(best.min() > 0 and best.max() > MUCH * best.min())
    ends = [float(best.min()), float(best.max())]
    span = ends[1] - ends[0]
    for end in np.quantile(mean, [0.1, 0.9]).tolist():
        if ends[0] - 0.5 * span <= end <= ends[1] + 0.5 * span and (
            not log or end > 0.1 * best.min()
        ):
            ends.append(end)
    if validation is not None and not log:  # it may stay far behind what is learned by heart
        ends += np.quantile(validation[np.isfinite(validation)], [0.1, 1.0]).tolist()
    if threshold is not None:
        span = max(ends) - min(ends)
        if min(ends) - span <= threshold <= max(ends) + span:
            ends.append(threshold)
    everybody_fits = high.max() >= min(ends) and low.min() <= max(ends)  # somewhere at least
    return line_chart(
        "Fitness",
        history.generation,
        [
            *([Line("mean", mean, "c2", dashed=True)] if everybody_fits else []),
            *([Line("best on validation", validation, "c3")] if validation is not None else []),
            Line("best", best, "c1"),
        ],
        [Band("mean ± deviation", low, high, "c2")] if everybody_fits else [],
        limits=(float(min(ends)), float(max(ends))),
        log=log,
        rule=None if threshold is None else (threshold, f"solved at {short(threshold)}"),
        marks=[
            (
                i.generation,
                drawable(i.fitness),
                f"generation {i.generation}: {i.fitness:g}",
            )
            for i in line
        ],
        width=width,
        shown=shown,
    )


def _species(history: History) -> list[Line]:
    """The sizes of species; none if there was one throughout, which fills its chart."""
    found = [
        Line(f"species {key}" if key else "others", sizes, f"h{key % HUES}" if key else "other")
        for key, sizes in history.species_sizes().items()
    ]
    return found if len(found) > 1 else []


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
