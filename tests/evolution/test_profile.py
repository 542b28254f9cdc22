"""Where the time of a run goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evonet
from evonet.evolution.hooks import Run
from evonet.evolution.profile import Profile
from evonet.tasks import Control, xor
from evonet.tasks.base import adopt
from tests.support.cli_runs import CommandLine, write_parity


def config(generations: int = 5) -> evonet.Config:
    return evonet.Config.from_dict(
        {
            "neat": {"pop_size": 30, "no_fitness_termination": True},
            "run": {"generations": generations},
        }
    )


def profiled(task: Any = None, callbacks: tuple[Any, ...] = ()) -> Profile:
    profile = Profile()
    evonet.evolve(task or xor(), config(), callbacks=[*callbacks, profile])
    return profile


def test_phases_add_up_to_the_whole() -> None:
    def watch(record: evonet.GenerationRecord) -> None:
        sum(range(20_000))

    profile = profiled(callbacks=(watch,))
    phases = profile.phases()
    assert profile.generations == 5
    assert sum(phase.seconds for phase in phases) == pytest.approx(profile.seconds)
    assert [p.seconds for p in phases] == sorted((p.seconds for p in phases), reverse=True)
    names = {phase.name for phase in phases}
    assert {"evaluate", "compile", "breed", "speciate", "plan who mates", "watch"} <= names
    assert "Profile" not in names


def test_a_run_knows_what_callbacks_took() -> None:
    seen: list[Run] = []

    class Keeper(evonet.Callback):
        def on_start(self, run: Run) -> None:
            seen.append(run)

    evonet.evolve(xor(), config(2), callbacks=[Keeper()])
    assert set(seen[0].spent) == {"describe", "Keeper"}
    assert min(seen[0].spent.values()) > 0


def test_the_table_has_a_line_per_phase_and_the_whole() -> None:
    profile = profiled()
    lines = profile.table().splitlines()
    assert lines[0].split() == ["phase", "ms", "per", "generation", "share"]
    assert len(lines) == len(profile.phases()) + 2
    assert lines[-1].endswith("100.0%")


class Slow(Profile):
    """A profile in which one kind of phase takes nearly all time."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def phases(self) -> list[Any]:
        from evonet.evolution.profile import Phase

        return [Phase("slow", 0.9, self._kind), Phase("fast", 0.1, "other")]

    @property
    def seconds(self) -> float:
        return 1.0


def test_advice_is_about_what_takes_longest() -> None:
    native = xor()
    assert "--threads 0" in Slow("evaluate").advice(native, 1, 8)
    assert "GPU" in Slow("evaluate").advice(native, 0, 8)
    assert "GPU" in Slow("evaluate").advice(Control("cartpole"), 8, 8)

    class Own:
        num_inputs, num_outputs = 2, 1

        def evaluate(self, network: Any, seed: int) -> Any: ...

    assert "runs in Python" in Slow("evaluate").advice(adopt(Own()), 0, 8)
    assert "species" in Slow("breed").advice(native, 0, 8)
    assert "--threads 0" in Slow("breed").advice(native, 2, 8)
    assert "Callbacks take 90%" in Slow("callback").advice(native, 0, 8)
    assert "larger population" in Slow("other").advice(native, 0, 8)


@pytest.mark.parametrize("quiet", [False, True])
def test_the_command_prints_a_profile(
    quiet: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evonet_command = CommandLine(capsys)
    run = tmp_path / "run"
    options = ["--profile", "--out", run, *(["--quiet"] if quiet else [])]
    done = evonet_command("evolve", write_parity(tmp_path), *options)
    assert done.status == 0
    assert "ms per generation" in done.out
    assert "CheckpointSaver" in done.out
    again = evonet_command("resume", run, "--generations", 8, "--profile", "--quiet")
    assert again.status == 0
    assert "evaluate" in again.out
    assert evonet_command("resume", run, "--generations", 9, "--quiet").out == ""
