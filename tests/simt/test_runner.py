"""The SIMT runner executes CUDA as a GPU would: every primitive, in any order of threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simt.samples import (
    FOLDER,
    MODES,
    ORDERS,
    bits,
    floats,
    launch,
    load,
    load_text,
    needs_compiler,
    tree_sum,
)

pytestmark = needs_compiler
every_mode = pytest.mark.parametrize("mode", MODES)
every_order = pytest.mark.parametrize("order", ORDERS)
few = settings(deadline=None, max_examples=25)


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
        launch(
            "barriers.block_sum", "plain", (20,), (64,), np.int32(x.size), x, out, shared_mem=256
        )
        results[seed] = bits(out) == bits(tree_sum(x, 64))

    results: dict[int, bool] = {}
    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


# ---- barriers --------------------------------------------------------------------------------


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
    source = (FOLDER / "barriers.cu").read_text().replace("out[0] = *flag", "out[0] = 1")
    kernel = load_text(source, mode).get_function("hand_over")
    kernel((1,), (50,), (flag, out), order=order)
    assert (flag[0], out[0]) == (49, 1)


@every_mode
@every_order
def test_the_last_block_sees_what_the_others_wrote(order: str, mode: str) -> None:
    x, part, out = (
        np.arange(96, dtype=np.float32),
        np.zeros(96, np.float32),
        np.zeros(1, np.float32),
    )
    count = np.zeros(1, np.uint32)
    launch("barriers.last_block_sums", mode, (6,), (16,), x, part, count, out, order=order)
    assert out[0] == 2 * x.sum()


# ---- warps -----------------------------------------------------------------------------------


@every_mode
@few
@given(data=st.data())
def test_shuffles_move_what_ptx_says(data: st.DataObject, mode: str) -> None:
    width = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    operand = np.array(
        data.draw(st.lists(st.integers(-99, 99), min_size=64, max_size=64)), np.int32
    )
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
    equal = np.zeros(32, np.uint32)
    arguments = (group, x, ballot, some, every, leader, equal)
    launch("warps.divergent_votes", mode, (1,), (32,), *arguments, **options)
    for g in range(4):
        members = np.flatnonzero(group == g)
        assert (ballot[members] == sum(1 << int(i) for i in members if x[i] & 1)).all()
        assert (some[members] == (x[members] > 5).any()).all()
        assert (every[members] == (x[members] > 1).all()).all()
        assert (leader[members] == x[members[:1]]).all()
        for i in members:
            assert equal[i] == sum(1 << int(j) for j in members if x[i] == x[j])


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
    loaded = load("memory", mode)
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
