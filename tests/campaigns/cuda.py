"""Runs the CUDA kernels on the SIMT runner, on many random networks, beside the cpu backend.

    python -m tests.campaigns.cuda [--networks 10000] [--checked 500] [--seed 1]

Networks of all functions, with 0 to 5,000 nodes, in float32 and float64, on few to many samples,
shared or per genome. Every batch runs with one random launch of each mapping, out of all that the
cost model chooses from, in one of three orders of threads. Values are in shared memory or, on an
imaginary GPU with very little of it, in global memory. All outputs and losses must have the bits of
the cpu backend. --checked networks then run under the runner's checker, which must report nothing.
The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from evonet import Population
from evonet.backends.cpu import CpuBackend
from evonet.backends.cuda.cost import Workload
from evonet.backends.cuda.plan import candidate_plans, option_sets
from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS, LOSSES
from evonet.schedule import Schedule, build_schedule
from tests import simt
from tests.support.cuda_runs import SMALL, TINY, run_loss, run_plan
from tests.support.random_networks import random_genes, random_samples

ORDERS = ("forward", "reverse", "random")
BATCH = 40  # networks
SIZES = ((0, 8), (0, 30), (10, 80), (100, 400))  # hidden nodes of the networks of a batch
LARGE = (1000, 5300)  # nodes of a network that is a batch of its own; some of them are dead
MOST_WORK = 400_000  # (connections + nodes) times samples of a batch


@dataclasses.dataclass
class Findings:
    """What the campaign found.

    Attributes:
        networks: Networks compared.
        nodes: Live nodes in them.
        largest: Live nodes of the largest.
        runs: Launches that were compared.
        losses: Losses that were compared.
        options: How often each kernel ran with each set of options.
        pairs: (activation, aggregation) pairs met in live nodes that read something.
        faults: Descriptions of what was wrong.
    """

    networks: int = 0
    nodes: int = 0
    largest: int = 0
    runs: int = 0
    losses: int = 0
    options: Counter[str] = dataclasses.field(default_factory=Counter)
    pairs: set[tuple[int, int]] = dataclasses.field(default_factory=set)
    faults: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        of = len(ACTIVATIONS) * len(AGGREGATIONS)
        forward = [name for name, _ in option_sets() if name.startswith("forward")]
        lines = [
            f"{self.networks} networks, {self.nodes} live nodes, up to {self.largest} in one; "
            f"{len(self.pairs)} of {of} (activation, aggregation) pairs; {self.runs} launches, "
            f"{len(self.options)} of {len(forward)} option sets, {self.losses} losses",
            *(f"  {count:6} {name}" for name, count in sorted(self.options.items())),
            f"faults: {len(self.faults)}",
            *self.faults[:20],
        ]
        return "\n".join(lines)


# Half of the networks have no memory.
DYNAMICS = (
    *[FEEDFORWARD] * 4,
    Dynamics.of("recurrent", steps=2),
    Dynamics.of("recurrent", "same-step"),
    Dynamics.of("ctrnn", time_step=0.3),
    Dynamics.of("izhikevich", time_step=0.5, steps=3),
)


def random_schedule(rng: random.Random, count: int, dtype: Any) -> Schedule:
    """Compiles so many untidy networks that have their pins in common."""
    num_inputs, num_outputs = rng.choice((0, 1, 2, 3, 5, 17)), rng.randint(1, 4)
    least, most = rng.choice(SIZES)
    genes = [
        random_genes(
            rng,
            num_inputs,
            num_outputs,
            rng.randint(least, most),
            cyclic=rng.random() < 0.1,
            degree=rng.choice((0.5, 2.0, 4.0)),
        )
        for _ in range(count)
    ]
    population = Population.from_genes(num_inputs, num_outputs, genes, dtype)
    return build_schedule(population, rng.choice(DYNAMICS), on_cycle="zero")


def large_schedule(rng: random.Random, dtype: Any) -> Schedule:
    """Compiles one network most of whose nodes matter."""
    num_nodes = rng.randint(*LARGE)
    population = Population.random(
        1,
        rng.choice((3, 100)),
        10,
        num_nodes=num_nodes,
        num_connections=num_nodes * rng.choice((4, 10)),
        activations=[function.name for function in ACTIVATIONS],
        aggregations=[function.name for function in AGGREGATIONS],
        dtype=dtype,
        seed=rng.getrandbits(32),
    )
    return build_schedule(population)


def compare(rng: random.Random, schedule: Schedule, found: Findings, mode: str) -> None:
    """Runs one batch in both mappings."""
    per_sample = schedule.num_edges + schedule.num_nodes + 1
    num_samples = rng.choice((1, 2, 7, 32, 33, 150))
    num_samples = max(1, min(num_samples, MOST_WORK // per_sample))
    own = rng.random() < 0.5
    shape = (num_samples, schedule.num_inputs)
    x = random_samples(rng, (schedule.num_genomes, *shape) if own else shape, schedule.dtype)
    expected = CpuBackend().bind(schedule, 1).forward(x)
    work = Workload.of(schedule, 0, schedule.num_genomes, num_samples, not own)
    limits = rng.choice((SMALL, TINY))
    for mapping in ("levels", "samples", "wide"):
        plan = rng.choice(candidate_plans(work, limits, mapping))
        order = rng.choice(ORDERS)
        name = f"{plan.kernel} {' '.join(f'{k}={v}' for k, v in plan.defines.items())}"
        try:
            y = run_plan(
                schedule,
                x,
                plan,
                work,
                0,
                schedule.num_genomes,
                mode,
                order=order,
                seed=rng.getrandbits(32),
                timeout=600.0,
            )
        except simt.KernelFault as fault:
            found.faults.append(f"{name}: {fault}")
            continue
        found.runs += 1
        found.options[name] += 1
        kind = f"u{schedule.dtype.itemsize}"
        wrong = (y.view(kind) != expected.view(kind)).any(axis=(1, 2))
        if wrong.any():
            found.faults.append(f"{name}: genomes {np.flatnonzero(wrong).tolist()} differ")
    compare_losses(rng, schedule, x, expected, found, mode)


def compare_losses(
    rng: random.Random,
    schedule: Schedule,
    x: np.ndarray,
    y: np.ndarray,
    found: Findings,
    mode: str,
) -> None:
    """Adds up a random loss of the batch's outputs."""
    targets = np.nan_to_num(random_samples(rng, y.shape[1:], schedule.dtype), posinf=1, neginf=0)
    loss = rng.randrange(len(LOSSES))
    expected = CpuBackend().bind(schedule, 1).loss(x, targets, loss)
    losses = run_loss(y, targets, loss, mode, order=rng.choice(ORDERS), seed=1)
    found.losses += len(losses)
    if losses.tobytes() != expected.tobytes():
        found.faults.append(f"loss {LOSSES[loss].name} differs")


def note(schedule: Schedule, found: Findings) -> None:
    """Counts what a batch consists of."""
    found.networks += schedule.num_genomes
    found.nodes += schedule.num_nodes
    found.largest = max(found.largest, int(np.diff(schedule.node_start).max()))
    reads = np.diff(schedule.edge_start) > 0
    found.pairs |= set(
        zip(
            schedule.activation[reads].tolist(),
            schedule.aggregation[reads].tolist(),
            strict=True,
        )
    )


def campaign(networks: int, seed: int, mode: str, batch: int = BATCH) -> Findings:
    """Compares so many networks."""
    found = Findings()
    rng = random.Random(f"cuda {mode} {seed}")
    number = 0
    while found.networks < networks:
        dtype = np.float32 if rng.random() < 0.6 else np.float64
        count = min(batch, networks - found.networks)
        large = mode == "plain" and number % 10 == 0
        schedule = large_schedule(rng, dtype) if large else random_schedule(rng, count, dtype)
        note(schedule, found)
        compare(rng, schedule, found, mode)
        number += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=10_000)
    parser.add_argument("--checked", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    status = 0
    for mode, networks in (("plain", args.networks), ("checked", args.checked)):
        if networks == 0:
            continue
        begin = time.perf_counter()
        found = campaign(networks, args.seed, mode, BATCH if mode == "plain" else 10)
        print(f"{mode}: {found}\n{time.perf_counter() - begin:.0f} s", flush=True)
        status |= bool(found.faults)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
