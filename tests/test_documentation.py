"""The code blocks of README.md, CONTRIBUTING.md and docs/ run, in order, on their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.import_paths import importing_from
from tests.support.pages import LANGUAGES, PAGES, ROOT, commands_of, read_blocks


def run(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a page in a folder that has what a checkout has for its reader."""
    for name in ("configs", "examples"):
        shutil.copytree(ROOT / name, folder / name)
    return subprocess.run(
        [sys.executable, "-m", "tests.support.pages", str(page)],
        cwd=folder,
        env={**importing_from(folder, ROOT), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    done = run(page, tmp_path)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_names_its_language(page: Path) -> None:
    found = {(block.line, block.language) for block in read_blocks(page)}
    assert {entry for entry in found if entry[1] not in LANGUAGES} == set()


PAGE = """\
```python
x = 1
```
<!-- not run: it needs a moon -->
```python
x = moon
```
<!-- file: made.toml -->
```toml
[task]
name = "xor"
[run]
generations = 1
```
```console
$ evonet evolve made.toml --quiet
prose
$ pip install everything
```
```python
assert x == 1
LAST
```
"""


def test_blocks_are_read_with_their_comments(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    blocks = read_blocks(page)
    assert [block.line for block in blocks] == [2, 6, 10, 16, 21]
    assert [block.not_run for block in blocks] == [None, "it needs a moon", None, None, None]
    assert [block.file for block in blocks] == [None, None, "made.toml", None, None]
    assert commands_of(blocks[3]) == ["evonet evolve made.toml --quiet"]


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ("lost", 'page.md", line 22'),
        ("```\n```console\nevonet evolve moon", "page.md:24: evonet evolve moon ended with 1"),
        ("```\n```console\nrm file", "rm is not a command that a page can run"),
        ('```\n```toml\n[run]\ngenerations = "many"', "generations"),
    ],
)
def test_a_block_that_fails_is_named(last: str, says: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("LAST", last))
    done = run(page, tmp_path)
    assert done.returncode == 1
    assert says in done.stderr
