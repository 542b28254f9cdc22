"""The names of inputs and outputs: of control tasks, and of tasks that provide them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from evonet.runs.champion_notes import read_names


class PinNames(NamedTuple):
    """The names of a task's inputs and outputs."""

    inputs: tuple[str, ...]  # the names of inputs, in order
    outputs: tuple[str, ...]  # the names of outputs, in order


_CART = ("cart", "cart speed")
_POLES = ("long pole", "long pole speed", "short pole", "short pole speed")
_CAR = ("position", "speed")

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
}


def pin_names(
    task: object, num_inputs: int, num_outputs: int, notes: Mapping[str, object] | None = None
) -> dict[int, str]:
    """Names inputs -1..-I and outputs 0..O-1 by key.

    `notes` is the champion's metadata, which may hold names that the task provided.
    """
    names = PINS.get(task) if isinstance(task, str) else None
    if names is None or (len(names.inputs), len(names.outputs)) != (num_inputs, num_outputs):
        names = PinNames(
            tuple(f"in {i}" for i in range(num_inputs)),
            tuple(f"out {i}" for i in range(num_outputs)),
        )
    return {
        **{-1 - i: name for i, name in enumerate(names.inputs)},
        **dict(enumerate(names.outputs)),
        **read_names(notes or {}, num_inputs, num_outputs),
    }
