"""Finds the folders that travel with the package: kernels/ and configs/."""

from __future__ import annotations

from pathlib import Path

from evonet.errors import EvonetError


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
