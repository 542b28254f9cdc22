"""A model of deep sparse networks on GPUs: the wide mapping beside cuSPARSE.

    python -m benchmarks.wide_model

Nothing here was measured. Both are reckoned by `evonet/backends/cuda/cost.py`, from instructions,
bytes and latencies. What is assumed of cuSPARSE: its product of a CSR matrix and a dense one has a
warp for a row and 128 columns, as its fastest algorithm for row-major matrices; an index and a
weight are loaded once per lane and passed on by two shuffles, so that a link costs nine
instructions for four samples; bias and activation are a kernel of their own, which reads and writes
all values once more; values of all 60,000 samples do not fit into the second-level cache, so that
each kernel moves them to and from memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evonet.backends.cuda.cards import CARDS, Card
from evonet.backends.cuda.cost import LAUNCH, WARP, TeamWork, Workload, launch_cycles
from evonet.backends.cuda.plan import candidate_plans

SAMPLES = 60_000
LINKS = 32  # of a node
NETWORKS = ((1024, 120), (1024, 480), (1024, 1920), (4096, 120))
LINK_INSTRUCTIONS = 9.0  # of a warp, for a link and four samples
VECTOR = 4  # samples of a thread
ROWS = 8  # of a block: neighbouring rows of the matrix


def workload(width: int, depth: int) -> Workload:
    """A network of the challenge, whose values have slots for two layers."""
    nodes = width * depth
    return Workload(
        num_genomes=1,
        num_inputs=width,
        num_outputs=width,
        num_samples=SAMPLES,
        shared_x=True,
        dtype=np.dtype(np.float32),
        num_nodes=nodes,
        num_edges=nodes * LINKS,
        num_levels=depth,
        max_slots=2 * width,
        max_level_width=width,
    )


def cusparse_seconds(work: Workload, card: Card) -> float:
    """All layers by SpMM, and bias and activation behind each."""
    width, row = work.max_level_width, WARP * VECTOR * 4
    cache = card.limits.shared_per_sm
    sources = min(ROWS * LINKS, width)
    resident = card.limits.max_threads_per_sm // (WARP * ROWS)
    held = min(1.0, cache / (resident * sources * row))
    team = TeamWork(
        issue=LINKS * LINK_INSTRUCTIONS + 20,
        shared=LINKS * row / 128,
        fetch=(held * sources / ROWS + (1 - held) * LINKS) * row + LINKS * 8 + row,
        doubles=0.0,
        wait=LINKS * 20.0 + 1000.0,
    )
    teams = width * -(-SAMPLES // (WARP * VECTOR))
    cycles = launch_cycles(team, teams, resident * ROWS, 1, card.limits)
    moved = 2 * width * SAMPLES * 4 / (card.memory * 1e9)  # read and written once
    product = max(cycles / (card.gigahertz * 1e9), moved)
    launches = 2 * LAUNCH / (card.gigahertz * 1e9)
    return work.num_levels * (product + moved + launches)


def lines() -> Iterator[str]:
    """The table, as lines of Markdown."""
    yield "**A model, not a measurement**: layers of 32 links per node, 60,000 samples, float32, no"
    yield "sample left out. cuSPARSE is reckoned in the same currencies; its assumptions are in"
    yield "`benchmarks/wide_model.py`. The paper on such networks reports up to 1.61 times it."
    yield ""
    yield "| neurons × layers | card | `wide` | per second | `levels` | cuSPARSE | faster by |"
    yield "|---|---|---|---|---|---|---|"
    for width, depth in NETWORKS:
        work = workload(width, depth)
        for card in CARDS:
            seconds = {}
            for mapping in ("wide", "levels"):
                plans = candidate_plans(work, card.limits, mapping)
                seconds[mapping] = min(p.cycles for p in plans) / (card.gigahertz * 1e9)
            other = cusparse_seconds(work, card)
            rate = work.num_edges * SAMPLES / seconds["wide"]
            yield (
                f"| {width} × {depth} | {card.name} | {seconds['wide'] * 1e3:.0f} ms | {rate:.1e} "
                f"| {seconds['levels'] * 1e3:.0f} ms | {other * 1e3:.0f} ms "
                f"| {other / seconds['wide']:.2f} |"
            )


if __name__ == "__main__":
    print("\n".join(lines()))
