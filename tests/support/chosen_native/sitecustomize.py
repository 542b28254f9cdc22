"""Lets Python processes import the extension that EVONET_TEST_NATIVE names.

This folder is on the PYTHONPATH of tests of other builds. Python imports the module when it starts,
after the finder of an editable install, so that the one below comes first; processes that a test
starts inherit both.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType


class ChosenNative(importlib.abc.MetaPathFinder):
    """Finds `evonet._native` in a given file, and nothing else."""

    def __init__(self, path: str) -> None:
        self.path = path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the extension's place."""
        if fullname != "evonet._native":
            return None
        return importlib.util.spec_from_file_location(fullname, self.path)


if "EVONET_TEST_NATIVE" in os.environ:
    sys.meta_path.insert(0, ChosenNative(os.environ["EVONET_TEST_NATIVE"]))
