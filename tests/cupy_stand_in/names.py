"""Names of CuPy: those that evonet uses, those that the stand-in offers, those that exist.

    python -m tests.cupy_stand_in.names     # where CuPy is installed: records names.txt

A name is a path of attributes from the package, "cupy.cuda.runtime.memcpyAsync". Methods of arrays
and keys of the properties of a GPU are names too, "cupy.ndarray.get" and
"cupy.cuda.runtime.getDeviceProperties['major']"; a key is looked for in the compiled module,
because only a GPU could tell its properties.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from evonet.backends import cuda

from .machine import Machine

RECORD = Path(__file__).with_name("names.txt")
PROPERTIES = "cupy.cuda.runtime.getDeviceProperties"
STREAM = "cupy.cuda.Stream.null"  # some attributes are those of a stream, not of its class
# What stands for something of CuPy in the package, by how it is written there.
ROOTS = {
    "cp": "cupy",
    "cupy": "cupy",
    "self._cp": "cupy",
    "_import_cupy()": "cupy",
    "runtime": "cupy.cuda.runtime",
    "nvrtc": "cupy.cuda.nvrtc",
    "array": "cupy.ndarray",
    "source": "cupy.ndarray",
    "target": "cupy.ndarray",
    "function": "cupy.cuda.Function",
    "module": "cupy.cuda.Module",
    "cuda": "cupy.cuda",
    "driver": "cupy.cuda.driver",
    "event": "cupy.cuda.Event",
    "graph": "cupy.cuda.Graph",
    "stream": STREAM,
    "cuda.get_current_stream()": STREAM,
    "self._cp.cuda.get_current_stream()": STREAM,
    "self._cp.get_default_memory_pool()": "cupy.cuda.MemoryPool",
}
PACKAGES = ("cupy", "cupyx", "cupy_backends")  # they import each other late
ARRAY_ONLY = (".device.id", ".data.ptr")  # what only arrays of CuPy have; the rest is NumPy's too
SEAM = ("device.py", "nvrtc.py")  # the modules of evonet.backends.cuda that touch CuPy
FOUND = "found"  # the properties of a GPU


def used_by_the_package() -> set[str]:
    """All names of CuPy in the modules of evonet.backends.cuda that have any."""
    (folder,) = map(Path, cuda.__path__)
    return set().union(*(used_in((folder / name).read_text()) for name in SEAM))


def used_in(text: str) -> set[str]:
    """All names of CuPy in a source text."""
    tree = ast.parse(text)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            names.add(_resolve(node))
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == FOUND:
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                names.add(f"{PROPERTIES}[{node.slice.value!r}]")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cupy"):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names - {""}


def touched_in(text: str) -> list[str]:
    """Everything of CuPy that a source text imports or uses, with its line."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module)):
                names = [module]
            case ast.Call(func=function, args=[ast.Constant(value=str(module)), *_]):
                called = ast.unparse(function).split(".")[-1]
                names = [module] if called in ("import_module", "__import__") else []
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                names = ["cupy"] if name in ("cp", "_cp", "cupy") else []
            case _:
                names = []
        is_array = ast.unparse(node).endswith(ARRAY_ONLY) if isinstance(node, ast.Attribute) else 0
        if is_array or any(name.split(".")[0] in PACKAGES for name in names):
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def _resolve(node: ast.Attribute) -> str:
    path: list[str] = []
    rest: ast.expr = node
    while isinstance(rest, ast.Attribute):
        path.insert(0, rest.attr)
        rest = rest.value
        root = ROOTS.get(ast.unparse(rest))
        if root == "cupy.ndarray":
            path = path[:1]  # the rest belongs to what the attribute gives
        if root:
            return ".".join([root, *path])
    return ""


def offered_by_the_stand_in() -> set[str]:
    """All names that the stand-in has."""
    from .array import Array
    from .module import Function, Module
    from .package import Event, Graph, Pool, Stream, make_package

    package = make_package(Machine())
    names = {
        f"{module.__name__}.{name}"
        for module in package.values()
        for name in vars(module)
        if not name.startswith("_") or name == "__version__"
    }
    for kind, home in (
        (Array, "cupy.ndarray"),
        (Function, "cupy.cuda.Function"),
        (Module, "cupy.cuda.Module"),
        (Pool, "cupy.cuda.MemoryPool"),
        (Stream, STREAM),
        (Event, "cupy.cuda.Event"),
        (Graph, "cupy.cuda.Graph"),
    ):
        names |= {f"{home}.{name}" for name in vars(kind) if not name.startswith("_")}
    properties = package["cupy.cuda.runtime"].getDeviceProperties(0)
    return names | {f"{PROPERTIES}[{key!r}]" for key in properties}


def recorded() -> set[str]:
    """All names that are known to exist."""
    return {line for line in RECORD.read_text().splitlines() if not line.startswith("#")}


def real_cupy() -> ModuleType | None:
    """The CuPy that is installed, or None."""
    if importlib.util.find_spec("cupy") is None:
        return None
    return importlib.import_module("cupy")


def missing_in_cupy(names: set[str]) -> set[str]:
    """Those names that the installed CuPy lacks."""
    return {name for name in names if not _exists(name)}


def _exists(name: str) -> bool:
    path, _, key = name.partition("[")
    found: Any = real_cupy()
    for part in path.split(".")[1:]:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    if not key:
        return True
    compiled = Path(sys.modules["cupy_backends.cuda.api.runtime"].__file__ or "")
    return key.strip("]'").encode() in compiled.read_bytes()


def main() -> None:
    cupy = real_cupy()
    if cupy is None:
        sys.exit("Install CuPy first: pip install 'evonet-gpu[cuda13]'.")
    names = used_by_the_package() | offered_by_the_stand_in()
    missing = missing_in_cupy(names)
    if missing:
        sys.exit(f"CuPy {cupy.__version__} has no {', '.join(sorted(missing))}")
    lines = [f"# Found in CuPy {cupy.__version__}", *sorted(names)]
    RECORD.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
