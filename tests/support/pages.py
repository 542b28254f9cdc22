"""Runs the code blocks of a page, in order and in one interpreter, as its reader would.

    python -m tests.support.pages docs/tasks.md

A block of Python is executed in a namespace that lasts to the end of the page. A block of TOML is
read as a config. In a block of console, lines after "$ " are commands, or all lines if none starts
so; commands of evonet and of Python run, those that install something do not. Text is not run.
CONTRIBUTING.md describes the two comments that a block may have in front.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tests.support.import_paths import importing_from

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
LANGUAGES = ("python", "console", "toml", "csv", "text")
# A command that holds one of these changes the machine: .ci/run runs those that matter.
INSTALLING = re.compile(r"\b(pip|pre-commit|apt|venv)\b")
COMMENT = re.compile(r"<!-- (not run|file): (.+) -->")


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int  # of its first line of code
    language: str
    code: str
    not_run: str | None  # why
    file: str | None  # the file that it shows


class PageError(Exception):
    """A block that is written wrongly, or a command that failed."""


def read_blocks(page: Path) -> list[Block]:
    """Finds the fenced blocks of a page, with the comments in front of each."""
    blocks: list[Block] = []
    notes: dict[str, str] = {}
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    for number, line in lines:
        if found := COMMENT.fullmatch(line.strip()):
            notes[found[1]] = found[2]
        elif line.strip().startswith("```"):
            indent = line.index("`")
            code = []
            for _, inner in lines:
                if inner.strip() == "```":
                    break
                code.append(inner[indent:])
            language = line.strip().removeprefix("```")
            text = "\n".join(code)
            blocks.append(
                Block(number + 1, language, text, notes.get("not run"), notes.get("file"))
            )
            notes = {}
        elif not line.strip().startswith("<!--"):
            notes = {}
    return blocks


def commands_of(block: Block) -> list[str]:
    """Returns the commands of a console block that are to be run."""
    lines = block.code.replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not INSTALLING.search(line)]


def run_page(page: Path) -> None:
    """Runs all blocks of a page; raises what they raise."""
    # A main module of its own, so that worker processes find functions of the page.
    main = sys.modules["__main__"] = ModuleType("__main__")
    for block in read_blocks(page):
        if block.file is not None:
            Path(block.file).write_text(block.code + "\n")
        if block.not_run is None:
            print(f"--- {page.name}:{block.line}", flush=True)
            _run(block, page, main.__dict__)


def _run(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    if block.language == "python" and not (block.file or "").endswith(".py"):
        # As many empty lines in front as the page has: tracebacks and inspect find the code.
        padded = "\n" * (block.line - 1) + block.code
        exec(compile(textwrap.dedent(padded), str(page), "exec"), namespace)
    elif block.language == "toml":
        from evonet import Config

        path = Path(block.file or "block.toml")
        path.write_text(block.code + "\n")
        Config.load(path)
    elif block.language == "console":
        for command in commands_of(block):
            status = _call(shlex.split(command, comments=True))
            if status != 0:
                raise PageError(f"{page.name}:{block.line}: {command} ended with {status}")


def _call(words: list[str]) -> int:
    if Path(words[0]).name == "evonet":
        from evonet.cli.app import main

        return main(words[1:])
    if Path(words[0]).name in ("python", "python3"):
        command = [sys.executable, *words[1:]]
        return subprocess.run(command, env=importing_from(ROOT), check=False).returncode
    raise PageError(f"{words[0]} is not a command that a page can run; see CONTRIBUTING.md")


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
