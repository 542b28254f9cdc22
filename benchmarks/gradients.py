"""Times gradients beside the forward pass, an Adam step, and learning beside PyTorch.

    python -m benchmarks.gradients [--genomes 1000] [--rounds 7] [--no-torch]

Networks have 50 nodes and 200 links, as elsewhere. What is compared takes turns in one run, and the
table shows medians of processor time, which other programs hardly change. PyTorch trains the same
networks as dense layers with masks, one per level, all genomes at once by `torch.func.vmap`, with
as many threads (pip install torch).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import evonet
from evonet import Lesson, Population
from evonet.backends.differentiable import Differentiable
from evonet.backends.learning import LearningState
from evonet.definitions.dynamics import Dynamics
from evonet.learning.rule import update_rule
from evonet.schedule.schedule import Schedule

STEPS = 20  # of a learner, per measurement


def medians(
    rounds: int,
    contenders: dict[str, Callable[[], object]],
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, float]:
    """Seconds of each contender; they take turns."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):  # the first round warms up
        for name, run in contenders.items():
            began = clock()
            run()
            found[name].append(clock() - began)
    return {name: statistics.median(times[1:]) for name, times in found.items()}


class MaskedLayers:
    """All genomes of a schedule as dense layers with masks, trained by Adam through vmap."""

    def __init__(self, schedule: Schedule, x: Any, targets: Any, rate: float) -> None:
        import torch

        s = schedule
        levels = [
            [0, *s.level_end[s.level_start[g] : s.level_start[g + 1]].tolist()]
            for g in range(s.num_genomes)
        ]
        depth = max(len(ends) for ends in levels) - 1
        widths = [
            max(ends[i + 1] - ends[i] for ends in levels if len(ends) > i + 1) for i in range(depth)
        ]
        starts = np.concatenate([[s.num_inputs], s.num_inputs + np.cumsum(widths)])
        shape = (s.num_genomes, int(starts[-1]), int(starts[-1]))
        weights, mask = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        bias, outputs = np.zeros(shape[:2], np.float32), np.zeros((s.num_genomes, s.num_outputs))
        for g, ends in enumerate(levels):
            place = np.arange(int(s.num_slots[g]))  # of each slot among the padded values
            for i, (begin, end) in enumerate(pairwise(ends)):
                place[s.num_inputs + begin : s.num_inputs + end] = starts[i] + np.arange(
                    end - begin
                )
            first = int(s.node_start[g])
            for k in range(ends[-1]):
                to = place[s.slot[first + k]]
                links = slice(int(s.edge_start[first + k]), int(s.edge_start[first + k + 1]))
                weights[g, place[s.source[links]], to] = s.weight[links]
                mask[g, place[s.source[links]], to] = 1
                bias[g, to] = s.bias[first + k]
            outputs[g] = place[s.output_slot[g]]
        self._torch, self._starts = torch, starts.tolist()
        cut = [slice(int(a), int(b)) for a, b in pairwise(starts)]
        self._parameters = {
            **{f"w{i}": torch.tensor(weights[:, : part.start, part]) for i, part in enumerate(cut)},
            **{f"b{i}": torch.tensor(bias[:, part]) for i, part in enumerate(cut)},
        }
        self._masks = [torch.tensor(mask[:, : part.start, part]) for part in cut]
        self._outputs = torch.tensor(outputs.astype(np.int64))
        self._x, self._targets = torch.tensor(x), torch.tensor(targets)
        for parameter in self._parameters.values():
            parameter.requires_grad_(False)
        self._optimizer = torch.optim.Adam(list(self._parameters.values()), lr=rate)
        self._slopes = torch.func.vmap(
            torch.func.grad(self._loss), in_dims=(dict.fromkeys(self._parameters, 0), 0, 0)
        )

    def _loss(self, parameters: dict[str, Any], masks: tuple[Any, ...], outputs: Any) -> Any:
        torch, values = self._torch, self._x
        for i, mask in enumerate(masks):
            z = values @ (parameters[f"w{i}"] * mask) + parameters[f"b{i}"]
            values = torch.cat((values, torch.sigmoid(5 * z)), dim=1)
        return ((values[:, outputs] - self._targets) ** 2).sum() / len(self._x)

    def step(self) -> None:
        """One step of Adam for all genomes."""
        slopes = self._slopes(self._parameters, tuple(self._masks), self._outputs)
        for name, parameter in self._parameters.items():
            parameter.grad = slopes[name]
        self._optimizer.step()


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--genomes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-torch", action="store_true")
    options = parser.parse_args()
    population = Population.random(options.genomes, 8, 4, num_nodes=50, num_connections=200, seed=1)
    rng = np.random.default_rng(0)
    print("ps per link and sample, one thread, float32")
    print("samples  forward  loss and gradient  ratio")
    for num_samples in (32, 256):
        x = rng.standard_normal((num_samples, 8), np.float32)
        targets = rng.random((num_samples, 4), np.float32)
        network = evonet.compile(population, threads=1)
        compiled = Differentiable(population, Dynamics(), threads=1)
        found = medians(
            options.rounds,
            {
                "forward": lambda n=network, x=x: n(x),
                "gradient": lambda c=compiled, x=x, t=targets: c.bound.gradient(
                    x[None], t[None], 0
                ),
            },
        )
        unit = 1e12 / (population.num_connections * num_samples)
        print(
            f"{num_samples:7}  {found['forward'] * unit:7.1f}  {found['gradient'] * unit:17.1f}  "
            f"{found['gradient'] / found['forward']:5.2f}"
        )
    x = rng.standard_normal((32, 8), np.float32)
    targets = rng.random((32, 4), np.float32)
    compiled = Differentiable(population, Dynamics(), threads=1)
    genes = compiled.schedule.num_edges + compiled.schedule.num_nodes

    def learn(c: Differentiable, optimizer: Any) -> None:
        rule = update_rule(Lesson(optimizer=optimizer, rate=1e-4), 0, STEPS)
        order = np.tile(np.arange(32), (STEPS, 1))
        c.bound.learn(LearningState.start(c.schedule), x[None], targets[None], order, 0, rule)

    found = medians(
        options.rounds,
        {
            "adam": lambda: learn(compiled, "adam"),
            "sgd": lambda: learn(compiled, "sgd"),
            "gradient": lambda: [
                compiled.bound.gradient(x[None], targets[None], 0) for _ in range(STEPS)
            ],
        },
    )
    per_gene = 1e9 / (STEPS * genes)
    print(f"a step of Adam with its gradient: {found['adam'] * per_gene:.2f} ns per gene")
    print(f"  gradient alone (responses, too) {found['gradient'] * per_gene:.2f}")
    print(f"  Adam beyond SGD                 {(found['adam'] - found['sgd']) * per_gene:.2f}")
    if options.no_torch:
        return
    import torch

    torch.set_num_threads(2)
    two = Differentiable(population, Dynamics(), threads=2)
    layers = MaskedLayers(two.schedule, x, targets, 1e-4)
    both: dict[str, Callable[[], object]] = {
        "evonet": lambda: learn(two, "adam"),
        "torch": layers.step,
    }
    print(f"a step of {options.genomes} networks, 32 samples, 2 threads")
    for title, clock in (("processor", time.process_time), ("elapsed", time.perf_counter)):
        found = medians(min(3, options.rounds), both, clock)
        ours = found["evonet"] / STEPS
        print(
            f"  {title:9} evonet {1e3 * ours:.2f} ms, PyTorch {1e3 * found['torch']:.1f} ms: "
            f"{found['torch'] / ours:.0f} times"
        )


if __name__ == "__main__":
    main()
