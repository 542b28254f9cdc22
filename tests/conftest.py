"""How all tests run: in parallel, shuffled, apart from each other; and on which GPUs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support.costs import Costs

# No test depends on time, those with examples of hypothesis neither.
hypothesis.settings.register_profile("evonet", deadline=None)
hypothesis.settings.load_profile("evonet")
# What "auto" means must not depend on the machine that runs the tests.
os.environ["EVONET_BACKEND"] = "cpu"
# Nor may the commands that messages print: as if the environment had been activated.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def pytest_configure(config: pytest.Config) -> None:
    """Measures the processor seconds of all tests."""
    config.pluginmanager.register(Costs())


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Starts no workers for single files and tests, which are done sooner without."""
    names = config.invocation_params.args
    few = [name for name in config.args if ".py" in name and name in names]
    return 0 if few and few == config.args else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the seed of a shuffled run, also after `pytest -q`."""
    seed = terminalreporter.config.getoption("randomly_seed", None)
    if isinstance(seed, int):
        terminalreporter.write_line(f"shuffled; for the same order, add --randomly-seed={seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that need a GPU where there is none."""
    needy = [item for item in items if item.get_closest_marker("gpu")]
    if needy and not _has_gpu():
        config.hook.pytest_deselected(items=needy)
        items[:] = [item for item in items if item not in needy]


def _has_gpu() -> bool:
    from evonet.backends.cuda.discovery import usable_devices
    from evonet.errors import DeviceError

    try:
        return bool(usable_devices())
    except DeviceError:
        return False


@pytest.fixture(autouse=True)
def _isolated(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves global state behind, and restores that state for the next one."""
    from tests.support.isolation import State, remove_custom_functions

    remove_custom_functions()
    before = State()
    yield
    remove_custom_functions()
    changed = before.restore()
    assert not changed, f"{request.node.nodeid} leaves behind: {'; '.join(changed)}"


@pytest.fixture
def imaginary_gpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """Lends GPUs that the SIMT runner imitates: imaginary_gpus(num_devices=2) -> Machine."""
    from tests import cupy_stand_in

    def lend(**options: Any) -> cupy_stand_in.Machine:
        cache = tmp_path_factory.mktemp("cubins")
        return cupy_stand_in.install(monkeypatch, cache, **options)

    return lend
