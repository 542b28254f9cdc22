"""What is on a GPU already is neither sent nor planned again, and results stay the same."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import BackendError, DeviceMemoryError, Population
from evonet.backends.cuda import layout, shard
from evonet.backends.cuda.discovery import usable_devices
from evonet.backends.cuda.layout import packed_nbytes
from evonet.tasks import Supervised
from tests.cupy_stand_in import PACES, Machine

Lend = Callable[..., Machine]


def population(seed: int = 1, kind: str = "feedforward") -> Population:
    feed_forward = kind == "feedforward"
    return Population.random(
        30, 3, 2, num_nodes=8, num_connections=20, seed=seed, feed_forward=feed_forward
    )


def fixed(*shape: int) -> np.ndarray:
    """Numbers that nobody can change."""
    numbers = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    numbers.setflags(write=False)
    return numbers


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("pace", PACES)
def test_samples_that_cannot_change_are_sent_once(pace: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(pace=pace)
    x, targets = fixed(16, 3), fixed(16, 2)
    for seed in range(4):
        genomes = population(seed)
        network = evonet.compile(genomes, backend="cuda")
        sent = machine.num_sent
        found = network.loss(x, targets)
        added = machine.num_sent - sent
        same(found, evonet.compile(genomes, backend="cpu").loss(x, targets))
        assert (added == packed_nbytes(network.schedule, 0, 30)) == (seed > 0)
    sent = machine.num_sent
    network.loss(x, targets)
    network(x)
    assert machine.num_sent == sent


def test_samples_that_may_change_are_sent_again(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    x = np.array(fixed(5, 3))
    network, cpu = (evonet.compile(population(), backend=b) for b in ("cuda", "cpu"))
    same(network(x), cpu(x))
    x[2] = 9.0
    same(network(x), cpu(x))
    view = x[:]
    view.setflags(write=False)  # it cannot be written to, but what it shows can
    same(network(view), cpu(view))
    x[3] = -4.0
    same(network(view), cpu(view))


def test_samples_leave_the_gpu_with_the_host_array(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network = evonet.compile(population(), backend="cuda")
    network(np.array(fixed(64, 3)))
    used = machine.used[0]
    x = fixed(64, 3)
    network(x)
    assert machine.used[0] == used + x.nbytes
    del x
    gc.collect()
    assert machine.used[0] == used
    other = fixed(64, 3)  # perhaps at the same address
    same(network(other), evonet.compile(population(), backend="cpu")(other))


def test_samples_make_room_when_memory_is_short(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network = evonet.compile(population(), backend="cuda")
    kept = fixed(4000, 3)
    network(kept)
    machine.memory = machine.used[0] + 1000
    many = fixed(2000, 3)  # it fits only if the others leave
    assert many.nbytes > machine.memory - kept.nbytes
    same(network(many), evonet.compile(population(), backend="cpu")(many))


@pytest.mark.parametrize("pace", PACES)
def test_threads_share_samples_that_cannot_change(pace: Any, imaginary_gpus: Lend) -> None:
    imaginary_gpus(pace=pace)
    x = fixed(20, 3)
    networks = [evonet.compile(population(seed), backend="cuda") for seed in range(3)]
    expected = [evonet.compile(population(seed), backend="cpu")(x) for seed in range(3)]
    found: list[Any] = [None] * 3

    def run(i: int) -> None:
        found[i] = networks[i](x)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, expected, strict=True):
        same(one, other)


@pytest.mark.parametrize("kind", ["feedforward", "recurrent"])
@pytest.mark.parametrize("mapping", ["levels", "samples"])
def test_repeated_calls_have_the_bits_of_the_first(
    kind: Any, mapping: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus()
    genomes = population(kind=kind)
    gpu, cpu = (
        evonet.compile(genomes, kind, backend=b, mapping=mapping)  # type: ignore[arg-type]
        for b in ("cuda", "cpu")
    )
    rng = np.random.default_rng(1)
    for size in (4, 9, 4, 4, 9, 1, 4):
        x = rng.normal(size=(size, 3)).astype(np.float32)
        goals = rng.normal(size=(size, 2)).astype(np.float32)
        same(gpu.loss(x, goals), cpu.loss(x, goals))
        gpu.reset()
        cpu.reset()
        for _ in range(2):  # the second step continues from the first
            same(gpu(x), cpu(x))
        own = rng.normal(size=(30, size, 3)).astype(np.float32)
        gpu.reset()
        cpu.reset()
        same(gpu(own), cpu(own))
        for loss in ("huber", "cross_entropy"):
            same(gpu.loss(x, goals, loss), cpu.loss(x, goals, loss))


def test_a_repeated_call_plans_nothing(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    network, x = evonet.compile(population(), backend="cuda"), fixed(5, 3)
    first = network(x)
    monkeypatch.setattr(shard, "plan_forward", None)
    before = machine.launches.total()
    same(network(x), first)
    assert machine.launches.total() == before + 1


@pytest.mark.parametrize("pace", PACES)
def test_a_repeated_call_between_arrays_of_a_gpu_waits_for_its_genes(
    pace: Any, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus(pace=pace)
    cupy = sys.modules["cupy"]
    network, x = evonet.compile(population(), backend="cuda"), fixed(5, 3)
    expected = evonet.compile(population(), backend="cpu")(x)
    there = cupy.asarray(x)
    network(there, out="device")
    stream = cupy.cuda.Stream(non_blocking=True)
    before = machine.launches.total()
    with monkeypatch.context() as patch:
        patch.setattr(shard, "Samples", None)  # which only other calls need
        with stream:  # while the first may still be copying the genes
            y = network(cupy.asarray(x), out="device")
        same(network(there, out="device").get(), expected)
    assert machine.launches.total() == before + 2
    doubles = cupy.asarray(x.astype(np.float64))
    same(network(doubles, out="device").get(), expected)
    del network  # its memory is not the first stream's to use again until the second has read it
    evonet.compile(population(seed=2), backend="cuda")(x)
    with stream:
        same(y.get(), expected)


def test_samples_of_a_repeated_call_may_lie_in_any_order(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    cupy = sys.modules["cupy"]
    network, x = evonet.compile(population(), backend="cuda"), fixed(5, 3)
    expected = evonet.compile(population(), backend="cpu")(x)
    same(network(cupy.asarray(x), out="device").get(), expected)
    turned = cupy.asarray(np.ascontiguousarray(x[::-1]))[::-1]
    assert not turned.flags.c_contiguous
    same(network(turned, out="device").get(), expected)


def test_the_outputs_of_a_repeated_call_may_find_no_memory_at_first(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network, x = evonet.compile(population(), backend="cuda"), fixed(5, 3)
    there = sys.modules["cupy"].asarray(x)
    expected = network(there, out="device").get()
    machine.fail_at = {machine.num_allocations + 1}
    same(network(there, out="device").get(), expected)


def test_remembered_launches_are_bounded(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    gpu, cpu = (evonet.compile(population(), backend=b) for b in ("cuda", "cpu"))
    for size in range(1, shard.MOST_CALLS + 5):
        x = fixed(size, 3)
        same(gpu(x), cpu(x))
        assert len(gpu._bound._shards[0]._calls) <= shard.MOST_CALLS  # type: ignore[attr-defined]


def test_genes_that_were_freed_are_sent_again_for_a_repeated_call(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    gpu, cpu = (evonet.compile(population(), backend=b) for b in ("cuda", "cpu"))
    x = fixed(5, 3)
    same(gpu(x), cpu(x))
    gpu._bound._shards[0].free()  # type: ignore[attr-defined]
    same(gpu(x), cpu(x))
    same(gpu(x), cpu(x))


@pytest.mark.parametrize(("limit", "most"), [("MOST_UNITS", 9), ("MOST_SLOTS", 4)])
def test_genomes_that_are_too_large_are_refused_before_they_are_sent(
    limit: str, most: int, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    network = evonet.compile(population(), backend="cuda")
    monkeypatch.setattr(layout, limit, most)
    sent = machine.num_sent
    with pytest.raises(BackendError, match=f"at most {most}"):
        network(fixed(5, 3))
    assert machine.num_sent == sent


def test_a_task_gives_the_same_arrays_to_every_generation(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    given = np.ones((8, 3))
    task = Supervised(given, np.zeros((8, 2)))
    given[:] = 5.0  # the task has its own numbers
    assert task.x.max() == 1.0
    with pytest.raises(ValueError, match="read-only"):
        task.x[0] = 2.0
    sent = []
    for seed in range(3):
        network = evonet.compile(population(3), backend="cuda")
        before = machine.num_sent
        scores = task.evaluate(network, seed)
        sent.append(machine.num_sent - before)
        same(scores, task.evaluate(evonet.compile(population(3), backend="cpu"), seed))
    assert sent[1] == sent[2] == sent[0] - 8 * (3 + 2) * 4


def test_a_task_follows_examples_that_are_replaced() -> None:
    task = Supervised(np.ones((8, 3)), np.zeros((8, 2)))
    network = evonet.compile(population(), backend="cpu")
    first = task.evaluate(network, 0)
    task.x = np.full((8, 3), 2.0)
    second = task.evaluate(network, 0)
    assert first.tobytes() != second.tobytes()
    task.x[:] = 1.0
    same(task.evaluate(network, 0), first)
    task.x = np.full((8, 3), 2.0)
    task.x.setflags(write=False)
    same(task.evaluate(network, 0), second)


def test_every_allocation_may_fail_once(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    x, targets, genomes = fixed(16, 3), fixed(16, 2), population()
    expected = evonet.compile(genomes, backend="cpu").loss(x, targets)
    evonet.compile(genomes, backend="cuda").loss(x, targets)  # kernels are loaded
    for number in range(1, 40):
        copies = [np.array(part) for part in (x, targets)]
        for part in copies:
            part.setflags(write=False)
        network = evonet.compile(genomes, backend="cuda")
        before = machine.num_allocations
        machine.fail_at = {before + number}
        for _ in range(2):
            same(network.loss(*copies), expected)
        if machine.num_allocations < before + number:
            break
    else:
        raise AssertionError("it never ran without a failure")
    assert number > 10


@pytest.mark.parametrize("pace", PACES)
def test_every_gpu_keeps_samples_of_its_own(
    pace: Any, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evonet.backends.cuda import backend

    machine = imaginary_gpus(num_devices=2, pace=pace)
    monkeypatch.setattr(backend, "LEAST_WORK", 1)
    x, targets, genomes = fixed(16, 3), fixed(16, 2), population()
    expected = evonet.compile(genomes, backend="cpu").loss(x, targets)
    for _ in range(3):
        same(evonet.compile(genomes, backend="cuda").loss(x, targets), expected)
    assert {device for _, device in machine.log} == {0, 1}


def test_the_current_gpu_is_another_one_only_for_a_while(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(num_devices=2)
    (device,) = (each for each in usable_devices() if each.index == 1)
    machine.current = 0
    device.empty((3,), np.float32)
    assert machine.current == 0
    machine.fail_from = machine.num_allocations + 1
    with pytest.raises(DeviceMemoryError):
        device.empty((3,), np.float32)
    assert machine.current == 0
