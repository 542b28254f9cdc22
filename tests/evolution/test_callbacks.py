"""Callbacks: what they are told, and what the built-in ones do with it."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import statistics
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.config import Config
from evonet.errors import CheckpointError, OptionError
from evonet.evolution import NEAT
from evonet.evolution.callbacks import (
    Callback,
    CheckpointSaver,
    GenerationRecord,
    MetricsWriter,
    Progress,
    Result,
    Run,
    StopAfter,
)
from evonet.evolution.checkpoint import list_checkpoints
from evonet.evolution.record import (
    Seconds,
    describe_generation,
    mean_and_deviation,
    measure_spread,
)
from evonet.installation import require_native
from evonet.runs.loop import evolve
from evonet.tasks import Supervised, xor
from tests.support.evolution_cases import xor_config

SECONDS = Seconds(ask=0.5, compile=0.25, evaluate=1.0, tell=0.25)


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nobody pulls the plug here, so nothing need reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def config(**changes: Any) -> Config:
    return xor_config(12).replace({"speciation.threshold": 1.5, **changes})


def records_of(generations: int, **options: Any) -> list[GenerationRecord]:
    found: list[GenerationRecord] = []
    callbacks = [found.append, *options.pop("callbacks", ())]
    evolve(xor(), config(), generations=generations, callbacks=callbacks, **options)
    return found


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file without what depends on the clock."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in line.items() if "second" not in k} for line in lines]


def generations_in(folder: Path) -> list[int]:
    return [int(path.name[11:17]) for path in list_checkpoints(folder)]


# Records.


def test_a_record_describes_its_generation() -> None:
    neat = NEAT(config(), num_inputs=2, num_outputs=1)
    neat.ask()
    fitness = np.array([3.0, 1.0, 2.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    neat.tell(fitness)
    record = describe_generation(neat, 12, SECONDS)
    assert (record.generation, record.best, record.mean, record.min) == (0, 8.0, 2.0, 1.0)
    assert record.std == pytest.approx(float(np.std(fitness)))
    assert (record.best_so_far, record.best_generation, record.max) == (8.0, 0, 8.0)
    assert record.details["num_species"] == len(neat.species) > 1
    for found, species in zip(record.details["species"], neat.species, strict=True):
        assert (found.key, found.size, found.age) == (species.key, len(species), 0)
        assert found.best == fitness[species.members].max()
    assert (record.mean_nodes, record.best_nodes) == (1.0, 1)
    assert (record.mean_connections, record.best_connections) == (2.0, 2)
    assert (record.evaluations, record.size) == (12, 12)
    assert (record.details["innovations"], record.details["threshold"]) == (2, 1.5)
    assert record.seconds.total == 2.0
    assert record.evaluations_per_second == 6.0


def test_only_enabled_connections_count() -> None:
    neat = NEAT(config(**{"genome.enabled_default": False}), num_inputs=2, num_outputs=1)
    neat.tell(np.zeros(12))
    record = describe_generation(neat, 12, SECONDS)
    assert (record.mean_connections, record.best_connections) == (0.0, 0)


def test_a_species_that_improves_now_is_said_to() -> None:
    neat = NEAT(config(**{"speciation.threshold": 100.0}), num_inputs=2, num_outputs=1)
    improved = []
    for best in (1.0, 3.0, 2.0, 3.0, 4.0):
        neat.ask()
        neat.tell(np.full(12, best))
        before = [dataclasses.replace(s) for s in neat.species]
        details = describe_generation(neat, 12, SECONDS).details
        improved.append(details["species"][0].last_improved)
        assert [(s.last_improved, len(s.score_history)) for s in neat.species] == [
            (s.last_improved, len(s.score_history)) for s in before
        ]
    assert improved == [0, 1, 1, 1, 4]


def test_the_best_of_a_run_that_minimises_is_the_lowest() -> None:
    neat = NEAT(config(**{"neat.fitness_criterion": "min"}), num_inputs=2, num_outputs=1)
    neat.tell(np.arange(5.0, 17.0))
    record = describe_generation(neat, 12, SECONDS)
    assert (record.best, record.best_so_far, record.min, record.max) == (5.0, 5.0, 5.0, 16.0)
    assert min(s.best for s in record.details["species"]) == 5.0


def test_a_record_becomes_json() -> None:
    record = records_of(4)[-1]
    again = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert again == record.to_dict()
    assert again["species"][0]["key"] == record.details["species"][0].key
    assert set(again["seconds"]) == {"ask", "compile", "evaluate", "tell"}


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        records_of(1)[0].best = 5.0  # type: ignore[misc]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_mean_and_deviation_are_finite_and_right(values: list[float]) -> None:
    mean, deviation = mean_and_deviation(np.array(values))
    assert math.isfinite(mean)
    assert math.isfinite(deviation)
    assert mean == pytest.approx(float(statistics.mean(map(Fraction, values))), 1e-15, 5e-324)
    ulps = 5e-324 + 1e-15 * max(map(abs, values))
    assert deviation == pytest.approx(statistics.pstdev(values), 1e-12, ulps)
    both = measure_spread, require_native().mean_and_deviation
    assert len({measure(np.array(values)) for measure in both}) == 1


@pytest.mark.parametrize("exponent", [-1060, 0, 1018])
def test_mean_and_deviation_do_not_depend_on_threads(exponent: int) -> None:
    values = np.ldexp(np.random.default_rng(0).normal(size=50_003), exponent)
    found = {require_native().mean_and_deviation(values, threads) for threads in (0, 1, 2, 5)}
    assert found == {measure_spread(values)}


# Occasions.


class Diary(Callback):
    """Writes down what it is told."""

    def __init__(self, name: str = "", notes: list[str] | None = None) -> None:
        self.name = name
        self.notes = [] if notes is None else notes
        self.run: Run | None = None
        self.result: Result | None = None

    def on_start(self, run: Run) -> None:
        self.run = run
        self.notes.append(f"{self.name}start {run.first_generation}/{run.generations}")

    def on_generation(self, record: GenerationRecord) -> None:
        self.notes.append(f"{self.name}{record.generation}")

    def on_end(self, result: Result) -> None:
        self.result = result
        self.notes.append(f"{self.name}end {result.generation}")


class LastDiary(Diary):
    comes_last = True


def test_callbacks_are_called_in_order_and_ended_in_reverse() -> None:
    notes: list[str] = []
    callbacks = [LastDiary("c", notes), Diary("a", notes), Diary("b", notes)]
    result = evolve(xor(), config(), generations=2, callbacks=callbacks)
    assert notes == [
        *("astart 0/2", "bstart 0/2", "cstart 0/2"),
        *("a0", "b0", "c0", "a1", "b1", "c1"),
        *("cend 1", "bend 1", "aend 1"),
    ]
    assert callbacks[0].result is result
    assert callbacks[0].run is not None
    assert callbacks[0].run.algorithm is result.algorithm


def test_a_function_that_returns_true_ends_the_run() -> None:
    result = evolve(
        xor(), config(), generations=50, callbacks=[lambda record: record.generation == 3]
    )
    assert result.generation == 3


@pytest.mark.parametrize("answer", [1, "yes", None, False, 3.5])
def test_other_answers_of_a_function_do_not(answer: Any) -> None:
    assert evolve(xor(), config(), generations=3, callbacks=[lambda r: answer]).generation == 2


@pytest.mark.parametrize(
    ("callback", "message"),
    [
        (Progress, r"Progress is a class. Write Progress\(\)"),
        (3, "3 is neither a Callback nor a function"),
    ],
)
def test_what_is_no_callback_is_refused(callback: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        evolve(xor(), config(), callbacks=[callback])


def test_all_callbacks_that_began_are_ended_after_an_error() -> None:
    class Broken(Diary):
        def on_end(self, result: Result) -> None:
            super().on_end(result)
            raise RuntimeError("end")

    notes: list[str] = []

    def fail(record: GenerationRecord) -> None:
        raise ValueError("generation")

    callbacks = [Diary("a", notes), Broken("b", notes), fail, LastDiary("c", notes)]
    with pytest.raises(RuntimeError, match="end") as caught:
        evolve(xor(), config(), generations=2, callbacks=callbacks)
    assert isinstance(caught.value.__context__, ValueError)
    assert notes[-3:] == ["cend 0", "bend 0", "aend 0"]


def test_a_callback_that_did_not_begin_is_not_ended() -> None:
    class Refusing(Diary):
        def on_start(self, run: Run) -> None:
            raise ValueError("no")

    notes: list[str] = []
    with pytest.raises(ValueError, match="no"):
        evolve(xor(), config(), callbacks=[Diary("a", notes), Refusing("b", notes)])
    assert notes == ["astart 0/300", "aend 0"]


# Checkpoints.


def test_a_saver_saves_every_few_generations_and_the_end(tmp_path: Path) -> None:
    records_of(8, callbacks=[CheckpointSaver(tmp_path, every=3, keep=9)])
    assert generations_in(tmp_path) == [2, 5, 7]


def test_a_saver_keeps_three_by_default(tmp_path: Path) -> None:
    records_of(6, callbacks=[CheckpointSaver(tmp_path)])
    assert generations_in(tmp_path) == [3, 4, 5]


def test_a_saver_refuses_the_folder_of_another_run(tmp_path: Path) -> None:
    records_of(3, callbacks=[CheckpointSaver(tmp_path), MetricsWriter(tmp_path / "m")])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match=r"already holds checkpoint-000002.* of another run"):
        records_of(3, callbacks=[MetricsWriter(tmp_path / "m"), CheckpointSaver(tmp_path)])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(CheckpointError, match="of another run"):
        evolve(
            xor(),
            generations=5,
            resume=_copy(tmp_path, tmp_path / "copy"),
            callbacks=[CheckpointSaver(tmp_path)],
        )


def _copy(source: Path, target: Path) -> Path:
    target.mkdir()
    for path in list_checkpoints(source):
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_a_run_set_back_on_purpose_forgets_what_lay_ahead(tmp_path: Path) -> None:
    records_of(6, callbacks=[CheckpointSaver(tmp_path, keep=9)])
    evolve(
        xor(),
        generations=4,
        resume=tmp_path / "checkpoint-000001.safetensors",
        callbacks=[CheckpointSaver(tmp_path, keep=9)],
    )
    assert generations_in(tmp_path) == [0, 1, 2, 3]


def test_a_finished_run_that_is_resumed_saves_nothing_new(tmp_path: Path) -> None:
    records_of(4, callbacks=[CheckpointSaver(tmp_path)])
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert records_of(4, resume=tmp_path, callbacks=[CheckpointSaver(tmp_path)]) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stamps


def test_a_checkpoint_is_not_written_before_all_callbacks_have_seen_its_generation(
    tmp_path: Path,
) -> None:
    def interrupt(record: GenerationRecord) -> None:
        if record.generation == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        records_of(6, callbacks=[CheckpointSaver(tmp_path, every=2), interrupt])
    assert generations_in(tmp_path) == [1]
    with pytest.raises(KeyboardInterrupt):
        records_of(6, resume=tmp_path, callbacks=[CheckpointSaver(tmp_path), interrupt])
    assert generations_in(tmp_path) == [1, 2]


def test_a_run_that_fails_while_evaluating_keeps_the_generation_it_had_bred(
    tmp_path: Path,
) -> None:
    class Failing:
        num_inputs, num_outputs = 2, 1
        left = 4

        def evaluate(self, network: Any, seed: int) -> Any:
            self.left -= 1
            if self.left == 0:
                raise RuntimeError("out of order")
            return xor().evaluate(network, seed)

    with pytest.raises(RuntimeError, match="out of order"):
        evolve(Failing(), config(), callbacks=[CheckpointSaver(tmp_path, every=100)])
    assert generations_in(tmp_path) == [3]
    assert NEAT.resume(tmp_path).state.fitness is None


@pytest.mark.parametrize("options", [{"every": 0}, {"keep": 0}, {"every": 1.5}, {"keep": True}])
def test_a_saver_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="must be a whole number, at least 1"):
        CheckpointSaver("anywhere", **options)


# Metrics.


def test_metrics_have_a_line_per_generation(tmp_path: Path) -> None:
    path = tmp_path / "new" / "metrics.jsonl"
    seen: list[int] = []

    def read(record: GenerationRecord) -> None:
        seen.append(len(path.read_text().splitlines()))

    records = records_of(4, callbacks=[MetricsWriter(path), read])
    assert seen == [1, 2, 3, 4]  # at once, not at the end
    assert [json.loads(x) for x in path.read_text().splitlines()] == [r.to_dict() for r in records]


def test_a_fresh_run_begins_a_fresh_file(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path / "m")
    records_of(5, callbacks=[writer])
    records_of(2, callbacks=[writer])
    assert [line["generation"] for line in lines_of(tmp_path / "m")] == [0, 1]


@pytest.mark.parametrize("tail", [b"", b'{"generation": 5, "best', b'{"generation": 5}\n'])
def test_a_resumed_run_writes_each_generation_once(tail: bytes, tmp_path: Path) -> None:
    saver = CheckpointSaver(tmp_path / "states", every=3, keep=9)
    records_of(7, callbacks=[saver, MetricsWriter(tmp_path / "m")])
    records_of(7, callbacks=[MetricsWriter(tmp_path / "whole")])
    for lines in (3, 5, 7):
        kept = (tmp_path / "m").read_bytes().splitlines(keepends=True)[:lines]
        (tmp_path / "m").write_bytes(b"".join(kept) + tail)
        records_of(
            7,
            resume=tmp_path / "states" / "checkpoint-000002.safetensors",
            callbacks=[MetricsWriter(tmp_path / "m")],
        )
        assert lines_of(tmp_path / "m") == lines_of(tmp_path / "whole")


def test_lines_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    records_of(3, callbacks=[CheckpointSaver(tmp_path / "states")])
    (tmp_path / "m").write_text('# notes\n{"generation": 0}\n[3]\n{"generation": "x"}\n')
    records_of(4, resume=tmp_path / "states", callbacks=[MetricsWriter(tmp_path / "m")])
    lines = (tmp_path / "m").read_text().splitlines()
    assert lines[:4] == ["# notes", '{"generation": 0}', "[3]", '{"generation": "x"}']
    assert json.loads(lines[4])["generation"] == 3


# Bars and limits.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_in_a_file_is_a_plain_line_now_and_then() -> None:
    pytest.importorskip("tqdm")
    often, seldom = io.StringIO(), io.StringIO()
    records_of(3, callbacks=[Progress(often, seconds=0.0), Progress(seldom)])
    lines = often.getvalue().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["1/3", "2/3", "3/3"]
    assert "evals/s" in lines[-1]
    assert "\r" not in often.getvalue()
    assert seldom.getvalue() == ""


@pytest.mark.parametrize("terminal", [False, True])
def test_a_long_generation_shows_that_it_lives(terminal: bool) -> None:
    shown = Terminal() if terminal else io.StringIO()

    class Slow(Supervised):
        def evaluate(self, network: Any, seed: int) -> Any:
            deadline = time.monotonic() + 60
            while "generation 0: " not in shown.getvalue() and time.monotonic() < deadline:
                time.sleep(0.005)
            return super().evaluate(network, seed)

    task = Slow([[0.0], [1.0]], [[0.0], [1.0]])
    evolve(task, config(), generations=1, callbacks=[Progress(shown, seconds=0.01)])
    assert "generation 0: 0 s so far" in shown.getvalue()


def test_progress_shows_where_a_run_is() -> None:
    pytest.importorskip("tqdm")
    shown = Terminal()
    records_of(3, callbacks=[Progress(shown)])
    last = shown.getvalue().split("\r")[-1]
    assert "3/3" in last
    assert "best" in last
    assert "species" in last


def test_checkpoints_can_be_some_time_apart(tmp_path: Path) -> None:
    saved: list[list[str]] = []

    class Look(Callback):
        comes_last = True

        def on_generation(self, record: GenerationRecord) -> None:
            saved.append(sorted(path.name for path in tmp_path.iterdir()))

    records_of(5, callbacks=[CheckpointSaver(tmp_path, seconds=1e9), Look()])
    first, last = "checkpoint-000000.safetensors", "checkpoint-000004.safetensors"
    assert saved == [[first]] * 5
    assert sorted(path.name for path in tmp_path.iterdir()) == [first, last]


def test_progress_of_a_resumed_run_begins_where_it_was(tmp_path: Path) -> None:
    pytest.importorskip("tqdm")
    records_of(3, callbacks=[CheckpointSaver(tmp_path)])
    shown = Terminal()
    records_of(5, resume=tmp_path, callbacks=[Progress(shown)])
    assert "3/5" in shown.getvalue().split("\r")[1]


def test_a_run_stops_after_so_many_evaluations() -> None:
    assert records_of(50, callbacks=[StopAfter(evaluations=30)])[-1].evaluations == 36


def test_a_run_stops_after_so_many_seconds() -> None:
    assert len(records_of(50, callbacks=[StopAfter(seconds=1e-9)])) == 1


def test_a_run_stops_without_improvement() -> None:
    last = records_of(300, callbacks=[StopAfter(without_improvement=4)])[-1]
    assert last.generation - last.best_generation == 4


@pytest.mark.parametrize("options", [{}, {"seconds": 0}, {"evaluations": -1}])
def test_a_limit_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="needs a limit, and each above 0"):
        StopAfter(**options)
