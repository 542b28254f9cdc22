"""Puts the page about a run together from its parts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from evonet.config import Config
from evonet.definitions.controls import CONTROL_IDS
from evonet.errors import RunFolderError
from evonet.files.atomic import open_atomic, resolve_inside
from evonet.files.regular import read_bytes
from evonet.messages import counted
from evonet.report.episode import MOST_STEPS, Episode, record_episode
from evonet.report.family import draw_family
from evonet.report.history import PHASES, History, read_history
from evonet.report.layout import Layout, lay_out
from evonet.report.learning import draw_learning
from evonet.report.markup import data, items, short, text, tiles
from evonet.report.names import pin_names, title_of
from evonet.report.network import draw_network
from evonet.report.results import draw_results, score_text
from evonet.report.run_charts import draw_charts
from evonet.report.scenes import HEIGHT, WIDTH, make_scene
from evonet.report.sight import draw_sight
from evonet.runs.champion import Champion, read_champion
from evonet.runs.champion_notes import read_held_out_scores
from evonet.runs.folder import RunFolder
from evonet.runs.improvements import Improvement, read_improvements
from evonet.runs.loop import task_seed

ASSETS: Final = Path(__file__).parent
# Nodes do not light up in episodes with more values than this.
MOST_LIT_VALUES: Final = 150_000
# Bytes of a drawn film; the ones that runs write are much smaller.
MOST_FILM: Final = 20_000_000


def write_report(home: RunFolder) -> None:
    """Writes report.html from the other files of a run.

    Args:
        home: A run folder with at least one generation.

    Raises:
        RunFolderError: No generation is done yet, or there is no run.
        EvonetError: A file of the run is damaged.
        OSError: A file cannot be read, or the page cannot be written.
    """
    page = render_report(home)
    with open_atomic(resolve_inside(home.report)) as file:
        file.write(page.encode())


def render_report(home: RunFolder) -> str:
    """Returns the page as text; see `write_report`."""
    home.check()
    done = home.metrics.is_file() and home.champion.is_file()
    history = read_history(home.metrics) if done else ()
    if not history:
        raise RunFolderError(f"{home.path}: no generation is done yet, so there is no report.")
    config = Config.load(home.config)
    champion = read_champion(home.champion)
    line = read_improvements(home.improvements) if home.improvements.is_file() else []
    name = config.task.get("name", home.path.resolve().name)
    title = title_of(config.task, home)
    population = champion.population
    pins = population.num_inputs, population.num_outputs
    names = pin_names(name, *pins, champion.metadata)
    layout = lay_out(population, champion.dynamics)
    episode = _episode(champion, config)
    return items(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{text(title)} · evonet</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # An empty icon, so that browsers do not request one.
            '<link rel="icon" href="data:,">',
            f"<style>{_asset('page.css')}</style></head><body>",
            _header(home, title, config, history, champion, layout),
            '<section class="champion">',
            _network(layout, names, champion),
            "" if episode is None else _film(episode, champion.generation),
            _drawn_film(home.film, champion.generation),
            draw_results(home.results),
            draw_learning(home.results),
            draw_sight(home.results),
            "</section>",
            '<section class="charts">',
            *draw_charts(config, history, line),
            "</section>",
            _family(line, names, champion, config),
            f'<details class="card"><summary>config.toml</summary><pre>{text(config.to_toml())}'
            "</pre></details>",
            '<div id="tip" hidden></div>',
            f"<script>{_asset('page.js')}</script>",
            "</body></html>",
            "",
        ]
    )


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _header(
    home: RunFolder,
    name: str,
    config: Config,
    history: History,
    champion: Champion,
    layout: Layout,
) -> str:
    solved = history["solved"][-1] == 1
    has_goal = config.neat.fitness_threshold is not None and not config.neat.no_fitness_termination
    verdict = "solved" if solved else "not solved yet" if has_goal else ""
    seconds = float(sum(history[f"seconds.{phase}"].sum() for phase in PHASES))
    evaluations = int(history["evaluations"][-1])
    hidden = sum(spot.key >= layout.num_outputs for spot in layout.spots)
    found = f"in generation {champion.generation}"
    if (tested := champion.tested) is not None:
        ends = f"{short(tested.low)} to {short(tested.high)}"
        found = f"99 % interval {ends}, {tested.episodes} fresh episodes, {found}"
    shown = [
        ("best fitness", short(champion.fitness or 0.0), found),
        ("generations", f"{int(history['generation'][-1]) + 1:,}", f"{seconds:.2f} s of work"),
        (
            "evaluations",
            f"{evaluations:,}",
            f"{short(evaluations / max(seconds, 1e-9))} per second",
        ),
        (
            "champion",
            counted(len(layout.links), "link"),
            f"{counted(hidden, 'hidden node')}, {counted(layout.depth, 'level')}",
        ),
    ]
    if species := history.species[-1]:
        shown.append(("species", str(len(species)), "in the last generation"))
    scores = read_held_out_scores(champion.metadata)
    for kind in [name for name in ("accuracy", "r2", "loss") if name in scores][:1]:
        count = counted(int(scores.get("examples", 0)), "example")
        if {f"{kind} low", f"{kind} high"} <= set(scores):
            low, high = (score_text(kind, scores[f"{kind} {end}"]) for end in ("low", "high"))
            count = f"99 % interval {low} to {high}, {count}"
        shown.append((f"held-out {kind}", score_text(kind, scores[kind]), count))
    badge = f'<em class="{"good" if solved else "open"}">{verdict}</em>' if verdict else ""
    return items(
        [
            f"<header><h1>{text(name)}{badge}</h1>",
            f"<p>{text(home.path.resolve().name)} · {_on(config, name)}"
            f"{_size(config)} · seed {champion.seed} · evolved by evonet"
            "</p>",
            f"{tiles(shown)}</header>",
        ]
    )


def _size(config: Config) -> str:
    """Counts the genomes of a generation."""
    genomes = counted(config.neat.pop_size, "genome")
    count = config.islands.count
    return f"{counted(count, 'island')} of {genomes}" if count > 1 else genomes


def _on(config: Config, title: str) -> str:
    """Names the task where the title is that of its data."""
    task, file = config.task.get("name"), config.task.get("data")
    if not isinstance(file, str) or task == title:
        return ""
    return f"{text(task)} of {text(Path(file).name)} · "


def _drawn_film(path: Path, generation: int | None) -> str:
    """Shows the episode that the environment itself has drawn, if there is one."""
    if not path.is_file():
        return ""
    picture = base64.b64encode(read_bytes(path, MOST_FILM)).decode()
    return items(
        [
            '<div class="card drawn"><h2>One of its episodes</h2>',
            f'<img alt="an episode" src="data:image/png;base64,{picture}">',
            f'<p class="note">As the environment draws it. All genomes of generation {generation} '
            "played the same one.</p></div>",
        ]
    )


def _network(layout: Layout, names: Mapping[int, str], champion: Champion) -> str:
    population = champion.population
    enabled = int(np.count_nonzero(population.enabled))
    left_out = population.num_connections - enabled
    idle = enabled - len(layout.links)
    notes = [counted(left_out, "disabled link")] if left_out else []
    notes += [counted(idle, "link") + " without effect"] if idle else []
    note = f" Not drawn: {', '.join(notes)}." if notes else ""
    waits = "The nodes of a level are computed together."
    if any(link.later for link in layout.links):
        waits = "A dashed link carries the value of the step before."
    return items(
        [
            '<div class="card"><h2>The champion\'s network</h2>',
            draw_network(layout, names),
            '<p class="note"><i class="swatch positive"></i>excites <i class="swatch negative"></i>'
            f"inhibits; the wider, the larger the weight. {waits}{note}</p></div>",
        ]
    )


def _episode(champion: Champion, config: Config) -> Episode | None:
    """Replays the first episode of the champion's generation, if it is a control task."""
    name, limit = config.task.get("name"), config.task.get("max_steps")
    if name not in CONTROL_IDS or champion.seed is None or champion.generation is None:
        return None
    seed = task_seed(champion.seed, champion.generation)
    steps = limit if isinstance(limit, int) else None
    try:
        return record_episode(champion.population, str(name), seed, steps, champion.dynamics)
    except KeyboardInterrupt:  # somebody has seen enough: the rest of the page is quick
        return None


def _film(episode: Episode, generation: int | None) -> str:
    scene = make_scene(episode)
    sprites = "".join(f'<g class="sprite">{sprite.shapes}</g>' for sprite in scene.sprites)
    lit = np.clip(np.nan_to_num(episode.values), -1, 1)
    lights = np.rint(lit * 100).astype(int).tolist() if lit.size <= MOST_LIT_VALUES else []
    film = {
        "rate": scene.steps_per_second,
        "sprites": [np.round(sprite.places, 2).tolist() for sprite in scene.sprites],
        "lights": lights,
    }
    outcome = "until the episode ended" if episode.ended else "up to the step limit"
    if not episode.ended and len(episode) == MOST_STEPS:
        outcome = "at the start of a longer episode"
    return items(
        [
            '<div class="card film"><h2>One of its episodes</h2>',
            f'<svg class="scene" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="episode">',
            scene.backdrop,
            sprites,
            "</svg>",
            '<div class="controls"><button id="play" aria-label="play or pause">❚❚</button>'
            f'<input id="step" type="range" min="0" max="{len(episode)}" value="0" '
            'aria-label="step"><output id="now">0</output></div>',
            f'<p class="note">Return {short(episode.total)} in {counted(len(episode), "step")}, '
            f"{outcome}. All genomes of generation {generation} played the same one. Nodes light "
            "up with their values.</p>",
            f'<script type="application/json" id="film">{data(film)}</script></div>',
        ]
    )


def _family(
    line: list[Improvement], names: Mapping[int, str], champion: Champion, config: Config
) -> str:
    if not line:
        return ""
    sign = -1.0 if config.neat.fitness_criterion == "min" else 1.0
    return items(
        [
            '<section class="card"><h2>How it evolved</h2>',
            '<p class="note">Each row is a genome that beat all before it, with how it differs '
            "from the row above, which need not be its parent.</p>",
            draw_family(line, names, champion, sign),
            "</section>",
        ]
    )
