"""Fronts for images on imaginary GPUs: the bits of the cpu, checked accesses, PTX and budgets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import evonet
from evonet.backends.cuda import compiler
from evonet.backends.cuda import images as cuda_images
from evonet.backends.cuda.images import plan_layer
from evonet.errors import DeviceMemoryError, ShapeError
from evonet.images import Conv, ConvFront, Pool
from tests.backends.cuda.test_compile import ARCHS, why_missing
from tests.cupy_stand_in import Machine
from tests.images.test_front import bits, draw_images, fronts
from tests.support.ptx_rules import find_faults

Lend = Callable[..., Machine]
# Kernels and the most registers of a thread; None where it depends.
KERNELS = {
    "convolve": None,
    "image_map": 64,
    "image_pool": 64,
    "image_adjoint": 96,
    "image_slopes": 72,
    "image_spread": 72,
    "image_join": 96,
}
Layers = list[Conv]
Shape = tuple[int, int, int]

# (layers, shape of an image): what tiles, parts and groups find hard.
CASES: dict[str, tuple[Layers, Shape]] = {
    "odd sides": ([Conv(33, (3, 2), 1, 1, "tanh", Pool(3, 2, "average"))], (5, 9, 11)),
    "two layers": ([Conv(7, 2, 2, 2, pool=2), Conv(70, 3, 1, 1)], (3, 13, 10)),
    "more channels than a block": ([Conv(130, 1)], (4, 3, 3)),
    "more pixels than fit": ([Conv(5, 3, 1, 1, pool=2)], (700, 4, 4)),
    "a pixel in several parts": ([Conv(3, (2, 1))], (5000, 3, 2)),
    "a pool in rows": ([Conv(130, 1, activation="identity", pool=Pool(6, 5))], (2, 11, 11)),
    "a pool in parts of rows": ([Conv(130, 1, pool=Pool(19, 1, "average"))], (1, 20, 19)),
    "a window of one pixel": ([Conv(1, 1)], (1, 1, 1)),
    "steps larger than windows": ([Conv(9, 1, 3, 1, pool=Pool(1, 2))], (2, 8, 9)),
}


def pair(layers: Layers, shape: Shape, dtype: Any = np.float32) -> tuple[ConvFront, ConvFront]:
    found = [
        ConvFront(layers, shape, seed=3, dtype=dtype, backend=name) for name in ("cuda", "cpu")
    ]
    assert [front.backend for front in found] == ["cuda", "cpu"]
    return found[0], found[1]


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_gpus_give_the_bits_of_the_cpu(
    case: str, dtype: Any, order: str, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.order = order
    layers, shape = CASES[case]
    gpu, cpu = pair(layers, shape, dtype)
    for zeros in (0.0, 0.8):
        x = draw_images((2, *shape), zeros, True, 5, dtype)
        for path in ("auto", "sparse", "dense"):
            np.testing.assert_array_equal(bits(gpu(x, path)), bits(cpu(x, path)))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    found, wanted = (front(last, channels_last=True) for front in (gpu, cpu))
    np.testing.assert_array_equal(bits(found), bits(wanted))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fronts(), st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.integers(0, 2**32))
def test_random_fronts_have_the_bits_of_the_cpu(
    imaginary_gpus: Lend, front: tuple[Layers, Shape], zeros: float, seed: int
) -> None:
    imaginary_gpus()
    layers, shape = front
    gpu, cpu = pair(layers, shape)
    x = draw_images((2, *shape), zeros, True, seed, np.float32)
    np.testing.assert_array_equal(bits(gpu(x)), bits(cpu(x)))


@pytest.mark.parametrize("case", CASES)
def test_no_thread_reads_or_writes_what_it_should_not(case: str, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.mode = "checked"
    layers, shape = CASES[case]
    gpu, cpu = pair(layers, shape)
    x = draw_images((2, *shape), 0.7, False, 5, np.float32)
    for path in ("auto", "dense"):
        np.testing.assert_array_equal(bits(gpu(x, path)), bits(cpu(x, path)))


def test_tiles_choose_for_themselves_and_count_what_they_did(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    gpu, cpu = pair([Conv(20, 3, padding=1, pool=2), Conv(6, 3)], (8, 12, 12))
    x = draw_images((3, 8, 12, 12), 0.9, False, 1, np.float32)
    x[:, :, :6] = 1  # the upper half is dense
    for path in ("sparse", "dense"):
        gpu(x, path), cpu(x, path)
        assert gpu.counts == cpu.counts
    gpu(x)
    assert 0.2 < gpu.counts[0].skipped_share < 0.6
    assert gpu.counts[0].nonzeros == np.count_nonzero(x)
    gpu(x, "sparse")
    assert gpu.counts[0].multiplied < gpu.counts[0].terms * 0.7


def test_custom_activations_are_compiled_in(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    evonet.register_activation("front_bump", "x / (1 + exp(-x))")
    try:
        gpu, cpu = pair([Conv(5, 3, activation="front_bump")], (1, 6, 6))
        x = draw_images((2, 1, 6, 6), 0.2, False, 0, np.float32)
        np.testing.assert_array_equal(bits(gpu(x)), bits(cpu(x)))
    finally:
        evonet.unregister_activation("front_bump")


def assert_same_gradients(gpu: ConvFront, cpu: ConvFront, x: Any, last: bool = False) -> None:
    y = cpu(x, channels_last=last)
    y[y < 0.1] = 0  # adjoints of 0 contribute nothing
    wanted = cpu.gradients(x, y, inputs=True, channels_last=last)
    found = gpu.gradients(x, y, inputs=True, channels_last=last)
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(bits(found[name]), bits(array), err_msg=name)


# Pools that overlap, steps, padding, both layouts, and more samples than lanes.
BACK_CASES: dict[str, tuple[Layers, Shape, int]] = {
    "odd sides": (*CASES["odd sides"], 2),
    "two layers": (*CASES["two layers"], 35),
    "steps larger than windows": (*CASES["steps larger than windows"], 3),
    "pools that overlap": ([Conv(6, 2, 1, 1, pool=Pool(3, 1)), Conv(5, 2, 2, 1)], (2, 6, 5), 4),
}


@pytest.mark.parametrize("case", BACK_CASES)
def test_derivatives_on_gpus_have_the_bits_of_the_cpu(case: str, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.order = "random"
    layers, shape, count = BACK_CASES[case]
    gpu, cpu = pair(layers, shape)
    x = draw_images((count, *shape), 0.6, case == "odd sides", 5, np.float32)
    assert_same_gradients(gpu, cpu, x)
    assert_same_gradients(gpu, cpu, np.ascontiguousarray(x.transpose(0, 2, 3, 1)), last=True)
    assert machine.launches["image_slopes"] == 2 * len(layers)


@pytest.mark.parametrize(
    ("case", "dtype", "mode"),
    [("pools that overlap", np.float64, "plain"), ("odd sides", np.float32, "checked")],
)
def test_derivatives_in_float64_and_checked(
    case: str, dtype: Any, mode: str, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.mode = mode
    layers, shape, count = BACK_CASES[case]
    gpu, cpu = pair(layers, shape, dtype)
    assert_same_gradients(gpu, cpu, draw_images((count, *shape), 0.4, False, 2, dtype))


def test_derivatives_do_not_depend_on_chunks_of_images(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    layers, shape, _ = BACK_CASES["two layers"]
    gpu, cpu = pair(layers, shape)
    x = draw_images((70, *shape), 0.6, False, 5, np.float32)
    nbytes = 4 * sum(layer.map_size for layer in gpu._kernel._layers)
    monkeypatch.setattr(cuda_images, "NBYTES_AT_ONCE", 27 * nbytes)
    assert_same_gradients(gpu, cpu, x)
    assert machine.launches["image_slopes"] == 3 * len(layers)
    none = gpu.gradients(x[:0], np.zeros((0, gpu.num_features)))
    assert not any(array.any() for array in none.values())


def test_one_failed_allocation_anywhere_does_not_change_derivatives(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    layers, shape, _ = BACK_CASES["two layers"]
    gpu, cpu = pair(layers, shape)
    x = draw_images((3, *shape), 0.5, False, 1, np.float32)
    begin = machine.num_allocations
    gpu.gradients(x, cpu(x))
    for n in range(1, machine.num_allocations - begin + 1):
        front, _ = pair(layers, shape)
        machine.fail_at = {machine.num_allocations + n}
        assert_same_gradients(front, cpu, x)
        assert machine.num_allocations > max(machine.fail_at)


def test_slopes_of_custom_activations_are_compiled_in(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    evonet.register_activation("front_bump", "x / (1 + exp(-x))")
    try:
        gpu, cpu = pair([Conv(5, 3, activation="front_bump", pool=2)], (1, 6, 6))
        assert_same_gradients(gpu, cpu, draw_images((2, 1, 6, 6), 0.2, False, 0, np.float32))
    finally:
        evonet.unregister_activation("front_bump")


def test_other_weights_are_uploaded(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    gpu, cpu = pair(*CASES["two layers"])
    x = draw_images((5, *CASES["two layers"][1]), 0.3, False, 0, np.float32)
    for factor in (1.0, 0.5):
        arrays = {name: factor * array for name, array in cpu.arrays.items()}
        gpu.set_weights(arrays)
        cpu.set_weights(arrays)
        np.testing.assert_array_equal(bits(gpu(x)), bits(cpu(x)))
        assert_same_gradients(gpu, cpu, x)


def test_one_failed_allocation_anywhere_does_not_change_features(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    layers, shape = CASES["two layers"]
    gpu, cpu = pair(layers, shape)
    x = draw_images((5, *shape), 0.5, False, 1, np.float32)
    wanted = cpu(x, "sparse")
    begin = machine.num_allocations
    gpu(x)
    for n in range(1, machine.num_allocations - begin + 1):
        front, _ = pair(layers, shape)
        machine.fail_at = {machine.num_allocations + n}
        np.testing.assert_array_equal(bits(front(x, "sparse")), bits(wanted))
        assert machine.num_allocations > max(machine.fail_at)
        assert front.counts == cpu.counts  # nothing is counted twice


def test_little_memory_splits_a_batch_and_none_is_an_error(imaginary_gpus: Lend) -> None:
    layers, shape = CASES["two layers"]
    x = draw_images((9, *shape), 0.5, False, 1, np.float32)
    machine = imaginary_gpus(memory=48_000)
    gpu, cpu = pair(layers, shape)
    np.testing.assert_array_equal(bits(gpu(x)), bits(cpu(x)))
    assert machine.launches["convolve"] > 2
    imaginary_gpus(memory=12_000)
    gpu, _ = pair(layers, shape)
    with pytest.raises(DeviceMemoryError, match="fewer layers"):
        gpu(x)


def test_many_images_take_turns(imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = imaginary_gpus()
    monkeypatch.setattr(cuda_images, "NBYTES_AT_ONCE", 3 * 4 * 4 * 4)
    gpu, cpu = pair([Conv(3, 2)], (1, 4, 4))
    x = draw_images((8, 1, 4, 4), 0.5, False, 1, np.float32)
    np.testing.assert_array_equal(bits(gpu(x)), bits(cpu(x)))
    assert machine.launches["convolve"] == 3
    assert gpu(x[:0]).shape == (0, gpu.num_features)


def test_shared_memory_of_any_layer_needs_no_permission() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        itemsize = int(rng.choice([4, 8]))
        kernel = rng.integers(1, 12, 2).tolist()
        size = int(rng.integers(1, 40))
        shape = (int(rng.integers(1, 5000)), *(int(k + size + rng.integers(0, 99)) for k in kernel))
        outputs, step = int(rng.integers(1, 600)), int(rng.integers(1, 65))
        layer = plan_layer(shape, (outputs, *kernel, shape[0]), (1, 0, 0, 1, size, step), itemsize)
        assert layer.shared_mem <= 48 << 10
        assert layer.part % 32 == 0
        assert layer.lanes * layer.vector * layer.num_blocks >= outputs
        covers = (layer.tile[1] - 1) * step + size <= layer.group[1]
        assert covers or layer.group[0] == 1


def test_maps_of_too_many_numbers_are_refused(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    with pytest.raises(ShapeError, match="2\\^31"):
        plan_layer((40_000, 300, 300), (1, 1, 1, 40_000), (1, 0, 0, 0, 1, 1), 4)


@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_arithmetic_and_resources(kernel: str, real: str, arch: str) -> None:
    vector = {"VECTOR": 4 if real == "float" else 2} if kernel == "convolve" else {}
    compiled = compiler.compile_kernel(kernel, {"REAL": real, **vector}, arch)
    assert compiled.cubin[:4] == b"\x7fELF"
    assert find_faults(compiled.ptx, real) == []
    assert "warning" not in compiled.log, compiled.log
    assert re.search(
        r"\b0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", compiled.log
    )
    registers = int(re.findall(r"Used (\d+) registers", compiled.log)[0])
    # Five blocks of 128 threads of float32 on a multiprocessor, or four, and three of float64.
    most = 168 if real == "double" else 128 if arch in ("sm_100", "sm_120") else 102
    assert registers <= (KERNELS[kernel] or most)
