"""Species are those of neat-python, whose own code is the oracle wherever it does not give up."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import neat
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet import Population
from evonet.backends.genetics import NativeEngine
from evonet.evolution import NEAT
from evonet.genes.genome import Node
from evonet.genes.rules import distance_rules
from tests.support.evolution_cases import WILD, distances, make_config, one_genome

RULES = distance_rules(make_config())
FLOATS = ("float32", "float64")


@cache
def evolved(dtype: str) -> Population:
    """A hundred genomes of all kinds and ages."""
    config = make_config(WILD, {"neat.pop_size": 25})
    evolution = NEAT(config, 5, num_inputs=3, num_outputs=2, dtype=dtype)
    rng, kept = np.random.default_rng(0), []
    for generation in range(10):
        population = evolution.ask()
        if generation in (0, 3, 6, 9):
            kept.append(population)
        evolution.tell(rng.normal(size=25))
    return Population.concatenate(kept)


@cache
def apart(dtype: str) -> npt.NDArray[Any]:
    """The distances between them."""
    return distances(evolved(dtype), RULES)


@dataclass
class Stand:
    """What neat-python needs to know about a genome."""

    key: int
    place: int
    table: npt.NDArray[Any]

    def distance(self, other: Stand, config: object) -> Any:
        return self.table[self.place, other.place]


def divide_as_neat_python(
    dtype: str, old: list[int], new: list[int], threshold: float
) -> tuple[list[int], list[int]]:
    """Runs neat-python's DefaultSpeciesSet on distances that are known."""
    table = apart(dtype)
    silent = SimpleNamespace(info=lambda message: None)
    limit = SimpleNamespace(compatibility_threshold=np.dtype(dtype).type(threshold))
    species_set = neat.DefaultSpeciesSet(limit, silent)
    species_set.indexer = itertools.count(len(old))
    for i, place in enumerate(old):
        species_set.species[i] = neat.species.Species(i, 0)
        species_set.species[i].representative = Stand(-1 - i, place, table)
    population = {g: Stand(g, place, table) for g, place in enumerate(new)}
    species_set.speciate(SimpleNamespace(genome_config=None), population, 1)
    species = [species_set.genome_to_species[g] for g in population]
    keys = sorted(species_set.species)
    return species, [species_set.species[key].representative.key for key in keys]


def divide_in_words(
    dtype: str, old: list[int], new: list[int], threshold: float
) -> tuple[list[int], list[int]]:
    """The same once more, and without giving up where species outnumber genomes."""
    table, limit = apart(dtype), np.dtype(dtype).type(threshold)
    species, chosen = [-1] * len(new), [-1] * len(old)
    for s, place in enumerate(old):
        left = [g for g in range(len(new)) if species[g] < 0]
        if left:
            chosen[s] = min(left, key=lambda g: table[place, new[g]])
            species[chosen[s]] = s
    for g in range(len(new)):
        if species[g] < 0:
            near = [s for s, r in enumerate(chosen) if r >= 0 and table[new[r], new[g]] < limit]
            if not near:
                near = [len(chosen)]
                chosen.append(g)
            species[g] = min(near, key=lambda s: table[new[chosen[s]], new[g]])
    return species, chosen


def divide(
    dtype: str, old: list[int], new: list[int], threshold: float, threads: int = 2
) -> tuple[list[int], list[int]]:
    everyone = evolved(dtype)
    return assign(NativeEngine(threads), everyone[new], everyone, old, threshold)


def assign(
    engine: NativeEngine, new: Population, parents: Population, old: list[int], threshold: float
) -> tuple[list[int], list[int]]:
    """The species of each genome, and who stands for each."""
    found = engine.speciate(new, parents, np.array(old, np.int64), threshold, RULES)
    species = np.full(len(new), -1)
    for s, (a, b) in enumerate(itertools.pairwise(found.starts.tolist())):
        members = found.members[a:b]
        assert (np.diff(members) > 0).all()
        species[members] = s
    return species.tolist(), found.representatives.tolist()


# Repeated genomes make ties.
PLACES = st.lists(st.integers(0, 99), max_size=40) | st.lists(st.integers(0, 5), max_size=12)
THRESHOLDS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 100.0]) | st.floats(0, 6)


@given(
    dtype=st.sampled_from(FLOATS),
    old=PLACES,
    new=PLACES.filter(bool),
    threshold=THRESHOLDS,
    threads=st.integers(1, 3),
)
def test_any_generation_is_divided_as_neat_python_would(
    dtype: str, old: list[int], new: list[int], threshold: float, threads: int
) -> None:
    found = divide(dtype, old, new, threshold, threads)
    assert found == divide_in_words(dtype, old, new, threshold)
    if len(old) <= len(new):
        assert found == divide_as_neat_python(dtype, old, new, threshold)
    species, chosen = found
    assert len(chosen) >= len(old)
    for s, representative in enumerate(chosen):
        assert (s in species) == (representative >= 0)
        assert representative < 0 or species[representative] == s


@pytest.mark.parametrize("dtype", FLOATS)
def test_more_genomes_than_one_thread_takes_at_a_time(dtype: str) -> None:
    new = np.random.default_rng(1).integers(0, 100, 700).tolist()
    expected = divide_as_neat_python(dtype, [3, 50, 98], new, 1.5)
    for threads in (1, 2, 4):
        assert divide(dtype, [3, 50, 98], new, 1.5, threads) == expected


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("threshold", [0.5, 1.5])
def test_more_species_than_are_measured_at_a_time(dtype: str, threshold: float) -> None:
    """Two sections of 16 groups each, and founders beside them."""
    old, new = np.random.default_rng(4).integers(0, 100, (2, 520)).tolist()
    for some, all_of_them in ((old[:300], new), (old[:17], new), (old, new[:400])):
        expected = divide_in_words(dtype, some, all_of_them, threshold)
        assert divide(dtype, some, all_of_them, threshold) == expected


def test_with_threshold_0_every_genome_is_a_species_even_of_equal_ones() -> None:
    assert divide("float32", [], [7, 7, 7], 0.0) == ([0, 1, 2], [0, 1, 2])
    assert divide("float32", [7], [7, 7, 7], 0.0) == ([0, 1, 2], [0, 1, 2])


def test_equal_genomes_share_a_species_above_threshold_0() -> None:
    assert divide("float32", [], [7, 7, 7], 1e-6) == ([0, 0, 0], [0])


def test_species_that_outnumber_genomes_disappear() -> None:
    species, chosen = divide("float32", [1, 2, 3, 4, 5], [9, 8], 3.0)
    assert sorted(species) == [0, 1]
    assert chosen[2:] == [-1, -1, -1]


def test_nobody_leaves_every_species_empty() -> None:
    assert divide("float32", [1, 2], [], 3.0) == ([], [-1, -1])


def test_a_founder_draws_later_genomes_away_from_farther_species() -> None:
    """Biases b lie b / 2 apart: 4 founds, since 2 is not below 2, and 5 is nearest to it."""
    line = Population.concatenate([one_genome([Node(0, b)], []) for b in (0, 4, 8, 10, 5)])
    assert assign(NativeEngine(), line, line, [], 2.0) == ([0, 1, 2, 2, 1], [0, 1, 2])


# ---- over generations -------------------------------------------------------------------------


def test_species_partition_every_generation() -> None:
    changes = {"neat.pop_size": 50, "speciation.threshold": 2.0, "genome.num_hidden": 1}
    evolution = NEAT(make_config(WILD, changes), seed=3, num_inputs=3, num_outputs=2)
    rng = np.random.default_rng(0)
    known: dict[int, int] = {}
    for generation in range(12):
        evolution.ask()
        members = np.concatenate([s.members for s in evolution.species])
        assert sorted(members.tolist()) == list(range(50))
        keys = [s.key for s in evolution.species]
        assert keys == sorted(set(keys))
        for s in evolution.species:
            assert s.representative in s.members
            assert (np.diff(s.members) > 0).all()
            assert known.setdefault(s.key, generation) == s.created
            assert len(s) > 0
        evolution.tell(rng.normal(size=50))
    assert len(known) > 5


def test_a_fixed_threshold_stays() -> None:
    evolution = NEAT(make_config({"neat.pop_size": 20}), num_inputs=2, num_outputs=1)
    for _ in range(5):
        evolution.ask()
        evolution.tell(np.arange(20))
    assert evolution.state.threshold == 3.0


@pytest.mark.parametrize(("target", "begin"), [(1, 0.3), (15, 4.0), (5, 2.0)])
def test_an_adaptive_threshold_follows_the_number_of_species(target: int, begin: float) -> None:
    changes = {
        "neat.pop_size": 30,
        "speciation.threshold": begin,
        "speciation.target_num_species": target,
        "speciation.threshold_adjust_rate": 0.25,
        "speciation.threshold_min": 0.3,
        "speciation.threshold_max": 4.0,
    }
    evolution = NEAT(make_config(changes), seed=2, num_inputs=2, num_outputs=1)
    rng = np.random.default_rng(0)
    threshold = begin
    moved = set()
    for _ in range(20):
        evolution.ask()
        step = 0.25 * np.sign(len(evolution.species) - target)
        expected = max(0.3, min(4.0, threshold + step))
        moved.add(float(np.sign(expected - threshold)))
        assert evolution.state.threshold == expected
        threshold = expected
        evolution.tell(rng.normal(size=30))
    assert moved - {0.0}
