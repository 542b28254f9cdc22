"""Where a schedule's nodes and links are among the genes of its population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evonet import Population
from evonet.definitions.dynamics import Dynamics
from evonet.errors import ShapeError
from evonet.schedule.build import build_schedule
from evonet.schedule.gene_map import map_genes

KINDS: list[dict[str, Any]] = [
    {},
    {"kind": "recurrent"},
    {"kind": "recurrent", "propagation": "same-step"},
    {"kind": "ctrnn"},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("shape", [(200, 3, 2, 9, 30), (5, 2, 1, 1, 0), (3, 4, 4, 300, 2000)])
def test_compiled_and_readable_maps_are_equal_and_find_the_genes(
    shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    size, inputs, outputs, nodes, links = shape
    population = Population.random(
        size, inputs, outputs, num_nodes=nodes, num_connections=links, seed=1, enabled=0.8,
        feed_forward=not options,
    )  # fmt: skip
    population = population[np.arange(size)[::-1]]
    schedule = build_schedule(population, Dynamics.of(**options), on_cycle="zero")
    found, wanted = (map_genes(population, schedule, native=native) for native in (True, False))
    assert np.array_equal(found.node, wanted.node)
    assert np.array_equal(found.link, wanted.link)
    assert np.array_equal(population.node_key[found.node], schedule.node_key)
    assert np.array_equal(population.weight[found.link], schedule.weight)
    alone = map_genes(population, schedule, native=True, threads=1)
    assert np.array_equal(found.link, alone.link)


def test_links_follow_ranks_and_not_positions() -> None:
    population = Population.random(20, 3, 2, num_nodes=8, num_connections=25, seed=4)
    ranks = [
        np.random.default_rng(g).permutation(int(n)).astype(np.int32)
        for g, n in enumerate(np.diff(population.conn_start))
    ]
    shuffled = population.replace(rank=np.concatenate(ranks))
    schedule = build_schedule(shuffled)
    found, wanted = (map_genes(shuffled, schedule, native=native) for native in (True, False))
    assert np.array_equal(found.link, wanted.link)
    assert np.array_equal(shuffled.weight[found.link], schedule.weight)


def test_a_schedule_of_other_genomes_is_refused() -> None:
    one = Population.random(5, 3, 2, num_nodes=8, num_connections=25, seed=1)
    other = Population.random(5, 3, 2, num_nodes=8, num_connections=25, seed=2)
    with pytest.raises(ShapeError, match="was not built from this population: genome"):
        map_genes(one, build_schedule(other), native=True)
