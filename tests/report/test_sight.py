"""The card of what a champion sees: pictures, choices, and files that hold something else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evonet.errors import FileFormatError
from evonet.report.results import draw_results
from evonet.report.sight import draw_sight


def view(**changes: Any) -> dict[str, Any]:
    image = np.arange(12).reshape(1, 3, 4).tolist()
    maps = [[[0, 255], [-255, 9]]] * 2
    return {"image": image, "maps": maps, "outputs": [0.2, 0.8], "answer": 1, "right": 0, **changes}


def write(path: Path, sight: Any) -> Path:
    path.write_text(json.dumps({"sight": sight}))
    return path


def test_a_view_has_its_image_maps_and_choice(tmp_path: Path) -> None:
    sight = {"labels": ["ant <1>", "bee"], "views": [view(), view(right=1)]}
    card = draw_sight(write(tmp_path / "results.json", sight))
    assert len(re.findall(r'<img class="image"', card)) == 2
    assert card.count('alt="feature map 1"') == 2
    assert "should be <b>ant &lt;1&gt;</b>" in card
    assert card.count("should be") == 1
    assert "80.0%" in card
    assert card.count("<div") == card.count("</div>")


def test_the_choice_comes_first_and_may_have_no_right_answer(tmp_path: Path) -> None:
    shown = view(outputs=[0.6, 0.4], answer=1)
    del shown["right"]
    card = draw_sight(write(tmp_path / "results.json", {"labels": ["a", "b"], "views": [shown]}))
    assert card.index("<b>b</b>") < card.index("<b>a</b>")
    assert "miss" not in card.split("<ul>")[1]


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 9])
def test_images_of_any_number_of_channels_have_colours(channels: int, tmp_path: Path) -> None:
    image = np.full((channels, 2, 2), 255).tolist()
    sight = {"labels": ["a", "b"], "views": [view(image=image)]}
    assert "data:image/png;base64," in draw_sight(write(tmp_path / "results.json", sight))


def test_runs_without_images_have_no_card(tmp_path: Path) -> None:
    assert draw_sight(tmp_path / "results.json") == ""
    (tmp_path / "results.json").write_text("{}")
    assert draw_sight(tmp_path / "results.json") == ""
    assert draw_sight(write(tmp_path / "results.json", {"labels": [], "views": []})) == ""
    # Games have views and no examples.
    assert draw_results(tmp_path / "results.json") == ""


@pytest.mark.parametrize(
    "sight",
    [
        3,
        {"labels": ["a", "b"]},
        {"labels": ["a", "b"], "views": [3]},
        {"labels": ["a"], "views": [view()]},
        {"labels": ["a", "b"], "views": [view(answer=7)]},
        {"labels": ["a", "b"], "views": [view(image=[[1, 2]])]},
        {"labels": ["a", "b"], "views": [view(image=[[[1], [2, 3]]])]},
        {"labels": ["a", "b"], "views": [view(maps=[[["x"]]])]},
        {"labels": ["a", "b"], "views": [view(image=np.zeros((1, 1, 300)).tolist())]},
        {"labels": ["a", "b"], "views": [view(right=5)]},
    ],
)
def test_other_contents_are_refused_in_one_line(sight: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", sight)
    with pytest.raises(FileFormatError, match="this is not what a champion sees") as caught:
        draw_sight(path)
    assert "\n" not in str(caught.value)
