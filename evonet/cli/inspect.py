"""evonet inspect: draws a network and analyses how parallel it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from evonet.cli.options import FilePath
from evonet.definitions.dynamics import KINDS
from evonet.messages import counted, printable, show

if TYPE_CHECKING:
    from evonet.definitions.dynamics import Dynamics
    from evonet.report.layout import Layout
    from evonet.runs.champion import Champion

BEFORE: Final = "′"  # marks a value of the step before
# Of nodes with more links, the rest are counted.
MOST_TERMS: Final = 12


@click.command()
@click.argument("champion", metavar="RUN_OR_CHAMPION", type=FilePath())
@click.option("--svg", type=FilePath(), help="Also draw it to this SVG file.")
def command(champion: Path, svg: Path | None) -> None:
    """Draw the champion of a run, or of a champion file, and analyse its schedule.

    Work is the time on one processor and span the time on infinitely many, in steps of one link
    or one activation each; work / span is the greatest possible speed-up.
    """
    from evonet.files.atomic import open_atomic
    from evonet.report.layout import lay_out
    from evonet.report.names import pin_names
    from evonet.report.network import draw_network
    from evonet.report.terminal import draw_in_terminal
    from evonet.runs.champion import read_champion
    from evonet.runs.folder import find_champion

    found = read_champion(find_champion(champion))
    layout = lay_out(found.population, found.dynamics)
    pins = found.population.num_inputs, found.population.num_outputs
    names = pin_names(found.metadata.get("task"), *pins, found.metadata)
    _describe(found)
    click.echo()
    click.echo(
        draw_in_terminal(
            layout, names, lambda dots, up: click.style(dots, fg="blue" if up else "yellow")
        )
    )
    click.echo()
    _list_nodes(layout, names)
    _list_functions(found)
    click.echo()
    _analyse(found, names)
    if svg is not None:
        with open_atomic(svg) as file:
            file.write(draw_network(layout, names, standalone=True).encode())
        click.echo(f"\nWrote {svg}")


def _describe(champion: Champion) -> None:
    from evonet.tasks.image_encoding import ImageEncoding

    task = champion.metadata.get("task")
    known = [
        ("task", None if task is None else show(task).strip('"')),
        ("fitness", None if champion.fitness is None else f"{champion.fitness:g}"),
        ("tested", None if champion.tested is None else str(champion.tested)),
        ("generation", champion.generation),
        ("seed", champion.seed),
    ]
    shown = (f"{name} {value}" for name, value in known if value is not None)
    click.echo(printable(", ".join(shown)))
    if isinstance(champion.encoding, ImageEncoding):
        size = " x ".join(map(str, champion.encoding.input_shape[1:]))
        click.echo(f"front: images of {size}, {champion.encoding.describe()}")
    genome = champion.population[0]
    enabled = int(champion.population.enabled.sum())
    click.echo(
        f"{counted(genome.num_inputs, 'input')}, {counted(genome.num_outputs, 'output')}, "
        f"{counted(genome.num_nodes - genome.num_outputs, 'hidden node')}, "
        f"{counted(genome.num_connections, 'connection')}, {enabled} of them enabled"
    )
    if champion.dynamics.has_memory:
        click.echo(f"{_in_words(champion.dynamics)}; {BEFORE} marks a value of the step before")


def _in_words(dynamics: Dynamics) -> str:
    """Describes how a network with memory works over time."""
    words = [f"{dynamics.kind} network"]
    if dynamics.kind == "recurrent":
        words.append(f"{dynamics.propagation} propagation")
    else:
        words.append(f"steps of {dynamics.time_step:g} {KINDS[dynamics.kind_id].unit}")
    if dynamics.steps > 1:
        words.append(f"{dynamics.steps} steps per input")
    return ", ".join(words)


def _list_nodes(layout: Layout, names: Mapping[int, str]) -> None:
    """Prints what every node computes, level by level."""
    label = [names.get(spot.key, f"node {spot.key}") for spot in layout.spots]
    lines, links = [], defaultdict(list)
    for link in layout.links:
        links[link.target].append(link)
    for position, spot in enumerate(layout.spots):
        if spot.level == 0:
            continue
        terms = [
            f"{link.weight:+.3g} {label[link.source]}{BEFORE if link.later else ''}"
            for link in links[position][:MOST_TERMS]
        ]
        more = len(links[position]) - len(terms)
        shown = "  ".join(terms) + (f"  and {more} more" if more else "")
        lines.append(f"level {spot.level}  {label[position]} = {spot.formula}  {shown}")
    click.echo("\n".join(lines))


def _list_functions(champion: Champion) -> None:
    """Prints the expressions of custom functions."""
    from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE

    population = champion.population
    for functions, ids in (
        (ACTIVATION_TABLE, population.activation),
        (AGGREGATION_TABLE, population.aggregation),
    ):
        for name, text in functions.own(ids.tolist()).items():
            click.echo(f"{name}(x) = {text}")


def _analyse(champion: Champion, names: Mapping[int, str]) -> None:
    from evonet.genes.selection import drop_idle_inputs
    from evonet.schedule import build_schedule

    population, _ = drop_idle_inputs(champion.population)
    analysis = build_schedule(population, champion.dynamics).analyze()
    work, span = int(analysis.work[0]), int(analysis.span[0])
    widths = " ".join(str(width) for width in analysis.level_width.tolist())
    path = " → ".join(names.get(key, f"node {key}") for key in analysis.critical_path(0))
    bounds = ", ".join(
        f"{float(analysis.brent_bound(count)[0]):.3g} on {count}" for count in (1, 2, 4, 8)
    )
    click.echo(f"work {work}, span {span}, parallelism {float(analysis.parallelism[0]):.2f}")
    depth = counted(int(analysis.depth[0]), "level")
    click.echo(f"{depth}, nodes on each: {widths}")
    live, nodes = int(analysis.live_slots[0]), int(analysis.nodes[0])
    click.echo(
        f"{counted(nodes, 'node')}, {counted(live, 'slot')} for the values that are needed at "
        "once, inputs included"
    )
    click.echo(f"critical path: {path}")
    click.echo(f"at most this many steps (Brent's bound): {bounds} processors")
