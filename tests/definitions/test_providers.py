"""Providers: plugins offer genome formats and tasks to rooms that know no plugin."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evonet.definitions.providers import (
    GENOME_READERS,
    GENOME_WRITERS,
    TASK_PREFIXES,
    Provider,
)
from evonet.tasks import Task, make_task, xor
from evonet.tasks.registry import find_task


def named(name: str, *, shout: bool = False) -> Task:
    task = xor()
    task.name = name.upper() if shout else name  # type: ignore[attr-defined]
    return task


@pytest.mark.parametrize("providers", [GENOME_READERS, GENOME_WRITERS, TASK_PREFIXES])
def test_every_provider_can_be_loaded(providers: dict[str, Provider]) -> None:
    assert "neat" in providers
    for provider in providers.values():
        assert callable(provider.load())


def test_a_plugin_provides_tasks_by_a_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASK_PREFIXES, "demo", Provider(f"{__name__}:named", "a demonstration"))
    assert find_task("demo:a:b").summary == "a demonstration"
    assert list(find_task("demo:a:b").options) == ["shout"]
    assert make_task("demo:a:b", shout=True).name == "A:B"  # type: ignore[attr-defined]


def run_without_neat_python(script: str) -> str:
    script = f"import sys\nsys.modules['neat'] = None\n{script}"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_genomes_are_read_without_neat_python() -> None:
    script = """
from types import SimpleNamespace as New
import evonet
node = New(bias=1.0, response=1.0, activation="tanh", aggregation="sum")
genome = New(key=3, nodes={0: node}, connections={})
print(evonet.Population.from_neat([genome], New(input_keys=[-1], output_keys=[0])))
"""
    assert run_without_neat_python(script).startswith("Population(1 genome, 1 input, 1 output")


@pytest.mark.parametrize(
    "use",
    [
        "from evonet.plugins.neat_python import BatchEvaluator",
        "from evonet.plugins.neat_python import FeedForwardNetwork",
        "from evonet.plugins.neat_python import evolve",
        "import evonet.tasks; evonet.tasks.make_task('neat:file.py:f', config='c')",
    ],
)
def test_a_missing_neat_python_is_reported_with_the_fix(use: str) -> None:
    script = f"""
from evonet.errors import OptionError
try:
    {use}
except OptionError as error:
    print(error)
"""
    assert "pip install 'evonet-gpu[neat]'" in run_without_neat_python(script)
