"""The text of a new config, which explains all settings.

Explanations are read from the docstrings of the tables, so that they exist once.
"""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from evonet.config import Config
from evonet.config.config import TABLES
from evonet.config.docstrings import in_a_file, read_section
from evonet.config.schema import Schema
from evonet.config.toml import write
from evonet.installation import resource_folder
from evonet.messages import printable
from evonet.tasks.registry import RegisteredTask

# Examples for options and settings without a default.
EXAMPLES: Final[Mapping[str, object]] = {
    "data": "data.csv",
    "targets": "answer",
    "solved": 0.0,
    "episodes": 3,
    "max_steps": 1000,
    "retests": 100,
    "channels": "last",
    "options": {},
    "front": {"layers": [{"channels": 16, "padding": 1, "pool": 2}, {"channels": 32}]},
    "fitness_threshold": 0.0,
    "target_num_species": 10,
}
FILLED_IN_BY_THE_TASK = ("num_inputs", "num_outputs")


def write_template(path: Path, task: RegisteredTask) -> str:
    """Writes a config for a task, with all settings explained."""
    own = _shipped(task.name)
    beginning = (
        f"# {printable(path.stem)}: evolve networks on {task.name}, {task.summary}.\n"
        "#\n"
        f"#     evonet evolve {printable(str(path))}\n"
        "#\n"
        "# A line like #this = 1 shows a setting and its default. Remove the # to change it.\n"
    )
    if own:
        beginning += f"# Lines without # are the settings of evonet's config for {task.name}.\n"
    parts = [beginning, _task_table(task, own)]
    defaults = Config.from_dict({"task": {"name": task.name}})
    threshold = own.get("task", {}).get("solved", task.defaults.get("solved"))
    if threshold is not None:
        defaults = defaults.replace({"neat.fitness_threshold": threshold})
    for title, use in TABLES.items():
        table = getattr(defaults, title)
        if isinstance(table, Schema) and use.algorithm in (None, defaults.run.algorithm):
            parts.append("\n".join(_table(title, table, own)) + "\n")
    return "\n".join(parts)


def _shipped(name: str) -> dict[str, dict[str, object]]:
    """Returns the settings of evonet's config for a task; none if there is no such config."""
    path = resource_folder("configs") / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _task_table(task: RegisteredTask, own: dict[str, dict[str, object]]) -> str:
    lines = ["[task]", _entry("name", task.name)]
    given, defaults, meanings = own.get("task", {}), task.defaults, task.meanings
    for name in task.options:
        lines += _comment(in_a_file(meanings.get(name, "")))
        if name in given:
            lines.append(_entry(name, given[name]))
        elif name in task.required:
            lines.append(_entry(name, EXAMPLES.get(name, "?")))
        else:
            lines.append(_commented_out(name, defaults[name]))
    return "\n".join(lines) + "\n"


def _table(title: str, table: Schema, own: dict[str, dict[str, object]]) -> Iterator[str]:
    yield f"# {_summary(type(table))}"
    yield f"[{title}]"
    yield from _settings(table, "", own.get(title, {}), set())


def _settings(
    table: Schema, prefix: str, given: dict[str, object], explained: set[str]
) -> Iterator[str]:
    """Lists the settings of a table, each explained where it first appears."""
    meaning = _meanings(type(table))
    for field in dataclasses.fields(table):
        value = getattr(table, field.name)
        name = f"{prefix}{field.name}"
        if isinstance(value, Schema):
            yield ""
            yield from _comment(meaning[field.name])
            yield from _settings(value, f"{name}_", given, explained)
            continue
        if name in FILLED_IN_BY_THE_TASK:
            continue
        if meaning[field.name] not in explained:
            yield from _comment(in_a_file(meaning[field.name]))
        yield _entry(name, given[name]) if name in given else _commented_out(name, value)
    explained.update(meaning.values())


def _commented_out(name: str, default: object) -> str:
    """Comments out a setting that has its default; without its # it is valid TOML."""
    if default is None:
        example = _entry(name, EXAMPLES.get(name, "?"))
        return f"#{example}  # an example: there is no default"
    return f"#{_entry(name, list(default) if isinstance(default, tuple) else _plain(default))}"


def _plain(value: object) -> object:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _entry(name: str, value: object) -> str:
    return write({"": {name: value}}).split("\n")[1]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# ")


def _summary(schema: type[Schema]) -> str:
    return (inspect.getdoc(schema) or "").split("\n")[0]


def _meanings(schema: type[Schema]) -> dict[str, str]:
    """Returns the Attributes sections of a schema and its bases, by name."""
    meanings: dict[str, str] = {}
    for base in reversed(schema.__mro__):
        meanings |= read_section(base, "Attributes")
    return meanings
