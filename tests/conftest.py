"""Lends imaginary GPUs, and finds real ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# What "auto" means must not depend on the machine that runs the tests.
os.environ["EVONET_BACKEND"] = "cpu"
# Nor may the commands that messages print: as if the environment had been activated.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


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
