"""The lines of a run: metrics and improvements that were edited, cut, repeated or are extreme."""

from __future__ import annotations

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from evonet.config import Config
from evonet.files.generation_lines import GenerationLines, goes_beyond
from evonet.report.history import read_history
from evonet.report.page import render_report
from evonet.report.run_charts import draw_charts
from evonet.runs import RunFolder, start_run
from evonet.runs.improvements import read_improvements
from evonet.tasks import task_from_config
from tests.campaigns.hostile.hostile_values import damage, spoil
from tests.campaigns.hostile.watch import Input

SHARE: Final = 6
EXTREMES: Final = (
    1.7976931348623157e308,
    -1.7976931348623157e308,
    5e-324,
    1e300,
    -1e-300,
    0.0,
    1e16,
)


def attack(rng: random.Random, folder: Path) -> Input:
    """Writes hostile lines into a copy of a run, and reads, draws or continues them."""
    files = good_run()
    name = rng.choice(("metrics.jsonl", "metrics.jsonl", "improvements.jsonl"))
    lines = [json.loads(line) for line in files[name].splitlines()]
    if rng.random() < 0.25:
        data = damage(files[name], rng)
    elif rng.random() < 0.5:
        data = _write(spoil(lines, rng, rng.choice((1, 1, 2, 5))), rng)
    else:
        data = _write([_extreme(line, rng) for line in lines], rng)
    (folder / name).write_bytes(data)
    if name == "improvements.jsonl" and rng.random() < 0.9:
        return lambda: read_improvements(folder / name)
    if rng.random() < 0.2:
        return lambda: _resume(folder / name, rng.randrange(6))
    if rng.random() < 0.98:
        return lambda: _draw(folder / name)
    for other in files.keys() - {name}:
        (folder / other).write_bytes(files[other])
    return lambda: render_report(RunFolder(folder))


def prepare() -> None:
    """Evolves the run that is spoilt."""
    _config()


def _draw(path: Path) -> None:
    history = read_history(path)
    if len(history):
        draw_charts(_config(), history, [])


def _resume(path: Path, generation: int) -> None:
    goes_beyond(path, generation)
    lines = GenerationLines(path)
    lines.begin(generation)
    lines.write({"generation": generation})
    lines.close()


def _extreme(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Changes numbers to others that JSON can hold, and a run could have written."""
    keys = [key for key, found in record.items() if type(found) is float]
    changed = dict(record)
    for key in rng.sample(keys, rng.randrange(len(keys) + 1)):
        changed[key] = rng.choice((*EXTREMES, rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)))
    return changed


def _write(lines: list[Any], rng: random.Random) -> bytes:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if rng.random() < 0.1:
        text = text.replace("1", "1" * rng.choice((2, 400, 5000)), 1)
    return text.encode()


@cache
def _config() -> Config:
    return Config.loads(good_run()["config.toml"].decode())


@cache
def good_run() -> dict[str, bytes]:
    config = Config.from_dict(
        {
            "task": {"name": "cartpole", "max_steps": 20},
            "run": {"generations": 5, "seed": 2, "threads": 1},
            "neat": {"pop_size": 10},
        }
    )
    with tempfile.TemporaryDirectory() as name:
        start_run(Path(name) / "run", task_from_config(config), config)
        return {
            path.name: path.read_bytes()
            for path in (Path(name) / "run").iterdir()
            if path.suffix in (".toml", ".jsonl", ".json")
        }
