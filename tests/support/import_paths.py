"""Environments of processes that import modules of more folders."""

from __future__ import annotations

import os
from pathlib import Path


def importing_from(*folders: str | Path) -> dict[str, str]:
    """Returns this process's environment, with folders before those of its PYTHONPATH.

    What is there already must stay: a build of the extension that is being tested.
    """
    paths = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
