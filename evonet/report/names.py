"""The names of inputs and outputs: of control tasks, and of tasks that provide them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import PurePath
from typing import Final, NamedTuple

from evonet.runs.champion_notes import read_name
from evonet.runs.folder import RunFolder


class PinNames(NamedTuple):
    """The names of a task's inputs and outputs."""

    inputs: tuple[str, ...]  # the names of inputs, in order
    outputs: tuple[str, ...]  # the names of outputs, in order


_CART = ("cart", "cart speed")
_POLES = ("long pole", "long pole speed", "short pole", "short pole speed")
_CAR = ("position", "speed")
_SCREEN = tuple(
    f"{channel} {row},{column}"
    for channel in ("ball", "bat")
    for row in range(8)
    for column in range(8)
)

PINS: Final[Mapping[str, PinNames]] = {
    "cartpole": PinNames((*_CART, "pole", "pole speed"), ("push left", "push right")),
    "mountain_car": PinNames(_CAR, ("left", "coast", "right")),
    "mountain_car_continuous": PinNames(_CAR, ("throttle",)),
    "pendulum": PinNames(("cosine", "sine", "speed"), ("torque",)),
    "acrobot": PinNames(
        ("cosine 1", "sine 1", "cosine 2", "sine 2", "speed 1", "speed 2"),
        ("left", "coast", "right"),
    ),
    "single_pole": PinNames((*_CART, "pole", "pole speed"), ("push",)),
    "single_pole_no_velocities": PinNames(("cart", "pole"), ("push",)),
    "double_pole": PinNames((*_CART, *_POLES), ("push",)),
    "double_pole_no_velocities": PinNames(("cart", "long pole", "short pole"), ("push",)),
    "copy": PinNames(("bit", "answer now"), ("answer",)),
    "t_maze": PinNames(("sign", "junction"), ("left", "ahead", "right")),
    "catch": PinNames(_SCREEN, ("left", "stay", "right")),
    "pong": PinNames(_SCREEN, ("up", "stay", "down")),
}


def title_of(task: Mapping[str, object], home: RunFolder) -> str:
    """Names a run for people: by its data set, its environment or its task."""
    name, data = task.get("name"), task.get("data")
    if isinstance(data, str):
        return PurePath(data).stem or data
    if not isinstance(name, str):
        return home.path.resolve().name
    kind, _, rest = name.partition(":")
    if kind == "gym" and rest:
        return rest
    return PurePath(name).name if ".py:" in name else name


class PinLabels(Mapping[int, str]):
    """The names of inputs -1..-I and outputs 0..O-1 by key, made when they are asked for."""

    def __init__(
        self, names: PinNames | None, num_inputs: int, num_outputs: int, notes: Mapping[str, object]
    ) -> None:
        self._names = names
        self._pins = num_inputs, num_outputs
        self._notes = notes

    def __getitem__(self, key: int) -> str:
        if not -self._pins[0] <= key < self._pins[1]:
            raise KeyError(key)
        noted = read_name(self._notes, key)
        if noted or self._names is None:
            return noted or (f"in {-1 - key}" if key < 0 else f"out {key}")
        return self._names.inputs[-1 - key] if key < 0 else self._names.outputs[key]

    def __iter__(self) -> Iterator[int]:
        num_inputs, num_outputs = self._pins
        return chain(range(-1, -1 - num_inputs, -1), range(num_outputs))

    def __len__(self) -> int:
        return sum(self._pins)


def pin_names(
    task: object, num_inputs: int, num_outputs: int, notes: Mapping[str, object] | None = None
) -> PinLabels:
    """Names inputs -1..-I and outputs 0..O-1 by key.

    `notes` is the champion's metadata, which may hold names that the task provided.
    """
    names = PINS.get(task) if isinstance(task, str) else None
    if names and (len(names.inputs), len(names.outputs)) != (num_inputs, num_outputs):
        names = None
    return PinLabels(names, num_inputs, num_outputs, notes or {})
