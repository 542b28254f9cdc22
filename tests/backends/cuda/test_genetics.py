"""Genetics on a GPU: the bits of the native engine, whatever the memory, and little traffic."""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evonet
from evonet import Population
from evonet.backends.cuda.compiler import compile_kernel
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.genetics import breeding, speciation
from evonet.backends.cuda.genetics.engine import CudaEngine
from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.backends.cuda.genetics.numbers import hand_out_numbers
from evonet.backends.cuda.genetics.rules import distance_rules_type, genome_rules_type
from evonet.backends.cuda.genetics.sums import THREADS, TILE, blocks_for, prefix_sums
from evonet.backends.genetics import Engine, NativeEngine, make_engine
from evonet.genes.arrays import ARRAYS
from evonet.genes.first_generation import plan_first_generation
from evonet.genes.rules import Rules, distance_rules, genome_rules
from tests.backends.cuda.test_compile import ARCHS, why_missing
from tests.campaigns import genetics as campaign
from tests.cupy_stand_in import Machine
from tests.cupy_stand_in import machine as stand_in_machine
from tests.support.evolution_cases import WILD, make_config, xor_config
from tests.support.ptx_rules import find_faults

Lend = Callable[..., Machine]


class Lineage:
    """Generations of random parents, bred and divided by an engine."""

    def __init__(self, engine: Engine, size: int, dtype: Any, *changes: dict[str, object]) -> None:
        config = make_config(WILD, {"genome.initial_connection": "partial_direct 0.5"}, *changes)
        self.engine = engine
        self.size = size
        self.rules: Rules = genome_rules(config)
        self.distances: Rules = distance_rules(config)
        plan = plan_first_generation(config, 3, 2)
        self.population = engine.first_generation(size, 2, plan, self.rules, 5, 0, np.dtype(dtype))
        self.before = self.population
        self.numbers = plan.num_nodes, len(plan.source)
        self.representatives = np.zeros(0, np.int64)

    def breed(self, generation: int) -> None:
        """Copies of some, children of one parent, and children of two."""
        rng = np.random.default_rng(generation)
        fitter, other = rng.integers(0, self.size, (2, self.size))
        tenth = self.size // 10
        other[:tenth] = -1
        other[tenth : 2 * tenth] = fitter[tenth : 2 * tenth]
        self.before = self.population
        self.population, *numbers = self.engine.breed(
            self.population, fitter, other, self.rules, 5, generation, *self.numbers
        )
        self.numbers = numbers[0], numbers[1]

    def divide(self, threshold: float) -> list[list[int]]:
        found = self.engine.speciate(
            self.population, self.before, self.representatives, threshold, self.distances
        )
        self.representatives = found.representatives[found.representatives >= 0]
        return [each.tolist() for each in found]


def both(size: int, dtype: Any, *changes: dict[str, object]) -> tuple[Lineage, Lineage]:
    native, device = NativeEngine(1), make_engine("cuda", 1)
    assert isinstance(device, CudaEngine)
    return Lineage(native, size, dtype, *changes), Lineage(device, size, dtype, *changes)


def assert_same_lineage(native: Lineage, device: Lineage, *thresholds: float) -> None:
    assert device.population == native.population
    for generation, threshold in enumerate(thresholds, 1):
        assert device.divide(threshold) == native.divide(threshold)
        for each in (native, device):
            each.breed(generation)
        assert device.numbers == native.numbers
        assert device.population == native.population
        genes = device.population.distant
        assert isinstance(genes, DeviceGenes)
        assert (genes.most_nodes, genes.most_connections) == tuple(
            native.population.sizes.max(axis=0)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_children_and_species_are_those_of_the_native_engine(
    dtype: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    native, device = both(40, dtype)
    assert_same_lineage(native, device, 4.0, 1.5)
    machine.order = "reverse"  # of threads: who claims a mutation first does not matter
    native.representatives = np.repeat(native.representatives, 2)  # several want the same genome
    device.representatives = native.representatives
    assert_same_lineage(native, device, 3.0)
    assert machine.launches["breed_children"] == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"genome.feed_forward": False, "genome.single_structural_mutation": True},
        {"genome.compatibility_excess_coefficient": 3.0, "genome.initial_connection": "fs_neat"},
        {"genome.compatibility_include_node_genes": False, "genome.weight_init_type": "uniform"},
    ],
)
def test_all_rules_are_followed(changes: dict[str, object], imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    assert_same_lineage(*both(25, np.float32, changes), 3.0, 2.0)


def test_fewer_threads_than_genomes_take_turns(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    for module in (breeding, speciation):
        monkeypatch.setattr(module, "MOST_SCRATCH", 1)
    monkeypatch.setattr(speciation, "NEAREST_BLOCKS", 2)
    assert_same_lineage(*both(300, np.float32), 3.0)


def test_fresh_memory_may_hold_anything(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stand_in_machine, "POISON", 0)
    imaginary_gpus()
    assert_same_lineage(*both(40, np.float32), 4.0, 1.5)


def chain_of_nodes() -> Population:
    """Genomes whose connections all start at nodes, so that a search for cycles lists each."""
    keys = [1, 2, 3, 4, 0]
    links = [(a, b, 0.5) for i, a in enumerate(keys) for b in keys[i + 1 :]]
    return Population.from_genes(0, 1, [(sorted(keys), links)] * (breeding.BREED_THREADS + 2))


def test_threads_search_for_cycles_in_memory_of_their_own(imaginary_gpus: Lend) -> None:
    imaginary_gpus().mode = "checked"  # which finds two threads in one place
    sure = {"genome.conn_add_prob": 1.0, "genome.node_add_prob": 1.0}
    rules = genome_rules(make_config(sure, {"genome.conn_delete_prob": 0.0}))
    parents = chain_of_nodes()
    everyone = np.arange(len(parents))
    device, native = (
        engine.breed(parents, everyone, everyone, rules, 1, 1, 50, 60)[0]
        for engine in (make_engine("cuda", 1), NativeEngine(1))
    )
    assert device == native


def colliding(count: int, bits: int, hash_of: Callable[[int], int]) -> list[int]:
    """Numbers that belong to the same slot of a table."""
    wanted = hash_of(0) % 2**64 >> (64 - bits)
    found = (i for i in range(10**6) if hash_of(i) % 2**64 >> (64 - bits) == wanted)
    return list(itertools.islice(found, count))


def test_mutations_in_one_slot_of_a_table_have_numbers_of_their_own(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    count, bits, key, pair = 8, 4, 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9  # of key_table.h
    splits = colliding(count, bits, lambda split: split * key)
    targets = colliding(count, bits, lambda target: 3 * key + target * pair)
    requests = np.array([splits, [3] * count, targets], np.int64).reshape(-1)
    grand = device.upload(np.zeros(2, np.int64))
    both_new = device.upload(np.full(count, 3, np.int32))
    hand_out_numbers(device, device.upload(requests), both_new, 50, grand)
    found = np.empty(2, np.int64)
    device.download(grand, found)
    assert found.tolist() == [count, 3 * count]


def test_a_species_without_any_distance_ends(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    far = float(np.finfo(np.float32).max)
    before, now = (
        Population.from_genes(1, 1, [([0], [(-1, 0, sign * far)])] * 5) for sign in (1.0, -1.0)
    )
    rules = distance_rules(make_config({"genome.compatibility_weight_coefficient": 0.0}))
    found, expected = (
        [part.tolist() for part in engine.speciate(now, before, np.array([0]), 1e9, rules)]
        for engine in (make_engine("cuda", 1), NativeEngine(1))
    )
    assert found == expected
    assert found[2] == [-1, 0]  # infinity times 0 is no distance: it ends, and another is founded


def test_a_species_that_takes_no_genome_leaves_it_to_the_next(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    far = float(np.finfo(np.float32).max)
    weights = (-far, far, -far, -far, -far)
    everyone = Population.from_genes(1, 1, [([0], [(-1, 0, w)]) for w in weights])
    rules = distance_rules(make_config({"genome.compatibility_weight_coefficient": 0.0}))
    found = make_engine("cuda", 1).speciate(everyone[3:], everyone, np.arange(3), 3.0, rules)
    assert found.representatives.tolist() == [0, -1, 1]
    assert found.members.tolist() == [0, 1]


@pytest.mark.parametrize("threshold", [0.0, 1e9])
def test_everybody_alone_and_all_together(threshold: float, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    native, device = both(6, np.float32)
    assert_same_lineage(native, device, threshold)
    native.representatives = np.arange(6).repeat(2)  # more species than genomes
    device.representatives = native.representatives
    assert device.divide(threshold) == native.divide(threshold)


def test_prefix_sums_reach_over_tiles(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()

    @settings(max_examples=20)
    @given(
        st.integers(1, 3),
        st.sampled_from([1, 7, TILE - 1, TILE, TILE + 1, 3 * TILE]),
        st.integers(0),
    )
    def check(rows: int, count: int, seed: int) -> None:
        numbers = np.random.default_rng(seed).integers(0, 2**31, (rows, count), np.int32)
        grand, largest = (device.upload(np.zeros(rows, np.int64)) for _ in range(2))
        sums = prefix_sums(device, device.upload(numbers.reshape(-1)), rows, grand, largest)
        expected = np.zeros((rows, count + 1), np.int64)
        np.cumsum(numbers, axis=1, dtype=np.int64, out=expected[:, 1:])
        for found, right in [
            (sums, expected.reshape(-1)),
            (grand, expected[:, -1]),
            (largest, numbers.max(axis=1)),
        ]:
            host = np.empty(found.shape, np.int64)
            device.download(found, host)
            np.testing.assert_array_equal(host, right)

    check()


def test_prefix_sums_reach_over_more_tiles_than_a_block_has_threads(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    count = (THREADS + 2) * TILE
    grand = device.upload(np.zeros(1, np.int64))
    sums = prefix_sums(device, device.upload(np.ones(count, np.int32)), 1, grand)
    found = np.empty(count + 1, np.int64)
    device.download(sums, found)
    np.testing.assert_array_equal(found, np.arange(count + 1))


@pytest.mark.parametrize("count", [1, THREADS - 1, THREADS, THREADS + 1, 3 * THREADS + 1])
def test_everything_has_a_thread_and_no_block_is_idle(count: int) -> None:
    (blocks,) = blocks_for(count)
    assert (blocks - 1) * THREADS < count <= blocks * THREADS


def twins() -> Population:
    """Two kinds of genomes, each of which comes several times; nodes add up the last link first."""
    links = [(-2, 1, 0.5), (-1, 0, 2.0), (-1, 1, 1.0), (-2, 0, 3.0)]
    others = [(source, target, weight + 2.0) for source, target, weight in links]
    made = Population.from_genes(2, 2, [([0, 1], links)] * 3 + [([0, 1], others)] * 4)
    arrays = {name: getattr(made, name) for name in ARRAYS}
    arrays["rank"] = np.tile(np.arange(4, dtype=np.int32)[::-1], 7)
    return Population(num_inputs=2, num_outputs=2, **arrays)


def test_the_first_of_equally_near_genomes_and_species_is_taken(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    population, rules = twins(), distance_rules(make_config())
    found, expected = (
        [
            part.tolist()
            for part in engine.speciate(population, population, np.array([1, 2]), 1e9, rules)
        ]
        for engine in (make_engine("cuda", 1), NativeEngine(1))
    )
    assert found == expected
    assert found[2] == [0, 1]
    assert found[1] == [0, 6, 7]  # all but a representative are as near to the first species


def test_copies_keep_the_order_of_their_connections(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    parents, rules = twins(), genome_rules(make_config())
    fitter = np.array([5, 0, 1])
    device, native = (
        engine.breed(parents, fitter, np.full(3, -1), rules, 1, 1, 50, 60)[0]
        for engine in (make_engine("cuda", 1), NativeEngine(1))
    )
    np.testing.assert_array_equal(device.rank, parents[fitter].rank)
    assert device == native


# ---- streams ------------------------------------------------------------------------------------


def test_a_second_stream_breeds_while_the_parents_are_there(imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    rules, engine = genome_rules(make_config()), make_engine("cuda", 1)
    rest = np.array([4, 0, 6]), np.array([1, 0, -1]), rules, 1, 1, 50, 60
    engine.breed(twins(), *rest)  # loads kernels, which waits for all streams
    parents = Population.from_distant(2, 2, DeviceGenes.bring(twins(), device))
    with device.aside():
        children = engine.breed(parents, *rest)[0]
    del parents  # their memory is the first stream's to use again
    device.finish()
    assert children == NativeEngine(1).breed(twins(), *rest)[0]


# ---- compiled -----------------------------------------------------------------------------------

# Registers; those that breed keep two parents and a child, of a dozen arrays each.
KERNELS: dict[str, tuple[int, Callable[[Any], np.dtype[Any]] | None]] = {
    "breed_children": (128, genome_rules_type),
    "first_children": (64, genome_rules_type),
    "measure_genomes": (112, distance_rules_type),
    **dict.fromkeys(("put_children", "learn_standards", "nearest_genomes"), (64, None)),
    "gather_genomes": (48, None),
    **dict.fromkeys(("join_species", "seat_species", "start_species"), (40, None)),
}
SCORES = {"rank_scores": 24, "rank_species": 32, "rank_members": 40, "draw_parents": 56}
WHOLE_NUMBERS = {
    **{("claim_numbers", step): 40 for step in (0, 1)},
    **{("count_numbers", step): 32 for step in (0, 1)},
    **{(name, None): 32 for name in ("breed_room", "scan_tiles", "fill_words", "count_flags")},
    ("scan_join", None): 64,
}


def compile_jobs() -> Iterator[tuple[str, dict[str, Any], str, int]]:
    """Kernels, defines, architectures and registers; EVONET_EVERY_ARCH=1 has them for all."""
    every = os.environ.get("EVONET_EVERY_ARCH", "") not in ("", "0")
    for kernel, (registers, rules) in KERNELS.items():
        for real, dtype in (("float", np.float32), ("double", np.float64)):
            defines: dict[str, Any] = {"REAL": real}
            if rules is not None:
                defines["RULES_SIZE"] = rules(dtype).itemsize
            some = ARCHS[-1:] if real == "double" else (ARCHS[0], ARCHS[-1])
            for arch in ARCHS if every else some:
                yield kernel, defines, arch, registers
    for (kernel, step), registers in WHOLE_NUMBERS.items():
        for arch in ARCHS if every else ARCHS[-1:]:
            yield kernel, {} if step is None else {"ADDITIONS": step}, arch, registers
    for kernel, registers in SCORES.items():
        for arch in ARCHS if every else ARCHS[-1:]:
            yield kernel, {}, arch, registers


@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
def test_kernels_compile_without_spills_and_keep_the_bits() -> None:
    for kernel, defines, arch, registers in compile_jobs():
        compiled = compile_kernel(kernel, defines, arch)
        about = f"{kernel} {defines} {arch}: {compiled.log}"
        real = "double" if kernel in SCORES else defines.get("REAL")
        draws = kernel in ("breed_children", "first_children", "draw_parents")
        assert find_faults(compiled.ptx, real, draws=draws) == [], about
        assert "warning" not in compiled.log, about
        assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in compiled.log
        assert int(re.findall(r"Used (\d+) registers", compiled.log)[0]) <= registers, about


# ---- memory -------------------------------------------------------------------------------------


def test_every_allocation_may_fail(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    native, device = both(5, np.float32)
    expected = native.divide(4.0)
    assert len(expected[2]) == 1
    native.breed(1)
    state = dict(vars(device))
    start = machine.num_allocations

    def run() -> Any:
        vars(device).update(state)
        found = device.divide(4.0)
        device.breed(1)
        return found, device.population, device.numbers

    assert run() == (expected, native.population, native.numbers)
    count = machine.num_allocations - start
    assert count > 40
    for number in range(count):
        machine.fail_at = {machine.num_allocations + 1 + number}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a second attempt, with a pool that was freed, works
            assert run() == (expected, native.population, native.numbers)
    machine.fail_at = set()
    machine.fail_from = machine.num_allocations + 1
    with pytest.warns(RuntimeWarning, match="bred on the host, with equal results") as warned:
        assert run() == (expected, native.population, native.numbers)
    assert len(warned) == 1
    assert device.population.distant is None
    machine.fail_from = None
    device.breed(2)
    native.breed(2)
    assert device.population == native.population
    assert device.population.distant is not None


def test_a_second_attempt_has_the_memory_of_samples_that_were_kept(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    (device,) = usable_devices()
    native, lineage = both(5, np.float32)
    samples = np.zeros(1 << 20)
    samples.setflags(write=False)
    device.lasting(samples)
    machine.memory = machine.used[0] + 1000
    for each in (native, lineage):
        each.breed(1)  # a warning would be an error
    assert lineage.population.distant is not None
    assert lineage.population == native.population


def test_without_a_gpu_the_native_engine_breeds(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=0)
    assert isinstance(make_engine("cuda", 1), NativeEngine)


# ---- whole runs ---------------------------------------------------------------------------------


def test_generations_pass_without_the_genes_on_the_host(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    seen: list[int] = []
    download = Device.download

    def counting(self: Device, array: Any, out: np.ndarray) -> None:
        seen.append(out.nbytes)
        download(self, array, out)

    neat = evonet.NEAT(xor_config(60), num_inputs=2, num_outputs=1, backend="cuda")
    monkeypatch.setattr(Device, "download", counting)
    for generation in range(3):
        population = neat.ask()
        neat.tell(np.sin(np.arange(60.0) + generation))
        genes = population.distant
        assert isinstance(genes, DeviceGenes)
        assert not genes._fetched
    assert neat.best is not None
    assert max(seen) <= 128 * 16 * 8  # species of all genomes, or the nearest ones of all blocks


def test_runs_that_grow_or_die_out_leave_the_files_of_the_processor(imaginary_gpus: Lend) -> None:
    lines = [*campaign.campaign_of_runs(imaginary_gpus(), 1, [1, 14], 6)]
    assert len(lines) == 3
    assert all(line.endswith(": equal") for line in lines), lines


def test_a_wrong_gene_is_noticed(imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch) -> None:
    put = breeding._join

    def spoil(*arguments: Any) -> Any:
        children = put(*arguments)
        weight = children.genes.arrays["weight"]
        children.genes.arrays["weight"] = children.genes.device.upload(
            np.ones(weight.shape[0], "f4")
        )
        return children

    monkeypatch.setattr(breeding, "_join", spoil)
    (line,) = campaign.campaign_of_runs(imaginary_gpus(), 1, [2], 2)
    assert line.endswith(": the record of generation 0, the champion, the checkpoint")


def test_checkpoints_are_those_of_the_processor(imaginary_gpus: Lend, tmp_path: Path) -> None:
    imaginary_gpus()
    files = {}
    for backend in ("cpu", "cuda"):
        neat = evonet.NEAT(xor_config(30), num_inputs=2, num_outputs=1, backend=backend)
        for generation in range(4):
            scores = np.cos(3.0 * np.arange(30) + generation) * len(neat.ask())
            neat.tell(scores)
        files[backend] = neat.save(tmp_path / backend)
    assert files["cpu"].read_bytes() == files["cuda"].read_bytes()
    resumed = evonet.NEAT.resume(files["cuda"])
    assert resumed.ask() == neat.ask()
    assert isinstance(neat.ask()[0], evonet.Genome)
    assert Population.concatenate([neat.ask()]) == resumed.ask()
