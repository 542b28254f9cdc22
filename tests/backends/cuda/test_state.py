"""States of networks with memory on GPUs: from nothing, from arrays of others, and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evonet
from evonet import Network, Population, ShapeError
from evonet.backends.cuda import backend as cuda_backend
from tests.cupy_stand_in import Machine

Lend = Callable[..., Machine]
KINDS = ("recurrent", "ctrnn", "izhikevich")
each_kind = pytest.mark.parametrize("kind", KINDS)


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.view("u4"), expected.view("u4"))


def pair(kind: Any) -> tuple[Network, Network]:
    """The same networks on imaginary GPUs and on the processor."""
    genomes = Population.random(30, 3, 2, num_nodes=8, num_connections=20, seed=1)
    gpu, cpu = (evonet.compile(genomes, kind, backend=backend) for backend in ("cuda", "cpu"))
    return gpu, cpu


def samples(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, 3)).astype(np.float32)


@each_kind
def test_a_reset_neither_uploads_a_state_nor_frees_the_pool(
    kind: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    gpu, cpu = pair(kind)
    gpu(samples(50, 0))
    for seed in (1, 2):
        sent, released = machine.num_sent, machine.num_released
        gpu.reset()
        cpu.reset()
        x = samples(50, seed)
        assert_same_bits(gpu(x), cpu(x))
        assert machine.num_sent - sent == x.nbytes
        assert machine.num_released == released
        assert_same_bits(gpu.state, cpu.state)


@each_kind
def test_a_first_step_needs_memory_for_one_state_and_a_second_for_two(
    kind: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    gpu, _ = pair(kind)
    gpu.loss(samples(2, 0), np.zeros((2, 2)))  # uploads the genomes
    before = machine.used[0]
    gpu(samples(50, 0))
    state = gpu.state
    assert state is not None
    assert machine.used[0] - before == state.nbytes
    gpu(samples(50, 0))
    gpu(samples(50, 0))
    assert machine.used[0] - before == 2 * state.nbytes
    gpu.reset()
    assert machine.used[0] == before


@each_kind
@pytest.mark.parametrize("num_devices", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_a_state_may_be_an_array_on_a_gpu(
    kind: Any, num_devices: int, dtype: str, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    machine = imaginary_gpus(num_devices=num_devices)
    import cupy

    gpu, cpu = pair(kind)
    for network in (gpu, cpu):
        network(samples(5, 0))
    state = cpu.state
    assert state is not None
    state = (state * 9).astype(dtype)
    place = num_devices - 1
    machine.current = place
    given = cupy.asarray(np.repeat(state, 2, axis=2))[:, :, ::2]  # no contiguous one
    same = cupy.asarray(state)
    machine.current = 0
    for array in (given, same):
        gpu.state, cpu.state = array, state
        for seed in range(3):
            assert_same_bits(gpu(samples(5, seed)), cpu(samples(5, seed)))
        assert_same_bits(gpu.state, cpu.state)
    machine.current = place
    np.testing.assert_array_equal(same.get(), state)  # steps write to a copy


def test_a_state_on_a_gpu_that_cannot_be_read_is_refused(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    import cupy

    gpu, cpu = pair("ctrnn")
    with pytest.raises(ShapeError, match=r"state on the GPU is float16.*state.astype\('float32'\)"):
        gpu.state = cupy.asarray(np.zeros((1, gpu.schedule.num_nodes, 2), np.float16))
    with pytest.raises(ShapeError, match=r"state must have shape \[1, \d+, B\], found \[1, 2, 3\]"):
        gpu.state = cupy.asarray(np.zeros((1, 2, 3), np.float32))
    with pytest.raises(ShapeError, match=r"state is a Array on a GPU.*Copy it first: x.get\(\)"):
        cpu.state = cupy.asarray(np.zeros((1, cpu.schedule.num_nodes, 2), np.float32))
    assert gpu.state is None
