"""Two modules touch CuPy, by names that CuPy has, and the stand-in has no others.

`names.txt` was recorded from the real package by `python -m tests.cupy_stand_in.names`. Where CuPy
is installed, the list is compared with it again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from tests.cupy_stand_in import Machine, names
from tests.support.gpu_memory import little_memory

Lend = Callable[..., Machine]


def test_only_the_seam_touches_cupy() -> None:
    package = Path(evonet.__file__).parent
    found = {
        path.relative_to(package).as_posix(): names.touched_in(path.read_text())
        for path in package.rglob("*.py")
    }
    assert all(found.pop(f"backends/cuda/{name}") for name in names.SEAM)
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import cupy.cuda",
        "from cupy.cuda import nvrtc",
        "import cupyx as x",
        "importlib.import_module('cupy')",
        "cupy.empty(3)",
        "self._cp.empty(3)",
        "def f(cp): pass",
        "array.device.id",
        "x[0].data.ptr",
    ],
)
def test_a_touch_of_cupy_would_be_found(line: str) -> None:
    assert names.touched_in(f"has_cupy('cupy')\n{line}\n")[0].startswith("2: ")
    assert names.touched_in("has_cupy('cupy')  # cupy") == []


def test_the_package_uses_only_recorded_names_of_cupy() -> None:
    used = names.used_by_the_package()
    assert {
        "cupy.cuda.Module.load",
        "cupy.cuda.Event.record",
        "cupy.cuda.Stream.null.wait_event",
        "cupy.cuda.runtime.memcpyAsync",
        "cupy.cuda.nvrtc.getCUBIN",
    } <= used
    assert used <= names.recorded(), "record them: python -m tests.cupy_stand_in.names"


def test_the_stand_in_offers_only_recorded_names_of_cupy() -> None:
    assert names.offered_by_the_stand_in() <= names.recorded()


def test_the_stand_in_offers_every_name_that_the_package_uses() -> None:
    assert names.used_by_the_package() <= names.offered_by_the_stand_in()


def test_recorded_names_exist_in_the_cupy_that_is_installed_here() -> None:
    if names.real_cupy() is not None:
        assert names.missing_in_cupy(names.recorded()) == set()


def test_a_name_that_cupy_lacks_would_be_found() -> None:
    text = "def f(cp, self):\n    cp.cuda.nonsense(1)\n    self._cp.RawModul(path='x')\n"
    assert names.used_in(text) == {"cupy.cuda.nonsense", "cupy.RawModul"}
    if names.real_cupy() is not None:
        assert names.missing_in_cupy({"cupy.cuda.nonsense"}) == {"cupy.cuda.nonsense"}


# ---- the stand-in keeps host and device apart ---------------------------------------------------


@pytest.fixture
def device_array(imaginary_gpus: Lend) -> Any:
    imaginary_gpus()
    import cupy

    return cupy.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize(
    "mix",
    [
        np.asarray,
        lambda a: np.ones(3) + a,
        lambda a: a + np.ones(3),
        lambda a: np.add(a, 1),
        lambda a: a.__setitem__(slice(None), np.ones((2, 3))),
        float,
    ],
)
def test_host_and_device_do_not_mix(mix: Any, device_array: Any) -> None:
    with pytest.raises(TypeError):
        mix(device_array)


def test_a_kernel_refuses_host_arrays_and_runs_late(imaginary_gpus: Lend) -> None:
    from evonet.backends.cuda.discovery import usable_devices

    machine = imaginary_gpus()
    (device,) = usable_devices()
    source, target = np.ones((1, 2), np.int32), device.empty((1, 2), np.float32)
    numbers = tuple(map(np.int64, (0, 8, 4, 1, 2, 2)))
    defines = {"SOURCE": "int", "REAL": "float"}

    def launch(x: Any) -> None:
        device.launch("gather_samples", defines, (1,), (256,), (x, *numbers, target))

    with pytest.raises(TypeError, match=r"pass a numpy\.ndarray"):
        launch(source)
    launch(device.upload(source))
    assert np.isnan(target._values).all()
    machine.wait(0)
    assert target._values.tolist() == [[1.0, 1.0]]


def test_every_gpu_gets_its_own_limit_of_memory_back(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=3)
    import cupy

    pool = cupy.get_default_memory_pool()

    def limits() -> list[int]:
        found = []
        for index in range(3):
            with cupy.cuda.Device(index):
                found.append(pool.get_limit())
        return found

    for index in range(3):
        with cupy.cuda.Device(index):
            pool.set_limit(1000 * index)
    with contextlib.suppress(KeyError), little_memory(77):
        assert limits() == [77, 77, 77]
        raise KeyError
    assert limits() == [0, 1000, 2000]


def test_a_kernel_of_another_architecture_is_not_loaded(imaginary_gpus: Lend) -> None:
    from evonet.backends.cuda.discovery import usable_devices
    from evonet.errors import DeviceError

    machine = imaginary_gpus()
    (device,) = usable_devices()
    machine.compute_capability = (9, 0)
    with pytest.raises(DeviceError, match="no kernel image"):
        device.launch("gather_samples", {"SOURCE": "short", "REAL": "float"}, (1,), (1,), ())
