"""Compiles kernels with NVRTC and keeps the results.

CuPy would compile too, but always flushes denormals to zero, asks the GPU for its architecture, and
does not notice a changed header. So NVRTC is called with our flags, for any architecture, with or
without a GPU; CuPy then loads the result.

A kernel is compiled for the custom functions that its networks use. Their set has a name, such as
"a18_a21_g7" for two activations and an aggregation by id, which is the value of a macro.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cuda.nvrtc import Compiled, Defines, compile_source, nvrtc_version
from evonet.errors import CompileError
from evonet.files.atomic import open_atomic
from evonet.functions.expressions.cuda_source import write_header, write_slopes
from evonet.functions.expressions.steps import ExpressionSteps
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.installation import resource_folder

if TYPE_CHECKING:
    from evonet.schedule.schedule import Schedule

# IEEE arithmetic: a fused multiply-add where the source says so and nowhere else, denormals kept,
# division and square root rounded correctly.
FLAGS: Final = (
    "-std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "-default-device",  # NVRTC 12 takes the lambdas of our headers for functions of the host
    "--ptxas-options=-v",  # the log then reports registers and spills
)
_INCLUDE: Final = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

FUNCTIONS_HEADER: Final = "nodes/custom_functions.h"
SLOPES_HEADER: Final = "nodes/custom_slopes.h"
FUNCTIONS_MACRO: Final = "CUSTOM_FUNCTIONS"
_TABLES: Final = {"a": ACTIVATION_TABLE, "g": AGGREGATION_TABLE}
_LOCK: Final = threading.Lock()
_last_set: frozenset[str] = frozenset()
_images: Final[dict[Path, bytes]] = {}  # cubins that this process has read or compiled
_compiling: Final[dict[Path, threading.Lock]] = {}  # one at a time for each


def cubin(kernel: str, defines: Defines, arch: str) -> bytes:
    """Finds a compiled kernel in this process or in the cache folder, or compiles it.

    An entry is named by everything that it depends on: all sources that the kernel includes, flags,
    defines, architecture and NVRTC. Processes may share the folder, because files are written
    atomically; an entry whose checksum is wrong is compiled again. Threads that ask for one kernel
    at a time, as several GPUs do, compile it once. A folder that cannot be written causes one
    warning, and kernels are then kept in memory only.

    Raises:
        CompileError: NVRTC is missing or rejects the kernel.
    """
    entry = cache_entry(kernel, defines, arch)
    with _LOCK:
        lock = _compiling.setdefault(entry, threading.Lock())
    with lock:
        if entry not in _images:
            _images[entry] = _read_entry(entry) or _compile_entry(entry, kernel, defines, arch)
        return _images[entry]


def cache_entry(kernel: str, defines: Defines, arch: str) -> Path:
    """The file of a compiled kernel, whether it exists or not; its checksum is beside it."""
    key = _cache_key(compile_options(defines, arch), kernel_sources(kernel, defines))
    return cache_folder() / f"{kernel}-{arch}-{key}.cubin"


def compile_kernel(kernel: str, defines: Defines, arch: str) -> Compiled:
    """Compiles a kernel, whether it is in the cache or not; see `cubin`."""
    headers = kernel_sources(kernel, defines)
    source = headers.pop(f"cuda/{kernel}.cu")
    return compile_source(source, kernel, headers, compile_options(defines, arch))


def compile_options(defines: Defines, arch: str) -> tuple[str, ...]:
    """The command line of NVRTC."""
    macros = tuple(f"-D{name}={value}" for name, value in sorted(defines.items()))
    return (*FLAGS, f"-arch={arch}", *macros)


def kernel_sources(kernel: str, defines: Defines) -> dict[str, str]:
    """All files that a kernel consists of, by name: itself, then what it includes."""
    folder = resource_folder("kernels")
    sources: dict[str, str] = {}
    names = [f"cuda/{kernel}.cu"]
    while names:
        name = names.pop()
        if name in sources:
            continue
        try:
            if name in (FUNCTIONS_HEADER, SLOPES_HEADER) and FUNCTIONS_MACRO in defines:
                sources[name] = _functions_header(name, str(defines[FUNCTIONS_MACRO]))
            else:
                sources[name] = (folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise CompileError(
                f"cannot read {folder / name}: {error}. Reinstall evonet."
            ) from error
        names += _INCLUDE.findall(sources[name])
    return sources


# ---- custom functions ----


def custom_functions(schedule: Schedule) -> str:
    """Names a set that has all custom functions of a schedule; "" if there are none."""
    return name_functions(schedule.activation, schedule.aggregation)


def name_functions(activations: npt.NDArray[Any], aggregations: npt.NDArray[Any]) -> str:
    """Names a set that has all custom functions among ids; "" if there are none.

    While a population evolves, functions come and go. So that kernels are not compiled again for
    every such set, a set that has something in common with the one before is joined to it.
    """
    global _last_set
    used = frozenset(
        f"{letter}{i}"
        for letter, ids in (("a", activations), ("g", aggregations))
        if ids.max(initial=0) >= _TABLES[letter].num_builtin  # most schedules have none
        for i in np.unique(ids).tolist()
        if i >= _TABLES[letter].num_builtin
    )
    if not used:
        return ""
    with _LOCK:
        if used & _last_set:
            used |= _last_set
        _last_set = used
    return "_".join(sorted(used, key=lambda word: (word[0], int(word[1:]))))


def functions_define(name: str) -> dict[str, str]:
    """The macro that compiles a set of custom functions into a kernel."""
    return {FUNCTIONS_MACRO: name} if name else {}


def _functions_header(header: str, name: str) -> str:
    """The text of a header for a set of custom functions, or for their derivatives."""
    found: dict[str, dict[int, ExpressionSteps]] = {letter: {} for letter in _TABLES}
    for word in name.split("_"):
        expression = _TABLES[word[0]][int(word[1:])].expression
        if expression is None:
            raise AssertionError(f"{word} is built in")
        chosen = expression.derivative if header == SLOPES_HEADER else expression
        found[word[0]][int(word[1:])] = chosen.steps
    write = write_slopes if header == SLOPES_HEADER else write_header
    return write(found["a"], found["g"])


# ---- the cache ----


def cache_folder() -> Path:
    """The folder of compiled kernels: $EVONET_CACHE, or evonet/ in the user's cache."""
    chosen = os.environ.get("EVONET_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evonet"


def _cache_key(options: tuple[str, ...], sources: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for part in (nvrtc_version(), *options, *(text for both in sources.items() for text in both)):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _read_entry(entry: Path) -> bytes | None:
    """The content of an entry; None if it is missing or damaged."""
    try:
        code = entry.read_bytes()
        checksum = _checksum_file(entry).read_bytes()
    except OSError:
        return None
    return code if hashlib.sha256(code).hexdigest().encode() == checksum else None


def _compile_entry(entry: Path, kernel: str, defines: Defines, arch: str) -> bytes:
    """Compiles a kernel and writes it to the cache folder, if it can be written."""
    code = compile_kernel(kernel, defines, arch).cubin
    try:
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, content in (
            (_checksum_file(entry), hashlib.sha256(code).hexdigest().encode()),
            (entry, code),
        ):
            with open_atomic(path) as file:
                file.write(content)
    except OSError as error:
        _warn_once(str(entry.parent), error.strerror or str(error))
    return code


def _checksum_file(entry: Path) -> Path:
    return entry.with_suffix(".sha256")


@functools.cache
def _warn_once(folder: str, reason: str) -> None:
    warnings.warn(
        f"evonet cannot keep compiled kernels in {folder}: {reason}. Every process compiles them "
        "again; set EVONET_CACHE to a folder that can be written.",
        RuntimeWarning,
        stacklevel=4,
    )
