"""Work, span and slack agree with brute force, and with answers known by hand."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evonet import OptionError, Population, Schedule
from evonet.schedule import build_schedule
from evonet.schedule.analysis import analyze
from evonet.schedule.slots import trace_slots
from tests.support import strategies
from tests.support.random_networks import random_genes


@dataclasses.dataclass
class Graph:
    """One genome's schedule as plain Python: nodes are positions 0, 1, ... in it."""

    keys: list[int]
    cost: list[int]
    sources: list[list[int]]
    level: list[int]
    outputs: set[int]

    @property
    def readers(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.keys]
        for node, sources in enumerate(self.sources):
            for source in sources:
                found[source].append(node)
        return found

    def chains(self, node: int) -> list[list[int]]:
        """All chains of nodes that end with this one and begin anywhere."""
        longer = [[*chain, node] for s in self.sources[node] for chain in self.chains(s)]
        return [[node], *longer]

    def chains_after(self, node: int) -> list[list[int]]:
        """All chains of nodes that begin with a reader of this one."""
        readers = self.readers
        found: list[list[int]] = [[]]
        for reader in readers[node]:
            found += [[reader, *chain] for chain in self.chains_after(reader)]
        return found


def graph_of(schedule: Schedule, genome: int) -> Graph:
    s = schedule
    first, end = int(s.node_start[genome]), int(s.node_start[genome + 1])
    sources, cost = [], []
    read = trace_slots(s)
    for k in range(first, end):
        links = read.source[s.edge_start[k] : s.edge_start[k + 1]].tolist()
        cost.append(len(links) + 1)
        sources.append([p - s.num_inputs for p in links if p >= s.num_inputs])
    ends = s.level_end[s.level_start[genome] : s.level_start[genome + 1]].tolist()
    level = [sum(k >= end for end in ends) for k in range(end - first)]
    outputs = {int(p) - s.num_inputs for p in read.output[genome] if p >= 0}
    return Graph(s.node_key[first:end].tolist(), cost, sources, level, outputs)


def random_schedule(seed: int, max_hidden: int = 7) -> Schedule:
    rng = random.Random(seed)
    genes = [
        random_genes(rng, 2, 2, rng.randint(0, max_hidden), cyclic=rng.random() < 0.3, degree=1.5)
        for _ in range(rng.randint(0, 5))
    ]
    return build_schedule(Population.from_genes(2, 2, genes), on_cycle="zero")


def path_cost(graph: Graph, chain: list[int]) -> int:
    return sum(graph.cost[node] for node in chain)


# ---- brute force --------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_all_figures_equal_brute_force_over_all_chains(seed: int) -> None:
    schedule = random_schedule(seed)
    found = analyze(schedule)
    finish, slack, width = [], [], []
    for g in range(schedule.num_genomes):
        graph = graph_of(schedule, g)
        nodes = range(len(graph.keys))
        depth = max(graph.level, default=-1) + 1
        finish += [max(path_cost(graph, c) for c in graph.chains(n)) for n in nodes]
        slack += [depth - 1 - max(map(len, graph.chains_after(n))) - graph.level[n] for n in nodes]
        width += [graph.level.count(level) for level in range(depth)]
        span = max((path_cost(graph, c) for n in nodes for c in graph.chains(n)), default=0)
        assert found.work[g] == sum(graph.cost)
        assert found.span[g] == span
        assert found.depth[g] == depth
        assert found.max_width[g] == max((graph.level.count(i) for i in range(depth)), default=0)
        assert found.parallelism[g] == (sum(graph.cost) / span if span else 0.0)
    assert found.finish.tolist() == finish
    assert found.slack.tolist() == slack
    assert found.level_width.tolist() == width


@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_the_critical_path_is_a_chain_to_an_output_that_costs_the_span(seed: int) -> None:
    schedule = random_schedule(seed)
    found = analyze(schedule)
    for g in range(schedule.num_genomes):
        graph = graph_of(schedule, g)
        path = [graph.keys.index(key) for key in found.critical_path(g)]
        assert path_cost(graph, path) == found.span[g]
        for source, reader in itertools.pairwise(path):
            assert source in graph.sources[reader]
        if path:
            # What only nodes on a cycle read is evaluated all the same, as in neat-python.
            assert path[-1] in graph.outputs or -1 in schedule.output_slot[g]
            assert graph.readers[path[-1]] == []
            assert graph.sources[path[0]] == []


def greedy_steps(graph: Graph, processors: int, rng: random.Random) -> int:
    """Steps of a schedule that starts any ready node as soon as a processor is free."""
    waiting = [len(sources) for sources in graph.sources]
    ready = [node for node, count in enumerate(waiting) if count == 0]
    readers = graph.readers
    running: list[tuple[int, int]] = []
    now = 0
    while ready or running:
        while ready and len(running) < processors:
            node = ready.pop(rng.randrange(len(ready)))
            heapq.heappush(running, (now + graph.cost[node], node))
        now, done = heapq.heappop(running)
        for reader in readers[done]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return now


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_no_greedy_schedule_needs_more_steps_than_brents_bound(seed: int, processors: int) -> None:
    schedule = random_schedule(seed, max_hidden=20)
    found = analyze(schedule)
    bound = found.brent_bound(processors)
    for g in range(schedule.num_genomes):
        steps = greedy_steps(graph_of(schedule, g), processors, random.Random(seed))
        assert steps <= bound[g]
        assert steps >= max(found.span[g], found.work[g] / processors)


@settings(max_examples=100)
@given(strategies.populations())
def test_one_processor_needs_the_work_and_many_the_span(population: Population) -> None:
    found = build_schedule(population, on_cycle="zero").analyze()
    assert found.brent_bound(1).tolist() == found.work.tolist()
    assert np.allclose(found.brent_bound(10**12), found.span, atol=1e-6)
    bounds = np.stack([found.brent_bound(p) for p in (1, 2, 3, 10, 100)])
    assert (np.diff(bounds, axis=0) <= 0).all()
    assert (found.span <= found.work).all()
    assert (found.slack >= 0).all()


def test_a_genome_is_measured_alike_among_any_others() -> None:
    genes = [random_genes(random.Random(i), 2, 2, i % 12, False, 2.0) for i in range(40)]
    population = Population.from_genes(2, 2, genes)
    together = build_schedule(population).analyze()
    for g in range(40):
        alone = build_schedule(population[g : g + 1]).analyze()
        assert (together.work[g], together.span[g]) == (alone.work[0], alone.span[0])
        nodes = slice(*together.schedule.node_start[g : g + 2].tolist())
        assert together.slack[nodes].tolist() == alone.slack.tolist()
        assert together.critical_path(g) == alone.critical_path(0)


# ---- by hand ------------------------------------------------------------------------------------


def analysis_of(num_inputs: int, num_outputs: int, *genomes: Any) -> Any:
    return build_schedule(Population.from_genes(num_inputs, num_outputs, genomes)).analyze()


def test_xor_with_one_hidden_node_has_no_parallelism() -> None:
    links = [(-1, 0, 1.0), (-2, 0, 1.0), (-1, 1, 1.0), (-2, 1, 1.0), (1, 0, -2.0)]
    found = analysis_of(2, 1, ([0, 1], links))
    assert found.work.tolist() == [7]  # 2 links + 1, 3 links + 1
    assert found.span.tolist() == [7]
    assert found.depth.tolist() == [2]
    assert found.level_width.tolist() == [1, 1]
    assert found.parallelism.tolist() == [1.0]
    assert found.critical_path(0) == [1, 0]


def test_a_diamond_with_a_long_and_a_short_side() -> None:
    # -1 -> 4 -> 1 -> 2 -> 0 and 4 -> 3 -> 0
    links = [(-1, 4, 1.0), (4, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 3, 1.0), (3, 0, 1.0)]
    found = analysis_of(1, 1, ([0, 1, 2, 3, 4], links))
    keys = found.schedule.node_key.tolist()
    assert keys == [4, 1, 3, 2, 0]
    assert found.work.tolist() == [11]
    assert found.span.tolist() == [9]
    assert found.depth.tolist() == [4]
    assert found.level_width.tolist() == [1, 2, 1, 1]
    assert found.max_width.tolist() == [2]
    assert dict(zip(keys, found.slack.tolist(), strict=True)) == {4: 0, 1: 0, 3: 1, 2: 0, 0: 0}
    assert dict(zip(keys, found.finish.tolist(), strict=True)) == {4: 2, 1: 4, 3: 4, 2: 6, 0: 9}
    assert found.critical_path(0) == [4, 1, 2, 0]
    assert found.brent_bound(2).tolist() == [10.0]


def test_independent_outputs_are_fully_parallel() -> None:
    found = analysis_of(1, 5, (range(5), [(-1, o, 1.0) for o in range(5)]))
    assert found.parallelism.tolist() == [5.0]
    assert found.slack.tolist() == [0] * 5
    assert found.max_width.tolist() == [5]


def test_the_span_counts_links_and_not_only_nodes() -> None:
    # 1 reads ten inputs; 2 -> 3 -> 0 is longer in nodes and shorter in steps.
    links = [(-i, 1, 1.0) for i in range(1, 11)] + [(1, 0, 1.0), (2, 3, 1.0), (3, 0, 1.0)]
    found = analysis_of(10, 1, ([0, 1, 2, 3], links))
    assert found.span.tolist() == [14]
    assert found.critical_path(0) == [1, 0]


def test_a_shallow_output_may_wait_for_the_deepest() -> None:
    found = analysis_of(1, 2, ([0, 1, 2], [(2, 0, 1.0), (-1, 2, 1.0), (-1, 1, 1.0)]))
    slack = dict(zip(found.schedule.node_key.tolist(), found.slack.tolist(), strict=True))
    assert slack == {0: 0, 1: 1, 2: 0}


def test_nodes_without_links_cost_one_step() -> None:
    found = analysis_of(0, 3, ([0, 1, 2], []))
    assert (found.work.tolist(), found.span.tolist()) == ([3], [1])
    assert found.critical_path(0) == [0]


def test_a_chain_of_20000_nodes_is_measured() -> None:
    count = 20_000
    links = [(k + 1, k, 1.0) for k in range(count - 1)]
    found = analysis_of(1, 1, (range(count), links))
    assert found.span.tolist() == found.work.tolist() == [2 * count - 1]
    assert found.critical_path(0) == list(range(count - 1, -1, -1))
    assert not found.slack.any()


# ---- edges --------------------------------------------------------------------------------------


def test_genomes_without_nodes_have_no_work_and_no_path() -> None:
    found = build_schedule(Population.from_genes(1, 0, [([], []), ([4], [])])).analyze()
    assert found.work.tolist() == found.span.tolist() == found.depth.tolist() == [0, 0]
    assert found.parallelism.tolist() == [0.0, 0.0]
    assert found.max_width.tolist() == [0, 0]
    assert found.brent_bound(3).tolist() == [0.0, 0.0]
    assert found.critical_path(1) == []


def test_genomes_without_live_nodes_may_stand_between_others() -> None:
    population = Population.from_genes(
        1, 1, [([0], [(-1, 0, 1.0)]), ([0], [(0, 0, 1.0)]), ([0, 1], [(1, 0, 1.0)])]
    )
    found = build_schedule(population, on_cycle="zero").analyze()
    assert found.work.tolist() == [2, 0, 3]
    assert found.depth.tolist() == [1, 0, 2]
    assert found.level_width.tolist() == [1, 1, 1]
    assert found.max_width.tolist() == [1, 0, 1]
    assert [found.critical_path(g) for g in range(3)] == [[0], [], [1, 0]]


def test_no_genomes_give_empty_figures() -> None:
    found = build_schedule(Population.empty(2, 1)).analyze()
    assert found.work.shape == found.parallelism.shape == found.max_width.shape == (0,)
    assert repr(found) == "Analysis(no genomes)"


def test_an_analysis_says_what_it_found() -> None:
    found = analysis_of(1, 2, ([0, 1], [(-1, 0, 1.0), (0, 1, 1.0)]), ([0, 1], []))
    assert repr(found) == (
        "Analysis(2 genomes; mean work 3.0, span 2.5, parallelism 1.50, depth 1.5, widest level 2, "
        "live slots 3.0 for 2.0 nodes)"
    )


def test_genomes_may_be_counted_from_the_end() -> None:
    found = analysis_of(1, 1, ([0], []), ([0, 1], [(1, 0, 1.0)]))
    assert found.critical_path(-1) == [1, 0]
    assert found.critical_path(-2) == [0]


@pytest.mark.parametrize("genome", [2, -3])
def test_a_genome_that_does_not_exist_has_no_path(genome: int) -> None:
    found = analysis_of(1, 1, ([0], []), ([0], []))
    with pytest.raises(IndexError, match=f"genome {genome} of 2"):
        found.critical_path(genome)


def test_no_genomes_have_no_path() -> None:
    with pytest.raises(IndexError, match="genome 0 of 0"):
        build_schedule(Population.empty(1, 1)).analyze().critical_path(0)


@pytest.mark.parametrize("processors", [0, -1])
def test_without_a_processor_there_is_no_bound(processors: int) -> None:
    found = analysis_of(1, 1, ([0], []))
    with pytest.raises(OptionError, match=f"processors={processors} must be at least 1"):
        found.brent_bound(processors)
