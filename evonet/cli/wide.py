"""evonet wide: classifiers for very many classes, from text files of the XMC repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evonet.cli.options import FilePath


@click.group()
def command() -> None:
    """Train and use classifiers for very many classes.

    Files are in the format of the extreme classification repository: a line with the numbers of
    samples, features and labels, then a line per sample, "label,label feature:value ...".
    """


@command.command()
@click.argument("file", type=FilePath())
@click.option("--out", type=FilePath(), required=True, help="The model's file.")
@click.option("--test", type=FilePath(), help="A file to score the model on.")
@click.option("--hidden", type=int, default=128, show_default=True, help="Hidden nodes.")
@click.option("--hash", default="dwta", show_default=True, help="dwta or simhash.")
@click.option("--bits", type=int, help="Bits of a bucket's number. [default: by classes]")
@click.option("--tables", type=int, default=24, show_default=True, help="Hash tables.")
@click.option("--batch", type=int, default=128, show_default=True, help="Samples per step.")
@click.option("--epochs", type=int, default=5, show_default=True, help="Passes over the file.")
@click.option("--rate", type=float, default=0.01, show_default=True, help="Adam's learning rate.")
@click.option(
    "--validation", type=float, default=0.0, help="The fraction to hold out for early stopping."
)
@click.option("--seed", type=int, default=0, show_default=True, help="The seed.")
@click.option("--threads", type=int, default=0, help="Threads; 0 for all available.")
@click.option("--backend", default="auto", show_default=True, help="auto, cpu, cuda or reference.")
@click.option("--checkpoint", type=FilePath(), help="A file to save to now and then.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if there is one.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
def train(
    file: Path, out: Path, test: Path | None, resume: bool, quiet: bool, **options: Any
) -> None:
    """Train a classifier on FILE, and write it to a file."""
    from evonet.learning.wide.classifier import WideClassifier
    from evonet.learning.wide.text import read_xmc

    x, y = read_xmc(file)
    made = WideClassifier(num_classes=y.shape[1], progress=not quiet, **options)
    made.fit(x, y, resume=resume)
    made.save(out)
    last = made.history_[-1]
    click.echo(
        f"{out}: {y.shape[1]:,} classes after {made.n_iter_} passes over {x.shape[0]:,} "
        f"samples, loss {last['loss']:.4g}, {100 * last['active_share']:.2g} % of classes active"
    )
    if test is not None:
        _score(made, *read_xmc(test))


@command.command()
@click.argument("model", type=FilePath())
@click.argument("file", type=FilePath())
@click.option("-k", default=1, show_default=True, help="Classes per sample, best first.")
@click.option("--out", type=FilePath(), help="The text file to write. [default: standard output]")
@click.option("--threads", type=int, default=0, help="Threads; 0 for all available.")
@click.option("--backend", default="auto", show_default=True, help="auto, cpu, cuda or reference.")
def predict(model: Path, file: Path, k: int, out: Path | None, threads: int, backend: str) -> None:
    """Print the most likely classes of each sample of FILE, as "class:score class:score ...".

    If FILE has labels, their share among the predictions is printed too.
    """
    from evonet.files.atomic import open_atomic
    from evonet.learning.wide.classifier import WideClassifier
    from evonet.learning.wide.text import read_xmc

    made = WideClassifier.load(model, backend=backend, threads=threads)
    x, y = read_xmc(file)
    ids, scores = made.top(x, k)
    lines = (
        " ".join(f"{made.classes_[i]}:{score:.6g}" for i, score in zip(row, found, strict=True))
        for row, found in zip(ids.tolist(), scores.tolist(), strict=True)
    )
    text = "".join(f"{line}\n" for line in lines)
    if out is None:
        click.echo(text, nl=False)
    else:
        with open_atomic(out) as target:
            target.write(text.encode())
        click.echo(f"{out}: {x.shape[0]:,} samples")
    if y.nnz and y.shape[1] == len(made.classes_):
        _score(made, x, y, err=out is None)


def _score(made: Any, x: Any, y: Any, err: bool = False) -> None:
    ranks = [k for k in (1, 3, 5) if k <= len(made.classes_)]
    found = ", ".join(f"P@{k} {made.precision(x, y, k):.4f}" for k in ranks)
    click.echo(f"{found} on {x.shape[0]:,} samples", err=err)
