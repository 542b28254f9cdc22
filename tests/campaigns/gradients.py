"""Compares gradients with central differences, with PyTorch, and all backends with the reference.

    python -m tests.campaigns.gradients differences [--networks 10000] [--seed 1]
    python -m tests.campaigns.gradients torch [--networks 10000] [--seed 1]
    python -m tests.campaigns.gradients bits [--networks 10000] [--seed 1]

All three take random networks of all activations and aggregations; an eighth of them each are
recurrent, recurrent with same-step links, recurrent with two steps per call, and CTRNNs, over 20
steps.

`differences` perturbs every gene of float64 networks by 1e-6. A derivative counts where differences
of two widths agree, so that kinks, ties and overflows are left out.

`torch` writes float64 networks again in PyTorch, node by node, and compares with what autograd
finds (a campaign's dependency only: pip install torch). Distances are relative to the largest
derivative of the network. Networks with a loss that is not finite are left out, and so are those
that magnify roundings so much that already the losses differ by more than 1e-12.

`bits` compares float32 and float64 gradients and learned populations on every SIMD level, with 1, 2
and 3 threads and in parts, with those of the reference, bit by bit.

The exit code is 1 if anything differs by more than 1e-5 (differences), 1e-9 (torch) or a bit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import numpy as np

import evonet
from evonet import Learner, Lesson, Population
from evonet.backends.differentiable import Differentiable
from evonet.definitions.dynamics import Dynamics
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import require_native
from tests.support.gradient_checks import worst_error

KINDS: list[dict[str, Any]] = [
    *[{} for _ in range(4)],
    {"kind": "recurrent"},
    {"kind": "recurrent", "propagation": "same-step"},
    {"kind": "recurrent", "steps": 2},
    {"kind": "ctrnn", "time_step": 0.1},
]
STEPS, SAMPLES = 20, 5
SIZE = 50  # networks of one population


class Round:
    """One population with samples and answers."""

    def __init__(self, number: int, seed: int, dtype: Any = np.float64) -> None:
        self.options = KINDS[number % len(KINDS)]
        rng = self.rng = np.random.default_rng([seed, number])
        memory = bool(self.options)
        # Each round has its own pairs of functions, so that all of them are met.
        activations = rng.permutation([f.name for f in ACTIVATIONS])[: rng.integers(1, 19)]
        aggregations = rng.permutation([f.name for f in AGGREGATIONS])[: rng.integers(1, 8)]
        nodes = int(rng.integers(2, 10))
        hidden = nodes - 2
        room = 3 * nodes + hidden * (hidden - 1) // 2 + 2 * hidden
        self.population = Population.random(
            SIZE,
            3,
            2,
            num_nodes=nodes,
            num_connections=int(rng.integers(4, min(28, room) + 1)),
            dtype=dtype,
            seed=int(rng.integers(2**31)),
            feed_forward=not memory,
            activations=tuple(map(str, activations)),
            aggregations=tuple(map(str, aggregations)),
            enabled=0.9,
            weight_scale=0.6,
            bias_scale=0.5,
        )
        shape = (STEPS, SAMPLES) if memory else (SAMPLES,)
        self.x = rng.standard_normal((*shape, 3))
        self.targets = rng.random((*shape, 2))


def differences(networks: int, seed: int) -> bool:
    worst = 0.0
    for number in range(-(-networks // SIZE)):
        r = Round(number, seed)
        losses, found = evonet.compile(r.population, **r.options).gradients(r.x, r.targets)
        sane = np.flatnonzero(losses < 1e6)
        if len(sane) == 0:
            continue
        population = r.population[sane]
        _, found = evonet.compile(population, **r.options).gradients(r.x, r.targets)
        error = worst_error(population, r.x, r.targets, found, **r.options)
        if error > 1e-5:
            print(f"round {number}: {error:.1e} with {r.options}")
        worst = max(worst, error)
    print(f"differences: {networks} networks, worst relative error {worst:.1e}")
    return worst <= 1e-5


def against_torch(networks: int, seed: int) -> bool:
    from tests.support.torch_gradients import TorchGenome

    worst, compared, sensitive, pairs = 0.0, 0, 0, set[tuple[int, int]]()
    for number in range(-(-networks // SIZE)):
        r = Round(number, seed)
        dynamics = Dynamics.of(**r.options)
        differentiable = Differentiable(r.population, dynamics, on_cycle="zero")
        schedule = differentiable.schedule
        samples, answers = differentiable.read(r.x, r.targets)
        result = differentiable.bound.gradient(samples, answers, 0)
        found = result.genes._asdict()
        linked = np.diff(schedule.edge_start) > 0
        functions = zip(schedule.activation[linked], schedule.aggregation[linked], strict=True)
        pairs.update((int(a), int(b)) for a, b in functions)
        for g in range(schedule.num_genomes):
            genome = TorchGenome(schedule, g)
            loss = genome.loss(samples, answers)
            if not 1e-12 < float(loss.detach()) < 1e12:
                continue
            if abs(float(loss.detach()) / result.losses[g].sum() - 1) > 1e-12:
                sensitive += 1
                continue
            loss.backward()
            nodes = slice(int(schedule.node_start[g]), int(schedule.node_start[g + 1]))
            edges = slice(
                int(schedule.edge_start[nodes.start]), int(schedule.edge_start[nodes.stop])
            )
            idle = ~linked[nodes] & (dynamics.has_memory and dynamics.propagation == "next-step")
            wanted = {
                n: np.zeros(t.shape) if t.grad is None else t.grad.numpy().copy()
                for n, t in genome.genes.items()
            }
            for name in ("bias", "response"):
                wanted[name][idle] = 0
            if not all(np.isfinite(numbers).all() for numbers in wanted.values()):
                continue
            scale = max(1e-6, *(abs(numbers).max(initial=0) for numbers in wanted.values()))
            for name, numbers in wanted.items():
                error = abs(found[name][edges if name == "weight" else nodes] - numbers)
                worst_here = float(error.max(initial=0) / scale)
                if worst_here > 1e-9:
                    print(f"round {number}, genome {g}, {name}: {worst_here:.1e}, {r.options}")
                worst = max(worst, worst_here)
            compared += 1
    print(
        f"torch: {compared} of {networks} networks compared, {sensitive} too sensitive, worst "
        f"error {worst:.1e} of a network's largest; {len(pairs)} of "
        f"{len(ACTIVATIONS) * len(AGGREGATIONS)} pairs of functions"
    )
    return worst <= 1e-9


def bits(networks: int, seed: int) -> bool:
    levels, wrong, runs = require_native().simd_levels(), 0, 0
    for number in range(-(-networks // SIZE)):
        r = Round(number, seed, np.float64 if number % 3 == 0 else np.float32)
        if number % 2:  # more samples than a block, or wild ones
            repeat = int(r.rng.integers(2, 40))
            axis = r.x.ndim - 2
            r.x, r.targets = np.repeat(r.x, repeat, axis), np.repeat(r.targets, repeat, axis)
        loss = ("squared", "huber", "cross_entropy", "binary_cross_entropy")[number % 4]
        wanted = _all_bits(r, loss, "reference", r.population)
        for level in levels:
            os.environ["EVONET_SIMD"] = level
            for threads in (1, 2, 3):
                runs += 1
                wrong += _all_bits(r, loss, "cpu", r.population, threads) != wanted
        del os.environ["EVONET_SIMD"]
        parts = [_all_bits(r, loss, "cpu", r.population[i : i + 7]) for i in range(0, SIZE, 7)]
        joined = {name: b"".join(part[name] for part in parts) for name in wanted}
        runs += 1
        wrong += joined != wanted
        if number % 8 < 4 and number % 5 == 0:
            lesson = Lesson(steps=3, batch=20, loss=loss, clip=1.0)  # type: ignore[arg-type]
            dynamics = Dynamics.of(**r.options)
            learned = [
                Learner(r.population, lesson, dynamics=dynamics, backend=backend).run(
                    r.x, r.targets
                )
                for backend in ("cpu", "reference")
            ]
            runs += 1
            wrong += learned[0].population != learned[1].population
    print(f"bits: {networks} networks, {runs} runs on {levels}, {wrong} differ from the reference")
    return wrong == 0


def _all_bits(
    r: Round, loss: str, backend: Any, population: Population, threads: int = 0
) -> dict[str, bytes]:
    network = evonet.compile(population, backend=backend, threads=threads, **r.options)
    losses, found = network.gradients(r.x, r.targets, loss, inputs=True)
    return {"losses": losses.tobytes(), **{name: a.tobytes() for name, a in found.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("differences", "torch", "bits"))
    parser.add_argument("--networks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    run = {"differences": differences, "torch": against_torch, "bits": bits}[options.what]
    fine = run(options.networks, options.seed)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
