"""Finds the GPUs that work, or says what is missing and how to get it."""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from evonet.errors import CompileError, DeviceError

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")


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
    """What to type so that CuPy and NVRTC fit a driver.

    Args:
        driver: See `driver_version`; 0 if there is none yet.
    """
    extra = "cuda12" if 0 < driver < 13000 else "cuda13"
    return f"pip install 'evonet-gpu[{extra}]'"


@functools.cache  # looking through all folders takes as long as compiling a small population
def has_cupy() -> bool:
    """Tells whether CuPy is installed, without importing it."""
    return importlib.util.find_spec("cupy") is not None


def hidden_on_purpose() -> bool:
    """Tells whether somebody hid all GPUs by CUDA_VISIBLE_DEVICES."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")


def usable_devices() -> tuple[Device, ...]:
    """The GPUs that ran a small kernel correctly, CuPy's current one first.

    Raises:
        DeviceError: There are none; says why and what to do.
    """
    process, found = _survey()
    if isinstance(found, str):
        raise DeviceError(found)
    check_process(process)
    return found


def check_process(process: int) -> None:
    """Raises in a process that was forked from the one that began to use CUDA.

    Args:
        process: The number of the process that began to use CUDA.

    Raises:
        DeviceError: This is another one.
    """
    if os.getpid() != process:
        raise DeviceError(
            "CUDA does not work in a forked process. Start processes with multiprocessing's "
            '"spawn", and compile networks in the process that uses them.'
        )


@functools.cache
def _survey() -> tuple[int, tuple[Device, ...] | str]:
    """The process that asked, and the usable GPUs or why there are none; it takes a second."""
    return os.getpid(), _look_for_devices()


def _look_for_devices() -> tuple[Device, ...] | str:
    try:
        cupy = import_cupy()
        candidates = list_devices(cupy)
    except DeviceError as error:
        return str(error)
    usable, faults = [], []
    for device in candidates:
        try:
            try_device(device)
            usable.append(device)
        except DeviceError as error:
            faults.append(str(error))
    if not usable:
        return faults[0]
    first = int(cupy.cuda.runtime.getDevice())
    return tuple(sorted(usable, key=lambda device: (device.index != first, device.index)))


def import_cupy() -> Any:
    """Imports CuPy.

    Raises:
        DeviceError: It is not installed, or does not import.
    """
    if not has_cupy():
        raise DeviceError(f"CuPy is not installed. {_fix(driver_version())}")
    try:
        return importlib.import_module("cupy")
    except Exception as error:  # a broken install raises whatever its libraries raise
        raise DeviceError(
            f"CuPy is installed but does not import: {error} "
            f"Remove every package whose name starts with cupy, then {_fix(driver_version())}"
        ) from error


def list_devices(cupy: Any) -> list[Device]:
    """All GPUs that CUDA sees.

    Raises:
        DeviceError: It sees none.
    """
    from evonet.backends.cuda.device import Device

    runtime = cupy.cuda.runtime
    driver, needed = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        if driver and driver // 1000 < needed // 1000:
            raise DeviceError(
                f"the GPU's driver runs CUDA {_version(driver)}, and this CuPy needs CUDA "
                f"{needed // 1000}. Update the driver, or remove every package whose name starts "
                f"with cupy, then {install_command(driver)}."
            ) from error
        if driver == 0:
            raise DeviceError(
                "there is no NVIDIA driver. Install version 580 or newer (525 for CUDA 12) and "
                "reboot, until `nvidia-smi` lists the GPU."
            ) from error
        raise DeviceError(f"CUDA finds no GPU: {error} {_look_for_it()}") from error
    if count == 0:
        raise DeviceError(f"CUDA finds no GPU. {_look_for_it()}")
    return [Device(cupy, index) for index in range(count)]


def try_device(device: Device) -> None:
    """Compiles, loads and runs one small kernel.

    Raises:
        DeviceError: Any of it fails.
    """
    from evonet.backends.cuda.samples import gather

    numbers = np.array([[-1, 0, 2**31 - 1]], np.int32)
    found = np.zeros(numbers.shape, np.float32)
    try:
        device.download(gather(device, device.upload(numbers), found.dtype), found)
    except CompileError as error:
        raise DeviceError(
            f"GPU {device.index} ({device.name}, {device.limits.arch}): its kernels do not "
            f"compile: {error} {_fix(driver_version())}"
        ) from error
    if not np.array_equal(found, numbers.astype(np.float32)):
        raise DeviceError(
            f"GPU {device.index} ({device.name}) computes wrong numbers: {found.tolist()} instead "
            f"of {numbers.tolist()}. Reinstall its driver."
        )


def _fix(driver: int) -> str:
    if driver == 0:
        return f"Install NVIDIA's driver 580 or newer, then {install_command(0)}."
    return f"{install_command(driver)}."


def _look_for_it() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return f"CUDA_VISIBLE_DEVICES={visible!r} hides GPUs: unset it."
    return "`nvidia-smi` should list the GPU; a container must be started with access to it."


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
