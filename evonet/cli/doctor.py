"""evonet doctor: reports what works on this machine."""

from __future__ import annotations

import click


@click.command()
@click.option("--verify-gpu", is_flag=True, help="Compare GPU and CPU, bit by bit.")
def command(verify_gpu: bool) -> int:
    """Report which backends work on this machine, and how to fix the others."""
    from evonet.doctor.__main__ import main

    return main(["--verify-gpu"] if verify_gpu else [])
