"""neat-python configs in evonet's own loop: from Python, and from the command line."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import neat
import pytest

import evonet
from evonet.errors import ConfigError, OptionError
from evonet.plugins.neat_python import BatchEvaluator, FeedForwardNetwork, evolve
from evonet.plugins.neat_python.config_object import read_config_object
from evonet.tasks import xor
from tests.support.cli_runs import CommandLine
from tests.support.neat_configs import XOR_X, XOR_Y, eval_xor, load, write_ini


@pytest.fixture
def ini(tmp_path: Path) -> Path:
    return write_ini(tmp_path, pop_size=60)


def data() -> BatchEvaluator:
    return BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0)


def eval_one(genome: Any, config: Any) -> float:
    eval_xor([(genome.key, genome)], config)
    fitness: float = genome.fitness
    return fitness


def with_net(genome: Any, net: Any) -> float:
    return 4.0 - sum((net.activate(x)[0] - y[0]) ** 2 for x, y in zip(XOR_X, XOR_Y, strict=True))


@pytest.mark.parametrize(
    "fitness",
    [data(), xor(), eval_xor, eval_one, with_net, BatchEvaluator.from_genomes(with_net)],
    ids=["from_data", "task", "eval_genomes", "eval_genome", "f(genome, net)", "from_genomes"],
)
def test_the_winner_is_a_neat_python_genome_with_that_fitness(ini: Path, fitness: Any) -> None:
    winner = evolve(ini, fitness, 15, seed=3)
    config = load(ini)
    assert type(winner) is neat.DefaultGenome
    assert winner.fitness == pytest.approx(
        with_net(winner, FeedForwardNetwork.create(winner, config)), abs=1e-9
    )
    assert winner.fitness > 2.4
    child = neat.DefaultGenome(1)
    config.genome_config.innovation_tracker = neat.innovation.InnovationTracker(
        max((gene.innovation for gene in winner.connections.values()), default=0) + 1
    )
    child.configure_crossover(winner, copy.deepcopy(winner), config.genome_config)
    child.mutate(config.genome_config)  # neat-python can breed it further


def test_a_config_object_evolves_as_its_file_does(ini: Path) -> None:
    assert str(evolve(load(ini), data(), 8, seed=4)) == str(evolve(ini, data(), 8, seed=4))


def test_a_config_object_is_read_with_what_the_script_changed(ini: Path) -> None:
    config = load(ini)
    config.pop_size = 30
    config.genome_config.initial_connection = "partial_direct"
    config.genome_config.connection_fraction = 0.5
    config.stagnation_config.max_stagnation = 7
    config.species_set_config.compatibility_threshold = 2.5
    found = read_config_object(config)
    assert (found.neat.pop_size, found.stagnation.max_stagnation) == (30, 7)
    assert found.speciation.threshold == 2.5
    assert str(found.genome.initial_connection) == "partial_direct 0.5"


def square(x: float) -> float:
    return x * x


def test_functions_of_a_config_object_are_translated(ini: Path) -> None:
    config = load(ini)
    config.genome_config.add_activation("squared_here", square)
    config.genome_config.activation_options = ["sigmoid", "squared_here"]
    config.genome_config.activation_mutate_rate = 0.5
    try:
        winner = evolve(config, data(), 10, seed=1)
        assert winner.fitness == pytest.approx(
            with_net(winner, FeedForwardNetwork.create(winner, config)), abs=1e-9
        )
    finally:
        evonet.unregister_activation("squared_here")


def opaque(x: float) -> float:
    return float(str(x))


def test_a_function_that_cannot_be_translated_names_the_line_that_registers_it(ini: Path) -> None:
    config = load(ini)
    config.genome_config.add_activation("opaque", opaque)
    config.genome_config.activation_options = ["sigmoid", "opaque"]
    line = r'evonet\.register_activation\("opaque", "\.\.\."\)'
    with pytest.raises(OptionError, match=f'(?s)activation "opaque" .*{line}'):
        evolve(config, data(), 3)
    evonet.register_activation("opaque", "x")
    try:
        assert evolve(config, data(), 3).fitness > 0
    finally:
        evonet.unregister_activation("opaque")
    ini.write_text(ini.read_text().replace("= sigmoid", "= opaque"))
    with pytest.raises(ConfigError, match=line):
        evolve(ini, data(), 3)


def test_classes_that_the_native_loop_would_ignore_are_refused(ini: Path) -> None:
    class Mine(neat.DefaultStagnation):  # type: ignore[misc]
        pass

    config = load(ini)
    config.stagnation_type = Mine
    with pytest.raises(OptionError, match=r"stagnation_type of the config is Mine: .*BatchEval"):
        evolve(config, data(), 3)


def test_equal_seeds_give_equal_winners(ini: Path) -> None:
    winners = [str(evolve(ini, data(), 10, seed=seed)) for seed in (4, 4, 5)]
    assert winners[0] == winners[1] != winners[2]


class Listener(neat.reporting.BaseReporter):  # type: ignore[misc]
    """Records its calls, and reads everything."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start_generation(self, generation: int) -> None:
        self.calls.append(f"start {generation}")

    def post_evaluate(self, config: Any, population: Any, species: Any, best: Any) -> None:
        assert best.fitness == max(genome.fitness for genome in population.values())
        home = species.get_species_id(best.key)
        assert species.species[home].members[best.key] is best
        assert sum(len(s.members) for s in species.species.values()) == len(population)
        assert best.size()[0] >= 1
        self.calls.append("evaluated")

    def end_generation(self, config: Any, population: Any, species: Any) -> None:
        assert {genome.fitness for genome in population.values()} == {None}
        assert all(s.representative.key in s.members for s in species.species.values())
        self.calls.append("end")

    def found_solution(self, config: Any, generation: int, best: Any) -> None:
        self.calls.append(f"found {generation}")


def test_reporters_get_the_calls_of_neat_python(ini: Path) -> None:
    listener, statistics = Listener(), neat.StatisticsReporter()
    evolve(ini, data(), 4, reporters=[listener, statistics], seed=1)
    assert listener.calls == ["start 0", "evaluated"] + [
        word for g in (1, 2, 3) for word in ("end", f"start {g}", "evaluated")
    ]
    assert len(statistics.get_fitness_mean()) == 4
    assert type(statistics.best_genome()) is neat.DefaultGenome  # not a view of a population


def test_a_solution_is_reported(tmp_path: Path) -> None:
    listener = Listener()
    ini = write_ini(tmp_path, fitness_threshold=1.0)
    evolve(ini, data(), 4, reporters=[listener])
    assert listener.calls == ["start 0", "evaluated", "found 0"]


def test_neat_pythons_own_printer_understands_it(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evolve(ini, data(), 3, reporters=[neat.StdOutReporter(True)])
    printed = capsys.readouterr().out
    assert "****** Running generation 2 ******" in printed
    assert "Population's average fitness:" in printed
    assert "Population of 60 members in" in printed


def test_extinction_is_neat_pythons(tmp_path: Path) -> None:
    ini = write_ini(tmp_path, max_stagnation=1, species_elitism=0, pop_size=20)
    with pytest.raises(neat.CompleteExtinctionException):
        evolve(ini, lambda genome, net: 1.0, 50)


def test_networks_with_memory_are_evolved_by_their_config(tmp_path: Path) -> None:
    ini = write_ini(tmp_path, feed_forward="False", pop_size=30)
    winner = evolve(ini, BatchEvaluator.from_data(XOR_X, XOR_Y, best=4.0, steps=3), 5)
    net = neat.nn.RecurrentNetwork.create(winner, load(ini))
    fitness = 4.0
    for x, (y,) in zip(XOR_X, XOR_Y, strict=True):
        net.reset()
        for _ in range(3):
            (found,) = net.activate(x)
        fitness -= (found - y) ** 2
    assert winner.fitness == pytest.approx(fitness, abs=1e-9)


def test_what_cannot_score_is_refused(ini: Path) -> None:
    with pytest.raises(OptionError, match=r"fitness=<lambda>\(a, b\) is not understood.*eval_gen"):
        evolve(ini, lambda a, b: 1.0)
    with pytest.raises(OptionError, match="fitness=3"):
        evolve(ini, 3)
    with pytest.raises(OptionError, match=r"config is a dict\. Expected a neat\.Config"):
        evolve({}, data())  # type: ignore[arg-type]
    ini.write_text(ini.read_text().replace("elitism            = 2", "elitism = -2"))
    with pytest.raises((ConfigError, RuntimeError)):
        evolve(ini, data())


FITNESS = """
import neat
from evonet.plugins.neat_python import BatchEvaluator

X = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
Y = [(0.0,), (1.0,), (1.0,), (0.0,)]
by_data = BatchEvaluator.from_data(X, Y, best=4.0)

def eval_genomes(genomes, config):
    for _, genome in genomes:
        net = neat.nn.FeedForwardNetwork.create(genome, config)
        genome.fitness = 4.0 - sum((net.activate(x)[0] - y[0]) ** 2 for x, y in zip(X, Y))

def misunderstood(a, b):
    return 1.0
"""


@pytest.fixture
def command_line(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.mark.parametrize("name", ["by_data", "eval_genomes"])
def test_the_command_line_evolves_a_neat_python_config(
    name: str,
    ini: Path,
    tmp_path: Path,
    command_line: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_fitness.py").write_text(FITNESS)
    run = tmp_path / "run"
    options = ("--generations", 3, "--seed", 1, "--out", run)
    printed = command_line("evolve", "--config", ini, f"my_fitness.py:{name}", *options)
    assert printed.status == 0, printed.err
    assert "****** Running generation 2 ******" in printed.out
    assert (run / "champion.json").is_file()
    resumed = command_line("resume", run, "--generations", 5, "--quiet")
    assert resumed.status == 0, resumed.err
    assert len((run / "metrics.jsonl").read_text().splitlines()) == 5


def test_the_command_line_reports_what_a_file_lacks(
    ini: Path, tmp_path: Path, command_line: CommandLine
) -> None:
    file = tmp_path / "my_fitness.py"
    file.write_text(FITNESS)
    for name, words in (
        ("missing", "has no 'missing'. Expected a BatchEvaluator"),
        ("misunderstood", "fitness=misunderstood(a, b) is not understood"),
    ):
        printed = command_line("evolve", "--config", ini, f"{file}:{name}")
        assert printed.status == 1
        assert words in printed.err
    printed = command_line("evolve", "--config", ini, f"{tmp_path}/nothing.py:f")
    assert "there is no file" in printed.err


def test_settings_of_a_config_serve_other_tasks_too(
    ini: Path, tmp_path: Path, command_line: CommandLine
) -> None:
    out = tmp_path / "run"
    printed = command_line("evolve", "--config", ini, "xor", "--generations", 2, "--out", out)
    assert printed.status == 0, printed.err
    assert "60 genomes" in printed.out
