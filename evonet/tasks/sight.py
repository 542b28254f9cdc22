"""What a network sees, for reports: images, the first maps of their front, and what it chose.

    "sight": {"labels": ["0", "1", ...],
              "views": [{"image": [C][H][W], "maps": [M][h][w], "outputs": [0.9, ...],
                         "answer": 3, "right": 3}, ...]}

Pixels are whole numbers up to 255. Those of images go from 0, for the smallest number of all of
them, to 255 for the largest. Those of maps are in parts of the largest magnitude of all maps of an
image, and negative where the map is. Larger pictures are thinned out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.images.front import ConvFront
from evonet.numerics.elementary import exponential

if TYPE_CHECKING:
    from evonet.network import Network

Array = npt.NDArray[Any]

MOST_VIEWS: Final = 8
MOST_MAPS: Final = 8
MOST_SIDE: Final = 64


def describe_sight(
    front: ConvFront, images: Array, y: Array, network: Network, labels: Sequence[str]
) -> dict[str, Any]:
    """Shows some images as one network sees them: its mistakes first, then one of each class.

    Args:
        front: The front before the network.
        images: [B, C, H, W] as the front takes them.
        y: [B, O] the right answers, the largest of which is the class.
        network: One compiled network.
        labels: [O] the names of the classes.
    """
    network.reset()
    answers = network(front(images))[0].astype(np.float64)
    network.reset()
    right, found = y.argmax(axis=1), np.nan_to_num(answers, nan=-np.inf).argmax(axis=1)
    wrong = np.flatnonzero(right != found)[: MOST_VIEWS // 2].tolist()
    good = np.flatnonzero(right == found)
    _, firsts = np.unique(right[good], return_index=True)
    chosen = [*wrong, *good[firsts].tolist()][:MOST_VIEWS]
    views = describe_views(front, images[chosen], answers[chosen])
    for view, place in zip(views, chosen, strict=True):
        view["right"] = int(right[place])
    return {"labels": list(labels), "views": views}


def describe_views(front: ConvFront, images: Array, outputs: Array) -> list[dict[str, Any]]:
    """Images [B, C, H, W] with the first maps of a front and the outputs [B, O] of a network."""
    first = front.arrays
    maps = ConvFront(
        front.layers[:1],
        front.input_shape,
        weights={name: first[name] for name in ("0.weight", "0.bias")},
        dtype=front.dtype,
    )
    seen = maps(images).reshape(len(images), *maps.output_shape)[:, :MOST_MAPS]
    shares = _softmax(outputs)
    return [
        {
            "image": _bytes(_thinned(image), float(images.min()), float(images.max())),
            "maps": _bytes(_thinned(of), 0.0, float(np.abs(of).max())),
            "outputs": [float(f"{share:.4g}") for share in row],
            "answer": int(row.argmax()),
        }
        for image, of, row in zip(images, seen, shares, strict=True)
    ]


def _thinned(maps: Array) -> Array:
    step = -(-max(maps.shape[1:]) // MOST_SIDE)
    return maps[:, ::step, ::step]


def _bytes(maps: Array, least: float, most: float) -> list[list[list[int]]]:
    scale = 255.0 / (most - least) if most > least else 0.0
    numbers = np.clip(np.rint((maps.astype(np.float64) - least) * scale), -255, 255)
    whole: list[list[list[int]]] = numbers.astype(np.int64).tolist()
    return whole


def _softmax(outputs: Array) -> Array:
    finite = np.nan_to_num(outputs.astype(np.float64))
    powers = exponential(finite - finite.max(axis=1, keepdims=True))
    total = np.zeros(len(powers))
    for column in powers.T:
        total = total + column
    shares: Array = powers / total[:, None]
    return shares
