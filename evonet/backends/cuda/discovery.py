"""Finds the GPUs that work, or explains what is missing and how to get it."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import warnings

import numpy as np

from evonet import installation
from evonet.backends.cuda.compiler import cubin
from evonet.backends.cuda.device import (
    Device,
    count_devices,
    cuda_versions,
    cupy_version,
    current_device,
)
from evonet.backends.cuda.layout import gather_samples
from evonet.backends.cuda.nvrtc import nvrtc_version, supported_architectures
from evonet.errors import CompileError, DeviceError

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
OLDEST = 70
"""The oldest architecture: before it, threads of a warp could not wait for some of the others."""


def driver_version() -> int:
    """The newest CUDA that the installed driver can run, as 1000 major + 10 minor; 0 without one.

    It asks the driver itself, so it works without CuPy.
    """
    version = ctypes.c_int(0)
    for library in _LIBRARIES:
        try:
            driver = ctypes.CDLL(library)
        except OSError:
            continue
        if driver.cuDriverGetVersion(ctypes.byref(version)) == 0:
            return version.value
    return 0


def install_command(driver: int) -> str:
    """What to type to install CuPy and NVRTC for a driver; 0 if there is none yet."""
    return installation.install_command("cuda12" if 0 < driver < 13000 else "cuda13")


@functools.cache  # looking through all folders takes as long as compiling a small population
def has_cupy() -> bool:
    """Whether CuPy is installed; it is not imported."""
    return importlib.util.find_spec("cupy") is not None


def hidden_on_purpose() -> bool:
    """Whether the user hid all GPUs with CUDA_VISIBLE_DEVICES."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")


def usable_devices() -> tuple[Device, ...]:
    """The GPUs that ran a small kernel correctly, CuPy's current one first.

    One warning names those that did not, if others did.

    Raises:
        DeviceError: There are none; says why and how to fix it.
    """
    process, found = _search()
    if isinstance(found, str):
        raise DeviceError(found)
    check_process(process)
    return found


def check_process(process: int) -> None:
    """Refuses processes that were forked from the one that started to use CUDA."""
    if os.getpid() != process:
        raise DeviceError(
            "CUDA does not work in a forked process. Start processes with multiprocessing's "
            '"spawn", and compile networks in the process that uses them.'
        )


@functools.cache
def _search() -> tuple[int, tuple[Device, ...] | str]:
    """The process that asked, and the usable GPUs or why there are none; it takes a second."""
    return os.getpid(), _find_usable()


def _find_usable() -> tuple[Device, ...] | str:
    try:
        check_cupy()
        count = count_gpus()
    except DeviceError as error:
        return str(error)
    usable, faults = [], []
    for index in range(count):
        try:
            device = Device(index, cubin)
            try_device(device)
            usable.append(device)
        except DeviceError as error:
            faults.append(str(error))
    if not usable:
        return faults[0]
    if faults:
        numbers = ", ".join(str(device.index) for device in usable)
        warnings.warn(
            f"evonet uses only GPU {numbers} of {count}: {' '.join(faults)} CUDA_VISIBLE_DEVICES "
            "hides GPUs that should not be used.",
            RuntimeWarning,
            stacklevel=2,
        )
    first = current_device()
    return tuple(sorted(usable, key=lambda device: (device.index != first, device.index)))


def check_cupy() -> None:
    """Checks that CuPy is installed and imports; a `DeviceError` says how to fix it."""
    if not has_cupy():
        raise DeviceError(f"CuPy is not installed. {_fix()}")
    try:
        cupy_version()
    except Exception as error:  # a broken installation raises whatever its libraries raise
        raise DeviceError(
            f"CuPy is installed but does not import: {error} "
            f"Remove every package whose name starts with cupy, then {_fix()}"
        ) from error


def count_gpus() -> int:
    """The number of GPUs that CUDA sees; if none, a `DeviceError` says how to fix it."""
    driver, needed = cuda_versions()
    try:
        count = count_devices()
    except DeviceError as error:
        if driver and driver // 1000 < needed // 1000:
            raise DeviceError(
                f"the GPU's driver runs CUDA {driver // 1000}.{driver % 1000 // 10}, and this CuPy "
                f"needs CUDA {needed // 1000}. Update the driver, or remove every package whose "
                f"name starts with cupy, then {install_command(driver)}."
            ) from error
        if driver == 0:
            raise DeviceError(
                "there is no NVIDIA driver. Install version 580 or newer (525 for CUDA 12) and "
                "reboot, until `nvidia-smi` lists the GPU."
            ) from error
        raise DeviceError(f"CUDA finds no GPU: {error} {_search_advice()}") from error
    if count == 0:
        raise DeviceError(f"CUDA finds no GPU. {_search_advice()}")
    return count


def try_device(device: Device) -> None:
    """Compiles, loads and runs one small kernel; any failure is a `DeviceError`."""
    _check_architecture(device)
    numbers = np.array([[-1, 0, 2**31 - 1]], np.int32)
    found = np.zeros(numbers.shape, np.float32)
    try:
        device.download(gather_samples(device, device.upload(numbers), found.dtype), found)
    except CompileError as error:
        raise DeviceError(
            f"GPU {device.index} ({device.name}, {device.limits.arch}): its kernels do not "
            f"compile: {error} {_fix()}"
        ) from error
    if not np.array_equal(found, numbers.astype(np.float32)):
        raise DeviceError(
            f"GPU {device.index} ({device.name}) computes wrong numbers: {found.tolist()} instead "
            f"of {numbers.tolist()}. Reinstall its driver."
        )


def _check_architecture(device: Device) -> None:
    """Raises a `DeviceError` if a GPU is too old for evonet, or for the NVRTC that is installed."""
    arch = int(device.limits.arch.removeprefix("sm_"))
    who = f"GPU {device.index} ({device.name}, {device.limits.arch}) cannot be used"
    if arch < OLDEST:
        raise DeviceError(f"{who}: evonet needs sm_{OLDEST} or newer.")
    try:
        supported = supported_architectures()
    except CompileError:
        return  # compiling describes what is missing
    fault = f"{who}: NVRTC {nvrtc_version()} compiles for sm_{supported[0]} to sm_{supported[-1]}."
    if arch < supported[0]:
        raise DeviceError(
            f"{fault} CUDA 12 is the last for this GPU: remove every package whose name starts "
            f"with cupy or nvidia-cuda, then {installation.install_command('cuda12')}."
        )
    if arch > supported[-1]:
        update = f"{installation.install_command('cuda13')} --upgrade"
        raise DeviceError(f"{fault} Update NVRTC: {update}.")


def _fix() -> str:
    driver = driver_version()
    if driver == 0:
        return f"Install NVIDIA's driver 580 or newer, then {install_command(0)}."
    return f"{install_command(driver)}."


def _search_advice() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return f"CUDA_VISIBLE_DEVICES={visible!r} hides GPUs: unset it."
    return "`nvidia-smi` should list the GPU; a container must be started with access to it."
