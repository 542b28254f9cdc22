"""Other builds of the native extension, beside the installed one: sanitizers, other compilers.

A build has its own folder, `build/native-NAME`, and is incremental. Processes that run with
`environment(...)` import it in place of the installed extension.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.import_paths import importing_from

ROOT = Path(__file__).resolve().parents[2]


def build(name: str, compiler: str, flags: Sequence[str] = (), levels: str = "all") -> Path:
    """Compiles the extension and returns its path.

    Args:
        name: The build's name, for its folder.
        compiler: The C++ compiler's command.
        flags: More options; they come last and so win over those of CMakeLists.txt.
        levels: EVONET_LEVELS of CMakeLists.txt.

    Raises:
        SystemExit: A tool is missing, or the build fails.
    """
    for tool in ("cmake", "ninja", compiler):
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is missing; install it (cmake and ninja also come by pip)")
    folder = ROOT / "build" / f"native-{name}"
    words = "<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> {} -o <OBJECT> -c <SOURCE>"
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={compiler}"]
    configure += [f"-DEVONET_LEVELS={levels}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    configure += [f"-DCMAKE_CXX_COMPILE_OBJECT={words.format(' '.join(flags))}"]
    configure += [f"-DCMAKE_MODULE_LINKER_FLAGS={' '.join(flags)}"]
    log = folder / "build.log"
    folder.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        for command in (configure, ["cmake", "--build", str(folder)]):
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode:
                out.flush()
                raise SystemExit(f"{log.read_text()[-4000:]}\n{' '.join(command)} failed: {log}")
    (library,) = folder.glob("_native*.so")
    return library


def environment(library: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of processes that import this library as `evonet._native`."""
    return {
        **importing_from(Path(__file__).parent / "chosen_native"),
        "EVONET_TEST_NATIVE": str(library),
        "EVONET_REQUIRE_NATIVE": "1",
        **extra,
    }


def check(library: Path, env: Mapping[str, str]) -> None:
    """Checks that a process of this environment imports the library.

    Raises:
        SystemExit: It does not.
    """
    show = [sys.executable, "-c", "import evonet._native as n; print(n.__file__)"]
    done = subprocess.run(show, env=dict(env), cwd=ROOT, capture_output=True, text=True)
    if done.stdout.strip() != str(library):
        raise SystemExit(f"{library} cannot be imported: {done.stdout}{done.stderr}")
