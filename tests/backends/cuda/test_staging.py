"""Host arrays reach a GPU whole, through little page-locked memory, and may change at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet import Population, ShapeError
from evonet.backends.cuda import staging
from evonet.backends.cuda.census import take_census
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.layout import pack_schedule, packed_arrays
from evonet.definitions.dynamics import Dynamics
from evonet.schedule import build_schedule
from tests.cupy_stand_in import PACES, Machine
from tests.support import strategies

Lend = Callable[..., Machine]
each_pace = pytest.mark.parametrize("pace", PACES)


@pytest.fixture
def small_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "LEAST_RING", 1024)
    monkeypatch.setattr(staging, "MOST_RING", 4096)


def bring_back(device: Device, array: Any) -> np.ndarray:
    found = np.empty(array.shape, array.dtype)
    device.download(array, found)
    return found


@each_pace
def test_arrays_of_any_size_pass_through_the_ring(
    pace: Any, imaginary_gpus: Lend, small_ring: None
) -> None:
    machine = imaginary_gpus(pace=pace)
    (device,) = usable_devices()

    @given(st.lists(st.integers(0, 20_000), max_size=6))
    def check(sizes: list[int]) -> None:
        given = [
            (np.arange(size) % 251).astype(np.uint8) + np.uint8(i) for i, size in enumerate(sizes)
        ]
        changing = [array.copy() for array in given]
        sent = []
        for array in changing:
            sent.append(device.upload(array))
            array[...] = 255  # the GPU must not read it any more
        assert machine.pinned <= 4096
        for array, there in zip(given, sent, strict=True):
            np.testing.assert_array_equal(bring_back(device, there), array)

    check()


def test_page_locked_memory_is_bounded_and_released(imaginary_gpus: Lend, small_ring: None) -> None:
    machine = imaginary_gpus()
    (device,) = usable_devices()
    assert machine.pinned == staging.LEAST_RING
    large = np.arange(25 * staging.MOST_RING // 4 + 5, dtype=np.int32)
    there = device.upload(large)
    assert machine.pinned == staging.MOST_RING
    device.release_memory()
    assert machine.pinned == 0
    np.testing.assert_array_equal(bring_back(device, there), large)
    device.upload(large[:9])
    assert machine.pinned == staging.LEAST_RING


def test_small_arrays_do_not_wait_for_each_other(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    waited: list[object] = []
    monkeypatch.setattr(Device, "wait_on_host", lambda device, moment: waited.append(moment))
    for _ in range(9):
        device.upload(np.ones(1000))
    assert waited == []


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_host_without_page_locked_memory_copies_at_once(
    is_pinned: bool, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    (device,) = usable_devices()
    device.release_memory()
    given = np.arange(9999)
    if is_pinned:
        buffer = device.pin(given.nbytes)
        given = buffer.numbers.view(given.dtype)
        given[...] = np.arange(9999)
    machine.most_pinned = machine.pinned
    there = device.upload(given)
    assert machine.pinned == machine.most_pinned
    given[...] = -1
    np.testing.assert_array_equal(bring_back(device, there), np.arange(9999))


# ---- genomes that are packed on their way -----------------------------------------------------


def genomes_of_many_sizes() -> Population:
    """One of them fills more than the whole small ring, and one has no links at all."""
    sizes = [(4, 6), (1, 0), (9, 30), (60, 900), (3, 3), *[(5, 9)] * 40, (2, 1)]
    return Population.concatenate(
        Population.random(1, 3, 2, num_nodes=max(2, nodes), num_connections=links, seed=i)
        for i, (nodes, links) in enumerate(sizes)
    )


@each_pace
@pytest.mark.parametrize("kind", ["feedforward", "ctrnn"])
@pytest.mark.parametrize("pinned", [8 << 30, 0], ids=["page-locked", "pageable"])
def test_genomes_are_packed_in_pieces_as_they_are_packed_whole(
    pace: Any, kind: Any, pinned: int, imaginary_gpus: Lend, small_ring: None
) -> None:
    machine = imaginary_gpus(pace=pace)
    (device,) = usable_devices()
    device.release_memory()
    machine.most_pinned = pinned
    schedule = build_schedule(genomes_of_many_sizes(), Dynamics.of(kind), on_cycle="zero")
    for begin, end in ((0, schedule.num_genomes), (2, 20), (4, 4)):
        census = take_census(schedule, begin, end)
        assert census.packer is not None
        shapes = packed_arrays(schedule, begin, end, census.num_units)
        sent = device.upload_packed(census.packer, end - begin, shapes)
        expected = pack_schedule(schedule, begin, end, native=False)
        assert set(sent) == set(expected)
        for name, array in expected.items():
            if len(array) and end > begin:
                np.testing.assert_array_equal(bring_back(device, sent[name]), array, name)
    assert machine.pinned <= min(pinned, staging.MOST_RING)


@given(strategies.populations(), st.data())
def test_pieces_are_as_large_as_fits(population: Population, data: st.DataObject) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    count = schedule.num_genomes
    packer = take_census(schedule, 0, count).packer
    assert packer is not None
    room = data.draw(st.integers(0, 3000))
    for begin in range(count):
        end = packer.piece_end(begin, room)
        assert begin < end <= count
        assert end == begin + 1 or packer.nbytes(begin, end) <= room
        assert end == count or packer.nbytes(begin, end + 1) > room


@given(strategies.populations(), st.data())
def test_both_censuses_count_the_same(population: Population, data: st.DataObject) -> None:
    schedule = build_schedule(population, on_cycle="zero")
    begin = data.draw(st.integers(0, schedule.num_genomes))
    end = data.draw(st.integers(begin, schedule.num_genomes))
    ours, readable = (take_census(schedule, begin, end, native) for native in (None, False))
    assert dataclasses.replace(ours, packer=None) == readable


def test_packing_waits_until_the_gpu_has_read_that_part_of_the_ring(
    imaginary_gpus: Lend, small_ring: None
) -> None:
    """The stand-in copies as late as it may, so a piece that is overwritten early shows."""
    imaginary_gpus(pace="late")
    (device,) = usable_devices()
    schedule = build_schedule(genomes_of_many_sizes(), on_cycle="zero")
    census = take_census(schedule, 0, schedule.num_genomes)
    assert census.packer is not None
    shapes = packed_arrays(schedule, 0, schedule.num_genomes, census.num_units)
    expected = pack_schedule(schedule, 0, schedule.num_genomes, native=False)
    several = [device.upload_packed(census.packer, schedule.num_genomes, shapes) for _ in range(3)]
    for sent in several:
        for name, array in expected.items():
            np.testing.assert_array_equal(bring_back(device, sent[name]), array, name)


@pytest.mark.parametrize("wrong", ["size", "alignment"])
def test_a_piece_of_the_wrong_memory_is_refused(wrong: str) -> None:
    schedule = build_schedule(genomes_of_many_sizes(), on_cycle="zero")
    packer = take_census(schedule, 0, 3).packer
    assert packer is not None
    size = packer.nbytes(0, 3)
    memory = np.empty(size + 16, np.uint8)
    piece = memory[: size - 1] if wrong == "size" else memory[1 : size + 1]
    with pytest.raises(ShapeError, match="piece"):
        packer.write(0, 3, piece)
