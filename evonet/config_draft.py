"""What a config file says, before all of it is known to make sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evonet.config_rules import nearest, printable, show
from evonet.config_schema import Setting
from evonet.config_task import Table, freeze
from evonet.errors import ConfigFault


@dataclass
class Draft:
    """A config in the making.

    Attributes:
        values: Flat names of settings with the values that were found.
        unreadable: Settings that have no value because of a fault, so no default either.
        task: The [task] table.
        faults: All that is wrong so far.
        ignored: What was left aside, for a warning.
        spelling: How the file spells the names of settings, where it differs.
        lines: The line of every key that the file spells.
    """

    values: dict[str, object] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    task: Table = field(default_factory=Table)
    faults: list[ConfigFault] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    spelling: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def spell(self, name: str) -> str:
        """Names a setting as the file does."""
        return self.spelling.get(name, name)

    def blame(self, key: str, message: str, line: int | None = None) -> None:
        """Notes a fault; the message begins after the key."""
        self.faults.append(ConfigFault(key, f"{key} {message}".strip(), line))

    def sorted_faults(self) -> list[ConfigFault]:
        """Orders the faults as the file has them, those without a line last."""
        placed = [f if f.line else f._replace(line=self._line(f.key)) for f in self.faults]
        return sorted(placed, key=lambda fault: (fault.line is None, fault.line or 0))

    def _line(self, key: str) -> int | None:
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        return self.lines.get(key)


def draft_tables(
    tables: Mapping[str, object], known: Mapping[str, Setting], draft: Draft | None = None
) -> Draft:
    """Sorts the entries of tables into settings, the task and faults.

    Args:
        tables: Table names with tables.
        known: All settings by flat name.
        draft: What to add to.
    """
    draft = draft or Draft()
    names = list(dict.fromkeys(["task", *(name.partition(".")[0] for name in known)]))
    for name, table in tables.items():
        title = printable(str(name)[:100])
        if name not in names:
            owners = [key for key in known if key.partition(".")[2] == name]
            hint = f"Did you mean {owners[0]}?" if owners else nearest(name, names)
            draft.blame(title, f"is not a table of a config. {hint}")
        elif not isinstance(table, Mapping):
            draft.blame(title, f"= {show(table)} must be a table, written [{title}].")
            draft.unreadable.update(key for key in known if key.startswith(f"{name}."))
        elif name == "task":
            task = freeze(table, "task", draft.faults)
            draft.task = task if isinstance(task, Table) else Table()
        else:
            _draft_table(title, table, known, draft)
    return draft


def _draft_table(
    table: str, entries: Mapping[str, object], known: Mapping[str, Setting], draft: Draft
) -> None:
    own = [key.partition(".")[2] for key in known if key.startswith(f"{table}.")]
    for key, value in entries.items():
        name = f"{table}.{key}"
        if isinstance(key, str) and name in known:
            draft.values[name] = value
            continue
        owners = [other for other in known if other.partition(".")[2] == key]
        hint = f'Did you mean "{owners[0]}"?' if owners else nearest(key, own)
        draft.blame(printable(name[:100]), f"is not a setting. {hint}")
