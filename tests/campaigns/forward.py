"""Compares the forward pass with the reference and with neat-python, on many random networks.

    python -m tests.campaigns.forward bits [--networks 10000] [--seed 1]
    python -m tests.campaigns.forward neat [--networks 100000] [--seed 1]

`bits` runs float32 networks of all functions on the compiled backend with 1, 2 and 3 threads, on
every SIMD level and in several batch splits; all results must have the bits of the reference.

`neat` runs float64 networks made of neat-python genomes and checks them node by node. Whole
networks cannot be compared with a tolerance: one ulp in an early node may move an output by any
amount. So neat-python's own functions compute each node from the values that *evonet* computed for
its sources. Both must agree on

  * which nodes are evaluated, in which layer, from which links in which order;
  * the pre-activation p = bias + response * aggregate, within 4 eps (|bias| + |response| S). S is
    the sum of all |w v|; a product has no such scale and gets n times its own size for n links;
  * the activation of the pre-activation that evonet found, within 2 ulp of the largest number in
    the formula. For most functions that is the result itself. Where neat-python's formula cancels
    or amplifies, correct code may differ by more ulps of the result, and the unit is larger:
      elu, selu   exp(z) - 1 cancels for small z: an ulp of exp(z), times the factor in front;
      softplus    0.2 ln(1 + e): an ulp of 1 + e is eps of the logarithm: at least 0.2 eps;
      gauss       exp(-a), a = 5 z^2: an ulp of a is a eps of the result: at least a eps exp(-a).
    glibc's tanh is itself up to 2.2 ulp off; where it differs from evonet's by more than 2 ulp,
    decimal arithmetic with 50 digits decides.

The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import decimal
import itertools
import math
import os
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import neat
import numpy as np

import evonet
from evonet.functions.registry import ACTIVATION_IDS, ACTIVATIONS, AGGREGATIONS
from evonet.installation import require_native
from evonet.schedule import Schedule, build_schedule
from tests.support.neat_configs import forward_config, to_neat_genome
from tests.support.random_networks import random_genes, random_samples

EPS = sys.float_info.epsilon

# ---- bits ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class BitsReport:
    """What the campaign `bits` found.

    Attributes:
        networks: Networks compared.
        nodes: Live nodes in them.
        runs: Runs of a whole population that were compared with the reference.
        pairs: (activation, aggregation) pairs of live nodes that read something.
        mismatches: Networks with a wrong bit in some run.
    """

    networks: int = 0
    nodes: int = 0
    runs: int = 0
    pairs: set[tuple[int, int]] = dataclasses.field(default_factory=set)
    mismatches: int = 0

    def __str__(self) -> str:
        of = len(ACTIVATIONS) * len(AGGREGATIONS)
        return (
            f"bits: {self.networks} float32 networks, {self.nodes} live nodes, "
            f"{len(self.pairs)} of {of} (activation, aggregation) pairs, {self.runs} runs of "
            f"populations beside the reference; mismatches {self.mismatches}"
        )


@contextlib.contextmanager
def simd_level(name: str) -> Iterator[None]:
    """Compiles networks for one instruction set."""
    before = os.environ.get("EVONET_SIMD")
    os.environ["EVONET_SIMD"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["EVONET_SIMD"]
        else:
            os.environ["EVONET_SIMD"] = before


def wrong_genomes(found: np.ndarray, expected: np.ndarray) -> set[int]:
    """Genomes whose outputs differ in any bit."""
    kind = f"u{expected.itemsize}"
    differs = found.view(kind) != expected.view(kind)
    return set(np.flatnonzero(differs.any(axis=(1, 2))).tolist())


def check_bits(population: evonet.Population, x: np.ndarray, cuts: list[int]) -> tuple[int, int]:
    """Runs one population with all instruction sets, threads and cuts.

    Args:
        population: P genomes.
        x: [B, I] or [P, B, I].
        cuts: Where to cut the batch, ascending.

    Returns:
        How many runs were compared with the reference, and how many genomes have a wrong bit.
    """
    reference = evonet.compile(population, backend="reference", on_cycle="zero")
    expected = reference(x)
    wrong: set[int] = set()
    runs = 0
    for level, threads in itertools.product(require_native().simd_levels(), (1, 2, 3)):
        with simd_level(level):
            network = evonet.compile(population, backend="cpu", threads=threads, on_cycle="zero")
        if network.schedule != reference.schedule:
            raise AssertionError("the native schedule differs from the reference")
        wrong |= wrong_genomes(network(x), expected)
        edges = [0, *cuts, x.shape[-2]]
        parts = [network(x[..., a:b, :]) for a, b in itertools.pairwise(edges)]
        wrong |= wrong_genomes(np.concatenate(parts, axis=1), expected)
        runs += 2
    # A genome's outputs must not depend on its neighbours either.
    part = slice(len(population) // 3, len(population) // 2 + 1)
    network = evonet.compile(population[part], backend="cpu", on_cycle="zero")
    found = network(x if x.ndim == 2 else x[part])
    wrong |= {part.start + g for g in wrong_genomes(found, expected[part])}
    return runs + 1, len(wrong)


def run_bits(networks: int, seed: int, chunk: int = 250, max_hidden: int = 56) -> BitsReport:
    """Compares random networks; every eighth population consists of a few large ones."""
    report = BitsReport()
    for index in itertools.count():
        if report.networks >= networks:
            return report
        rng = random.Random(f"bits {seed} {index}")
        large = index % 8 == 7
        count = min(networks - report.networks, 4 if large else chunk)
        num_inputs, num_outputs = rng.randint(0, 5), rng.choice((0, 1, 2, 3, 4, 6))
        population = evonet.Population.from_genes(
            num_inputs,
            num_outputs,
            [
                random_genes(
                    rng,
                    num_inputs,
                    num_outputs,
                    rng.randint(200, 1200) if large else rng.randint(0, max_hidden),
                    cyclic=rng.random() < 0.1,
                    degree=rng.choice((1.5, 3.0, 6.0)),
                )
                for _ in range(count)
            ],
        )
        samples = rng.choice((1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 64, 65, 100, 129, 200))
        shape = (samples, num_inputs) if index % 2 else (count, samples, num_inputs)
        cuts = sorted(rng.sample(range(samples + 1), min(samples, 3)))
        runs, mismatches = check_bits(population, random_samples(rng, shape, np.float32), cuts)
        live = build_schedule(population, on_cycle="zero")
        reads = np.diff(live.edge_start) > 0
        report.networks += count
        report.nodes += live.num_nodes
        report.runs += runs
        report.pairs |= set(
            zip(live.activation[reads].tolist(), live.aggregation[reads].tolist(), strict=True)
        )
        report.mismatches += mismatches


# ---- neat ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class NeatReport:
    """What the campaign `neat` found.

    Attributes:
        networks: Networks compared.
        nodes: Nodes that both evaluated.
        values: Node values compared: nodes times samples.
        cyclic: Networks with nodes on or behind a cycle.
        exact: Pre-activations with neat-python's very bits.
        worst_pre: Largest deviation of a pre-activation, in eps of its scale.
        worst_ulp: Largest deviation by activation, in ulps of the largest number in its formula.
        settled: Values of tanh that were compared with 50 digits.
        mismatches: Networks beyond a bound, or evaluated in another order.
        first: What the first mismatch was.
    """

    networks: int = 0
    nodes: int = 0
    values: int = 0
    cyclic: int = 0
    exact: int = 0
    worst_pre: float = 0.0
    worst_ulp: dict[str, float] = dataclasses.field(default_factory=dict)
    settled: int = 0
    mismatches: int = 0
    first: str = ""

    def __str__(self) -> str:
        worst = max(self.worst_ulp, key=self.worst_ulp.__getitem__, default="-")
        return (
            f"neat: {self.networks} float64 networks ({self.cyclic} with cycles), {self.nodes} "
            f"nodes, {self.values} values; pre-activations: {self.exact} exact, worst "
            f"{self.worst_pre:.2f} eps of the scale; activations: worst "
            f"{self.worst_ulp.get(worst, 0.0):.2f} ulp ({worst}), {self.settled} settled by "
            f"decimal arithmetic; mismatches {self.mismatches}"
            + (f"; first: {self.first}" if self.first else "")
        )


def with_probes(schedule: Schedule) -> Schedule:
    """Makes every node's value and pre-activation an output of a schedule.

    Behind the n nodes of a genome come copies of them that read the same links and have the
    identity as activation. Outputs are the n nodes, then the n probes; genomes with fewer nodes
    are padded with outputs that are never evaluated.
    """
    s = schedule
    first_edge = s.edge_start[s.node_start]

    def twice(start: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [np.zeros(0, np.int64)]
            + [np.tile(np.arange(a, b), 2) for a, b in itertools.pairwise(start.tolist())]
        )

    nodes, links = twice(s.node_start), twice(first_edge)
    counts = np.diff(s.node_start)
    local = np.arange(len(nodes)) - np.repeat(2 * s.node_start[:-1], 2 * counts)
    probe = local >= np.repeat(counts, 2 * counts)
    level_end = [
        [*s.level_end[a:b], *([2 * n] if n else [])]
        for (a, b), n in zip(itertools.pairwise(s.level_start), counts.tolist(), strict=True)
    ]
    slots = np.arange(2 * int(counts.max(initial=0)), dtype=np.int32) + np.int32(s.num_inputs)
    return dataclasses.replace(
        s,
        num_outputs=len(slots),
        node_start=2 * s.node_start,
        node_key=s.node_key[nodes],
        bias=s.bias[nodes],
        response=s.response[nodes],
        activation=np.where(probe, np.uint8(ACTIVATION_IDS["identity"]), s.activation[nodes]),
        aggregation=s.aggregation[nodes],
        slot=(s.num_inputs + local).astype(np.int32),
        num_slots=s.num_inputs + 2 * counts,
        edge_start=np.concatenate([[0], np.cumsum(np.diff(s.edge_start)[nodes])]).astype(np.int64),
        source=s.source[links],
        weight=s.weight[links],
        level_start=np.cumsum([0, *map(len, level_end)]).astype(np.int64),
        level_end=np.array([end for ends in level_end for end in ends], np.int32),
        output_slot=np.where(
            slots < s.num_inputs + 2 * counts[:, None], slots, np.int32(-1)
        ).astype(np.int32),
        cell=s.cell[nodes],
    )


def ulp_unit(name: str, z: float, value: float) -> float:
    """An ulp of the largest number in neat-python's formula; see the module's docstring."""
    unit = math.ulp(value)
    if name in ("elu", "selu") and z <= 0:
        return max(unit, math.ulp(math.exp(z)) * (1.7580993408473766 if name == "selu" else 1.0))
    if name == "softplus":
        return max(unit, 0.2 * EPS)
    if name == "gauss":
        return max(unit, 5 * min(abs(z), 3.4) ** 2 * EPS * value)
    return unit


def exact_tanh(z: float) -> decimal.Decimal:
    """neat-python's tanh with 50 digits instead of the C library."""
    with decimal.localcontext() as context:
        context.prec = 50
        e = (2 * decimal.Decimal(max(-60.0, min(60.0, 2.5 * z)))).exp()
        return (e - 1) / (e + 1)


def distance(a: float, b: float) -> float:
    """|a - b|; 0 for the same infinity or two NaN, infinite for one of them."""
    if a == b or (a != a and b != b):
        return 0.0
    return abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf


def in_units(deviation: float, unit: float) -> float:
    return 0.0 if deviation == 0 else deviation / unit if unit > 0 else math.inf


class NodeChecker:
    """Compares one network at a time and adds the findings to a report."""

    def __init__(self, report: NeatReport) -> None:
        self.report = report

    def check_node(
        self,
        node: tuple[Any, ...],
        gene: Any,
        values: dict[int, list[float]],
        pre: list[float],
    ) -> str:
        """Compares one node on all samples.

        Args:
            node: neat-python's node_eval.
            gene: neat-python's node gene.
            values: evonet's values of all nodes and inputs by key.
            pre: evonet's pre-activations of the node.

        Returns:
            What is wrong, or nothing.
        """
        report = self.report
        key, activate, aggregate, bias, response, links = node
        worst_ulp = report.worst_ulp.get(gene.activation, 0.0)
        for b, (found_pre, found) in enumerate(zip(pre, values[key], strict=True)):
            terms = [values[source][b] * weight for source, weight in links]
            joined = aggregate(terms)
            if gene.aggregation == "median" and any(t != t for t in terms):
                joined = math.nan  # neat-python's answer depends on how its sort met the NaN
            expected_pre = bias + response * joined
            if gene.aggregation == "product":
                size = len(terms) * abs(joined)
            else:
                size = sum(map(abs, terms))
            scale = EPS * (abs(bias) + abs(response) * size)
            off = in_units(distance(found_pre, expected_pre), scale)
            report.exact += found_pre == expected_pre or expected_pre != expected_pre
            if not off <= 4:
                return f"node {key}: {gene.aggregation} gives {found_pre!r}, not {expected_pre!r}"
            report.worst_pre = max(report.worst_pre, off)

            try:
                expected = activate(found_pre)
            except OverflowError:  # evonet returns infinity where Python raises
                expected = math.inf if gene.activation == "square" else found_pre * math.inf
            unit = ulp_unit(gene.activation, found_pre, expected)
            off = in_units(distance(found, expected), unit)
            if off > 2 and gene.activation == "tanh":
                off = float(abs(decimal.Decimal(found) - exact_tanh(found_pre))) / unit
                report.settled += 1
            if not off <= 2:
                return (
                    f"node {key}: {gene.activation}({found_pre!r}) gives {found!r}, "
                    f"not {expected!r}"
                )
            worst_ulp = max(worst_ulp, off)
            report.values += 1
        report.nodes += 1
        report.worst_ulp[gene.activation] = worst_ulp
        return ""

    def check_network(
        self, genome: Any, config: Any, schedule: Schedule, g: int, x: np.ndarray, y: np.ndarray
    ) -> str:
        """Compares one network with neat-python's.

        Args:
            genome: neat-python's genome.
            config: neat-python's config.
            schedule: evonet's schedule of all genomes.
            g: Position of the genome.
            x: Its samples, [B, I].
            y: The outputs of the schedule with probes, [B, probes].

        Returns:
            What is wrong, or nothing.
        """
        s = schedule
        first, end = int(s.node_start[g]), int(s.node_start[g + 1])
        keys = s.node_key[first:end].tolist()
        slots = [*config.genome_config.input_keys, *keys]
        inputs, outputs = config.genome_config.input_keys, config.genome_config.output_keys
        enabled = [key for key, c in genome.connections.items() if c.enabled]
        layers, required = neat.graphs.feed_forward_layers(inputs, outputs, enabled)
        ends = [0, *s.level_end[s.level_start[g] : s.level_start[g + 1]].tolist()]
        if [set(keys[a:b]) for a, b in itertools.pairwise(ends)] != layers:
            return f"layers {ends} of {keys}, not {layers}"
        self.report.cyclic += len(keys) < len(required)
        expected_slots = [slots.index(key) if key in slots else -1 for key in outputs]
        if s.output_slot[g].tolist() != expected_slots:
            return f"output slots {s.output_slot[g]}, not {expected_slots}"

        columns = y.T.tolist()
        values = dict(zip(slots, [*x.T.tolist(), *columns], strict=False))
        pre = dict(zip(keys, columns[end - first :], strict=False))
        edges = s.edge_start.tolist()
        for node in neat.nn.FeedForwardNetwork.create(genome, config).node_evals:
            key = node[0]
            k = first + keys.index(key)
            links = slice(edges[k], edges[k + 1])
            found = [
                (slots[source], weight)
                for source, weight in zip(
                    s.source[links].tolist(), s.weight[links].tolist(), strict=True
                )
            ]
            if found != node[5]:
                return f"node {key}: links {found}, not {node[5]}"
            fault = self.check_node(node, genome.nodes[key], values, pre[key])
            if fault:
                return fault
        return ""


def run_neat(networks: int, seed: int, chunk: int = 500, samples: int = 4) -> NeatReport:
    """Compares random networks node by node, ten nodes each on average, on a few samples each."""
    report = NeatReport()
    checker = NodeChecker(report)
    for index in itertools.count():
        if report.networks >= networks:
            return report
        rng = random.Random(f"neat {seed} {index}")
        num_inputs, num_outputs = rng.randint(0, 5), rng.choice((0, 1, 2, 3, 4, 6))
        config = forward_config(num_inputs, num_outputs)
        genomes = [
            to_neat_genome(
                random_genes(
                    rng,
                    num_inputs,
                    num_outputs,
                    min(60, round(rng.expovariate(1 / 15))),
                    cyclic=rng.random() < 0.15,
                    degree=rng.choice((1.5, 3.0, 6.0)),
                ),
                key,
            )
            for key in range(min(chunk, networks - report.networks))
        ]
        population = evonet.Population.from_neat(genomes, config)
        # Every value keeps its slot, to be read after the last level.
        schedule = build_schedule(population, on_cycle="zero", reuse_slots=False)
        x = random_samples(rng, (len(genomes), samples, num_inputs), np.float64)
        y = evonet.Network(with_probes(schedule), "cpu", 1)(x)
        plain = evonet.compile(population, on_cycle="zero")(x)
        for g, genome in enumerate(genomes):
            fault = checker.check_network(genome, config, schedule, g, x[g], y[g])
            outputs = [  # what probing must not have changed
                y[g, :, slot - num_inputs] if slot >= 0 else np.zeros(samples)
                for slot in schedule.output_slot[g]
            ]
            if not fault and wrong_genomes(
                plain[g : g + 1], np.stack([np.zeros(samples), *outputs], axis=1)[None, :, 1:]
            ):
                fault = "outputs change when all nodes are outputs"
            if fault:
                report.mismatches += 1
                report.first = report.first or f"chunk {index}, genome {g}: {fault}"
        report.networks += len(genomes)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("campaign", choices=("bits", "neat"))
    parser.add_argument("--networks", type=int, help="10,000 for bits, 100,000 for neat")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    if arguments.campaign == "bits":
        report: Any = run_bits(arguments.networks or 10_000, arguments.seed)
    else:
        report = run_neat(arguments.networks or 100_000, arguments.seed)
        print({name: round(worst, 2) for name, worst in sorted(report.worst_ulp.items())})
    print(f"{report}; seed {arguments.seed}, {time.perf_counter() - start:.0f} s")
    return 1 if report.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
