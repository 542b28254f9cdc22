"""What slots by lifetime save: slots, memory, and warps on a GPU, before and after.

    python -m benchmarks.slots

Evolved populations grow by NEAT's own mutations under random fitness, so that their shapes are
those of a search and not of a generator; then all their connections are enabled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import evonet
from benchmarks.cuda_cost import CARDS, resident_warps
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.plan import plan_forward
from evonet.schedule import Schedule, build_schedule

SAMPLES = 1024


def evolved(genomes: int, nodes: int, connections: int, seed: int = 0) -> evonet.Population:
    """Mutates a population until its mean genome has so many connections."""
    config = evonet.Config.from_dict(
        {
            "neat": {"pop_size": genomes},
            "genome": {
                "num_inputs": 8,
                "num_outputs": 4,
                "conn_add_prob": 0.9,
                "conn_delete_prob": 0.0,
                "node_add_prob": min(0.9, 0.9 * nodes / connections),
                "node_delete_prob": 0.0,
            },
            "speciation": {"threshold": 1000.0},
            "stagnation": {"max_stagnation": 10**6},
        }
    )
    algorithm = evonet.NEAT(config, seed=seed)
    rng = np.random.default_rng(seed)
    population = algorithm.ask()
    while population.num_connections < connections * genomes:
        algorithm.tell(rng.random(genomes))
        population = algorithm.ask()
    genes = {name: getattr(population, name) for name in population.__slots__}
    return evonet.Population(**{**genes, "enabled": np.ones_like(population.enabled)})


def populations() -> Iterator[tuple[str, evonet.Population]]:
    """Evolved and random shapes, from small to a single very large genome."""
    yield "1,000 evolved", evolved(1000, 50, 200)
    yield "100 evolved", evolved(100, 200, 2000)
    for genomes, nodes, links in ((1000, 50, 200), (100, 200, 2000), (1, 100_000, 400_000)):
        yield (
            f"{genomes:,} random",
            evonet.Population.random(genomes, 8, 4, num_nodes=nodes, num_connections=links, seed=1),
        )


def rows() -> Iterator[str]:
    """A table of slots, then one of warps."""
    yield "| population | live nodes | links | levels | slots before | after | 128 samples |"
    yield "|---|---|---|---|---|---|---|"
    pairs: list[tuple[str, Schedule, Schedule]] = []
    for name, population in populations():
        before = build_schedule(population, reuse_slots=False)
        after = build_schedule(population)
        pairs.append((name, before, after))
        nodes = np.diff(before.node_start)
        kept, needed = before.num_slots.mean(), after.num_slots.mean()
        yield (
            f"| {name} | {nodes.mean():,.0f} | {before.num_edges / len(nodes):,.0f} "
            f"| {before.num_levels.mean():,.0f} | {kept:,.1f} | {needed:,.1f} "
            f"| {kept * 512 / 1024:,.1f} to {needed * 512 / 1024:,.1f} KiB |"
        )
    yield ""
    yield "| population | card | `samples`: warps per SM before | after | modelled time, `auto` |"
    yield "|---|---|---|---|---|"
    for name, before, after in pairs:
        for card in CARDS:
            work = [Workload.of(s, 0, s.num_genomes, SAMPLES, True) for s in (before, after)]
            forced = [plan_forward(w, card.limits, "samples") for w in work]
            best = [plan_forward(w, card.limits) for w in work]
            old, new = (
                f"{resident_warps(plan, card.limits)} of {plan.defines['VECTOR']} per thread"
                for plan in forced
            )
            yield (
                f"| {name} | {card.name} | {old} | {new} "
                f"| {best[0].cycles / best[1].cycles:.2f} times as fast |"
            )


if __name__ == "__main__":
    print("\n".join(rows()))
