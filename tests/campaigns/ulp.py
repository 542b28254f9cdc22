"""Measures the activations' error over all float32 numbers, and over some of float64.

    python -m tests.campaigns.ulp [--stride N] [--functions sigmoid,tanh] [--simd v3]
    python -m tests.campaigns.ulp --doubles 10000000 --functions sigmoid

Prints the worst error in units in the last place, and where, against the formula in
float64. All 2^32 inputs of one function take a minute or two on one core.

With --doubles, draws as many numbers from -12 to 12, and prints how many answers differ from
neat-python's by more than 2 units, and between which numbers. That is no failure: sigmoid may.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from neat.activations import ActivationFunctionSet

from evonet import _native
from evonet.functions.registry import ACTIVATION_IDS
from tests.support.formulas import error, formula

CHUNK = 1 << 20
BOUND = 2.0


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


def compare_doubles(name: str, simd: str, count: int) -> tuple[float, np.ndarray]:
    """Compares with neat-python: the worst difference, and the numbers where it exceeds BOUND."""
    z = np.random.default_rng(0).uniform(-12, 12, count)
    function = ActivationFunctionSet().get(name)
    wanted = np.array([function(x) for x in z.tolist()])
    wrong = abs(_native.activate(ACTIVATION_IDS[name], z.copy(), simd) - wanted)
    wrong /= np.spacing(abs(wanted))
    return float(wrong.max(initial=0.0)), z[wrong > BOUND]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stride", type=int, default=1, help="look at every Nth number only")
    parser.add_argument("--functions", default=",".join(TRANSCENDENTAL), help="comma-separated")
    parser.add_argument("--simd", default=_native.simd_levels()[-1], help="an instruction set")
    parser.add_argument("--doubles", type=int, default=0, help="compare as many float64 numbers")
    options = parser.parse_args()
    failed = False
    if options.doubles > 0:
        for name in options.functions.split(","):
            worst, beyond = compare_doubles(name, options.simd, options.doubles)
            between = f" from {beyond.min():.5g} to {beyond.max():.5g}" if len(beyond) else ""
            print(f"{name:9} {worst:.2f} ulp, {len(beyond)} beyond {BOUND}{between}", flush=True)
        return 0
    for name in options.functions.split(","):
        begin = time.perf_counter()
        worst, where = measure(name, options.simd, options.stride)
        failed |= not worst <= BOUND
        seconds = time.perf_counter() - begin
        print(f"{name:9} {worst:.4f} ulp at z = {where:.9g} ({seconds:.0f} s)", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
