"""Every fault of a file is found, named and explained, all of them at once."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evonet.config import Config
from evonet.errors import ConfigError, ConfigFault, EvonetError
from evonet.installation import resource_folder
from tests.campaigns import config as config_campaign

XOR = (resource_folder("configs") / "xor.toml").read_text()


def faults_of(text: str, form: Any = "toml") -> list[str]:
    """Reads a text that must be refused, and gives the lines of the message."""
    with pytest.raises(ConfigError) as caught:
        Config.loads(text, form, source="my.file")
    lines = str(caught.value).split("\n")
    assert all(line.startswith("my.file: ") for line in lines)
    return [line.removeprefix("my.file: ") for line in lines]


# ---- values --------------------------------------------------------------------------------------

WHOLE = "must be a whole number."
NUMBER = "must be a number."
CHANCE = "must be between 0 and 1."
COUNT = "must be between 0 and 2147483647."

VALUES = [
    ("neat.pop_size", "0", "= 0 must be between 1 and 2147483647."),
    ("neat.pop_size", "true", f"= true {WHOLE}"),
    ("neat.pop_size", "150.0", f"= 150.0 {WHOLE}"),
    ("neat.pop_size", '"150"', f'= "150" {WHOLE}'),
    ("neat.pop_size", "[150]", f"= [150] {WHOLE}"),
    ("neat.pop_size", "2147483648", "= 2147483648 must be between 1 and 2147483647."),
    ("neat.pop_size", "1" + "0" * 60, "= a huge number must be between 1 and 2147483647."),
    ("neat.pop_size", "{a = 1}", f"= a table {WHOLE}"),
    ("neat.pop_size", "1979-05-27", f"= 1979-05-27 {WHOLE}"),
    ("neat.fitness_criterion", '"maxx"', '= "maxx" is not a choice. Did you mean "max"?'),
    ("neat.fitness_criterion", '"Max"', '= "Max" is not a choice. Did you mean "max"?'),
    ("neat.fitness_criterion", "1", "= 1 is not a choice. Allowed: max, mean, min."),
    ("neat.fitness_threshold", "nan", "= nan must be a finite number."),
    ("neat.fitness_threshold", "-inf", "= -inf must be a finite number."),
    ("neat.fitness_threshold", "1e999", "= inf must be a finite number."),
    ("neat.fitness_threshold", "1" + "0" * 400, "= a huge number must be a finite number."),
    ("neat.fitness_threshold", "false", f"= false {NUMBER}"),
    ("neat.reset_on_extinction", "0", "= 0 must be true or false."),
    ("neat.no_fitness_termination", '"no"', '= "no" must be true or false.'),
    ("run.generations", "-1", f"= -1 {COUNT}"),
    ("run.seed", "-1", "= -1 must be between 0 and 18446744073709551615."),
    ("run.seed", str(2**64), f"= {2**64} must be between 0 and 18446744073709551615."),
    ("run.backend", '"gpu"', '= "gpu" is not a choice. Did you mean "cpu"?'),
    ("run.threads", "-2", "= -2 must be between 0 and 4096."),
    ("run.threads", "5000", "= 5000 must be between 0 and 4096."),
    ("genome.num_inputs", "-1", f"= -1 {COUNT}"),
    ("genome.num_outputs", "0", "= 0 must be between 1 and 2147483647."),
    ("genome.num_hidden", "1.5", f"= 1.5 {WHOLE}"),
    ("genome.feed_forward", '"True"', '= "True" must be true or false.'),
    ("genome.initial_connection", '"ful"', '= "ful" is not a choice. Did you mean "full"?'),
    (
        "genome.initial_connection",
        '"full 0.5"',
        '= "full 0.5" must be "full" alone. Only the partial kinds take a fraction.',
    ),
    *(
        (
            "genome.initial_connection",
            f'"partial{rest}"',
            f'= "partial{rest}" needs one fraction between 0 and 1, such as "partial 0.5".',
        )
        for rest in ("", " 1.5", " -0.1", " nan", " x", " 0.5 0.5")
    ),
    ("genome.compatibility_disjoint_coefficient", "-1", "= -1 must be at least 0."),
    ("genome.compatibility_excess_coefficient", "-1", '= -1 must be at least 0, or "auto".'),
    ("genome.compatibility_excess_coefficient", '"x"', '= "x" must be a number, or "auto".'),
    ("genome.compatibility_include_node_genes", "1", "= 1 must be true or false."),
    ("genome.compatibility_enable_penalty", "-1.0", "= -1.0 must be at least 0."),
    ("genome.conn_add_prob", "1.5", f"= 1.5 {CHANCE}"),
    ("genome.node_delete_prob", "-0.1", f"= -0.1 {CHANCE}"),
    ("genome.single_structural_mutation", '"x"', '= "x" must be true or false.'),
    (
        "genome.structural_mutation_surer",
        '"maybe"',
        '= "maybe" is not a choice. Allowed: default, false, true.',
    ),
    (
        "genome.structural_mutation_surer",
        "1",
        "= 1 is not a choice. Allowed: default, false, true.",
    ),
    ("genome.bias_init_stdev", "-1.0", "= -1.0 must be between 0 and 3.40282e+38."),
    ("genome.bias_init_mean", "1e39", "= 1e+39 must be between -3.40282e+38 and 3.40282e+38."),
    ("genome.weight_mutate_power", "-1.0", "= -1.0 must be between 0 and 3.40282e+38."),
    (
        "genome.bias_init_type",
        '"gausian"',
        '= "gausian" is not a choice. Did you mean "gaussian"?',
    ),
    ("genome.response_mutate_rate", "2", f"= 2 {CHANCE}"),
    ("genome.weight_replace_rate", "-1", f"= -1 {CHANCE}"),
    ("genome.time_constant_max_value", '"a"', f'= "a" {NUMBER}'),
    ("genome.activation_default", '"tan"', '= "tan" is not a function. Did you mean "tanh"?'),
    ("genome.activation_default", "1", "= 1 is not a function. Allowed: abs, clamped, "),
    (
        "genome.activation_options",
        '["sigmoid", "rellu"]',
        '= ["sigmoid", "rellu"] holds "rellu", which is not a function. Did you mean "relu"?',
    ),
    ("genome.activation_options", "[]", "= [] must not be empty."),
    ("genome.activation_options", '"sigmoid"', '= "sigmoid" must be a list of names.'),
    (
        "genome.aggregation_options",
        '["sum", 1]',
        '= ["sum", 1] holds 1, which is not a function. Allowed: max, maxabs, mean, median, ',
    ),
    ("genome.aggregation_default", '"sigmoid"', '= "sigmoid" is not a function. '),
    ("genome.enabled_default", "1", "= 1 is not a choice. Allowed: false, random, true."),
    ("genome.enabled_mutate_rate", "1.01", f"= 1.01 {CHANCE}"),
    ("genome.enabled_rate_to_true_add", "-1.5", "= -1.5 must be between -1 and 1."),
    ("speciation.threshold", "-3.0", "= -3.0 must be at least 0."),
    (
        "speciation.target_num_species",
        "0",
        '= 0 must be between 1 and 2147483647, or "none".',
    ),
    ("speciation.threshold_adjust_rate", "-0.1", "= -0.1 must be at least 0."),
    (
        "stagnation.species_fitness_func",
        '"medain"',
        '= "medain" is not a choice. Did you mean "median"?',
    ),
    ("stagnation.max_stagnation", "-1", f"= -1 {COUNT}"),
    ("stagnation.species_elitism", "1.0", f"= 1.0 {WHOLE}"),
    ("reproduction.elitism", "-1", f"= -1 {COUNT}"),
    ("reproduction.survival_threshold", "0", "= 0 must be above 0 and at most 1."),
    ("reproduction.survival_threshold", "1.1", "= 1.1 must be above 0 and at most 1."),
    ("reproduction.min_species_size", "-1", f"= -1 {COUNT}"),
    (
        "reproduction.fitness_sharing",
        '"normalised"',
        '= "normalised" is not a choice. Did you mean "normalized"?',
    ),
    ("reproduction.spawn_method", '""', '= "" is not a choice. Allowed: proportional, smoothed.'),
    ("reproduction.interspecies_crossover_prob", "2", f"= 2 {CHANCE}"),
]


@pytest.mark.parametrize(("key", "value", "message"), VALUES)
def test_a_value_that_does_not_fit_is_explained(key: str, value: str, message: str) -> None:
    table, _, name = key.partition(".")
    (fault,) = faults_of(f"[{table}]\n{name} = {value}\n")
    assert fault.startswith(f"{key} {message}")
    assert fault.endswith(" (line 2)")


CONFLICTS = [
    (
        {"genome.weight_min_value": 5, "genome.weight_max_value": 4},
        "genome.weight_min_value = 5.0 must not exceed genome.weight_max_value = 4.0.",
    ),
    (
        {"genome.time_constant_max_value": 0},
        "genome.time_constant_min_value = 0.01 must not exceed "
        "genome.time_constant_max_value = 0.0.",
    ),
    (
        {"genome.activation_default": "tanh"},
        'genome.activation_default = "tanh" must be among genome.activation_options = ["sigmoid"].',
    ),
    (
        {"genome.aggregation_options": ["max", "min"]},
        'genome.aggregation_default = "sum" must be among '
        'genome.aggregation_options = ["max", "min"].',
    ),
    (
        {"speciation.threshold_min": 101},
        "speciation.threshold_min = 101.0 must not exceed speciation.threshold_max = 100.0.",
    ),
    (
        {"reproduction.elitism": 151},
        "reproduction.elitism = 151 must not exceed neat.pop_size = 150.",
    ),
    (
        {"reproduction.min_species_size": 151},
        "reproduction.min_species_size = 151 must not exceed neat.pop_size = 150.",
    ),
    (
        {"speciation.target_num_species": 151},
        "speciation.target_num_species = 151 must not exceed neat.pop_size = 150.",
    ),
]


@pytest.mark.parametrize(("changes", "message"), CONFLICTS)
def test_settings_that_contradict_each_other_are_both_named(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Config().replace(changes)
    assert str(caught.value) == f"config: {message}"


def test_a_default_that_contradicts_the_file_has_no_line() -> None:
    assert faults_of("\n[neat]\npop_size = 1") == [
        "reproduction.elitism = 2 must not exceed neat.pop_size = 1.",
        "reproduction.min_species_size = 2 must not exceed neat.pop_size = 1.",
    ]


def test_a_faulty_setting_causes_no_second_fault() -> None:
    assert len(faults_of("[genome]\nweight_min_value = 'x'\nweight_max_value = -100")) == 1
    assert len(faults_of("[genome]\nactivation_default = x\nactivation_options = ['tanh']")) == 1


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[speciation]\nthreshhold = 3.0",
            'speciation.threshhold is not a setting. Did you mean "threshold"? (line 2)',
        ),
        (
            "[genome]\npop_size = 3",
            'genome.pop_size is not a setting. Did you mean "neat.pop_size"? (line 2)',
        ),
        (
            "[stagnation]\nx = 3",
            "stagnation.x is not a setting. "
            "Allowed: max_stagnation, species_elitism, species_fitness_func. (line 2)",
        ),
        ("[genome]\nqqq = 3", "genome.qqq is not a setting. (line 2)"),
        (
            "[genome.enabled]\ndefault = true",
            "genome.enabled is not a setting. Did you mean enabled_default, enabled_mutate_rate, "
            "enabled_rate_to_true_add, enabled_rate_to_false_add? (line 1)",
        ),
        (
            "[genom]\nx = 3",
            'genom is not a table of a config. Did you mean "genome"? (line 1)',
        ),
        ("[NEAT]\n", 'NEAT is not a table of a config. Did you mean "neat"? (line 1)'),
        (
            "pop_size = 3",
            'pop_size is not a table of a config. Did you mean "neat.pop_size"? (line 1)',
        ),
        ("neat = 3", "neat = 3 must be a table, written [neat]. (line 1)"),
        ("[[neat]]\n", "neat = [a table] must be a table, written [neat]. (line 1)"),
        ("task = 1", "task = 1 must be a table, written [task]. (line 1)"),
        ('[neat]\n"a\\nb" = 1', r"neat.a\nb is not a setting. Allowed: fitness_criterion, "),
    ],
)
def test_an_unknown_name_gets_a_suggestion(text: str, message: str) -> None:
    (fault,) = faults_of(text)
    assert fault.startswith(message)


def test_names_that_are_no_text_are_refused() -> None:
    odd: Any = {1: {}, "neat": {2: 3}, "task": {4: 5}}
    with pytest.raises(ConfigError) as caught:
        Config.from_dict(odd)
    assert [fault.key for fault in caught.value.faults] == ["1", "neat.2", "task"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "task.x = nan must be finite."),
        ([1, [float("inf")]], "task.x = inf must be finite."),
        ("\ud800", r'task.x = "\ud800" must be valid Unicode.'),
        ({"y": None}, "task.x.y is a NoneType. Expected a string, number, boolean, list or table."),
        (date(2020, 1, 1), "task.x is a date. Expected a string, number, boolean, list or table."),
        ({"\udfff": 1}, r'task.x has the key "\udfff". Expected text.'),
    ],
)
def test_a_task_holds_only_what_toml_can_say(value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(task={"x": value})
    assert str(caught.value) == f"Config: {message}"


def test_a_task_may_not_be_bottomless() -> None:
    value: list[object] = []
    for _ in range(10_000):
        value = [value]
    with pytest.raises(ConfigError, match=r"task.x is nested too deeply. Allowed: 16 levels."):
        Config(task={"x": value})


# ---- syntax --------------------------------------------------------------------------------------

QUOTES = "Text needs quotes; true and false are spelled in small letters."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[neat]\npop_size = 8\npop_size = 9", "neat.pop_size appears twice. (line 3)"),
        ("[neat]\n[run]\n[neat]", "[neat] appears twice. (line 3)"),
        (
            "[neat]\nfitness_criterion = max # yes",
            f"neat.fitness_criterion is not valid TOML: Invalid value. {QUOTES} (line 2)",
        ),
        (
            "[neat]\nreset_on_extinction = True",
            f"neat.reset_on_extinction is not valid TOML: Invalid value. {QUOTES} (line 2)",
        ),
        ("[neat]\npop_size =", "neat.pop_size is not valid TOML: Invalid value. (line 2)"),
        ("[neat]\npop_size", '"pop_size" is not valid TOML: Expected '),
        ("[neat\npop_size = 1", '"[neat" is not valid TOML: Expected '),
        ("[neat]\npop_size = [1,\n2,\n\n", "neat.pop_size is not valid TOML: "),
        ("[run]\n[neat]\npop_size = '1\n" + "\n" * 99, "neat.pop_size is not valid TOML: "),
        (
            "[neat]\npop_size = " + "1" * 5000,
            "neat.pop_size is not valid TOML: A number is too long. (line 2)",
        ),
        (
            "[neat]\npop_size = " + "[" * 5000,
            "neat.pop_size is not valid TOML: Too many brackets within each other. (line 2)",
        ),
        ("[task]\n" + "a." * 5000 + "a = 1", '"a.a.a.a.'),
        ("\n[neat]\npop_size = 1\x00", "neat.pop_size is not valid TOML: "),
    ],
)
def test_a_syntax_fault_names_its_key_and_line(text: str, message: str) -> None:
    (fault,) = faults_of(text)
    assert fault.startswith(message)
    assert "(line " in fault


def test_reading_goes_on_after_a_faulty_line() -> None:
    text = """
[neat]
pop_size = many
fitness_criterion = max
reset_on_extinction = 5
[genome]
bias_init_type = 'gaussian
num_hidden = 1
num_hidden = -1
weigth_max_value = 3
[run]
seed = "x"
"""
    faults = faults_of(text)
    syntax = faults.pop(3)
    assert syntax.startswith("genome.bias_init_type is not valid TOML: ")
    assert syntax.endswith(" (line 7)")
    assert faults == [
        f"neat.pop_size is not valid TOML: Invalid value. {QUOTES} (line 3)",
        f"neat.fitness_criterion is not valid TOML: Invalid value. {QUOTES} (line 4)",
        "neat.reset_on_extinction = 5 must be true or false. (line 5)",
        "genome.num_hidden appears twice. (line 9)",
        'genome.weigth_max_value is not a setting. Did you mean "weight_max_value"? (line 10)',
        'run.seed = "x" must be a whole number. (line 12)',
    ]


def test_a_file_of_nothing_but_faults_is_reported_soon_and_in_full() -> None:
    text = "[neat]\n" + "\n".join(f"k{i} = 1" for i in range(3000))
    with pytest.raises(ConfigError) as caught:
        Config.loads(text)
    assert len(caught.value.faults) == 3000


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.toml", b"\xff\xfe[\x00", "The file is UTF-16. Save it as UTF-8."),
        ("a.toml", b"# ok\n# \xe9\n", "The file is not UTF-8 text: byte 0xe9. (line 2)"),
        ("a.ini", b"[NEAT]\n\x00", "The file is not text: it holds a zero byte. (line 2)"),
        ("a.ini", b"#" * 300_000, "The file has more than 262144 bytes. That is no config."),
        (
            "a.toml",
            b"[NEAT]\npop_size = 3\n[DefaultGenome]\n",
            "This is a neat-python file. Rename it to end in .ini.",
        ),
        ("a.cfg", b"[neat]\npop_size = 3\n", "This is a TOML file. Rename it to end in .toml."),
        ("a", XOR.encode(), "This is a TOML file. Rename it to end in .toml."),
    ],
)
def test_a_file_that_is_no_config_gets_one_clear_line(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        Config.load(path)
    assert str(caught.value) == f"{path}: {message}"
    assert caught.value.faults[0].key == ""


def test_a_folder_is_no_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: This is a folder. Expected a config file."


def test_the_name_of_a_file_may_be_odd(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.toml"
    path.write_text("x = 1")
    with pytest.raises(ConfigError) as caught:
        Config.load(path)
    assert str(caught.value).startswith(f"{tmp_path}/a\\nb.toml: x is not a table")


# ---- the error -----------------------------------------------------------------------------------


def test_the_error_lists_its_faults() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.loads("[neat]\npop_size = 0\n[run]\nseed = -1", source="my.toml")
    error = caught.value
    assert isinstance(error, EvonetError)
    assert isinstance(error, ValueError)
    assert error.source == "my.toml"
    assert error.faults[0] == ConfigFault(
        "neat.pop_size", "neat.pop_size = 0 must be between 1 and 2147483647.", 2
    )
    assert [fault.key for fault in error.faults] == ["neat.pop_size", "run.seed"]
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neat.popsize": 1}, 'config: neat.popsize is not a setting. Did you mean "pop_size"?'),
        ({"neat": 1}, "config: neat = 1 must be a table, written [neat]."),
        ({"net.pop_size": 1}, 'config: net is not a table of a config. Did you mean "neat"?'),
        ({"neat.pop_size.x": 1}, "config: neat.pop_size = a table must be a whole number."),
        ({"": 1}, 'config: "" is not a table of a config.'),
    ],
)
def test_replacing_what_is_not_there_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config().replace(changes)
    assert str(caught.value).startswith(message)


# ---- the campaign --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_refused_with_good_messages(tmp_path: Path, seed: int) -> None:
    counts, problems, _ = config_campaign.run(160, seed, tmp_path)
    assert problems == []
    assert len({damage for damage, _ in counts}) == len(config_campaign.DAMAGES)
