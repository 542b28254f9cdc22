"""How the champion evolved: how each new best genome differs from the one before."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from evonet.errors import EvonetError
from evonet.genes.population import Population
from evonet.messages import counted
from evonet.report.layout import lay_out
from evonet.report.markup import items, text
from evonet.report.network import draw_thumbnail
from evonet.runs.champion import Champion
from evonet.runs.improvements import Improvement

# More rows than this are dropped, those with the least gain first.
MOST_ROWS: Final = 90
# Rows beyond this are folded away, the oldest first.
MOST_OPEN_ROWS: Final = 30
# A gain below this fraction of the whole gain is not worth a row.
LEAST_GAIN: Final = 1e-4
# More changes than this in one row are counted, not listed.
MOST_CHANGES: Final = 6


class Change(NamedTuple):
    """A difference between two genomes."""

    kind: str  # "added", "removed" or "changed"
    words: str  # a description for people


def changes(before: Improvement, after: Improvement, names: Mapping[int, str]) -> list[Change]:
    """Compares two genomes of a run gene by gene; `names` are those of inputs and outputs."""

    def name(key: int) -> str:
        return names.get(key, f"node {key}")

    found = [Change("added", name(k)) for k in after.nodes if k not in before.nodes]
    found += [Change("removed", name(k)) for k in before.nodes if k not in after.nodes]
    # Matched by their ends: to a reader, a link that evolved twice is the same link.
    links, old_links = _by_ends(after), _by_ends(before)
    for mine, theirs, kind in ((links, old_links, "added"), (old_links, links, "removed")):
        found += [
            Change(kind, f"{name(source)} → {name(target)}")
            for source, target in mine
            if (source, target) not in theirs
        ]
    moved: list[tuple[float, str]] = []
    for ends in [ends for ends in links if ends in old_links]:
        (weight, enabled), (old_weight, old_enabled) = links[ends], old_links[ends]
        link = f"{name(ends[0])} → {name(ends[1])}"
        if old_enabled != enabled:
            found.append(Change("changed", f"{link} switched {'on' if enabled else 'off'}"))
        moved.append((weight - old_weight, link))
    for key, (bias, response, *functions) in after.nodes.items():
        if key not in before.nodes:
            continue
        old_bias, old_response, *old_functions = before.nodes[key]
        for was, now in zip(old_functions, functions, strict=True):
            if was != now:
                found.append(Change("changed", f"{name(key)}: {was} became {now}"))
        moved.append((bias - old_bias, f"bias of {name(key)}"))
        moved.append((response - old_response, f"response of {name(key)}"))
    found += _moved([row for row in moved if row[0] != 0])
    return found


def _by_ends(genome: Improvement) -> dict[tuple[int, int], tuple[float, bool]]:
    """Weight and enabled flag of each connection, by source and target."""
    return {(s, t): (weight, enabled) for s, t, weight, enabled in genome.connections.values()}


def _moved(moved: Sequence[tuple[float, str]]) -> Iterator[Change]:
    if not moved:
        return
    difference, what = max(moved, key=lambda row: abs(row[0]))
    others = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
    yield Change("changed", f"{what} {difference:+.3g}{others}")


def draw_family(
    line: Sequence[Improvement], names: Mapping[int, str], champion: Champion, sign: float = 1.0
) -> str:
    """Lists the improvements in the order in which they were found, the champion last.

    Args:
        line: The improvements.
        names: What nodes are called.
        champion: The last of them.
        sign: 1 if higher fitness is better, -1 if lower fitness is better.
    """
    shown = _most_telling(line)
    decimals = _decimals([line[i].fitness for i in shown])
    rows = []
    for number, position in enumerate(shown):
        after = line[position]
        before = line[shown[number - 1]] if number > 0 else None
        rows.append(
            "<tr>"
            f"<td>{_thumbnail(after, champion)}</td>"
            f'<td class="number">{after.generation}</td>'
            f'<td class="number"><b>{after.fitness:,.{decimals}f}</b></td>'
            f'<td class="number {_kind(before, after, sign)}">'
            f"{_gain(before, after, decimals)}</td>"
            f"<td>{_chips(before, after, names)}</td></tr>"
        )
    left_out = len(line) - len(shown)
    note = f"<p>Left out: {counted(left_out, 'smaller improvement')}.</p>" if left_out else ""
    if any('class="number setback"' in row for row in rows):
        note += (
            '<p class="note">Where fitness is lower than in the row above, the champion was chosen '
            "by other episodes or examples than those that its fitness is the mean of.</p>"
        )
    folded, rows = rows[:-MOST_OPEN_ROWS], rows[-MOST_OPEN_ROWS:]
    return items(
        [
            *(_folded(folded) if folded else ()),
            *_table(rows),
            note,
        ]
    )


def _folded(rows: Sequence[str]) -> list[str]:
    summary = counted(len(rows), "earlier improvement")
    return [
        f'<details class="earlier"><summary>{summary}</summary>',
        *_table(rows),
        "</details>",
    ]


def _table(rows: Sequence[str]) -> list[str]:
    return [
        '<table class="family"><thead><tr><th></th><th>generation</th><th>fitness</th>'
        "<th>gain</th><th>what was new</th></tr></thead><tbody>",
        *rows,
        "</tbody></table>",
    ]


def _most_telling(line: Sequence[Improvement]) -> list[int]:
    """Selects the first, the last, and those with the greatest gains in between.

    Gains that would show as zero are collected into the next row that is shown.
    """
    if not line:
        return []
    least = LEAST_GAIN * abs(line[-1].fitness - line[0].fitness)
    gain: dict[int, float] = {}
    before = line[0].fitness
    for i in range(1, len(line) - 1):
        if abs(line[i].fitness - before) > least:
            gain[i] = abs(line[i].fitness - before)
            before = line[i].fitness
    kept = sorted(gain, key=lambda i: -gain[i])[: MOST_ROWS - 2]
    return sorted({0, len(line) - 1, *kept} if line else set())


def _kind(before: Improvement | None, after: Improvement, sign: float) -> str:
    behind = before is not None and sign * (after.fitness - before.fitness) < 0
    return "setback" if behind else "gain"


def _gain(before: Improvement | None, after: Improvement, decimals: int) -> str:
    if before is None:
        return ""
    gain = after.fitness - before.fitness
    if round(gain, decimals) == 0:
        return f"< {10.0**-decimals:.{decimals}f}" if gain else ""
    return f"{'+' if gain > 0 else '−'}{abs(gain):,.{decimals}f}"


def _decimals(values: Sequence[float]) -> int:
    """Returns how many decimals give the largest value six digits; 0 for whole numbers."""
    if all(value == round(value) for value in values):
        return 0
    largest = max(map(abs, values))
    return min(max(0, 5 - math.floor(math.log10(largest))), 9)


def _chips(before: Improvement | None, after: Improvement, names: Mapping[int, str]) -> str:
    if before is None:
        enabled = sum(enabled for *_, enabled in after.connections.values())
        return f"the best of the first generation, with {counted(enabled, 'connection')}"
    found = changes(before, after, names)
    chips = [f'<span class="chip {kind}">{text(words)}</span>' for kind, words in found]
    if len(chips) > MOST_CHANGES:
        rest = len(chips) - MOST_CHANGES
        chips = [*chips[:MOST_CHANGES], f'<span class="chip">and {rest} more</span>']
    return "".join(chips) or "the same genes, luckier episodes"


def _thumbnail(genome: Improvement, champion: Champion) -> str:
    nodes = [
        {"key": key, "bias": bias, "response": response, "activation": act, "aggregation": agg}
        for key, (bias, response, act, agg) in genome.nodes.items()
    ]
    connections = [
        {
            "source": source,
            "target": target,
            "weight": weight,
            "enabled": enabled,
            "innovation": innovation,
        }
        for innovation, (source, target, weight, enabled) in genome.connections.items()
    ]
    try:
        pins = champion.population.num_inputs, champion.population.num_outputs
        population = Population.from_genes(*pins, [(nodes, connections)])
        return draw_thumbnail(lay_out(population, champion.dynamics))
    except EvonetError:  # a file changed by hand; the rest of the page is still worth having
        return ""
