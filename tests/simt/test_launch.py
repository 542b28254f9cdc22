"""Launches that a GPU would refuse, or get wrong in silence, fail with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import simt
from tests.simt.samples import MODES, floats, launch, load, load_text, needs_compiler

pytestmark = needs_compiler
every_mode = pytest.mark.parametrize("mode", MODES)

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
        load("memory", mode).get_function("saxpy")((1,), (8,), args)


def test_arguments_that_fit_less_obviously() -> None:
    launch("memory.saxpy", "plain", (1,), (8,), N, A, READ_ONLY, Y)  # const
    one = np.int32(1)
    launch("memory.saxpy", "plain", (1,), (1,), one, A, X[3:], Y[5:])  # views
    launch("memory.saxpy", "plain", (1,), (1,), one, A, np.float32([[1]]), np.zeros((), "f4"))


def test_arrays_of_vectors_and_structs_need_whole_elements() -> None:
    sizes, particles = np.zeros(7, np.int32), np.zeros(1, "V16")
    with pytest.raises(simt.ArgumentError, match=r"float4.* 24 bytes are no multiple of .*16"):
        launch("memory.vectors", "plain", (1,), (1,), X[:6], Y, sizes, particles)
    with pytest.raises(simt.ArgumentError, match=r"struct of 16 bytes.*: got an array of float32"):
        launch("memory.vectors", "plain", (1,), (1,), X, Y, sizes, X)


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
    load_text(source).get_function("take")((1,), (1,), (*values, *more, out))
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
    with pytest.raises(simt.LaunchError, match=r"289 threads.*__launch_bounds__ .*256"):
        launch("barriers.transpose", "plain", (1,), (17, 17), np.int32(17), x, x)


def test_shared_memory_has_to_be_asked_for() -> None:
    kernel = load("barriers", "plain").get_function("block_sum")
    arguments = (np.int32(0), X, Y)
    kernel((1,), (1,), arguments, shared_mem=48 << 10)
    with pytest.raises(simt.LaunchError, match=r"max_dynamic_shared_size_bytes to at least 49153"):
        kernel((1,), (1,), arguments, shared_mem=(48 << 10) + 1)
    with pytest.raises(simt.LaunchError, match=r"together at most 232448"):
        kernel.max_dynamic_shared_size_bytes = 300_000
    kernel.max_dynamic_shared_size_bytes = 227 << 10
    kernel((1,), (1,), arguments, shared_mem=227 << 10)
    static = load("barriers", "plain").get_function("transpose")
    assert static.shared_size_bytes == 16 * 17 * 4
    assert static.max_dynamic_shared_size_bytes == (48 << 10) - 16 * 17 * 4
    with pytest.raises(simt.LaunchError, match=r"1088 bytes of static"):
        static((1,), (1,), (np.int32(0), X, Y), shared_mem=48 << 10)


@every_mode
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_only_the_last_blocks_run(order: str, mode: str) -> None:
    x, y = np.ones(80, np.float32), np.zeros(80, np.float32)
    saxpy = load("memory", mode).get_function("saxpy")
    saxpy((10,), (8,), (np.int32(80), A, x, y), order=order, last_blocks=3)
    np.testing.assert_array_equal(y, [0] * 56 + [1] * 24)


@pytest.mark.parametrize(
    "options",
    [{"order": "sideways"}, {"workers": 0}, {"timeout": 0}, {"last_blocks": 0}, {"last_blocks": 2}],
)
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
    loaded = load_text(FAULTS)
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


# Half of the warp stays at a barrier, and half waits for it.
STUCK = """extern "C" __global__ void stuck(int* x) {
  if (threadIdx.x < 16) __syncthreads();
  x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 0);
}
"""
# Half of the warp leaves, in one kernel before a barrier, in the other before a shuffle.
HALVED = """extern "C" __global__ void open(int* x) {
  if (threadIdx.x < 16) return;
  __syncthreads();
  x[threadIdx.x] = 5;
}
extern "C" __global__ void closed(int* x) {
  if (threadIdx.x < 16) return;
  x[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 0);
}
"""


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_threads_of_a_launch_that_failed_wait_for_nothing_in_the_next(order: str) -> None:
    x = np.zeros(32, np.int32)

    def fail(source: str, name: str) -> simt.Finding:
        with pytest.raises(simt.KernelFault) as caught:
            load_text(source).get_function(name)((1,), (32,), (x,), order=order, seed=1)
        return caught.value.findings[0]

    assert fail(STUCK, "stuck").kind == "deadlock"
    load_text(HALVED).get_function("open")((1,), (32,), (x,), order=order, seed=1)
    assert x.tolist() == [0] * 16 + [5] * 16
    fail(STUCK, "stuck")
    assert fail(HALVED, "closed").location.line == 8  # and not where `stuck` waited


def test_a_fault_in_checked_mode_leaves_the_arrays_alone() -> None:
    source = 'extern "C" __global__ void f(int* x) {\n  x[threadIdx.x] = 1;\n}\n'
    x = np.zeros(8, np.int32)
    with pytest.raises(simt.KernelFault, match=r"x\[8\]; x has 32 bytes, 8 elements"):
        load_text(source, "checked").get_function("f")((1,), (9,), (x,))
    assert (x == 0).all()


def test_faults_are_listed_once_per_line_and_not_without_end() -> None:
    lines = "\n".join(f"  x[{i}] = 1;" for i in range(8, 58))
    source = f'extern "C" __global__ void f(int* x) {{\n{lines}\n}}\n'
    with pytest.raises(simt.KernelFault) as caught:
        load_text(source, "checked").get_function("f")((2,), (1,), (np.zeros(8, np.int32),))
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
