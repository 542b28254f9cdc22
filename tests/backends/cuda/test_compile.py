"""Kernels through NVRTC, for every architecture: arithmetic, registers, the cache.

Needs CuPy and NVRTC, but no GPU: pip install '.[cuda13]'.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import genetics_steps
from evonet import CompileError
from evonet.backends.cuda import compiler
from evonet.backends.cuda.layout import C_TYPES
from evonet.backends.cuda.nvrtc import Compiled, compile_source, nvrtc_version
from evonet.backends.cuda.plan import (
    GRID_COPIES,
    ROLLOUT_REGISTERS,
    STATIC_SHARED,
    WIDE_REGISTERS,
    option_sets,
)
from evonet.backends.cuda.scheduling.plan import REGISTERS as COMPILE_REGISTERS
from evonet.backends.cuda.scheduling.plan import option_sets as scheduling_sets
from evonet.functions.expressions.cuda_source import write_header
from evonet.functions.expressions.expression import make_expression
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import resource_folder
from tests.support.ptx_rules import find_faults

ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
SQUARE_SHARED = 32 * 33 * 8  # bytes: a square of numbers, with a column that nobody reads
OPTIONS = {"REAL": "float", "GLOBAL_VALUES": 0, "WIDE_TEAM": 0}


CUSTOM_FUNCTIONS: Any = (
    (
        "activation",
        len(ACTIVATIONS),
        (
            "sigmoid(x) + exp(x) * log(x)",
            "sin(x) + cos(x) * tanh(x) - floor(x) + sqrt(abs(x)) ** -3",
            "1 if 0 < x <= 1 and not x == 0.1 or x > 5 else clip(min(x, 1, -x), -1, max(x, 0.1))",
        ),
    ),
    (
        "aggregation",
        len(AGGREGATIONS),
        ("max(x) + log(sum(exp(x - max(x))))", "product(x) / mean(x) - min(x) * count"),
    ),
)


def why_missing() -> str | None:
    try:
        nvrtc_version()
    except CompileError as error:
        if os.environ.get("EVONET_REQUIRE_NVRTC", "") not in ("", "0"):
            raise
        return f"needs NVRTC: {error}"
    return None


pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVONET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@functools.cache
def compile_once(kernel: str, defines: tuple[tuple[str, Any], ...], arch: str) -> Compiled:
    return compiler.compile_kernel(kernel, dict(defines), arch)


def name_of(options: tuple[str, dict[str, Any]]) -> str:
    return "-".join([options[0], *map(str, options[1].values())])


# Tasks differ in a few formulas only, so most are compiled for the oldest and the newest
# architecture; EVONET_EVERY_ARCH=1 has all of them compiled for all.
EVERYWHERE = ("cartpole", "double_pole_no_velocities")


def archs_for(kernel: str, defines: dict[str, Any]) -> tuple[str, ...]:
    if os.environ.get("EVONET_EVERY_ARCH", "") not in ("", "0"):
        return ARCHS
    if kernel in ("compile_genomes", "pack_genomes", "used_functions"):  # whole numbers, and copies
        return ARCHS[0], ARCHS[-1]
    return ARCHS if defines.get("CONTROL", "cartpole") in EVERYWHERE else (ARCHS[0], ARCHS[-1])


JOBS = [
    (kernel, tuple(defines.items()), arch)
    for kernel, defines in (*option_sets(), *scheduling_sets())
    for arch in archs_for(kernel, dict(defines))
]


@pytest.mark.parametrize(
    ("kernel", "defines", "arch"),
    JOBS,
    ids=[f"{name_of((kernel, dict(defines)))}-{arch}" for kernel, defines, arch in JOBS],
)
def test_arithmetic_and_resources(
    kernel: str, defines: tuple[tuple[str, Any], ...], arch: str
) -> None:
    compiled = compile_once(kernel, defines, arch)
    assert compiled.cubin[:4] == b"\x7fELF"
    assert find_faults(compiled.ptx, dict(defines).get("REAL")) == []
    assert "warning" not in compiled.log, compiled.log
    assert re.search(
        r"\b0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", compiled.log
    )
    registers = int(re.findall(r"Used (\d+) registers", compiled.log)[0])
    assert registers <= most_registers(kernel, dict(defines), arch)
    shared = sum(map(int, re.findall(r"(\d+) bytes smem", compiled.log)))
    room = {"forward_wide": 4 * 32, **dict.fromkeys(GRID_COPIES, SQUARE_SHARED)}
    assert shared <= room.get(kernel, STATIC_SHARED)  # the rest is dynamic


@pytest.mark.parametrize(
    "frame",
    [genetics_steps.BREED, genetics_steps.MEASURE, genetics_steps.COMPILE],
    ids=["breed", "measure", "compile"],
)
def test_the_steps_that_benchmarks_count_still_compile(frame: str) -> None:
    steps = [step.code for step in genetics_steps.STEPS.values() if step.frame == frame]
    assert steps
    source = frame.replace("STEP", "".join(f"{{ {code} }}\n" for code in steps))
    options = compiler.compile_options({"REAL": "float"}, ARCHS[0])
    compile_source(source, "steps", genetics_steps.step_headers(), options)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("real", ["float", "double"])
def test_samples_are_converted_with_one_rounding(real: str, arch: str) -> None:
    for source in sorted(set(C_TYPES.values())):
        compiled = compiler.compile_kernel("gather_samples", {"SOURCE": source, "REAL": real}, arch)
        assert find_faults(compiled.ptx, None) == []
        assert len(re.findall(r"\bcvt\.rn\.f", compiled.ptx)) <= 1


def most_registers(kernel: str, defines: dict[str, Any], arch: str) -> int:
    """The budget: what keeps as many threads in flight as the plan believes."""
    if kernel == "forward_levels":
        return 128 if defines["GLOBAL_VALUES"] else 64
    if kernel == "loss":
        return 64
    if kernel in ("compile_genomes", "pack_genomes", "used_functions"):
        return COMPILE_REGISTERS
    if kernel.startswith("grid_"):
        return 64  # 1024 threads of a multiprocessor are enough to copy
    if kernel == "forward_wide":
        most = WIDE_REGISTERS[4 if defines["REAL"] == "float" else 8]
        return most if arch in ("sm_100", "sm_120") else 64
    if kernel == "rollout":
        return ROLLOUT_REGISTERS[4 if defines["REAL"] == "float" else 8, bool(defines["MEMORY"])]
    if defines["MEMORY"]:
        return 96
    if defines["REAL"] == "double" or defines["GLOBAL_VALUES"]:
        return 64
    if arch in ("sm_75", "sm_100", "sm_120"):
        return 64
    return 40 if defines["VECTOR"] == 4 else 48


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize(
    ("kernel", "defines"),
    [
        ("forward_samples", {"VECTOR": 2}),
        ("forward_levels", {"WIDE_TEAM": 0}),
        ("rollout", {"CONTROL": "cartpole"}),
        ("forward_wide", {"VECTOR": 2, "GLOBAL_VALUES": 1, "WARPS": 16}),
    ],
)
def test_arithmetic_of_custom_functions(
    kernel: str, defines: dict[str, Any], real: str, arch: str
) -> None:
    steps = {
        kind: {first + i: make_expression(text, kind, "here").steps for i, text in enumerate(texts)}
        for kind, first, texts in CUSTOM_FUNCTIONS
    }
    sources = compiler.kernel_sources(kernel, {})
    source = sources.pop(f"cuda/{kernel}.cu")
    sources[compiler.FUNCTIONS_HEADER] = write_header(steps["activation"], steps["aggregation"])
    expression = "numerics/expression.h"
    sources[expression] = (resource_folder("kernels") / expression).read_text()
    every = {"REAL": real, "MEMORY": 0, "GLOBAL_VALUES": 0, **defines}
    compiled = compile_source(source, kernel, sources, compiler.compile_options(every, arch))
    assert find_faults(compiled.ptx, real) == []
    assert "warning" not in compiled.log, compiled.log


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("y[0] = expf(x[0]);", "ex2.approx"),
        ("y[0] = x[0] * 0.1;", "double arithmetic in a float kernel"),
        ("y[0] = __fdividef(x[0], x[1]);", "div.approx"),
        ("y[0] = fmaxf(x[0], x[1]);", "may be NaN"),
        ("y[0] = __sinf(x[0]);", "sin.approx"),
        ("y[0] = int(x[0]);", "cvt.rzi"),
        ("y[0] = __fadd_rz(x[0], x[1]);", "add.rz"),
        ("atomicAdd(y, x[0]);", "not on the list"),
    ],
)
def test_the_rules_find_what_breaks_bits(
    body: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = faults_of(body, tmp_path, monkeypatch)
    assert any(fault in found for found in faults), faults


def test_the_rules_find_flushed_denormals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "FLAGS", ("-std=c++17", "--fmad=false", "--ftz=true"))
    faults = faults_of("y[0] = x[0] + x[1];", tmp_path, monkeypatch)
    assert any("add.rn.ftz.f32" in found or "add.ftz.f32" in found for found in faults), faults


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("max.f32 %f1, %f2, 0f00000000;", True),  # x > 0 ? x : 0
        ("max.f32 %f1, %f2, 0f80000000;", False),
        ("min.f32 %f1, %f2, 0f00000000;", False),
        ("min.f32 %f1, %f2, 0f41400000;", True),
        ("min.f32 %f1, %f2, 0f7FC00000;", False),
        ("min.f32 %f1, %f2, %f3;", False),
        ("fma.rn.f32 %f1, %f2, %f3, %f4;", True),
        ("fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", True),
        ("@%p1 mul.f32 %f1, %f2, %f3;", False),
        ("cvt.rn.f32.f64 %f1, %fd1;", False),
    ],
)
def test_the_rules_know_limits_and_roundings(line: str, is_right: bool) -> None:
    real = "double" if ".f64" in line else "float"
    assert (find_faults(f"\t{line}\n", real) == []) == is_right


def test_nothing_is_contracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fused multiply-add looks the same whoever wrote it, so the flag is tested by itself."""
    write_kernel(tmp_path, "y[0] = x[0] * x[1] + x[2];", monkeypatch)
    assert "fma" not in compiler.compile_kernel("planted", {}, "sm_86").ptx
    monkeypatch.setattr(compiler, "FLAGS", ("-std=c++17",))
    assert "fma" in compiler.compile_kernel("planted", {}, "sm_86").ptx


def test_the_rules_allow_correct_arithmetic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "y[0] = __fmaf_rn(x[0], x[1], x[2]) / x[3] + __fsqrt_rn(x[4]); "
    body += "y[1] = x[0] > 1.0f ? x[0] : 1.0f;"
    assert faults_of(body, tmp_path, monkeypatch) == []


def faults_of(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    write_kernel(folder, body, monkeypatch)
    return find_faults(compiler.compile_kernel("planted", {}, "sm_86").ptx, "float")


def write_kernel(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "resource_folder", lambda name: folder)
    (folder / "cuda").mkdir()
    (folder / "cuda" / "planted.cu").write_text(
        'extern "C" __global__ void planted(const float* x, float* y) {\n' + body + "\n}\n"
    )


# ---- the cache ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_images", {})


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the next call look into the folder, as another process would."""
    monkeypatch.setattr(compiler, "_images", {})


def test_a_kernel_is_compiled_once(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiler.cubin("forward_levels", OPTIONS, "sm_86")
    entry = compiler.cache_entry("forward_levels", OPTIONS, "sm_86")
    assert entry.parent == empty_cache
    assert entry.read_bytes() == first
    monkeypatch.setattr(compiler, "compile_kernel", None)  # calling it would fail
    assert compiler.cubin("forward_levels", OPTIONS, "sm_86") == first
    forget(monkeypatch)
    assert compiler.cubin("forward_levels", OPTIONS, "sm_86") == first


def test_an_entry_depends_on_arch_options_and_every_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path, "y[0] = x[0];", monkeypatch)
    planted = tmp_path / "cuda" / "planted.cu"
    source = planted.read_text()
    planted.write_text(f'#include "outer.h"\n{source}')
    (tmp_path / "outer.h").write_text('#include "inner.h"\n')
    (tmp_path / "inner.h").write_text("// 1\n")
    entry = functools.partial(compiler.cache_entry, "planted")
    entries = [entry({}, "sm_86"), entry({}, "sm_89"), entry({"X": 1}, "sm_86")]
    (tmp_path / "inner.h").write_text("// 2\n")
    entries.append(entry({}, "sm_86"))
    monkeypatch.setattr(compiler, "nvrtc_version", lambda: "99.9")
    entries.append(entry({}, "sm_86"))
    assert len(set(entries)) == 5
    assert compiler.cubin("planted", {}, "sm_86")
    assert [path.exists() for path in entries] == [False, False, False, False, True]


@pytest.mark.parametrize("damage", ["truncated", "replaced", "no seal"])
def test_a_damaged_entry_is_compiled_again(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    intact = compiler.cubin("forward_levels", OPTIONS, "sm_86")
    entry = compiler.cache_entry("forward_levels", OPTIONS, "sm_86")
    if damage == "truncated":
        entry.write_bytes(intact[: len(intact) // 2])
    elif damage == "replaced":
        entry.write_bytes(b"\x7fELF" + bytes(100))
    else:
        entry.with_suffix(".sha256").unlink()
    forget(monkeypatch)
    again = compiler.cubin("forward_levels", OPTIONS, "sm_86")
    assert entry.read_bytes() == again
    seal = entry.with_suffix(".sha256").read_text()
    assert hashlib.sha256(again).hexdigest() == seal
    assert again[:4] == intact[:4]
    assert len(again) == len(intact)
    assert sorted(p.suffix for p in entry.parent.iterdir()) == [".cubin", ".sha256"]


def test_a_folder_that_cannot_be_written_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EVONET_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="EVONET_CACHE"):
        image = compiler.cubin("forward_levels", OPTIONS, "sm_86")
    assert image[:4] == b"\x7fELF"
    assert compiler.cubin("forward_levels", OPTIONS, "sm_86") == image  # no second warning


def test_headers_in_the_current_folder_are_not_mistaken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in compiler.kernel_sources("forward_levels", {}):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#error not this one\n")
    monkeypatch.chdir(tmp_path)
    assert compiler.compile_kernel("forward_levels", OPTIONS, "sm_86").cubin


def test_an_error_carries_the_compilers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path, "nonsense;", monkeypatch)
    with pytest.raises(CompileError, match=r"planted\.cu.*sm_86") as caught:
        compiler.cubin("planted", {}, "sm_86")
    assert 'identifier "nonsense" is undefined' in caught.value.log


def test_cubins_are_whole_files() -> None:
    """CuPy drops the last byte of a cubin; tools refuse what is left."""
    image = compile_once("forward_levels", tuple(OPTIONS.items()), "sm_86").cubin
    program_headers = int.from_bytes(image[32:40], "little")
    size, count = int.from_bytes(image[54:56], "little"), int.from_bytes(image[56:58], "little")
    assert len(image) >= program_headers + size * count


def test_compiling_needs_no_driver_and_no_gpu() -> None:
    """In a process of its own, since imaginary GPUs of other tests must not help."""
    code = (
        "from evonet.backends.cuda import compiler;"
        f"arguments = 'forward_levels', {OPTIONS!r}, 'sm_90';"
        "image = compiler.cubin(*arguments); entry = compiler.cache_entry(*arguments);"
        "assert entry.read_bytes() == image; print(entry.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("forward_levels-sm_90-")
