"""Compiles kernels with NVRTC and keeps the results.

CuPy would compile too, but always flushes denormals to zero, asks the GPU for its architecture, and
does not notice a changed header. So NVRTC is called here, with our flags, for any architecture,
with or without a GPU; CuPy then loads the file.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import struct
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from evonet.backends.cuda.custom_functions import HEADER, MACRO, header_of
from evonet.errors import CompileError
from evonet.installation import resource_folder

# IEEE arithmetic: a fused multiply-add where the source says so and nowhere else, denormals kept,
# division and square root rounded correctly.
FLAGS: Final = (
    "-std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "-default-device",  # NVRTC 12 takes the lambdas of our headers for functions of the host
    "--ptxas-options=-v",  # the log then tells registers and spills
)
_INCLUDE: Final = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def cubin(kernel: str, defines: Mapping[str, int | str], arch: str) -> Path:
    """Finds a compiled kernel in the cache, or compiles it.

    An entry is named by everything that it depends on: all sources that the kernel includes, flags,
    defines, architecture and NVRTC. It is written at once or not at all, so processes may share the
    cache; one whose checksum is wrong is compiled again.

    Args:
        kernel: Name of a .cu file in kernels/, without the ending.
        defines: Macros and their values.
        arch: Architecture of the GPU, such as "sm_86".

    Returns:
        The path of a cubin, for `cupy.RawModule(path=...)`.

    Raises:
        CompileError: NVRTC is missing or refuses the kernel.
    """
    options = compile_options(defines, arch)
    key = _key(options, kernel_sources(kernel, defines))
    folder = _writable_cache()
    entry = folder / f"{kernel}-{arch}-{key}.cubin"
    seal = entry.with_suffix(".sha256")
    if not _is_intact(entry, seal):
        image = compile_kernel(kernel, defines, arch).cubin
        _write(seal, hashlib.sha256(image).hexdigest().encode())
        _write(entry, image)
    return entry


class Compiled(NamedTuple):
    """What NVRTC makes of a kernel.

    Attributes:
        cubin: The machine code.
        ptx: The assembly that it was made from, for people and tests to read.
        log: Registers, spills and shared memory, as the assembler tells them.
    """

    cubin: bytes
    ptx: str
    log: str


def compile_kernel(kernel: str, defines: Mapping[str, int | str], arch: str) -> Compiled:
    """Compiles a kernel, whether it is in the cache or not; see `cubin`."""
    headers = kernel_sources(kernel, defines)
    source = headers.pop(f"cuda/{kernel}.cu")
    return compile_sources(source, kernel, headers, defines, arch)


def compile_sources(
    source: str,
    name: str,
    headers: Mapping[str, str],
    defines: Mapping[str, int | str],
    arch: str,
) -> Compiled:
    """Compiles a text that may include the headers given, by name, and no others.

    Raises:
        CompileError: NVRTC is missing or refuses it.
    """
    nvrtc = load_nvrtc()
    options = compile_options(defines, arch)
    # Headers travel as texts: given a folder, NVRTC would look into the current one first.
    program = nvrtc.createProgram(
        source,
        f"{name}.cu",
        tuple(text.encode() for text in headers.values()),
        tuple(header.encode() for header in headers),
    )
    try:
        nvrtc.compileProgram(program, options)
        image = _complete(nvrtc.getCUBIN(program))
        return Compiled(image, _text(nvrtc.getPTX(program)), _text(nvrtc.getProgramLog(program)))
    except nvrtc.NVRTCError as error:
        log = _text(nvrtc.getProgramLog(program))
        raise CompileError(
            f"NVRTC {nvrtc_version()} cannot compile {name}.cu ({' '.join(options)}): "
            f"{error}\n{log}",
            log,
        ) from error
    finally:
        nvrtc.destroyProgram(program)


def compile_options(defines: Mapping[str, int | str], arch: str) -> tuple[str, ...]:
    """Everything that NVRTC is told beside the sources."""
    macros = tuple(f"-D{name}={value}" for name, value in sorted(defines.items()))
    return (*FLAGS, f"-arch={arch}", *macros)


def kernel_sources(kernel: str, defines: Mapping[str, int | str]) -> dict[str, str]:
    """All files that a kernel consists of, by name: itself, then what it includes.

    Args:
        kernel: Name of a .cu file in kernels/, without the ending.
        defines: Macros; they tell which functions of one's own the kernel must know.

    Raises:
        CompileError: A file is missing.
    """
    folder = resource_folder("kernels")
    sources: dict[str, str] = {}
    names = [f"cuda/{kernel}.cu"]
    while names:
        name = names.pop()
        if name in sources:
            continue
        try:
            if name == HEADER and MACRO in defines:
                sources[name] = header_of(str(defines[MACRO]))
            else:
                sources[name] = (folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise CompileError(
                f"cannot read {folder / name}: {error}. Reinstall evonet."
            ) from error
        names += _INCLUDE.findall(sources[name])
    return sources


def cache_folder() -> Path:
    """Where compiled kernels are kept: $EVONET_CACHE, or evonet/ in the user's cache."""
    chosen = os.environ.get("EVONET_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evonet"


def _complete(image: bytes) -> bytes:
    """Gives a cubin its last byte back.

    CuPy 14 takes NVRTC's cubins for texts and drops what it believes to be the terminating zero.
    That byte is the end of the ELF file's last table, a zero indeed, but tools refuse the rest.
    """
    tables = struct.unpack_from("<QQ", image, 32)
    sizes = struct.unpack_from("<HHHH", image, 54)  # (size of an entry, entries) of each
    end = max(tables[0] + sizes[0] * sizes[1], tables[1] + sizes[2] * sizes[3])
    return image + bytes(max(0, end - len(image)))


def load_nvrtc() -> Any:
    """Imports CuPy's binding of NVRTC.

    Raises:
        CompileError: CuPy or NVRTC is not installed; says what to install.
    """
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        raise CompileError(
            f"cannot compile kernels: {error}. Install CuPy and NVRTC with "
            "pip install 'evonet-gpu[cuda13]', or [cuda12] for an older driver."
        ) from error
    return nvrtc


@functools.cache
def nvrtc_version() -> str:
    """The version of NVRTC, such as "13.0"."""
    major, minor = load_nvrtc().getVersion()
    return f"{major}.{minor}"


def _key(options: tuple[str, ...], sources: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for part in (nvrtc_version(), *options, *(text for both in sources.items() for text in both)):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _is_intact(entry: Path, seal: Path) -> bool:
    try:
        return hashlib.sha256(entry.read_bytes()).hexdigest().encode() == seal.read_bytes()
    except OSError:
        return False


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _writable_cache() -> Path:
    folder = cache_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        return _temporary_cache(str(folder), str(error))


@functools.cache
def _temporary_cache(folder: str, reason: str) -> Path:
    warnings.warn(
        f"evonet cannot keep compiled kernels in {folder}: {reason}. They are compiled anew by "
        "every process; set EVONET_CACHE to a folder that can be written.",
        RuntimeWarning,
        stacklevel=4,
    )
    return Path(tempfile.mkdtemp(prefix="evonet-"))


def _text(found: bytes | str) -> str:
    text = found.decode(errors="replace") if isinstance(found, bytes) else found
    return text.rstrip("\0\n")
