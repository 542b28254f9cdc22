"""What a test must leave as it found it, since another one runs after it in the same process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final

import numpy as np

from evonet.definitions import providers
from evonet.functions.registry import OWN
from evonet.tasks.registry import TASK_DEFAULTS, TASKS

# pytest itself changes this one while a test runs.
NOT_WATCHED: Final = "PYTEST_CURRENT_TEST"
# Other libraries set variables when they are first imported, in whichever test that is: new ones
# are left alone unless they are evonet's.
VARIABLES: Final = frozenset(os.environ) - {NOT_WATCHED}
TABLES: Final[dict[str, MutableMapping[str, Any]]] = {
    "environment variables": os.environ,
    "registered tasks": TASKS,
    "defaults of tasks": TASK_DEFAULTS,
    "readers of genomes": providers.GENOME_READERS,
    "writers of genomes": providers.GENOME_WRITERS,
    "prefixes of tasks": providers.TASK_PREFIXES,
}
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class State:
    """The global state at one moment; `restore` returns to it and names what had changed."""

    def __init__(self) -> None:
        self._tables = {name: _copy(table) for name, table in TABLES.items()}
        self._values = {name: read() for name, (read, _) in VALUES.items()}

    def restore(self) -> list[str]:
        """Undoes all changes; returns what they changed, such as "the working folder"."""
        changed = []
        for name, before in self._tables.items():
            table = TABLES[name]
            now = _copy(table)
            keys = [key for key in {**before, **now} if before.get(key) is not now.get(key)]
            keys = [key for key in keys if before.get(key) != now.get(key)]
            for key in keys:
                table.pop(key, None)
                if key in before:
                    table[key] = before[key]
            if keys:
                changed.append(f"{name}: {', '.join(sorted(keys))}")
        for name, (read, write) in VALUES.items():
            if _now(read) != self._values[name]:
                write(self._values[name])
                changed.append(name)
        return changed


def remove_custom_functions() -> None:
    """Gives up the names of custom functions, which a config or file that is read may register."""
    for functions in OWN.values():
        for name, number in list(functions.ids.items()):
            if number >= functions.num_builtin:
                functions.unregister(name)


def _copy(table: MutableMapping[str, Any]) -> dict[str, Any]:
    if table is not os.environ:
        return dict(table)
    return {k: v for k, v in table.items() if k in VARIABLES or k.startswith("EVONET_")}


def _now(read: Callable[[], Any]) -> Any:
    with suppress(FileNotFoundError):  # the working folder was deleted
        return read()
    return None


def _set_path(path: list[str]) -> None:
    sys.path[:] = path


def _set_signals(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


# By name: how to read it and how to set it again.
VALUES: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], object]]]] = {
    "the working folder": (os.getcwd, os.chdir),
    "sys.path": (lambda: list(sys.path), _set_path),
    "handlers of signals": (
        lambda: {number: signal.getsignal(number) for number in SIGNALS},
        _set_signals,
    ),
    "NumPy's treatment of floating-point errors": (np.geterr, lambda found: np.seterr(**found)),
}
