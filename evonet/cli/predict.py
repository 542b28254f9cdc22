"""evonet predict: a champion answers new rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import click

from evonet.cli.options import FilePath


@click.command()
@click.argument("run", metavar="RUN_OR_CHAMPION", type=FilePath())
@click.argument("data", type=FilePath())
@click.option(
    "--out",
    type=FilePath(),
    help="The CSV file to write. [default: the standard output]",
)
def command(run: Path, data: Path, out: Path | None) -> None:
    """Let the champion of RUN_OR_CHAMPION answer the rows of DATA, a CSV or NPZ file.

    Columns are found by the names that they had in the run, and encoded as there; the champion's
    file holds all that is needed. The output has all columns of DATA, the prediction, and for
    classes the probability of each. If DATA has the target too, scores are printed.
    """
    from evonet.files.atomic import open_atomic
    from evonet.messages import counted
    from evonet.runs.champion import read_champion
    from evonet.runs.folder import find_champion
    from evonet.runs.prediction import predict_file

    prediction = predict_file(read_champion(find_champion(run)), data)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(prediction.rows())
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        with open_atomic(out) as file:
            file.write(text.getvalue().encode())
        click.echo(f"{out}: {counted(len(prediction.answers), 'prediction')}")
    if prediction.num_unanswered:
        missing = counted(prediction.num_unanswered, "row")
        click.echo(f"evonet: warning: {missing} without a prediction: cells are missing.", err=True)
    scores = prediction.scores()
    if scores:
        count = int(scores.pop("examples"))
        low, high = scores.pop("low", None), scores.pop("high", None)
        shown = ", ".join(f"{name} {score:.4g}" for name, score in scores.items())
        if low is not None:
            shown += f", 99 % interval {low:.4g} to {high:.4g},"
        click.echo(f"{shown} on {counted(count, 'example')}", err=out is None)
