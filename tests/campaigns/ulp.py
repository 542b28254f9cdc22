"""Measures the activations' error over every float32 there is.

    python -m tests.campaigns.ulp [--stride N] [--functions sigmoid,tanh] [--simd v3]

Prints the worst error in units in the last place, and where, against the formula in
float64. All 2^32 inputs of one function take a minute or two on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evonet import _native
from evonet.functions.registry import ACTIVATION_IDS

FloatArray = NDArray[Any]
CHUNK = 1 << 20
BOUND = 2.0


def clip(x: FloatArray, limit: float) -> FloatArray:
    """Clips as neat-python does: NaN becomes the limit."""
    x = np.where(x < limit, x, limit)
    return np.where(x > -limit, x, -limit)


LAMBDA, ALPHA = 1.0507009873554805, 1.6732632423543772
FORMULAS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sigmoid": lambda z: 1 / (1 + np.exp(-clip(5 * z, 60))),
    "tanh": lambda z: np.tanh(clip(2.5 * z, 60)),
    "sin": lambda z: np.sin(clip(5 * z, 60)),
    "gauss": lambda z: np.exp(-5 * clip(z, 3.4) ** 2),
    "relu": lambda z: np.where(z > 0, z, 0),
    "elu": lambda z: np.where(z > 0, z, np.expm1(z)),
    "lelu": lambda z: np.where(z > 0, z, 0.005 * z),
    "selu": lambda z: LAMBDA * np.where(z > 0, z, ALPHA * np.expm1(z)),
    "softplus": lambda z: 0.2 * np.logaddexp(0, clip(5 * z, 60)),
    "identity": lambda z: z,
    "clamped": lambda z: clip(z, 1),
    "inv": lambda z: np.where(z == 0, 0, 1 / z),
    "log": lambda z: np.log(np.where(z > 1e-7, z, 1e-7)),
    "exp": lambda z: np.exp(clip(z, 60)),
    "abs": lambda z: abs(z),
    "hat": lambda z: np.where(1 - abs(z) > 0, 1 - abs(z), 0),
    "square": lambda z: z * z,
    "cube": lambda z: z * z * z,
}
TRANSCENDENTAL = ("sigmoid", "tanh", "sin", "gauss", "elu", "selu", "softplus", "log", "exp")
# Where the formula does not change any more, or by too little to see: below, above.
FLAT = {
    "sigmoid": (2.0**-60, 12.0),
    "tanh": (0.0, 24.0),
    "sin": (0.0, 12.0),
    "gauss": (2.0**-40, 3.5),
    "softplus": (2.0**-60, 12.0),
    "exp": (2.0**-60, 60.0),
}


def formula(name: str, z: FloatArray) -> FloatArray:
    """Evaluates an activation's formula in float64, rounding nothing that float32 could see."""
    with np.errstate(all="ignore"):
        return FORMULAS[name](z.astype(np.float64))


def ulp(x: FloatArray, dtype: Any) -> FloatArray:
    """Returns the distance of neighbouring numbers of a type at x, as float64."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x), x, info.max))[1] - 1
    exponent = np.clip(exponent, info.minexp, info.maxexp - 1)
    return np.ldexp(1.0, exponent - info.nmant)


def error(y: FloatArray, exact: FloatArray) -> FloatArray:
    """Measures float32 results in units in the last place of the exact ones.

    A NaN where none should be, and the other way round, counts as infinitely wrong.
    Infinity is right where the exact value rounds to it, and else the number after the
    largest.
    """
    top = 2.0**128
    with np.errstate(all="ignore"):
        found = clip(y.astype(np.float64), top)
        wrong = abs(found - clip(exact, top)) / ulp(exact, np.float32)
    return np.where(
        np.isnan(y) | np.isnan(exact), np.where(np.isnan(y) & np.isnan(exact), 0, np.inf), wrong
    )


def measure(name: str, simd: str, stride: int) -> tuple[float, np.float32]:
    """Finds the worst error of one activation over all float32 numbers, and its input."""
    worst, where = -1.0, np.float32(0)
    activation = ACTIVATION_IDS[name]
    low, high = FLAT.get(name, (0.0, np.inf))
    for start in range(0, 1 << 32, CHUNK * stride):
        bits = np.arange(start, min(start + CHUNK * stride, 1 << 32), stride, dtype=np.uint64)
        z = bits.astype(np.uint32).view(np.float32)
        y = _native.activate(activation, z, simd)
        first, last = abs(z[0]), abs(z[-1])
        flat = np.signbit(z[0]) == np.signbit(z[-1]) and (
            last < low or high < first < last < np.inf
        )
        exact = formula(name, z[:1] if flat else z)
        wrong = error(y, exact)
        at = int(np.argmax(wrong))
        if not wrong[at] <= worst:
            worst, where = float(wrong[at]), z[at]
    return worst, where


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stride", type=int, default=1, help="look at every Nth number only")
    parser.add_argument("--functions", default=",".join(TRANSCENDENTAL), help="comma-separated")
    parser.add_argument("--simd", default=_native.simd_levels()[-1], help="an instruction set")
    options = parser.parse_args()
    failed = False
    for name in options.functions.split(","):
        begin = time.perf_counter()
        worst, where = measure(name, options.simd, options.stride)
        failed |= not worst <= BOUND
        seconds = time.perf_counter() - begin
        print(f"{name:9} {worst:.4f} ulp at z = {where:.9g} ({seconds:.0f} s)", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
