"""How parallel is a network? Inception-like, residual and path-like networks, measured.

Networks of equal work and different shape: one level at a time lets all nodes of a level run in
parallel; one node at a time, as frameworks launch operators, does not.

    python examples/parallelism.py
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import evonet
from evonet.schedule import Schedule, build_schedule

INPUTS, LINKS, SAMPLES = 16, 8, 8192
# Blocks, branches of a block, nodes of a branch, and whether a block adds what it got.
SHAPES = {
    "inception": (8, 8, 2, False),  # parallel branches, joined by a node
    "residual": (64, 1, 2, True),  # one path, with a shortcut around each block
    "path": (192, 1, 0, False),  # a chain
}
# Microseconds: a launch that waits for the one before it, one that does not, and a graph's node.
LAUNCH, ISSUE, IN_GRAPH = 4.0, 2.5, 1.3


def grow(blocks: int, branches: int, depth: int, skip: bool) -> evonet.Population:
    """Joins blocks of branches; every node also reads some inputs, so that all have equal work."""
    rng = np.random.default_rng(0)
    links: list[tuple[int, int, float]] = []
    joint, key = -1, 1

    def add(sources: list[int], target: int) -> None:
        inputs = -1 - rng.permutation(INPUTS)[: max(1, LINKS - len(sources))]
        chosen = dict.fromkeys([*sources, *inputs.tolist()])
        links.extend((s, target, float(rng.normal(scale=0.3))) for s in chosen)

    for block in range(blocks):
        ends = []
        for _ in range(branches):
            last = joint
            for _ in range(depth):
                add([last], key)
                last, key = key, key + 1
            ends.append(last)
        target = 0 if block == blocks - 1 else key
        add([*ends, joint] if skip else ends, target)
        joint, key = target, key + (target > 0)
    return evonet.Population.from_genes(INPUTS, 1, [(range(key), links)])


def node_by_node(schedule: Schedule) -> list[Schedule]:
    """One schedule for each node: what a framework launches operator by operator."""
    s, kept = schedule, []
    for k in range(s.num_nodes):
        links = slice(s.edge_start[k], s.edge_start[k + 1])
        kept.append(
            Schedule(
                num_inputs=int(s.num_slots[0]),
                num_outputs=1,
                dynamics=s.dynamics,
                node_start=np.array([0, 1]),
                node_key=np.array([0]),
                bias=s.bias[k : k + 1],
                response=s.response[k : k + 1],
                activation=s.activation[k : k + 1],
                aggregation=s.aggregation[k : k + 1],
                slot=np.array([s.num_slots[0]], np.int32),
                num_slots=s.num_slots + 1,
                edge_start=np.array([0, links.stop - links.start]),
                source=s.source[links],
                weight=s.weight[links],
                level_start=np.array([0, 1]),
                level_end=np.array([1], np.int32),
                output_slot=np.array([[s.num_slots[0]]], np.int32),
                cell=np.zeros((1, 0), s.dtype),
            )
        )
    return kept


def block_level(blocks: int, branches: int, depth: int) -> tuple[int, int, float]:
    """The same network with a branch as one operator, as frameworks see it.

    Returns:
        Operators, operators on the longest path, and work / span in steps of a link or activation.
    """
    step = LINKS + 1
    operators = blocks * (branches + 1) if depth else blocks
    longest = 2 * blocks if depth else blocks
    work = blocks * (branches * depth + 1) * step
    span = blocks * (depth + 1) * step
    return operators, longest, work / span


def launch_bound(operators: int, longest: int) -> dict[str, float]:
    """A model, not a measurement: microseconds on a GPU whose kernels take no time at all.

    Launches one after the other; over many streams, where the processor still issues one after the
    other; and as a CUDA graph, whose independent nodes start together.
    """
    return {
        "launches": operators * LAUNCH,
        "streams": max(operators * ISSUE, longest * LAUNCH),
        "graph": longest * IN_GRAPH,
    }


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(population: evonet.Population) -> tuple[float, float, float]:
    """Microseconds of a level at a time on 1 and 2 threads, and of a node at a time."""
    x = np.random.default_rng(1).normal(size=(SAMPLES, INPUTS)).astype(np.float32)
    schedule = build_schedule(population)
    whole = [evonet.Network(schedule, "cpu", threads) for threads in (1, 2)]
    nodes = [evonet.Network(one, "cpu", 1) for one in node_by_node(schedule)]
    values = np.zeros((SAMPLES, int(schedule.num_slots[0])), np.float32)
    values[:, :INPUTS] = x

    def each() -> None:
        for network, slot in zip(nodes, schedule.slot.tolist(), strict=True):
            values[:, slot] = network(values)[0, :, 0]

    alone = seconds(each, 3)
    answer = values[:, schedule.output_slot[0, 0]]
    assert np.array_equal(answer, whole[0](x)[0, :, 0]), "both orders give the same bits"
    one, two = (seconds(partial(network, x)) for network in whole)
    return 1e6 * one, 1e6 * two, 1e6 * alone


def main() -> None:
    print("network    nodes levels  work  span  work/span  Brent's speed-up on 2, 8 processors")
    for name, shape in SHAPES.items():
        found = build_schedule(grow(*shape)).analyze()
        bounds = [float(found.work[0] / found.brent_bound(p)[0]) for p in (2, 8)]
        print(
            f"{name:10} {int(found.nodes[0]):5} {int(found.depth[0]):6} {int(found.work[0]):5} "
            f"{int(found.span[0]):5} {float(found.parallelism[0]):10.2f}  "
            f"{bounds[0]:.2f}, {bounds[1]:.2f}"
        )
    print(f"\nmeasured on this processor, {SAMPLES} samples, in µs")
    print("network    a level at a time: 1 thread, 2 threads   a node at a time")
    for name, shape in SHAPES.items():
        one, two, alone = measure(grow(*shape))
        print(f"{name:10} {one:27.0f} {two:10.0f} {alone:18.0f}")
    print("\na model of a launch-bound GPU, in µs, by node and by block")
    print("network    operators  work/span   launches   streams     graph")
    for name, (blocks, branches, depth, _) in SHAPES.items():
        analysis = build_schedule(grow(*SHAPES[name])).analyze()
        by_node = int(analysis.nodes[0]), int(analysis.depth[0]), float(analysis.parallelism[0])
        for operators, longest, parallel in (by_node, block_level(blocks, branches, depth)):
            times = launch_bound(operators, longest)
            print(
                f"{name:10} {operators:9} {parallel:10.2f} "
                + " ".join(f"{time:10.0f}" for time in times.values())
            )


if __name__ == "__main__":
    main()
