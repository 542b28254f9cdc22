"""A readable version of `NativeEngine`: one genome at a time, with equal bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.backends.reference.breeding import (
    Child,
    Registry,
    add_new_nodes,
    inherit,
    matching,
    mutate_genes,
    mutate_structure,
)
from evonet.backends.reference.genes import Draws, Genes, first_flags, first_values
from evonet.backends.reference.mating import plan_mating
from evonet.genes.arrays import (
    ARRAYS,
    CONNECTION_ARRAYS,
    NODE_ARRAYS,
    starts_of,
)
from evonet.genes.first_generation import FirstPlan
from evonet.genes.mating import (
    Indices,
    Mating,
    MatingShares,
    Parents,
    SpeciesMembers,
    on_host,
)
from evonet.genes.population import Population
from evonet.genes.rules import Rules
from evonet.numerics.philox import Purpose, choose


class ReferenceEngine:
    """The oracle of the compiled engine, and its substitute where there is no extension."""

    def first_generation(
        self,
        num_genomes: int,
        num_outputs: int,
        plan: FirstPlan,
        rules: Rules,
        seed: int,
        generation: int,
        dtype: np.dtype[Any],
    ) -> Population:
        """See `NativeEngine`."""
        with np.errstate(all="ignore"):
            genomes = [
                make_first_genome(plan, rules, Draws(seed, generation, g), dtype)
                for g in range(num_genomes)
            ]
        return pack(genomes, plan.num_inputs, num_outputs, dtype)

    def breed(
        self,
        parents: Population,
        fitter: Parents,
        other: Parents,
        rules: Rules,
        seed: int,
        generation: int,
        next_node_key: int,
        next_innovation: int,
    ) -> tuple[Population, int, int]:
        """See `NativeEngine`."""
        registry = Registry(next_node_key, next_innovation)
        drawn = on_host(fitter).tolist(), on_host(other).tolist()
        genomes = []
        with np.errstate(all="ignore"):
            for i, (a, b) in enumerate(zip(*drawn, strict=True)):
                child = Child(Genes.of(parents, a))
                if b >= 0:
                    draws = Draws(seed, generation, i)
                    inherit(child.genes, Genes.of(parents, b), draws)
                    mutate_structure(child, rules, parents.num_inputs, parents.num_outputs, draws)
                    mutate_genes(child.genes, rules, draws)
                    registry.number(child)
                genomes.append(child.genes)
        children = pack(genomes, parents.num_inputs, parents.num_outputs, parents.dtype)
        return children, registry.next_node_key, registry.next_innovation

    def mate(
        self, scores: npt.NDArray[np.float64], shares: MatingShares, seed: int, generation: int
    ) -> Mating:
        """See `NativeEngine`."""
        return plan_mating(scores, shares, seed, generation)

    def speciate(
        self,
        population: Population,
        parents: Population,
        representatives: Indices,
        threshold: float,
        rules: Rules,
    ) -> SpeciesMembers:
        """See `NativeEngine`."""
        genomes = [Genes.of(population, g) for g in range(len(population))]
        species = np.full(len(genomes), -1, np.int32)
        chosen: list[int] = []
        with np.errstate(all="ignore"):
            limit = population.dtype.type(threshold)
            for s, representative in enumerate(representatives.tolist()):
                old = Genes.of(parents, representative)
                away = [
                    (distance(old, genomes[g], rules), g)
                    for g in np.flatnonzero(species < 0).tolist()
                ]
                nearest = min((pair for pair in away if not np.isnan(pair[0])), default=None)
                chosen.append(-1 if nearest is None else nearest[1])
                if nearest is not None:
                    species[nearest[1]] = s
            for g in np.flatnonzero(species < 0).tolist():
                away = [
                    (distance(genomes[representative], genomes[g], rules), s)
                    for s, representative in enumerate(chosen)
                    if representative >= 0
                ]
                nearest = min((pair for pair in away if pair[0] < limit), default=None)
                if nearest is None:
                    species[g] = len(chosen)
                    chosen.append(g)
                else:
                    species[g] = nearest[1]
        starts = np.searchsorted(np.sort(species), np.arange(len(chosen) + 1))
        members = np.argsort(species, kind="stable")
        return SpeciesMembers(members, starts, np.array(chosen, np.int64))


def make_first_genome(plan: FirstPlan, rules: Rules, draws: Draws, dtype: np.dtype[Any]) -> Genes:
    """Makes a genome of the first generation, as `kernels/genetics/first_genome.h` does."""
    genome = Genes(
        *(
            np.empty(0, dtype if kind == "real" else kind)
            for kind in (NODE_ARRAYS | CONNECTION_ARRAYS).values()
        )
    )
    add_new_nodes(genome, [*range(plan.num_nodes)], rules, Purpose.FIRST_NODE, draws)
    total = len(plan.source)
    if plan.one_input:
        word = draws(Purpose.FIRST_STRUCTURE, 0)[0]
        taken = np.flatnonzero(plan.source == -1 - choose(word, plan.num_inputs))
    else:
        # Selection sampling: each subset of num_wanted candidates is equally likely.
        words = draws(Purpose.FIRST_STRUCTURE, np.arange(total))[0]
        wanted: list[int] = []
        for i, pick in enumerate(choose(words, total - np.arange(total)).tolist()):
            if pick < plan.num_wanted - len(wanted):
                wanted.append(i)
        taken = np.array(wanted, np.int64)
    r = draws(Purpose.FIRST_CONNECTION, taken)
    genome.append(
        innovation=taken,
        source=plan.source[taken],
        target=plan.target[taken],
        weight=first_values(rules["weight"], r[0], r[1], dtype),
        enabled=first_flags(rules["enabled"], r[2]),
        rank=np.arange(len(taken)),
    )
    return genome


def distance(a: Genes, b: Genes, rules: Rules) -> np.floating[Any]:
    """Returns the distance of two genomes, as `kernels/genetics/distance.h` does."""
    connections = connection_distance(a, b, rules)
    return node_distance(a, b, rules) + connections if rules["include_nodes"] else connections


def node_distance(a: Genes, b: Genes, rules: Rules) -> np.floating[Any]:
    """Returns the nodes' part of the distance."""
    real = a.bias.dtype.type
    i, j = matching(a.node_key, b.node_key)
    larger = max(len(a.node_key), len(b.node_key))
    disjoint = len(a.node_key) + len(b.node_key) - 2 * len(i)
    apart = np.abs(a.bias[i] - b.bias[j]) + np.abs(a.response[i] - b.response[j])
    apart = apart + np.abs(a.time_constant[i] - b.time_constant[j])
    apart = apart + (a.activation[i] != b.activation[j]).astype(real)
    apart = apart + (a.aggregation[i] != b.aggregation[j]).astype(real)
    total = in_order(apart * real(rules["weight"])) + real(rules["disjoint"]) * real(disjoint)
    return real(0) if larger == 0 else total / real(larger)


def connection_distance(a: Genes, b: Genes, rules: Rules) -> np.floating[Any]:
    """Returns the connections' part of the distance; they match by source and target.

    Unmatched ones beyond the other's last innovation are excess, the rest disjoint.
    """
    real = a.weight.dtype.type
    position = {ends: i for i, ends in enumerate(a.ends())}
    pairs = [(position[ends], j) for j, ends in enumerate(b.ends()) if ends in position]
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    larger = max(len(a.innovation), len(b.innovation))
    excess = sum(
        int(np.count_nonzero(np.delete(one, matched) > another.max(initial=-1)))
        for one, matched, another in (
            (a.innovation, i, b.innovation),
            (b.innovation, j, a.innovation),
        )
    )
    unmatched = len(a.innovation) + len(b.innovation) - 2 * len(i)
    flipped = a.enabled[i] != b.enabled[j]
    apart = np.abs(a.weight[i] - b.weight[j])
    apart = apart + np.where(flipped, real(rules["enable_penalty"]), real(0))
    total = in_order(apart * real(rules["weight"])) + real(rules["disjoint"]) * real(unmatched)
    total = total + (real(rules["excess"]) - real(rules["disjoint"])) * real(excess)
    return real(0) if larger == 0 else total / real(larger)


def in_order(terms: npt.NDArray[Any]) -> Any:
    """Sums from first to last; NumPy's sum adds in pairs, which rounds differently."""
    return np.cumsum(terms)[-1] if len(terms) else terms.dtype.type(0)


def pack(
    genomes: Iterable[Genes], num_inputs: int, num_outputs: int, dtype: np.dtype[Any]
) -> Population:
    """Packs genomes into a population."""
    listed = list(genomes)
    arrays: dict[str, npt.NDArray[Any]] = {
        "node_start": starts_of(np.array([len(g.node_key) for g in listed], np.int64)),
        "conn_start": starts_of(np.array([len(g.innovation) for g in listed], np.int64)),
    }
    for name, kind in ARRAYS.items():
        if name not in arrays:
            empty = np.empty(0, dtype if kind == "real" else kind)
            arrays[name] = np.concatenate([empty, *(getattr(g, name) for g in listed)])
    return Population(num_inputs=num_inputs, num_outputs=num_outputs, **arrays, validate=False)
