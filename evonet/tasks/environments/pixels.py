"""Screens as networks see them: an image goes through a front, its features are the observation."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from evonet.errors import OptionError
from evonet.images.spec import front_from_table
from evonet.installation import load_native

Floats: TypeAlias = npt.NDArray[np.float64]
CHANNELS: Final = ("first", "last")


class Screen:
    """Turns observations of a `Box` of two or three dimensions into features.

    Whole numbers are divided by the largest that the space allows, so that a byte becomes 0 to 1.

    Attributes:
        shape: (C, H, W) of an image; that of the front has more channels if frames are stacked.
        channels: "first" or "last": where an observation has its channels; "none" for grey ones.
        front: What makes features of images.
        seen: The images that features were last made of, flattened.
    """

    seen: npt.NDArray[np.float32]

    def __init__(
        self,
        space: spaces.Space[Any],
        table: object,
        channels: str | None,
        frame_stack: int,
        label: str,
    ) -> None:
        """Reads the layout of observations and makes the front.

        Args:
            space: The space of observations.
            table: What `[task.front]` holds.
            channels: "first" or "last"; None to take the smallest side for the channels.
            frame_stack: Images that are seen at once, the newest last; more channels for the front.
            label: What users call the environment.

        Raises:
            OptionError: Observations are no images, it is unclear where their channels are, or the
                front does not fit them.
        """
        if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
            kind = type(space).__name__
            shape = f" of shape {list(space.shape)}" if space.shape else ""
            raise OptionError(
                f"front: {label} has observations of type {kind}{shape}. A front needs a Box of "
                "[height, width, channels] or [channels, height, width]. Leave front out.",
                "front",
            )
        self._size = int(np.prod(space.shape))
        self.channels = _find_channels(space.shape, channels, label)
        if self.channels == "last":
            height, width, count = space.shape
        else:
            count, height, width = space.shape if self.channels == "first" else (1, *space.shape)
        self.shape = count, height, width
        whole = space.dtype is not None and np.dtype(space.dtype).kind in "iu"
        largest = float(np.max(space.high)) if whole else 1.0
        self._scale = np.float32(1.0 / largest) if largest > 1.0 else None
        self.front = front_from_table(
            table,
            (count * frame_stack, height, width),
            backend="reference" if load_native() is None else "cpu",  # one image at a time
            threads=1,
        )

    @property
    def num_features(self) -> int:
        """Numbers that a network sees."""
        return self.front.num_features

    def read(self, seen: Any) -> npt.NDArray[np.float32]:
        """Makes an observation an image [C, H, W], flattened."""
        image = np.asarray(seen, np.float32)
        if self.channels == "last":
            image = image.transpose(2, 0, 1)
        flat = image.reshape(-1)
        if flat.size != self._size:
            raise ValueError(
                f"the observation has {flat.size} numbers, its space says {self._size}"
            )
        return flat if self._scale is None else flat * self._scale

    def features(self, frames: npt.NDArray[np.float32]) -> Floats:
        """Computes what a network sees of images [frames * C * H * W]."""
        self.seen = frames
        found: Floats = self.front(frames.reshape(1, *self.front.input_shape))[0].astype(np.float64)
        return found


def _find_channels(shape: tuple[int, ...], given: str | None, label: str) -> str:
    if given is not None and given not in CHANNELS:
        raise OptionError(f'channels = {given!r} must be "first" or "last".', "channels")
    if len(shape) == 2:
        if given is not None:
            raise OptionError(
                f"channels: {label} has grey images of shape {list(shape)}. Leave channels out.",
                "channels",
            )
        return "none"
    if given is not None:
        return given
    first, middle, last = shape
    if last < min(first, middle):
        return "last"
    if first < min(middle, last):
        return "first"
    raise OptionError(
        f"front: it is unclear where {label} has the channels of its images of shape "
        f'{list(shape)}. Set channels = "first" or channels = "last".',
        "front",
    )
