"""Compiles with g++ and keeps what was compiled, for all later tests, processes and checkouts.

A module is kept under the hash of its preprocessed source, so a change to any header counts, and of
the translator. What the translator notes lies beside it, so that nothing is translated twice. The
source names its files relative to the folders that they were found in: where those lie, in a
checkout or a temporary folder, makes no difference. The runtime library is compiled once per mode;
modules find it beside themselves.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .errors import CompileError, SimtError
from .source import Notes, translate

RUNTIME = Path(__file__).parent / "runtime"
TRANSLATOR = Path(__file__).parent / "source.py"
RUNTIME_NAME = "simt-runtime"  # what compiled modules call the folder
MODES = ("plain", "checked")

LANGUAGE = ["-std=c++17", "-fPIC", "-w", "-fno-exceptions", "-fno-rtti"]
# The arithmetic of a GPU that is told --fmad=false: IEEE, integers wrap, float4* may alias float*.
ARITHMETIC = ["-ffp-contract=off", "-fno-math-errno", "-fwrapv", "-fno-strict-aliasing"]
# Lines of source from return addresses; modules that share no variables. DWARF 5 counts files from
# 0, and some addr2line from 1.
LINKAGE = ["-g1", "-gdwarf-4", "-fno-optimize-sibling-calls", "-fno-plt"]
LINKAGE += ["-fno-gnu-unique", "-fvisibility=hidden"]
SANITIZERS = "thread,bounds-strict,shift-exponent,integer-divide-by-zero,float-cast-overflow"
# -O0: every access of the source is one access of the machine, a float4 is not split.
MODE_FLAGS = {
    "plain": ["-O1"],
    "checked": [
        "-O0",
        f"-fsanitize={SANITIZERS}",
        "--param=tsan-instrument-func-entry-exit=0",
    ],
}


def why_unavailable() -> str | None:
    """Returns why the runner cannot work here, or None if it can."""
    if platform.system() != "Linux":
        return f"the SIMT runner needs Linux, not {platform.system()}"
    for tool in ("g++", "readelf", "addr2line"):
        if shutil.which(tool) is None:
            return f"the SIMT runner needs {tool}; install g++ and binutils"
    return None


def preprocess(
    source: str | Path,
    name: str,
    include_dirs: Sequence[Path],
    defines: Mapping[str, object],
    mode: str,
) -> str:
    """Expands macros and includes of a .cu file, or of a source text."""
    command = ["g++", "-E", "-x", "c++", *LANGUAGE, *_machine_flags()]
    command += ["-include", str(RUNTIME / "simt.h")]
    command += [f"-I{folder}" for folder in include_dirs]
    command += [
        f"-D{key}={int(value) if isinstance(value, bool) else value}"
        for key, value in defines.items()
    ]
    command += ["-DSIMT_CHECKED"] if mode == "checked" else []
    if isinstance(source, Path):
        elsewhere = not any(source.is_relative_to(folder) for folder in include_dirs)
        folders = [*include_dirs, source.parent] if elsewhere else include_dirs
        return _anywhere(_run([*command, str(source)]), folders)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    text = _run([*command, "-"], f'# 1 "{escaped}"\n{source}\n')
    return _anywhere(text.replace('"<stdin>"', f'"{escaped}"'), include_dirs)


def _anywhere(preprocessed: str, folders: Sequence[Path]) -> str:
    """Makes the names of files relative to the folders that they lie in."""
    names = {RUNTIME: f"{RUNTIME_NAME}/"} | dict.fromkeys(folders, "")
    for folder in sorted(names, key=lambda path: -len(path.parts)):
        preprocessed = re.sub(
            rf'^(# \d+ "){re.escape(str(folder))}/',
            rf"\g<1>{names[folder]}",
            preprocessed,
            flags=re.MULTILINE,
        )
    return preprocessed


def build(preprocessed: str, mode: str) -> tuple[Path, Notes]:
    """Compiles preprocessed CUDA to a shared library, unless that was done before."""
    flags = [*LANGUAGE, *ARITHMETIC, *LINKAGE, *_machine_flags(), *MODE_FLAGS[mode]]
    runtime = build_runtime(mode)
    key = _hash(_compiler(), *flags, runtime.name, mode, TRANSLATOR.read_text(), preprocessed)
    notes_name, module_name = f"module-{key}.json", f"module-{key}.so"

    def make(folder: Path) -> None:
        text, notes = translate(preprocessed, guards=mode == "checked")
        (folder / notes_name).write_text(json.dumps(asdict(notes)))
        (folder / "module.ii").write_text(text)
        relative = f"-fdebug-prefix-map={folder}=."
        _run(["g++", *flags, relative, "-c", "module.ii", "-o", "module.o"], cwd=folder)
        # Linked apart from compiling: -fsanitize must not bring its own library.
        link = ["g++", "-shared", "module.o", str(runtime), "-o", module_name, "-lm"]
        _run([*link, "-Wl,-rpath,$ORIGIN", "-Wl,-Bsymbolic", "-Wl,-z,defs"], cwd=folder)

    notes, module = _cached([notes_name, module_name], make)
    return module, Notes(**json.loads(notes.read_text()))


def build_runtime(mode: str) -> Path:
    """Compiles the runtime library: fibers, barriers and, in checked mode, the checker."""
    flags = ["-std=c++17", "-O2", "-fPIC", "-pthread", "-Wall", "-Wextra"]
    if mode == "checked":
        flags.append("-DSIMT_CHECKED")
    if os.environ.get("SIMT_UCONTEXT"):
        flags.append("-DSIMT_UCONTEXT")
    sources = [path.read_text() for path in sorted(RUNTIME.iterdir())]
    name = f"runtime-{_hash(_compiler(), *flags, *sources)}.so"

    def make(folder: Path) -> None:
        link = ["-shared", f"-Wl,-soname,{name}", "-Wl,-z,defs", "-o", name]
        _run(["g++", *flags, str(RUNTIME / "runtime.cpp"), *link], cwd=folder)

    return _cached([name], make)[0]


def cache_folder() -> Path:
    """Returns the folder of compiled modules, which nobody else can write to."""
    default = Path(tempfile.gettempdir()) / f"evonet-simt-{os.getuid()}"
    folder = Path(os.environ.get("EVONET_SIMT_CACHE", default))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise SimtError(
            f"{folder} can be written by others. Set EVONET_SIMT_CACHE to a safe folder"
        )
    return folder


def _cached(names: Sequence[str], make: Callable[[Path], None]) -> list[Path]:
    """Returns files of the cache; makes all, in a folder of their own, if any is not there."""
    paths = [cache_folder() / name for name in names]
    if all(path.exists() for path in paths):
        return paths
    with _locked(paths[0].with_suffix(".lock")):
        # Another process may have made them meanwhile.
        if not all(path.exists() for path in paths):
            with tempfile.TemporaryDirectory(dir=paths[0].parent) as folder:
                make(Path(folder))
                for path in paths:
                    (Path(folder) / path.name).rename(path)
    return paths


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other processes from compiling the same at the same time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _run(command: list[str], stdin: str | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise CompileError(f"{done.stderr.strip() or 'g++ failed'}\n  (from: {' '.join(command)})")
    return done.stdout


def _hash(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:20]


@functools.cache
def _compiler() -> str:
    return _run(["g++", "-dumpfullversion", "-dumpmachine"])


@functools.cache
def _machine_flags() -> list[str]:
    """Returns -mfma where the CPU has it; elsewhere libm rounds a fused multiply-add as well."""
    if platform.machine() != "x86_64":
        return []
    return ["-mfma"] if "fma" in Path("/proc/cpuinfo").read_text().split() else []
