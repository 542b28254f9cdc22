"""evonet report: writes the page about a run."""

from __future__ import annotations

from pathlib import Path

import click

from evonet.cli.options import FilePath


@click.command()
@click.argument("run", type=FilePath())
def command(run: Path) -> None:
    """Write report.html for the run in the folder RUN.

    `evonet evolve` does so at the end; use this for a run that is still going or was interrupted.
    """
    from evonet.report import write_report
    from evonet.runs import RunFolder

    home = RunFolder(run)
    write_report(home)
    click.echo(f"Wrote {home.report}")
