"""evonet layered: runs a deep sparse network on many samples."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evonet.cli.options import FilePath
from evonet.errors import OptionError
from evonet.messages import counted

if TYPE_CHECKING:
    from evonet.genes.layers import Layer
    from evonet.layered import LayeredResult

RADIX: Final = re.compile(r"radix:(\d{1,8})x(\d{1,7})")
# Categories that are printed; the rest go to --out.
MOST_SHOWN: Final = 12
MOST_ROWS: Final = 16


@click.command()
@click.argument("network", metavar="FOLDER|FILE|radix:WIDTHxDEPTH")
@click.option(
    "--inputs",
    default="digits",
    metavar="FILE|digits",
    show_default=True,
    help="A .tsv of the challenge's images or a .npy [B, I]; or scikit-learn's digits, enlarged.",
)
@click.option("--rows", type=click.IntRange(1), help="Samples. [default: all; 60,000 digits]")
@click.option(
    "--backend",
    type=click.Choice(("cpu", "cuda", "reference")),
    default="cpu",
    show_default=True,
)
@click.option("--threads", type=click.IntRange(0), default=0, help="0 for all available.")
@click.option("--keep-zeros", is_flag=True, help="Compute samples whose values are all 0, too.")
@click.option("--out", type=FilePath(), help="Write the categories to this file, counted from 1.")
def command(
    network: str,
    inputs: str,
    rows: int | None,
    backend: str,
    threads: int,
    keep_zeros: bool,
    out: Path | None,
) -> None:
    """Run a deep sparse network on many samples, and print their categories.

    The network is a folder of the Sparse DNN Graph Challenge, a safetensors file with the linear
    layers of a pruned model (and relu between them), or a generated radix network such as
    radix:1024x120. Categories are the samples with an output that is not zero. The nominal rate
    counts all links and samples, as the challenge does, the executed rate those that were computed:
    samples whose values are all zero, and stay zero, leave the work.
    """
    import time

    from tqdm import tqdm

    from evonet.files.atomic import open_atomic
    from evonet.layered import LayeredNetwork, challenge_digits, read_inputs

    start = time.perf_counter()
    made = LayeredNetwork(_layers(network), backend=backend, threads=threads)
    s = made.schedule
    click.echo(
        f"{counted(s.num_inputs, 'input')}, {counted(int(s.num_levels[0]), 'layer')}, "
        f"{counted(s.num_edges, 'link')}, compiled in {time.perf_counter() - start:.1f} s"
    )
    x: Any
    if inputs == "digits":
        x = challenge_digits(s.num_inputs, rows or 60_000)
    else:
        x = read_inputs(inputs, s.num_inputs, rows)[:rows]
    with tqdm(total=len(x), unit=" samples", file=sys.stderr, leave=False, disable=None) as bar:
        result = made.run(x, drop=not keep_zeros, report=bar.update)
    _show(result)
    if out is not None:
        with open_atomic(out) as file:
            file.write("".join(f"{row + 1}\n" for row in result.categories.tolist()).encode())
        click.echo(f"Wrote {out}")


def _layers(network: str) -> list[Layer] | Any:
    from tqdm import tqdm

    from evonet.layered import load_pruned, radix_layers, read_challenge

    if match := RADIX.fullmatch(network):
        return radix_layers(int(match[1]), int(match[2]))
    if network.startswith("radix:"):
        raise OptionError(f"{network!r} is not radix:WIDTHxDEPTH, such as radix:1024x120.")
    if Path(network).suffix == ".safetensors":
        return load_pruned(network)
    with tqdm(unit=" layers", file=sys.stderr, leave=False, disable=None) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return read_challenge(network, report=report)


def _show(result: LayeredResult) -> None:
    shown = ", ".join(str(row + 1) for row in result.categories[:MOST_SHOWN].tolist())
    more = "" if len(result.categories) <= MOST_SHOWN else ", ..."
    click.echo(
        f"{counted(len(result.categories), 'category').replace('categorys', 'categories')} of "
        f"{counted(result.num_samples, 'sample')}: {shown}{more}"
    )
    share = result.executed / max(1, result.num_links * result.num_samples)
    click.echo(
        f"{result.seconds:.2f} s: {result.nominal_rate / 1e9:.1f} G links × samples/s nominal, "
        f"{result.executed_rate / 1e9:.1f} G/s executed ({100 * share:.1f} % of the work)"
    )
    if not result.layer_seconds:
        return
    total = sum(spent for _, spent in result.layer_seconds) or 1.0
    click.echo("layers        ms per layer, all threads, all samples")
    first, rows = 1, result.layer_seconds
    step = -(-len(rows) // MOST_ROWS)
    for i in range(0, len(rows), step):
        part = rows[i : i + step]
        count, spent = sum(layers for layers, _ in part), sum(time for _, time in part)
        click.echo(
            f"{first:5}-{first + count - 1:<5} {1e3 * spent / count:9.3f}  "
            f"{'▇' * round(40 * spent / total)}"
        )
        first += count
