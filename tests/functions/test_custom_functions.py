"""Custom functions everywhere: the registry, all backends, configs, files, commands."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import evonet
from evonet import (
    CheckpointError,
    Config,
    ConfigError,
    ExpressionError,
    FileFormatError,
    OptionError,
    Population,
    UnknownFunctionError,
    _native,
)
from evonet.backends.base import Episodes
from evonet.evolution.checkpoint import save_checkpoint
from evonet.functions.registry import ACTIVATION_IDS, ACTIVATION_TABLE, OWN, activation_id
from evonet.installation import resource_folder
from evonet.schedule import build_schedule
from evonet.tasks import xor
from tests.support.cli_runs import CommandLine
from tests.support.cuda_runs import SMALL, TINY, run_forward, run_rollout
from tests.support.isolation import remove_custom_functions

SWISH = "x / (1 + exp(-x))"
ACTIVATION_TEXTS = {
    "swish": SWISH,
    "step": "1 if 0 < x <= 1 and not x == 0.5 or x > 5 else -0.002 * x",
    "waves": "sin(x) + cos(x) * tanh(x)",
    "logs": "log(abs(x)) - floor(x) + sqrt(x * x)",
    "steep": "x ** -3",
    "between": "clip(min(x, 1, -x), -1, max(x, 0.1))",
}
AGGREGATION_TEXTS = {
    "norm": "sqrt(sum(x * x))",
    "variance": "sum((x - mean(x)) ** 2) / count",
    "softmax": "max(x) + log(sum(exp(x - max(x))))",
    "range": "max(x) - min(x)",
    "odd": "product(x) + sum(1) * count",
}
TOML = """
[task]
name = "xor"

[functions.activations]
swish = "x/(1+exp(-x))"

[functions.aggregations]
norm = "sqrt(sum(x * x))"

[genome]
activation_default = "swish"
activation_options = ["swish", "tanh"]
activation_mutate_rate = 0.2
aggregation_default = "random"
aggregation_options = ["norm", "sum"]
aggregation_mutate_rate = 0.2

[neat]
pop_size = 40
fitness_threshold = 99.0

[run]
generations = 4
"""
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])


@pytest.fixture
def registered() -> None:
    for name, text in ACTIVATION_TEXTS.items():
        evonet.register_activation(name, text)
    for name, text in AGGREGATION_TEXTS.items():
        evonet.register_aggregation(name, text)


def mixed(count: int = 12, dtype: Any = np.float32, **options: Any) -> Population:
    """Networks of built-in and custom functions."""
    return Population.random(
        count,
        4,
        2,
        num_nodes=options.pop("num_nodes", 14),
        num_connections=options.pop("num_connections", 40),
        activations=options.pop("activations", (*ACTIVATION_TEXTS, "tanh")),
        aggregations=options.pop("aggregations", (*AGGREGATION_TEXTS, "sum", "median")),
        dtype=dtype,
        seed=1,
        **options,
    )


def samples(count: int, dtype: Any = np.float32) -> NDArray[Any]:
    return np.random.default_rng(count).normal(size=(count, 4)).astype(dtype)


def same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    return bool((a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")).all())


# ---- the registry ----


def test_a_registered_function_is_known_everywhere() -> None:
    evonet.register_activation("swish", SWISH)
    number = activation_id("swish")
    assert number >= ACTIVATION_TABLE.num_builtin
    assert ACTIVATION_TABLE[number].formula == SWISH
    population = Population.from_genes(1, 1, [([(0, 0.5, 1.0, "swish")], [(-1, 0, 2.0)])])
    assert population[0].nodes[0].activation == "swish"
    assert "swish" in str(population[0])
    y = evonet.compile(population)(np.array([[0.25]]))
    assert y.item() == pytest.approx(1 / (1 + math.exp(-1)))


def test_a_node_without_links_gets_0() -> None:
    evonet.register_aggregation("one", "count + 1")
    evonet.register_activation("shift", "x + 3")
    population = Population.from_genes(1, 1, [([(0, 0.0, 1.0, "shift", "one")], [])])
    for backend in ("cpu", "reference"):
        assert evonet.compile(population, backend=backend)(np.ones((1, 1))).item() == 3.0
    assert run_forward(build_schedule(population), np.ones((1, 1), np.float32)).item() == 3.0


def test_registering_the_same_again_changes_nothing() -> None:
    evonet.register_activation("swish", SWISH)
    number, count = activation_id("swish"), len(ACTIVATION_TABLE)
    evonet.register_activation("swish", " x/( 1+exp(-x))")
    evonet.register_activation("swish", lambda x: x / (1 + math.exp(-x)))
    assert (activation_id("swish"), len(ACTIVATION_TABLE)) == (number, count)


def test_a_name_stands_for_one_thing() -> None:
    evonet.register_activation("swish", SWISH)
    with pytest.raises(OptionError, match=r"swish stands for already, x / .*unregister_activation"):
        evonet.register_activation("swish", "x")
    with pytest.raises(OptionError, match="tanh is built in"):
        evonet.register_activation("tanh", "x")
    evonet.register_aggregation("swish", "sum(x)")  # another kind, another name


@pytest.mark.parametrize("name", ["", "a b", "1a", "_a", "random", "none", "x" * 41, "é", None, 3])
def test_names_are_words(name: Any) -> None:
    with pytest.raises(OptionError, match="no name for a function"):
        evonet.register_activation(name, "x")


def test_an_error_says_which_call_and_points_at_the_character() -> None:
    with pytest.raises(ExpressionError) as caught:
        evonet.register_activation("f", "x.real")
    assert str(caught.value) == (
        'register_activation("f", ...): x.real is not allowed here.\n  x.real\n   ^'
    )
    assert "f" not in ACTIVATION_IDS


def test_what_was_made_of_a_function_outlives_its_name() -> None:
    evonet.register_activation("f", "x + 1")
    population = Population.from_genes(1, 1, [([(0, 0.0, 1.0, "f")], [(-1, 0, 1.0)])])
    network = evonet.compile(population)
    evonet.unregister_activation("f")
    evonet.register_activation("f", "x + 2")
    other = Population.from_genes(1, 1, [([(0, 0.0, 1.0, "f")], [(-1, 0, 1.0)])])
    x = np.ones((1, 1))
    assert network(x).item() == 2.0
    assert evonet.compile(population)(x).item() == 2.0
    assert evonet.compile(other)(x).item() == 3.0
    with pytest.raises(OptionError, match=r'two activations "f", x \+ 1 and x \+ 2'):
        Population.concatenate([population, other]).save("nowhere")


def test_names_can_be_given_up_once() -> None:
    evonet.register_activation("f", "x")
    evonet.unregister_activation("f")
    with pytest.raises(UnknownFunctionError):
        activation_id("f")
    with pytest.raises(OptionError, match=r'"f" is not a custom activation\. There is none'):
        evonet.unregister_activation("f")
    with pytest.raises(OptionError, match='"sum" is not a custom aggregation'):
        evonet.unregister_aggregation("sum")


def test_ids_run_out_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from evonet.functions import table as function_table

    monkeypatch.setattr(function_table, "NUM_IDS", len(ACTIVATION_TABLE))
    with pytest.raises(OptionError, match="no room for more"):
        evonet.register_activation("g", "x + 12345")


def test_threads_may_register_at_the_same_time() -> None:
    faults: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(6):
                evonet.register_activation(f"thread{i}", f"x + {i} / 7")
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    numbers = [activation_id(f"thread{i}") for i in range(6)]
    assert len(set(numbers)) == 6
    assert [ACTIVATION_TABLE[n].formula for n in numbers] == [f"x + {i} / 7" for i in range(6)]


# ---- equal bits on every backend ----


@each_dtype
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("count", [1, 3, 4, 13, 64, 200])
def test_cpu_and_reference_have_equal_bits(
    count: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    population, x = mixed(dtype=dtype), samples(count, dtype)
    wanted = evonet.compile(population, backend="reference")(x)
    for simd in _native.simd_levels():
        monkeypatch.setenv("EVONET_SIMD", simd)
        assert same(evonet.compile(population, backend="cpu")(x), wanted), simd


@each_dtype
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
@pytest.mark.parametrize("mapping", ["levels", "samples"])
def test_simt_executed_kernels_have_the_bits_of_the_cpu(
    mapping: str, limits: Any, dtype: Any
) -> None:
    population, x = mixed(dtype=dtype), samples(37, dtype)
    wanted = evonet.compile(population, backend="cpu")(x)
    found = run_forward(build_schedule(population), x, mapping, limits=limits)
    assert same(found, wanted)


@each_dtype
@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("aggregations", [("sum",), (*AGGREGATION_TEXTS, "sum")])
@pytest.mark.parametrize("episodes", [1, 3, 40])
def test_rollouts_have_equal_bits(
    episodes: int, aggregations: tuple[str, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = mixed(70, dtype, aggregations=aggregations)
    options: dict[str, Any] = {"episodes": episodes, "max_steps": 30, "seed": 3}
    few = population[:9]
    wanted = evonet.compile(few, backend="reference").rollout("cartpole", **options)
    for simd in _native.simd_levels():
        monkeypatch.setenv("EVONET_SIMD", simd)
        found = evonet.compile(population, backend="cpu").rollout("cartpole", **options)
        assert same(found.returns[:9], wanted.returns), simd
        assert (found.steps[:9] == wanted.steps).all(), simd
    if episodes == 3:
        chosen = Episodes("cartpole", 3, 30, 3)
        on_gpu = run_rollout(build_schedule(few), chosen, range(9))
        assert same(on_gpu.returns, wanted.returns)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("kind", ["recurrent", "ctrnn", "izhikevich"])
def test_networks_with_memory_have_equal_bits(kind: Any) -> None:
    population = mixed(feed_forward=False)
    x = samples(20)
    found, wanted = (
        evonet.compile(population, kind=kind, backend=backend, steps=3)(x)
        for backend in ("cpu", "reference")
    )
    assert same(found, wanted)


def test_the_whole_gpu_backend_knows_custom_functions(
    imaginary_gpus: Callable[..., Any],
) -> None:
    evonet.register_activation("swish", SWISH)
    evonet.register_aggregation("norm", AGGREGATION_TEXTS["norm"])
    population = mixed(activations=("swish", "tanh"), aggregations=("norm", "sum"))
    x, targets = samples(9), np.ones((9, 2), np.float32)
    cpu = evonet.compile(population, backend="cpu")
    imaginary_gpus()
    network = evonet.compile(population, backend="cuda")
    assert network.backend == "cuda"
    assert same(network(x), cpu(x))
    assert same(network.loss(x, targets), cpu.loss(x, targets))
    played = network.rollout("cartpole", episodes=2, max_steps=9)
    assert same(played.returns, cpu.rollout("cartpole", episodes=2, max_steps=9).returns)


def test_functions_that_come_and_go_do_not_compile_kernels_anew() -> None:
    from evonet.backends.cuda.compiler import custom_functions

    for name in ("a1", "a2", "a3"):
        evonet.register_activation(name, f"x * {name[1]} + 99")
    ids = {name: f"a{activation_id(name)}" for name in ("a1", "a2", "a3")}

    def used(*names: str) -> str:
        return custom_functions(build_schedule(mixed(activations=names, aggregations=("sum",))))

    assert used("tanh") == ""
    assert used("a1", "a2") == f"{ids['a1']}_{ids['a2']}"
    assert used("a2") == f"{ids['a1']}_{ids['a2']}"
    assert used("a2", "a3") == "_".join(ids.values())
    assert used("a1") == "_".join(ids.values())


@pytest.mark.usefixtures("registered")
def test_more_activations_than_an_ensemble_has_bits() -> None:
    names = [f"many{i}" for i in range(60)]
    for i, name in enumerate(names):
        evonet.register_activation(name, f"tanh(x + {i})")
    assert activation_id(names[-1]) >= 64
    population = mixed(80, activations=names, aggregations=("sum",))
    found = evonet.compile(population).rollout("cartpole", max_steps=20)
    few = evonet.compile(population[:9], backend="reference").rollout("cartpole", max_steps=20)
    assert same(found.returns[:9], few.returns)


# ---- configs ----


def test_a_gene_has_as_many_options_as_kernels_have_room_for() -> None:
    names = [f"option{i}" for i in range(33)]
    for i, name in enumerate(names):
        evonet.register_activation(name, f"tanh(x + {i})")
    tables: dict[str, Any] = {"genome": {"activation_default": "random"}}
    tables["genome"]["activation_options"] = names[:32]
    evonet.NEAT(Config.from_dict(tables), num_inputs=2, num_outputs=1).ask()
    tables["genome"]["activation_options"] = names
    with pytest.raises(ConfigError, match="must not have more than 32 names"):
        Config.from_dict(tables)


def test_a_config_brings_its_functions_along() -> None:
    config = Config.loads(TOML)
    assert activation_id("swish") >= ACTIVATION_TABLE.num_builtin
    assert config.to_dict()["functions"] == {
        "activations": {"swish": SWISH},
        "aggregations": {"norm": "sqrt(sum(x * x))"},
    }
    assert Config.loads(config.to_toml()) == config
    assert Config.loads(config.to_toml()).digest() == config.digest()
    assert config.replace({"neat.pop_size": 9}).functions == config.functions


def test_a_config_writes_out_what_was_registered_elsewhere() -> None:
    evonet.register_activation("swish", SWISH)
    config = Config.from_dict({"genome": {"activation_options": ["swish", "sigmoid"]}})
    assert config.functions["activations"]["swish"] == SWISH
    evonet.unregister_activation("swish")
    assert Config.loads(config.to_toml()) == config


def test_a_config_without_functions_of_ones_own_has_the_digest_that_it_had() -> None:
    config = Config.load(resource_folder("configs") / "xor.toml")
    assert "functions" not in config.to_dict()
    changed = config.replace({"functions.activations.f": "x"})
    assert changed.digest() != config.digest()


def test_an_ini_file_knows_what_is_registered() -> None:
    text = (resource_folder("configs") / "xor-neat.ini").read_text()
    text = text.replace("activation_options      = sigmoid", "activation_options = sigmoid swish")
    assert "swish" in text
    with pytest.raises(ConfigError, match="swish"):
        Config.loads(text, "ini")
    evonet.register_activation("swish", SWISH)
    assert "swish" in Config.loads(text, "ini").genome.activation.options


def test_all_faults_of_a_config_are_named_and_nothing_stays_registered() -> None:
    text = TOML.replace("exp(-x)", "exq(-x)").replace("[run]", "[run]\nseeed = 3")
    with pytest.raises(ConfigError) as caught:
        Config.loads(text)
    found = str(caught.value)
    assert 'functions.activations.swish = "x/(1+exq(-x))", at character 6: exq is not' in found
    assert "run.seeed is not a setting" in found
    assert all(line.startswith("config: ") for line in found.split("\n"))
    assert "swish" not in ACTIVATION_IDS
    assert "norm" not in OWN["aggregations"].ids
    Config.loads(TOML)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"functions": 3}, "functions = 3 must be a table"),
        ({"functions": {"losses": {}}}, "functions.losses is not a kind of function"),
        ({"functions": {"activations": "x"}}, "functions.activations = .* must be a table"),
        ({"functions": {"activations": {"f": 3}}}, "functions.activations.f = 3 must be a text"),
        ({"functions": {"activations": {"a b": "x"}}}, "no name for a function"),
        ({"functions": {"activations": {"tanh": "x"}}}, "tanh is built in"),
    ],
)
def test_tables_that_make_no_sense_are_named(tables: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Config.from_dict(tables)


def test_evolution_means_the_functions_of_its_config() -> None:
    config = Config.loads(TOML)
    remove_custom_functions()
    evonet.register_activation("swish", "x * 0")
    result = evonet.evolve(xor(), config)
    used = {
        ACTIVATION_TABLE[i].formula for i in result.algorithm.state.population.activation.tolist()
    }
    assert SWISH in used
    assert "x * 0" not in used


def test_all_backends_evolve_the_same() -> None:
    config = Config.loads(TOML)
    runs = [evonet.evolve(xor(), config, backend=backend) for backend in ("cpu", "reference")]
    assert runs[0].best.genome == runs[1].best.genome
    assert runs[0].best.fitness == runs[1].best.fitness


# ---- files ----


@pytest.mark.usefixtures("registered")
def test_a_population_file_brings_its_functions_along(tmp_path: Path) -> None:
    population = mixed(activations=("step", "swish"), aggregations=("norm", "sum"))
    path, again = tmp_path / "a", tmp_path / "b"
    population.save(path)
    remove_custom_functions()
    # Other names before, in another order: ids of the file are not those of the process.
    evonet.register_activation("unrelated", "x + 5")
    loaded = Population.load(path)
    assert loaded == population
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert "waves" not in ACTIVATION_IDS


def test_a_file_and_a_name_that_stands_for_something_else(tmp_path: Path) -> None:
    evonet.register_activation("f", "x + 1")
    population = mixed(activations=("f",), aggregations=("sum",))
    population.save(tmp_path / "a")
    evonet.save_champion(tmp_path / "c.json", population[:1])
    evonet.unregister_activation("f")
    evonet.register_activation("f", "x + 2")
    for load in (
        lambda: Population.load(tmp_path / "a"),
        lambda: evonet.load_champion(tmp_path / "c.json"),
    ):
        with pytest.raises(FileFormatError, match=r"f stands for already, x \+ 2"):
            load()
    evonet.unregister_activation("f")
    assert Population.load(tmp_path / "a") == population
    assert evonet.load_champion(tmp_path / "c.json") == population[:1]


def test_a_champion_brings_its_functions_along(tmp_path: Path) -> None:
    evonet.register_activation("swish", SWISH)
    evonet.register_aggregation("norm", AGGREGATION_TEXTS["norm"])
    champion = mixed(1, activations=("swish",), aggregations=("norm",))
    evonet.save_champion(tmp_path / "c.json", champion)
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["functions"] == {
        "activations": {"swish": SWISH},
        "aggregations": {"norm": "sqrt(sum(x * x))"},
    }
    remove_custom_functions()
    assert evonet.load_champion(tmp_path / "c.json") == champion


@pytest.mark.parametrize(
    "text", ["__import__('os')", "trap()", "x.real", "", "x" * 5000, 3, None, ["x"]]
)
def test_a_file_with_a_hostile_expression_is_refused(text: Any, tmp_path: Path) -> None:
    evonet.register_activation("swish", SWISH)
    path = tmp_path / "c.json"
    evonet.save_champion(path, mixed(1, activations=("swish",), aggregations=("sum",)))
    document = json.loads(path.read_text())
    del document["sha256"]
    document["functions"]["activations"]["swish"] = text
    path.write_text(json.dumps(document))
    remove_custom_functions()
    with pytest.raises(FileFormatError, match="functions"):
        evonet.load_champion(path)
    assert "swish" not in ACTIVATION_IDS


def test_a_damaged_file_leaves_no_names_behind(tmp_path: Path) -> None:
    evonet.register_activation("swish", SWISH)
    path = tmp_path / "c.json"
    evonet.save_champion(path, mixed(1, activations=("swish",), aggregations=("sum",)))
    document = json.loads(path.read_text())
    del document["sha256"]
    document["nodes"][0]["aggregation"] = "nonsense"
    path.write_text(json.dumps(document))
    remove_custom_functions()
    with pytest.raises(FileFormatError, match="nonsense"):
        evonet.load_champion(path)
    assert "swish" not in ACTIVATION_IDS


def test_a_run_goes_on_in_a_process_that_knows_no_function(tmp_path: Path) -> None:
    config = Config.loads(TOML)
    whole = evonet.evolve(xor(), config, generations=6)
    half = evonet.evolve(xor(), config, generations=3)
    save_checkpoint(half.algorithm, tmp_path)
    remove_custom_functions()
    result = evonet.evolve(xor(), resume=tmp_path, generations=6)
    assert result.algorithm.config == config
    assert result.best.genome == whole.best.genome
    assert result.algorithm.state.population == whole.algorithm.state.population


def test_a_checkpoint_refuses_another_meaning(tmp_path: Path) -> None:
    save_checkpoint(evonet.evolve(xor(), Config.loads(TOML), generations=2).algorithm, tmp_path)
    remove_custom_functions()
    evonet.register_activation("swish", "x")
    with pytest.raises(CheckpointError, match="swish stands for already"):
        evonet.NEAT.resume(tmp_path)
    remove_custom_functions()
    other = Config.loads(TOML.replace("x/(1+exp(-x))", "x"))
    remove_custom_functions()
    with pytest.raises(CheckpointError, match=r"functions\.activations"):
        evonet.NEAT.resume(tmp_path, other)


# ---- commands ----


@pytest.fixture
def command_line(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


def test_a_run_from_the_command_line(command_line: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TOML)
    outcome = command_line("evolve", path, "--quiet", "--out", tmp_path / "run")
    assert outcome.status == 0, outcome.err
    remove_custom_functions()
    shown = command_line("inspect", tmp_path / "run")
    assert shown.status == 0, shown.err
    for name, text in (("swish", SWISH), ("norm", "sqrt(sum(x * x))")):
        assert (f"{name}(x) = {text}" in shown.out) == (f"{name}(" in shown.out)
    assert "(x) = " in shown.out
    assert "swish" in (tmp_path / "run" / "report.html").read_text()
