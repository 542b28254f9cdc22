"""Arithmetic under the SIMT runner has the bits that IEEE 754 and PTX define."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import simt
from tests.simt.samples import MODES, bits, launch, needs_compiler

KERNELS = Path(__file__).parents[2] / "kernels"
pytestmark = needs_compiler
every_mode = pytest.mark.parametrize("mode", MODES)


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
@settings(deadline=None, max_examples=25)
@given(words=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40))
def test_integer_intrinsics(words: list[int], mode: str) -> None:
    n = len(words)
    x = np.array(words, np.uint32)
    out, mixed, high = (
        np.zeros((6, n), np.int32),
        np.zeros((2, n), np.uint32),
        np.zeros(n, np.uint64),
    )
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
#include "numerics/portable.h"
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
