"""Attacks every surface with hostile inputs, and counts crashes, tracebacks, hangs and memory.

    python -m tests.campaigns.hostile [--inputs 1000000] [--seed 1] [--surface files]
                                      [--chunk 10000] [--only NUMBER]

Each module of this package that has an `attack` is a surface: files, configs, tables, expressions,
metrics, the command line. Its generator makes one input from a seed, and every input must be
accepted or refused by an error of evonet with a message that fits on a screen. Inputs run in child
processes with little memory (RLIMIT_AS) and a limit on processor time, so that a crash, a hang or
an allocation out of proportion is counted and not suffered; an input is named by its surface, seed
and number, and `--surface NAME --only NUMBER` runs it alone, in this process.

`--inputs` are divided among the surfaces by their shares; `--surface` may be repeated. The exit
code is 1 if anything was not clean.
"""

from __future__ import annotations

import argparse
import sys

from tests.campaigns.hostile.watch import Tally, discover, replay, run_surface


def main() -> int:
    """Runs the campaign, and prints a row per surface."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--surface", action="append", default=[])
    parser.add_argument("--chunk", type=int, default=10_000)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    surfaces = {
        name: surface
        for name, surface in discover().items()
        if name in (options.surface or discover())
    }
    if options.only is not None:
        (surface,) = surfaces.values()
        replay(surface, options.seed, options.only)
        return 0
    whole = sum(surface.share for surface in surfaces.values())
    total = Tally()
    print(Tally.head())
    for surface in surfaces.values():
        count = round(options.inputs * surface.share / whole)
        found = run_surface(surface, options.seed, count, options.chunk)
        print(found.row(surface.name), *found.faults[:20], sep="\n\n", flush=True)
        total.add(found)
    print(total.row("all"))
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
