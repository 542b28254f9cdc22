"""Lists the campaigns: `python -m tests.campaigns`."""

from __future__ import annotations

import ast
from pathlib import Path


def docstrings() -> dict[str, str]:
    """The docstring of every campaign by its name."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    return {file.stem: ast.get_docstring(ast.parse(file.read_text())) or "" for file in files}


def main() -> None:
    """Prints each command with what it does."""
    for name, text in docstrings().items():
        print(f"python -m tests.campaigns.{name:12} {text.splitlines()[0]}")


if __name__ == "__main__":
    main()
