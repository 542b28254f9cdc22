"""`BatchEvaluator`: the same evolution as without it, in less time."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path
from typing import Any

import neat
import numpy as np
import pytest

from evonet.errors import (
    FitnessError,
    GenomeError,
    OptionError,
    ShapeError,
    UnknownFunctionError,
)
from evonet.plugins.neat_python import BatchEvaluator
from evonet.tasks import xor
from tests.support.neat_configs import XOR_INI, XOR_X, XOR_Y, eval_xor, load, make_genome, write_ini


def score_one(genome: Any, net: Any) -> float:
    fitness = 4.0
    for xi, xo in zip(XOR_X, XOR_Y, strict=True):
        fitness -= (net.activate(xi)[0] - xo[0]) ** 2
    return fitness


def score_outputs(outputs: Any) -> list[float]:
    found = []
    for one in outputs[:, :, 0].tolist():
        fitness = 4.0
        for got, (want,) in zip(one, XOR_Y, strict=True):
            fitness -= (got - want) ** 2
        found.append(fitness)
    return found


def history(evaluator: Any, seed: int, generations: int, ini: Path = XOR_INI) -> Any:
    """Every fitness of every generation, and the winner with all its genes."""
    random.seed(seed)
    population = neat.Population(load(ini))
    statistics = neat.StatisticsReporter()
    population.add_reporter(statistics)
    winner = population.run(evaluator, generations)
    return statistics.generation_statistics, str(winner), population.config


def small_population(config: Any, count: int = 6) -> list[tuple[int, Any]]:
    random.seed(1)
    config.genome_config.innovation_tracker = neat.innovation.InnovationTracker()
    genomes = []
    for key in range(1, count + 1):
        genome = neat.DefaultGenome(key)
        genome.configure_new(config.genome_config)
        for _ in range(12):
            genome.mutate(config.genome_config)
        genomes.append((key, genome))
    return genomes


@pytest.mark.parametrize("seed", range(20))
def test_the_same_seed_evolves_the_same_winner_with_the_same_fitness(seed: int) -> None:
    plain, winner, _ = history(eval_xor, seed, 12)
    evaluators = [
        BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0),
        BatchEvaluator.from_outputs(XOR_X, score_outputs),
        BatchEvaluator.from_genomes(score_one),
        BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0, reuse_fitness=True),
    ]
    for evaluator in evaluators[seed % 2 :: 2]:
        found, won, _ = history(evaluator, seed, 12)
        assert found == plain  # to the last bit
        assert won == winner


def test_recurrent_networks_evolve_the_same_too(tmp_path: Path) -> None:
    ini = write_ini(tmp_path, feed_forward="False", pop_size=40)
    rows = [list(x) for x in XOR_X]

    def plain(genomes: Any, config: Any) -> None:
        for _, genome in genomes:
            net = neat.nn.RecurrentNetwork.create(genome, config)
            genome.fitness = 0.0
            for row, (want,) in zip(rows, XOR_Y, strict=True):
                net.reset()
                for _ in range(3):
                    (got,) = net.activate(row)
                genome.fitness -= (got - want) ** 2

    expected = history(plain, 3, 8, ini)[:2]
    assert history(BatchEvaluator.from_data(XOR_X, XOR_Y, steps=3), 3, 8, ini)[:2] == expected


def test_the_config_is_neither_copied_nor_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load()
    genomes = small_population(config)
    config.genome_config.node_indexer = count(1000)
    for evaluator in (
        BatchEvaluator.from_data(XOR_X, XOR_Y),
        BatchEvaluator.from_data(XOR_X, XOR_Y, exact=False),
        BatchEvaluator.from_genomes(score_one),
    ):
        evaluator(genomes, config)
    assert next(config.genome_config.node_indexer) == 1000


def test_kernels_agree_within_rounding() -> None:
    config = load()
    genomes = small_population(config, 40)
    BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0)(genomes, config)
    exact = [genome.fitness for _, genome in genomes]
    evaluator = BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0, exact=False)
    evaluator.evaluate(genomes, config)
    assert [genome.fitness for _, genome in genomes] == pytest.approx(exact, abs=1e-12)
    BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0, dtype="float32")(genomes, config)
    assert [genome.fitness for _, genome in genomes] == pytest.approx(exact, abs=1e-4)


def test_a_task_scores_as_the_examples_do() -> None:
    config = load()
    genomes = small_population(config)
    BatchEvaluator.from_task(xor())(genomes, config)
    by_task = [genome.fitness for _, genome in genomes]
    BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0)(genomes, config)
    assert by_task == pytest.approx([genome.fitness for _, genome in genomes], abs=1e-12)


def test_a_custom_loss_gets_outputs_and_answers() -> None:
    config = load()
    genomes = small_population(config)
    evaluator = BatchEvaluator.from_data(
        XOR_X, [y for (y,) in XOR_Y], lambda out, y: np.abs(out - y).max(axis=(1, 2)), best=1.0
    )
    evaluator(genomes, config)
    _, genome = genomes[2]
    net = neat.nn.FeedForwardNetwork.create(genome, config)
    worst = max(abs(net.activate(x)[0] - y[0]) for x, y in zip(XOR_X, XOR_Y, strict=True))
    assert genome.fitness == 1.0 - worst


@pytest.mark.parametrize("loss", ["cross_entropy", "misses"])
def test_classes_are_scored_alike_by_both_paths(loss: str, tmp_path: Path) -> None:
    config = load(write_ini(tmp_path, num_outputs=2))
    genomes = small_population(config, 20)
    y = np.eye(2)[[0, 1, 1, 0]]
    BatchEvaluator.from_data(XOR_X, y, loss)(genomes, config)
    exact = [genome.fitness for _, genome in genomes]
    BatchEvaluator.from_data(XOR_X, y, loss, exact=False)(genomes, config)
    assert [genome.fitness for _, genome in genomes] == pytest.approx(exact, abs=1e-12)


def test_sequences_are_seen_step_by_step(tmp_path: Path) -> None:
    config = load(write_ini(tmp_path, feed_forward="False"))
    genomes = small_population(config)
    x = np.random.default_rng(1).standard_normal((5, 4, 2))
    shapes = []

    def last(outputs: Any) -> Any:
        shapes.append(outputs.shape)
        return outputs[:, :, -1, 0].sum(axis=1)

    BatchEvaluator.from_outputs(x, last)(genomes, config)
    assert shapes == [(6, 5, 4, 1)]
    y = np.zeros((5, 4, 1))
    for exact in (True, False):
        BatchEvaluator.from_data(x, y, exact=exact)(genomes, config)
        net = neat.nn.RecurrentNetwork.create(genomes[3][1], config)
        expected = 0.0
        for sequence in x.tolist():
            net.reset()
            for row in sequence:
                expected -= net.activate(row)[0] ** 2
        assert genomes[3][1].fitness == pytest.approx(expected, abs=1e-12)


def test_continuous_time_follows_the_installed_version() -> None:
    config = load()
    genomes = small_population(config)
    BatchEvaluator.from_data(XOR_X, XOR_Y, kind="ctrnn", time_step=0.1, steps=5)(genomes, config)
    for _, genome in genomes:
        net = neat.ctrnn.CTRNN.create(genome, config)
        expected = 0.0
        for x, (want,) in zip(XOR_X, XOR_Y, strict=True):
            net.reset()
            for _ in range(5):
                (got,) = net.advance(x, 0.1, 0.1)
            expected -= (got - want) ** 2
        assert genome.fitness == expected


def test_elites_keep_their_fitness_if_asked() -> None:
    config = load()
    genomes = small_population(config)
    evaluator = BatchEvaluator.from_data(XOR_X, XOR_Y, reuse_fitness=True)
    evaluator(genomes, config)
    assert (evaluator.evaluated, evaluator.calls) == (6, 1)
    evaluator(genomes[:4], config)
    assert (evaluator.evaluated, evaluator.calls) == (6, 2)
    evaluator(genomes, config)  # two of them were not there in between
    assert evaluator.evaluated == 8
    genomes[0][1].fitness = 99.0  # not what this evaluator found
    evaluator(genomes, config)
    assert evaluator.evaluated == 9
    assert genomes[0][1].fitness < 0


def test_an_environment_is_played_in_kernels_or_by_gymnasium() -> None:
    config = load()
    settings = config.genome_config
    settings.num_inputs, settings.input_keys = 4, [-1, -2, -3, -4]
    settings.num_outputs, settings.output_keys = 2, [0, 1]
    genomes = small_population(config)
    evaluator = BatchEvaluator.from_env("CartPole-v1", episodes=3, seed=4)
    evaluator(genomes, config)
    native = [genome.fitness for _, genome in genomes]
    assert all(1 <= fitness <= 500 for fitness in native)
    again = BatchEvaluator.from_env("CartPole-v1", episodes=3, seed=4)
    again(genomes, config)
    assert [genome.fitness for _, genome in genomes] == native
    again(genomes, config)
    assert [genome.fitness for _, genome in genomes] != native  # other episodes
    stepped = BatchEvaluator.from_env("CartPole-v1", episodes=2, max_steps=20, native=False)
    stepped(genomes, config)
    assert all(1 <= genome.fitness <= 20 for _, genome in genomes)
    computed = [genome.fitness for _, genome in genomes]
    exact = BatchEvaluator.from_env(
        "CartPole-v1", episodes=2, max_steps=20, native=False, exact=True
    )
    exact(genomes, config)
    assert [genome.fitness for _, genome in genomes] == computed
    with pytest.raises(OptionError, match="native=True is impossible"):
        BatchEvaluator.from_env("LunarLander-v3", native=True)


# ---- custom functions ----------------------------------------------------------------------------


def unusual(z: float) -> float:
    import math

    for _ in range(2):
        z = math.atan(z)
    return z


@pytest.mark.parametrize("exact", [True, False])
def test_custom_functions_run_in_python_with_one_warning(exact: bool) -> None:
    def own(z: float) -> float:
        return unusual(z)

    config = load()
    config.genome_config.add_activation("own", own)
    genomes = small_population(config)
    for _, genome in genomes[::2]:
        genome.nodes[0].activation = "own"
    evaluator = BatchEvaluator.from_data(XOR_X, XOR_Y, exact=exact)
    with pytest.warns(RuntimeWarning, match='activation "own": runs in Python') as caught:
        evaluator(genomes, config)
    assert len(caught) == 1
    evaluator(genomes, config)  # and does not warn again
    for _, genome in genomes:
        net = neat.nn.FeedForwardNetwork.create(genome, config)
        expected = -sum((net.activate(x)[0] - y[0]) ** 2 for x, y in zip(XOR_X, XOR_Y, strict=True))
        assert genome.fitness == pytest.approx(expected, abs=1e-12)


def test_a_built_in_name_with_another_function_is_no_built_in() -> None:
    config = load()
    config.genome_config.add_activation("sigmoid", lambda z: 0.25)
    genomes = small_population(config, 2)
    with pytest.warns(RuntimeWarning, match='activation "sigmoid": runs in Python'):
        BatchEvaluator.from_outputs(XOR_X, lambda out: out[:, 0, 0], exact=False)(genomes, config)
    assert [genome.fitness for _, genome in genomes] == [0.25, 0.25]


# ---- errors --------------------------------------------------------------------------------------


def evaluate(evaluator: BatchEvaluator, *genomes: Any) -> None:
    evaluator([(genome.key, genome) for genome in genomes], load())


def plain_genome(key: int = 7) -> Any:
    return make_genome(load(), key, {0: {}}, {(-1, 0): 1.0, (-2, 0): 1.0})


def test_samples_that_do_not_fit_the_config_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"\[B, 2\].*found \[4, 3\]"):
        evaluate(BatchEvaluator.from_outputs(np.zeros((4, 3)), len), plain_genome())
    with pytest.raises(ShapeError, match="Y has 2 columns, and the networks have 1 outputs"):
        evaluate(BatchEvaluator.from_data(np.zeros((4, 2)), np.zeros((4, 2))), plain_genome())
    with pytest.raises(ShapeError, match=r"found \[4, 2\] and \[3, 1\]"):
        BatchEvaluator.from_data(np.zeros((4, 2)), np.zeros((3, 1)))
    with pytest.raises(ShapeError, match="feed-forward networks see no sequences"):
        evaluate(BatchEvaluator.from_outputs(np.zeros((4, 3, 2)), len), plain_genome())
    with pytest.raises(ShapeError, match="X must be an array of real numbers"):
        BatchEvaluator.from_outputs([["a", "b"]], len)


def test_a_missing_fitness_names_the_genome() -> None:
    with pytest.raises(FitnessError, match=r"genome id 7: f\(genome, net\) returned None"):
        evaluate(BatchEvaluator.from_genomes(lambda genome, net: None), plain_genome())
    with pytest.raises(FitnessError, match=r"genome id 7: .*returned 'good'"):
        evaluate(BatchEvaluator.from_genomes(lambda genome, net: "good"), plain_genome())
    with pytest.raises(FitnessError, match="returned None"):
        evaluate(BatchEvaluator.from_outputs(XOR_X, lambda out: None), plain_genome())
    with pytest.raises(FitnessError, match=r"shape \[1\].*found \[1, 4, 1\].*sum\(axis=\(1, 2\)\)"):
        evaluate(BatchEvaluator.from_outputs(XOR_X, lambda out: out), plain_genome())
    both = [plain_genome(7), plain_genome(8)]
    with pytest.raises(FitnessError, match="genome id 8: the fitness function returned NaN"):
        evaluate(BatchEvaluator.from_outputs(XOR_X, lambda out: [1.0, np.nan]), *both)
    with pytest.raises(FitnessError, match="genome id 8: the fitness function returned None"):
        evaluate(BatchEvaluator.from_outputs(XOR_X, lambda out: [1.0, None]), *both)


@pytest.mark.parametrize("exact", [True, False])
def test_an_unknown_function_names_the_genome_and_the_fix(exact: bool) -> None:
    genome = make_genome(load(), 7, {0: {"activation": "swish"}}, {(-1, 0): 1.0})
    evaluator = BatchEvaluator.from_data(XOR_X, XOR_Y, exact=exact)
    with pytest.raises(UnknownFunctionError, match=r'genome id 7: node 0: "swish".*add_activation'):
        evaluate(evaluator, plain_genome(6), genome)


@pytest.mark.parametrize("exact", [True, False])
def test_genes_without_weights_name_the_genome(exact: bool) -> None:
    genome = plain_genome()
    del genome.connections[(-2, 0)].weight
    evaluator = BatchEvaluator.from_data(XOR_X, XOR_Y, exact=exact)
    with pytest.raises(GenomeError, match=r"genome id 7: connection \(-2, 0\): .* has no weight"):
        evaluate(evaluator, plain_genome(6), genome)


@pytest.mark.parametrize("exact", [True, False])
def test_a_connection_without_its_node_names_the_genome(exact: bool) -> None:
    genome = make_genome(load(), 7, {0: {}}, {(-1, 0): 1.0, (5, 0): 1.0})
    evaluator = BatchEvaluator.from_data(XOR_X, XOR_Y, exact=exact)
    with pytest.raises(GenomeError, match="genome id 7: "):
        evaluate(evaluator, plain_genome(6), genome)


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(OptionError, match="exact=True computes as neat-python does"):
        BatchEvaluator.from_data(XOR_X, XOR_Y, exact=True, dtype="float32")
    with pytest.raises(OptionError, match="kind="):
        BatchEvaluator.from_data(XOR_X, XOR_Y, kind="recurent")
    with pytest.raises(OptionError, match="loss="):
        BatchEvaluator.from_data(XOR_X, XOR_Y, "squares")
    with pytest.raises(OptionError, match="from_task: 3 is not a task"):
        BatchEvaluator.from_task(3)
    with pytest.raises(OptionError, match="from_genomes needs a function"):
        BatchEvaluator.from_genomes(3)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"num_inputs=4.*genomes have 2.*DefaultGenome"):
        evaluate(BatchEvaluator.from_env("CartPole-v1"), plain_genome())


def test_genomes_of_another_kind_are_refused() -> None:
    with pytest.raises(OptionError, match="not neat-python genomes"):
        BatchEvaluator.from_data(XOR_X, XOR_Y)([(1, object())], load())
