"""The architecture: imports point one way, between modules and between rooms.

A room is a package or a module directly below `evonet`. All imports count, those inside functions
too; only those under `if TYPE_CHECKING:` do not. `python -m tests.test_architecture [FOLDER]`
prints which rooms each room imports, of this package or of the one in a folder.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "evonet"
# A room may import rooms that stand before it; "evonet" itself is `evonet/__init__.py`, which names
# everything that is public.
ROOMS = (
    *("messages", "errors", "installation", "numerics", "files", "definitions", "functions"),
    *("config", "genes", "schedule", "backends", "network", "layered"),
    *("decoders", "learning", "images", "evaluation", "tasks", "evaluators", "evolution", "runs"),
    *("evonet", "plugins", "export", "report", "bench", "doctor", "cli", "__main__"),
)
MAX_TOP_LEVEL_MODULES = 6


class Import(NamedTuple):
    """An import: which module imports which, and in which line."""

    source: str
    target: str
    line: int

    @property
    def rooms(self) -> tuple[str, str]:
        return room_of(self.source), room_of(self.target)

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def room_of(module: str) -> str:
    """The room that a module belongs to."""
    return f"{module}.".split(".")[1] or module


def find_modules(package: Path) -> dict[str, Path]:
    """All modules of a package by their names."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = (package.name, *file.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def find_imports(modules: Mapping[str, Path]) -> list[Import]:
    """All imports of the package's modules by each other."""
    found = (
        Import(name, target, line)
        for name, file in modules.items()
        for imported, line in _imports_of(name, file, modules)
        for target in (imported, *_packages_entered(name, imported))
        if target != name
    )
    return list(dict.fromkeys(found))  # a statement may import several names of one module


def _imports_of(name: str, file: Path, modules: Mapping[str, Path]) -> Iterator[tuple[str, int]]:
    root = name.split(".")[0]
    nodes = list(_nodes(ast.parse(file.read_text(), file.name)))
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in modules:
                    yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno}: imports are absolute here"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if (target := whole if whole in modules else str(node.module)) in modules:
                    yield target, node.lineno
    # Modules that are imported by their names as text; `__init__` of the root names the public API.
    if name != root and any(_imports_by_name(node) for node in nodes):
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = re.fullmatch(rf"({root}(?:\.\w+)+)\.?", node.value)
                if found and found[1] in modules:
                    yield found[1], node.lineno


def _packages_entered(source: str, target: str) -> Iterator[str]:
    """The packages around a module whose `__init__` an import from outside runs first."""
    parts = target.split(".")
    for end in range(2, len(parts)):
        package = ".".join(parts[:end])
        if not f"{source}.".startswith(f"{package}."):
            yield package


def _imports_by_name(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return called in ("import_module", "__import__")


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A tree's nodes, without those under `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from (other, *_nodes(other))
        else:
            yield from (child, *_nodes(child))


def find_groups(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of nodes that can all reach each other."""
    reach = {node: set(paths_from(node, edges)) for node in edges}
    groups = {
        frozenset(other for other in reach[node] if node in reach[other])
        for node in edges
        if node in reach[node]
    }
    return sorted(sorted(group) for group in groups)


def shortest_cycle(group: list[str], edges: Mapping[str, set[str]]) -> list[str]:
    """The shortest cycle through nodes of a group; its first node is also its last."""
    return min(([node, *paths_from(node, edges)[node]] for node in group), key=len)


def paths_from(start: str, edges: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """A shortest path to every node that can be reached, without the start."""
    paths: dict[str, list[str]] = {}
    waiting = [(start, list[str]())]
    for node, path in waiting:
        for target in sorted(edges[node]):
            if target not in paths:
                paths[target] = [*path, target]
                waiting.append((target, paths[target]))
    return paths


def graph_of(pairs: Iterator[tuple[str, str]]) -> dict[str, set[str]]:
    """Edges by their source, without those from a node to itself."""
    edges: dict[str, set[str]] = {}
    for source, target in pairs:
        edges.setdefault(source, set())
        edges.setdefault(target, set())
        if source != target:
            edges[source].add(target)
    return edges


def room_graph(imports: list[Import]) -> str:
    """A line for each room with the rooms that it imports."""
    edges = graph_of(each.rooms for each in imports if each.source != room_of(each.source))
    place = {room: i for i, room in enumerate(ROOMS)}
    rooms = sorted(edges, key=lambda room: (place.get(room, len(ROOMS)), room))
    return "\n".join(
        f"{room} -> {', '.join(each for each in rooms if each in edges[room]) or 'nothing'}"
        for room in rooms
    )


def back_edges(imports: list[Import]) -> list[Import]:
    """Imports of a room that does not stand before the importing one; the root may import all."""
    place = {room: i for i, room in enumerate(ROOMS)}
    found = {
        (each.source, each.line, each.rooms): each
        for each in reversed(imports)
        if each.source != PACKAGE.name and place[each.rooms[0]] < place[each.rooms[1]]
    }
    return [*found.values()][::-1]


def report(*lines: str) -> None:
    """Fails with all lines, if there are any."""
    if any(lines):
        pytest.fail("\n".join(lines), pytrace=False)


MODULES = find_modules(PACKAGE)


@functools.cache
def all_imports() -> list[Import]:
    """Those of the whole package, read once."""
    return find_imports(MODULES)


def test_every_room_has_its_place() -> None:
    unknown = {room_of(module) for module in MODULES} - set(ROOMS)
    assert not unknown, f"ROOMS of this file has no place for {sorted(unknown)}."


def test_imports_between_rooms_point_one_way() -> None:
    found = back_edges(all_imports())
    lines = [f"    {' -> '.join(each.rooms):24}{each}" for each in found]
    report(f"{len(found)} imports point back:" if found else "", *lines)


def test_no_modules_import_each_other_in_a_cycle() -> None:
    inside = [each for each in all_imports() if each.source != PACKAGE.name]
    edges = graph_of((each.source, each.target) for each in inside)
    lines = []
    for group in find_groups(edges):
        lines.append(f"{len(group)} modules import each other; the shortest cycle:")
        steps = set(itertools.pairwise(shortest_cycle(group, edges)))
        lines += [f"    {each}" for each in inside if (each.source, each.target) in steps]
    report(*lines)


def test_the_top_level_has_few_modules() -> None:
    found = sorted(file.name for file in PACKAGE.glob("*.py"))
    assert len(found) <= MAX_TOP_LEVEL_MODULES, found


def test_the_config_loads_no_backend() -> None:
    program = "import sys, evonet.config; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.split()
    assert "evonet.config" in loaded
    found = [name for name in loaded if room_of(name) == "backends"]
    report(*(["importing evonet.config loads:", *found] if found else []))


def test_imports_are_found_wherever_they_are(tmp_path: Path) -> None:
    package = tmp_path / "evonet"
    lines: dict[str, list[str]] = {
        "__init__.py": ["import importlib", 'importlib.import_module("evonet.cli")'],
        "errors.py": [],
        "network.py": ["import evonet.errors", "from evonet import cli, missing"],
        "cli/__init__.py": ["def f():", "    from evonet.network import compile"],
        "cli/app.py": [
            *("if TYPE_CHECKING:", "    import evonet.errors"),
            *("else:", "    import evonet.network"),
        ],
        "doctor.py": ["import evonet.cli.app"],
        "cli/table.py": [
            'NAMES = {"a": "evonet.errors"}',
            "importlib.import_module(NAMES[name])",
            'importlib.import_module(f"evonet.cli.{name}")',
        ],
    }
    for name, text in lines.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("\n".join(text))
    found = find_imports(find_modules(package))
    assert {(each.source, each.target) for each in found} == {
        ("evonet.network", "evonet.errors"),
        ("evonet.network", "evonet.cli"),
        ("evonet.network", "evonet"),
        ("evonet.cli", "evonet.network"),
        ("evonet.cli.app", "evonet.network"),
        ("evonet.doctor", "evonet.cli"),
        ("evonet.doctor", "evonet.cli.app"),
        ("evonet.cli.table", "evonet.errors"),
        ("evonet.cli.table", "evonet.cli"),
    }
    backwards = {("network", "cli"), ("network", "evonet"), ("doctor", "cli")}
    assert {each.rooms for each in back_edges(found)} == backwards
    edges = graph_of((each.source, each.target) for each in found)
    assert find_groups(edges) == [["evonet.cli", "evonet.network"]]
    cycle = shortest_cycle(["evonet.cli", "evonet.network"], edges)
    assert cycle == ["evonet.cli", "evonet.network", "evonet.cli"]


def main() -> None:
    """Prints the rooms that each room imports, and how many modules there are."""
    package = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else PACKAGE
    modules = find_modules(package)
    imports = find_imports(modules)
    print(room_graph(imports))
    loose = len(list(package.glob("*.py")))
    print(f"\n{len(modules)} modules, {loose} of them at the top level, {len(imports)} imports")
    for group in find_groups(graph_of(each.rooms for each in imports)):
        print(f"rooms that import each other: {', '.join(group)}")


if __name__ == "__main__":
    main()
