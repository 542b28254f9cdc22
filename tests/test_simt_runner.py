"""The SIMT runner executes CUDA as a GPU would: every primitive, in any order of threads."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simt
from hypothesis import given, settings
from hypothesis import strategies as st

SAMPLES = Path(simt.__file__).parent / "samples"
KERNELS = Path(__file__).parent.parent / "kernels"
MODES = ("plain", "checked")
ORDERS = ("forward", "reverse", "random")

every_mode = pytest.mark.parametrize("mode", MODES)
every_order = pytest.mark.parametrize("order", ORDERS)
few = settings(deadline=None, max_examples=25)


@functools.cache
def module(name: str, mode: str) -> simt.Module:
    return simt.compile(SAMPLES / f"{name}.cu", mode=mode)


@functools.cache
def compiled(source: str, mode: str = "plain") -> simt.Module:
    return simt.compile(source, mode=mode)


def launch(sample: str, mode: str, grid: Any, block: Any, *args: Any, **options: Any) -> None:
    """Launches file.kernel of the samples."""
    file, name = sample.split(".")
    module(file, mode).get_function(name)(grid, block, args, **options)


def floats(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n).astype(np.float32)


def bits(x: np.ndarray) -> list[int]:
    return x.view(np.uint32 if x.itemsize == 4 else np.uint64).ravel().tolist()


# ---- grids and blocks ------------------------------------------------------------------------


@every_mode
@every_order
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 127, 997])
def test_saxpy_of_any_size(n: int, order: str, mode: str) -> None:
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    arguments = (np.int32(n), np.float32(2), x, y)
    launch("memory.saxpy", mode, (n // 64 + 1,), (64,), *arguments, order=order)
    assert (y == 2 * x + 1).all()


@every_mode
@every_order
@pytest.mark.parametrize(
    ("grid", "block"),
    [((3,), (5,)), ((2, 3), (7, 3)), ((2, 1, 3), (3, 2, 5)), ((1, 2, 2), (1, 1, 64))],
)
def test_threads_know_where_they_are(grid: Any, block: Any, order: str, mode: str) -> None:
    full_grid, full_block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
    shape = (*full_grid[::-1], *full_block[::-1], 4)
    out = np.zeros(shape, np.int32)
    launch("memory.where_am_i", mode, grid, block, out, order=order)
    bz, by, bx, tz, ty, tx = np.indices(shape[:-1])
    expected = [tx + 1000 * bx, ty + 1000 * by, tz + 1000 * bz, np.full_like(tx, 32 * block[0])]
    assert (out == np.stack(expected, -1)).all()


def test_orders_are_what_they_say() -> None:
    def places(order: str, seed: int = 0) -> list[int]:
        count, place = np.zeros(1, np.int32), np.zeros(64, np.int32)
        launch("memory.arrival", "plain", (4,), (16,), count, place, order=order, seed=seed)
        assert sorted(place) == list(range(64))
        return place.tolist()

    assert places("forward") == list(range(64))
    assert places("reverse") == list(range(64))[::-1]
    assert places("random", 1) == places("random", 1)
    assert places("random", 1) != places("random", 2)
    first_block_came = {places("random", seed)[0] // 16 for seed in range(20)}
    assert first_block_came == {0, 1, 2, 3}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_many_blocks_on_several_os_threads(workers: int) -> None:
    n = 200_000
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    options: dict[str, Any] = {"workers": workers, "order": "random"}
    arguments = (np.int32(n), np.float32(3), x, y)
    launch("memory.saxpy", "plain", (n // 8 + 1,), (8,), *arguments, **options)
    assert (y == 3 * x).all()
    x, out = floats(64 * 500), np.zeros(500, np.float32)
    sums = (np.int32(x.size), x, out)
    launch("barriers.block_sum", "plain", (500,), (64,), *sums, shared_mem=256, **options)
    assert bits(out) == bits(tree_sum(x, 64))


def test_launches_from_several_python_threads_do_not_mix() -> None:
    def run(seed: int) -> None:
        x, out = floats(64 * 20, seed), np.zeros(20, np.float32)
        launch("barriers.block_sum", "plain", (20,), (64,), np.int32(x.size), x, out, shared_mem=256)
        results[seed] = bits(out) == bits(tree_sum(x, 64))

    results: dict[int, bool] = {}
    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


# ---- barriers --------------------------------------------------------------------------------


def tree_sum(x: np.ndarray, block: int) -> np.ndarray:
    rows = np.zeros((-(-x.size // block), block), np.float32)
    rows.ravel()[: x.size] = x
    while rows.shape[1] > 1:
        rows = rows[:, : rows.shape[1] // 2] + rows[:, rows.shape[1] // 2 :]
    return rows[:, 0]


@every_mode
@every_order
@pytest.mark.parametrize("block", [1, 2, 32, 64, 1024])
def test_block_sum_has_the_bits_of_its_tree(block: int, order: str, mode: str) -> None:
    x = floats(2 * block + block // 2 + 1)
    grid = -(-x.size // block)
    out = np.zeros(grid, np.float32)
    arguments = (np.int32(x.size), x, out)
    options: dict[str, Any] = {"shared_mem": 4 * block, "order": order, "seed": block}
    launch("barriers.block_sum", mode, (grid,), (block,), *arguments, **options)
    assert bits(out) == bits(tree_sum(x, block))


@every_mode
@every_order
@pytest.mark.parametrize("n", [1, 16, 37])
def test_transpose_through_a_static_tile(n: int, order: str, mode: str) -> None:
    x, y = floats(n * n).reshape(n, n), np.zeros((n, n), np.float32)
    blocks = -(-n // 16)
    launch("barriers.transpose", mode, (blocks, blocks), (16, 16), np.int32(n), x, y, order=order)
    assert (y == x.T).all()


@every_mode
@every_order
def test_barriers_that_vote(order: str, mode: str) -> None:
    x = np.array([[1, 2, 3, 1, 2] * 7, [1, 0, 1, 0, 1] * 7], np.int32)
    count, every, some = (np.zeros_like(x) for _ in range(3))
    launch("barriers.votes", mode, (2,), (35,), x, count, every, some, order=order)
    assert (count == (x > 1).sum(1, keepdims=True)).all()
    assert (every == x.all(1, keepdims=True)).all()
    assert (some == (x > 2).any(1, keepdims=True)).all()


@every_order
def test_exited_threads_do_not_hold_a_barrier(order: str) -> None:
    out = np.zeros(40, np.int32)
    launch("barriers.some_return_early", "plain", (1,), (64,), np.int32(40), out, order=order)
    assert (out == 40).all()


@every_mode
@every_order
def test_a_sleeping_thread_lets_the_others_run(order: str, mode: str) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    source = (SAMPLES / "barriers.cu").read_text().replace("out[0] = *flag", "out[0] = 1")
    kernel = compiled(source, mode).get_function("hand_over")
    kernel((1,), (50,), (flag, out), order=order)
    assert (flag[0], out[0]) == (49, 1)


@every_mode
@every_order
def test_the_last_block_sees_what_the_others_wrote(order: str, mode: str) -> None:
    x, part, out = np.arange(96, dtype=np.float32), np.zeros(96, np.float32), np.zeros(1, np.float32)
    count = np.zeros(1, np.uint32)
    launch("barriers.last_block_sums", mode, (6,), (16,), x, part, count, out, order=order)
    assert out[0] == 2 * x.sum()


# ---- warps -----------------------------------------------------------------------------------


@every_mode
@few
@given(data=st.data())
def test_shuffles_move_what_ptx_says(data: st.DataObject, mode: str) -> None:
    width = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    operand = np.array(data.draw(st.lists(st.integers(-99, 99), min_size=64, max_size=64)), np.int32)
    x, y = np.arange(64, dtype=np.int32) * 7, floats(64).astype(np.float64)
    out, wide = np.zeros((4, 64), np.int32), np.zeros(64)
    options: dict[str, Any] = {"order": data.draw(st.sampled_from(ORDERS)), "seed": 5}
    arguments = (np.int32(width), operand, x, y, out, wide)
    launch("warps.shuffles", mode, (1,), (64,), *arguments, **options)

    lane = np.arange(64)
    first = lane - lane % width  # of the segment
    last, k = first + width - 1, int(operand[0]) & 31
    chosen = first + operand % width
    up, down = lane - k, lane + k
    flipped = lane - lane % 32 + (lane % 32 ^ k)
    sources = [
        chosen,
        np.where(up < first, lane, up),
        np.where(down > last, lane, down),
        np.where(flipped > last, lane, flipped),
    ]
    assert (out == x[np.stack(sources)]).all()
    assert bits(wide) == bits(y[chosen])


@every_mode
@every_order
def test_warp_sum_by_butterfly(order: str, mode: str) -> None:
    x, out = floats(3 * 96), np.zeros(3 * 96, np.float32)
    launch("warps.warp_sum", mode, (3,), (96,), x, out, order=order)
    sums = x.reshape(-1, 32)
    for lanes in (16, 8, 4, 2, 1):
        sums = sums + sums[:, np.arange(32) ^ lanes]
    assert bits(out) == bits(sums)


@every_mode
@few
@given(data=st.data())
def test_groups_of_lanes_vote_apart(data: st.DataObject, mode: str) -> None:
    draw = st.lists(st.integers(0, 3), min_size=32, max_size=32)
    group = np.array(data.draw(draw), np.int32)
    x = np.array(data.draw(st.lists(st.integers(0, 7), min_size=32, max_size=32)), np.int32)
    ballot, some, every, leader = (np.zeros(32, np.uint32), *np.zeros((3, 32), np.int32))
    options: dict[str, Any] = {"order": data.draw(st.sampled_from(ORDERS)), "seed": 3}
    arguments = (group, x, ballot, some, every, leader)
    launch("warps.divergent_votes", mode, (1,), (32,), *arguments, **options)
    for g in range(4):
        members = np.flatnonzero(group == g)
        assert (ballot[members] == sum(1 << int(i) for i in members if x[i] & 1)).all()
        assert (some[members] == (x[members] > 5).any()).all()
        assert (every[members] == (x[members] > 1).all()).all()
        assert (leader[members] == x[members[:1]]).all()


@every_mode
@every_order
def test_lanes_share_memory_between_syncwarps(order: str, mode: str) -> None:
    x, out = np.arange(128, dtype=np.float32) % 5, np.zeros(128, np.float32)
    launch("warps.sync_and_share", mode, (1,), (128,), x, out, order=order)
    assert (out == x.reshape(4, 32).cumsum(1).ravel()).all()


@every_mode
def test_nobody_waits_for_lanes_beyond_the_block(mode: str) -> None:
    out = np.zeros(50, np.int32)
    launch("warps.partial_warp", mode, (1,), (50,), out)
    assert out.tolist() == [32] * 32 + [18] * 18


def test_the_active_mask_holds_the_caller() -> None:
    out = np.zeros(40, np.int32)
    launch("warps.active", "plain", (1,), (40,), out)
    assert (out == 1).all()


# ---- memory ----------------------------------------------------------------------------------


@every_mode
@every_order
@pytest.mark.parametrize(("n", "blocks"), [(0, 1), (1, 3), (4099, 4)])
def test_histogram_in_dynamic_shared_memory(n: int, blocks: int, order: str, mode: str) -> None:
    value = np.random.default_rng(n).integers(0, 256, n, np.uint8)
    bins = np.zeros(61, np.int32)
    options: dict[str, Any] = {"shared_mem": 4 * 61, "order": order}
    arguments = (np.int32(n), np.int32(61), value, bins)
    launch("memory.histogram", mode, (blocks,), (96,), *arguments, **options)
    assert (bins == np.bincount(value % 61, minlength=61)).all()


@pytest.mark.parametrize("workers", [1, 2])
@every_mode
def test_every_atomic(mode: str, workers: int) -> None:
    n = 100
    x = np.random.default_rng(1).integers(-1000, 1000, n, np.int32)
    ints = np.array([5, 5, 5, 5, -1, 0, 0], np.int32)
    words = np.zeros(8 + n, np.uint32)
    words[1] = 2**32 - 1
    longs = np.zeros(4, np.uint64)
    single, double = np.zeros(1, np.float32), np.zeros(1)
    arguments = (np.int32(n), x, ints, words, longs, single, double)
    launch("memory.all_atomics", mode, (10,), (12,), *arguments, order="random", workers=workers)
    assert ints.tolist() == [
        5 + x.sum(),
        5 - x.sum(),
        min(5, x.min()),
        max(5, x.max()),
        np.bitwise_and.reduce(x),
        np.bitwise_or.reduce(x),
        np.bitwise_xor.reduce(x),
    ]
    unsigned = x.view(np.uint32)
    assert words[0] == np.add.reduce(unsigned, dtype=np.uint32)
    assert (words[1], words[2]) == (unsigned.min(), unsigned.max())
    assert (words[3], words[4]) == (n % 7, (-n) % 7)
    assert sorted([*words[8:].tolist(), int(words[5])]) == list(range(n + 1))
    assert longs[0] == int(x.sum()) % 2**64
    assert longs[1] == (x.astype(np.int64) << 32).view(np.uint64).max()
    assert longs[2] == n
    assert (single[0], double[0]) == (n / 2, n / 4)


@every_mode
def test_vectors_and_structs(mode: str) -> None:
    x, y = floats(4 * 20).reshape(20, 4), np.zeros((20, 2), np.float32)
    particles = np.zeros(20, np.dtype([("position", np.float32, 3), ("id", np.int32)]))
    sizes = np.zeros(7, np.int32)
    launch("memory.vectors", mode, (1,), (20,), x, y, sizes, particles)
    assert (y == np.stack([x[:, 0] + x[:, 1], x[:, 2] + x[:, 3]], 1)).all()
    assert (particles["position"] == x[:, :3]).all()
    assert (particles["id"] == np.arange(20)).all()
    assert sizes.tolist() == [808, 1204, 1616, 1616, 404, 1616, 1204]


@every_mode
def test_constant_and_device_variables(mode: str) -> None:
    loaded = module("memory", mode)
    loaded.get_global("coefficients").view(np.float32)[:] = [1, 2, 3, 4]
    calls = loaded.get_global("num_calls").view(np.uint32)
    calls[:] = 0
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    for _ in range(3):
        launch("memory.polynomial", mode, (1,), (5,), x, y)
    assert (y == 1 + 2 * x + 3 * x**2 + 4 * x**3 + 3).all()
    assert calls[0] == 15


@every_mode
def test_dynamic_shared_memory_of_several_types(mode: str) -> None:
    x, y = floats(100), np.zeros(100, np.float32)
    order = np.random.default_rng(2).permutation(100).astype(np.uint8)
    launch("memory.carved", mode, (1,), (100,), x, order, y, shared_mem=500)
    assert (y[order] == x).all()
    launch("memory.rows", mode, (1,), (64,), x[:64], y, shared_mem=256)
    assert (y[:64].reshape(8, 8) == x[:64].reshape(8, 8)[:, ::-1]).all()


@every_mode
def test_memory_functions_and_null_pointers(mode: str) -> None:
    x, y = floats(40), np.ones(40, np.float32)
    launch("memory.copy_bytes", mode, (1,), (10,), x, y)
    expected = np.zeros((10, 4), np.float32)
    expected[:, 0] = x.reshape(10, 4)[:, 3]
    assert (y.reshape(10, 4) == expected).all()
    launch("memory.optional", mode, (1,), (40,), np.intp(0), y)
    assert (y == -1).all()
    launch("memory.optional", mode, (1,), (40,), x, y)
    assert (y == x).all()


def test_uninitialised_shared_memory_is_not_a_number() -> None:
    out = np.zeros(64, np.float32)
    launch("memory.uninitialised", "plain", (2,), (32,), out)
    assert (out[:32] == 1).all()
    assert np.isnan(out[32:]).all()


@every_mode
def test_arrays_that_overlap_stay_one_memory(mode: str) -> None:
    x = np.arange(10, dtype=np.float32)
    launch("memory.saxpy", mode, (1,), (9,), np.int32(9), np.float32(1), x[:9], x[:9])
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 9]


# ---- arithmetic ------------------------------------------------------------------------------


@every_mode
def test_fused_multiply_add_rounds_once_and_nothing_else_fuses(mode: str) -> None:
    a = np.array([1 + 2**-12, 3, 1e-30, 2.5], np.float32)
    c = np.array([-(1 + 2**-11), 0.1, 1e-38, -6.25], np.float32)
    out = np.zeros((5, 4), np.float32)
    launch("arithmetic.fused", mode, (1,), (4,), a, a, c, out)
    assert out[0, 0] == np.float32(2**-24)
    assert out[1, 0] == 0
    assert bits(out[1]) == bits(a * a + c)
    assert bits(out[2]) == bits(a * a + c)
    assert bits(out[3]) == bits(a / a)
    assert bits(out[4]) == bits(np.sqrt(a))


@every_mode
def test_double_arithmetic(mode: str) -> None:
    a = np.array([1 + 2.0**-30, 3, 1e-300, 2.5])
    c = np.array([-(1 + 2.0**-29), 0.1, 1e-308, -6.25])
    out = np.zeros((4, 4))
    launch("arithmetic.fused_double", mode, (1,), (4,), a, a, c, out)
    assert out[0, 0] == 2.0**-60
    assert bits(out[1]) == bits(a * a + c)
    assert bits(out[2]) == bits(a / a)
    assert bits(out[3]) == bits(np.sqrt(a))


@every_mode
def test_denormals_are_not_flushed(mode: str) -> None:
    tiny = np.full(1, np.finfo(np.float32).tiny)
    out = np.zeros((5, 1), np.float32)
    half = np.full(1, 0.5, np.float32)
    launch("arithmetic.fused", mode, (1,), (1,), tiny, half, np.zeros(1, np.float32), out)
    assert out[0, 0] == tiny[0] / 2 > 0


@every_mode
@few
@given(words=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40))
def test_integer_intrinsics(words: list[int], mode: str) -> None:
    n = len(words)
    x = np.array(words, np.uint32)
    out, mixed, high = np.zeros((6, n), np.int32), np.zeros((2, n), np.uint32), np.zeros(n, np.uint64)
    launch("arithmetic.bits", mode, (1,), (n,), x, out, mixed, high)
    wide = [a << 32 | b for a, b in zip(words, reversed(words), strict=True)]
    assert out[0].tolist() == [w.bit_count() for w in words]
    assert out[1].tolist() == [(w & -w).bit_length() for w in words]
    assert out[2].tolist() == [32 - w.bit_length() for w in words]
    assert out[3].tolist() == [w.bit_count() for w in wide]
    assert out[4].tolist() == [64 - w.bit_length() for w in wide]
    assert out[5].tolist() == [w & 0x7F7FFFFF for w in words]
    assert mixed[0].tolist() == [int(f"{w:032b}"[::-1], 2) for w in words]
    assert mixed[1].tolist() == [a * b >> 32 for a, b in zip(words, reversed(words), strict=True)]
    assert high.tolist() == [w * (2**64 - 1 - w) >> 64 for w in wide]


@every_mode
def test_minimum_maximum_and_conversion(mode: str) -> None:
    a = np.array([0.0, -0.0, np.nan, 1.0, 3e9, -3e9, 2.5, np.nan], np.float32)
    b = np.array([-0.0, 0.0, 2.0, np.nan, 1.0, 1.0, 7.0, np.nan], np.float32)
    out, clamped = np.zeros((4, 8), np.float32), np.zeros((3, 8), np.int32)
    launch("arithmetic.min_max", mode, (1,), (8,), a, b, out, clamped)
    small = np.array([-0.0, -0.0, 2, 1, 1, -3e9, 2.5, np.nan], np.float32)
    large = np.array([0.0, 0.0, 2, 1, 3e9, 1, 7, np.nan], np.float32)
    for row, expected in zip(out, (small, large, small, large), strict=True):
        assert bits(row[:7]) == bits(expected[:7])
        assert np.isnan(row[7])
    assert clamped[0].tolist() == [0, 0, 0, 1, 2**31 - 1, -(2**31), 2, 0]
    assert clamped[1].tolist() == [0, 0, 0, 1, 2**31 - 1, -(2**31), 2, 0]
    assert (clamped[2] == -1 + 3 + 5).all()


@every_mode
def test_portable_headers_take_their_device_path(mode: str) -> None:
    source = """
#include "portable.h"
#if !defined(__CUDACC__) || !defined(EVONET_SIMT) || defined(EVONET_X86) || __CUDA_ARCH__ < 700
#error "not the device path"
#endif
extern "C" __global__ void fuse(const float* a, float* out) {
  out[threadIdx.x] = evonet::fused(a[0], a[0], a[1]);
}
"""
    kernel = simt.compile(source, include_dirs=[KERNELS], mode=mode).get_function("fuse")
    out = np.zeros(3, np.float32)
    kernel((1,), (3,), (np.array([1 + 2**-12, -(1 + 2**-11)], np.float32), out))
    assert (out == np.float32(2**-24)).all()


# ---- source ----------------------------------------------------------------------------------


@every_mode
def test_kernels_are_found_however_they_are_written(mode: str) -> None:
    source = r"""
// __global__ void in_a_comment(int* x) {}
const char* text = "__global__ void in_a_string(int* x) { \"";
#define KERNEL(name, value) \
  extern "C" __global__ void name(int* x) { x[threadIdx.x] = value; }
KERNEL(from_a_macro, 1'000)
extern "C" __global__ void declared(int* x);
extern "C" {
__global__ void __launch_bounds__(2 * 32, 1) in_a_block(int* __restrict__ x) { x[threadIdx.x] = 2; }
__launch_bounds__(SIZE) __global__ void bounds_first(int* x) { { x[threadIdx.x] = 3; } }
}
namespace inner {
extern "C" __global__ void
in_a_namespace(int *x,
               const int (*unused)[4], void (*callback)(int, int))
{
  x[threadIdx.x] = '}' - '{' + 2;
}
}  // namespace inner
template <int N> __global__ void templated(int* x) { x[threadIdx.x] = N; }
extern "C" __global__ void declared(int* x) { x[threadIdx.x] = 4; }
#ifdef NEVER
extern "C" __global__ void in_a_dead_branch(int* x) {}
#endif
extern "C" __global__ void nothing() {}
__global__ void mangled(int* x) {}
"""
    loaded = simt.compile(source, defines={"SIZE": 8}, mode=mode)
    names = ["bounds_first", "declared", "from_a_macro", "in_a_block", "in_a_namespace", "nothing"]
    assert loaded.kernel_names == names
    expected = {"from_a_macro": 1000, "in_a_block": 2, "bounds_first": 3, "declared": 4}
    for name, value in expected.items():
        x = np.zeros(8, np.int32)
        loaded.get_function(name)((1,), (8,), (x,))
        assert (x == value).all()
    loaded.get_function("nothing")((1,), (1,), ())
    assert loaded.get_function("bounds_first").max_threads_per_block == 8
    parameters = loaded.get_function("in_a_namespace").parameters
    assert [p.is_pointer for p in parameters] == [True, True, True]
    with pytest.raises(simt.CompileError, match='mangled is not extern "C"'):
        loaded.get_function("mangled")
    with pytest.raises(simt.CompileError, match="no kernel other; there are bounds_first"):
        loaded.get_function("other")


@every_mode
def test_shared_variables_are_found_however_they_are_declared(mode: str) -> None:
    source = """
#define SHARED __shared__
struct Pair { int first; long long second; };
__shared__ int global_count;
template <int N> __device__ int sum(int value) {
  static __shared__ int part[N];
  part[threadIdx.x] = value;
  __syncthreads();
  int total = 0;
  for (int i = 0; i < N; ++i) total += part[i];
  __syncthreads();
  return total;
}
extern "C" __global__ void several(int* out) {
  SHARED int a, b[3];
  __shared__ Pair pair[2];
  __shared__ struct { short x; char y; } nested;
  alignas(16) __shared__ float aligned[4];
  volatile __shared__ char letter;
  if (threadIdx.x == 0) {
    a = 1; b[2] = 2; pair[1].second = 3; nested.x = 4; letter = 5; global_count = 6; aligned[0] = 7;
  }
  __syncthreads();
  out[threadIdx.x] = a + b[2] + int(pair[1].second) + nested.x + letter + global_count +
                     int(aligned[0]) + sum<4>(threadIdx.x) + sum<2 + 2>(1);
  out[threadIdx.x] += 1000 * (reinterpret_cast<unsigned long long>(aligned) % 16 != 0);
}
"""
    kernel = simt.compile(source, mode=mode).get_function("several")
    out = np.zeros(4, np.int32)
    for order in ORDERS:
        kernel((1,), (4,), (out,), order=order)
        assert out.tolist() == [28 + 6 + 4] * 4
    if mode == "checked":
        assert kernel.shared_size_bytes >= 4 + 12 + 32 + 4 + 16 + 1 + 4 + 16


def test_lines_of_headers_are_known(tmp_path: Path) -> None:
    (tmp_path / "inner.h").write_text("\n\n__device__ void put(int* x) {\n  x[5] = 1;\n}\n")
    source = '#include "inner.h"\nextern "C" __global__ void run(int* x) { put(x); }\n'
    kernel = simt.compile(source, include_dirs=[tmp_path], mode="checked").get_function("run")
    with pytest.raises(simt.KernelFault) as caught:
        kernel((1,), (1,), (np.zeros(5, np.int32),))
    (finding,) = caught.value.findings
    assert str(finding.location).endswith("inner.h:4")


def test_a_module_is_compiled_again_when_a_header_changes(tmp_path: Path) -> None:
    def answer() -> tuple[int, Path]:
        loaded = simt.compile(source, include_dirs=[tmp_path])
        out = np.zeros(1, np.int32)
        loaded.get_function("run")((1,), (1,), (out,))
        return int(out[0]), loaded.path

    source = '#include "answer.h"\nextern "C" __global__ void run(int* x) { x[0] = ANSWER; }\n'
    (tmp_path / "answer.h").write_text("#define ANSWER 41\n")
    first = answer()
    assert answer() == first
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    assert answer()[0] == 42
    assert answer()[1] != first[1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('extern "C" __global__ void f(int* x) {\n  x[0] = y;\n}\n', "kernel.cu:2:.*y.*declared"),
        ('extern "C" __global__ void f(float* x) {\n  *x = expf(*x);\n}\n', "expf"),
        ("extern __shared__ float x[];\n", "kernel.cu:1: extern __shared__ outside of a function"),
        ('extern "C" __global__ void f() {\n  extern __shared__ int x;\n}\n', "kernel.cu:2.*array"),
        ('extern "C" __global__ void f(int* x) {\n', "kernel.cu:1"),
        ("no_such_file.cu", "no file .*no_such_file.cu"),
    ],
)
def test_compile_errors_name_the_line(source: str, message: str) -> None:
    with pytest.raises(simt.CompileError, match=message):
        simt.compile(source)


def test_fibers_work_without_assembly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMT_UCONTEXT", "1")
    source = (SAMPLES / "barriers.cu").read_text()
    kernel = simt.compile(source).get_function("block_sum")
    x, out = floats(200), np.zeros(4, np.float32)
    for order in ORDERS:
        kernel((4,), (64,), (np.int32(200), x, out), shared_mem=256, order=order)
        assert bits(out) == bits(tree_sum(x, 64))


# ---- arguments -------------------------------------------------------------------------------

X, Y = np.zeros(8, np.float32), np.zeros(8, np.float32)
N, A = np.int32(8), np.float32(1)
READ_ONLY = np.zeros(8, np.float32)
READ_ONLY.flags.writeable = False


@every_mode
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((N, A, X), r"saxpy: 3 arguments for 4 parameters \(int n, float a, const float\* x, "),
        ((N, A, X, Y, Y), "5 arguments for 4 parameters"),
        ((8, A, X, Y), r"argument 0, int n: got a Python int, .* int64 .*np.int32\(8\)"),
        ((N, 1.0, X, Y), r"argument 1, float a: got a Python float, .*np.float32\(1.0\)"),
        ((True, A, X, Y), "got a Python bool"),
        ((np.int64(8), A, X, Y), "argument 0, int n: got np.int64; pass np.int32"),
        ((np.uint32(8), A, X, Y), "got np.uint32; pass np.int32"),
        ((N, np.float64(1), X, Y), "got np.float64; pass np.float32"),
        ((X, A, X, Y), "needs a NumPy scalar, got ndarray"),
        ((N, A, X.astype(np.float64), Y), r"argument 2, const float\* x: got an array of float64"),
        ((N, A, X, Y.view(np.int32)), r"argument 3, float\* y: got an array of int32"),
        ((N, A, X[::2], Y), "not C-contiguous"),
        ((N, A, X.reshape(2, 4).T, Y), "not C-contiguous"),
        ((N, A, X.tolist(), Y), "needs an array, got list"),
        ((N, A, None, Y), "needs an array, got NoneType"),
        ((N, A, np.intp(1), Y), "needs an array, got int64"),
        ((N, A, X, READ_ONLY), "read-only but the parameter is not const"),
        ("abcd", "args is str; give a tuple"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, message: str, mode: str) -> None:
    with pytest.raises(simt.ArgumentError, match=message):
        module("memory", mode).get_function("saxpy")((1,), (8,), args)


def test_arguments_that_fit_less_obviously() -> None:
    launch("memory.saxpy", "plain", (1,), (8,), N, A, READ_ONLY, Y)  # const
    launch("memory.saxpy", "plain", (1,), (1,), np.int32(1), A, X[3:], Y[5:])  # views
    launch("memory.saxpy", "plain", (1,), (1,), np.int32(1), A, np.float32([[1]]), np.zeros((), "f4"))
    with pytest.raises(simt.ArgumentError, match="float4.* 24 bytes are no multiple of .*16"):
        arguments = (np.zeros(6, np.float32), Y, np.zeros(7, np.int32), np.zeros(1, "V16"))
        launch("memory.vectors", "plain", (1,), (1,), *arguments)
    with pytest.raises(simt.ArgumentError, match="struct of 16 bytes.*: got an array of float32"):
        launch("memory.vectors", "plain", (1,), (1,), X, Y, np.zeros(7, np.int32), X)


def test_values_of_every_type_arrive() -> None:
    source = """
enum Kind : unsigned char { A, B };
extern "C" __global__ void take(bool a, signed char b, unsigned short c, long long d,
                                unsigned long long e, double f, Kind g, float2 h, double* out) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = h.y;
}
"""
    pair = np.zeros(1, np.dtype([("x", "f4"), ("y", "f4")]))
    pair["y"] = 2.5
    values = (np.bool_(True), np.int8(-3), np.uint16(65535), np.int64(-(2**40)))
    more = (np.uint64(2**40), np.float64(0.1), np.uint8(1), pair[0])
    out = np.zeros(8)
    compiled(source).get_function("take")((1,), (1,), (*values, *more, out))
    assert out.tolist() == [1, -3, 65535, -(2**40), 2**40, 0.1, 1, 2.5]


# ---- launch limits ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ((1,), (1025,), "block .*x is 1025, allowed is 1 to 1024"),
        ((1,), (1, 1, 65), "z is 65, allowed is 1 to 64"),
        ((1,), (32, 33), "has 1056 threads, allowed are 1024"),
        ((1,), (0,), "x is 0"),
        ((0,), (1,), "grid .*x is 0.*Skip the launch"),
        ((1, 65536), (1,), "y is 65536, allowed is 1 to 65535"),
        ((2**31,), (1,), "x is 2147483648"),
        ((1, 1, 1, 1), (1,), "give a tuple of 1 to 3 integers"),
        (1, (1,), "give a tuple of 1 to 3 integers"),
    ],
)
def test_launches_that_a_gpu_refuses(grid: Any, block: Any, message: str) -> None:
    with pytest.raises(simt.LaunchError, match=message):
        launch("memory.saxpy", "plain", grid, block, N, A, X, Y)


def test_launch_bounds_hold() -> None:
    x = np.zeros((17, 17), np.float32)
    with pytest.raises(simt.LaunchError, match="289 threads.*__launch_bounds__ .*256"):
        launch("barriers.transpose", "plain", (1,), (17, 17), np.int32(17), x, x)


def test_shared_memory_has_to_be_asked_for() -> None:
    kernel = module("barriers", "plain").get_function("block_sum")
    arguments = (np.int32(0), X, Y)
    kernel((1,), (1,), arguments, shared_mem=48 << 10)
    with pytest.raises(simt.LaunchError, match="max_dynamic_shared_size_bytes to at least 49153"):
        kernel((1,), (1,), arguments, shared_mem=(48 << 10) + 1)
    with pytest.raises(simt.LaunchError, match="together at most 232448"):
        kernel.max_dynamic_shared_size_bytes = 300_000
    kernel.max_dynamic_shared_size_bytes = 227 << 10
    kernel((1,), (1,), arguments, shared_mem=227 << 10)
    static = module("barriers", "plain").get_function("transpose")
    assert static.shared_size_bytes == 16 * 17 * 4
    assert static.max_dynamic_shared_size_bytes == (48 << 10) - 16 * 17 * 4
    with pytest.raises(simt.LaunchError, match="1088 bytes of static"):
        static((1,), (1,), (np.int32(0), X, Y), shared_mem=48 << 10)


@pytest.mark.parametrize("options", [{"order": "sideways"}, {"workers": 0}, {"timeout": 0}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(simt.LaunchError, match=str(next(iter(options)))):
        launch("memory.saxpy", "plain", (1,), (8,), N, A, X, Y, **options)


# ---- faults ----------------------------------------------------------------------------------

FAULTS = """
extern "C" __global__ void deadlock(int* x) {
  if (threadIdx.x == 3) __syncthreads();
  else x[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);
}
extern "C" __global__ void exited_lane(int* x) {
  if (threadIdx.x < 4) return;
  x[threadIdx.x] = __ballot_sync(0xffffffff, 1);
}
extern "C" __global__ void wild(int* x) {
  if (blockIdx.x == 2) x[threadIdx.x * 1000000000000LL] = 1;
}
extern "C" __global__ void endless(int* x) {
  while (atomicAdd(x, 0) == 0) {
  }
}
extern "C" __global__ void overflow(int* x) {
  volatile char large[300000];
  for (int i = 0; i < 300000; ++i) large[i] = 1;
  x[0] = large[x[1]];
}
extern "C" __global__ void zero(int* x) {
  x[0] = 7 / x[1];
}
extern "C" __global__ void asserts(int* x) {
  assert(x[0] == 1);
}
extern "C" __global__ void fine(int* x) { x[threadIdx.x] = 5; }
"""


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("name", "kind", "line", "message"),
    [
        ("deadlock", "deadlock", 4, "lanes 0x00000008 of mask 0xffffffff, which do not come"),
        ("exited_lane", "warp-mask", 8, "of which lanes 0x0000000f exited"),
        ("wild", "crash", 11, "belongs to no array"),
        ("endless", "timeout", 14, "still runs after 0.2 seconds"),
        ("overflow", "crash", 19, "more than 256 KB of local variables"),
        ("zero", "crash", 23, "divides an integer by zero"),
        ("asserts", "assertion", 26, r"fails assert\(x\[0\] == 1\)"),
    ],
)
def test_a_fault_ends_the_launch_and_nothing_else(
    name: str, kind: str, line: int, message: str, workers: int
) -> None:
    loaded = compiled(FAULTS)
    x = np.zeros(64, np.int32)
    with pytest.raises(simt.KernelFault, match=message) as caught:
        loaded.get_function(name)((4,), (32,), (x,), timeout=0.2, workers=workers)
    finding = caught.value.findings[0]
    assert (finding.kind, finding.kernel, finding.location.line) == (kind, name, line)
    assert finding.location.file == "kernel.cu"
    if kind != "crash":
        assert f"kernel.cu:{line}: {kind}: kernel {name}, block (" in str(caught.value)
    loaded.get_function("fine")((1,), (64,), (x,))
    assert (x == 5).all()


def test_a_fault_in_checked_mode_leaves_the_arrays_alone() -> None:
    source = 'extern "C" __global__ void f(int* x) {\n  x[threadIdx.x] = 1;\n}\n'
    x = np.zeros(8, np.int32)
    with pytest.raises(simt.KernelFault, match=r"x\[8\]; x has 32 bytes, 8 elements"):
        compiled(source, "checked").get_function("f")((1,), (9,), (x,))
    assert (x == 0).all()


def test_faults_are_listed_once_per_line_and_not_without_end() -> None:
    lines = "\n".join(f"  x[{i}] = 1;" for i in range(8, 58))
    source = f'extern "C" __global__ void f(int* x) {{\n{lines}\n}}\n'
    with pytest.raises(simt.KernelFault) as caught:
        compiled(source, "checked").get_function("f")((2,), (1,), (np.zeros(8, np.int32),))
    assert [f.location.line for f in caught.value.findings] == list(range(2, 52))
    assert {f.count for f in caught.value.findings} == {2}
    assert str(caught.value).count("\n") == simt.KernelFault.SHOWN
    assert str(caught.value).endswith("... and 30 more")


def test_a_view_is_as_misaligned_as_on_a_gpu() -> None:
    x, y, sizes = floats(41), np.zeros(20, np.float32), np.zeros(7, np.int32)
    particles = np.zeros(10, "V16")
    launch("memory.vectors", "checked", (1,), (10,), x[:40], y, sizes, particles)
    with pytest.raises(simt.KernelFault, match=r"misaligned.*x\[0\].* no multiple of 16"):
        launch("memory.vectors", "checked", (1,), (10,), x[1:], y, sizes, particles)
