"""Reads the INI files of neat-python 1.x, 2.0 and 2.1, unchanged.

A file must say all that neat-python 2.0 demands. What some version has a default for may be
missing, and gets the default of the newest version.
"""

from __future__ import annotations

import configparser
import difflib
import re
from typing import Final

from evonet.config_draft import Draft
from evonet.config_rules import RefusedError, nearest, printable, show
from evonet.config_schema import Setting

SECTIONS: Final = {
    "NEAT": "neat",
    "DefaultGenome": "genome",
    "DefaultSpeciesSet": "speciation",
    "DefaultStagnation": "stagnation",
    "DefaultReproduction": "reproduction",
}
# neat-python's name for a setting, where ours differs.
RENAMED: Final = {
    "run.seed": ("NEAT", "seed"),
    "speciation.threshold": ("DefaultSpeciesSet", "compatibility_threshold"),
}
# What a file may leave out. `None` takes the default of TOML files, which is neat-python's too.
DEFAULTS: Final[dict[str, object]] = {
    "run.seed": 0,
    "neat.no_fitness_termination": False,
    "genome.compatibility_excess_coefficient": "auto",
    "genome.compatibility_include_node_genes": True,
    "genome.compatibility_enable_penalty": 1.0,
    # neat-python 1.x and 2.x mean to default to False, but take their own text "false" for true.
    "genome.single_structural_mutation": False,
    "genome.structural_mutation_surer": "default",
    "genome.initial_connection": "unconnected",
    "genome.bias_init_type": "gaussian",
    "genome.response_init_type": "gaussian",
    "genome.weight_init_type": "gaussian",
    "genome.time_constant_init_mean": 1.0,
    "genome.time_constant_init_stdev": 0.0,
    "genome.time_constant_init_type": "gaussian",
    "genome.time_constant_replace_rate": 0.0,
    "genome.time_constant_mutate_rate": 0.0,
    "genome.time_constant_mutate_power": 0.0,
    "genome.time_constant_max_value": 10.0,
    "genome.time_constant_min_value": 0.01,
    "genome.activation_default": "random",
    "genome.aggregation_default": "random",
    "genome.enabled_rate_to_true_add": 0.0,
    "genome.enabled_rate_to_false_add": 0.0,
    "speciation.target_num_species": None,
    "speciation.threshold_adjust_rate": 0.1,
    "speciation.threshold_min": 0.1,
    "speciation.threshold_max": 100.0,
    "stagnation.species_fitness_func": "mean",
    "stagnation.max_stagnation": 15,
    "stagnation.species_elitism": 0,
    "reproduction.elitism": 0,
    "reproduction.survival_threshold": 0.2,
    "reproduction.min_species_size": 1,
    "reproduction.fitness_sharing": "normalized",
    "reproduction.spawn_method": "smoothed",
    "reproduction.interspecies_crossover_prob": 0.0,
}
MOST_ROUNDS: Final = 20

_HEADER = re.compile(r"\[(.+)\]")
_KEY = re.compile(r"([^\s:=#;][^:=]*?)\s*[:=]")


def draft_ini(text: str, known: dict[str, Setting]) -> Draft:
    """Reads the text of a neat-python file.

    Args:
        text: The file.
        known: All settings by flat name.
    """
    places = {name: _place(name) for name in known if name in RENAMED or not _ours(name)}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    draft = Draft(
        spelling={name: f"[{section}] {key}" for name, (section, key) in places.items()},
        lines=_line_numbers(lines),
    )
    parser = _parse(lines, draft)
    if parser is None:
        draft.unreadable.update(known)
        return draft
    unknown = _blame_unknown(parser, set(places.values()), draft)
    for name, (section, key) in places.items():
        if not parser.has_section(section):
            draft.unreadable.add(name)
        elif parser.has_option(section, key):
            _read_value(parser, section, key, name, known[name], draft)
        elif name in DEFAULTS:
            draft.values[name] = DEFAULTS[name]
        elif name == "neat.fitness_threshold" and _runs_on(draft):
            draft.values[name] = None
        else:
            draft.unreadable.add(name)
            _blame_missing(section, key, unknown, draft)
    return draft


def _ours(name: str) -> bool:
    return name.startswith("run.")


def _place(name: str) -> tuple[str, str]:
    table, _, key = name.partition(".")
    sections = {ours: theirs for theirs, ours in SECTIONS.items()}
    return RENAMED.get(name) or (sections[table], key)


def _line_numbers(lines: list[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    section = ""
    for number, line in enumerate(lines, 1):
        header, entry = _HEADER.match(line.strip()), _KEY.match(line)
        if header:
            section = f"[{header[1]}]"
            numbers.setdefault(section, number)
        elif entry:
            numbers.setdefault(f"{section} {entry[1].lower()}", number)
    return numbers


def _parse(lines: list[str], draft: Draft) -> configparser.ConfigParser | None:
    """Parses as neat-python does, setting faulty lines aside; None if there are too many."""
    strict = True
    for _ in range(MOST_ROUNDS):
        parser = configparser.ConfigParser(strict=strict)
        try:
            parser.read_string("\n".join(lines))
            return parser
        except configparser.DuplicateSectionError as error:
            draft.blame(f"[{printable(error.section)}]", "appears twice.", error.lineno)
            strict = False  # merges the two, so that their keys can be checked
        except configparser.DuplicateOptionError as error:
            key = f"[{printable(error.section)}] {printable(error.option)}"
            draft.blame(key, "appears twice.", error.lineno)
            lines[(error.lineno or 1) - 1] = ""
        except configparser.MissingSectionHeaderError as error:
            found = show(error.line.strip())
            draft.blame("", f"{found} stands before the first section, [NEAT].", error.lineno)
            headers = (i for i, line in enumerate(lines) if _HEADER.match(line.strip()))
            first = next((i for i in headers if i >= error.lineno), None)
            if first is None:
                return None
            lines[:first] = [""] * first
        except configparser.ParsingError as error:
            for number, _ in error.errors:
                found = show(lines[number - 1].strip())
                draft.blame("", f'{found} is not of the form "key = value".', number)
                lines[number - 1] = ""
    return None


def _blame_unknown(
    parser: configparser.ConfigParser, places: set[tuple[str, str]], draft: Draft
) -> dict[str, list[str]]:
    """Notes missing sections and unknown keys; returns the unknown keys of each section.

    neat-python passes over other sections and over unknown keys of [DefaultGenome] in silence,
    so these are no faults here either, but worth a warning.
    """
    strangers = [name for name in parser.sections() if name not in SECTIONS]
    for section in SECTIONS:
        if not parser.has_section(section):
            found = f" Found: {', '.join(f'[{printable(s[:60])}]' for s in strangers[:8])}."
            draft.blame(f"[{section}]", f"is missing.{found if strangers else ''}")
    draft.ignored += [f"[{printable(name[:60])}] is not read." for name in strangers]
    unknown: dict[str, list[str]] = {}
    for section in filter(parser.has_section, SECTIONS):
        keys = [key for key in parser.options(section) if (section, key) not in places]
        unknown[section] = keys
        for key in keys:
            label = f"[{section}] {printable(key[:100])}"
            message = f"is not a setting. {_hint(section, key, places)}"
            if section == "DefaultGenome":
                draft.ignored.append(f"{label} {message}")
            else:
                draft.blame(label, message)
    return unknown


def _hint(section: str, key: str, places: set[tuple[str, str]]) -> str:
    for owner, name in sorted(places):
        if name == key:
            return f"It belongs in [{owner}]."
    return nearest(key, [name for owner, name in places if owner == section])


def _read_value(
    parser: configparser.ConfigParser,
    section: str,
    key: str,
    name: str,
    setting: Setting,
    draft: Draft,
) -> None:
    text = parser.get(section, key, raw=True)
    try:
        text = parser.get(section, key)
        draft.values[name] = setting.rule.parse(text)
    except configparser.Error:
        reason = 'has a "%" that stands for nothing. Remove it.'
    except RefusedError as refusal:
        comment = " A comment needs a line of its own." if re.search(r"\s[#;]", text) else ""
        reason = f"{refusal}{comment}"
    else:
        return
    draft.unreadable.add(name)
    draft.blame(f"[{section}] {key}", f"= {show(text)} {reason}")


def _runs_on(draft: Draft) -> bool:
    return draft.values.get("neat.no_fitness_termination") is True


def _blame_missing(section: str, key: str, unknown: dict[str, list[str]], draft: Draft) -> None:
    similar = difflib.get_close_matches(key, [k[:100] for k in unknown[section]], n=1, cutoff=0.8)
    hint = f' "{printable(similar[0])}" looks like it.' if similar else ""
    draft.blame(f"[{section}] {key}", f"is missing.{hint}")
