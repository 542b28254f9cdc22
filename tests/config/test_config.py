"""A config is read, changed, written and named; and what is written reads the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.config import (
    ChoiceGene,
    Config,
    FloatGene,
    GenomeTable,
    InitialConnection,
    NeatTable,
    ReproductionTable,
    RunTable,
)
from evonet.config.config import EVOLUTION, TABLES
from evonet.config.genome import ConnectionRule
from evonet.config.rules import (
    Flag,
    FunctionName,
    FunctionNames,
    InitType,
    Maybe,
    OneOf,
    Or,
    Real,
    Rule,
    Spelled,
    Whole,
)
from evonet.config.schema import settings
from evonet.config.task import FrozenTable
from evonet.config.workers import Place, Text, Texts
from evonet.errors import ConfigError
from evonet.functions.registry import ACTIVATION_IDS
from evonet.installation import resource_folder
from tests.support import strategies as _profile  # noqa: F401 - no deadlines

XOR = resource_folder("configs") / "xor.toml"


# ---- drawing configs -----------------------------------------------------------------------------


def values(rule: Rule[Any]) -> st.SearchStrategy[Any]:
    """Draws what a rule accepts, in canonical form."""
    if isinstance(rule, Whole):
        return st.integers(rule.least, rule.most)
    if isinstance(rule, Real):
        least = rule.least if rule.above is None else rule.above
        beyond = rule.above is not None
        return st.floats(
            least, rule.most, allow_nan=False, allow_infinity=False, exclude_min=beyond
        )
    if isinstance(rule, Flag):
        return st.booleans()
    if isinstance(rule, OneOf):
        return st.sampled_from(rule.words)
    if isinstance(rule, Spelled):
        return st.sampled_from([*rule.values.values()])
    if isinstance(rule, Maybe):
        return st.none() | values(rule.rule)
    if isinstance(rule, Or):
        return st.sampled_from([*rule.words.values()]) | values(rule.rule)
    if isinstance(rule, FunctionNames):
        names = st.sampled_from(sorted(rule.known))
        return st.lists(names, min_size=1, max_size=5).map(tuple)
    if isinstance(rule, FunctionName):
        return st.sampled_from([*rule.known, "random"])
    if isinstance(rule, InitType):
        return st.sampled_from(["gaussian", "uniform"])
    if isinstance(rule, Place):
        return st.sampled_from(["processes", "ray", "ray://head:10001"])
    if isinstance(rule, Text | Texts):
        text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"))
        return text if isinstance(rule, Text) else st.lists(text, max_size=3).map(tuple)
    assert isinstance(rule, ConnectionRule), f"No strategy draws for {type(rule).__name__}"
    plain = ["unconnected", "fs_neat", "fs_neat_nohidden", "fs_neat_hidden"]
    plain += ["full", "full_nodirect", "full_direct"]
    partial = st.sampled_from(["partial", "partial_nodirect", "partial_direct"])
    return st.sampled_from(plain) | st.builds(
        lambda kind, fraction: f"{kind} {fraction!r}", partial, st.floats(0.0, 1.0)
    )


TOML_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Draws the tables of a valid config, with every setting in it."""
    drawn = {name: draw(values(own.rule)) for name, own in settings(Config).items()}
    for low in [name for name in drawn if name.endswith(("_min_value", "threshold_min"))]:
        high = low.replace("_min", "_max")
        drawn[low], drawn[high] = sorted([drawn[low], drawn[high]])
    for gene in ("genome.activation", "genome.aggregation"):
        if drawn[f"{gene}_default"] != "random":
            drawn[f"{gene}_options"] += (drawn[f"{gene}_default"],)
    drawn["neat.pop_size"] = max(
        drawn["neat.pop_size"],
        drawn["reproduction.elitism"],
        drawn["reproduction.min_species_size"],
        drawn["speciation.target_num_species"] or 1,
    )
    kind = drawn["network.kind"]
    if kind == "feedforward":
        drawn["genome.feed_forward"] = True
    feed_forward = drawn["genome.feed_forward"]
    without_memory = kind == "feedforward" or (kind == "auto" and feed_forward)
    if kind not in ("auto", "recurrent") or feed_forward:
        drawn["network.propagation"] = "next-step"
    if kind not in ("ctrnn", "izhikevich"):
        drawn["network.time_step"] = "default"
    if without_memory:
        drawn["network.steps"] = 1
    found: dict[str, dict[str, Any]] = {"task": {}}
    for name, value in drawn.items():
        table, _, key = name.partition(".")
        found.setdefault(table, {})[key] = value
    return found


# ---- reading -------------------------------------------------------------------------------------


def test_an_empty_file_has_all_defaults() -> None:
    config = Config.loads("")
    assert config == Config()
    assert config.genome.num_inputs is None
    assert config.genome.num_outputs is None
    assert config.neat.fitness_threshold is None
    assert (config.run.generations, config.run.seed) == (300, 0)
    assert (config.run.backend, config.run.threads) == ("auto", 0)


def test_defaults_are_those_of_the_xor_example() -> None:
    xor = Config.load(XOR)
    changes = {"genome.num_inputs": 2, "genome.num_outputs": 1, "neat.fitness_threshold": 3.9}
    assert Config().replace(changes, **{"task.name": "xor"}) == xor


def test_the_xor_file_says_what_neat_python_says() -> None:
    config = Config.load(XOR)
    assert config.task["name"] == "xor"
    assert (config.neat.pop_size, config.neat.fitness_threshold) == (150, 3.9)
    genome = config.genome
    assert (genome.num_inputs, genome.num_outputs, genome.num_hidden) == (2, 1, 0)
    assert genome.initial_connection == InitialConnection("full")
    assert (genome.conn_add_prob, genome.conn_delete_prob) == (0.5, 0.5)
    assert (genome.node_add_prob, genome.node_delete_prob) == (0.2, 0.2)
    assert genome.activation.options == ("sigmoid",)
    assert genome.bias == FloatGene(0.0, 1.0, "gaussian", 0.1, 0.7, 0.5, 30.0, -30.0)
    assert genome.weight == FloatGene(0.0, 1.0, "gaussian", 0.1, 0.8, 0.5, 30.0, -30.0)
    assert genome.response == FloatGene(1.0, 0.0, "gaussian", 0.0, 0.0, 0.0, 30.0, -30.0)
    assert genome.time_constant == FloatGene(1.0, 0.0, "gaussian", 0.0, 0.0, 0.0, 10.0, 0.01)
    assert config.speciation.threshold == 3.0
    assert config.stagnation.species_fitness_func == "max"
    assert (config.stagnation.max_stagnation, config.stagnation.species_elitism) == (20, 2)
    assert (config.reproduction.elitism, config.reproduction.survival_threshold) == (2, 0.2)


def test_every_rule_is_a_setting_and_every_setting_has_a_rule() -> None:
    names = list(settings(Config))
    assert len(names) == len(set(names)) == 113
    assert names[:4] == ["run.generations", "run.minutes", "run.patience", "run.seed"]
    assert names[4:6] == ["run.backend", "run.threads"]
    assert names[6:9] == ["run.algorithm", "run.on_bad_fitness", "workers.where"]
    assert "genome.time_constant_init_stdev" in names
    assert "genome.enabled_rate_to_true_add" in names


@pytest.mark.parametrize("key", ["init_stdev", "mutate_power", "replace_rate", "mutate_rate"])
def test_whole_numbers_serve_as_reals(key: str) -> None:
    config = Config.loads(f"[genome]\nweight_{key} = 1")
    value = getattr(config.genome.weight, key)
    assert value == 1.0
    assert isinstance(value, float)


def test_rates_may_exceed_one_together() -> None:
    weight = Config.loads("[genome]\nweight_mutate_rate = 1\nweight_replace_rate = 1").genome.weight
    assert weight.mutate_rate + weight.replace_rate == 2.0


@pytest.mark.parametrize(
    ("text", "kind", "fraction"),
    [
        ("full", "full", None),
        ("unconnected", "unconnected", None),
        ("fs_neat_hidden", "fs_neat_hidden", None),
        ("partial 0.5", "partial", 0.5),
        ("partial_nodirect 0", "partial_nodirect", 0.0),
        ("partial_direct  1e-3", "partial_direct", 0.001),
    ],
)
def test_the_initial_connection_is_a_kind_and_a_fraction(
    text: str, kind: str, fraction: float | None
) -> None:
    connection = Config().replace({"genome.initial_connection": text}).genome.initial_connection
    assert (connection.kind, connection.fraction) == (kind, fraction)
    assert str(connection).split()[0] == kind


@pytest.mark.parametrize(
    ("spelling", "meaning"),
    [("true", True), ("false", False), ('"random"', "random"), ('"None"', "random")],
)
def test_the_enabled_flag_may_begin_at_random(spelling: str, meaning: object) -> None:
    assert Config.loads(f"[genome]\nenabled_default = {spelling}").genome.enabled.default == meaning


def test_excess_genes_cost_what_disjoint_ones_do_unless_told_otherwise() -> None:
    config = Config().replace({"genome.compatibility_disjoint_coefficient": 0.75})
    assert config.genome.compatibility_excess_coefficient == "auto"
    assert config.genome.excess_coefficient == 0.75
    changed = config.replace({"genome.compatibility_excess_coefficient": 2})
    assert changed.genome.excess_coefficient == 2.0


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(
    ("surer", "word", "meaning"),
    [(True, "true", True), (False, "false", False), ("default", "default", None)],
)
def test_surer_mutation_follows_single_mutation_by_default(
    single: bool, surer: object, word: str, meaning: bool | None
) -> None:
    config = Config().replace(
        {
            "genome.single_structural_mutation": single,
            "genome.structural_mutation_surer": surer,
        }
    )
    assert config.genome.structural_mutation_surer == word
    assert config.genome.surer is (single if meaning is None else meaning)


def test_a_repeated_option_stays_repeated() -> None:
    config = Config.loads('[genome]\nactivation_options = ["sigmoid", "tanh", "tanh"]')
    assert config.genome.activation.options == ("sigmoid", "tanh", "tanh")


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.toml", "A.TOML", "a.txt", "a.config"])
def test_toml_is_told_by_its_ending_or_its_tables(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(XOR.read_bytes())
    assert Config.load(path) == Config.load(str(path)) == Config.load(XOR)


@pytest.mark.parametrize("name", ["a.ini", "a.cfg", "a", "config-feedforward", "a.txt", "a.conf"])
def test_ini_is_told_by_its_ending_or_its_sections(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes((resource_folder("configs") / "forward-neat.ini").read_bytes())
    assert Config.load(path).neat.pop_size == 2


@pytest.mark.parametrize("form", ["toml", "ini"])
def test_a_mark_at_the_beginning_and_line_ends_do_not_matter(tmp_path: Path, form: str) -> None:
    original = XOR if form == "toml" else resource_folder("configs") / "forward-neat.ini"
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"\xef\xbb\xbf" + original.read_bytes().replace(b"\n", b"\r\n"))
    assert Config.load(path) == Config.load(original)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Config.load(tmp_path / "none.toml")


# ---- writing -------------------------------------------------------------------------------------


@given(tables(), st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), TOML_VALUES))
def test_what_is_written_reads_the_same(drawn: dict[str, Any], task: dict[str, Any]) -> None:
    config = Config.from_dict({**drawn, "task": task})
    text = config.to_toml()
    again = Config.loads(text)
    assert again == config
    assert hash(again) == hash(config)
    assert again.to_toml() == text
    assert again.digest() == config.digest()
    assert Config.from_dict(config.to_dict()) == config


@given(tables())
def test_what_is_read_is_what_was_said(drawn: dict[str, Any]) -> None:
    config = Config.from_dict(drawn)
    back = config.to_dict()
    for table, entries in drawn.items():
        for key, value in entries.items():
            found = back[table].get(key)
            assert found == (list(value) if isinstance(value, tuple) else value), (table, key)


def test_plain_tables_are_given_out_for_changing() -> None:
    config = Config.loads("[task]\nname = 'x'\nlist = [[1], {a = 2}]")
    copied: Any = config.to_dict()
    assert copied["task"] == {"name": "x", "list": [[1], {"a": 2}]}
    assert tomllib.loads(config.to_toml()) == copied
    copied["task"]["list"][1]["a"] = 3
    copied["genome"]["activation_options"].append("tanh")
    assert config == Config.loads("[task]\nname = 'x'\nlist = [[1], {a = 2}]")


def test_floats_are_written_so_that_no_bit_is_lost() -> None:
    value = 0.1 + 0.2
    text = Config().replace({"speciation.threshold": value}).to_toml()
    assert "threshold = 0.30000000000000004\n" in text


# ---- the task ------------------------------------------------------------------------------------


def test_the_task_cannot_be_changed() -> None:
    task: Any = Config.loads("[task]\na = 1\nb = {c = [1, 2]}").task
    assert dict(task) == {"a": 1, "b": {"c": (1, 2)}}
    with pytest.raises(TypeError):
        task["a"] = 2
    with pytest.raises(TypeError):
        task["b"]["c"] = 2
    assert repr(task) == "FrozenTable({'a': 1, 'b': FrozenTable({'c': (1, 2)})})"


def test_a_plain_dict_as_task_is_copied() -> None:
    mine: Any = {"a": [1]}
    config = Config(task=mine)
    mine["a"].append(2)
    assert config.task == FrozenTable({"a": (1,)})


def test_numpy_numbers_in_a_task_become_plain() -> None:
    config = Config(task={"x": np.float64(0.5)})
    assert Config.loads(config.to_toml()) == config


# ---- changing ------------------------------------------------------------------------------------


def test_settings_are_replaced_by_the_names_that_files_have_for_them() -> None:
    config = Config().replace({"neat.pop_size": 500}, **{"genome.bias_mutate_rate": 0.25})
    assert config.neat.pop_size == 500
    assert config.genome.bias.mutate_rate == 0.25
    assert config.replace({"neat.pop_size": 150, "genome.bias_mutate_rate": 0.7}) == Config()


def test_a_setting_can_be_unset() -> None:
    config = Config.load(XOR).replace({"neat.fitness_threshold": None, "genome.num_inputs": None})
    assert config.neat.fitness_threshold is None
    assert config.genome.num_inputs is None


def test_inner_tables_of_the_task_can_be_replaced() -> None:
    config = Config.loads("[task]\nenv = {gravity = 1, wind = 2}")
    assert config.replace({"task.env.gravity": 3}).task["env"] == {"gravity": 3, "wind": 2}
    assert config.replace({"task": {"name": "x"}}).task == {"name": "x"}


def test_dataclasses_replace_works_too() -> None:
    config = dataclasses.replace(Config(), neat=NeatTable(pop_size=7), run=RunTable(seed=2**64 - 1))
    assert (config.neat.pop_size, config.run.seed) == (7, 2**64 - 1)


def test_nothing_can_be_assigned() -> None:
    config: Any = Config()
    for part, name in ((config, "neat"), (config.neat, "pop_size"), (config.genome.bias, "new")):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
            setattr(part, name, 1)
        assert not hasattr(part, "__dict__")


def test_configs_can_be_copied_and_sent_to_other_processes() -> None:
    config = Config.load(XOR)
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config
    assert dataclasses.asdict(config)["genome"]["bias"]["max_value"] == 30.0


def test_genes_have_the_types_that_the_documentation_names() -> None:
    genome = GenomeTable()
    assert isinstance(genome.activation, ChoiceGene)
    assert isinstance(genome.aggregation, ChoiceGene)
    assert set(ACTIVATION_IDS) >= set(genome.activation.options)


# ---- digests -------------------------------------------------------------------------------------


def test_the_digest_ignores_the_run_and_the_task() -> None:
    config = Config.load(XOR)
    other = config.replace({"run.seed": 5, "run.generations": 1, "task.name": "other"})
    assert other != config
    assert other.digest() == config.digest()
    assert len(config.digest()) == 64


@given(tables(), tables())
def test_the_digest_tells_configs_apart(one: dict[str, Any], two: dict[str, Any]) -> None:
    others = {name: dict[str, Any]() for name in TABLES if name not in EVOLUTION}
    a, b = (Config.from_dict({**tables, **others}) for tables in (one, two))
    assert (a.digest() == b.digest()) == (a == b)


def test_the_digest_of_the_xor_example_never_changes() -> None:
    # Checkpoints keep it: a change here makes all of them look as if their config had changed.
    assert Config.load(XOR).digest().startswith("c715b35a86e9f92e")


def test_minus_zero_is_zero() -> None:
    minus = Config().replace({"genome.bias_init_mean": -0.0})
    assert minus.digest() == Config().digest()


# ---- direct construction -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: NeatTable(pop_size=0),
            "NeatTable: pop_size = 0 must be between 1 and 2147483647.",
        ),
        (
            lambda: FloatGene(min_value=2, max_value=1),
            "FloatGene: min_value = 2.0 must not exceed max_value = 1.0.",
        ),
        (lambda: GenomeTable(bias=3), "GenomeTable: bias = 3 must be a FloatGene."),  # type: ignore[arg-type]
        (
            lambda: Config(neat=NeatTable(pop_size=1), reproduction=ReproductionTable(elitism=1)),
            "Config: reproduction.min_species_size = 2 must not exceed neat.pop_size = 1.",
        ),
        (lambda: Config(task=3), "Config: task = 3 must be a table, written [task]."),  # type: ignore[arg-type]
        (
            lambda: GenomeTable(initial_connection=InitialConnection("partial")),
            "GenomeTable: initial_connection = partial needs one fraction between 0 and 1, "
            'such as "partial 0.5".',
        ),
    ],
)
def test_parts_check_themselves(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message


def test_parts_take_their_canonical_form() -> None:
    one: Any = 1
    spelled: Any = "partial 0.5"
    assert isinstance(FloatGene(init_mean=one).init_mean, float)
    assert GenomeTable(initial_connection=spelled).initial_connection.fraction == 0.5


def test_reading_a_good_file_gives_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Config.load(XOR)
