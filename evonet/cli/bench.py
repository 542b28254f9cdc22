"""evonet bench: how fast evonet is here, beside other libraries and the machine's limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evonet.cli.options import FilePath

if TYPE_CHECKING:
    from evonet.bench.comparison import Findings
    from evonet.bench.limits import Limits

SUITES = ("forward", "generation", "rollout", "plugin", "scaling")


@click.command()
@click.argument("suite", type=click.Choice([*SUITES, "all"]), default="all")
@click.option("--quick", is_flag=True, help="Make everything small: to check that it works.")
@click.option("--rounds", type=click.IntRange(1), help="How often each is timed. [default: 5]")
@click.option("--threads", type=click.IntRange(0), default=0, help="CPU threads; 0 uses all.")
@click.option("--json", type=FilePath(), help='Also as JSON; "-" instead of text.')
@click.option("--html", type=FilePath(), help="Also as a page with plots.")
def command(
    suite: str, quick: bool, rounds: int | None, threads: int, json: Path | None, html: Path | None
) -> None:
    """Time evonet beside neat-python, NumPy, SciPy, PyTorch and TensorNEAT.

    Installed libraries take turns in one run; missing ones are listed with the command that
    installs them. Results are times, ratios, and shares of this machine's limits. SUITE is
    forward, generation, rollout, plugin, scaling or all of them, which takes a few minutes.
    """
    from json import dumps

    from evonet.bench.comparison import BenchOptions
    from evonet.bench.page import render_page
    from evonet.bench.peers.installed import Peers
    from evonet.bench.suites import run_suites
    from evonet.bench.terminal import closing_text, findings_text
    from evonet.files.atomic import open_atomic
    from evonet.installation import require_native

    silent = json == Path("-")

    def show(found: Findings, limits: Limits) -> None:
        if not silent:
            for paragraph in findings_text(found, limits.best()):
                click.echo(f"{paragraph}\n")

    options = BenchOptions(
        quick=quick,
        rounds=rounds or (2 if quick else 5),
        threads=threads or int(require_native().available_threads()),
        peers=Peers(),
        say=lambda line: click.echo(f"... {line}", err=True),
    )
    names = SUITES if suite == "all" else (suite,)
    bench = run_suites(names, options, _command_line(suite, quick, rounds, threads), show)
    if not silent:
        click.echo("\n\n".join(closing_text(bench)))
    files = {}
    if json is not None:
        files[json] = dumps(bench.to_dict(), indent=1, allow_nan=False)
    if html is not None:
        files[html] = render_page(bench)
    for path, text in files.items():
        if path is json and silent:
            click.echo(text)
        else:
            with open_atomic(path) as file:
                file.write(text.encode())
            click.echo(f"{path} is written", err=True)


def _command_line(suite: str, quick: bool, rounds: int | None, threads: int) -> str:
    """The command that repeats the measurement, without the files that it wrote."""
    parts = ["evonet bench", suite]
    parts += ["--quick"] if quick else []
    parts += [f"--rounds {rounds}"] if rounds else []
    parts += [f"--threads {threads}"] if threads else []
    return " ".join(parts)
