"""Compares networks with memory with neat-python's, one step at a time from the same state.

    python -m tests.campaigns.memory [--networks 20000] [--seed 1]

Float64 networks of all functions, with self-loops, cycles, disabled links and nodes that lead
nowhere. Before every step both sides get the same state, then neat-python's own functions compute
each node; `tests/campaigns/forward.py` explains why, and which deviations are allowed.

  recurrent   Nodes, links and their order are those of RecurrentNetwork.create. Pre-activations
              within 4 eps of the sum of |w v|, activations within 2 ulp. neat-python's own
              activate() must agree with what is compared with.
  ctrnn       As neat-python 2.1 computes it: y' = d y + (1 - d) z with d = exp(-dt / tau).
  izhikevich  Against IZNN.advance(). Where a potential is within rounding of the threshold, either
              answer is right.

The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import neat
import neat.ctrnn
import neat.iznn
import numpy as np

import evonet
from evonet.definitions.dynamics import REGULAR_SPIKING
from evonet.functions.registry import ACTIVATION_IDS
from evonet.schedule.schedule import Schedule
from tests.campaigns.forward import EPS, NeatReport, NodeChecker, distance, in_units, ulp_unit
from tests.support.neat_configs import forward_config, to_neat_genome
from tests.support.random_networks import random_genes, random_samples

STEPS = 3
SAMPLES = 2
TIME_STEPS: dict[str, Any] = {"recurrent": None, "ctrnn": 0.1, "izhikevich": 0.5}


@dataclasses.dataclass
class Report:
    """What a campaign found."""

    networks: int = 0
    nodes: int = 0
    spikes: int = 0
    mismatches: int = 0
    first: str = ""


class Chunk:
    """Some networks of one kind, on both sides."""

    def __init__(self, rng: random.Random, kind: Any, count: int, report: Report) -> None:
        self.rng, self.kind, self.report = rng, kind, report
        counts = rng.randint(0, 5), rng.choice((1, 2, 3, 4, 6))
        self.config: Any = forward_config(*counts)
        genes = [
            random_genes(
                rng,
                *counts,
                min(40, round(rng.expovariate(1 / 8))),
                cyclic=rng.random() < 0.9,
                degree=rng.choice((1.5, 3.0, 6.0)),
            )
            for _ in range(count)
        ]
        self.genomes = [to_neat_genome(own, key) for key, own in enumerate(genes)]
        for gene in itertools.chain.from_iterable(g.nodes.values() for g in self.genomes):
            gene.time_constant = rng.choice((1.0, 10 ** rng.uniform(-2, 1)))
            gene.a, gene.b, gene.c, gene.d = REGULAR_SPIKING
        self.population = evonet.Population.from_neat(self.genomes, self.config)
        step = TIME_STEPS[kind]
        self.network = evonet.compile(self.population, kind, time_step=step)
        bare = self.population._with(
            {"activation": np.full_like(self.population.activation, ACTIVATION_IDS["identity"])}
        )
        self.bare = evonet.compile(bare, kind, time_step=step)
        self.order = order_of(self.network.schedule, self.bare.schedule)
        self.scale = 20.0 if kind == "izhikevich" else 1.0

    def run(self) -> Iterator[str]:
        """Yields a fault for each network that has one."""
        s = self.network.schedule
        shape = s.dynamics.num_states, s.num_nodes, SAMPLES
        state = np.array([self.rng.gauss(0, 1) for _ in range(math.prod(shape))]).reshape(shape)
        if self.kind == "izhikevich":
            state[0] = state[0] > 0.5
            state[1] = -65 + 30 * state[1]
            state[2] = -13 + 5 * state[2]
        else:
            state[:, np.diff(s.edge_start) == 0] = 0  # never evaluated, so never anything else
        wrong: set[int] = set()
        for _ in range(STEPS):
            x = random_samples(
                self.rng, (len(self.genomes), SAMPLES, s.num_inputs), np.dtype(np.float64)
            )
            x = np.where(np.isfinite(x), x, 1.0) * self.scale
            self.network.state, self.bare.state = state, state[:, self.order]
            y = self.network(x)
            self.bare(x)
            after: Any = self.network.state
            self.pre = np.empty_like(after[0])
            self.pre[self.order] = self.bare.state[0]
            for g in range(len(self.genomes)):
                nodes = slice(int(s.node_start[g]), int(s.node_start[g + 1]))
                fault = self.check(g, x[g], y[g], nodes, state, after)
                if fault and g not in wrong:
                    wrong.add(g)
                    yield f"genome {g}: {fault}"
            state = np.where(np.isfinite(after), after, 1.0)

    def check(
        self, g: int, x: np.ndarray, y: np.ndarray, nodes: slice, before: np.ndarray, after: Any
    ) -> str:
        """What is wrong with a step of one network, or nothing."""
        keys = self.network.schedule.node_key[nodes].tolist()
        inputs, outputs = (
            self.config.genome_config.input_keys,
            self.config.genome_config.output_keys,
        )
        found = dict(zip(keys, after[0, nodes].tolist(), strict=True))
        for o, key in enumerate(outputs):
            if y[:, o].tolist() != found.get(key) and not np.isnan(y[:, o]).any():
                return f"output {key} is {y[:, o]}, not that of its node"
        seen = dict(zip(inputs, x.T.tolist(), strict=True))
        old = dict(zip(keys, before[0, nodes].tolist(), strict=True))
        if self.kind == "izhikevich":
            return self.check_neurons(g, seen, nodes, keys, before, after)
        kind: Any = neat.nn.RecurrentNetwork if self.kind == "recurrent" else neat.ctrnn.CTRNN
        theirs = kind.create(self.genomes[g], self.config)
        evaluated = {n[0]: n for n in self.node_evals(theirs)}
        pre = dict(zip(keys, self.pre[nodes].tolist(), strict=True))
        for key in keys:
            if key not in evaluated:
                if any(found[key]):
                    return f"node {key} is never evaluated, and is {found[key]}"
                continue
            fault = self.check_node(g, evaluated[key], seen, old, found[key], pre[key])
            if fault:
                return fault
            self.report.nodes += 1
        if self.kind == "recurrent":
            return self.check_activate(theirs, keys, seen, old, found)
        return ""

    def node_evals(self, theirs: Any) -> list[tuple[Any, ...]]:
        """What neat-python evaluates, in the form of its RecurrentNetwork."""
        if self.kind == "recurrent":
            return list(theirs.node_evals)
        return [
            (key, n.activation, n.aggregation, n.bias, n.response, n.links)
            for key, n in theirs.node_evals.items()
        ]

    def check_node(
        self,
        g: int,
        node: tuple[Any, ...],
        seen: dict[int, list[float]],
        old: dict[int, list[float]],
        found: list[float],
        pre: list[float],
    ) -> str:
        """What is wrong with one node of a recurrent network or a CTRNN, or nothing."""
        key, *functions, links = node
        values: dict[Any, list[float]] = {("before", k): v for k, v in (seen | old).items()}
        missing = [source for source, _ in links if ("before", source) not in values]
        if missing:
            return f"node {key} reads {missing[0]}, which evonet left out"
        if self.kind == "recurrent":
            values[key] = found
            renamed = (key, *functions, [(("before", k), w) for k, w in links])
            checker = NodeChecker(NeatReport())
            return checker.check_node(renamed, self.genomes[g].nodes[key], values, pre)
        activate, aggregate, bias, response = functions
        gene = self.genomes[g].nodes[key]
        kept = math.exp(-0.1 / gene.time_constant)
        for b, mine in enumerate(found):
            terms = [values["before", k][b] * w for k, w in links]
            z = bias + response * aggregate(terms)
            try:
                value = activate(z)
            except OverflowError:  # evonet returns infinity where Python raises
                value = math.inf if gene.activation == "square" else z * math.inf
            expected = kept * old[key][b] + (1 - kept) * value
            unit = EPS * (abs(kept * old[key][b]) + (1 - kept) * abs(value))
            unit += (1 - kept) * ulp_unit(gene.activation, z, value)
            # The effect of rounding in z, which cannot be seen from here.
            slack = 4 * EPS * (abs(bias) + abs(response) * sum(map(abs, terms)))
            unit += (1 - kept) * rise(activate, z, slack)
            if not in_units(distance(mine, expected), unit) <= 4:
                return f"node {key}: {gene.activation} gives {mine!r}, not {expected!r}"
        return ""

    def check_activate(
        self,
        theirs: Any,
        keys: list[int],
        seen: dict[int, list[float]],
        old: dict[int, list[float]],
        found: dict[int, list[float]],
    ) -> str:
        """Whether neat-python's own step agrees with the one that nodes were compared with."""
        for b in range(SAMPLES):
            theirs.reset()
            for values in theirs.values:
                values.update((key, old[key][b]) for key in keys if key in values)
            try:
                theirs.activate([seen[key][b] for key in theirs.input_nodes])
            except OverflowError:  # evonet returns infinity where Python raises
                continue
            for key in keys:
                expected = theirs.values[theirs.active].get(key, 0.0)
                off = distance(found[key][b], expected)
                if off > 1e-9 * max(1.0, abs(expected)):
                    return f"node {key}: {found[key][b]!r}, and activate() gives {expected!r}"
        return ""

    def check_neurons(
        self,
        g: int,
        seen: dict[int, list[float]],
        nodes: slice,
        keys: list[int],
        before: np.ndarray,
        after: Any,
    ) -> str:
        """What is wrong with the neurons of a network, or nothing."""
        theirs = neat.iznn.IZNN.create(self.genomes[g], self.config)
        for b in range(SAMPLES):
            theirs.set_inputs([seen[key][b] for key in theirs.inputs])
            for k, key in enumerate(keys):
                neuron = theirs.neurons[key]
                neuron.fired, neuron.v, neuron.u = before[:, nodes.start + k, b].tolist()
            theirs.advance(TIME_STEPS[self.kind])
            for k, key in enumerate(keys):
                neuron = theirs.neurons[key]
                mine = after[:, nodes.start + k, b].tolist()
                v0, u0 = before[1:, nodes.start + k, b].tolist()
                current = abs(neuron.bias) + sum(
                    abs(w) * abs(self.value_of(i, seen, b)) for i, w in neuron.inputs
                )
                size = abs(v0)  # the most that a potential can become
                for _ in range(2):
                    rate = 0.04 * size * size + 5 * size + 140 + abs(u0) + current
                    size += 0.5 * TIME_STEPS[self.kind] * rate
                size += abs(u0)
                if mine[0] != neuron.fired:
                    potential = max(abs(mine[1]), abs(neuron.v))
                    if abs(potential - 30.0) < 1e-9 * size:
                        continue
                    return f"neuron {key} fires {mine[0]}, not {neuron.fired}"
                self.report.spikes += int(neuron.fired)
                for name, value, expected in (("v", mine[1], neuron.v), ("u", mine[2], neuron.u)):
                    if math.isfinite(expected) and distance(value, expected) > 64 * EPS * size:
                        return f"neuron {key}: {name} is {value!r}, not {expected!r}"
                self.report.nodes += 1
        return ""

    @staticmethod
    def value_of(key: int, seen: dict[int, list[float]], b: int) -> float:
        """The most that a neuron can get through a link of weight 1."""
        return seen[key][b] if key in seen else 1.0


def rise(activate: Any, z: float, slack: float) -> float:
    """How far an activation moves within some slack."""
    try:
        moved = abs(activate(z + slack) - activate(z - slack))
    except OverflowError:
        return 0.0
    return moved if math.isfinite(moved) else 0.0


def order_of(schedule: Schedule, other: Schedule) -> np.ndarray:
    """Where the nodes of another schedule of the same genomes are in this one."""
    order: list[int] = []
    for g in range(schedule.num_genomes):
        first, end = schedule.node_start[g : g + 2].tolist()
        place = {int(key): first + k for k, key in enumerate(schedule.node_key[first:end])}
        order += [place[int(key)] for key in other.node_key[first:end]]
    return np.array(order, np.int64)


def run(networks: int, seed: int, chunk: int = 250) -> Report:
    """Compares networks, a third of each kind."""
    report = Report()
    for index, kind in enumerate(itertools.cycle(TIME_STEPS)):
        count = min(chunk, networks - report.networks)
        if count == 0:
            return report
        rng = random.Random(f"memory {seed} {index}")
        for fault in Chunk(rng, kind, count, report).run():
            report.mismatches += 1
            report.first = report.first or f"{kind}, chunk {index}, {fault}"
        report.networks += count
    return report


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    report = run(arguments.networks, arguments.seed)
    print(f"{report}; seed {arguments.seed}, {time.perf_counter() - start:.0f} s")
    return 1 if report.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
