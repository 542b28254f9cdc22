"""Finds genes that make no sense, and describes them.

Every check is one pass of NumPy over some genomes at once, which marks what is wrong. Python looks
at a single gene only once one is marked, to write the message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evonet.errors import GenomeError, UnknownFunctionError
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.functions.table import Function
from evonet.genes.arrays import LARGEST_KEY, Int64Array, RealArray, owner_of

if TYPE_CHECKING:
    from evonet.genes.population import Population

Mask: TypeAlias = NDArray[np.bool_]

# Bytes of the table in which the ends of connections are looked up.
TABLE: Final = 1 << 21


def check_genes(part: Population, start: int, name_genome: Callable[[int], str]) -> None:
    """Raises for the first gene that makes no sense in a part of a population.

    The part starts at genome `start`; `name_genome` returns what messages call a genome.
    """
    checks = _Checks(part, start, name_genome)
    # In this order, because later checks rely on earlier ones.
    checks.check_node_keys()
    checks.check_outputs()
    checks.check_functions("activation", ACTIVATION_TABLE)
    checks.check_functions("aggregation", AGGREGATION_TABLE)
    checks.check_values()
    checks.check_innovations()
    checks.check_ends()
    checks.check_ranks()


class _Checks:
    def __init__(self, part: Population, start: int, name_genome: Callable[[int], str]) -> None:
        self.p = part
        self.start = start
        self.name_genome = name_genome
        self.node_owner = owner_of(part.node_start)
        self.conn_owner = owner_of(part.conn_start)

    # Messages.

    def fault(
        self, genome: int, message: str, kind: type[GenomeError] = GenomeError
    ) -> GenomeError:
        position = self.start + int(genome)
        return kind(f"{self.name_genome(position)}: {message}", position)

    def node_fault(
        self, bad: Mask, describe: Callable[[int], str], kind: type[GenomeError] = GenomeError
    ) -> None:
        """Raises for the first node in the mask."""
        if bad.any():
            i = int(np.argmax(bad))
            message = f"node {self.p.node_key[i]}: {describe(i)}"
            raise self.fault(self.node_owner[i], message, kind)

    def conn_fault(self, bad: Mask, describe: Callable[[int], str], first: int = 0) -> None:
        """Raises for the first connection in the mask, which starts at connection `first`."""
        if bad.any():
            i = first + int(np.argmax(bad))
            raise self.fault(self.conn_owner[i], f"connection {self.pair(i)}: {describe(i)}")

    def pair(self, i: int) -> str:
        return f"({self.p.source[i]}, {self.p.target[i]})"

    def nodes_of(self, connection: int) -> str:
        """Lists the nodes of the genome that a connection belongs to."""
        g = self.conn_owner[connection]
        keys = self.p.node_key[self.p.node_start[g] : self.p.node_start[g + 1]].tolist()
        if not keys:
            return "It has no nodes."
        shown = ", ".join(map(str, keys[:12]))
        more = f" and {len(keys) - 12} more" if len(keys) > 12 else ""
        return f"Its nodes are {shown}{more}."

    def inputs(self) -> str:
        n = self.p.num_inputs
        return {0: "There are no inputs", 1: "The input is -1"}.get(n, f"Inputs are -1 to -{n}")

    # Checks.

    def check_node_keys(self) -> None:
        key = self.p.node_key
        self.node_fault(key < 0, lambda i: "its key is negative. Inputs have no node genes.")
        too_large = f"its key is too large. The largest is {LARGEST_KEY}."
        self.node_fault(key > LARGEST_KEY, lambda i: too_large)
        repeats, falls = _unordered(self.node_owner, key)
        self.node_fault(repeats, lambda i: "its key appears twice.")
        late = "it comes after node {}. Expected ascending keys."
        self.node_fault(falls, lambda i: late.format(key[i - 1]))

    def check_outputs(self) -> None:
        # Keys are distinct and ascending from 0, so the outputs are all there
        # exactly if node number O - 1 of the genome has key O - 1.
        p, n = self.p, self.p.num_outputs
        if n == 0:
            return
        last = p.node_start[:-1] + n - 1
        inside = last < p.node_start[1:]
        bad = ~inside
        bad[inside] = p.node_key[last[inside]] != n - 1
        if bad.any():
            g = int(np.argmax(bad))
            keys = p.node_key[p.node_start[g] : p.node_start[g + 1]][:n]
            missing = int(np.setdiff1d(np.arange(min(n, len(keys) + 1)), keys)[0])
            needed = "needs node 0" if n == 1 else f"need nodes 0 to {n - 1}"
            raise self.fault(
                g, f"output node {missing} is missing. {n} output{'s' * (n > 1)} {needed}."
            )

    def check_functions(self, what: str, known: Sequence[Function]) -> None:
        ids = getattr(self.p, what)
        self.node_fault(
            ids >= len(known),
            lambda i: (
                f"{what} {ids[i]} is not a known id. "
                f"Ids are 0 ({known[0].name}) to {len(known) - 1} ({known[-1].name})."
            ),
            UnknownFunctionError,
        )

    def check_values(self) -> None:
        p = self.p
        for name in ("bias", "response", "time_constant"):
            self.check_finite(name, getattr(p, name), self.node_fault)
        self.node_fault(
            p.time_constant <= 0,
            lambda i: f"time_constant is {p.time_constant[i]}. Expected more than 0.",
        )
        self.check_finite("weight", p.weight, self.conn_fault)

    def check_finite(self, name: str, values: RealArray, fault: Callable[..., None]) -> None:
        fault(~np.isfinite(values), lambda i: f"{name} is {values[i]}. Expected a finite number.")

    def check_innovations(self) -> None:
        number = self.p.innovation
        self.conn_fault(
            (number < 0) | (number > LARGEST_KEY),
            lambda i: f"innovation is {number[i]}. Expected 0 to {LARGEST_KEY}.",
        )
        repeats, falls = _unordered(self.conn_owner, number)
        self.conn_fault(
            repeats,
            lambda i: f"innovation {number[i]} is also that of connection {self.pair(i - 1)}.",
        )
        late = "innovation {} comes after {}. Expected ascending innovations."
        self.conn_fault(falls, lambda i: late.format(number[i], number[i - 1]))

    def check_ends(self) -> None:
        p = self.p
        self.conn_fault(
            p.target < 0,
            lambda i: f"target {p.target[i]} is an input. A connection ends at a node.",
        )
        self.conn_fault(
            p.source < -p.num_inputs,
            lambda i: f"source {p.source[i]} is not an input. {self.inputs()}.",
        )
        node, source, target, span = self.compact_keys()
        step = max(1, TABLE // span)
        for start in range(0, len(p), step):
            self.check_ends_of(start, start + step, node, source, target, span)

    def compact_keys(self) -> tuple[Int64Array, Int64Array, Int64Array, int]:
        """Renumbers keys if they are too large for a table with a row of keys per genome.

        Returns numbers of nodes [N], sources [E], inputs as they are, and targets [E], and what
        all numbers are below.
        """
        p = self.p
        node, source, target = p.node_key, p.source, p.target
        span = 1 + max(int(keys.max(initial=0)) for keys in (node, source, target))
        if span <= max(TABLE // 32, 8 * (len(node) + len(target))):
            return node, source, target, span
        # The last number stands for all keys that no node has.
        known = np.append(np.unique(node), np.iinfo(np.int64).max)

        def number(keys: Int64Array) -> Int64Array:
            place = np.searchsorted(known, keys)
            return np.where(known[place] == keys, place, len(known) - 1)

        source = np.where(source < 0, source, number(source))
        return number(node), source, number(target), len(known)

    def check_ends_of(
        self,
        first: int,
        end: int,
        node: Int64Array,
        source: Int64Array,
        target: Int64Array,
        span: int,
    ) -> None:
        """Raises if an end of a connection dangles, or if a genome connects two ends twice."""
        p = self.p
        node_start, conn_start = p.node_start[first : end + 1], p.conn_start[first : end + 1]
        row = np.arange(len(conn_start) - 1) * span
        exists = np.zeros(len(row) * span, np.bool_)
        nodes = slice(int(node_start[0]), int(node_start[-1]))
        exists[node[nodes] + np.repeat(row, np.diff(node_start))] = True

        conns = slice(int(conn_start[0]), int(conn_start[-1]))
        row_of_conn = np.repeat(row, np.diff(conn_start))
        at_target = row_of_conn + target[conns]
        self.conn_fault(
            ~exists[at_target],
            lambda i: f"target {p.target[i]} is not a node of this genome. {self.nodes_of(i)}",
            conns.start,
        )
        at_source = row_of_conn + np.maximum(source[conns], 0)
        self.conn_fault(
            ~exists[at_source] & (source[conns] >= 0),
            lambda i: f"source {p.source[i]} is not a node of this genome. {self.nodes_of(i)}",
            conns.start,
        )
        pair = at_target * (span + p.num_inputs) + source[conns] + p.num_inputs
        ordered = np.sort(pair)
        if (ordered[1:] == ordered[:-1]).any():
            order = np.argsort(pair, kind="stable")
            bad = np.zeros(len(pair), np.bool_)
            bad[order[1:]] = pair[order[1:]] == pair[order[:-1]]
            self.conn_fault(
                bad, lambda i: "there is another connection between the same ends.", conns.start
            )

    def check_ranks(self) -> None:
        p = self.p
        counts = np.diff(p.conn_start)
        first, size = np.repeat(p.conn_start[:-1], counts), np.repeat(counts, counts)
        if np.array_equal(p.rank, np.arange(len(p.rank)) - first):
            return
        self.conn_fault(
            (p.rank < 0) | (p.rank >= size),
            lambda i: f"rank is {p.rank[i]}. Expected 0 to {size[i] - 1}.",
        )
        used = np.zeros(len(first), np.bool_)
        used[first + p.rank] = True
        if not used.all():
            uses = np.bincount(first + p.rank)
            self.conn_fault(
                uses[first + p.rank] > 1,
                lambda i: f"rank {p.rank[i]} appears twice. Expected 0 to {size[i] - 1} once each.",
            )


def _unordered(owner: Int64Array, values: Int64Array) -> tuple[Mask, Mask]:
    """Marks values that equal, or are below, the one before them in the same genome."""
    repeats, falls = np.zeros((2, len(values)), np.bool_)
    same_genome = owner[1:] == owner[:-1]
    repeats[1:] = same_genome & (values[1:] == values[:-1])
    falls[1:] = same_genome & (values[1:] < values[:-1])
    return repeats, falls
