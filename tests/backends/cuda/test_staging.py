"""Host arrays reach a GPU whole, through little page-locked memory, and may change at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evonet.backends.cuda import staging
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.discovery import usable_devices
from tests.cupy_stand_in import PACES, Machine

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
