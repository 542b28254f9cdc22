"""Breeds a generation on a GPU.

Children are bred into rooms that are large enough for them, as `kernels/cuda/breed_children.cu`
does; then they get their numbers and move together. The host waits twice, for a few sums, because
it has to know how much memory to allocate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.backends.cuda.genetics.mating import DevicePositions
from evonet.backends.cuda.genetics.numbers import Numbers, hand_out_numbers
from evonet.backends.cuda.genetics.rules import genome_rules_type, pack_rules
from evonet.backends.cuda.genetics.sums import NOTHING, THREADS, blocks_for, fill, prefix_sums
from evonet.backends.cuda.layout import real_name
from evonet.genes.arrays import CONNECTION_ARRAYS, NODE_ARRAYS

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.nvrtc import Defines
    from evonet.genes.first_generation import FirstPlan
    from evonet.genes.mating import Parents
    from evonet.genes.rules import Rules

BREED_THREADS: Final = 128  # of a block; a thread keeps two parents and a child in registers
MOST_SCRATCH: Final = 1 << 28  # bytes in which threads search for cycles
RANK: Final = "rank"  # which is no gene


class Brood(NamedTuple):
    """Children in their rooms; see `kernels/cuda/brood.h`."""

    room_start: DeviceArray  # [2 * (C + 1)] int64
    genes: dict[str, DeviceArray]  # by name, nodes and then connections
    sizes: DeviceArray  # [2 * C] int32
    requests: DeviceArray  # [3 * C] int64
    num_new: DeviceArray  # [C] int32


class Children(NamedTuple):
    """A generation that was bred.

    Attributes:
        genes: The children.
        num_node_keys: How many node keys they took.
        num_innovations: How many innovation numbers.
    """

    genes: DeviceGenes
    num_node_keys: int
    num_innovations: int


def breed_children(
    parents: DeviceGenes,
    pins: tuple[int, int],
    fitter: Parents,
    other: Parents,
    rules: Rules,
    chance: tuple[int, int],
    next_numbers: tuple[int, int],
) -> Children:
    """Breeds child i from parents fitter[i] and other[i]; other[i] = -1 copies.

    Args:
        parents: The generation before.
        pins: Numbers of inputs and outputs.
        fitter: [C] positions, at least one.
        other: [C] positions or -1.
        rules: What `evonet.genes.rules.genome_rules` gives.
        chance: Seed and generation.
        next_numbers: The next node key and the next innovation number.

    Raises:
        DeviceMemoryError: The GPU has too little memory.
    """
    device, count = parents.device, len(fitter)
    summary = Summary(device)
    parents.wait()
    drawn = [DevicePositions.bring(each, device) for each in (fitter, other)]
    for each in drawn:
        each.wait()
    both = drawn[0].array, drawn[1].array
    room = device.empty((2 * count,), np.int32)
    starts = parents.arrays["node_start"], parents.arrays["conn_start"]
    arguments: tuple[Any, ...] = np.int64(count), *starts, both[0], room
    device.launch("breed_room", {}, blocks_for(count), (THREADS,), arguments)
    room_start = prefix_sums(device, room, 2, summary.rooms)
    num_nodes, num_conns = summary.read()[:2]
    brood = _empty_brood(device, count, room_start, num_nodes, num_conns, parents.dtype)

    words = cycle_words(parents.most_nodes + 1, parents.most_connections + 3)
    blocks = num_blocks(device, count, words) if rules["feed_forward"] else blocks_for(count)[0]
    threads = blocks * BREED_THREADS if rules["feed_forward"] else 1
    scratch = device.empty((threads * words,), np.int32)
    settings = pack_rules(rules, genome_rules_type(parents.dtype))
    device.launch(
        "breed_children",
        defines_for(parents.dtype, settings),
        (blocks,),
        (BREED_THREADS,),
        (
            np.int64(count),
            *parents.arguments,
            *both,
            device.upload(settings),
            *_chance(chance),
            *map(np.int32, pins),
            brood.room_start,
            *brood.genes.values(),
            *(brood.sizes, brood.requests, brood.num_new, scratch),
            np.int64(words),
        ),
    )
    del scratch
    children = _join(device, brood, summary, next_numbers, (parents, *both))
    parents.was_read()  # by the kernel that joins the children, too
    for each in drawn:
        each.was_read()
    return children


def first_children(
    device: Device,
    count: int,
    plan: FirstPlan,
    rules: Rules,
    chance: tuple[int, int],
    dtype: np.dtype[Any],
) -> DeviceGenes:
    """Makes the genomes of a first generation, at least one; see `breed_children`."""
    candidates = len(plan.source)
    summary = Summary(device)
    room_start = device.empty((2 * (count + 1),), np.int64)
    nodes, conns = count * plan.num_nodes, count * candidates
    brood = _empty_brood(device, count, room_start, nodes, conns, dtype)
    settings = pack_rules(rules, genome_rules_type(dtype))
    numbers = plan.num_inputs, plan.num_nodes, candidates, plan.num_wanted, int(plan.one_input)
    device.launch(
        "first_children",
        defines_for(dtype, settings),
        blocks_for(count, BREED_THREADS),
        (BREED_THREADS,),
        (
            np.int64(count),
            *map(np.int32, numbers),
            *(device.upload(plan.source), device.upload(plan.target), device.upload(settings)),
            *_chance(chance),
            room_start,
            *brood.genes.values(),
            *(brood.sizes, brood.requests, brood.num_new),
        ),
    )
    return _join(device, brood, summary, (0, 0), None).genes


class Summary:
    """Sums that the host needs, written by several kernels and read at once."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._numbers = device.empty((8,), np.int64)
        fill(device, self._numbers, 0)
        self.rooms = self._numbers[:2]
        self.sizes = self._numbers[2:4]
        self.taken = self._numbers[4:6]
        self.largest = self._numbers[6:]

    def read(self) -> list[int]:
        """Waits for all work so far."""
        numbers = np.empty(8, np.int64)
        self._device.download(self._numbers, numbers)
        found: list[int] = numbers.tolist()
        return found


def cycle_words(num_nodes: int, num_conns: int) -> int:
    """Words that a search for cycles needs: `cycle_scratch` of `kernels/genetics/breeding.h`."""
    slots = 1 << max(2, (2 * num_nodes - 1).bit_length())
    return slots + 3 * (num_nodes + 2) + num_conns


def num_blocks(device: Device, count: int, words: int) -> int:
    """Blocks that breed: as many as run at once and have scratch, at most one child each."""
    resident = device.limits.num_sms * device.limits.max_threads_per_sm // BREED_THREADS
    fitting = MOST_SCRATCH // (4 * words * BREED_THREADS)
    return max(1, min(blocks_for(count, BREED_THREADS)[0], resident, fitting))


def defines_for(dtype: np.dtype[Any], settings: np.ndarray[Any, Any]) -> Defines:
    """What kernels that read rules are compiled with."""
    return {"REAL": real_name(dtype), "RULES_SIZE": settings.size}


def _chance(chance: tuple[int, int]) -> tuple[Any, Any]:
    seed, generation = chance
    return np.uint64(seed), np.uint32(generation & 0xFFFFFFFF)


def _empty_genes(
    device: Device, num_nodes: int, num_conns: int, dtype: np.dtype[Any]
) -> dict[str, DeviceArray]:
    sizes = [(NODE_ARRAYS, num_nodes), (CONNECTION_ARRAYS, num_conns)]
    return {
        name: device.empty((size,), dtype if kind == "real" else kind)
        for names, size in sizes
        for name, kind in names.items()
        if name != RANK
    }


def _empty_brood(
    device: Device, count: int, room_start: DeviceArray, nodes: int, conns: int, dtype: Any
) -> Brood:
    return Brood(
        room_start,
        _empty_genes(device, nodes, conns, dtype),
        device.empty((2 * count,), np.int32),
        device.empty((3 * count,), np.int64),
        device.empty((count,), np.int32),
    )


def _join(
    device: Device,
    brood: Brood,
    summary: Summary,
    next_numbers: tuple[int, int],
    origin: tuple[DeviceGenes, DeviceArray, DeviceArray] | None,
) -> Children:
    """Numbers the children and moves them together; `origin` are parents, fitter and other."""
    count = brood.num_new.shape[0]
    starts = prefix_sums(device, brood.sizes, 2, summary.sizes, summary.largest)
    numbers: Numbers | None = None
    if origin is not None:
        numbers = hand_out_numbers(
            device, brood.requests, brood.num_new, next_numbers[0], summary.taken
        )
    _, _, num_nodes, num_conns, node_keys, innovations, most_nodes, most_conns = summary.read()
    dtype = brood.genes["bias"].dtype
    genes = _empty_genes(device, num_nodes, num_conns, dtype)
    genes["node_start"], genes["conn_start"] = starts[: count + 1], starts[count + 1 :]
    genes[RANK] = device.empty((num_conns,), np.int32)
    if numbers is None:
        places: tuple[Any, ...] = (NOTHING,) * 6
    else:
        splits, additions = numbers.splits, numbers.additions
        places = (splits.first, splits.place, numbers.splits_before)
        places += (additions.first, additions.place, numbers.innovations_before)
    family: tuple[Any, ...] = (NOTHING,) * 4
    if origin is not None:
        parents, fitter, other = origin
        family = fitter, other, parents.arrays["conn_start"], parents.arrays[RANK]
    team = team_for(num_conns // count)
    device.launch(
        "put_children",
        {"REAL": real_name(dtype)},
        blocks_for(count * team),
        (THREADS,),
        (
            *(np.int64(count), np.int32(team), brood.room_start),
            *brood.genes.values(),
            *(brood.requests, brood.num_new),
            *places,
            *map(np.int64, next_numbers),
            *family,
            *(genes["node_start"], genes["conn_start"]),
            *(genes[name] for name in brood.genes),
            genes[RANK],
        ),
    )
    made = DeviceGenes(device, genes, most_nodes, most_conns)
    return Children(made, node_keys, innovations)


def team_for(num_genes: int) -> int:
    """Threads that move a child: a power of two, at most a warp, with a gene or more for each."""
    return min(32, 1 << max(0, num_genes.bit_length() - 1))
