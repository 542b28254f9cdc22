"""Makes networks with many inputs legible: unused inputs go, and the weakest become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from evonet.messages import counted
from evonet.report.layout import Layout, Link

# With more inputs than this, those without links are left out.
FEW_INPUTS: Final = 8
# With more inputs in use than this, the weakest are drawn as one.
MOST_INPUTS: Final = 24


class Folded(NamedTuple):
    """A network as it is drawn."""

    layout: Layout
    names: dict[int, str]  # of its nodes, by key
    unused: list[str]  # the names of inputs that are left out


def fold_inputs(layout: Layout, names: Mapping[int, str]) -> Folded:
    """Leaves out inputs without links, and joins the weakest if too many remain."""
    inputs = [spot for spot in layout.spots if spot.key < 0]
    names = dict(names)
    if len(inputs) <= FEW_INPUTS:
        return Folded(layout, names, [])
    strength: dict[int, float] = defaultdict(float)
    for link in layout.links:
        strength[link.source] += abs(link.weight)
    used = [i for i, spot in enumerate(layout.spots) if spot.key < 0 and i in strength]
    drawn = used
    if len(used) > MOST_INPUTS:
        drawn = sorted(sorted(used, key=lambda i: -strength[i])[: MOST_INPUTS - 1])
    joined = sorted(set(used) - set(drawn))
    unused = [names.get(s.key, str(s.key)) for i, s in enumerate(layout.spots[: len(inputs)])
              if i not in strength]  # fmt: skip

    column = drawn + joined[:1]  # the first of the joined stands for all of them
    row = {spot: (place + 0.5) / len(column) for place, spot in enumerate(column)}
    kept = [*column, *range(len(inputs), len(layout.spots))]
    number = {spot: place for place, spot in enumerate(kept)}
    for spot in joined:
        number[spot] = number[joined[0]]
    spots = [layout.spots[i]._replace(row=row[i]) if i in row else layout.spots[i] for i in kept]
    if joined:
        names[layout.spots[joined[0]].key] = counted(len(joined), "weaker input")
    return Folded(
        replace(layout, spots=spots, links=_joined_links(layout, set(joined), number)),
        names,
        unused,
    )


def _joined_links(layout: Layout, joined: set[int], number: Mapping[int, int]) -> list[Link]:
    """Renumbers links; of those that joined inputs have to a node the strongest stays."""
    strongest: dict[int, Link] = {}
    links = []
    for link in layout.links:
        moved = link._replace(source=number[link.source], target=number[link.target])
        if link.source not in joined:
            links.append(moved)
        elif abs(link.weight) >= abs(getattr(strongest.get(link.target), "weight", 0.0)):
            strongest[link.target] = moved
    return links + list(strongest.values())
