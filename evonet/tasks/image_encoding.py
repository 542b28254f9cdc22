"""How images become the inputs of a network, and its outputs become classes.

An encoding travels in champion.json, so that `evonet predict` treats new images as evolution did.
The weights of its front are the state of the task, which a champion keeps too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from evonet.errors import EvonetError, FileFormatError, ShapeError
from evonet.images.front import ConvFront
from evonet.images.layers import MOST_SIDE, Conv, plan_layers
from evonet.images.spec import layers_from_list, table_from_layers
from evonet.messages import counted, show

Array = npt.NDArray[Any]

KIND: Final = "images"
STATE: Final = "front"
NAMES: Final = ("kind", "input_shape", "layers", "scale", "classes")


@dataclass(frozen=True)
class ImageEncoding:
    """What a network needs to know about images.

    Attributes:
        input_shape: (C, H, W) of an image.
        layers: The convolutions of its front.
        scale: What numbers of an image are divided by.
        classes: The classes, one per output.
    """

    input_shape: tuple[int, int, int]
    layers: tuple[Conv, ...]
    scale: float
    classes: tuple[str, ...]

    # What predictions call the class of an image, as `Encoding` has it.
    targets: tuple[str, ...] = ("label",)
    missing: Literal["error"] = "error"

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the features: the map, and where in it."""
        channels, height, width = self._blank().output_shape
        places = np.ndindex(channels, height, width)
        return tuple(f"map {o} at {y}, {x}" for o, y, x in places)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The classes."""
        return self.classes

    def describe(self) -> str:
        """Says what the front makes of an image, layer by layer."""
        shapes = [layer.output_shape for layer in plan_layers(self.layers, self.input_shape)]
        sizes = [f"{counted(maps, 'map')} of {h} x {w}" for maps, h, w in shapes]
        count = int(np.prod(shapes[-1]))
        return f"{', then '.join(sizes)}: {counted(count, 'feature')}"

    def front(self, state: Mapping[str, Array]) -> ConvFront:
        """Returns the front.

        Args:
            state: The state of the task, in which "front" has all weights one after the other.

        Raises:
            FileFormatError: They are not there, or too many or too few.
        """
        blank = self._blank()
        if STATE not in state:
            raise FileFormatError(f"task_state has no weights of the front, {show(STATE)}.")
        try:
            return blank.replace(unpack_front(blank, state[STATE]))
        except ShapeError as error:
            raise FileFormatError(f"task_state.{STATE}: {error}") from error

    def inputs(self, images: Array) -> Array:
        """Brings images [B, C, H, W] into the form that the front takes.

        Raises:
            ShapeError: They have another shape.
        """
        if images.shape[1:] != self.input_shape:
            raise ShapeError(
                f"images must be {_size(self.input_shape)}, found {_size(images.shape[1:])}."
            )
        return (images / np.float64(self.scale)).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values that JSON can hold."""
        return {
            "kind": KIND,
            "input_shape": list(self.input_shape),
            "layers": table_from_layers(self.layers)["layers"],
            "scale": self.scale,
            "classes": list(self.classes),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> ImageEncoding:
        """Reads what `to_dict` returned, which may come from anywhere.

        Raises:
            FileFormatError: Something is missing, unknown or of another kind; names it.
        """
        if set(table) != set(NAMES):
            raise FileFormatError(f"encoding must have {', '.join(NAMES)}.")
        shape, scale, classes = table["input_shape"], table["scale"], table["classes"]
        if (
            not isinstance(shape, list)
            or len(shape) != 3
            or not all(type(n) is int and 1 <= n <= MOST_SIDE for n in shape)
        ):
            raise FileFormatError(f"encoding.input_shape is {show(shape)}. Expected [C, H, W].")
        if type(scale) not in (int, float) or not 0 < scale < np.inf:
            raise FileFormatError(f"encoding.scale is {show(scale)}. Expected a positive number.")
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise FileFormatError(f"encoding.classes is {show(classes)}. Expected a list of text.")
        try:
            layers = layers_from_list(table["layers"])
            found = cls((shape[0], shape[1], shape[2]), layers, float(scale), tuple(classes))
            found._blank()
        except FileFormatError:
            raise
        except EvonetError as error:
            raise FileFormatError(f"encoding: {error}") from error
        return found

    def _blank(self) -> ConvFront:
        return ConvFront(self.layers, self.input_shape)


def pack_front(front: ConvFront) -> npt.NDArray[np.float64]:
    """All weights and biases of a front, one after the other."""
    arrays = front.arrays.values()
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in arrays])


def unpack_front(front: ConvFront, vector: Array) -> dict[str, Array]:
    """The arrays of a front, from what `pack_front` returned.

    Raises:
        ShapeError: There are more or fewer numbers than the front has weights.
    """
    count = sum(array.size for array in front.arrays.values())
    if vector.shape != (count,):
        raise ShapeError(f"the front has {count} weights, found {vector.size}.")
    found, at = {}, 0
    for name, array in front.arrays.items():
        found[name] = vector[at : at + array.size].reshape(array.shape)
        at += array.size
    return found


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
