"""Finds the compiled extension, or says once why everything is slow without it."""

from __future__ import annotations

import functools
import os
import warnings
from types import ModuleType

from evonet.errors import BackendError

_MISSING = (
    "evonet was installed without its compiled extension, so it runs on the slow reference "
    "backend. Install a C++ compiler (Debian: apt install g++; macOS: xcode-select --install), "
    "then reinstall with EVONET_REQUIRE_NATIVE=1 to see what the build says."
)


@functools.cache
def load_native() -> ModuleType | None:
    """Imports the extension on first use; None where it was not built.

    Returns:
        The module `evonet._native`, or None after one warning.

    Raises:
        BackendError: It is missing although EVONET_REQUIRE_NATIVE=1 asks for it.
    """
    try:
        from evonet import _native
    except ImportError as error:
        # A broken build must not pass for a missing one.
        if not isinstance(error, ModuleNotFoundError) and "_native" not in str(error):
            raise
        if os.environ.get("EVONET_REQUIRE_NATIVE", "") not in ("", "0"):
            raise BackendError(f"EVONET_REQUIRE_NATIVE is set. {_MISSING}") from error
        warnings.warn(_MISSING, RuntimeWarning, stacklevel=2)
        return None
    return _native


def require_native() -> ModuleType:
    """Imports the extension for somebody who asked for it by name.

    Raises:
        BackendError: It was not built.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        native = load_native()
    if native is None:
        raise BackendError(f'backend="cpu" needs the compiled extension. {_MISSING}')
    return native
