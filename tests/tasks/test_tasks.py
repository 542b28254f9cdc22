"""Tasks: every registered one on every backend, and what each kind promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import evonet
from evonet import ConfigError, FileFormatError, Network, OptionError, Population, ShapeError
from evonet.config import Config
from evonet.config.task_defaults import TASK_DEFAULTS
from evonet.installation import resource_folder
from evonet.tasks import (
    TASKS,
    Control,
    Stepwise,
    Supervised,
    Task,
    classification,
    make_task,
    parity,
    register,
    regression,
    task_from_config,
    xor,
)
from evonet.tasks.examples import Examples

BACKENDS = ("cpu", "reference")
CONFIGS = sorted(
    path
    for path in resource_folder("configs").glob("*.toml")
    if path.name != "forward.toml"  # sizes for a benchmark
)


def networks(task: Task, count: int, backend: str = "cpu", seed: int = 5) -> Network:
    population = Population.random(
        count,
        task.num_inputs,
        task.num_outputs,
        num_nodes=task.num_outputs + 3,
        num_connections=4 * task.num_outputs + 6,
        activations=("tanh", "sigmoid"),
        seed=seed,
    )
    return evonet.compile(population, backend=backend)  # type: ignore[arg-type]


def small_options(name: str, folder: Path) -> dict[str, Any]:
    """Options that make a registered task cheap, and give those what they need that need it."""
    entry = TASKS[name]
    options: dict[str, Any] = {}
    if "max_steps" in entry.options:
        options = {"max_steps": 20, "retests": 3}
    if name == "images":
        options = {"front_steps": 2}
    if "data" in entry.required:
        path = folder / "table.csv"
        labels = ("a", "b", "c") if name == "classification" else ("1.5", "2", "-3")
        rows = [f"{i},{i * i % 7},{labels[i % 3]}" for i in range(20)]
        path.write_text("\n".join(["p,q,answer", *rows]))
        options["data"] = str(path)
    return options


# ---- the registry ----


@pytest.mark.parametrize("name", TASKS)
def test_every_task_scores_alike_on_every_backend(name: str, tmp_path: Path) -> None:
    task = make_task(name, **small_options(name, tmp_path))
    assert isinstance(task, Task)
    scores = [task.evaluate(networks(task, 9, backend), 2**62 + 1) for backend in BACKENDS]
    assert scores[0].shape == (9,)
    assert np.isfinite(scores[0]).all()
    assert scores[0].tobytes() == scores[1].tobytes()
    assert len(task.evaluate(networks(task, 0), 3)) == 0


@pytest.mark.parametrize("name", TASKS)
def test_every_task_says_what_it_is(name: str) -> None:
    entry = TASKS[name]
    assert entry.name == name
    assert entry.summary
    assert not set(entry.required) - set(entry.options)


def test_a_registered_task_can_be_made_by_name() -> None:
    register("constant", "gives everyone the same", lambda *, value=1.0: _Constant(value))
    try:
        task = make_task("constant", value=3.0)
        assert task.evaluate(networks(task, 2), 0).tolist() == [3.0, 3.0]
        with pytest.raises(OptionError, match="'constant' is taken"):
            register("constant", "again", xor)
    finally:
        del TASKS["constant"]
    with pytest.raises(OptionError, match="must not have a colon"):
        register("my:task", "a colon", xor)


def test_unknown_tasks_and_options_are_refused_with_a_hint() -> None:
    with pytest.raises(OptionError, match=r'"cartpol" is not a task. Did you mean "cartpole"'):
        make_task("cartpol")
    with pytest.raises(OptionError, match=r'episods is not an option .* Did you mean "episodes"'):
        make_task("cartpole", episods=3)
    with pytest.raises(OptionError, match=r'"xor"\. It has none'):
        make_task("xor", bits=3)
    with pytest.raises(OptionError, match='"regression" needs the option data'):
        make_task("regression")


def test_all_faults_of_a_task_table_are_listed_at_once() -> None:
    table = {"name": "cartpole", "episodes": 0, "retest": 3, "max_steps": -1, "retests": 2}
    with pytest.raises(ConfigError) as caught:
        task_from_config(Config.from_dict({"task": table}), "file")
    keys = [fault.key for fault in caught.value.faults]
    assert keys == ["task.retest", "task.episodes", "task.max_steps"]
    with pytest.raises(ConfigError, match="needs the option data"):
        task_from_config(Config.from_dict({"task": {"name": "regression"}}), "file")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n1 / 0\n", r"own_broken\.py, line 2: ZeroDivisionError: division by zero"),
        ("import no_such_thing\n", r"own_broken\.py, line 1: No module named 'no_such_thing'"),
        ("def f(:\n", r"SyntaxError: invalid syntax \(own_broken\.py, line 1\)"),
    ],
)
def test_a_module_that_fails_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    (tmp_path / "own_broken.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=message):
        make_task("own_broken:Task")


# What a task sets in a config.


def test_a_single_output_that_pushes_both_ways_has_an_activation_with_both_signs() -> None:
    for name in ("single_pole", "pendulum", "mountain_car_continuous", "double_pole"):
        activation = Config.from_dict({"task": {"name": name}}).genome.activation
        assert (activation.default, activation.options) == ("tanh", ("tanh",))
    for name in ("cartpole", "xor", "no such task"):
        assert Config.from_dict({"task": {"name": name}}).genome == Config().genome


def test_a_config_wins_over_its_task() -> None:
    task = {"name": "regression"}
    config = Config.from_dict({"task": task, "genome": {"activation_options": ["sigmoid", "sin"]}})
    assert config.genome.activation.default == "sigmoid"
    assert config.genome.activation.mutate_rate == 0.0
    same = Config.loads(config.to_toml())
    assert same == config
    assert config.replace({"task.name": "pendulum"}).genome == config.genome


def test_a_registered_task_may_bring_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evonet.tasks.registry.TASKS", {})
    monkeypatch.setitem(TASK_DEFAULTS, "own", {})  # to be as before in the end
    entry = register("own", "a test", xor, {"neat.pop_size": 7})
    assert entry.settings == {"neat.pop_size": 7}
    assert Config.from_dict({"task": {"name": "own"}}).neat.pop_size == 7
    with pytest.raises(OptionError, match=r'pop_sice is not a setting. Did you mean "neat.pop_si'):
        register("own", "a test", xor, {"neat.pop_sice": 7})


def test_the_defaults_of_options_are_those_that_hold() -> None:
    assert TASKS["cartpole"].defaults == {
        "episodes": 5,
        "max_steps": 500,
        "retests": 100,
        "solved": 475.0,
    }
    assert TASKS["parity"].defaults == {"bits": 3, "solved": 7.8}
    assert TASKS["pendulum"].defaults["solved"] is None
    assert TASKS["regression"].defaults["targets"] is None


def test_a_line_beyond_the_reach_of_sigmoid_is_learnt() -> None:
    x = np.linspace(-3, 3, 20)[:, None]
    config = Config.from_dict({"task": {"name": "regression"}, "run": {"threads": 1}})
    task = regression(data=(x, 2 * x + 1), solved=-0.01)
    assert evonet.evolve(task, config, generations=100, seed=1).solved


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_makes_its_task(path: Path) -> None:
    config = Config.load(path)
    task = task_from_config(config)
    assert config.task["name"] == path.stem
    assert evonet.evolve(task, config, generations=1).evaluations == config.neat.pop_size


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, r"file: \[task\] has no name"),
        ({"name": 3}, "file: task.name = 3 must name a task"),
        ({"name": "cartpoll"}, 'file: task: "cartpoll" is not a task. Did you mean "cartpole"'),
        ({"name": "cartpole", "episodes": 0}, "file: task.episodes = 0 must be between 1 and"),
        ({"name": "cartpole", "solved": "x"}, 'file: task.solved = "x" must be a number'),
    ],
)
def test_faults_of_a_task_table_name_the_file(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        task_from_config(Config().replace({"task": table}), "file")


# ---- control ----


def test_fitness_is_the_mean_return_over_the_episodes() -> None:
    task = Control("pendulum", episodes=7, max_steps=30)
    network = networks(task, 5)
    returns = network.rollout("pendulum", episodes=7, seed=3, max_steps=30).returns
    mean = returns.astype(np.float64).mean(axis=1)
    assert task.evaluate(network, 3) == pytest.approx(mean, rel=1e-12)
    assert task.fitness_threshold is None


def test_episodes_that_all_begin_alike_are_played_once() -> None:
    task = Control("double_pole", max_steps=500)
    assert (task.episodes, task.retests, task.fitness_threshold) == (1, 0, 500)
    assert Control("cartpole", max_steps=90).fitness_threshold == 475
    assert Control("acrobot", solved=-200).fitness_threshold == -200


@pytest.mark.parametrize(
    "options",
    [{"episodes": 0}, {"max_steps": 1.5}, {"retests": -1}, {"retests": 1}, {"solved": "much"}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    name = next(iter(options))
    with pytest.raises(OptionError, match=f"{name} = .* must be"):
        Control("cartpole", **options)


def test_evolution_solves_cartpole() -> None:
    config = Config.load(resource_folder("configs") / "cartpole.toml")
    task = task_from_config(config)
    result = evonet.evolve(task, config, seed=1)
    assert result.solved
    assert result.best is not None
    champion = evonet.compile(result.best.genome)
    assert champion.rollout("cartpole", episodes=100, seed=12345).returns.mean() >= 475


# ---- examples ----


def test_parity_is_solved_by_nearly_all_of_a_perfect_fitness() -> None:
    assert xor().fitness_threshold == 3.9
    assert parity(bits=4).fitness_threshold == 15.6
    assert parity(bits=4, solved=15.0).fitness_threshold == 15.0


def test_parity_counts_bits() -> None:
    task = parity(bits=3)
    assert task.x.shape == (8, 3)
    assert task.y[:, 0].tolist() == [0, 1, 1, 0, 1, 0, 0, 1]
    assert task.best == 8
    assert xor().x.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    for bits in (0, 17, 2.5):
        with pytest.raises(OptionError, match=r"bits = .* must be"):
            parity(bits=bits)  # type: ignore[arg-type]


def random_examples(count: int = 50) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(1)
    return rng.normal(3, 2, (count, 3)), rng.normal(0, 1, (count, 2))


def test_regression_is_minus_the_mean_squared_error() -> None:
    x, y = random_examples()
    task = regression(data=(x, y))
    network = networks(task, 6)
    error = ((network(x) - y) ** 2).sum(axis=2).mean(axis=1)
    assert task.evaluate(network, 0) == pytest.approx(-error, rel=1e-5)
    assert task.test is None
    with pytest.raises(OptionError, match="no held-out examples"):
        task.test_scores(network)


def test_classification_is_minus_the_mean_cross_entropy() -> None:
    x, _ = random_examples()
    labels = np.array(["cat", "ant", "bee"])[np.arange(50) % 3]
    task = classification(data=(x, labels), test_fraction=0.3)
    assert task.num_outputs == 3
    network = networks(task, 6)
    scores = network(task.x).astype(np.float64)
    powers = np.exp(scores)
    share = (powers / powers.sum(axis=2, keepdims=True))[:, task.y == 1]
    assert task.evaluate(network, 0) == pytest.approx(np.log(share).mean(axis=1), rel=1e-6)
    assert task.test is not None
    assert task.test.classes == ("ant", "bee", "cat")
    answers = network(task.test.x).argmax(axis=2)
    found = task.test_scores(network)
    right = (answers == task.test.y.argmax(axis=1)).mean(axis=1)
    assert found["accuracy"] == pytest.approx(right)
    assert (found["loss"] > 0).all()


def test_a_score_does_not_depend_on_who_else_is_scored() -> None:
    x, y = random_examples()
    task = regression(data=(x, y))
    network = networks(task, 6)
    whole = task.evaluate(network, 0)
    alone = [task.evaluate(evonet.compile(_population(task)[g : g + 1]), 0) for g in range(6)]
    assert np.concatenate(alone).tobytes() == whole.tobytes()


def _population(task: Task) -> Population:
    return Population.random(
        6,
        task.num_inputs,
        task.num_outputs,
        num_nodes=task.num_outputs + 3,
        num_connections=4 * task.num_outputs + 6,
        activations=("tanh", "sigmoid"),
        seed=5,
    )


def test_held_out_examples_are_the_same_for_a_seed_and_no_others() -> None:
    x, y = random_examples()
    first, again = (regression(data=(x, y), test_fraction=0.2, split_seed=4) for _ in range(2))
    other = regression(data=(x, y), test_fraction=0.2, split_seed=5)
    assert first.test is not None
    assert again.test is not None
    assert other.test is not None
    assert len(first.test.x) == 10
    assert first.test.x.tolist() == again.test.x.tolist() != other.test.x.tolist()
    together = np.concatenate([first.x, first.test.x])
    assert sorted(together.tolist()) == sorted(x.tolist())


def test_inputs_are_standardized_by_what_is_learned_from() -> None:
    x, y = random_examples()
    x[:, 1] = 7
    task = regression(data=(x, y), test_fraction=0.5, standardize=True)
    assert abs(task.x.mean(axis=0)).max() < 1e-12
    assert task.x.std(axis=0) == pytest.approx([1, 0, 1])
    assert task.test is not None
    assert abs(task.test.x.mean(axis=0)).max() > 1e-3


@pytest.mark.parametrize("fraction", [1, 0.999, 1e-9, -0.1, "half"])
def test_a_split_with_nothing_on_one_side_is_refused(fraction: Any) -> None:
    with pytest.raises(OptionError, match="test_fraction"):
        regression(data=random_examples(), test_fraction=fraction)


def test_a_csv_file_gives_the_columns_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\ufeffa, b, c\n1, 2, 3\n\n4, 5, 6\n", encoding="utf-8")
    last = regression(data=str(path))
    assert (last.x.tolist(), last.y.tolist()) == ([[1, 2], [4, 5]], [[3], [6]])
    two = regression(data=path, targets=["a", "c"])
    assert (two.x.tolist(), two.y.tolist()) == ([[2], [5]], [[1, 3], [4, 6]])
    classes = classification(data=path, targets="b")
    assert classes.y.tolist() == [[1, 0], [0, 1]]


def test_an_npz_file_gives_its_arrays(tmp_path: Path) -> None:
    x, y = random_examples()
    np.savez(tmp_path / "table.npz", x=x, y=y)
    assert regression(data=tmp_path / "table.npz").x.tolist() == x.tolist()
    np.savez(tmp_path / "labels.npz", x=x, y=np.arange(50) % 4)
    assert classification(data=tmp_path / "labels.npz").num_outputs == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "at least one example"),
        ("a,b\n1,2\n3\n", "row 3 has 1 cell, the header has 2"),
        ("a,b\n1,2\nx,4\n", 'row 3, column "a" holds "x"'),
        ("a,b\n1,2\n3,nan\n", 'row 3, column "b" holds "nan". Expected a finite number'),
        ("a\n1\n2\n", 'the file has only one column, "a"'),
        ('a,b\n"1,2\n', "not a CSV file"),
    ],
)
def test_faulty_csv_files_say_where(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        regression(data=path)


def test_faulty_data_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("alpha,beta\n1,2\n")
    with pytest.raises(OptionError, match=r'no column "bet". Did you mean "beta"'):
        regression(data=path, targets="bet")
    with pytest.raises(OptionError, match="leaves no column"):
        regression(data=path, targets=["alpha", "beta"])
    with pytest.raises(OptionError, match="must be one column"):
        classification(data=path, targets=["alpha", "beta"])
    with pytest.raises(OptionError, match=r"must end in \.csv or \.npz"):
        regression(data="table.txt")
    with pytest.raises(OptionError, match="data = 5 must be the path"):
        regression(data=5)
    with pytest.raises(FileNotFoundError):
        regression(data=tmp_path / "none.csv")
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(FileFormatError, match="not an NPZ file"):
        regression(data=damaged)
    np.savez(tmp_path / "half.npz", x=np.ones((2, 2)))
    with pytest.raises(FileFormatError, match="the array y is missing"):
        regression(data=tmp_path / "half.npz")
    np.savez(tmp_path / "objects.npz", x=np.array([None]), y=np.ones(1))
    with pytest.raises(FileFormatError, match="not an NPZ file of plain arrays"):
        regression(data=tmp_path / "objects.npz")


def test_examples_must_fit_each_other() -> None:
    with pytest.raises(ShapeError, match=r"found \[3, 2\] and \[4\]"):
        Examples.of(np.ones((3, 2)), np.ones(4), classes=False)
    with pytest.raises(ShapeError, match="at least one example"):
        Examples.of(np.ones((0, 2)), np.ones(0), classes=False)
    with pytest.raises(ShapeError, match="one class per sample"):
        Examples.of(np.ones((3, 2)), np.ones((3, 2)), classes=True)
    with pytest.raises(ShapeError, match="at least two classes, found only 7"):
        Examples.of(np.ones((3, 2)), [7, 7, 7], classes=True)
    with pytest.raises(OptionError, match="loss='huber' is not a choice"):
        Supervised([[1.0]], [[1.0]], loss="huber")  # type: ignore[arg-type]


# ---- worlds that are stepped in Python ----


class Line:
    """Walkers on a line; an episode ends beyond `far`."""

    num_inputs = 1
    num_outputs = 1
    max_steps = 50

    def __init__(self, far: float = 3.0) -> None:
        self.far = far
        self.seeds: list[int] = []

    def reset(self, seeds: NDArray[np.int64]) -> NDArray[Any]:
        self.seeds = seeds.tolist()
        self.position = seeds % 1000 / 1000
        return self.position[:, None]

    def step(self, outputs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        self.position = self.position + outputs[:, 0]
        return self.position[:, None], outputs[:, 0], self.position > self.far


class _Constant:
    num_inputs = 2
    num_outputs = 1

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def evaluate(self, network: Network, seed: int) -> NDArray[Any]:
        return np.full(len(network), self.value)


def make_nothing() -> str:
    return "nothing"


def test_a_world_is_stepped_until_every_episode_has_ended() -> None:
    world = Line()
    task = Stepwise(world, episodes=3)
    network = networks(task, 5)
    found = task.evaluate(network, 9)
    assert len(set(world.seeds)) == 3
    assert world.seeds == world.seeds[:3] * 5
    start = np.array(world.seeds[:3]) % 1000 / 1000
    for genome in range(5):
        returns = []
        for position in start:
            total = 0.0
            for _ in range(50):
                move = float(network([[position]])[genome, 0, 0])
                position, total = position + move, total + move
                if position > 3:
                    break
            returns.append(total)
        assert found[genome] == pytest.approx(np.mean(returns), rel=1e-4)


def test_a_world_that_gives_wrong_shapes_is_blamed() -> None:
    class Wrong(Line):
        def step(self, outputs: NDArray[Any]) -> Any:
            seen, reward, ended = super().step(outputs)
            return seen, reward[:-1], ended

    task = Stepwise(Wrong())
    with pytest.raises(ShapeError, match=r"step\(\) of the world .* \[5\], found \[4\]"):
        task.evaluate(networks(task, 5), 0)
    with pytest.raises(OptionError, match="is not a world, which has num_inputs"):
        Stepwise("line")  # type: ignore[arg-type]


def test_a_custom_class_is_a_task_by_its_name() -> None:
    task = make_task("tests.tasks.test_tasks:Line", far=9.0, episodes=2, solved=1.0)
    assert isinstance(task, Stepwise)
    assert (task.episodes, task.fitness_threshold) == (2, 1.0)
    assert isinstance(task.world, Line)
    assert task.world.far == 9
    constant = make_task("tests.tasks.test_tasks:_Constant", value=2.0)
    assert constant.evaluate(networks(constant, 1), 0).tolist() == [2.0]
    with pytest.raises(OptionError, match=r'fax is not an option .* Did you mean "far"'):
        make_task("tests.tasks.test_tasks:Line", fax=3)
    with pytest.raises(OptionError, match="has no class or function 'Lin'"):
        make_task("tests.tasks.test_tasks:Lin")
    with pytest.raises(OptionError, match="cannot be imported"):
        make_task("no_such_module:Line")
    for name in (":", ":Line", "..test_tasks:Line", "tests.tasks.test_tasks:", "a b:c"):
        with pytest.raises(OptionError, match='must have the form "module:Class"'):
            make_task(name)
    with pytest.raises(OptionError, match="made a str, which is not a task"):
        make_task("tests.tasks.test_tasks:make_nothing")


@pytest.mark.parametrize("data", [None, "nowhere.csv"])
def test_all_faults_of_a_task_without_data_are_listed(data: str | None) -> None:
    table = {"name": "classification", "test_fraction": 7, "standardize": 3, "foo": 1}
    if data is not None:
        table["data"] = data
    with pytest.raises(ConfigError) as caught:
        task_from_config(Config.from_dict({"task": table}))
    said = str(caught.value)
    for words in (
        "task.foo is not an option",
        "task.test_fraction = 7 must be between 0 and 1",
        "task.standardize = 3 must be true or false",
        "needs the option data" if data is None else "nowhere.csv: there is no such file",
    ):
        assert words in said
