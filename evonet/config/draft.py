"""What a config file says, before all of it is known to make sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from evonet.config.functions import draft_functions
from evonet.config.schema import Setting
from evonet.config.task import FrozenTable, freeze
from evonet.errors import ConfigFault
from evonet.messages import did_you_mean, name, show

# Finding the nearest name takes a millisecond; a file of nothing but faults has thousands.
MOST_HINTS: Final = 100
# Tables that later versions will read.
RESERVED: Final = ("hyperneat", "map_elites", "novelty", "multi_objective")


@dataclass
class Draft:
    """A config in the making."""

    # The values that were found, by the flat names of their settings.
    values: dict[str, object] = field(default_factory=dict)
    # Settings that have no value because of a fault, so no default either.
    unreadable: set[str] = field(default_factory=set)
    task: FrozenTable = field(default_factory=FrozenTable)  # the [task] table
    functions: dict[str, dict[str, str]] = field(default_factory=dict)  # the [functions] table
    faults: list[ConfigFault] = field(default_factory=list)  # everything that is wrong so far
    ignored: list[str] = field(default_factory=list)  # what was ignored, for a warning
    # How the file spells the names of settings, where it differs.
    spelling: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)  # the line of every key in the file

    def spell(self, setting: str) -> str:
        """Names a setting as the file does."""
        return self.spelling.get(setting, setting)

    def blame(self, key: str, message: str, line: int | None = None) -> None:
        """Notes a fault; the message begins after the key."""
        self.faults.append(ConfigFault(key, f"{key} {message}".strip(), line))

    def hint(self, key: str, allowed: Sequence[str], elsewhere: Sequence[str] = ()) -> str:
        """Suggests an allowed key for an unknown one, or one of that very name `elsewhere`."""
        if len(self.faults) + len(self.ignored) >= MOST_HINTS:
            return ""
        return f'Did you mean "{elsewhere[0]}"?' if elsewhere else did_you_mean(key, allowed)

    def sorted_faults(self) -> list[ConfigFault]:
        """Orders the faults by their lines, those without a line last."""
        placed = [f if f.line else f._replace(line=self._line(f.key)) for f in self.faults]
        return sorted(placed, key=lambda fault: (fault.line is None, fault.line or 0))

    def _line(self, key: str) -> int | None:
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        return self.lines.get(key)


def draft_tables(
    tables: Mapping[str, object], known: Mapping[str, Setting], draft: Draft | None = None
) -> Draft:
    """Sorts the entries of tables into settings, the task, functions and faults."""
    draft = draft or Draft()
    titles = ["task", "functions", *dict.fromkeys(key.partition(".")[0] for key in known)]
    for title, table in tables.items():
        if title == "functions":
            draft_functions(table, draft)
        elif title in RESERVED:
            draft.blame(title, "is a table that evonet does not support yet. Remove it.")
        elif title not in titles:
            hint = draft.hint(title, titles, _owners(title, known))
            draft.blame(name(title), f"is not a table of a config. {hint}")
        elif not isinstance(table, Mapping):
            draft.blame(title, f"= {show(table)} must be a table, written [{title}].")
            draft.unreadable.update(key for key in known if key.startswith(f"{title}."))
        elif title == "task":
            task = freeze(table, "task", draft.faults)
            draft.task = task if isinstance(task, FrozenTable) else FrozenTable()
        else:
            _draft_settings(title, table, known, draft)
    return draft


def _draft_settings(
    title: str, table: Mapping[str, object], known: Mapping[str, Setting], draft: Draft
) -> None:
    own = [key.partition(".")[2] for key in known if key.startswith(f"{title}.")]
    for key, value in table.items():
        if key in own:
            draft.values[f"{title}.{key}"] = value
        else:
            hint = draft.hint(key, own, _owners(key, known))
            draft.blame(f"{title}.{name(key)}", f"is not a setting. {hint}")


def _owners(key: str, known: Mapping[str, Setting]) -> list[str]:
    return [other for other in known if other.partition(".")[2] == key]
