"""A table of examples that was typed instead of a task: which task is it?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from evonet.errors import FileFormatError
from evonet.files.npz import read_npz
from evonet.messages import show
from evonet.tasks.data import find_targets
from evonet.tasks.tables import ENDINGS, Header, infer_kind, read_table

TABLE_ENDINGS: Final = (*ENDINGS, ".npz")
# The options of [task] for a table that comes without a config.
HELD_OUT: Final = 0.2
VALIDATION: Final = 0.2
BATCH: Final = 0.5


def describe_table(path: Path, changes: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """Returns a [task] table for a file of examples, and a line about what was inferred.

    Args:
        path: The file.
        changes: What else was typed, by the names of settings.

    Raises:
        OptionError: There is no such column.
        FileFormatError: It is not a table.
        OSError: There is no such file, or it cannot be read.
    """
    if path.suffix.lower() == ".npz" and _holds_images(path):
        table: dict[str, object] = {"name": "images", "data": str(path.resolve())}
        return table, f"{path.name}: classes of images, because it holds images and labels."
    kind, why = _find_kind(path, changes)
    other = "regression" if kind == "classification" else "classification"
    line = f"{path.name}: {kind}, because {why}."
    if "text" not in why:
        line += f" For {other}: evonet evolve {other} --data {path}"
    return table_options(kind) | {"data": str(path.resolve())}, line


def _holds_images(path: Path) -> bool:
    try:
        read_npz(path, ("images", "labels"))
    except FileFormatError:
        return False
    return True


def table_options(kind: str) -> dict[str, object]:
    """Returns the options of a table without a config.

    Args:
        kind: The name of the task, "classification" or "regression".
    """
    table: dict[str, object] = {
        "name": kind,
        "test_fraction": HELD_OUT,
        "validation_fraction": VALIDATION,
        "batch_fraction": BATCH,
        "standardize": True,
    }
    if kind == "regression":
        table["standardize_targets"] = True
    return table


def _find_kind(path: Path, changes: Mapping[str, object]) -> tuple[str, str]:
    targets = changes.get("task.targets")
    if path.suffix.lower() == ".npz":
        (y,) = read_npz(path, ("y",))
        if y.ndim == 1 and y.dtype.kind not in "fc":
            return "classification", f"y holds {y.dtype}"
        return "regression", f"y holds {y.dtype}"
    header = cast(Header, changes.get("task.header", "auto"))
    table = read_table(path, header)
    names = find_targets(table, targets)
    if len(names) > 1:
        return "regression", "there are several targets"
    kind, why = infer_kind(table, names[0])
    last = " (the last column)" if targets is None else ""
    return kind, f"{show(names[0])}{last} holds {why}"
