"""Reads the INI files of neat-python 1.x, 2.0 and 2.1, unchanged.

A file must set everything that neat-python 2.0 demands. Settings that some version has a default
for may be missing. What neat-python ignores silently gets a warning.
"""

from __future__ import annotations

import configparser
import difflib
import re
from collections.abc import Mapping
from typing import Final

from evonet.config.draft import MOST_HINTS, Draft
from evonet.config.neat_keys import DEFAULTS, DEMANDED, SECTIONS, Place, find_place
from evonet.config.rules import TRUE, RefusedError
from evonet.config.schema import Setting
from evonet.messages import name, show

# Longer files are not neat-python's.
MOST_LINES: Final = 5_000
# After this many lines that configparser refuses, a file is something else.
MOST_ROUNDS: Final = 20

_HEADER = re.compile(r"\[(.+)\]")
_KEY = re.compile(r"([^\s:=#;][^:=]*)[:=]")
# configparser compares each part of a long gap with each other.
_GAP = re.compile(r"(?<=\S)\s{9,}(?=\S)")


def draft_ini(text: str, known: Mapping[str, Setting]) -> Draft:
    """Reads the text of a neat-python file, given all settings by flat name."""
    places = {setting: place for setting in known if (place := find_place(setting))}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    draft = Draft(
        spelling={setting: str(place) for setting, place in places.items()},
        lines=_number_lines(lines),
    )
    parser = None
    if len(lines) > MOST_LINES:
        draft.blame("", f"The file has more than {MOST_LINES:,} lines. That is no config.")
    else:
        parser = _parse([_GAP.sub(" ", line) for line in lines], draft)
    if parser is None:
        draft.unreadable.update(known)
        return draft
    _blame_missing_sections(parser, draft)
    unknown = _find_unknown(parser, set(places.values()), draft)
    for setting, place in places.items():
        if parser.has_option(*place):
            _read_value(parser, place, setting, known[setting], draft)
        elif setting not in DEMANDED:
            draft.values[setting] = DEFAULTS.get(setting, known[setting].default)
        elif setting == "neat.fitness_threshold" and _never_stops(parser):
            draft.values[setting] = None
        else:
            draft.unreadable.add(setting)
            if parser.has_section(place.section):
                draft.blame(str(place), f"is missing. {_lookalike(place, unknown)}")
    return draft


def _number_lines(lines: list[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    section = ""
    for number, line in enumerate(lines, 1):
        header, entry = _HEADER.match(line.strip()), _KEY.match(line)
        if header:
            section = header[1]
            numbers.setdefault(f"[{name(section)}]", number)
        elif entry:
            numbers.setdefault(_label(section, entry[1].rstrip().lower()), number)
    return numbers


def _label(section: str, key: str) -> str:
    return f"[{name(section)}] {name(key)}"


def _parse(lines: list[str], draft: Draft) -> configparser.ConfigParser | None:
    """Parses as neat-python does, leaving out faulty lines; None if nothing else is left."""
    strict = True
    for _ in range(MOST_ROUNDS):
        parser = configparser.ConfigParser(strict=strict)
        try:
            parser.read_string("\n".join(lines))
            return parser
        except configparser.DuplicateSectionError as error:
            draft.blame(f"[{name(error.section)}]", "appears twice.", error.lineno)
            strict = False  # merges the two, so that their keys can be checked
        except configparser.DuplicateOptionError as error:
            draft.blame(_label(error.section, error.option), "appears twice.", error.lineno)
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


def _blame_missing_sections(parser: configparser.ConfigParser, draft: Draft) -> None:
    strangers = [f"[{name(title)}]" for title in parser.sections() if title not in SECTIONS]
    found = f"Found: {', '.join(strangers[:8])}." if strangers else ""
    for section in SECTIONS:
        if not parser.has_section(section):
            draft.blame(f"[{section}]", f"is missing. {found}")
    draft.ignored += [f"{stranger} is not read." for stranger in strangers]


def _find_unknown(
    parser: configparser.ConfigParser, places: set[Place], draft: Draft
) -> dict[str, list[str]]:
    """Lists the keys of each section that are not settings.

    neat-python refuses them, except in [DefaultGenome].
    """
    unknown: dict[str, list[str]] = {}
    for section in filter(parser.has_section, SECTIONS):
        own = [place.key for place in places if place.section == section]
        unknown[section] = [key for key in parser.options(section) if key not in own]
        for key in unknown[section]:
            elsewhere = sorted(str(place) for place in places if place.key == key)
            message = f"is not a setting. {draft.hint(key, own, elsewhere)}"
            if section == "DefaultGenome":
                draft.ignored.append(f"{_label(section, key)} {message}".strip())
            else:
                draft.blame(_label(section, key), message)
    return unknown


def _read_value(
    parser: configparser.ConfigParser, place: Place, setting: str, known: Setting, draft: Draft
) -> None:
    text = parser.get(*place, raw=True)
    try:
        text = parser.get(*place)
        unset = setting == "run.seed" and text.lower() == "none"
        draft.values[setting] = known.default if unset else known.rule.parse(text)
        return
    except configparser.Error:
        reason = 'has a "%" that stands for nothing.'
    except RefusedError as refusal:
        reason = str(refusal)
        if re.search(r"\s[#;]", text):
            reason += " A comment needs a line of its own."
    draft.unreadable.add(setting)
    draft.blame(str(place), f"= {show(text)} {reason}")


def _never_stops(parser: configparser.ConfigParser) -> bool:
    if not parser.has_section("NEAT"):
        return False
    return parser.get("NEAT", "no_fitness_termination", raw=True, fallback="").lower() in TRUE


def _lookalike(place: Place, unknown: dict[str, list[str]]) -> str:
    keys = [name(key) for key in unknown[place.section][:MOST_HINTS]]
    similar = difflib.get_close_matches(place.key, keys, n=1, cutoff=0.8)
    return f'"{similar[0]}" looks like it.' if similar else ""
