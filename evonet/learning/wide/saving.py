"""Models and checkpoints: one checksummed file of arrays, from which nothing is executed."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evonet.backends.wide import WideKernels
from evonet.backends.wide_level import Level
from evonet.errors import CheckpointError, FileFormatError
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.files.saved_state import SavedState, check
from evonet.learning.wide.training import WideModel, WideSettings

FORMAT: Final = "evonet.wide"
VERSION: Final = 1
PARTS: Final = ("weights", "mean", "square", "state")
CLASSES: Final = "classes"
MOST: Final = 2**31 - 1


class Saved(NamedTuple):
    """What a file holds.

    Attributes:
        model: The level, as it was.
        classes: [C] what its rows stand for; None for their positions.
        single: Whether samples have exactly one class.
        progress: What the fit that wrote the file had done, by name.
        params: The arguments of the classifier.
        trunk: What was trained of the trunk, by name.
    """

    model: WideModel
    classes: NDArray[Any] | None
    single: bool
    progress: dict[str, Any]
    params: dict[str, Any]
    trunk: dict[str, NDArray[Any]]


def pack_model(model: WideModel) -> dict[str, NDArray[Any]]:
    """The arrays of a model by name."""
    levels = {"outputs": model.outputs, **({"inputs": model.inputs} if model.inputs else {})}
    return {
        f"{name}.{part}": np.ascontiguousarray(model.kernels.get(getattr(level, part)))
        for name, level in levels.items()
        for part in PARTS
    }


def save_model(path: str | os.PathLike[str], saved: Saved) -> None:
    """Writes a file, whole or not at all; equal models give equal bytes.

    Raises:
        OSError: It cannot be written.
    """
    model, arrays = saved.model, {**pack_model(saved.model), **saved.trunk}
    names: list[str] | None = None
    if saved.classes is not None:
        if saved.classes.dtype.kind in "iub":
            arrays[CLASSES] = saved.classes.astype(np.int64)
        else:
            names = [str(each) for each in saved.classes.tolist()]
    settings = {
        "settings": dataclasses.asdict(model.settings),
        "counters": [model.step, model.epoch, model.interval, model.next_rebuild],
        "single": saved.single,
        "names": names,
        "progress": saved.progress,
        "params": saved.params,
    }
    write_tensors(path, FORMAT, VERSION, settings, arrays)


def load_model(path: str | os.PathLike[str], kernels: WideKernels) -> Saved:
    """Reads what `save_model` wrote.

    Raises:
        FileFormatError: The file is damaged, or holds something else.
        OSError: It cannot be read.
    """
    where = os.fspath(path)
    facts, arrays = read_tensors(path, FORMAT, VERSION, (), prefix="")
    try:
        return _unpack(SavedState(facts, arrays), kernels)
    except (CheckpointError, KeyError, TypeError) as error:
        reason = str(error) if isinstance(error, CheckpointError) else "a setting is missing."
        raise FileFormatError(f"{where}: {reason}") from None


def _unpack(saved: SavedState, kernels: WideKernels) -> Saved:
    settings = _read_settings(saved.settings["settings"])
    model = WideModel(settings, kernels, empty=True)
    for name, rows in (("inputs", settings.num_inputs), ("outputs", settings.num_classes)):
        if rows:
            setattr(model, name, _read_level(saved.arrays, name, rows, settings.width, kernels))
    counters = saved.settings["counters"]
    check(isinstance(counters, list) and len(counters) == 4, "counters are not four numbers.")
    fits = all(type(n) is int and 0 <= n < 2**60 for n in (*counters[:2], counters[3]))
    fits = fits and type(counters[2]) is float and counters[2] >= 1
    check(fits, "counters are out of range.")
    model.step, model.epoch, model.interval, model.next_rebuild = counters
    classes = saved.arrays.get(CLASSES)
    names = saved.settings["names"]
    if names is not None:
        check(
            isinstance(names, list) and all(isinstance(each, str) for each in names),
            "names of classes are not text.",
        )
        classes = np.array(names)
    check(classes is None or classes.shape == (settings.num_classes,), "classes do not fit.")
    for key in ("progress", "params"):
        check(isinstance(saved.settings[key], dict), f"{key} is not a table.")
    single = saved.settings["single"] is True
    trunk = {name: array for name, array in saved.arrays.items() if name.startswith("trunk.")}
    notes, params = saved.settings["progress"], saved.settings["params"]
    return Saved(model, classes, single, notes, params, trunk)


def _read_settings(found: Any) -> WideSettings:
    fields = {field.name: field.type for field in dataclasses.fields(WideSettings)}
    check(isinstance(found, dict) and found.keys() == fields.keys(), "settings do not fit.")
    kinds = {"int": int, "float": float, "str": str}
    for name, kind in fields.items():
        check(type(found[name]) is kinds[str(kind)], f"setting {name} does not fit.")
    settings = WideSettings(**found)
    settings.check()
    return settings


def _read_level(
    arrays: dict[str, NDArray[Any]], name: str, rows: int, width: int, kernels: WideKernels
) -> Level:
    found = []
    for part in PARTS:
        array = arrays.get(f"{name}.{part}")
        shape = (rows, 4 if part == "state" else width)
        if array is None or array.dtype != np.float32 or array.shape != shape:
            raise CheckpointError(f"{name}.{part} does not have the shape {list(shape)}.")
        found.append(array)
    updates = found[3][:, 3]
    check(((updates >= 0) & (updates <= 2**24)).all(), f"{name}.state counts no updates.")
    return Level(*(kernels.put(array) for array in found))
