"""What the page shows of answers to examples, and how it stays legible."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import evonet
from evonet.config import Config
from evonet.errors import FileFormatError
from evonet.report import episode as episodes
from evonet.report.charts import Line, area_chart, line_chart
from evonet.report.family import MOST_OPEN_ROWS, draw_family
from evonet.report.folding import MOST_INPUTS, fold_inputs
from evonet.report.history import read_history
from evonet.report.layout import lay_out
from evonet.report.names import title_of
from evonet.report.network import draw_network
from evonet.report.page import render_report
from evonet.report.results import draw_results
from evonet.report.run_charts import draw_charts
from evonet.runs import Improvement, RunFolder, start_run
from evonet.runs.champion import Champion
from evonet.tasks import make_task, xor


def results(path: Path, kind: str, part: dict[str, Any], **more: Any) -> Path:
    part = {"examples": 7, "scores": {"loss": 0.5, "accuracy": 0.75}, **part}
    document = {"kind": kind, "inputs": ["a", "b"], "outputs": ["<ant>", "bee"], **more}
    path.write_text(json.dumps({**document, "parts": {"train": part, "held out": part}}))
    return path


def well_formed(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(markup.replace("&nbsp;", " "))


def test_a_run_without_results_has_no_card(tmp_path: Path) -> None:
    assert draw_results(tmp_path / "results.json") == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [('"examples": 7', '"examples": 1e999'), ("0.75", f"1{'0' * 400}"), ("[3, 1]", "[1e999, 1]")],
)
def test_results_beyond_all_numbers_are_refused(old: str, new: str, tmp_path: Path) -> None:
    path = results(tmp_path / "r.json", "classification", {"confusion": [[3, 1], [0, 3]]})
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(FileFormatError, match="these are no results of a champion: "):
        draw_results(path)


def test_a_confusion_matrix_counts_what_was_taken_for_what(tmp_path: Path) -> None:
    part = {"confusion": [[3, 1], [0, 3]]}
    page = draw_results(results(tmp_path / "r.json", "classification", part))
    cells = [
        [cell.text or "" for cell in row.iter("td")]
        for row in well_formed(page).findall(".//table[1]/tbody/tr")
    ]
    assert cells[:2] == [["3", "1"], ["", "3"]]
    assert "6 of 7 are right" in page
    assert "held-out examples" in page
    assert "&lt;ant&gt; taken for bee: 1" in page
    assert "75.0%" in page


def test_answers_are_plotted_against_what_is_right(tmp_path: Path) -> None:
    part = {"points": [[[0.0, 0.1], [1.0, 0.9], [2.0, None]]]}
    page = draw_results(results(tmp_path / "r.json", "regression", part, outputs=["y"]))
    circles = list(well_formed(page).iter("circle"))
    assert [c.get("class") for c in circles] == ["point faint"] * 2 + ["point"] * 2
    assert "y, right" in page


def test_a_truth_table_marks_wrong_answers(tmp_path: Path) -> None:
    part = {"rows": [[0, 1, 1, 0.93], [1, 1, 0, 0.7], [0, 0, 0, None]]}
    page = draw_results(results(tmp_path / "r.json", "truth table", part, outputs=["y"]))
    answers = [
        (cell.text, (cell.get("class") or "").split()[1])
        for cell in well_formed(page).iter("td")
        if "answer" in (cell.get("class") or "")
    ]
    assert answers == [("0.930", "hit"), ("0.700", "miss"), ("–", "miss")]
    assert "1 of 3 rows" in page


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"kind": "classification", "parts": {}}',
        '{"kind": "magic", "parts": {"train": {}}}',
        '{"kind": "classification", "outputs": [], "parts": {"train": {"confusion": [[1, 2]]}}}',
        '{"kind": "truth table", "inputs": [], "outputs": [], "parts": {"train": {"rows": []}}}',
    ],
)
def test_damaged_results_are_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"results\.json: these are no results"):
        draw_results(path)


def test_the_page_of_a_run_shows_its_truth_table(tmp_path: Path) -> None:
    config = Config.from_dict({"task": {"name": "xor"}, "run": {"generations": 2}})
    start_run(tmp_path / "run", xor(), config)
    assert "Truth table" in render_report(RunFolder(tmp_path / "run"))


def test_unused_inputs_are_left_out_and_the_weakest_joined() -> None:
    weights = np.zeros((64, 1))
    weights[:40, 0] = np.arange(1, 41)
    links = [(-1 - i, 0, float(w)) for i, (w,) in enumerate(weights) if w]
    population = evonet.Population.from_genes(64, 1, [([0], links)])
    names = {-1 - i: f"pixel {i}" for i in range(64)}
    layout, named, unused = fold_inputs(lay_out(population), names)
    assert unused == [f"pixel {i}" for i in range(40, 64)]
    inputs = [named[spot.key] for spot in layout.spots if spot.key < 0]
    assert len(inputs) == MOST_INPUTS
    assert inputs[-1] == f"{40 - MOST_INPUTS + 1} weaker inputs"
    assert "pixel 39" in inputs
    assert "pixel 1" not in inputs
    # Of the links of joined inputs the strongest is drawn.
    assert sorted(link.weight for link in layout.links) == [float(w) for w in range(17, 41)]
    drawing = draw_network(lay_out(population), names)
    assert "24 unused inputs left out" in drawing
    well_formed(drawing)


def test_few_inputs_are_all_drawn() -> None:
    population = evonet.Population.from_genes(4, 1, [([0], [(-1, 0, 1.0)])])
    layout = lay_out(population)
    assert fold_inputs(layout, {}).layout is layout


def family(fitness: list[float], sign: float = 1.0) -> str:
    node = {0: (0.0, 1.0, "tanh", "sum")}
    line = [
        Improvement(g, value, g, node, {1: (-1, 0, float(g), True)})
        for g, value in enumerate(fitness)
    ]
    champion = evonet.Population.random(1, 1, 1, num_nodes=1, num_connections=1)
    return draw_family(line, {}, Champion(champion), sign)


def test_only_gains_look_like_gains() -> None:
    page = family([5.0, 9.0, 7.0])
    assert re.findall(r'number (gain|setback)">([^<]*)<', page) == [
        ("gain", ""),
        ("gain", "+4"),
        ("setback", "−2"),
    ]
    assert "by other episodes or examples" in page
    page = family([5.0, 4.0, 2.0], sign=-1.0)
    assert "setback" not in page
    assert "by other episodes or examples" not in page


def test_gains_that_would_show_as_zero_have_no_row() -> None:
    page = family([0.0, 1.0, 1.0 + 1e-9, 1.0 + 2e-9, 2.0, 3.0])
    assert re.findall(r'gain">([^<]*)<', page) == ["", "+1", "+1", "+1"]
    assert "Left out: 2 smaller improvements." in page


def test_a_long_family_line_is_folded() -> None:
    page = family([float(g) for g in range(50)])
    folded, shown = page.split("</details>")
    assert folded.count("<tr>") - 1 == 50 - MOST_OPEN_ROWS
    assert shown.count("<tr>") - 1 == MOST_OPEN_ROWS
    assert f"{50 - MOST_OPEN_ROWS} earlier improvements" in folded


def test_labels_of_species_do_not_overlap() -> None:
    x = np.arange(40.0)
    layers = [Line(f"species {k}", np.full(40, 60.0), "h0") for k in (100, 101)]
    brief = [Line(f"species {200 + k}", np.where(x == k, 60.0, 0.0), "h1") for k in range(10, 20)]
    page = area_chart("Species", x, [*layers, *brief], legend=False)
    found = re.findall(r'layer-label" x="([\d.]+)" y="([\d.]+)"[^>]*>(\d+)<', page)
    spots = [(float(a), float(b)) for a, b, _ in found]
    assert 3 < len(spots) < 12
    for i, (a, b) in enumerate(spots):
        for c, d in spots[:i]:
            assert abs(a - c) > 21 or abs(b - d) > 12


@pytest.mark.parametrize(("low", "high"), [(1.0, 9.0), (3.0, 80.0), (1.0, 1e6), (1e-30, 1e30)])
def test_a_logarithmic_axis_says_so_and_has_numbers(low: float, high: float) -> None:
    page = line_chart("F", np.arange(3.0), [Line("a", np.array([low, low, high]), "c1")], log=True)
    assert ">F, logarithmic<" in page
    numbers = re.findall(r'class="tick"[^>]*text-anchor="end">([^<]+)<', page)
    assert 2 <= len(numbers) <= 10
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ({"name": "classification", "data": "/data/flowers.csv"}, "flowers"),
        ({"name": "gym:LunarLander-v3"}, "LunarLander-v3"),
        ({"name": "neat:/home/me/script.py:eval_genomes"}, "script.py:eval_genomes"),
        ({"name": "xor"}, "xor"),
        ({}, "run"),
    ],
)
def test_a_run_is_named_by_its_data(task: dict[str, object], title: str, tmp_path: Path) -> None:
    assert title_of(task, RunFolder(tmp_path / "run")) == title


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A run whose mean is far below its best, with a validation part."""
    path = tmp_path / "metrics.jsonl"
    numbers = dict.fromkeys(
        ("std", "mean_nodes", "mean_connections", "best_nodes", "best_connections",
         "evaluations", "evaluations_per_second", "solved"), 1.0)  # fmt: skip
    seconds = {"ask": 0.1, "compile": 0.2, "evaluate": 0.3, "tell": 0.1}
    with path.open("w") as file:
        for g in range(20):
            fitness = {"best": g, "best_so_far": g, "max": g, "mean": -1e6, "min": -1e9}
            more = {"generation": g, "validation": g - 0.5, "seconds": seconds}
            file.write(json.dumps({**numbers, **fitness, **more}) + "\n")
    return path


def test_the_axis_of_fitness_is_that_of_the_best(history: Path) -> None:
    chart = draw_charts(Config(), read_history(history), [])[0]
    numbers = re.findall(r'class="tick"[^>]*text-anchor="end">([^<]+)<', chart)
    assert all(-15 <= float(n) <= 35 for n in numbers)
    assert "best on validation" in chart


@pytest.mark.parametrize(("sizes", "shown"), [([(1, 9)], False), ([(1, 5), (2, 4)], True)])
def test_species_are_drawn_if_there_was_more_than_one(
    sizes: list[tuple[int, int]], shown: bool, history: Path
) -> None:
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    history.write_text(
        "".join(
            json.dumps({**line, "species": [{"key": k, "size": n} for k, n in sizes]}) + "\n"
            for line in lines
        )
    )
    charts = draw_charts(Config(), read_history(history), [])
    assert any('aria-label="Species"' in chart for chart in charts) == shown


def test_without_species_the_last_chart_fills_its_row(history: Path) -> None:
    charts = draw_charts(Config(), read_history(history), [])
    assert [re.findall(r'figure class="([^"]*)"', chart)[0] for chart in charts] == [
        *("chart in-wide", "chart in-narrow"),
        *("chart", "chart"),
        *("chart in-wide", "chart in-narrow"),
    ]


def test_an_episode_is_the_same_without_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    population = evonet.Population.random(1, 4, 2, num_nodes=6, num_connections=12, seed=3)
    native = episodes.record_episode(population, "cartpole", 5)
    monkeypatch.setattr(episodes, "load_native", lambda: None)
    reference = episodes.record_episode(population, "cartpole", 5)
    assert native.states.tobytes() == reference.states.tobytes()
    assert native.values.tobytes() == reference.values.tobytes()


def test_an_interrupt_leaves_a_page_without_the_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config.from_dict(
        {"task": {"name": "cartpole"}, "run": {"generations": 1}, "neat": {"pop_size": 20}}
    )
    start_run(tmp_path / "run", make_task("cartpole"), config)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evonet.report.page.record_episode", interrupted)
    page = render_report(RunFolder(tmp_path / "run"))
    assert "The champion's network" in page
    assert 'class="scene"' not in page
