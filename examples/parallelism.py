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

INPUTS, LINKS, FEW, MANY = 16, 8, 256, 8192
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
    """One schedule for each node, whose inputs are its links: operators, launched one by one."""
    s, kept = schedule, []
    for k in range(s.num_nodes):
        links = slice(s.edge_start[k], s.edge_start[k + 1])
        count = links.stop - links.start
        kept.append(
            Schedule(
                num_inputs=int(count),
                num_outputs=1,
                dynamics=s.dynamics,
                node_start=np.array([0, 1]),
                node_key=np.array([0]),
                bias=s.bias[k : k + 1],
                response=s.response[k : k + 1],
                activation=s.activation[k : k + 1],
                aggregation=s.aggregation[k : k + 1],
                slot=np.array([count], np.int32),
                num_slots=np.array([count + 1]),
                edge_start=np.array([0, count]),
                source=np.arange(count, dtype=np.int32),
                weight=s.weight[links],
                level_start=np.array([0, 1]),
                level_end=np.array([1], np.int32),
                output_slot=np.array([[count]], np.int32),
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


def measure(population: evonet.Population) -> list[float]:
    """Microseconds for few samples, a node and a level at a time, and for many on 1, 2 threads."""
    x = np.random.default_rng(1).normal(size=(MANY, INPUTS)).astype(np.float32)
    few = x[:FEW]
    schedule = build_schedule(population)
    whole = [evonet.Network(schedule, "cpu", threads) for threads in (1, 2)]
    nodes = [evonet.Network(one, "cpu", 1) for one in node_by_node(schedule)]
    links = np.split(schedule.source, schedule.edge_start[1:-1])
    values = np.zeros((FEW, int(schedule.num_slots[0])), np.float32)
    values[:, :INPUTS] = few

    def each() -> None:
        for network, source, slot in zip(nodes, links, schedule.slot.tolist(), strict=True):
            values[:, slot] = network(values[:, source])[0, :, 0]

    alone = seconds(each, 3)
    answer = values[:, schedule.output_slot[0, 0]]
    assert np.array_equal(answer, whole[0](few)[0, :, 0]), "both orders give the same bits"
    few_at_once = seconds(partial(whole[0], few))
    many = [seconds(partial(network, x)) for network in whole]
    return [1e6 * time for time in (alone, few_at_once, *many)]


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
    print("\nmeasured on this processor, in µs")
    print(f"network    {FEW} samples: a node, a level at a time   {MANY} samples: 1, 2 threads")
    for name, shape in SHAPES.items():
        alone, at_once, one, two = measure(grow(*shape))
        print(f"{name:10} {alone:19.0f} {at_once:18.0f} {one:22.0f} {two:10.0f}")
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
