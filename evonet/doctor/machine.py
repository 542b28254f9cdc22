"""Examines the machine: Python, the compiled extension, the driver, CuPy, NVRTC, the GPUs."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator

import numpy as np

import evonet
from evonet.backends.cuda import compiler, discovery
from evonet.backends.cuda.device import Device, cuda_versions, cupy_version
from evonet.backends.cuda.nvrtc import nvrtc_version
from evonet.doctor.findings import Finding
from evonet.errors import BackendError, CompileError, DeviceError, OptionError
from evonet.evaluators.shared_block import SharedBlock
from evonet.installation import install_command
from evonet.messages import counted

REINSTALL = "EVONET_REQUIRE_NATIVE=1 pip install --force-reinstall --no-deps evonet-gpu"
_COMPILERS = ("c++", "g++", "clang++")
_CUPY_PACKAGES = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")


def look_at_python() -> Iterator[Finding]:
    """The interpreter, NumPy, evonet itself."""
    yield Finding("evonet", "ok", f"{evonet.__version__} in {os.path.dirname(evonet.__file__)}")
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    version = f"{platform.python_version()} {sys.implementation.name}"
    yield Finding("Python", "ok", f"{version} on {system}")
    yield Finding("NumPy", "ok", np.__version__)


def look_at_extension() -> Iterator[Finding]:
    """The compiled extension, and the processor's instruction sets."""
    from evonet.backends.cpu import CpuBackend
    from evonet.installation import load_native

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would repeat this finding
        try:
            native = load_native()
        except (BackendError, ImportError) as error:
            yield Finding("extension", "fault", str(error), REINSTALL)
            return
    if native is None:
        found = [name for name in _COMPILERS if shutil.which(name)]
        if found:
            yield Finding("extension", "fault", f"not built, though there is {found[0]}", REINSTALL)
        else:
            fix = "apt install g++ (macOS: xcode-select --install), then " + REINSTALL
            yield Finding("extension", "fault", "not built: there is no C++ compiler", fix)
        return
    threads = native.available_threads()
    yield Finding("extension", "ok", f"built; {counted(threads, 'thread')} available")
    levels = native.simd_levels()
    try:
        used = CpuBackend().simd_level()
        if used == "baseline" and len(levels) == 1 and native.processor_level() > 1:
            text = "baseline in use: the extension was compiled for another processor"
            yield Finding("SIMD", "fault", text, REINSTALL)
        else:
            yield Finding("SIMD", "ok", f"{used} in use, of {', '.join(levels)}")
    except OptionError as error:
        yield Finding("SIMD", "fault", str(error), "unset EVONET_SIMD")


def look_at_workers() -> Iterator[Finding]:
    """What can evaluate besides this process: other processes, and Ray."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        block = SharedBlock()
        block.reserve(1 << 20)
        block.close()
        yield Finding("workers", "ok", f"processes (--workers N), on {counted(cores or 1, 'core')}")
    except OSError as error:
        fix = "give this machine or container shared memory, such as docker run --shm-size=1g"
        yield Finding("workers", "fault", f"there is no shared memory for them: {error}", fix)
    try:
        version = importlib.metadata.version("ray")
        yield Finding("Ray", "ok", f"{version} (--workers ray)")
    except importlib.metadata.PackageNotFoundError:
        fix = install_command("ray")
        yield Finding("Ray", "absent", "not installed; workers on other machines need it", fix)


def look_at_cuda() -> Iterator[Finding]:
    """The driver, CuPy, NVRTC and every GPU; all of it is optional."""
    driver = discovery.driver_version()
    if driver:
        yield Finding("driver", "ok", f"runs CUDA up to {driver // 1000}.{driver % 1000 // 10}")
    else:
        fix = "only for GPUs: install NVIDIA's driver 580 or newer, and reboot"
        yield Finding("driver", "absent", "no NVIDIA driver", fix)
    if not discovery.has_cupy():
        fix = f"only for GPUs: {discovery.install_command(driver)}"
        yield Finding("CuPy", "absent", "not installed", fix)
        return
    yield from _look_at_cupy(driver)


def _look_at_cupy(driver: int) -> Iterator[Finding]:
    packages = _installed(_CUPY_PACKAGES)
    try:
        discovery.check_cupy()
    except DeviceError as error:
        yield Finding("CuPy", "fault", str(error))
        return
    version = f"{cupy_version()} for CUDA {cuda_versions()[1] // 1000}"
    if len(packages) > 1:
        fix = f"pip uninstall {' '.join(packages)}, then {discovery.install_command(driver)}"
        yield Finding("CuPy", "fault", f"{version}, installed {len(packages)} times", fix)
    else:
        yield Finding("CuPy", "ok", version)
    yield _look_at_nvrtc(driver)
    yield _look_at_cache()
    try:
        count = discovery.count_gpus()
    except DeviceError as error:
        yield Finding("GPU", "absent" if driver == 0 else "fault", str(error))
        return
    for index in range(count):
        yield _look_at_gpu(index)


def _look_at_gpu(index: int) -> Finding:
    text = ""
    try:
        device = Device(index, compiler.cubin)
        limits = device.limits
        text = (
            f"{device.name}, {limits.arch}, {limits.num_sms} multiprocessors, "
            f"{device.memory / 2**30:.1f} GiB"
        )
        discovery.try_device(device)
        free = f"{device.free_memory() / 2**30:.1f} GiB free"
        return Finding(f"GPU {index}", "ok", f"{text}, {free}; runs our kernels")
    except DeviceError as error:
        return Finding(f"GPU {index}", "fault", f"{text}\n{error}".lstrip())


def _look_at_nvrtc(driver: int) -> Finding:
    try:
        defines = {"SOURCE": "int", "REAL": "float"}
        compiler.compile_kernel("gather_samples", defines, "sm_75")
    except CompileError as error:
        return Finding("NVRTC", "fault", str(error), discovery.install_command(driver))
    return Finding("NVRTC", "ok", f"{nvrtc_version()}, compiles our kernels")


def _look_at_cache() -> Finding:
    folder = compiler.cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = "set EVONET_CACHE to a folder that can be written"
        return Finding("cache", "fault", f"compiled kernels cannot be stored: {error}", fix)
    count = len(list(folder.glob("*.cubin")))
    return Finding("cache", "ok", f"{count} compiled kernels in {folder}")


def _installed(packages: tuple[str, ...]) -> list[str]:
    found = []
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version(package)
            found.append(package)
    return found
