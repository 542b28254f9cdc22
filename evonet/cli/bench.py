"""evonet bench: how fast it is here, beside others and beside what the machine can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evonet.bench.comparison import Findings
    from evonet.bench.limits import Limits

SUITES = ("forward", "generation", "rollout", "plugin", "scaling")


@click.command()
@click.argument("suite", type=click.Choice([*SUITES, "all"]), default="all")
@click.option("--quick", is_flag=True, help="Make everything small: to see that it works.")
@click.option("--rounds", type=click.IntRange(1), help="How often each is timed. [default: 5]")
@click.option("--threads", type=click.IntRange(0), default=0, help="CPU threads; 0 takes all.")
@click.option("--json", type=click.Path(path_type=Path), help='Also as JSON; "-" instead of text.')
@click.option("--html", type=click.Path(path_type=Path), help="Also as a page with plots.")
@click.option(
    "--write",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Also into a page of Markdown with marks, such as docs/performance.md.",
)
def command(
    suite: str,
    quick: bool,
    rounds: int | None,
    threads: int,
    json: Path | None,
    html: Path | None,
    write: Path | None,
) -> None:
    """Time evonet beside neat-python, NumPy, SciPy, PyTorch and TensorNEAT.

    Those who are installed take turns in one run; the others get a line that says what installs
    them. Results are times, ratios, and shares of what this machine can do at most. SUITE is
    forward, generation, rollout, plugin, scaling or all of them, which takes a few minutes.
    """
    from evonet.bench.comparison import Settings
    from evonet.bench.peers.installed import Peers
    from evonet.bench.suites import run_suites
    from evonet.bench.terminal import closing_text, findings_text
    from evonet.installation import require_native

    if quick and write is not None:
        raise click.UsageError("--write wants figures that say something: leave out --quick.")
    silent = json == Path("-")

    def say(line: str) -> None:
        click.echo(f"... {line}", err=True)

    def show(name: str, found: Findings, limits: Limits) -> None:
        if not silent:
            for paragraph in findings_text(found, limits.best()):
                click.echo(f"{paragraph}\n")

    settings = Settings(
        quick=quick,
        rounds=rounds or (2 if quick else 5),
        threads=threads or int(require_native().available_threads()),
        peers=Peers(),
        say=say,
    )
    names = SUITES if suite == "all" else (suite,)
    bench = run_suites(names, settings, _command_line(suite, quick, rounds, threads), show)
    if not silent:
        click.echo("\n\n".join(closing_text(bench)))
    for file in _write(bench, json, html, write):
        click.echo(f"{file} is written", err=True)


def _command_line(suite: str, quick: bool, rounds: int | None, threads: int) -> str:
    """What repeats the measurement, wherever its results went."""
    parts = ["evonet bench", suite]
    parts += ["--quick"] if quick else []
    parts += [f"--rounds {rounds}"] if rounds else []
    parts += [f"--threads {threads}"] if threads else []
    return " ".join(parts)


def _write(bench: object, json: Path | None, html: Path | None, page: Path | None) -> list[Path]:
    """Writes what was asked for.

    Returns:
        The files.
    """
    from json import dumps

    from evonet.bench.document import write_document
    from evonet.bench.page import write_page
    from evonet.bench.result import Bench
    from evonet.files.atomic import open_atomic

    assert isinstance(bench, Bench)
    written = []
    if json is not None:
        found = dumps(bench.to_dict(), indent=1, allow_nan=False)
        if json == Path("-"):
            click.echo(found)
        else:
            with open_atomic(json) as file:
                file.write(found.encode())
            written.append(json)
    if html is not None:
        write_page(bench, html)
        written.append(html)
    if page is not None:
        written += write_document(bench, page)
    return written
