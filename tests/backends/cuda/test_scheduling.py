"""Genomes that are compiled on the GPU that holds them: the host's bytes, errors and results."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import CyclicGenomeError, GenomeError, Population
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.backends.cuda.layout import pack_schedule
from evonet.backends.cuda.scheduling import compiled as compiled_module
from evonet.backends.cuda.scheduling import plan as compile_plan
from evonet.backends.cuda.scheduling.compiled import CompiledGenes, compile_genes
from evonet.backends.cuda.scheduling.genomes import DeviceGenomes
from evonet.definitions.dynamics import Dynamics
from evonet.genes.arrays import ARRAYS
from evonet.schedule import build_schedule
from evonet.schedule.pending import PendingSchedule
from tests.cupy_stand_in import Machine
from tests.support.random_networks import random_genes, random_samples

Lend = Callable[..., Machine]
KINDS = {
    "feedforward": Dynamics.of("feedforward"),
    "next-step": Dynamics.of("recurrent"),
    "same-step": Dynamics.of("recurrent", "same-step"),
    "ctrnn": Dynamics.of("ctrnn", time_step=0.3, steps=2),
    "izhikevich": Dynamics.of("izhikevich"),
}


def genomes(count: int, hidden: int, dtype: Any = np.float32, cyclic: float = 0.0) -> Population:
    """Untidy genomes: some without links, with sparse keys, with links in any order."""
    rng = random.Random(f"{count} {hidden}")
    genes = [
        random_genes(rng, 3, 2, rng.randint(0, hidden), cyclic=rng.random() < cyclic)
        for _ in range(count)
    ]
    genes[: count // 8] = [([0, 1], [])] * (count // 8)  # type: ignore[list-item]
    population = Population.from_genes(3, 2, genes, dtype)
    arrays = {name: getattr(population, name) for name in ARRAYS}
    arrays["time_constant"] = np.linspace(0.001, 9, population.num_nodes, dtype=dtype)
    return Population(num_inputs=3, num_outputs=2, **arrays)


def moved(population: Population, device: Device | None = None) -> Population:
    """The same genomes in the memory of a GPU."""
    genes = DeviceGenes.bring(population, usable_devices()[0] if device is None else device)
    return Population.from_distant(population.num_inputs, population.num_outputs, genes)


def assert_same_bytes(population: Population, dynamics: Dynamics) -> None:
    """Compiles on the host and on the GPU, and compares all packed arrays."""
    there = moved(population)
    assert isinstance(there.distant, DeviceGenes)
    compiled = compile_genes(there, there.distant, dynamics, "zero")
    assert isinstance(compiled, CompiledGenes)
    schedule = build_schedule(population, dynamics, on_cycle="zero")
    expected = pack_schedule(schedule, 0, len(population))
    found = compiled.packed.arrays
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        copy = np.empty(found[name].shape, found[name].dtype)
        there.distant.device.download(found[name], copy)
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape), name
        assert copy.tobytes() == array.tobytes(), name
    counts = compiled.counts
    assert (counts.nodes, counts.links) == (schedule.num_nodes, schedule.num_edges)
    assert (counts.units, counts.levels) == (len(expected["units"]), len(schedule.level_end))
    assert counts.most_slots == schedule.num_slots.max()
    assert counts.most_width == np.max(schedule.analyze().max_width)


@pytest.mark.parametrize("hidden", [3, 40], ids=["threads", "warps"])
@pytest.mark.parametrize("kind", KINDS)
def test_packed_bytes_are_those_of_the_host(kind: str, hidden: int, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    dynamics = KINDS[kind]
    population = genomes(48, hidden, cyclic=0.5 * dynamics.has_memory)
    machine.order = "random"
    assert_same_bytes(population, dynamics)
    if kind in ("feedforward", "ctrnn"):
        assert_same_bytes(population.astype(np.float64), dynamics)


@pytest.fixture
def few_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes one block compile all genomes, in global memory."""
    monkeypatch.setattr(compile_plan, "LEAST_WARPS", 10**6)
    monkeypatch.setattr(compile_plan, "MOST_SCRATCH", 1)


@pytest.mark.usefixtures("few_teams")
def test_teams_that_take_turns_pass_the_checks_of_the_runner(imaginary_gpus: Lend) -> None:
    imaginary_gpus().mode = "checked"
    assert_same_bytes(genomes(16, 20), KINDS["feedforward"])


def test_kernels_pass_the_checks_of_the_runner(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.mode = "checked"
    for hidden in (2, 20):
        assert_same_bytes(genomes(16, hidden, cyclic=0.3), KINDS["ctrnn"])
        assert_same_bytes(genomes(16, hidden, cyclic=0.3), KINDS["feedforward"])


def wide_genomes() -> Population:
    """More outputs, inputs, nodes of a level, and links of a node than a warp has lanes."""
    made = [
        Population.random(1, 40, 35, num_nodes=75, num_connections=n, enabled=0.9, seed=n)
        for n in (0, 1, 33, 300, 900)
    ]
    return Population.concatenate(made)


def test_genomes_of_any_size_are_compiled_in_shared_memory(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    assert_same_bytes(wide_genomes(), KINDS["feedforward"])


@pytest.mark.usefixtures("few_teams")
def test_genomes_of_any_size_are_compiled_in_global_memory(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    assert_same_bytes(wide_genomes(), KINDS["feedforward"])


def test_genomes_may_have_more_levels_than_a_warp_has_lanes(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    keys = [*range(2, 72), 0]
    chain = [(-1, 2, 1.0), *zip(keys, keys[1:], [0.5] * 70, strict=False), (-1, 1, 1.0)]
    population = Population.from_genes(3, 2, [([*range(72)], chain)] * 3)
    assert_same_bytes(population, KINDS["feedforward"])


def test_few_genes_need_a_thread_and_many_a_warp(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    plans = []
    for hidden in (2, 20, 400):
        genes = DeviceGenes.bring(genomes(16, hidden), device)
        plans.append(compile_plan.plan_compile(genes, 3, device.limits, {}))
    assert [plan.team for plan in plans] == [1, 32, 32]
    assert [plan.compile.scratch_nbytes > 0 for plan in plans] == [False, False, True]
    assert all(plan.compile.shared_mem <= device.limits.shared_per_block_optin for plan in plans)


def test_cycles_and_broken_genes_are_reported_as_by_the_host(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = genomes(40, 9, cyclic=0.5)
    with pytest.raises(CyclicGenomeError) as expected:
        evonet.compile(population, backend="cpu")
    with pytest.raises(CyclicGenomeError) as found:
        evonet.compile(moved(population), backend="cuda")
    assert str(found.value) == str(expected.value)
    assert found.value.genome == expected.value.genome
    genes = {name: getattr(population, name) for name in ARRAYS}
    first = int(population.conn_start[7])
    for name, position, value in (
        ("target", first, 77),
        ("source", first, 2**40),
        ("rank", first, genes["rank"][first + 1]),
        ("rank", first, -1),
        ("node_key", population.node_start[7], 2**41),
    ):
        changed = genes[name].copy()
        changed[position] = value
        enabled = np.ones_like(population.enabled)
        broken = Population(
            num_inputs=3,
            num_outputs=2,
            validate=False,
            **{**genes, "enabled": enabled, name: changed},
        )
        with pytest.raises(GenomeError) as expected_fault:
            evonet.compile(broken, backend="cpu", on_cycle="zero")
        with pytest.raises(GenomeError) as fault:
            evonet.compile(moved(broken), backend="cuda", on_cycle="zero")
        assert str(fault.value) == str(expected_fault.value)


def test_keys_that_come_twice_are_reported_as_by_the_host(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = Population.from_genes(1, 2, [([0, 1, 7], [(-1, 0, 1.0), (-1, 1, 1.0)])] * 2)
    genes = {name: getattr(population, name).copy() for name in ARRAYS}
    genes["node_key"][5] = 1  # nothing reads the second of them
    broken = Population(num_inputs=1, num_outputs=2, validate=False, **genes)
    with pytest.raises(GenomeError) as expected:
        evonet.compile(broken, backend="cpu")
    with pytest.raises(GenomeError) as found:
        evonet.compile(moved(broken), backend="cuda")
    assert str(found.value) == str(expected.value)


def on_gpu(population: Population, **options: Any) -> evonet.Network:
    return evonet.compile(moved(population), backend="cuda", on_cycle="zero", **options)


def was_built(network: evonet.Network) -> bool:
    """Whether the host has compiled the genomes, too."""
    return not isinstance(network._schedule, PendingSchedule) or bool(network._schedule._built)


def assert_same_results(population: Population, mapping: str = "auto") -> evonet.Network:
    """Compares outputs and losses with the cpu's; returns the GPU's network."""
    x = random_samples(random.Random(3), (33, 3), population.dtype)
    targets = random_samples(random.Random(4), (33, 2), population.dtype)
    cpu = evonet.compile(population, backend="cpu", on_cycle="zero")
    network = on_gpu(population, mapping=mapping)
    assert network(x).tobytes() == cpu(x).tobytes()
    assert network.loss(x, targets).tobytes() == cpu.loss(x, targets).tobytes()
    return network


@pytest.mark.parametrize("mapping", ["levels", "samples"])
def test_results_are_those_of_the_cpu_and_the_host_compiles_nothing(
    mapping: str, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    network = assert_same_results(genomes(40, 9, cyclic=0.2), mapping)
    sent = machine.num_sent
    assert machine.launches["compile_genomes"] == machine.launches["pack_genomes"] == 1
    assert not was_built(network)
    assert (network.num_genomes, network.num_outputs, network.kind) == (40, 2, "feedforward")
    assert "40 genomes" in repr(network)
    assert machine.num_sent == sent
    assert network.schedule.num_genomes == 40
    assert was_built(network)


def test_levels_over_the_whole_grid_are_compiled_by_the_host(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    assert was_built(assert_same_results(genomes(12, 9), "wide"))


def test_networks_with_memory_step_on_from_their_states(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = genomes(24, 9, cyclic=0.5)
    options = {"kind": "ctrnn", "time_step": 0.2}
    cpu = evonet.compile(population, backend="cpu", **options)  # type: ignore[arg-type]
    network = on_gpu(population, **options)
    for step in range(3):
        x = random_samples(random.Random(step), (5, 3), np.float32)
        assert network(x).tobytes() == cpu(x).tobytes()
    assert cpu.state is not None
    assert network.state is not None
    assert network.state.tobytes() == cpu.state.tobytes()
    assert not was_built(network)


def test_episodes_are_those_of_the_cpu(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = Population.random(20, 4, 2, num_nodes=5, num_connections=12, seed=3)
    cpu = evonet.compile(population, backend="cpu").rollout("cartpole", episodes=2, max_steps=9)
    network = on_gpu(population)
    chosen = [17, 3, 3, 8]
    found = network.rollout("cartpole", episodes=2, max_steps=9, genomes=chosen)
    np.testing.assert_array_equal(found.returns, cpu.returns[chosen])
    np.testing.assert_array_equal(found.steps, cpu.steps[chosen])
    assert not was_built(network)


def test_gradients_are_those_of_the_cpu(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population = Population.random(3, 3, 2, num_nodes=5, num_connections=12, seed=3)
    x, targets = np.ones((4, 3), np.float32), np.zeros((4, 2), np.float32)
    losses, genes = evonet.compile(population, backend="cpu").gradients(x, targets)
    found_losses, found = on_gpu(population).gradients(x, targets)
    assert found_losses.tobytes() == losses.tobytes()
    assert all(found[name].tobytes() == genes[name].tobytes() for name in genes)


def test_custom_functions_are_compiled_into_the_kernels(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    evonet.register_activation("bend_there", "x / (1 + abs(x))")
    try:
        nodes = [{"key": 0, "activation": "bend_there"}, {"key": 1}]
        links = [(-1, 0, 1.5), (-2, 1, 0.5)]
        population = Population.from_genes(3, 2, [(nodes, links)] * 5)
        network = assert_same_results(population)
        assert not was_built(network)
    finally:
        evonet.unregister_activation("bend_there")


def test_custom_aggregations_are_compiled_into_the_kernels(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    evonet.register_aggregation("length_there", "sqrt(sum(x * x))")
    try:
        nodes = [{"key": 0, "aggregation": "length_there"}, {"key": 1}]
        links = [(-1, 0, 1.5), (-2, 0, 0.5), (-2, 1, 0.5)]
        population = Population.from_genes(3, 2, [(nodes, links)] * 5)
        assert not was_built(assert_same_results(population))
    finally:
        evonet.unregister_aggregation("length_there")


def test_genomes_beyond_the_limits_are_compiled_by_the_host(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    monkeypatch.setattr(compile_plan, "MOST_NODES", 7)
    assert was_built(assert_same_results(genomes(12, 9)))
    assert machine.launches["compile_genomes"] == 0
    nobody = on_gpu(Population.empty(3, 2))
    assert nobody(np.ones((4, 3), np.float32)).shape == (0, 4, 2)


def test_a_gpu_that_does_not_hold_the_genes_gets_them_from_the_host(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=2)
    population = genomes(12, 9)
    second = moved(population, usable_devices()[1])
    x = random_samples(random.Random(3), (7, 3), np.float32)
    network = evonet.compile(second, backend="cuda")
    assert not was_built(network)
    assert network(x).tobytes() == evonet.compile(population, backend="cpu")(x).tobytes()
    y = network(x, out="device")
    assert y.device.id == 1


def test_every_allocation_may_fail(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    population = genomes(12, 3)
    there = moved(population)
    x = random_samples(random.Random(3), (33, 3), np.float32)
    expected = evonet.compile(population, backend="cpu")(x).tobytes()
    assert evonet.compile(there, backend="cuda")(x).tobytes() == expected
    start = machine.num_allocations
    evonet.compile(there, backend="cuda")(x)
    needed = machine.num_allocations - start
    for number in range(1, needed + 1):
        machine.fail_at = {machine.num_allocations + number}
        assert evonet.compile(there, backend="cuda")(x).tobytes() == expected, number
    machine.fail_at = set()
    used = machine.used[0]
    evonet.compile(there, backend="cuda")(x)
    assert machine.used[0] <= used  # nothing is kept


def test_outputs_that_do_not_fit_are_computed_in_parts(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    population = genomes(24, 9, cyclic=0.5)
    x = random_samples(random.Random(3), (16, 3), np.float32)
    row = 16 * 2 * 4
    for kind in ("feedforward", "recurrent"):
        cpu = evonet.compile(population, kind, backend="cpu", on_cycle="zero")  # type: ignore[arg-type]
        network = on_gpu(population, kind=kind)
        monkeypatch.setattr(Device, "free_memory", lambda self: 7 * row)
        for _ in range(2):
            assert network(x).tobytes() == cpu(x).tobytes()
        assert not was_built(network)


@pytest.fixture
def builtin_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles without asking for custom functions, which other tests define: that would wait."""
    monkeypatch.setattr(compiled_module._Job, "functions", lambda self: "")


@pytest.mark.usefixtures("builtin_only")
def test_streams_wait_for_the_ones_that_made_and_compiled_genes(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    x = random_samples(random.Random(3), (33, 3), np.float32)
    on_gpu(genomes(13, 9))(x)  # loads kernels, which waits for all streams
    expected = evonet.compile(genomes(12, 9), backend="cpu")(x).tobytes()
    with device.aside():
        there = moved(genomes(12, 9))
    assert evonet.compile(there, backend="cuda")(x).tobytes() == expected
    with device.aside():
        network = on_gpu(genomes(12, 9))
    assert network(x).tobytes() == expected


@pytest.mark.usefixtures("builtin_only")
def test_parts_wait_for_the_stream_that_compiled_them(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    x = random_samples(random.Random(3), (16, 3), np.float32)
    monkeypatch.setattr(Device, "free_memory", lambda self: 7 * 16 * 2 * 4)
    expected = evonet.compile(genomes(24, 9), backend="cpu")(x).tobytes()
    for count in (24, 23):  # loads the kernels, and leaves other bytes behind
        on_gpu(genomes(count, 9))(x)
    with device.aside():
        network = on_gpu(genomes(24, 9))
    assert network(x).tobytes() == expected
    assert not was_built(network)


def compiled_aside(device: Device) -> CompiledGenes:
    """Compiles on a second stream; the genes are the first one's, and nobody keeps them."""
    genes = DeviceGenes.bring(genomes(12, 9), device)
    with device.aside():
        compiled = compile_genes(genomes(12, 9), genes, KINDS["feedforward"], "zero")
    assert compiled is not None
    return compiled


@pytest.mark.usefixtures("builtin_only")
def test_genes_are_not_freed_while_another_stream_packs_them(imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    assert_same_bytes(genomes(12, 9), KINDS["feedforward"])  # loads kernels
    compiled = compiled_aside(device)  # the genes' memory is the first stream's to use again
    device.finish()
    compiled.packed.wait()
    expected = pack_schedule(build_schedule(genomes(12, 9)), 0, 12)
    for name, array in expected.items():
        copy = np.empty(array.shape, array.dtype)
        device.download(compiled.packed.arrays[name], copy)
        assert copy.tobytes() == array.tobytes(), name


def test_a_part_has_its_share_of_the_work(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    there = moved(genomes(40, 9))
    assert isinstance(there.distant, DeviceGenes)
    compiled = compile_genes(there, there.distant, KINDS["feedforward"], "zero")
    assert isinstance(compiled, CompiledGenes)
    pending = PendingSchedule(there, KINDS["feedforward"], "zero", 1)
    parts = DeviceGenomes(compiled, pending)
    whole, tenth = parts.measure(0, 40, 5, True), parts.measure(4, 8, 5, True)
    for name in ("num_genomes", "num_nodes", "num_edges", "num_levels"):
        assert getattr(tenth, name) == -(-getattr(whole, name) // 10)


def test_a_team_has_the_memory_that_it_lays_out(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.mode = "checked"  # which finds what lies outside
    for genes in ((1, 0), (1, 1), (2, 3), (5, 12)):
        population = Population.random(
            3, 2, 1, num_nodes=genes[0], num_connections=genes[1], feed_forward=False, seed=1
        )
        assert_same_bytes(population, KINDS["same-step"])
