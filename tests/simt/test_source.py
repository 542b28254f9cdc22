"""The SIMT runner finds kernels and shared variables in whatever way CUDA is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import simt
from tests.simt import build
from tests.simt.samples import FOLDER, MODES, ORDERS, bits, floats, needs_compiler, tree_sum
from tests.simt.source import Notes, translate

pytestmark = needs_compiler
every_mode = pytest.mark.parametrize("mode", MODES)


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


def test_what_is_kept_is_not_translated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMT_CACHE", str(tmp_path))
    source = "__constant__ int limit;\n__global__ void mangled() {}\n"
    first = build.build(source, "plain")
    assert first[1] == Notes(unnamed_kernels=["mangled"], constants=["limit"])
    translated: list[bool] = []

    def spy(text: str, guards: bool) -> tuple[str, Notes]:
        translated.append(guards)
        return translate(text, guards)

    monkeypatch.setattr(build, "translate", spy)
    assert build.build(source, "plain") == first
    assert not translated
    for half in (first[0], first[0].with_suffix(".json")):  # one file without the other is nothing
        half.unlink()
        assert build.build(source, "plain") == first
        assert translated.pop() is False
    assert not list(tmp_path.glob("*.lock"))


def test_a_refused_source_is_refused_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVONET_SIMT_CACHE", str(tmp_path))
    for _ in range(2):
        with pytest.raises(simt.CompileError, match=r"x\.cu:7: extern __shared__ outside"):
            build.build('# 7 "x.cu"\nextern __shared__ float x[];\n', "plain")
    assert not list(tmp_path.glob("module-*"))


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
    source = (FOLDER / "barriers.cu").read_text()
    kernel = simt.compile(source).get_function("block_sum")
    x, out = floats(200), np.zeros(4, np.float32)
    for order in ORDERS:
        kernel((4,), (64,), (np.int32(200), x, out), shared_mem=256, order=order)
        assert bits(out) == bits(tree_sum(x, 64))
