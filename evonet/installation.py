"""Finds what was installed with the package: the compiled extension, kernels/ and configs/."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import re
import shlex
import shutil
import sys
import warnings
from pathlib import Path
from types import ModuleType

from evonet.errors import BackendError, EvonetError

# Where builds leave word: CMakeLists.txt, CMake from 3.26 on, and CMake before.
_LOGS = ("compiler_errors.log", "CMakeFiles/CMakeConfigureLog.yaml", "CMakeFiles/CMakeError.log")
_COMPILERS = ("c++", "g++", "clang++")
# What CMake and compilers write when they give up.
_FAILURE = re.compile(
    r"(fatal )?error:|CMake Error|FAILED:|failed with the following output|is not able to compile"
)


def _find() -> ModuleType | None:
    try:
        return importlib.import_module("evonet._native")
    except ModuleNotFoundError as error:
        # Any other failure is a broken build, which must not pass for a missing one.
        if error.name != "evonet._native":
            raise
    if os.environ.get("EVONET_REQUIRE_NATIVE", "") not in ("", "0"):
        raise BackendError(f"EVONET_REQUIRE_NATIVE is set. {explain_missing()}")
    return None


def explain_missing(checkout: Path | None = None) -> str:
    """Explains why there is no extension, as far as the build left word, and how to build it.

    Args:
        checkout: The folder that has evonet/, and build/ if evonet was built in it; None for
            that of this package.
    """
    checkout = Path(__file__).resolve().parent.parent if checkout is None else checkout
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    words = _last_words(checkout)
    if compiler is None:
        why = f"No C++ compiler was found ({', '.join(_COMPILERS)}). "
    elif words:
        why = f"The build said: {words}. "
    else:
        why = f"There is a compiler, {compiler}, but the build left no word. "
    again = "--force-reinstall --no-deps --no-cache-dir evonet-gpu"
    if (checkout / "pyproject.toml").is_file():
        again = f"-e {shlex.quote(str(checkout))}"
    return (
        "evonet was installed without its compiled extension, so it runs on the slow reference "
        f"backend. {why}It needs a C++17 compiler (Debian: apt install g++; macOS: xcode-select "
        "--install); then this compiles for a minute or two, and shows what the build says if it "
        f"fails: EVONET_REQUIRE_NATIVE=1 {pip_program()} install {again}"
    )


def _last_words(checkout: Path) -> str:
    """Returns the lines in which the last build in a checkout gave up, or ""."""
    found = [log for pattern in _LOGS for log in checkout.glob(f"build/*/{pattern}")]
    logs = sorted(found, key=lambda log: log.stat().st_mtime)
    if not logs:
        return ""
    lines = logs[-1].read_text(errors="replace").splitlines()
    said = list(dict.fromkeys(line.strip() for line in lines if _FAILURE.search(line)))
    # A compiler's first error causes the others; CMake gives up at its last.
    telling = said[:2] if logs[-1].name == _LOGS[0] else said[-2:]
    return " / ".join(telling)[:400]


@functools.cache
def load_native() -> ModuleType | None:
    """Imports the extension on first use; None where it was not built.

    Returns:
        The module `evonet._native`, or None after one warning.

    Raises:
        BackendError: It is missing although EVONET_REQUIRE_NATIVE=1 asks for it.
    """
    native = _find()
    if native is None:
        warnings.warn(explain_missing(), RuntimeWarning, stacklevel=2)
    return native


def require_native() -> ModuleType:
    """Imports the extension for somebody who asked for it by name.

    Raises:
        BackendError: It was not built.
    """
    native = _find()
    if native is None:
        raise BackendError(f'backend="cpu" needs the compiled extension. {explain_missing()}')
    return native


def pip_program() -> str:
    """Returns how to call the pip of this environment, which need not be the one on the path."""
    found = shutil.which("pip")
    if found and Path(found).resolve().is_relative_to(Path(sys.prefix).resolve()):
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"


def install_command(extra: str) -> str:
    """Returns what to type to install an extra; it works before evonet is published too.

    pip finds the extras of an installed distribution without an index.
    """
    try:
        importlib.metadata.distribution("evonet-gpu")
    except importlib.metadata.PackageNotFoundError:  # a checkout on the path
        checkout = Path(__file__).resolve().parent.parent
        return f"{pip_program()} install -e {shlex.quote(f'{checkout}[{extra}]')}"
    return f"{pip_program()} install 'evonet-gpu[{extra}]'"


def resource_folder(name: str) -> Path:
    """Locates a shipped folder, whether evonet is a wheel, an editable install or a checkout.

    Args:
        name: "kernels" or "configs".

    Raises:
        EvonetError: The installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise EvonetError(f"evonet's {name}/ folder is missing beside {package}. Reinstall evonet.")
