"""The engine with neat-python's bits stays in its folder; see its README."""

from __future__ import annotations

import re
from pathlib import Path

import evonet
from evonet.installation import require_native, resource_folder

KERNELS = resource_folder("kernels")
ENGINE = KERNELS / "native" / "neat_python"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# What the engine adds to the extension.
BOUND = (
    "NeatNetwork",
    "NeatNeuron",
    "NeatPopulation",
    "NeatSpikingNetwork",
    "pack_neat",
    "set_neat_functions",
    "subtract_squares",
)


def includes() -> dict[Path, list[str]]:
    files = [path for path in KERNELS.rglob("*") if path.suffix in (".h", ".cpp", ".cu", ".def")]
    assert ENGINE / "libm_real.h" in files
    return {path: INCLUDE.findall(path.read_text()) for path in files}


def test_only_the_engine_includes_the_c_library_s_functions() -> None:
    users = {path for path, names in includes().items() if {"cmath", "math.h"} & set(names)}
    assert users
    assert {path.parent for path in users} == {ENGINE}


def test_nothing_outside_of_the_engine_includes_its_headers() -> None:
    own = {f"native/neat_python/{path.name}" for path in ENGINE.glob("*.h")}
    assert "native/neat_python/libm_real.h" in own
    users = {path for path, names in includes().items() if own & set(names)}
    assert {path.parent for path in users} == {ENGINE}


def test_only_the_plugin_uses_the_engine() -> None:
    native = require_native()
    assert all(hasattr(native, name) for name in BOUND)
    package = Path(evonet.__file__).parent
    word = re.compile(rf"\bnative\.({'|'.join(BOUND)})\b")
    users = {path for path in package.rglob("*.py") if word.search(path.read_text())}
    assert users
    assert {path.parent for path in users} == {package / "plugins" / "neat_python"}
