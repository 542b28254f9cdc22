"""neat-python's files mean the same to evonet as to neat-python itself."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import neat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.config import Config
from evonet.config.neat_keys import DEMANDED, SECTIONS, find_place
from evonet.config.rules import FALSE, TRUE
from evonet.config.schema import reach, settings
from evonet.errors import ConfigError
from evonet.installation import resource_folder
from tests.config.test_config import tables

EXAMPLE = (resource_folder("configs") / "forward-neat.ini").read_text()
PLACES = {name: place for name in settings(Config) if (place := find_place(name))}
OPTIONAL = PLACES.keys() - DEMANDED
# What neat-python 2.0 does not know, and refuses except in the genome.
NEWER = {
    "genome.compatibility_excess_coefficient",
    "genome.compatibility_include_node_genes",
    "genome.compatibility_enable_penalty",
    "speciation.target_num_species",
    "speciation.threshold_adjust_rate",
    "speciation.threshold_min",
    "speciation.threshold_max",
    "reproduction.fitness_sharing",
    "reproduction.spawn_method",
    "reproduction.interspecies_crossover_prob",
}
# What neat-python 2.0 demands though it has a default, or mistakes its own default for.
UNRELIABLE = {"neat.no_fitness_termination", "genome.single_structural_mutation"}


def read_by_neat(text: str) -> Any:
    """Has neat-python read a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        path.write_text(text)
        return neat.Config(
            neat.DefaultGenome,
            neat.DefaultReproduction,
            neat.DefaultSpeciesSet,
            neat.DefaultStagnation,
            str(path),
        )


def neat_value(config: Any, name: str) -> Any:
    """Looks up what neat-python made of a setting, in evonet's canonical form."""
    section, key = PLACES[name]
    part = {
        "NEAT": config,
        "DefaultGenome": config.genome_config,
        "DefaultSpeciesSet": config.species_set_config,
        "DefaultStagnation": config.stagnation_config,
        "DefaultReproduction": config.reproduction_config,
    }[section]
    value = getattr(part, key)
    if key.endswith("_init_type"):
        return "uniform" if "uniform" in value.lower() else "gaussian"
    if key == "enabled_default":
        return {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}.get(
            value.lower(), "random"
        )
    if key.endswith("_default"):
        return "random" if value == "none" else value
    if key.endswith("_options"):
        return tuple(value)
    if key == "initial_connection":
        return (value, part.connection_fraction)
    return 0 if key == "seed" and value is None else value


def our_value(config: Config, name: str) -> Any:
    value = reach(config, settings(Config)[name].path)
    if name == "genome.initial_connection":
        return (config.genome.initial_connection.kind, config.genome.initial_connection.fraction)
    return value


def assert_same(text: str) -> Config:
    """Demands that evonet and neat-python read the same, setting by setting, type by type."""
    ours, theirs = Config.loads(text, "ini"), read_by_neat(text)
    for name in PLACES.keys() - NEWER:
        mine, other = our_value(ours, name), neat_value(theirs, name)
        assert mine == other, name
        assert type(mine) is type(other), name
    return ours


SPELLINGS = {
    "_init_type": {
        "gaussian": ["gaussian", "normal", "Gauss", "NORMAL"],
        "uniform": ["uniform", "Uniform"],
    },
    "enabled_default": {
        True: ["True", "yes", "on", "1", "TRUE"],
        False: ["false", "No", "off", "0"],
        "random": ["random", "none", "None", "RANDOM"],
    },
    "structural_mutation_surer": {
        "true": ["true", "1", "Yes", "on"],
        "false": ["False", "0", "no", "OFF"],
        "default": ["default", "Default"],
    },
    "activation_default": {"random": ["random", "none"]},
}


@st.composite
def ini_files(draw: st.DrawFn) -> str:
    """Draws a file that neat-python 2.0 accepts, with spellings, order and blanks at random."""
    drawn = draw(tables())
    drawn["genome"] |= {"num_inputs": 3, "num_outputs": 2}  # neat-python makes lists of them
    drawn["neat"]["fitness_threshold"] = draw(st.floats(allow_nan=False, allow_infinity=False))
    left_out = draw(st.sets(st.sampled_from(sorted(OPTIONAL - UNRELIABLE))))
    if any(name.startswith("genome.time_constant_m") for name in left_out):
        # A limit that is there could contradict the default of one that is not.
        left_out |= {"genome.time_constant_min_value", "genome.time_constant_max_value"}
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for name in sorted(PLACES.keys() - NEWER - left_out):
        table, _, own = name.partition(".")
        section, key = PLACES[name]
        equals = draw(st.sampled_from([" = ", "=", ": ", "  =  "]))
        cased = draw(st.sampled_from([key, key, key.upper()]))
        sections[section].append(f"{cased}{equals}{spell(draw, key, drawn[table][own])}")
    blocks = []
    for section in draw(st.permutations(list(SECTIONS))):
        lines = draw(st.permutations(sorted(sections[section])))
        comment = draw(st.sampled_from(["", "# note\n", "; note\n\n"]))
        blocks.append(f"[{section}]\n{comment}" + "\n".join(lines))
    return "\n\n".join(blocks) + draw(st.sampled_from(["", "\n"]))


def spell(draw: st.DrawFn, key: str, value: Any) -> str:
    """Spells a value in one of the ways that neat-python reads."""
    words = next((words for end, words in SPELLINGS.items() if key.endswith(end)), {})
    if isinstance(value, tuple):
        return " ".join(value)
    if value in words:
        return draw(st.sampled_from(words[value]))
    if isinstance(value, bool):
        return draw(st.sampled_from([str(value), str(value).lower()]))
    return str(value)


@given(ini_files())
def test_every_setting_is_read_as_neat_python_reads_it(text: str) -> None:
    config = assert_same(text)
    assert Config.loads(config.to_toml()) == config


def test_the_example_is_read_as_neat_python_reads_it() -> None:
    config = assert_same(EXAMPLE)
    assert config.neat.pop_size == 2
    assert config.genome.weight.mutate_rate == 0.8


def with_line(section: str, line: str, text: str = EXAMPLE) -> str:
    return text.replace(f"[{section}]\n", f"[{section}]\n{line}\n")


def without(key: str, text: str = EXAMPLE) -> str:
    lines = [line for line in text.split("\n") if line.split(" ")[0] != key]
    assert len(lines) == text.count("\n")
    return "\n".join(lines)


# ---- what may be missing -------------------------------------------------------------------------

REQUIRED = [name for name in PLACES if name in DEMANDED]


@pytest.mark.parametrize("name", REQUIRED)
def test_what_neat_python_demands_must_be_there(name: str) -> None:
    text = without(PLACES[name].key)
    with pytest.raises(ConfigError) as caught:
        Config.loads(text, "ini", source="my.ini")
    assert str(caught.value) == f"my.ini: {PLACES[name]} is missing."
    if name.endswith("_options"):
        return  # neat-python takes "" for the options, and fails when it first mutates
    with pytest.raises(Exception, match=PLACES[name].key):
        read_by_neat(text)


@pytest.mark.parametrize("name", sorted(OPTIONAL - NEWER - {"run.seed"}))
def test_what_has_a_default_may_be_missing(name: str) -> None:
    text = without(PLACES[name].key)
    config = Config.loads(text, "ini")
    if name == "genome.single_structural_mutation":
        # neat-python falls for its own default here: the text "false" is true.
        assert read_by_neat(text).genome_config.single_structural_mutation == "false"
        assert config.genome.single_structural_mutation is False
    elif name == "neat.no_fitness_termination":
        assert config.neat.no_fitness_termination is False
    else:
        assert our_value(config, name) == neat_value(read_by_neat(text), name)


def test_the_defaults_of_what_only_2_1_has_are_those_of_2_1() -> None:
    config = Config.loads(EXAMPLE, "ini")
    assert config.genome.compatibility_excess_coefficient == "auto"
    assert config.genome.compatibility_include_node_genes is True
    assert config.genome.compatibility_enable_penalty == 1.0
    assert config.speciation == Config().speciation
    assert config.speciation.target_num_species is None
    assert (config.speciation.threshold_min, config.speciation.threshold_max) == (0.1, 100.0)
    assert config.speciation.threshold_adjust_rate == 0.1
    assert config.reproduction.fitness_sharing == "normalized"
    assert config.reproduction.spawn_method == "smoothed"
    assert config.reproduction.interspecies_crossover_prob == 0.0


def test_files_of_2_1_are_read() -> None:
    text = with_line("DefaultGenome", "compatibility_excess_coefficient = 0.5")
    text = with_line("DefaultGenome", "compatibility_include_node_genes = no", text)
    text = with_line("DefaultGenome", "compatibility_enable_penalty = 2", text)
    text = with_line("DefaultSpeciesSet", "target_num_species = 2\nthreshold_min = 0.5", text)
    text = with_line("DefaultReproduction", "spawn_method = proportional", text)
    text = with_line("DefaultReproduction", "fitness_sharing = canonical", text)
    config = Config.loads(text, "ini")
    assert config.genome.excess_coefficient == 0.5
    assert config.genome.compatibility_include_node_genes is False
    assert config.genome.compatibility_enable_penalty == 2.0
    assert (config.speciation.target_num_species, config.speciation.threshold_min) == (2, 0.5)
    assert config.reproduction.spawn_method == "proportional"
    assert config.reproduction.fitness_sharing == "canonical"
    auto = with_line("DefaultSpeciesSet", "target_num_species = none")
    assert Config.loads(auto, "ini").speciation.target_num_species is None


def test_the_threshold_may_be_missing_where_it_is_ignored() -> None:
    text = without("fitness_threshold")
    on = text.replace("no_fitness_termination = False", "no_fitness_termination = yes")
    assert Config.loads(on, "ini").neat.fitness_threshold is None


@pytest.mark.parametrize(("line", "seed"), [("seed = 42", 42), ("seed = None", 0), ("", 0)])
def test_the_seed_is_the_seed_of_the_run(line: str, seed: int) -> None:
    assert Config.loads(with_line("NEAT", line), "ini").run.seed == seed


def test_other_white_space_between_options_is_fine() -> None:
    text = EXAMPLE.replace(
        "activation_options      = sigmoid", "activation_options = sigmoid\ttanh\n   relu  sin"
    )
    options = Config.loads(text, "ini").genome.activation.options
    assert options == ("sigmoid", "tanh", "relu", "sin")


def test_values_may_refer_to_other_values() -> None:
    text = with_line("NEAT", "seed = %(pop_size)s")
    assert Config.loads(text, "ini").run.seed == 2 == read_by_neat(text).seed


# ---- what neat-python passes over ----------------------------------------------------------------


def test_what_neat_python_ignores_is_ignored_with_a_warning() -> None:
    text = with_line("DefaultGenome", "bias_mutate_rat = 0.5") + "\n[Mine]\nx = 1\n"
    assert read_by_neat(text).genome_config.bias_mutate_rate == 0.7
    with pytest.warns(UserWarning, match="ignored") as caught:
        config = Config.loads(text, "ini", source="my.ini")
    assert config == Config.loads(EXAMPLE, "ini")
    assert str(caught[0].message).split("\n") == [
        "my.ini: [Mine] is not read. It is ignored.",
        'my.ini: [DefaultGenome] bias_mutate_rat is not a setting. Did you mean "bias_mutate_rate"?'
        " It is ignored.",
    ]


# ---- faults --------------------------------------------------------------------------------------


def faults_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        Config.loads(text, "ini", source="my.ini")
    lines = str(caught.value).split("\n")
    assert len(lines) == len(caught.value.faults)
    return [line.removeprefix("my.ini: ") for line in lines]


@pytest.mark.parametrize(
    ("section", "line", "message"),
    [
        ("NEAT", "seed = abc", '[NEAT] seed = "abc" must be a whole number.'),
        ("NEAT", "seed = 1.5", '[NEAT] seed = "1.5" must be a whole number.'),
        ("NEAT", "seed = -1", "[NEAT] seed = -1 must be between 0 and 18446744073709551615."),
        (
            "NEAT",
            "seed = 42  # Enable",
            '[NEAT] seed = "42  # Enable" must be a whole number. '
            "A comment needs a line of its own.",
        ),
        ("NEAT", "seed = 5%", '[NEAT] seed = "5%" has a "%" that stands for nothing.'),
        ("NEAT", "seed = %(x)s", '[NEAT] seed = "%(x)s" has a "%" that stands for nothing.'),
        ("NEAT", "seed =", '[NEAT] seed = "" must be a whole number.'),
        ("NEAT", "seed", '"seed" is not of the form "key = value".'),
        ("NEAT", "= 3", '"= 3" is not of the form "key = value".'),
        ("NEAT", "sed = 3", '[NEAT] sed is not a setting. Did you mean "seed"?'),
        (
            "NEAT",
            "elitism = 3",
            '[NEAT] elitism is not a setting. Did you mean "[DefaultReproduction] elitism"?',
        ),
        (
            "DefaultSpeciesSet",
            "threshold = 3",
            "[DefaultSpeciesSet] threshold is not a setting. Did you mean ",
        ),
        (
            "DefaultSpeciesSet",
            "target_num_species = few",
            '[DefaultSpeciesSet] target_num_species = "few" must be a whole number.',
        ),
        (
            "DefaultGenome",
            "compatibility_excess_coefficient = a",
            '[DefaultGenome] compatibility_excess_coefficient = "a" must be a number.',
        ),
        (
            "DefaultGenome",
            "compatibility_include_node_genes = 2",
            '[DefaultGenome] compatibility_include_node_genes = "2" must be True or False.',
        ),
    ],
)
def test_a_fault_is_named_as_the_file_names_it(section: str, line: str, message: str) -> None:
    text = with_line(section, line)
    (fault,) = faults_of(text)
    number = text.split("\n").index(line) + 1
    assert fault.startswith(message)
    assert fault.endswith(f" (line {number})")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("bias_max_value", "abc", 'bias_max_value = "abc" must be a number.'),
        (
            "bias_max_value",
            "-31",
            "bias_min_value = -30.0 must not exceed [DefaultGenome] bias_max_value = -31.0.",
        ),
        (
            "activation_options",
            "sigmoid squash",
            'activation_options = ["sigmoid", "squash"] holds "squash", which is not a function. ',
        ),
        ("activation_options", "", "activation_options = [] must not be empty."),
        (
            "activation_default",
            "relu",
            'activation_default = "relu" must be among '
            '[DefaultGenome] activation_options = ["sigmoid"].',
        ),
        (
            "initial_connection",
            "partial",
            'initial_connection = "partial" needs one fraction between 0 and 1, ',
        ),
        ("feed_forward", "maybe", 'feed_forward = "maybe" must be True or False.'),
        ("conn_add_prob", "nan", "conn_add_prob = nan must be a finite number."),
    ],
)
def test_a_value_that_does_not_fit_is_explained(key: str, value: str, message: str) -> None:
    text, count = re.subn(rf"(?m)^{key} .*", f"{key} = {value}", EXAMPLE)
    (fault,) = faults_of(text)
    assert count == 1
    assert fault.startswith(f"[DefaultGenome] {message}")


def test_a_population_smaller_than_its_elite_is_named_in_both_sections() -> None:
    assert faults_of(EXAMPLE.replace("pop_size              = 2", "pop_size = 1")) == [
        "[DefaultReproduction] elitism = 2 must not exceed [NEAT] pop_size = 1. (line 77)",
        "[DefaultReproduction] min_species_size = 2 must not exceed [NEAT] pop_size = 1. (line 79)",
    ]


def test_a_misspelt_key_is_recognised_as_the_missing_one() -> None:
    text = EXAMPLE.replace("bias_max_value  ", "bias_max_vale   ")
    assert faults_of(text) == [
        '[DefaultGenome] bias_max_value is missing. "bias_max_vale" looks like it.'
    ]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_missing_section_is_one_fault(section: str) -> None:
    assert faults_of(EXAMPLE.replace(f"[{section}]", "[Other]")) == [
        f"[{section}] is missing. Found: [Other]."
    ]
    with pytest.raises(Exception, match=section):
        read_by_neat(EXAMPLE.replace(f"[{section}]", "[Other]"))


def test_all_faults_of_a_file_are_found_at_once() -> None:
    text = """junk
[NEAT]
pop_size = many
pop_size = 3
fitness_criterion = best
fitness_threshold = 1 ; one
no equals sign
reset_on_extinction = False
[DefaultSpeciesSet]
compatibility_threshold = -1
[DefaultStagnation]
[DefaultStagnation]
max_stagnation = x
[DefaultReproduction]
colour = red
"""
    assert faults_of(text) == [
        '"junk" stands before the first section, [NEAT]. (line 1)',
        '[NEAT] pop_size = "many" must be a whole number. (line 3)',
        "[NEAT] pop_size appears twice. (line 4)",
        '[NEAT] fitness_criterion = "best" is not a choice. Allowed: max, mean, min. (line 5)',
        '[NEAT] fitness_threshold = "1 ; one" must be a number. '
        "A comment needs a line of its own. (line 6)",
        '"no equals sign" is not of the form "key = value". (line 7)',
        "[DefaultSpeciesSet] compatibility_threshold = -1.0 must be at least 0. (line 10)",
        "[DefaultStagnation] appears twice. (line 12)",
        '[DefaultStagnation] max_stagnation = "x" must be a whole number. (line 13)',
        "[DefaultReproduction] colour is not a setting. Allowed: elitism, fitness_sharing, "
        "interspecies_crossover_prob, min_species_size, spawn_method, survival_threshold. "
        "(line 15)",
        "[DefaultGenome] is missing.",
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_an_empty_file_lacks_all_sections(text: str) -> None:
    assert faults_of(text) == [f"[{section}] is missing." for section in SECTIONS]


def test_text_without_sections_is_one_fault() -> None:
    assert faults_of("Dear reader,\nthis is\nno config.\n") == [
        '"Dear reader," stands before the first section, [NEAT]. (line 1)'
    ]


def test_more_junk_than_sense_ends_the_reading() -> None:
    text = "[NEAT]\n" + "a = 1\n" * 50
    assert len(faults_of(text)) == 20
