"""The page about a run: true to the run, whole, small, and safe whatever the files hold."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import evonet
from evonet.backends.reference.backend import evaluate_genome
from evonet.config import Config
from evonet.definitions.controls import CONTROLS, ControlTask
from evonet.errors import FileFormatError, RunFolderError
from evonet.numerics.intervals import proportion_interval
from evonet.report.charts import Band, Line, area_chart, line_chart
from evonet.report.episode import MOST_STEPS, record_episode
from evonet.report.family import MOST_ROWS, changes, draw_family
from evonet.report.history import MOST_POINTS, MOST_SPECIES, read_history
from evonet.report.layout import lay_out
from evonet.report.markup import short
from evonet.report.names import PINS, pin_names
from evonet.report.network import draw_network
from evonet.report.page import render_report, write_report
from evonet.report.scale import Scale, room, ticks
from evonet.report.scenes import make_scene
from evonet.report.terminal import WIDTH, draw_in_terminal
from evonet.runs import Improvement, RunFolder, start_run
from evonet.runs.champion import Champion, read_champion, save_champion
from evonet.runs.improvements import read_improvements
from evonet.tasks import Supervised, make_task, task_from_config, xor

# Elements of HTML that have no end.
VOID = {"meta", "link", "input", "br"}


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


class Page(HTMLParser):
    """Collects elements, and fails for one that is not closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def networks(control: ControlTask, seed: int = 1) -> evonet.Population:
    return evonet.Population.random(
        1, control.num_inputs, control.num_outputs, num_nodes=8, num_connections=20, seed=seed
    )


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of a few generations."""
    home = RunFolder(tmp_path_factory.mktemp("runs") / "cartpole")
    config = Config.from_dict(
        {"task": {"name": "cartpole"}, "run": {"generations": 5}, "neat": {"pop_size": 30}}
    )
    start_run(home.path, make_task("cartpole"), config)
    write_report(home)
    return home


# The page.


def test_a_page_is_whole_and_asks_for_nothing(cartpole: RunFolder) -> None:
    text = cartpole.report.read_text()
    page = Page(text)
    assert "cartpole" in text
    labels = {attributes.get("aria-label") for _, attributes in page.found}
    assert {"Fitness", "Complexity", "network", "episode"} <= labels
    assert "Milliseconds per generation" in labels
    assert "Evaluations per second" in labels
    for tag, attributes in page.found:
        assert "src" not in attributes, tag
        assert attributes.get("href") in (None, "data:,")
    assert not re.search(r"@import|url\(|https?://", text)


@pytest.mark.parametrize("criterion", ["max", "min", "mean"])
@pytest.mark.parametrize("threshold", [None, -1e9, 1e9])
def test_a_page_shows_whether_the_run_was_solved(
    tmp_path: Path, criterion: str, threshold: float | None
) -> None:
    class Open:  # XOR without a threshold of its own
        num_inputs, num_outputs = 2, 1
        evaluate = staticmethod(xor().evaluate)

    config = Config.from_dict(
        {
            "task": {"name": "xor"},
            "run": {"generations": 2},
            "neat": {"pop_size": 10, "fitness_criterion": criterion},
        }
    )
    if threshold is not None:
        config = config.replace({"neat.fitness_threshold": threshold})
    result = start_run(tmp_path / "run", Open(), config)
    badges = re.findall(r"<em[^>]*>([^<]*)</em>", render_report(RunFolder(tmp_path / "run")))
    assert badges == (
        [] if threshold is None else ["solved" if result.solved else "not solved yet"]
    )


@pytest.fixture
def flowers(tmp_path: Path) -> RunFolder:
    """A run that learnt classes from a file, with a quarter of it held out."""
    rows = "".join(f"{i % 7},{i},{'rose' if i % 2 else '<tulip>'}\n" for i in range(20))
    (tmp_path / "flowers.csv").write_text(f"petal,sepal <cm>,kind\n{rows}")
    task = {"name": "classification", "data": str(tmp_path / "flowers.csv"), "test_fraction": 0.25}
    config = Config.from_dict({"task": task, "run": {"generations": 2}, "neat": {"pop_size": 20}})
    home = RunFolder(tmp_path / "run")
    start_run(home.path, task_from_config(config), config)
    return home


def test_columns_and_classes_name_inputs_and_outputs(flowers: RunFolder) -> None:
    page = render_report(flowers)
    for name in ("petal", "sepal &lt;cm&gt;", "rose", "&lt;tulip&gt;"):
        assert f">{name}</text>" in page
    champion = read_champion(flowers.champion)
    names = pin_names("classification", 2, 2, champion.metadata)
    assert names == {-1: "petal", -2: "sepal <cm>", 0: "<tulip>", 1: "rose"}


def test_names_from_elsewhere_cannot_garble_a_terminal_or_crowd_out_a_drawing() -> None:
    notes = {"input 0": "\x1b[31mred", "output 0": "o" * 500, "output 1": 3, "input 7": "x"}
    names = pin_names(None, 1, 2, notes)
    assert names == {-1: "\\x1b[31mred", 0: "o" * 24, 1: "out 1"}


def test_a_page_shows_the_score_on_held_out_examples_with_its_interval(flowers: RunFolder) -> None:
    champion = read_champion(flowers.champion)
    task = task_from_config(Config.load(flowers.config))
    assert isinstance(task, Supervised)
    scores = task.test_scores(evonet.compile(champion.population))
    page = render_report(flowers)
    low, high = proportion_interval(round(5 * float(scores["accuracy"][0])), 5)
    assert f"<b>{float(scores['accuracy'][0]):.1%}</b>" in page
    assert f"<i>99 % interval {low:.1%} to {high:.1%}, 5 examples</i>" in page
    assert f"99 % interval of accuracy, held out: {low:.1%} to {high:.1%}." in page


def test_a_narrow_window_has_a_fitness_chart_that_fits(cartpole: RunFolder) -> None:
    text = cartpole.report.read_text()
    for shown, width in (("in-wide", 1152), ("in-narrow", 560)):
        figure = text.split(f'<figure class="chart {shown}">')[1]
        assert figure.split("<svg ")[1].startswith(f'viewBox="0 0 {width} ')


@pytest.mark.parametrize(("mean", "named"), [(150.0, True), (20.0, False)])
def test_a_mean_far_below_the_best_is_not_in_the_legend(
    mean: float, named: bool, tmp_path: Path, cartpole: RunFolder
) -> None:
    home = copy_run(cartpole, tmp_path / "run")
    lines = [json.loads(line) for line in home.metrics.read_text().splitlines()]
    for i, line in enumerate(lines):
        best = 200.0 + 50 * i
        line |= {"best": best, "mean": mean, "std": 10.0, "min": 9.0, "max": best}
    home.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = render_report(home)
    for shown in ("in-wide", "in-narrow"):
        figure = text.split(f'<figure class="chart {shown}">')[1].split("</figure>")[0]
        assert ("mean ± deviation" in figure) is named
        assert "best" in figure


def test_fitness_and_gain_of_a_family_line_have_the_same_decimals() -> None:
    genes: Any = {"nodes": {0: (0.0, 1.0, "tanh", "sum")}, "connections": {}}
    for fitness, shown in (
        ([1.0, 1200.0], ["1", "1,200", "+1,199"]),
        ([-199.5, -106.25], ["-199.500", "-106.250", "+93.250"]),
        ([-0.25, -0.0001], ["-0.250000", "-0.000100", "+0.249900"]),
    ):
        line = [Improvement(i, value, i, **genes) for i, value in enumerate(fitness)]
        champion = evonet.Population.random(1, 1, 1, num_nodes=1, num_connections=1)
        page = draw_family(line, {}, Champion(champion))
        for text in shown:
            assert f">{text}<" in page


def test_the_config_of_a_page_is_that_of_the_run(cartpole: RunFolder) -> None:
    text = cartpole.report.read_text()
    shown = re.search(r"<pre>(.*?)</pre>", text, re.DOTALL)
    assert shown is not None
    from html import unescape

    assert Config.loads(unescape(shown[1])) == Config.load(cartpole.config)


def test_texts_from_files_are_escaped(tmp_path: Path, cartpole: RunFolder) -> None:
    evil = "</script><img src=x onerror=alert(1)>&\"'"
    home = copy_run(cartpole, tmp_path / "<b>run")
    config = Config.load(home.config).replace({"task.name": evil})
    home.config.write_text(config.to_toml())
    text = render_report(home)
    assert "<img" not in text
    assert "<b>run" not in text
    Page(text)


def test_a_report_never_imports_what_a_config_names(
    tmp_path: Path, cartpole: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "malice.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    home = copy_run(cartpole, tmp_path / "run")
    config = Config.load(home.config).replace({"task.name": "malice:Task"})
    home.config.write_text(config.to_toml())
    assert "malice:Task" in render_report(home)


def test_a_long_run_with_a_large_champion_makes_a_small_page(tmp_path: Path) -> None:
    home = RunFolder(tmp_path)
    config = Config.from_dict({"task": {"name": "double_pole"}})
    home.config.write_text(config.to_toml())
    champion = evonet.Population.random(1, 6, 1, num_nodes=300, num_connections=4000, seed=1)
    save_champion(home.champion, champion, config, fitness=3.0, generation=2)
    record = {
        "std": 1.0,
        "best_so_far": 3.0,
        "solved": False,
        "mean_nodes": 2.0,
        "mean_connections": 3.0,
        "best_nodes": 3,
        "best_connections": 4,
        "num_species": 90,
        "evaluations_per_second": 100.0,
        "seconds": {"ask": 0.1, "compile": 0.2, "evaluate": 0.3, "tell": 0.1},
    }
    with home.metrics.open("w") as file:
        for g in range(5000):
            species = [{"key": g + k, "size": 1 + k % 7} for k in range(1, 91)]
            values = {"best": g % 50, "mean": 0.5, "min": -1e9, "max": g % 50}
            line = {"generation": g, "evaluations": g, "species": species, **values, **record}
            file.write(json.dumps(line) + "\n")
    genes = {
        "nodes": [[0, 0.5, 1.0, "tanh", "sum"]],
        "connections": [[i, -1 - i % 6, 0, 1.0 + i, True] for i in range(6)],
    }
    with home.improvements.open("w") as file:
        for g in range(3000):
            file.write(json.dumps({"generation": g, "fitness": g, "id": g, **genes}) + "\n")
    write_report(home)
    assert home.report.stat().st_size < 5_000_000
    text = home.report.read_text()
    Page(text)
    assert f"Left out: {3000 - MOST_ROWS:,} smaller improvements." in text


def copy_run(source: RunFolder, folder: Path) -> RunFolder:
    """Copies the files of a run, but not its checkpoints."""
    folder.mkdir()
    for file in source.path.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return RunFolder(folder)


def test_a_run_without_species_has_a_page_without_them(tmp_path: Path, cartpole: RunFolder) -> None:
    home = copy_run(cartpole, tmp_path / "run")
    lines = [json.loads(line) for line in home.metrics.read_text().splitlines()]
    for line in lines:
        for name in ("species", "num_species", "threshold", "innovations"):
            del line[name]
    home.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = render_report(home)
    labels = {attributes.get("aria-label") for _, attributes in Page(text).found}
    assert {"Fitness", "Complexity", "Evaluations per second", "network", "episode"} <= labels
    assert "Species" not in labels
    assert "species" not in text.split("<details")[0].split("</style>")[1]  # nor in its tiles


def test_a_run_without_a_generation_has_no_report(tmp_path: Path) -> None:
    home = RunFolder(tmp_path / "run")
    with pytest.raises(RunFolderError, match="there is no such folder"):
        write_report(home)
    home.path.mkdir()
    with pytest.raises(RunFolderError, match=r"it has no config\.toml"):
        write_report(home)
    home.config.write_text("")
    with pytest.raises(RunFolderError, match="no generation is done yet"):
        write_report(home)


# Metrics.


def test_a_line_cut_short_is_left_out(cartpole: RunFolder, tmp_path: Path) -> None:
    whole = read_history(cartpole.metrics)
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_bytes(cartpole.metrics.read_bytes()[:-20])
    assert len(read_history(metrics)) == len(whole) - 1
    metrics.write_text("[]\n")
    with pytest.raises(FileFormatError, match="line 1 is not about a generation"):
        read_history(metrics)


def test_improvements_are_the_generations_that_found_a_new_champion(cartpole: RunFolder) -> None:
    records = [json.loads(line) for line in cartpole.metrics.read_text().splitlines()]
    new = [r for r in records if r["best_generation"] == r["generation"]]
    found = read_improvements(cartpole.improvements)
    assert len(found) > 1
    assert [i.generation for i in found] == [r["generation"] for r in new]
    assert [i.fitness for i in found] == [r["best_so_far"] for r in new]
    champion = evonet.load_champion(cartpole.champion)[0]
    last = found[-1]
    assert set(last.nodes) == {node.key for node in champion.nodes}
    for link in champion.connections:
        assert link.innovation is not None
        source, target, weight, enabled = last.connections[link.innovation]
        assert (source, target, enabled) == (link.source, link.target, link.enabled)
        assert np.float32(weight) == np.float32(link.weight)


@given(st.integers(1, 3 * MOST_POINTS), st.integers(0, 2**32 - 1))
def test_thinned_series_keep_means_and_extremes(count: int, seed: int) -> None:
    from evonet.report.history import History

    rng = np.random.default_rng(seed)
    values = rng.normal(size=count)
    species = [
        {int(k): int(n) for k, n in zip(rng.permutation(90)[:50] + 1, rng.integers(1, 9, 50))}  # noqa: B905
        for _ in range(count)
    ]
    history = History({"generation": np.arange(count, dtype=float), "v": values}, species)
    assert len(history.generation) == min(count, MOST_POINTS)
    assert history.generation[-1] == count - 1
    width = np.diff(np.append(-1, history.ends))
    assert np.average(history.mean("v"), weights=width) == pytest.approx(values.mean())
    assert history.extreme("v", largest=True).max() == values.max()
    assert history.extreme("v", largest=False).min() == values.min()
    sizes = history.species_sizes()
    assert len(sizes) <= MOST_SPECIES + 1
    expected = [sum(species[i].values()) for i in history.ends]
    assert sum(sizes.values()).tolist() == expected  # type: ignore[union-attr]


# Charts.

finite = st.floats(-1e12, 1e12)


@example(0.0, -2.3e-300, 5)
@example(-0.45, -0.06, 2)
@given(finite, finite, st.integers(2, 12))
def test_ticks_are_round_numbers_within_the_range(a: float, b: float, about: int) -> None:
    low, high = room(min(a, b), max(a, b))
    found = ticks(low, high, about)
    assert found == sorted(set(found))
    assert 1 <= len(found) <= about + 1
    slack = 1e-6 * (high - low)
    assert all(low - slack <= value <= high + slack for value in found)


@given(finite, finite)
def test_a_scale_puts_the_ends_at_the_ends(a: float, b: float) -> None:
    low, high = room(min(a, b), max(a, b))
    scale = Scale(low, high, 200.0, 10.0)
    assert scale.at(low) == pytest.approx(200.0)
    assert scale.at(high) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (3.14159, "3.142"), (9999.0, "9999"), (12345.0, "12.3k"), (-2.5e6, "-2.5M")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("log", [False, True])
def test_charts_are_well_formed_and_finite(count: int, log: bool) -> None:
    x = np.arange(count, dtype=float)
    low, high = np.full(count, 1.0), np.linspace(1.0, 1e5, count) + 1
    lines = [Line("a<b", high, "c1"), Line("mean", low, "c2", dashed=True)]
    band = [Band("range", low - 5, high, "c2")]
    marks = [(0.0, 1.0, "first")]
    for figure in (
        line_chart("<t>", x, lines, band, limits=(1.0, 2e5), log=log, rule=(9.0, "r"), marks=marks),
        area_chart("Species", x, lines, legend=False),
    ):
        ElementTree.fromstring(figure)
        assert "nan" not in figure
        assert "inf" not in figure


# Networks.


@given(st.integers(0, 10_000), st.integers(13, 40), st.integers(1, 80))
def test_a_layout_shows_the_schedule(seed: int, num_nodes: int, num_connections: int) -> None:
    population = evonet.Population.random(
        1, 4, 2, num_nodes=num_nodes, num_connections=num_connections, seed=seed
    )
    schedule = evonet.build_schedule(population)
    layout = lay_out(population)
    keys = [-1, -2, -3, -4, *schedule.node_key.tolist()]
    assert [spot.key for spot in layout.spots] == keys
    assert [spot.slot for spot in layout.spots] == list(range(len(keys)))
    assert layout.depth == schedule.num_levels[0]
    assert sorted(link.weight for link in layout.links) == sorted(schedule.weight.tolist())
    places = {(spot.level, spot.row) for spot in layout.spots}
    assert len(places) == len(layout.spots)
    for link in layout.links:
        begin, end = layout.spots[link.source], layout.spots[link.target]
        assert begin.level < end.level
        assert len(link.bends) in (0, end.level - begin.level - 1)
        assert not places & {(begin.level + 1 + i, row) for i, row in enumerate(link.bends)}


def test_a_drawing_names_pins_and_weights() -> None:
    population = evonet.Population.from_genes(
        2, 1, [([0, 5], [(-1, 5, 2.5), (5, 0, -1.5), (-2, 0, 0.25)])]
    )
    layout = lay_out(population)
    names = {-1: "a<b", -2: "two", 0: "out"}
    root = ElementTree.fromstring(draw_network(layout, names, standalone=True))
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "a<b → node 5: 2.5" in titles
    assert "node 5 → out: -1.5" in titles
    assert "two → out: 0.25" in titles
    drawing = draw_in_terminal(layout, names)
    assert all(name in drawing for name in ("a<b", "two", "out", "5"))
    assert max(map(len, drawing.split("\n"))) <= WIDTH


def test_a_large_network_fits_a_terminal() -> None:
    population = evonet.Population.random(1, 60, 30, num_nodes=300, num_connections=900, seed=2)
    drawing = draw_in_terminal(lay_out(population), pin_names(None, 60, 30))
    assert max(map(len, drawing.split("\n"))) <= WIDTH
    assert drawing.count("\n") < 48


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_the_pins_of_a_control_task_have_names(control: ControlTask) -> None:
    names = PINS[control.name]
    assert len(set(names.inputs)) == control.num_inputs
    assert len(set(names.outputs)) == control.num_outputs
    assert pin_names(control.name, 9, 9)[-1] == "in 0"


# Episodes.


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
@pytest.mark.parametrize("seed", [1, 2])
def test_an_episode_is_the_one_that_the_backend_played(control: ControlTask, seed: int) -> None:
    population = networks(control, seed)
    limit = min(control.max_steps, 120)
    episode = record_episode(population, control.name, 77, limit)
    played = evonet.compile(population).rollout(control.name, seed=77, max_steps=limit)
    assert len(episode) == played.steps[0, 0]
    assert np.float32(episode.total) == played.returns[0, 0]
    assert episode.ended or len(episode) == limit
    assert abs(episode.action).max() <= 1
    schedule = evonet.build_schedule(population, reuse_slots=False)
    values = evaluate_genome(schedule, 0, episode.values[:, : control.num_inputs])
    np.testing.assert_array_equal(episode.values, values.T)
    scene = make_scene(episode)
    for sprite in scene.sprites:
        assert sprite.places.shape == (len(episode) + 1, 4)
        assert np.isfinite(sprite.places).all()
        ElementTree.fromstring(f"<g>{sprite.shapes}</g>")
    ElementTree.fromstring(f"<g>{scene.backdrop}</g>")


def test_an_endless_episode_is_cut() -> None:
    pendulum = next(control for control in CONTROLS if control.name == "pendulum")
    episode = record_episode(networks(pendulum), "pendulum", 0, 10**6)
    assert (len(episode), episode.ended) == (MOST_STEPS, False)


# The family line.


def genome(
    fitness: float, nodes: dict[int, Any], connections: dict[int, Any], generation: int = 0
) -> Improvement:
    return Improvement(generation, fitness, generation, nodes, connections)


def test_changes_between_champions_are_listed() -> None:
    names = {-1: "in", -2: "other", 0: "out"}
    before = genome(
        1.0,
        {0: (0.0, 1.0, "tanh", "sum"), 3: (0.0, 1.0, "tanh", "sum")},
        {1: (-1, 0, 1.0, True), 2: (-2, 0, 1.0, True), 3: (-1, 3, 1.0, True)},
    )
    after = genome(
        2.0,
        {0: (0.5, 1.0, "sin", "sum"), 7: (0.0, 1.0, "tanh", "sum")},
        {1: (-1, 0, 4.0, True), 9: (-2, 0, 1.0, False), 5: (7, 0, 1.0, True)},
    )
    assert set(changes(before, after, names)) == {
        ("added", "node 7"),
        ("removed", "node 3"),
        ("added", "node 7 → out"),
        ("removed", "in → node 3"),
        ("changed", "other → out switched off"),
        ("changed", "out: tanh became sin"),
        ("changed", "in → out +3 and 1 more"),
    }
    assert changes(before, before, names) == []


def test_the_family_line_keeps_first_last_and_greatest() -> None:
    gains = np.random.default_rng(1).random(200)
    node = {0: (0.0, 1.0, "tanh", "sum")}
    line = [
        genome(float(total), node, {1: (-1, 0, 1.0, True)}, g)
        for g, total in enumerate(np.cumsum(gains))
    ]
    champion = evonet.Population.random(1, 1, 1, num_nodes=1, num_connections=1)
    text = draw_family(line, {}, Champion(champion))
    ElementTree.fromstring(f"<div>{text}</div>")
    shown = [int(g) for g in re.findall(r'<td class="number">(\d+)</td>', text)]
    assert len(shown) == MOST_ROWS
    assert (shown[0], shown[-1]) == (0, 199)
    assert int(np.argmax(gains[1:-1])) + 1 in shown
