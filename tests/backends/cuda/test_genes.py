"""Genes that live on a GPU come to the host when they are read, and not before."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evonet import Population
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.genetics.genes import FEW_GENOMES, DeviceGenes
from evonet.genes.arrays import ARRAYS
from tests.cupy_stand_in import Machine

Lend = Callable[..., Machine]


def some_genomes(count: int = 9, dtype: Any = np.float32) -> Population:
    parts = [
        Population.random(1, 3, 2, num_nodes=3 + i % 4, num_connections=i, dtype=dtype, seed=i)
        for i in range(count)
    ]
    return Population.concatenate([Population.empty(3, 2, dtype), *parts])


def moved(population: Population, device: Device) -> Population:
    genes = DeviceGenes.bring(population, device)
    return Population.from_distant(population.num_inputs, population.num_outputs, genes)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of what was copied to the host, in bytes."""
    sizes: list[int] = []
    download = Device.download

    def counting(self: Device, array: Any, out: np.ndarray) -> None:
        sizes.append(out.nbytes)
        download(self, array, out)

    monkeypatch.setattr(Device, "download", counting)
    return sizes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_genes_are_the_same_there_and_back(
    count: int, dtype: Any, imaginary_gpus: Lend, fetched: list[int]
) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes(count, dtype)
    there = moved(population, device)
    fetched.clear()
    assert (len(there), there.num_nodes, there.num_connections, there.dtype) == (
        (count, population.num_nodes, population.num_connections, population.dtype)
    )
    assert repr(there) == repr(population)
    assert not fetched  # counts are known on the host
    assert there == population
    assert len(fetched) == len(ARRAYS)
    assert there == population
    assert pickle.loads(pickle.dumps(there)) == population
    assert len(fetched) == len(ARRAYS)  # each array once
    assert all(not getattr(there, name).flags.writeable for name in ARRAYS)


def test_an_array_is_fetched_alone(imaginary_gpus: Lend, fetched: list[int]) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes()
    there = moved(population, device)
    fetched.clear()
    np.testing.assert_array_equal(there.sizes, population.sizes)
    assert fetched == [population.node_start.nbytes, population.conn_start.nbytes]
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        there.colour  # noqa: B018


def test_few_genomes_are_gathered_alone(imaginary_gpus: Lend, fetched: list[int]) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes()
    there = moved(population, device)
    fetched.clear()
    for genome in range(9):
        assert there[genome] == population[genome]
    assert there[[7, 2, 2]] == population[[7, 2, 2]]
    assert there[5:7] == population[5:7]
    assert there[3:7] == population[3:7]
    assert len(fetched) == 12  # one copy of all arrays for each
    room = 16 + 6 * (8 + 4 + 4 + 4 + 2) + 8 * (8 + 8 + 8 + 4 + 4 + 1)
    assert room <= fetched[0] < room + 8 * len(ARRAYS)
    assert fetched[9:] == [3 * fetched[0], 2 * fetched[0], 4 * fetched[0]]
    assert there[[]] == population[[]]
    assert len(fetched) == 12
    assert there[np.arange(FEW_GENOMES + 1)] == population[np.arange(FEW_GENOMES + 1)]
    fetched.clear()
    assert there[1] == population[1]
    assert not fetched  # all of it is on the host by now


def test_counting_the_genes_of_a_genome_fetches_that_one_alone(
    imaginary_gpus: Lend, fetched: list[int]
) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes()
    there = moved(population, device)
    fetched.clear()
    assert there.nodes_and_enabled(7) == population.nodes_and_enabled(7)
    assert sum(fetched) < population.nbytes / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_genomes_that_fill_several_turns_of_a_block_are_gathered(
    order: str, dtype: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.order, machine.mode = order, "checked"
    (device,) = usable_devices()
    parts = [
        Population.random(1, 3, 2, num_nodes=nodes, num_connections=4 * nodes, dtype=dtype, seed=1)
        for nodes in (9, 301, 90)
    ]
    population = Population.concatenate([parts[0], Population.empty(3, 2, dtype), *parts[1:]])
    there = moved(population, device)
    for genome in range(3):
        assert there[genome] == population[genome]
        assert there.nodes_and_enabled(genome) == population.nodes_and_enabled(genome)
    assert there[[2, 0, 1]] == population[[2, 0, 1]]


def test_a_genome_is_gathered_after_the_stream_that_made_it(imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    population = some_genomes()
    assert moved(population, device)[2] == population[2]  # loads the kernels
    with device.aside():
        there = moved(population, device)
    assert there[2] == population[2]
    with device.aside():
        found = there[4]
    del there
    assert found == population[4]


def test_genomes_come_with_all_others_where_memory_is_short(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes()
    for skipped in (0, 1):
        there = moved(population, device)
        machine.fail_from = machine.num_allocations + 1 + skipped
        assert there[3] == population[3]
        machine.fail_from = None


def test_genes_are_found_on_their_own_gpu_only(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(num_devices=2)
    first, second = usable_devices()
    population = some_genomes()
    there = moved(population, first)
    genes = DeviceGenes.of(there, first)
    assert genes is there.distant
    assert DeviceGenes.bring(there, first) is genes
    assert (genes.most_nodes, genes.most_connections) == (6, 8)
    assert DeviceGenes.of(there, second) is None
    assert DeviceGenes.of(population, first) is None
    used = machine.used[1]
    copy = DeviceGenes.bring(there, second)
    assert machine.used[1] > used
    assert Population.from_distant(3, 2, copy) == population
    assert [array.dtype for array in genes.arguments] == [
        getattr(population, name).dtype for name in ARRAYS
    ]


def test_genes_are_read_after_the_stream_that_made_them(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes()
    with device.aside():
        there = moved(population, device)
    assert there == population


def test_connections_are_counted_after_the_stream_that_made_them(imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    population = some_genomes()
    assert moved(population, device).num_enabled == population.num_enabled  # loads the kernels
    with device.aside():
        there = moved(population, device)
    assert there.num_enabled == population.num_enabled


def test_connections_are_counted_on_the_host_where_memory_is_short(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    (device,) = usable_devices()
    population = some_genomes()
    there = moved(population, device)
    machine.fail_from = machine.num_allocations + 1
    assert there.num_enabled == population.num_enabled
