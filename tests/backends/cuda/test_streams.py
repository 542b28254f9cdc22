"""Streams that share a network run in any legal order, and every output is right.

The stand-in's copies and kernels wait in their stream until somebody waits for them; `pace` picks
the order of streams that nothing orders.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Population
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.resident import Resident
from tests import simt
from tests.cupy_stand_in import PACES, Machine

Lend = Callable[..., Machine]
each_pace = pytest.mark.parametrize("pace", PACES)


def population(seed: int = 1) -> Population:
    return Population.random(40, 3, 2, num_nodes=9, num_connections=20, seed=seed)


def samples(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, 3)).astype(np.float32)


def new_stream() -> Any:
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def wrong_genomes(found: np.ndarray, expected: np.ndarray) -> int:
    """Counts the genomes, or parts of a state, that differ in any bit."""
    return int((found.view("u4") != expected.view("u4")).any(axis=(1, 2)).sum())


@each_pace
def test_a_second_stream_waits_for_the_upload_of_the_first(pace: Any, imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace=pace)
    network, x = evonet.compile(population(), backend="cuda"), samples(9)
    expected = evonet.compile(population(), backend="cpu")(x)
    first, second = new_stream(), new_stream()
    with first:
        network(x, out="device")
    with second:
        found = network(x, out="device").get()
    assert wrong_genomes(found, expected) == 0


@each_pace
@pytest.mark.parametrize("per_thread", [True, False])
def test_a_second_thread_waits_for_the_upload_of_the_first(
    pace: Any, per_thread: bool, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace, per_thread_streams=per_thread)
    network, x = evonet.compile(population(), backend="cuda"), samples(9)
    expected = evonet.compile(population(), backend="cpu")(x)
    found: list[np.ndarray] = []
    network(x, out="device")
    thread = threading.Thread(target=lambda: found.append(network(x)))
    thread.start()
    thread.join()
    assert wrong_genomes(found[0], expected) == 0


@each_pace
@pytest.mark.parametrize("kind", ["recurrent", "ctrnn"])
def test_steps_on_several_streams_follow_each_other(
    pace: Any, kind: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace)
    gpu, cpu = (evonet.compile(population(), kind, backend=b) for b in ("cuda", "cpu"))
    streams = [new_stream() for _ in range(3)]
    outputs = []
    for turn in range(6):
        with streams[turn % 3]:
            outputs.append(gpu(samples(5, turn), out="device"))
    expected = [cpu(samples(5, turn)) for turn in range(6)]
    with streams[1]:
        assert wrong_genomes(gpu.state, cpu.state) == 0
    for turn in reversed(range(6)):
        with streams[turn % 3]:
            assert wrong_genomes(outputs[turn].get(), expected[turn]) == 0


def fixed_samples(size: int) -> np.ndarray:
    """Samples that cannot change, so that they stay on the GPU."""
    x = samples(size)
    x.setflags(write=False)
    return x


@each_pace
def test_a_second_stream_waits_for_samples_that_stay_on_the_gpu(
    pace: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace)
    networks = [evonet.compile(population(seed), backend="cuda") for seed in (1, 2)]
    x = fixed_samples(9)
    first, second = new_stream(), new_stream()
    with first:
        networks[0](x, out="device")
    with second:
        found = networks[1](x, out="device").get()
    assert wrong_genomes(found, evonet.compile(population(2), backend="cpu")(x)) == 0


@each_pace
def test_samples_are_not_freed_while_another_stream_reads_them(
    pace: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace)
    x = fixed_samples(9)
    network = evonet.compile(population(), backend="cuda")
    expected = evonet.compile(population(), backend="cpu")(x)
    first, second = new_stream(), new_stream()
    with first:
        network(x)
    with second:
        y = network(x, out="device")
    del x  # its memory is the first stream's to use again
    with first:
        evonet.compile(population(seed=2), backend="cuda")(samples(9, 5))
    with second:
        assert wrong_genomes(y.get(), expected) == 0


@each_pace
def test_memory_is_not_freed_while_another_stream_reads_it(pace: Any, imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace=pace)
    x = samples(9)
    expected = evonet.compile(population(), backend="cpu")(x)
    first, second = new_stream(), new_stream()
    network = evonet.compile(population(), backend="cuda")
    with first:
        network(x)
    with second:
        y = network(x, out="device")
    del network  # its memory is the first stream's to use again
    with first:
        evonet.compile(population(seed=2), backend="cuda")(x)
    with second:
        assert wrong_genomes(y.get(), expected) == 0


@each_pace
def test_the_memory_of_states_is_not_freed_while_another_stream_reads_it(
    pace: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace)
    gpu, cpu = (evonet.compile(population(), "recurrent", backend=b) for b in ("cuda", "cpu"))
    first, second = new_stream(), new_stream()
    with first:
        for turn in range(2):
            gpu(samples(9, turn))
    with second:
        y = gpu(samples(9, 2), out="device")
    gpu.reset()
    with first:
        gpu(samples(7))
    expected = [cpu(samples(9, turn)) for turn in range(3)][-1]
    with second:
        assert wrong_genomes(y.get(), expected) == 0


def test_memory_is_not_freed_while_another_stream_writes_it(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(pace="late")
    (device,) = usable_devices()
    memory = Resident(device, {"": device.empty((9,), np.float32)})
    device.finish()
    with device.aside():
        memory.wait()
        device.copy_from_host(np.ones(9, np.float32), memory.arrays[""], 0)
        memory.was_written()
    assert not machine.queues.is_idle(0)
    del memory
    assert machine.queues.is_idle(0)


def pinned_copy(x: np.ndarray) -> np.ndarray:
    """A NumPy array in page-locked memory, as users of CuPy make them."""
    import cupy

    memory = cupy.cuda.PinnedMemory(x.nbytes)
    buffer = (ctypes.c_uint8 * x.nbytes).from_address(memory.ptr)
    buffer._memory = memory  # type: ignore[attr-defined]
    pinned = np.frombuffer(buffer, x.dtype).reshape(x.shape)
    pinned[...] = x
    return pinned


@each_pace
def test_samples_in_page_locked_memory_may_be_overwritten_at_once(
    pace: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(pace=pace)
    network, x = evonet.compile(population(), backend="cuda"), samples(9)
    expected = evonet.compile(population(), backend="cpu")(x)
    given = pinned_copy(x)
    y = network(given, out="device")
    given[...] = 7
    assert wrong_genomes(y.get(), expected) == 0


@each_pace
def test_samples_come_from_the_current_stream_of_another_gpu(
    pace: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus(num_devices=2, pace=pace)
    x = samples(9)
    network = evonet.compile(population(), backend="cuda")
    expected = evonet.compile(population(), backend="cpu")(x)
    import cupy

    machine.current = 1
    there = new_stream()
    with there:
        given = cupy.asarray(x)
        machine.current = 0
        y = network(given, out="device")
        machine.current = 1
        del given
        cupy.asarray(samples(9, 5)).get()  # may take the memory of what was deleted
    machine.current = 0
    assert wrong_genomes(y.get(), expected) == 0


@each_pace
def test_the_next_chunk_is_sent_while_the_gpu_computes(pace: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(pace=pace, memory=50_000)
    many = evonet.Population.random(60, 3, 2, num_nodes=30, num_connections=90, seed=8)
    x, targets = samples(9), np.zeros((9, 2), np.float32)
    gpu, host = (evonet.compile(many, backend=backend) for backend in ("cuda", "cpu"))
    for _ in range(2):
        assert wrong_genomes(gpu(x), host(x)) == 0
    np.testing.assert_array_equal(gpu.loss(x, targets), host.loss(x, targets))
    chunks = machine.launches["forward_levels"] + machine.launches["forward_samples"]
    assert chunks >= 6
    assert usable_devices()[0]._second is not None
    assert machine.peak[0] <= 50_000


def test_a_chunk_that_nobody_waits_for_would_be_noticed(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus(pace="late", memory=50_000)
    many = evonet.Population.random(60, 3, 2, num_nodes=30, num_connections=90, seed=8)
    x = samples(9)
    expected = evonet.compile(many, backend="cpu")(x)
    monkeypatch.setattr(Resident, "wait", lambda self: None)
    try:
        wrong = wrong_genomes(evonet.compile(many, backend="cuda")(x), expected)
    except simt.KernelFault:  # a kernel stumbled over what it read
        wrong = 1
    assert wrong > 0


def test_arrays_are_at_home_only_where_they_were_written(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    (device,) = usable_devices()
    resident = Resident(device, {"": device.empty((4,), np.int32)})
    home = device.stream()
    assert resident.is_at_home(home)
    with device.aside():
        assert not resident.is_at_home(device.stream())
        resident.was_written()
        assert not resident.is_at_home(device.stream())
    assert not resident.is_at_home(home)
