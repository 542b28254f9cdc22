"""NEAT as ask and tell: what users see from one generation to the next."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import neat
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evonet
from evonet.backends.genetics import NativeEngine
from evonet.backends.reference.genetics import ReferenceEngine
from evonet.config import Config, ReproductionTable, StagnationTable
from evonet.errors import ExtinctionError, FitnessError, OptionError, ShapeError
from evonet.evolution import NEAT
from evonet.evolution.neat.reproduction import MatingPlan, plan_mating, share_out
from evonet.evolution.neat.species import ScoreHistory, Species, join_members
from evonet.evolution.neat.stagnation import SCORES_OF_SPECIES, judge_species
from evonet.numerics.exact_sum import group_means, mean
from evonet.numerics.philox import Purpose, choose, philox
from evonet.tasks import xor
from tests.support.evolution_cases import WILD, assert_same_genes, make_config


def small(*changes: Mapping[str, object], seed: int = 1, **options: Any) -> NEAT:
    """Twelve genomes of two inputs and an output."""
    config = make_config({"neat.pop_size": 12}, *changes)
    return NEAT(config, seed, num_inputs=2, num_outputs=1, **options)


def run(evolution: NEAT, generations: int, seed: int = 0) -> NEAT:
    """Goes on with a fitness drawn at random."""
    rng = np.random.default_rng(seed)
    for _ in range(generations):
        evolution.tell(rng.normal(size=len(evolution.ask())))
    return evolution


def assert_same_state(a: NEAT, b: NEAT) -> None:
    """Compares all that a checkpoint would hold."""
    one, another = a.state, b.state
    assert_same_genes(one.population, another.population)
    assert one.ids.tolist() == another.ids.tolist()
    for field in dataclasses.fields(one):
        if field.name not in ("population", "ids", "species", "fitness", "best", "verdict"):
            assert getattr(one, field.name) == getattr(another, field.name), field.name
    assert len(one.species) == len(another.species)
    for s, t in zip(one.species, another.species, strict=True):
        assert s.members.tolist() == t.members.tolist()
        for name in ("key", "created", "last_improved", "representative", "score_history"):
            assert getattr(s, name) == getattr(t, name), name


# ---- ask and tell -----------------------------------------------------------------------------


def test_generations_count_from_0_and_rise_when_asked_after_telling() -> None:
    evolution = small()
    for generation in range(4):
        evolution.ask()
        assert evolution.generation == generation
        evolution.tell(np.arange(12))
        assert evolution.generation == generation


def test_asking_again_before_telling_gives_the_same_population() -> None:
    evolution = run(small(), 3)
    population = evolution.ask()
    state = evolution.state
    assert evolution.ask() is population
    assert evolution.state is state


def test_a_generation_cannot_be_told_twice() -> None:
    evolution = run(small(), 1)
    with pytest.raises(FitnessError, match=r"told already.*ask\(\)"):
        evolution.tell(np.arange(12))
    evolution.ask()
    evolution.tell(np.arange(12))


@pytest.mark.parametrize(
    "fitness", [np.zeros(11), np.zeros((12, 1)), 1.0, [], [[1.0]], np.zeros((1, 12))]
)
def test_fitness_of_another_shape_is_refused(fitness: npt.ArrayLike) -> None:
    with pytest.raises(FitnessError, match=r"shape \[12\], one number per genome, found"):
        small().tell(fitness)


def test_fitness_that_is_no_number_is_refused() -> None:
    fitness: Any = ["good"] * 12
    with pytest.raises(FitnessError, match="array of numbers"):
        small().tell(fitness)
    ragged: Any = [[1.0], [1.0, 2.0]] * 6
    with pytest.raises(FitnessError, match="array of numbers"):
        small().tell(ragged)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_fitness_that_is_not_finite_names_the_genome(bad: float | None) -> None:
    evolution = run(small(), 3)
    evolution.ask()
    fitness: list[Any] = [1.0] * 12
    fitness[5] = fitness[9] = bad
    wanted = rf"genome 5 \(id {evolution.state.ids[5]}\): its fitness is .* 2 of 12 .*worst"
    with pytest.raises(FitnessError, match=wanted):
        evolution.tell(fitness)
    assert evolution.state.fitness is None
    evolution.tell([1.0] * 12)


@pytest.mark.parametrize(("criterion", "worst"), [("max", 3.0), ("min", 14.0), ("mean", 3.0)])
def test_bad_fitness_can_count_as_the_worst(criterion: str, worst: float) -> None:
    evolution = small({"neat.fitness_criterion": criterion}, on_bad_fitness="worst")
    fitness = np.arange(3.0, 15.0)
    told = fitness.copy()
    told[[2, 7]] = math.nan, math.inf
    evolution.tell(told)
    fitness[[2, 7]] = worst
    assert evolution.state.fitness is not None
    assert evolution.state.fitness.tolist() == fitness.tolist()


def test_a_generation_without_a_finite_fitness_has_no_worst() -> None:
    with pytest.raises(FitnessError, match=r"12 of 12 .* no worst one"):
        small(on_bad_fitness="worst").tell([math.nan] * 12)


def test_the_told_array_is_copied() -> None:
    evolution, fitness = small(), np.arange(12.0)
    evolution.tell(fitness)
    fitness[:] = 0
    assert evolution.state.fitness is not None
    assert evolution.state.fitness.tolist() == list(range(12))


@pytest.mark.parametrize("huge", [1e308, -1.7e308, np.finfo(np.float64).max])
@pytest.mark.parametrize("sharing", ["normalized", "canonical"])
@pytest.mark.parametrize("judged_by", sorted(SCORES_OF_SPECIES))
def test_huge_fitness_overflows_nowhere(huge: float, sharing: str, judged_by: str) -> None:
    changes: dict[str, object] = {
        "reproduction.fitness_sharing": sharing,
        "stagnation.species_fitness_func": judged_by,
        "neat.fitness_criterion": "mean",
        "neat.fitness_threshold": 0.0,
        "speciation.threshold": 1.0,
    }
    evolution = small(changes)
    for _ in range(3):
        fitness = np.full(len(evolution.ask()), huge)
        fitness[::3] = -huge
        evolution.tell(fitness)
        assert evolution.solved == (huge > 0)
    assert all(map(math.isfinite, (x for s in evolution.species for x in s.score_history)))


# ---- best and solved --------------------------------------------------------------------------


@pytest.mark.parametrize(("criterion", "sign"), [("max", 1), ("mean", 1), ("min", -1)])
def test_best_is_the_first_of_the_best_so_far(criterion: str, sign: int) -> None:
    evolution = small({"neat.fitness_criterion": criterion})
    assert evolution.best is None
    population = evolution.ask()
    evolution.tell(sign * np.array([0, 1, 5, 2, 5, 0, 0, 0, 0, 0, 0, 0.0]))
    best = evolution.best
    assert best is not None
    assert (best.fitness, best.generation, best.id) == (sign * 5.0, 0, 3)
    assert best.population == population[2:3]
    assert best.genome == population[2]
    evolution.ask()
    evolution.tell([sign * 5.0] * 12)
    assert evolution.best is best, "an equal genome does not replace it"
    evolution.ask()
    evolution.tell([sign * 6.0] * 12)
    assert evolution.best is not None
    assert evolution.best.generation == 2


@pytest.mark.parametrize(
    ("criterion", "threshold", "solved"),
    [
        ("max", 11.0, True),
        ("max", 11.5, False),
        ("mean", 5.5, True),
        ("mean", 5.6, False),
        ("min", 0.0, True),
        ("min", -0.1, False),
        ("min", 100.0, True),
    ],
)
def test_solved_compares_the_criterion_with_the_threshold(
    criterion: str, threshold: float, solved: bool
) -> None:
    changes = {"neat.fitness_criterion": criterion, "neat.fitness_threshold": threshold}
    evolution = small(changes)
    assert not evolution.solved
    evolution.tell(np.arange(12))
    assert evolution.solved == solved
    ignoring = small({**changes, "neat.no_fitness_termination": True})
    ignoring.tell(np.arange(12))
    assert not ignoring.solved


def test_without_a_threshold_nothing_is_solved() -> None:
    evolution = small()
    evolution.tell([1e300] * 12)
    assert not evolution.solved


# ---- the next generation ----------------------------------------------------------------------


def test_elites_pass_on_unchanged_with_their_ids() -> None:
    evolution = run(small({"reproduction.elitism": 2}), 5)
    before = evolution.state
    assert before.fitness is not None
    best = int(np.argmax(before.fitness))
    population = evolution.ask()
    place = evolution.state.ids.tolist().index(before.ids[best])
    assert population[place] == before.population[best]


def test_ids_ascend_and_are_never_reused() -> None:
    evolution = small()
    seen: dict[int, int] = {}
    for generation in range(8):
        run(evolution, 1, seed=generation)
        ids = evolution.state.ids
        assert (np.diff(ids) > 0).all()
        for i, g in zip(ids.tolist(), evolution.state.population, strict=True):
            known = seen.setdefault(i, hash(str(g)))
            assert known == hash(str(g)), "an id names two genomes"
        assert ids[-1] < evolution.state.next_id


def test_without_elitism_all_genomes_are_new() -> None:
    evolution = run(small({"reproduction.elitism": 0}), 1)
    old = set(evolution.state.ids.tolist())
    evolution.ask()
    assert not old & set(evolution.state.ids.tolist())


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("elitism", [0, 1])
def test_small_populations_keep_their_size(size: int, elitism: int) -> None:
    changes = {
        "neat.pop_size": size,
        "reproduction.elitism": elitism,
        "reproduction.min_species_size": 1,
        "speciation.threshold": 0.5,
    }
    evolution = run(small(WILD, changes), 15)
    assert len(evolution.ask()) == size


@pytest.mark.parametrize("least", [2, 3, 5, 6])
def test_where_species_need_more_than_there_is_the_worst_disappear(least: int) -> None:
    """neat-python raises "Configuration conflict" here."""
    changes = {
        "neat.pop_size": 6,
        "speciation.threshold": 0.0,
        "reproduction.min_species_size": least,
        "reproduction.elitism": 1,
    }
    evolution = small(changes)
    assert [s.key for s in evolution.species] == [1, 2, 3, 4, 5, 6]
    fitness = np.array([3.0, 9.0, 1.0, 7.0, 2.0, 8.0])
    evolution.tell(fitness)
    evolution.ask()
    best = sorted(1 + np.argsort(fitness)[6 - 6 // least :])
    assert [s.key for s in evolution.species if s.created == 0] == best
    run(evolution, 10)
    assert len(evolution.ask()) == 6


def mate(
    species: list[Species], scores: npt.NDArray[np.float64], size: int, config: ReproductionTable
) -> MatingPlan:
    """Plans by both engines, which agree."""
    ours, theirs = (
        plan_mating(species, scores, size, config, 1, 1, engine)
        for engine in (NativeEngine(2), ReferenceEngine())
    )
    assert ours.fitter.tolist() == theirs.fitter.tolist()
    assert ours.other.tolist() == theirs.other.tolist()
    return ours


def test_the_better_parent_is_the_fitter_and_ties_favour_the_second() -> None:
    scores = np.array([1.0, 2.0, 2.0, 5.0])
    species = [Species(1, 0, 0, np.arange(4), 0)]
    config = ReproductionTable(elitism=1, survival_threshold=1.0)
    plan = mate(species, scores, 300, config)
    assert plan.num_elites == 1
    assert plan.fitter[0] == 3
    fitter, other = plan.fitter[1:], plan.other[1:]
    words = philox(1, 1, 1 + np.arange(299), Purpose.PARENTS, 0)
    pool = np.array([3, 2, 1, 0])  # the best first, of equals the youngest
    first, second = pool[choose(words[0], 4)], pool[choose(words[1], 4)]
    tied = scores[first] == scores[second]
    assert (scores[fitter] >= scores[other]).all()
    assert (fitter[tied] == second[tied]).all()
    assert (other[tied] == first[tied]).all()
    assert (first != second)[tied].any()


def test_parents_are_the_best_of_their_species_and_at_least_two() -> None:
    scores = np.arange(20.0)
    species = [Species(1, 0, 0, np.arange(10), 0), Species(2, 0, 0, np.arange(10, 20), 10)]
    for share, wanted in ((0.25, {7, 8, 9, 17, 18, 19}), (0.01, {8, 9, 18, 19})):
        config = ReproductionTable(elitism=0, survival_threshold=share)
        plan = mate(species, scores, 200, config)
        assert set(plan.fitter.tolist()) | set(plan.other.tolist()) == wanted
        assert ((plan.fitter < 10) == (plan.other < 10)).all()


def test_of_equal_genomes_the_youngest_are_the_elites() -> None:
    """neat-python sorts by fitness and then by id, both descending."""
    species = [Species(1, 0, 0, np.arange(6), 0)]
    config = ReproductionTable(elitism=2)
    plan = mate(species, np.ones(6), 6, config)
    assert plan.fitter[:2].tolist() == [4, 5]
    assert plan.other[:2].tolist() == [-1, -1]


def test_parents_of_other_species_are_as_frequent_as_the_config_says() -> None:
    scores = np.arange(20.0)
    species = [Species(1, 0, 0, np.arange(10), 0), Species(2, 0, 0, np.arange(10, 20), 10)]
    config = ReproductionTable(elitism=0, interspecies_crossover_prob=0.25)
    plan = mate(species, scores, 4000, config)
    mixed = int(((plan.fitter < 10) != (plan.other < 10)).sum())
    assert abs(mixed - 1000) < 150
    alone = mate(species[:1], scores, 100, config)
    assert alone.fitter.max() < 10


# ---- shares, against neat-python --------------------------------------------------------------


def amounts_of(
    species: list[Species],
    scores: npt.NDArray[np.float64],
    pop_size: int,
    least: int,
    config: ReproductionTable,
) -> npt.NDArray[np.int64]:
    """How many genomes each species has in the next generation."""
    shares = share_out(scores, *join_members(species), pop_size, least, config)
    return shares.num_elites + shares.num_children


@given(
    groups=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 64)), min_size=1, max_size=12),
    pop_size=st.integers(1, 300),
    min_species_size=st.integers(0, 5),
    elitism=st.integers(0, 3),
)
def test_shares_are_those_of_neat_python(
    groups: list[tuple[int, int]], pop_size: int, min_species_size: int, elitism: int
) -> None:
    """Every member of a species scores the same, in 64ths of the range, so that sums are exact."""
    groups = [*groups, (1, 0), (1, 64)]
    sizes = [size for size, _ in groups]
    ends = itertools.pairwise(np.cumsum([0, *sizes]).tolist())
    species = [Species(i, 0, 0, np.arange(a, b), a) for i, (a, b) in enumerate(ends)]
    scores = np.repeat([float(score) for _, score in groups], sizes)
    least = max(min_species_size, elitism, 1)
    if least * len(groups) > pop_size:
        return
    config = ReproductionTable(elitism=elitism, min_species_size=min_species_size)
    amounts = amounts_of(species, scores, pop_size, least, config)
    assert sum(amounts) == pop_size
    assert min(amounts) >= least

    theirs = neat.DefaultReproduction.compute_spawn(
        [score / 64 for _, score in groups], sizes, pop_size, least
    )
    try:
        exact = neat.DefaultReproduction._adjust_spawn_exact(None, theirs, pop_size, least)
    except RuntimeError:
        return  # It takes from each species once, and gives up if that is not enough.
    assert amounts.tolist() == exact


@given(
    scores=st.lists(st.floats(-1e300, 1e300), min_size=6, max_size=30),
    sharing=st.sampled_from(["normalized", "canonical"]),
    method=st.sampled_from(["smoothed", "proportional"]),
    num_species=st.integers(1, 6),
    data=st.data(),
)
def test_any_shares_are_exact(
    scores: list[float], sharing: Any, method: Any, num_species: int, data: st.DataObject
) -> None:
    species = [
        Species(i, 0, 0, members, int(members[0]))
        for i, members in enumerate(np.array_split(np.arange(len(scores)), num_species))
    ]
    least = data.draw(st.integers(1, 4))
    pop_size = data.draw(st.integers(least * num_species, 200))
    config = ReproductionTable(fitness_sharing=sharing, spawn_method=method)
    amounts = amounts_of(species, np.array(scores), pop_size, least, config)
    assert sum(amounts) == pop_size
    assert min(amounts) >= least


def test_proportional_shares_jump_and_smoothed_ones_go_half_way() -> None:
    species = [Species(0, 0, 0, np.arange(10), 0), Species(1, 0, 0, np.arange(10, 100), 10)]
    scores = np.array([3.0] * 10 + [1.0] * 90)
    shares = {
        method: amounts_of(
            species,
            scores,
            100,
            1,
            ReproductionTable(fitness_sharing="canonical", spawn_method=method),
        ).tolist()
        for method in ("proportional", "smoothed")
    }
    assert shares == {"proportional": [75, 25], "smoothed": [42, 58]}


# ---- stagnation, against neat-python ----------------------------------------------------------


@given(
    histories=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), max_size=6),
    max_stagnation=st.integers(0, 4),
    species_elitism=st.integers(0, 4),
    judged_by=st.sampled_from(sorted(SCORES_OF_SPECIES)),
)
def test_stagnation_is_that_of_neat_python(
    histories: list[list[int]], max_stagnation: int, species_elitism: int, judged_by: Any
) -> None:
    """Species that began at different times, told generation after generation."""
    config = StagnationTable(judged_by, max_stagnation, species_elitism)
    theirs = neat.DefaultStagnation(config, None)
    last = max(map(len, histories), default=0)
    begins = [last - len(history) for history in histories]
    ours = [Species(i, begin, begin, np.array([], np.int64), 0) for i, begin in enumerate(begins)]
    their_set = SimpleNamespace(
        species={i: neat.species.Species(i, begin) for i, begin in enumerate(begins)}
    )
    for generation in range(last):
        keys = {i for i, begin in enumerate(begins) if begin <= generation}
        alive: list[Species] = []
        scores: list[float] = []
        for key in sorted(keys):
            score = float(histories[key][generation - begins[key]])
            members = np.arange(len(scores), len(scores) + 3)
            alive.append(dataclasses.replace(ours[key], members=members))
            scores += [score, score + 1, score - 0.5]
            their_set.species[key].members = {
                g: SimpleNamespace(fitness=scores[g]) for g in members.tolist()
            }
        before = [(s.last_improved, list(s.score_history)) for s in alive]
        judged, survivors, _ = judge_species(alive, np.array(scores), generation, config)
        assert [(s.last_improved, list(s.score_history)) for s in alive] == before
        living = SimpleNamespace(species={k: s for k, s in their_set.species.items() if k in keys})
        update = theirs.update(living, generation)
        assert [s.key for s in survivors] == [key for key, _, stagnant in update if not stagnant]
        for s in judged:
            ours[s.key] = s
            their = their_set.species[s.key]
            assert s.last_improved == their.last_improved
            assert list(s.score_history) == pytest.approx(their.fitness_history, rel=1e-15)


@pytest.mark.parametrize("judged_by", sorted(SCORES_OF_SPECIES))
@given(values=st.lists(st.integers(-8, 8), min_size=1, max_size=9))
def test_species_are_judged_as_in_neat_python(judged_by: str, values: list[int]) -> None:
    groups = np.array([*values, *range(3)], np.float64), np.array([0, len(values), len(values) + 3])
    found = SCORES_OF_SPECIES[judged_by](*groups)
    judge = neat.math_util.stat_functions[judged_by]
    assert found == [judge(values), judge(range(3))]


def test_a_mean_is_rounded_once() -> None:
    assert mean(np.array([1e16, 1.0, -1e16])) == 1 / 3
    assert mean(np.array([1.5e308, 1.5e308])) == 1.5e308
    groups = np.array([1e16, 1.0, -1e16, 1.5e308, 1.5e308])
    assert group_means(groups[:3], np.array([0, 3])) == [1 / 3]
    assert group_means(groups, np.array([0, 3, 5])) == [1 / 3, 1.5e308]


def test_stagnant_species_die_except_the_best() -> None:
    changes = {
        "speciation.threshold": 0.0,
        "stagnation.max_stagnation": 3,
        "stagnation.species_elitism": 2,
        "reproduction.elitism": 1,
        "reproduction.min_species_size": 1,
    }
    evolution = small(changes)
    for _ in range(3):
        evolution.ask()
        scores = np.empty(12)
        for s in evolution.species:
            scores[s.members] = s.key
        evolution.tell(scores)
    assert {s.key for s in evolution.species if s.created == 0} == set(range(1, 13))
    evolution.ask()
    for s in evolution.species:
        scores[s.members] = s.key
    evolution.tell(scores)
    evolution.ask()
    assert {s.key for s in evolution.species if s.created == 0} == {11, 12}


# ---- extinction -------------------------------------------------------------------------------

DOOMED: dict[str, object] = {"stagnation.max_stagnation": 2, "stagnation.species_elitism": 0}


def doomed(reset: bool) -> NEAT:
    """The last generation before all species die out."""
    evolution = small(
        WILD, DOOMED, {"neat.reset_on_extinction": reset, "speciation.threshold": 90.0}
    )
    for _ in range(3):
        evolution.ask()
        evolution.tell([1.0] * 12)
    return evolution


def test_extinction_stops_evolution_and_changes_nothing() -> None:
    evolution = doomed(reset=False)
    state = evolution.state
    for _ in range(2):
        with pytest.raises(ExtinctionError, match=r"generation 2.*reset_on_extinction"):
            evolution.ask()
        assert evolution.state is state
    assert [s.score_history for s in evolution.species] == [[1.0, 1.0]]


def test_extinction_can_begin_anew_with_fresh_numbers() -> None:
    evolution = doomed(reset=True)
    old = evolution.state
    population = evolution.ask()
    new = evolution.state
    assert new.generation == 3
    assert len(population) == 12
    assert new.ids.tolist() == list(range(old.next_id, old.next_id + 12))
    assert new.next_id == old.next_id + 12
    assert (new.next_node_key, new.next_innovation) == (old.next_node_key, old.next_innovation)
    assert {s.created for s in new.species} == {3}
    assert min(s.key for s in new.species) >= old.next_species
    assert new.next_species > max(s.key for s in new.species)
    assert new.best is old.best
    first = small(WILD, DOOMED, {"speciation.threshold": 90.0}).ask()
    assert population != first, "another generation draws other genomes"
    run(evolution, 2)
    assert evolution.generation == 4


# ---- seeds, threads, interrupts ---------------------------------------------------------------


def solve_xor(seed: int, threads: int, generations: int = 20) -> NEAT:
    task = xor()
    evolution = NEAT(Config(), seed, num_inputs=2, num_outputs=1, threads=threads)
    for _ in range(generations):
        network = evonet.compile(evolution.ask(), threads=threads)
        evolution.tell(task.evaluate(network, seed=evolution.generation))
    evolution.ask()
    return evolution


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_equal_seeds_evolve_equal_populations_on_any_number_of_threads(seed: int) -> None:
    one = solve_xor(seed, threads=1)
    for threads in (2, 4):
        assert_same_state(solve_xor(seed, threads), one)


def test_different_seeds_evolve_different_populations() -> None:
    populations = [run(small(seed=seed), 3).ask() for seed in (0, 1, 2**32, 2**63)]
    assert all(a != b for i, a in enumerate(populations) for b in populations[:i])


def test_the_seed_of_the_config_counts_unless_another_is_given() -> None:
    config = make_config({"neat.pop_size": 5, "run.seed": 77})
    sizes: dict[str, Any] = {"num_inputs": 2, "num_outputs": 1}
    assert (
        NEAT(config, **sizes).ask()
        == NEAT(Config().replace({"neat.pop_size": 5}), 77, **sizes).ask()
    )
    assert NEAT(config, **sizes).ask() != NEAT(config, 78, **sizes).ask()


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_a_seed_out_of_range_is_refused(seed: Any) -> None:
    with pytest.raises(OptionError, match=r"seed=.* whole number from 0 to 2\^64 - 1"):
        small(seed=seed)


def test_the_number_of_pins_comes_from_the_config_or_the_caller() -> None:
    config = make_config({"genome.num_inputs": 3, "neat.pop_size": 4})
    assert NEAT(config, num_outputs=2).ask().num_inputs == 3
    assert NEAT(config, num_inputs=3, num_outputs=2).ask().num_outputs == 2
    with pytest.raises(OptionError, match="num_inputs=2 contradicts the config, which has 3"):
        NEAT(config, num_inputs=2, num_outputs=2)
    with pytest.raises(OptionError, match=r"num_outputs is not known: set genome\.num_outputs"):
        NEAT(config)
    with pytest.raises(OptionError, match="num_outputs=0 is too few"):
        NEAT(config, num_outputs=0)


def test_other_options_out_of_range_are_refused() -> None:
    with pytest.raises(OptionError, match="on_bad_fitness"):
        small(on_bad_fitness="ignore")
    with pytest.raises(OptionError, match="backend='gpu'"):
        small(backend="gpu")
    with pytest.raises(ShapeError, match="float16"):
        small(dtype=np.float16)


def test_time_constants_that_may_fall_to_0_are_refused() -> None:
    low = {"genome.time_constant_min_value": 0.0}
    assert (small(low).ask().time_constant == 1).all()
    for name in ("mutate_rate", "init_stdev"):
        with pytest.raises(OptionError, match=r"time_constant_min_value=0\.0 lets"):
            small(low, {f"genome.time_constant_{name}": 0.5})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_genes_have_the_type_that_was_asked_for(dtype: npt.DTypeLike) -> None:
    assert run(small(dtype=dtype), 3).ask().dtype == dtype


class Interrupted(NativeEngine):
    """Somebody presses Ctrl-C in one of the steps."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step

    def breed(self, *arguments: Any) -> Any:
        if self.step == "breed":
            raise KeyboardInterrupt
        return super().breed(*arguments)

    def speciate(self, *arguments: Any) -> Any:
        if self.step == "speciate":
            raise KeyboardInterrupt
        return super().speciate(*arguments)


@pytest.mark.parametrize("step", ["breed", "speciate"])
def test_an_interrupt_while_breeding_leaves_the_state_unchanged(step: str) -> None:
    adaptive = {"speciation.target_num_species": 3}
    evolution, untouched = (run(small(WILD, adaptive), 4) for _ in range(2))
    engine, state = evolution._engine, evolution.state
    evolution._engine = Interrupted(step)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            evolution.ask()
        assert evolution.state is state
        assert_same_state(evolution, untouched)
    evolution._engine = engine
    assert_same_state(run(evolution, 3), run(untouched, 3))


# ---- histories of species -----------------------------------------------------------------------


def test_a_history_never_changes_when_it_is_continued() -> None:
    first = ScoreHistory([1.0, 3.0])
    longer, other = first.extended(2.0), first.extended(5.0)
    assert first == [1.0, 3.0]
    assert longer == [1.0, 3.0, 2.0]
    assert other == [1.0, 3.0, 5.0]
    assert longer.extended(7.0) == [1.0, 3.0, 2.0, 7.0]
    assert (longer[-1], longer[0], longer[1:]) == (2.0, 1.0, [3.0, 2.0])
    assert (len(first), len(longer)) == (2, 3)
    assert (first.best, longer.best, other.best, ScoreHistory().best) == (3.0, 3.0, 5.0, -math.inf)
    with pytest.raises(IndexError):
        first[2]


def test_species_are_judged_once_a_generation_is_told() -> None:
    evolution = small()
    evolution.ask()
    assert evolution.state.verdict is None
    evolution.tell(np.arange(12))
    assert evolution.state.verdict is not None
    evolution.ask()
    assert evolution.state.verdict is None
