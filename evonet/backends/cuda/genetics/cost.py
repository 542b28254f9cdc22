"""What breeding, species and compiling take on a GPU: a model, since no GPU was measured.

Every kernel is counted in instructions of a warp, in trips to memory that wait for each other, and
in bytes. Instructions are those of the machine code for sm_86 (`python -m
benchmarks.generation_model` counts them), with all branches: lanes of a warp take different ones.
A loop counts for every gene that it passes; a search in a table counts as one look. What else is
assumed is rather too much than too little:

- a warp that is alone issues an instruction every `ALONE` cycles, and a trip takes `TRIP`: one gene
  of four is not in a cache. Other warps fill these waits, as many as registers have room for;
- in every warp some child has each of the structural mutations, and searches for a cycle;
- every pass over genes moves them from memory, in sectors of 32 bytes;
- a sort takes a pass for every byte of a key: it reads keys and positions, and writes them to where
  they belong. That is a radix sort, which CuPy has for whole numbers (of Thrust).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from evonet.backends.cuda.cost import LAUNCH, WARP, TeamWork, launch_cycles, resident_blocks
from evonet.backends.cuda.genetics.dictionary import LINK_ROWS, NODE_ROWS, STANDARDS
from evonet.backends.cuda.genetics.mating import is_worth_while
from evonet.backends.cuda.genetics.speciation import NEAREST_BLOCKS
from evonet.backends.cuda.genetics.sums import THREADS
from evonet.backends.cuda.scheduling.plan import FEW_GENES, WORD, team_words

if TYPE_CHECKING:
    from evonet.backends.cuda.limits import DeviceLimits

# Instructions of a thread, per gene that a step passes.
INSTRUCTIONS: Final = {
    "inherit a connection": 167,
    "inherit a node": 162,
    "change the structure": 464,
    "remove a connection": 29,
    "mutate a connection": 326,
    "mutate a node": 869,
    "look up a node": 49,
    "look up a connection": 59,
    "compare a node": 57,
    "compare a connection": 39,
    "group a link": 192,
    "walk over a node": 99,
    "walk over a link": 34,
    "sort a node": 190,
    "find a slot": 149,
    "put a gene": 170,
    "pack a gene": 269,
    "draw parents": 272,
}
HALVING: Final = 12  # each step of a search for a key
# Instructions of a thread besides: what it does once.
ONCE: Final = {
    "breed_children": 1500,
    "put_children": 470,
    "measure_genomes": 190,
    "compile_genomes": 700,
    "pack_genomes": 50,
    "scan": 550,  # both kernels, for the eight numbers of a thread
    "numbers": 330,  # claims and counts, of splits and of added connections
    "join_species": 136,
    "nearest_genomes": 100,
    "rank_scores": 40,
    "rank_species": 64,
    "rank_members": 96,
}
REGISTERS: Final = {"breed_children": 128, "put_children": 64, "measure_genomes": 90}
MOST_REGISTERS: Final = 64  # of all others

ALONE: Final = 4.0  # cycles from an instruction of a warp to its next
TRIP: Final = 220.0  # cycles: a sector from memory for every fourth gene, a cache for the others
CACHE_TRIP, SHARED_TRIP = 40.0, 30.0  # to the first-level cache, and to shared memory
PASSES: Final = 8  # of a child's connections, one after another: inherit, search, change, mutate
BLOCK: Final = 128
SCAN_RUN: Final = 8  # numbers of a thread
SECTOR: Final = 32  # bytes
SORT_STEP: Final = 60  # instructions for a key in a pass: assumed
SORTED_KEYS: Final = 8, 4  # bytes of a score's key, and of a species
POSITION: Final = 8  # bytes

SORT: Final = "argsort"  # which is CuPy's, and no kernel of evonet

# Bytes of a gene: whole numbers, and how many real ones.
NODE_BYTES, NODE_REALS = 10, 3
LINK_BYTES, LINK_REALS = 29, 1
ARRAYS: Final = 12


@dataclasses.dataclass(frozen=True)
class GenesWorkload:
    """A generation that is bred, divided into species and compiled on a GPU."""

    num_genomes: int  # P
    num_nodes: int  # genes of all genomes
    num_connections: int
    itemsize: int  # bytes of a real number
    old_species: int = STANDARDS  # which choose new representatives and take members
    new_species: int = 1  # founded one after another

    @property
    def nodes(self) -> float:
        """Of an average genome."""
        return self.num_nodes / self.num_genomes

    @property
    def connections(self) -> float:
        """Of an average genome."""
        return self.num_connections / self.num_genomes

    @property
    def nbytes(self) -> float:
        """Of all genes; each array of a genome ends in a sector that it fills by half."""
        node = NODE_BYTES + NODE_REALS * self.itemsize
        link = LINK_BYTES + LINK_REALS * self.itemsize
        rest = ARRAYS * SECTOR / 2 * self.num_genomes
        return self.num_nodes * node + self.num_connections * link + rest


class KernelTime(NamedTuple):
    """What the model expects of the launches of one kernel in a generation."""

    phase: str
    kernel: str
    launches: int
    seconds: float  # of all


class _Launch(NamedTuple):
    """Launches of a kernel; all but their number are of one."""

    phase: str
    kernel: str
    launches: int
    warps: float
    issue: float  # instructions of a warp
    wait: float  # cycles of a warp for memory
    nbytes: float  # to and from memory
    shared: int = 0  # bytes of shared memory of a block


def price_genes(
    work: GenesWorkload, limits: DeviceLimits, gigahertz: float, memory: float
) -> list[KernelTime]:
    """Prices all kernels of a generation but those of its evaluation.

    Args:
        work: What is bred.
        limits: The GPU.
        gigahertz: Its clock.
        memory: Bytes per second of its memory.
    """
    found = []
    for one in _launches(work):
        registers = REGISTERS.get(one.kernel, MOST_REGISTERS)
        resident = resident_blocks(limits, BLOCK, registers, one.shared) * BLOCK // WARP
        wait = one.issue * ALONE + one.wait
        team = TeamWork(one.issue, 0.0, one.nbytes / max(one.warps, 1), 0.0, wait)
        cycles = launch_cycles(team, max(1, math.ceil(one.warps)), resident, 1, limits) + LAUNCH
        seconds = max(cycles / (gigahertz * 1e9), one.nbytes / memory)
        found.append(KernelTime(one.phase, one.kernel, one.launches, one.launches * seconds))
    return found


def rounds(work: GenesWorkload) -> tuple[int, int]:
    """How often all genomes are measured: for old species twice, and for every new one."""
    old = -(-work.old_species // STANDARDS)
    return old, old + work.new_species


def _launches(work: GenesWorkload) -> Iterator[_Launch]:
    yield from _breeding(work)
    yield from _speciation(work)
    yield from _compilation(work)


def _breeding(work: GenesWorkload) -> Iterator[_Launch]:
    count, nodes, links, cost = work.num_genomes, work.nodes, work.connections, INSTRUCTIONS
    warps = count / WARP
    per_link = cost["inherit a connection"] + cost["mutate a connection"]
    per_link += cost["change the structure"]
    per_node = cost["inherit a node"] + cost["mutate a node"]
    # A node that goes takes its links with it, each of which moves those behind it.
    moved = links * links / max(nodes, 1.0)
    issue = ONCE["breed_children"] + links * per_link + nodes * per_node
    issue += moved * cost["remove a connection"]
    wait = (PASSES * links + 2 * nodes) * TRIP + moved * CACHE_TRIP
    yield _Launch("breed", "breed_children", 1, warps, issue, wait, 5 * work.nbytes)
    team = min(32, 1 << max(0, int(links).bit_length() - 1))
    turns = math.ceil(links / team) + math.ceil(nodes / team)
    issue = ONCE["put_children"] + turns * cost["put a gene"]
    yield _Launch("breed", "put_children", 1, warps * team, issue, turns * TRIP, 2 * work.nbytes)
    yield _Launch("breed", "numbers", 4, warps, ONCE["numbers"] / 4, 4 * TRIP, 96 * count)
    yield _Launch("breed", "fill_words", 5, warps, 30, TRIP, 16 * count)
    yield _Launch("breed", "breed_room", 1, warps, 50, 2 * TRIP, 48 * count)
    yield _scans("breed", count, 4, 6 / 4)
    if is_worth_while(count):
        yield from _mating(count, work.old_species)


def _mating(count: int, num_species: int) -> Iterator[_Launch]:
    warps = count / WARP
    search = HALVING * math.log2(num_species + 1)
    ranks = (
        ("rank_scores", 3, 48, 0.0),
        ("rank_species", 2, 20, search),
        ("rank_members", 5, 120, search),
    )
    for kernel, trips, moved, searching in ranks:
        issue = ONCE[kernel] + searching
        yield _Launch("breed", kernel, 1, warps, issue, trips * TRIP, moved * count)
    issue = INSTRUCTIONS["draw parents"] + search
    moved = 2 * (POSITION + 2 * SECTOR)  # a parent's position and score are in sectors of their own
    yield _Launch("breed", "draw_parents", 1, warps, issue, 4 * TRIP, moved * count)
    passes = sum(SORTED_KEYS) / len(SORTED_KEYS)
    # Keys are copied, positions made, and keys counted; then every pass moves both.
    moved = sum(3 * key + POSITION + 2 * key * (key + POSITION) for key in SORTED_KEYS)
    issue, wait = passes * SORT_STEP, passes * 2 * TRIP
    each = moved / len(SORTED_KEYS) * count
    yield _Launch("breed", SORT, len(SORTED_KEYS), warps, issue, wait, each)


def _speciation(work: GenesWorkload) -> Iterator[_Launch]:
    count, nodes, links, cost = work.num_genomes, work.nodes, work.connections, INSTRUCTIONS
    old, joins = rounds(work)
    issue = nodes * cost["look up a node"] + links * cost["look up a connection"]
    issue = ONCE["measure_genomes"] + issue / STANDARDS
    issue += nodes * cost["compare a node"] + links * cost["compare a connection"]
    wait = (nodes + links) * (1 + 2 / STANDARDS) * TRIP
    moved = work.nbytes + (8 * (nodes + links) + work.itemsize * STANDARDS) * count
    halves = count / 2  # a genome has half a warp
    yield _Launch("speciate", "measure_genomes", old + joins, halves, issue, wait, moved)
    row = STANDARDS * work.itemsize * count
    turns = max(1.0, count / NEAREST_BLOCKS / STANDARDS)
    issue = turns * ONCE["nearest_genomes"]
    warps = min(count / 2, NEAREST_BLOCKS * THREADS / WARP)
    yield _Launch("speciate", "nearest_genomes", old, warps, issue, turns * TRIP, row)
    issue = ONCE["join_species"]
    yield _Launch("speciate", "join_species", joins, count / WARP, issue, 3 * TRIP, row)
    words = (nodes * NODE_ROWS + links * LINK_ROWS) * STANDARDS * STANDARDS
    fills, seats = 2 * (old + joins) + joins, work.new_species + (work.old_species > 0)
    for kernel, number in (("learn_standards", old + joins), ("fill_words", fills)):
        yield _Launch("speciate", kernel, number, words / WARP, 40, 4 * TRIP, 4 * words)
    yield _Launch("speciate", "seat_species", seats, 1, 40, 4 * TRIP, 0)
    yield _Launch("speciate", "start_species", 1, count / WARP, 32, TRIP, 8 * count)


def _compilation(work: GenesWorkload) -> Iterator[_Launch]:
    count, nodes, links, cost = work.num_genomes, work.nodes, work.connections, INSTRUCTIONS
    alone = nodes + links <= FEW_GENES
    team = 1 if alone else WARP
    warps, turns = count * team / WARP, math.ceil(links / team)
    issue = turns * (cost["group a link"] + 2 * HALVING * math.log2(nodes + 1))
    issue += links * cost["walk over a link"]
    issue += nodes * (cost["walk over a node"] + cost["sort a node"] + cost["find a slot"])
    wait = turns * 2 * TRIP + (4 * links + 8 * nodes) * SHARED_TRIP
    written = (20 * nodes + 8 * links + 24) * count
    shared = WORD * team_words(0, math.ceil(nodes), math.ceil(links)) * BLOCK // team
    yield _Launch(
        *("compile", "compile_genomes", 1, warps, ONCE["compile_genomes"] + issue, wait),
        *(2 * work.nbytes + written, shared),
    )
    turns = math.ceil(links if alone else 2 * links / WARP)
    issue = ONCE["pack_genomes"] + turns * cost["pack a gene"]
    packed = (5 * nodes + 2 * links) * work.itemsize * count
    moved = work.nbytes + written + packed
    yield _Launch("compile", "pack_genomes", 1, warps, issue, turns * TRIP, moved)
    yield _scans("compile", count, 2, 3)


def _scans(phase: str, count: int, launches: int, rows: float) -> _Launch:
    """Prefix sums: two kernels each."""
    warps = rows * count / SCAN_RUN / WARP
    issue = ONCE["scan"] / 2
    return _Launch(phase, "scan", 2 * launches, warps, issue, 10 * TRIP, 16 * rows * count)
