"""The text of a config to begin with, made from what the settings say about themselves.

Meanings are read from the docstrings of the config's parts, so that they exist once.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

from evonet.config import Config
from evonet.config.config import TABLES
from evonet.config.schema import Part
from evonet.config.toml import write
from evonet.resources import resource_folder
from evonet.tasks.registry import RegisteredTask

# What stands for an option without a default.
EXAMPLES = {"data": "data.csv"}
LEFT_TO_THE_TASK = ("num_inputs", "num_outputs")


def write_template(path: Path, task: RegisteredTask) -> str:
    """Writes a config for a task, with all settings explained.

    Args:
        path: What the file will be called.
        task: Whose options stand in [task].
    """
    own = _shipped(task.name)
    parts = [
        f"# {path.stem}: evolve networks on {task.name}, {task.summary}.\n"
        "#\n"
        f"#     evonet evolve {path}\n"
        "#\n"
        "# A line like #this = 1 shows a setting and its default. Remove the # to change it.\n",
        _task_table(task, own),
    ]
    defaults = Config()
    for title in TABLES[1:]:
        parts.append("\n".join(_table(title, getattr(defaults, title), own)) + "\n")
    return "\n".join(parts)


def _shipped(name: str) -> dict[str, dict[str, object]]:
    """The settings that evonet's own config for a task spells out."""
    path = resource_folder("configs") / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _task_table(task: RegisteredTask, own: dict[str, dict[str, object]]) -> str:
    lines = ["[task]", _entry("name", task.name)]
    given = own.get("task", {})
    for option in task.options.values():
        if option.name in given:
            lines.append(_entry(option.name, given[option.name]))
        elif option.default is inspect.Parameter.empty:
            lines.append(_entry(option.name, EXAMPLES.get(option.name, "?")))
        elif option.default is None:
            lines.append(f"#{option.name} =")
        else:
            lines.append(f"#{_entry(option.name, option.default)}")
    return "\n".join(lines) + "\n"


def _table(title: str, part: Part, own: dict[str, dict[str, object]]) -> Iterator[str]:
    yield f"# {_summary(type(part))}"
    yield f"[{title}]"
    yield from _settings(part, "", own.get(title, {}), set())


def _settings(
    part: Part, prefix: str, given: dict[str, object], explained: set[str]
) -> Iterator[str]:
    """Lists the settings of a part, and what they mean unless its like were explained before."""
    meaning = _meanings(type(part))
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        name = f"{prefix}{field.name}"
        if isinstance(value, Part):
            yield ""
            yield from _comment(meaning[field.name])
            yield from _settings(value, f"{name}_", given, explained)
            continue
        if name in LEFT_TO_THE_TASK:
            continue
        if meaning[field.name] not in explained:
            yield from _comment(meaning[field.name].replace("None", "leaving it out"))
        if name in given:
            yield _entry(name, given[name])
        elif value is None:
            yield f"#{name} ="
        else:
            yield f"#{_entry(name, list(value) if isinstance(value, tuple) else _plain(value))}"
    explained.update(meaning.values())


def _plain(value: object) -> object:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _entry(name: str, value: object) -> str:
    return write({"": {name: value}}).split("\n")[1]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# ")


def _summary(part: type[Part]) -> str:
    return (inspect.getdoc(part) or "").split("\n")[0]


def _meanings(part: type[Part]) -> dict[str, str]:
    """The Attributes sections of a part and its bases, by name."""
    meanings: dict[str, str] = {}
    for base in reversed(part.__mro__):
        text = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", text, re.MULTILINE)
        meanings |= {name: re.sub(r"\s+", " ", meaning) for name, meaning in found}
    return meanings
