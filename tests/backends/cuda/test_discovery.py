"""Which backend "auto" and "cuda" give, and what people are told where no GPU works."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.backends import resolve_backend
from evonet.backends.cuda import discovery
from evonet.errors import DeviceError, OptionError
from tests.cupy_stand_in import Machine
from tests.support.import_paths import importing_from

Lend = Callable[..., Machine]


def resolve(name: str) -> tuple[str, list[str]]:
    """The backend that a name gives, and all that is said on the way."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        chosen = resolve_backend(name).name
    return chosen, [str(warning.message) for warning in said]


def break_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = importlib.import_module

    def fail(name: str, package: str | None = None) -> Any:
        if name.startswith("cupy"):
            raise ImportError("libcudart.so.13: cannot open shared object file")
        return honest(name, package)

    monkeypatch.setattr(importlib, "import_module", fail)


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_a_gpu_that_works_is_used_without_a_word(name: str, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    assert resolve(name) == ("cuda", [])


FAULTS = {
    "no driver": (
        lambda m, _: setattr(m, "driver", 0),
        "there is no NVIDIA driver. Install version 580 or newer",
    ),
    "old driver": (
        lambda m, _: setattr(m, "driver", 12040),
        "the GPU's driver runs CUDA 12.4, and this CuPy needs CUDA 13. Update the driver, or "
        "remove every package whose name starts with cupy, then pip install 'evonet-gpu[cuda12]'.",
    ),
    "no GPU": (
        lambda m, _: setattr(m, "num_devices", 0),
        "CUDA finds no GPU: cudaErrorNoDevice: no CUDA-capable device is detected `nvidia-smi`",
    ),
    "GPUs hidden": (
        lambda m, patch: (setattr(m, "num_devices", 0), patch.setenv("CUDA_VISIBLE_DEVICES", "7")),
        "CUDA_VISIBLE_DEVICES='7' hides GPUs: unset it.",
    ),
    "NVRTC fails": (
        lambda m, _: setattr(m, "compile_fault", "invalid value for --gpu-architecture"),
        "GPU 0 (Imaginary GPU, sm_86): its kernels do not compile",
    ),
    "launches fail": (
        lambda m, _: setattr(m, "launch_fault", 700),
        "GPU 0 (Imaginary GPU) failed while launching gather_samples",
    ),
    "CuPy is broken": (
        lambda _, patch: break_cupy(patch),
        "CuPy is installed but does not import: libcudart.so.13: cannot open shared object file "
        "Remove every package whose name starts with cupy, then pip install 'evonet-gpu[cuda13]'.",
    ),
}


@pytest.mark.parametrize("name", ["auto", "cuda"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_gpu_that_does_not_work_is_explained_once(
    name: str, fault: str, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause, says = FAULTS[fault]
    cause(imaginary_gpus(), monkeypatch)
    chosen, said = resolve(name)
    assert chosen == "cpu"
    assert len(said) == 1
    assert said[0].startswith("No GPU is used, evonet runs on the processor: ")
    assert says in said[0]
    assert resolve(name) == ("cpu", [])
    assert resolve("cuda") == ("cpu", [])


def test_a_gpu_that_computes_wrong_numbers_is_not_used(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    monkeypatch.setattr(
        "evonet.backends.cuda.discovery.gather_samples",
        lambda device, x, dtype: device.upload(np.zeros(x.shape, dtype)),
    )
    with pytest.raises(DeviceError, match="computes wrong numbers"):
        discovery.usable_devices()


@pytest.mark.parametrize(
    ("driver", "fix"),
    [
        (0, "Install NVIDIA's driver 580 or newer, then pip install 'evonet-gpu[cuda13]'."),
        (12080, "CuPy is not installed. pip install 'evonet-gpu[cuda12]'."),
        (13000, "CuPy is not installed. pip install 'evonet-gpu[cuda13]'."),
    ],
)
def test_without_cupy_only_those_who_ask_for_the_gpu_are_told(
    driver: int, fix: str, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus().driver = driver
    monkeypatch.setattr(discovery, "has_cupy", lambda: False)
    assert resolve("auto") == ("cpu", [])
    chosen, said = resolve("cuda")
    assert chosen == "cpu"
    assert len(said) == 1
    assert fix in said[0]


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_gpus_hidden_on_purpose_are_not_missed(
    hidden: str, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus(num_devices=0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert resolve("auto") == ("cpu", [])
    assert len(resolve("cuda")[1]) == 1


def test_a_network_that_falls_back_says_where_it_runs(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=0)
    population = evonet.Population.random(3, 2, 1, num_nodes=4, num_connections=6, seed=1)
    with pytest.warns(RuntimeWarning, match="CUDA finds no GPU"):
        network = evonet.compile(population, backend="cuda", mapping="levels")
    assert network.backend == "cpu"
    assert network(np.ones((2, 2))).shape == (3, 2, 1)


def test_only_the_gpus_that_work_are_used(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus(num_devices=3)
    honest = discovery.try_device

    def picky(device: Any) -> None:
        if device.index == 0:
            raise DeviceError("too old")
        honest(device)

    monkeypatch.setattr(discovery, "try_device", picky)
    with pytest.warns(RuntimeWarning, match="evonet uses only GPU 1, 2 of 3: too old"):
        assert [device.index for device in discovery.usable_devices()] == [1, 2]


@pytest.mark.parametrize("busy", [{0}, {1}, {0, 2}])
def test_a_gpu_that_another_process_has_for_itself_leaves_the_others(
    busy: set[int], imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus(num_devices=3)
    machine.unavailable = busy
    population = evonet.Population.random(9, 2, 1, num_nodes=4, num_connections=6, seed=1)
    chosen, said = resolve("cuda")
    assert chosen == "cuda"
    assert len(said) == 1
    assert all(f"GPU {index} (" in said[0] for index in busy)
    assert "busy or unavailable" in said[0]
    assert resolve("auto") == ("cuda", [])
    assert {device.index for device in discovery.usable_devices()} == {0, 1, 2} - busy
    x = np.ones((2, 2), np.float32)
    found = evonet.compile(population, backend="cuda")(x)
    np.testing.assert_array_equal(found, evonet.compile(population, backend="cpu")(x))


def test_all_gpus_busy_is_explained(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=2).unavailable = {0, 1}
    chosen, said = resolve("cuda")
    assert chosen == "cpu"
    assert len(said) == 1
    assert "busy or unavailable" in said[0]


@pytest.mark.parametrize(
    ("capability", "cuda", "says"),
    [
        ((7, 0), 13020, "NVRTC 13.999 compiles for sm_75 to sm_121. CUDA 12 is the last for"),
        ((7, 0), 12090, ""),
        (
            (13, 0),
            13020,
            "sm_75 to sm_121. Update NVRTC: pip install 'evonet-gpu[cuda13]' --upgrade.",
        ),
        ((6, 1), 12090, "evonet needs sm_70 or newer."),
    ],
)
def test_the_advice_fits_the_architecture(
    capability: tuple[int, int], cuda: int, says: str, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.compute_capability, machine.runtime = capability, cuda
    if not says:
        assert resolve("cuda") == ("cuda", [])
        return
    chosen, said = resolve("cuda")
    assert chosen == "cpu"
    assert says in said[0]
    assert ("evonet-gpu[cuda12]" in said[0]) == (capability == (7, 0))


def test_the_environment_says_what_auto_takes(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    for name in ("cpu", "reference", "cuda"):
        monkeypatch.setenv("EVONET_BACKEND", name)
        assert resolve("auto") == (name, [])
        assert resolve("reference") == ("reference", [])
    monkeypatch.setenv("EVONET_BACKEND", "gpu")
    with pytest.raises(OptionError, match="EVONET_BACKEND='gpu' is not a choice"):
        resolve_backend("auto")


def test_cupy_is_imported_only_for_the_gpu(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("raise SystemExit('cupy was imported')")
    script = """
        import numpy as np, evonet
        population = evonet.Population.random(3, 2, 1, num_nodes=4, num_connections=6, seed=1)
        for backend in ("cpu", "reference"):
            evonet.compile(population, backend=backend)(np.ones((2, 2)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=importing_from(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_driver_of_this_machine_tells_its_version() -> None:
    assert discovery.driver_version() >= 0
