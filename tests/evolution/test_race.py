"""The race for the best genome: the best one wins, not the luckiest, and claims hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import evonet
from evonet import Config, FitnessError, Population
from evonet.evolution.race import FEWEST_EPISODES, MOST_TESTS, Generation, Race, interval
from evonet.evolution.state import Best, Retest
from evonet.runs.champion import read_champion, save_champion
from evonet.runs.loop import evolve
from evonet.runs.start import resume_run, start_run
from evonet.tasks import Control, xor

NOISE = 10.0


def genomes(qualities: list[float]) -> Population:
    """Genomes whose only weight is how good they are."""
    made = Population.random(len(qualities), 1, 1, num_nodes=1, num_connections=1, seed=1)
    return made.replace(weight=np.array(qualities, np.float32))


class Lottery:
    """A game whose returns are a genome's quality and luck, and who played how many episodes."""

    def __init__(self, noise: float = NOISE) -> None:
        self.noise = noise
        self.episodes = 0
        self.played: set[tuple[int, int]] = set()

    def __call__(
        self, population: Population, seed: int, first: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        self.episodes += len(population) * episodes
        self.played |= {(seed, first + i) for i in range(episodes)}
        ticket = (np.abs(population.weight) * 1000).astype(np.int64) % 64
        luck = np.stack(
            [
                np.random.default_rng([seed, first + e]).normal(size=64)[ticket]
                for e in range(episodes)
            ],
            axis=1,
        )
        quality = population.weight.astype(np.float64)[:, None]
        return np.asarray(quality + self.noise * luck)


def race(play: Any, **changes: Any) -> Race:
    settings: dict[str, Any] = {
        "play": play,
        "play_best": play,
        "sign": 1.0,
        "threshold": None,
        "retests": 50,
        "retest_seed": 99,
        "on_bad_fitness": "error",
    }
    return Race(**{**settings, **changes})


def generation(
    qualities: list[float], seed: int, number: int = 0, episodes: int = 2, sign: float = 1.0
) -> Generation:
    population = genomes(qualities)
    fitness = Lottery()(population, seed, 0, episodes).mean(axis=1)
    return Generation(population, np.arange(1, len(qualities) + 1), fitness, number, episodes)


def best_of(quality: float, tested: Retest | None = None) -> Best:
    return Best(genomes([quality]), quality, generation=0, id=1000, tested=tested)


def test_the_best_genome_wins_and_not_the_luckiest() -> None:
    qualities = [*np.linspace(0, 20, 39).tolist(), 40.0]
    lucky = right = 0
    for seed in range(20):
        scored = generation(qualities, seed, episodes=1)
        lucky += int(np.argmax(scored.fitness)) != 39
        found = race(Lottery()).champion(None, scored, seed)
        assert found is not None
        right += found.id == 40
    assert lucky >= 2
    assert right == 20


def test_the_stated_interval_holds_the_true_fitness() -> None:
    held = 0
    for seed in range(60, 120):
        best: Best | None = None
        for number in range(4):
            qualities = np.random.default_rng([seed, number]).uniform(0, 10, 30).tolist()
            scored = generation(qualities, 100 * seed + number, number)
            best = race(Lottery(), retest_seed=10_000 + seed).champion(
                best, scored, 100 * seed + number
            )
        assert best is not None
        assert best.tested is not None
        held += best.tested.low <= float(best.population.weight[0]) <= best.tested.high
    assert held >= 58


def test_a_test_uses_none_of_the_episodes_that_chose_the_champion() -> None:
    play = Lottery()
    scored = generation([1.0, 2.0, 3.0], 5, episodes=2)
    found = race(play).champion(None, scored, 5)
    assert found is not None
    tests = {pair for pair in play.played if pair[0] == 99}
    assert tests == {(99, episode) for episode in range(50)}
    assert min(episode for seed, episode in play.played if seed == 5) == 2
    expected = Lottery()(found.population, 99, 0, 50)[0]
    assert found.fitness == pytest.approx(expected.mean(), rel=1e-12)


def test_a_race_stays_within_its_budget() -> None:
    play, tested = Lottery(), best_of(0.0, Retest(50, -1.0, 1.0, -30.0))
    scored = generation(np.linspace(50, 60, 100).tolist(), 3, episodes=8)
    race(play).champion(tested, scored, 3)
    assert play.episodes - 50 <= 0.25 * 100 * 8
    play = Lottery()
    race(play).champion(None, generation([1.0, 2.0], 3), 3)
    assert play.episodes - 50 <= FEWEST_EPISODES


def test_an_equal_genome_does_not_replace_the_champion() -> None:
    def constant(population: Population, seed: int, first: int, episodes: int) -> Any:
        return np.full((len(population), episodes), 3.0)

    best = best_of(2.0, Retest(50, 2.0, 2.0, 2.0))
    scored = Generation(genomes([1.0, 2.0]), np.arange(1, 3), np.array([5.0, 6.0]), 1, 2)
    assert race(constant).champion(best, scored, 0) is best


def test_luck_does_not_replace_a_better_champion() -> None:
    best = best_of(12.0, Retest(50, 11.0, 13.0, 0.0))
    replaced = 0
    for seed in range(100):
        rivals = np.random.default_rng(seed).uniform(9.0, 11.0, 8).tolist()
        scored = Generation(genomes(rivals), np.arange(1, 9), np.full(8, 30.0), 1, 2)
        found = race(Lottery(), retests=100).champion(best, scored, seed)
        replaced += found is not best
    assert replaced <= 2


def test_nobody_races_who_scored_less_than_the_champion() -> None:
    play = Lottery()
    best = best_of(100.0, Retest(50, 99.0, 101.0, 90.0))
    assert race(play).champion(best, generation([1.0, 2.0], 0), 0) is best
    assert play.episodes == 0


def test_lower_fitness_can_be_better() -> None:
    scored = generation([5.0, 80.0, 90.0], 4)
    found = race(Lottery(), sign=-1.0).champion(None, scored, 4)
    assert found is not None
    assert found.id == 1
    assert found.tested is not None
    assert found.tested.low < found.fitness < found.tested.high
    assert found.tested.worst > found.tested.high
    assert found.tested.solves(found.tested.high, -1.0)
    assert not found.tested.solves(found.tested.low, -1.0)


def test_a_champion_near_the_threshold_is_tested_for_longer() -> None:
    scored = generation([20.0], 1)
    found = race(Lottery(), threshold=20.5).champion(None, scored, 1)
    assert found is not None
    assert found.tested is not None
    assert found.tested.episodes == MOST_TESTS * 50
    far = race(Lottery(), threshold=-500.0).champion(None, scored, 1)
    assert far is not None
    assert far.tested is not None
    assert far.tested.episodes == 50


def test_flawless_episodes_solve_a_task_whose_threshold_is_its_maximum() -> None:
    def flawless(population: Population, seed: int, first: int, episodes: int) -> Any:
        return np.full((len(population), episodes), 500.0)

    fitness = np.array([500.0, 9.0, 9.0])
    scored = Generation(genomes([1.0, 2.0, 3.0]), np.arange(1, 4), fitness, 0, 2)
    found = race(flawless, threshold=500.0).champion(None, scored, 1)
    assert found is not None
    assert found.tested is not None
    assert found.tested.episodes == MOST_TESTS * 50
    assert found.tested.low < 500 == found.tested.high
    assert found.tested.solves(500.0, 1.0)


def test_an_interval_allows_for_failures_that_a_test_may_have_missed() -> None:
    mean, low, high = interval(np.full(100, 500.0), typical=100.0)
    assert (mean, high) == (500.0, 500.0)
    assert low == pytest.approx(500 - 400 * 4.605 / 100, abs=0.01)
    spread = np.tile([0.0, 2.0], 50)
    mean, low, high = interval(spread)
    # Student's quantile at 99 degrees of freedom is 2.6264.
    error = np.std(spread, ddof=1) / 10
    assert (high - mean, mean - low) == pytest.approx((2.6264 * error, 2.6264 * error), rel=1e-4)


def test_returns_that_are_not_finite_are_refused_or_count_as_the_worst() -> None:
    def sometimes(population: Population, seed: int, first: int, episodes: int) -> Any:
        returns = Lottery()(population, seed, first, episodes)
        returns[0, 0] = np.nan
        return returns

    scored = generation([1.0, 2.0], 1)
    with pytest.raises(FitnessError, match=r"genome with id .* return of a test episode is nan"):
        race(sometimes).champion(None, scored, 1)
    found = race(sometimes, on_bad_fitness="worst").champion(None, scored, 1)
    assert found is not None
    assert np.isfinite(found.fitness)


def test_without_any_finite_fitness_there_is_no_champion() -> None:
    scored = Generation(genomes([1.0]), np.arange(1, 2), np.array([np.nan]), 0, 1)
    assert race(Lottery()).champion(None, scored, 1) is None


# ---- whole runs -----------------------------------------------------------------------------


def noisy_config(**changes: Any) -> Config:
    table = {"task": {"name": "pendulum"}, "neat": {"pop_size": 30}, "run": {"threads": 1}}
    return Config.from_dict(table).replace(changes)


def noisy_task(**options: Any) -> Control:
    return Control("pendulum", episodes=2, max_steps=40, **{"retests": 20, **options})


def test_tests_decide_the_champion_and_never_the_parents() -> None:
    runs = [
        evolve(noisy_task(retests=retests), noisy_config(), generations=6, seed=3)
        for retests in (0, 20)
    ]
    states = [run.algorithm.state for run in runs]
    assert states[0].fitness is not None
    assert states[1].fitness is not None
    assert states[0].fitness.tobytes() == states[1].fitness.tobytes()
    assert states[0].population == states[1].population
    lucky, tested = (run.best for run in runs)
    assert lucky is not None
    assert tested is not None
    assert lucky.tested is None
    assert tested.tested is not None
    assert tested.fitness < lucky.fitness


def test_a_resumed_run_has_the_champion_of_an_uninterrupted_one(tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def stop(record: evonet.GenerationRecord) -> None:
        if record.generation == 3:
            raise StoppedError

    config = noisy_config(**{"run.generations": 8})
    start_run(tmp_path / "whole", noisy_task(), config)
    with pytest.raises(StoppedError):
        start_run(tmp_path / "parts", noisy_task(), config, callbacks=[stop])
    resume_run(tmp_path / "parts", noisy_task())
    for name in ("champion.json", "improvements.jsonl"):
        parts = [(tmp_path / run / name).read_bytes() for run in ("whole", "parts")]
        assert parts[0] == parts[1]
    last = "checkpoints/checkpoint-000007.safetensors"
    assert (tmp_path / "whole" / last).read_bytes() == (tmp_path / "parts" / last).read_bytes()


def test_files_state_the_test_of_a_champion(tmp_path: Path) -> None:
    result = start_run(tmp_path / "run", noisy_task(), noisy_config(**{"run.generations": 3}))
    assert result.best is not None
    tested = result.best.tested
    champion = read_champion(tmp_path / "run" / "champion.json")
    assert tested is not None
    assert champion.tested == tested
    assert champion.fitness == result.best.fitness
    record = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert record["tested"]["episodes"] == 20
    assert record["best_so_far"] == result.best.fitness


def test_tasks_without_chance_are_not_tested(tmp_path: Path) -> None:
    config = Config.from_dict({"task": {"name": "xor"}, "run": {"generations": 2, "threads": 1}})
    result = start_run(tmp_path / "run", xor(), config)
    assert result.best is not None
    assert result.best.tested is None
    assert '"tested"' not in (tmp_path / "run" / "champion.json").read_text()
    assert '"tested"' not in (tmp_path / "run" / "metrics.jsonl").read_text()


def test_a_champion_from_before_there_were_tests_is_tested_when_its_run_resumes(
    tmp_path: Path,
) -> None:
    config = noisy_config(**{"run.generations": 2})
    before = start_run(tmp_path / "run", noisy_task(retests=0), config)
    assert before.best is not None
    after = resume_run(tmp_path / "run", noisy_task(), config.replace({"run.generations": 3}))
    assert after.best is not None
    assert after.best.tested is not None


def test_a_task_is_not_solved_by_luck() -> None:
    """Some genome of a generation reaches the threshold by chance, and no champion does."""
    task, config = noisy_task(solved=-150.0), noisy_config()
    lucky: list[bool] = []
    result = evolve(
        task, config, generations=10, seed=1, callbacks=[lambda r: lucky.append(r.best >= -150)]
    )
    assert sum(lucky) > 2
    assert not result.solved
    assert result.best is not None
    assert task.returns(evonet.compile(result.best.genome), 2**63, 0, 400).mean() < -180


def test_a_test_survives_its_champions_file(tmp_path: Path) -> None:
    best = best_of(2.5, Retest(100, 1.0, 4.0, -3.0))
    save_champion(tmp_path / "a.json", best)
    assert read_champion(tmp_path / "a.json").tested == best.tested
    # A fitness of somebody's own has nothing to do with the test.
    save_champion(tmp_path / "b.json", best, fitness=7.0)
    assert read_champion(tmp_path / "b.json").tested is None
