"""Lists the campaigns: `python -m tests.campaigns`."""

from __future__ import annotations

import ast
from pathlib import Path


def docstrings() -> dict[str, str]:
    """The docstring of every campaign by its name."""
    home = Path(__file__).parent
    files = {file.stem: file for file in home.glob("[!_]*.py")}
    files |= {file.parent.name: file for file in home.glob("*/__init__.py")}
    return {n: ast.get_docstring(ast.parse(files[n].read_text())) or "" for n in sorted(files)}


def main() -> None:
    """Prints each command with what it does."""
    for name, text in docstrings().items():
        print(f"python -m tests.campaigns.{name:12} {text.splitlines()[0]}")


if __name__ == "__main__":
    main()
