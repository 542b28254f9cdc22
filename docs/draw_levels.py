"""Draws docs/levels.svg: one genome as evolution left it, and as the schedule runs it.

python docs/draw_levels.py
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import evonet

WIDTH, HEIGHT, MARGIN = 960, 380, 28
HUES = ["#4c78a8", "#54a24b", "#eeca3b", "#f58518", "#e45756", "#b279a2", "#9d755d", "#72b7b2"]
INK, FAINT, PAPER = "#1f2933", "#9aa5b1", "#ffffff"


def pick_genome() -> evonet.Population:
    """The first random genome with four levels, none of them narrow."""
    for seed in range(100_000):
        population = evonet.Population.random(
            1, 4, 2, num_nodes=16, num_connections=32, seed=seed, enabled=0.9
        )
        analysis = evonet.build_schedule(population).analyze()
        if analysis.depth[0] == 4 and min(analysis.level_width) >= 2:
            return population
    raise SystemExit("no genome has such levels")


def main() -> None:
    """Writes the picture."""
    population = pick_genome()
    schedule = evonet.build_schedule(population)
    inputs = schedule.num_inputs
    level = {-1 - i: 0 for i in range(inputs)}
    begin = 0
    for number, end in enumerate(schedule.level_end, start=1):
        level |= {int(key): number for key in schedule.node_key[begin:end]}
        begin = int(end)
    depth = max(level.values())
    keys = [-1 - i for i in range(inputs)] + [int(k) for k in population.node_key]

    centre, radius = WIDTH * 0.23, HEIGHT * 0.38
    rng = np.random.default_rng(4)
    loose = {}
    for position, key in enumerate(rng.permutation(keys)):
        angle = 2 * math.pi * position / len(keys)
        reach = radius * (0.45 + 0.55 * ((position * 7) % 5) / 4)
        loose[int(key)] = (
            centre + 1.15 * reach * math.cos(angle),
            HEIGHT / 2 + 12 + reach * math.sin(angle),
        )

    left, right = WIDTH * 0.52, WIDTH - MARGIN - 16
    columns: dict[int, list[int]] = {}
    for key in keys:
        if key in level:
            columns.setdefault(level[key], []).append(key)
    ordered = {}
    for number, members in columns.items():
        for row, key in enumerate(sorted(members, reverse=number == 0)):
            ordered[key] = (
                left + (right - left) * number / depth,
                HEIGHT / 2 + 12 + (row - (len(members) - 1) / 2) * 44,
            )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>',
    ]
    for x, title in ((centre, "the genome, as evolution left it"),
                     ((left + right) / 2, "its schedule: levels that run at once")):  # fmt: skip
        parts.append(
            f'<text x="{x:.0f}" y="{MARGIN}" text-anchor="middle" fill="{INK}">{title}</text>'
        )
    for number in range(1, depth + 1):
        x = left + (right - left) * number / depth
        parts.append(
            f'<rect x="{x - 22:.1f}" y="{MARGIN + 16}" width="44" rx="8" '
            f'height="{HEIGHT - 2 * MARGIN - 16}" '
            f'fill="{HUES[number % len(HUES)]}" opacity="0.12"/>'
        )
    for place in (loose, ordered):
        for source, target, enabled in zip(
            population.source, population.target, population.enabled, strict=True
        ):
            ends = int(source), int(target)
            live = enabled and all(end in level for end in ends)
            if place is ordered and not live:
                continue
            (x1, y1), (x2, y2) = (place[end] for end in ends)
            bend = 0.0 if place is loose else 0.4 * (x2 - x1)
            dash = "" if live else ' stroke-dasharray="3 4"'
            parts.append(
                f'<path d="M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} {x2 - bend:.1f},{y2:.1f} '
                f'{x2:.1f},{y2:.1f}" fill="none" stroke="{FAINT}" stroke-width="1.3"{dash}/>'
            )
        for key, (x, y) in place.items():
            fill = HUES[level[key] % len(HUES)] if level.get(key) else PAPER
            dead = ' stroke-dasharray="2 3"' if key not in level else ""
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="13" fill="{fill}" stroke="{INK}"{dead}/>'
                f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" '
                f'fill="{INK}">{key}</text>'
            )
    parts.append("</svg>")
    Path(__file__).with_name("levels.svg").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
