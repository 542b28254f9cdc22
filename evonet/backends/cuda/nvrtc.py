"""The seam to NVRTC, by way of CuPy: compiles texts for any architecture, with or without a GPU."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from evonet.errors import CompileError
from evonet.installation import install_command

Defines: TypeAlias = Mapping[str, int | str]
"""Macros that a kernel is compiled with, and their values."""


class Compiled(NamedTuple):
    """The output of NVRTC for one kernel."""

    cubin: bytes  # the machine code
    ptx: str  # the assembly that it was made from, for people and tests to read
    log: str  # registers, spills and shared memory, as the assembler reports them


def nvrtc_version() -> str:
    """The version of NVRTC, such as "13.0"."""
    major, minor = _import_nvrtc().getVersion()
    return f"{major}.{minor}"


def supported_architectures() -> tuple[int, ...]:
    """The architectures that NVRTC compiles for, such as 75 for sm_75, in ascending order."""
    return tuple(sorted(map(int, _import_nvrtc().getSupportedArchs())))


def compile_source(
    source: str, name: str, headers: Mapping[str, str], options: tuple[str, ...]
) -> Compiled:
    """Compiles a text that may include the headers given, by name, and no others."""
    nvrtc = _import_nvrtc()
    # Headers travel as texts: given a folder, NVRTC would look into the current one first.
    program = nvrtc.createProgram(
        source,
        f"{name}.cu",
        tuple(text.encode() for text in headers.values()),
        tuple(header.encode() for header in headers),
    )
    try:
        nvrtc.compileProgram(program, options)
        cubin = _complete(nvrtc.getCUBIN(program))
        return Compiled(cubin, _text(nvrtc.getPTX(program)), _text(nvrtc.getProgramLog(program)))
    except nvrtc.NVRTCError as error:
        log = _text(nvrtc.getProgramLog(program))
        raise CompileError(
            f"NVRTC {nvrtc_version()} cannot compile {name}.cu ({' '.join(options)}): "
            f"{error}\n{log}",
            log,
        ) from error
    finally:
        nvrtc.destroyProgram(program)


def _import_nvrtc() -> Any:
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        raise CompileError(
            f"cannot compile kernels: {error}. Install CuPy and NVRTC with "
            f"{install_command('cuda13')}, or [cuda12] for an older driver."
        ) from error
    return nvrtc


def _complete(cubin: bytes) -> bytes:
    """Restores the last byte of a cubin.

    CuPy 14 takes NVRTC's cubins for texts and drops what it believes to be the terminating zero.
    That byte is the end of the ELF file's last table, a zero indeed, but tools reject the rest.
    """
    tables = struct.unpack_from("<QQ", cubin, 32)
    sizes = struct.unpack_from("<HHHH", cubin, 54)  # (size of an entry, entries) of each
    end = max(tables[0] + sizes[0] * sizes[1], tables[1] + sizes[2] * sizes[3])
    return cubin + bytes(max(0, end - len(cubin)))


def _text(found: bytes | str) -> str:
    text = found.decode(errors="replace") if isinstance(found, bytes) else found
    return text.rstrip("\0\n")
