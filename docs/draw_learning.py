"""Draws docs/learning.svg: digits and 10-bit parity with and without learning.

python docs/draw_learning.py

Every curve is the median of three seeds. Only [learning] differs between the three modes of a task,
so evolution alone has 50 genomes too, where its own defaults for tables have 500.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import evonet
from evonet.tasks import make_task

WIDTH, HEIGHT = 960, 340
LEFT, TOP, PANEL, TALL = 64, 40, 390, 230
HUES = {"lamarckian": "#4c78a8", "baldwinian": "#f58518", "none": "#7b8794"}
INK, FAINT, GRID, PAPER = "#1f2933", "#9aa5b1", "#e4e7eb", "#ffffff"
SEEDS = (0, 1, 2)
# Weights mutate in all modes, so that evolution alone can find them too.
MUTATION = {"weight_mutate_rate": 0.2, "weight_mutate_power": 0.1, "bias_mutate_rate": 0.2}
DIGITS = {"genome": MUTATION}
PARITY = {
    "neat": {"pop_size": 50, "fitness_threshold": 1e9},
    "network": {"output_activation": "identity"},
    "genome": {
        **MUTATION,
        "num_hidden": 12,
        "initial_connection": "full_direct",
        "activation_default": "tanh",
        "activation_options": ["tanh"],
        "node_add_prob": 0.1,
        "node_delete_prob": 0.05,
        "conn_add_prob": 0.2,
        "conn_delete_prob": 0.1,
        "weight_init_stdev": 0.5,
        "weight_replace_rate": 0.0,
    },
    "learning": {"steps": 40, "rate": 0.02, "batch": 128},
}
TASKS: dict[str, tuple[dict[str, Any], dict[str, Any], int, str]] = {
    "digits": ({}, DIGITS, 40, "digits: validation loss of the fittest"),
    "parity": ({"bits": 10}, PARITY, 60, "parity of 10 bits: mean squared error of the fittest"),
}


def curve(name: str, mode: str, seed: int) -> list[float]:
    """Evolves once; returns an error for each generation, lower is better."""
    options, tables, generations, _ = TASKS[name]
    config = evonet.Config.from_dict({"task": {"name": name, **options}, **tables})
    changes: dict[str, object] = {"run.patience": 0}
    if mode == "none":
        changes["learning.steps"] = 0
    else:
        changes["learning.inherit"] = mode
    task = make_task(name, **options)
    found: list[float] = []

    def note(record: evonet.GenerationRecord) -> None:
        if name == "digits":
            found.append(-record.details["validation"])
        else:
            found.append((2 ** options["bits"] - record.best) / 2 ** options["bits"])

    evonet.evolve(
        task, config.replace(changes), generations=generations, seed=seed, callbacks=[note]
    )
    return found


def panel(at: float, title: str, curves: dict[str, npt.NDArray[np.float64]]) -> list[str]:
    """One chart: medians over seeds on a logarithmic axis."""
    low = min(float(c.min()) for c in curves.values())
    high = max(float(c.max()) for c in curves.values())
    bottom, top = np.log10(max(low, 1e-4)) - 0.08, np.log10(high) + 0.08
    count = len(next(iter(curves.values())))

    def place(i: float, value: float) -> tuple[float, float]:
        share = (np.log10(max(value, 1e-4)) - bottom) / (top - bottom)
        return at + PANEL * i / (count - 1), TOP + TALL * (1 - float(share))

    parts = [f'<text x="{at}" y="{TOP - 16}" class="title">{title}</text>']
    for value in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0):
        if bottom <= np.log10(value) <= top:
            _, y = place(0, value)
            parts.append(f'<path d="M{at},{y:.1f}h{PANEL}" stroke="{GRID}"/>')
            parts.append(f'<text x="{at - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for i in range(0, count, 10):
        x, _ = place(i, 1.0)
        parts.append(f'<text x="{x:.1f}" y="{TOP + TALL + 18}" text-anchor="middle">{i}</text>')
    parts.append(
        f'<text x="{at + PANEL / 2}" y="{TOP + TALL + 36}" text-anchor="middle">generation</text>'
    )
    for mode, values in curves.items():
        points = "L".join("{:.1f},{:.1f}".format(*place(i, v)) for i, v in enumerate(values))
        parts.append(
            f'<path d="M{points}" fill="none" stroke="{HUES[mode]}" stroke-width="2.2" '
            'stroke-linejoin="round"/>'
        )
    return parts


def main() -> None:
    """Runs everything and writes the picture."""
    parts = []
    for number, name in enumerate(TASKS):
        curves = {
            mode: np.median([curve(name, mode, seed) for seed in SEEDS], axis=0) for mode in HUES
        }
        for mode, values in curves.items():
            print(f"{name}: {mode}: first {values[0]:.4f}, last {values[-1]:.4f}")
        parts += panel(LEFT + number * (PANEL + 80), TASKS[name][3], curves)
    words = {"lamarckian": "Lamarckian", "baldwinian": "Baldwinian", "none": "evolution alone"}
    for i, (mode, hue) in enumerate(HUES.items()):
        x = LEFT + i * 150
        parts.append(
            f'<path d="M{x},{HEIGHT - 14}h22" stroke="{hue}" stroke-width="2.2"/>'
            f'<text x="{x + 30}" y="{HEIGHT - 10}">{words[mode]}</text>'
        )
    style = (
        f"text {{ font: 12px system-ui, sans-serif; fill: {FAINT}; }} "
        f".title {{ font-size: 14px; font-weight: 600; fill: {INK}; }}"
    )
    Path(__file__).with_name("learning.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    main()
