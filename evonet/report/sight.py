"""What the champion sees: images, the first maps of its front and what it chose, as a card."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import FileFormatError
from evonet.files.animated_png import encode_frames
from evonet.messages import name as name_of
from evonet.report.markup import items, text

Array = npt.NDArray[np.float64]

MOST_VIEWS: Final = 12
MOST_MAPS: Final = 16
MOST_SIDE: Final = 256
# The likeliest answers that are shown of each image.
MOST_ANSWERS: Final = 3
# Channels of images that have neither one nor three: orange, blue, green, purple, yellow, cyan.
HUES: Final = np.array(
    [
        *((255, 140, 60), (90, 160, 255), (110, 220, 120)),
        *((200, 120, 255), (250, 220, 80), (80, 220, 220)),
    ]
)


def draw_sight(path: Path) -> str:
    """Draws "sight" of results.json, as `evonet.tasks.sight` documents it; "" if there is none.

    Raises:
        FileFormatError: The file holds something else.
    """
    if not path.is_file():
        return ""
    try:
        sight = json.loads(path.read_bytes()).get("sight")
        if sight is None:
            return ""
        labels = [str(label) for label in sight["labels"]]
        views = [_view(view, labels) for view in sight["views"][:MOST_VIEWS]]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        reason = name_of(str(error))
        raise FileFormatError(f"{path}: this is not what a champion sees: {reason}") from error
    if not views:
        return ""
    return items(
        [
            '<div class="card sight"><h2>What it sees</h2><div class="views">',
            *views,
            "</div>",
            '<p class="note">An image, the first feature maps that its front makes of it (blue '
            "above 0, orange below), and what the champion chose. Bars are the softmax of its "
            "outputs.</p></div>",
        ]
    )


def _view(view: Any, labels: list[str]) -> str:
    outputs = [float(share) for share in view["outputs"]]
    answer, right = int(view["answer"]), view.get("right")
    if not 0 <= answer < len(outputs) or len(labels) != len(outputs):
        raise ValueError("an answer is none of the labels")
    order = sorted(range(len(outputs)), key=lambda o: (o != answer, -outputs[o]))
    rows = []
    for o in order[:MOST_ANSWERS]:
        good = "" if right is None else " hit" if o == int(right) else " miss"
        share = min(max(outputs[o], 0.0), 1.0)
        rows.append(
            f'<li class="{"chosen" if o == answer else ""}{good if o == answer else ""}" '
            f'style="--share:{share:.3f}"><b>{text(labels[o])}</b> <i>{share:.1%}</i></li>'
        )
    verdict = ""
    if right is not None and int(right) != answer:
        verdict = f'<p class="miss">should be <b>{text(labels[int(right)])}</b></p>'
    maps = "".join(
        f'<img alt="feature map {i}" src="{_picture(_of_map(m))}">'
        for i, m in enumerate(_numbers(view["maps"])[:MOST_MAPS])
    )
    image = _picture(_of_image(_numbers(view["image"])))
    return (
        f'<div class="view"><img class="image" alt="what it is shown" src="{image}">'
        f'<div class="maps">{maps}</div><div class="choice"><ul>{"".join(rows)}</ul>{verdict}</div>'
        "</div>"
    )


def _numbers(found: Any) -> Array:
    maps = np.array(found, np.float64)
    if maps.ndim != 3 or 0 in maps.shape or max(maps.shape[1:]) > MOST_SIDE:
        raise ValueError(f"a picture has the shape {list(maps.shape)}")
    if not np.isfinite(maps).all():
        raise ValueError("a picture has pixels that are not finite")
    return np.clip(maps, -255, 255)


def _of_image(maps: Array) -> Array:
    """Colours [H, W, 3] of channels [C, H, W]."""
    if len(maps) == 1:
        return np.repeat(maps[0][..., None], 3, axis=2)
    if len(maps) == 3:
        return np.moveaxis(maps, 0, 2)
    hues = HUES[np.arange(len(maps)) % len(HUES)]
    layers = np.clip(maps, 0, 255)[..., None] / 255 * hues[:, None, None]
    return np.asarray(layers.max(axis=0), np.float64)


def _of_map(values: Array) -> Array:
    above, below = (np.clip(v, 0, 255)[..., None] / 255 for v in (values, -values))
    return np.asarray(above * [150, 205, 255] + below * [255, 150, 70], np.float64)


def _picture(colours: Array) -> str:
    frame = np.clip(np.rint(colours), 0, 255).astype(np.uint8)
    return "data:image/png;base64," + base64.b64encode(encode_frames([frame], 1.0)).decode()
