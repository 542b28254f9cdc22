"""Breeds one child from two parents: the NumPy twin of `kernels/genetics/breeding.h`.

A child is bred in four steps: it inherits, its structure changes, its genes mutate, and its new
genes get numbers. Until the last step a new node has the key PENDING; new connections have the
innovation PENDING and are at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from evonet.backends.reference.genes import (
    Draws,
    Genes,
    coins,
    first_flags,
    first_options,
    first_values,
    mutated_flags,
    mutated_options,
    mutated_values,
)
from evonet.genes.arrays import Int64Array
from evonet.genes.rules import Rules
from evonet.numerics.philox import Purpose, Words, choose, uniform

PENDING: Final = 2**62 + 1


@dataclass
class Child:
    """A child and its structural mutations that still need numbers."""

    genes: Genes  # its genes so far
    split: int | None = None  # innovation of the connection that its new node splits
    # Source and target of the connection that was added, and perhaps deleted again.
    added: tuple[int, int] | None = None


@dataclass
class Registry:
    """Assigns numbers; equal mutations in a generation get equal ones."""

    next_node_key: int  # the next node's key
    next_innovation: int  # the next connection's innovation
    # For each split connection, the new node and the innovations into and out of it.
    splits: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    # The innovation of each added connection.
    added: dict[tuple[int, int], int] = field(default_factory=dict)

    def number(self, child: Child) -> None:
        """Replaces all PENDING numbers in a child, and sorts its connections again."""
        c = child.genes
        node = before = behind = -1
        if child.split is not None:
            if child.split not in self.splits:
                first = self.next_innovation
                self.splits[child.split] = (self.next_node_key, first, first + 1)
                self.next_node_key += 1
                self.next_innovation += 2
            node, before, behind = self.splits[child.split]

        new = c.innovation == PENDING
        added = np.zeros(len(new), np.bool_)
        if child.added is not None:
            added = new & (c.source == child.added[0]) & (c.target == child.added[1])
        c.innovation[new & (c.target == PENDING)] = before
        c.innovation[new & (c.source == PENDING)] = behind
        for keys in (c.node_key, c.source, c.target):
            keys[keys == PENDING] = node
        for i in np.flatnonzero(added).tolist():
            pair = (int(c.source[i]), int(c.target[i]))
            if pair not in self.added:
                self.added[pair] = self.next_innovation
                self.next_innovation += 1
            c.innovation[i] = self.added[pair]
        c.pick_connections(np.argsort(c.innovation))
        c.rank = np.arange(len(c.rank), dtype=np.int32)


def inherit(fitter: Genes, other: Genes, draws: Draws) -> None:
    """Turns the fitter parent into the child.

    The child has all genes of the fitter parent; where the other has one too, each attribute comes
    from either. A connection that one parent has disabled is disabled in 3 of 4 children.
    """
    i, j = matching(fitter.innovation, other.innovation)
    same = (fitter.source[i] == other.source[j]) & (fitter.target[i] == other.target[j])
    i, j = i[same], j[same]
    words = draws(Purpose.INHERITED_CONNECTION, i)
    both_on = fitter.enabled[i] & other.enabled[j]
    fitter.weight[i] = np.where(coins(words[0]), other.weight[j], fitter.weight[i])
    enabled = np.where(coins(words[1]), other.enabled[j], fitter.enabled[i])
    fitter.enabled[i] = enabled & (both_on | ~(uniform(words[2]) < np.float32(0.75)))

    i, j = matching(fitter.node_key, other.node_key)
    word = draws(Purpose.INHERITED_NODE, i)[0]
    names = ("bias", "response", "activation", "aggregation", "time_constant")
    for bit, name in enumerate(names):
        mine, theirs = getattr(fitter, name), getattr(other, name)
        mine[i] = np.where(coins(word << np.uint64(bit) & np.uint64(2**32 - 1)), theirs[j], mine[i])


def matching(a: Int64Array, b: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Returns the positions of equal numbers in two ascending arrays."""
    _, i, j = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return i, j


def mutate_structure(
    child: Child, rules: Rules, num_inputs: int, num_outputs: int, draws: Draws
) -> None:
    """Adds and deletes nodes and connections; at most one of each."""
    r, pick, more = draws(Purpose.STRUCTURE, [0, 1, 2]).T
    names = ("node_add", "node_delete", "conn_add", "conn_delete")
    rates = np.array([rules[name] for name in names], np.float32)
    if rules["single_structural_mutation"]:
        end = np.cumsum(rates)
        begin = np.append(np.float32(0), end[:-1])
        drawn = uniform(r[0]) * max(end[-1], np.float32(1))
        does = (begin <= drawn) & (drawn < end)
    else:
        does = uniform(r) < rates
    if does[0]:
        if len(child.genes.innovation) > 0:
            add_node(child, rules, pick[0], draws)
        elif rules["structural_mutation_surer"]:
            add_connection(child, rules, num_inputs, num_outputs, more[:2], draws)
    if does[1]:
        delete_node(child, num_outputs, pick[1])
    if does[2] and child.added is None:
        add_connection(child, rules, num_inputs, num_outputs, pick[2:], draws)
    if does[3]:
        delete_connection(child.genes, more[2])


def add_node(child: Child, rules: Rules, which: Words, draws: Draws) -> None:
    """Splits a connection by a node that changes its effect as little as possible."""
    c = child.genes
    split = int(choose(which, len(c.innovation)))
    add_new_nodes(c, [PENDING], rules, Purpose.NEW_NODE, draws)
    c.bias[-1] = 0
    c.enabled[split] = False
    child.split = int(c.innovation[split])
    append_connection(c, int(c.source[split]), PENDING, 1.0, True)
    append_connection(c, PENDING, int(c.target[split]), float(c.weight[split]), True)


def add_new_nodes(c: Genes, keys: list[int], rules: Rules, purpose: Purpose, draws: Draws) -> None:
    """Appends nodes with initial values; two draws for each."""
    r, s = draws.several(purpose, len(keys), 2)
    dtype = c.bias.dtype
    c.append(
        node_key=keys,
        bias=first_values(rules["bias"], r[0], r[1], dtype),
        response=first_values(rules["response"], r[2], r[3], dtype),
        time_constant=first_values(rules["time_constant"], s[0], s[1], dtype),
        activation=first_options(rules["activation"], s[2]),
        aggregation=first_options(rules["aggregation"], s[3]),
    )


def append_connection(c: Genes, source: int, target: int, weight: float, enabled: bool) -> None:
    """Appends a connection without an innovation number."""
    c.append(
        innovation=PENDING, source=source, target=target, weight=weight, enabled=enabled, rank=0
    )


def delete_node(child: Child, num_outputs: int, which: Words) -> None:
    """Removes a hidden node and its connections."""
    c = child.genes
    hidden = c.node_key[num_outputs:]
    if len(hidden) == 0:
        return
    key = int(hidden[choose(which, len(hidden))])
    c.pick_connections((c.source != key) & (c.target != key))
    c.pick_nodes(c.node_key != key)
    if key == PENDING:
        child.split = None
    if child.added is not None and key in child.added:
        child.added = None


def add_connection(
    child: Child, rules: Rules, num_inputs: int, num_outputs: int, words: Words, draws: Draws
) -> None:
    """Connects a random input or hidden node to a random node, if that is allowed."""
    c = child.genes
    sources = [*range(-1, -1 - num_inputs, -1), *c.node_key[num_outputs:].tolist()]
    if len(c.node_key) == 0 or len(sources) == 0:
        return
    target = int(c.node_key[choose(words[0], len(c.node_key))])
    source = sources[int(choose(words[1], len(sources)))]
    exists = (c.source == source) & (c.target == target)
    if exists.any():
        if rules["structural_mutation_surer"]:
            c.enabled[exists] = True
        return
    if rules["feed_forward"] and closes_cycle(c, source, target):
        return
    (r,) = draws.several(Purpose.NEW_CONNECTION, 1, 1)
    weight = first_values(rules["weight"], r[0], r[1], c.weight.dtype)[0]
    child.added = (source, target)
    append_connection(c, source, target, weight, bool(first_flags(rules["enabled"], r[2])[0]))


def closes_cycle(c: Genes, source: int, target: int) -> bool:
    """Returns whether source can be reached from target, also over disabled connections."""
    seen, waiting = {target}, [target]
    while waiting:
        readers = set(c.target[c.source == waiting.pop()].tolist()) - seen
        seen |= readers
        waiting += readers
    return source in seen


def delete_connection(c: Genes, which: Words) -> None:
    """Removes a random connection."""
    if len(c.innovation) == 0:
        return
    gone = int(choose(which, len(c.innovation)))
    c.pick_connections(np.arange(len(c.innovation)) != gone)


def mutate_genes(c: Genes, rules: Rules, draws: Draws) -> None:
    """Mutates the values of all genes."""
    r, s = draws.several(Purpose.CONNECTION, len(c.weight), 2)
    c.weight = mutated_values(rules["weight"], c.weight, r[0], r[1], r[2])
    c.enabled = mutated_flags(rules["enabled"], c.enabled, r[3], s[0])

    r, s, t, pick = draws.several(Purpose.NODE, len(c.bias), 4)
    c.bias = mutated_values(rules["bias"], c.bias, r[0], r[1], r[2])
    c.activation = mutated_options(rules["activation"], c.activation, r[3], pick[0])
    c.response = mutated_values(rules["response"], c.response, s[0], s[1], s[2])
    c.aggregation = mutated_options(rules["aggregation"], c.aggregation, s[3], pick[1])
    c.time_constant = mutated_values(rules["time_constant"], c.time_constant, t[0], t[1], t[2])
