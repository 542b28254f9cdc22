"""Finds what was installed with the package: the compiled extension, kernels/ and configs/."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import shlex
import shutil
import sys
import warnings
from pathlib import Path
from types import ModuleType

from evonet.errors import BackendError, EvonetError

_MISSING = (
    "evonet was installed without its compiled extension, so it runs on the slow reference "
    "backend. Install a C++ compiler (Debian: apt install g++; macOS: xcode-select --install), "
    "then reinstall with EVONET_REQUIRE_NATIVE=1 to see what the build says."
)


def _find() -> ModuleType | None:
    try:
        return importlib.import_module("evonet._native")
    except ModuleNotFoundError as error:
        # Any other failure is a broken build, which must not pass for a missing one.
        if error.name != "evonet._native":
            raise
    if os.environ.get("EVONET_REQUIRE_NATIVE", "") not in ("", "0"):
        raise BackendError(f"EVONET_REQUIRE_NATIVE is set. {_MISSING}")
    return None


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
        warnings.warn(_MISSING, RuntimeWarning, stacklevel=2)
    return native


def require_native() -> ModuleType:
    """Imports the extension for somebody who asked for it by name.

    Raises:
        BackendError: It was not built.
    """
    native = _find()
    if native is None:
        raise BackendError(f'backend="cpu" needs the compiled extension. {_MISSING}')
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
