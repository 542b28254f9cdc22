"""Activations and aggregations: equal bits everywhere, close to the formulas and to neat-python."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from neat.activations import ActivationFunctionSet
from neat.aggregations import AggregationFunctionSet
from numpy.typing import NDArray

from evonet import _native
from evonet.backends.reference import functions as reference
from evonet.functions.registry import ACTIVATION_IDS, ACTIVATIONS, AGGREGATION_IDS, AGGREGATIONS
from evonet.numerics.elementary import fused_double
from tests.support.formulas import error, formula, ulp

NEAT_ACTIVATIONS = ActivationFunctionSet()
NEAT_AGGREGATIONS = AggregationFunctionSet()
SIMD_LEVELS = _native.simd_levels()
DTYPES = (np.float32, np.float64)
NAN_BITS = {np.float32: 0x7FC00000, np.float64: 0x7FF8000000000000}
# What clips, switches or saturates, in the functions or inside their implementation.
EDGES = (0.0, 1e-7, 0.069, 0.2, 0.22, 0.55, 1.0, 3.4, 4.0, 12.0, 24.0, 60.0, 88.8, 709.8)

each_activation = pytest.mark.parametrize("name", [f.name for f in ACTIVATIONS])
each_aggregation = pytest.mark.parametrize("name", [f.name for f in AGGREGATIONS])
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
each_simd = pytest.mark.parametrize("simd", SIMD_LEVELS)


def bits(x: NDArray[Any]) -> NDArray[Any]:
    return x.view(np.uint32 if x.dtype == np.float32 else np.uint64)


@functools.cache
def patterns(dtype: type) -> NDArray[Any]:
    """Every kind of number: a stride through all bit patterns, the usual range, and all edges."""
    unsigned: Any = np.uint32 if dtype == np.float32 else np.uint64
    width = 8 * np.dtype(unsigned).itemsize
    stride = [(i * ((1 << width) // 200_003)) % (1 << width) for i in range(200_003)]
    info = np.finfo(dtype)
    sign, infinity = 1 << (width - 1), int(bits(np.array([np.inf], dtype))[0])
    special = [0, 1, 2, infinity - 1, infinity, infinity + 1, NAN_BITS[dtype] + 5, sign - 1]
    special += [int(bits(np.array([info.tiny], dtype))[0]) + i for i in (-1, 0, 1)]
    special += [pattern | sign for pattern in special]
    edges = np.array(EDGES, dtype)
    around = [edges, np.nextafter(edges, dtype(np.inf)), np.nextafter(edges, dtype(-np.inf))]
    usual = np.random.default_rng(1).normal(0, 3, 50_000).astype(dtype)
    return np.concatenate(
        [np.array(stride + special, unsigned).view(dtype), *around, *(-x for x in around), usual]
    )


@functools.cache
def expected(name: str, dtype: type) -> NDArray[Any]:
    return reference.activate(ACTIVATION_IDS[name], patterns(dtype))


# ---- equal bits ----


@each_simd
@each_dtype
@each_activation
def test_every_instruction_set_gives_the_reference_bits(name: str, dtype: type, simd: str) -> None:
    z = patterns(dtype)
    found = _native.activate(ACTIVATION_IDS[name], z, simd)
    different = np.flatnonzero(bits(found) != bits(expected(name, dtype)))
    assert found.dtype == dtype
    assert different.size == 0, [(z[i], found[i], expected(name, dtype)[i]) for i in different[:3]]


@each_dtype
@each_activation
def test_a_nan_that_comes_out_is_the_canonical_one(name: str, dtype: type) -> None:
    y = expected(name, dtype)
    assert set(bits(y[np.isnan(y)]).tolist()) <= {NAN_BITS[dtype]}


@each_dtype
def test_the_reference_keeps_shape_and_type_of_its_argument(dtype: type) -> None:
    for shape in ((), (0,), (2, 3)):
        y = reference.activate(ACTIVATION_IDS["tanh"], np.ones(shape, dtype))
        assert (y.shape, y.dtype) == (shape, dtype)
    strided = np.linspace(-1, 1, 12, dtype=dtype)[::3]
    contiguous = np.ascontiguousarray(strided)
    for i in range(len(ACTIVATIONS)):
        assert (
            bits(reference.activate(i, strided)) == bits(reference.activate(i, contiguous))
        ).all()


# ---- accuracy ----


@each_activation
def test_float32_is_within_2_ulp_of_the_formula(name: str) -> None:
    z = patterns(np.float32)
    wrong = error(expected(name, np.float32), formula(name, z))
    at = int(np.argmax(wrong))
    assert wrong[at] <= 2, z[at]


def tolerance(name: str, z: float, value: float) -> float:
    """How far a float64 result may be from neat-python's: 2 ulp of the largest intermediate.

    neat-python's exp and pow come from libm and may differ from ours in the last place, which
    the formula then magnifies: gauss multiplies an error of z**2, elu and selu subtract 1,
    softplus takes the logarithm of a number near 1, and sigmoid adds 1 to about 2^53, a tie.
    """

    def unit(x: float) -> float:
        return float(ulp(np.array(x), np.float64))

    allowed = 2 * unit(value)
    if name == "sigmoid":
        return allowed + value * value * unit(1 / value)
    if name == "gauss":
        return allowed + 2 * value * unit(5 * min(abs(z), 3.4) ** 2)
    if name in ("elu", "selu") and z <= 0:
        return 2 * unit(1.0)
    if name == "softplus":
        return allowed + 0.2 * 2 * unit(1.0)
    return allowed


@each_activation
def test_float64_is_close_to_neat_python(name: str) -> None:
    rng = np.random.default_rng(2)
    z = np.concatenate(
        [rng.uniform(-13, 13, 8000), rng.normal(0, 0.3, 8000), np.array(EDGES), -np.array(EDGES)]
    )
    y = reference.activate(ACTIVATION_IDS[name], z)
    function = NEAT_ACTIVATIONS.get(name)
    for argument, found in zip(z.tolist(), y.tolist(), strict=True):
        wanted = function(argument)
        assert abs(found - wanted) <= tolerance(name, argument, wanted), argument


@each_activation
def test_not_a_number_and_infinity_do_what_neat_python_does(name: str) -> None:
    z = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0])
    wanted = np.array([NEAT_ACTIVATIONS.get(name)(x) for x in z.tolist()])
    found = {d: reference.activate(ACTIVATION_IDS[name], z.astype(d)) for d in DTYPES}
    np.testing.assert_allclose(found[np.float64], wanted, rtol=1e-15)
    # Float32 does not lose a softplus below the last bit of 1, as neat-python's formula does.
    np.testing.assert_allclose(found[np.float32], wanted, rtol=2e-7, atol=1e-16)


@each_dtype
def test_overflow_saturates_instead_of_raising(dtype: type) -> None:
    huge = np.array([np.finfo(dtype).max, -np.finfo(dtype).max], dtype)
    assert reference.activate(ACTIVATION_IDS["square"], huge).tolist() == [np.inf, np.inf]
    assert reference.activate(ACTIVATION_IDS["cube"], huge).tolist() == [np.inf, -np.inf]


@each_dtype
def test_the_values_a_reader_would_check_by_hand_are_exact(dtype: type) -> None:
    def at(name: str, *z: float) -> list[float]:
        y: list[float] = reference.activate(ACTIVATION_IDS[name], np.array(z, dtype)).tolist()
        return y

    assert at("sigmoid", 0, 20) == [0.5, 1]
    assert at("tanh", 0, 30, -30) == [0, 1, -1]
    assert at("gauss", 0) == [1]
    assert at("exp", 0) == [1]
    assert at("log", 1) == [0]
    assert at("elu", -100, 2) == [-1, 2]
    assert at("inv", 0.0, -0.0, 4) == [0, 0, 0.25]
    assert at("hat", -0.25, 2) == [0.75, 0]


@each_dtype
def test_tanh_and_sin_are_odd_and_stay_within_1(dtype: type) -> None:
    z = patterns(dtype)[np.isfinite(patterns(dtype)) & (patterns(dtype) != 0)]
    for name in ("tanh", "sin"):
        y = reference.activate(ACTIVATION_IDS[name], z)
        assert (abs(y) <= 1).all()
        assert (bits(reference.activate(ACTIVATION_IDS[name], -z)) == bits(-y)).all()


# ---- fused ----


def nearest_float32(x: Fraction) -> float:
    """Rounds an exact number to float32, to nearest, ties to even."""
    if x == 0:
        return 0.0
    exponent = max(-149, x.numerator.bit_length() - x.denominator.bit_length() - 24)
    while abs(x) / Fraction(2) ** exponent >= 1 << 24:
        exponent += 1
    rounded = round(x / Fraction(2) ** exponent) * Fraction(2) ** exponent
    return math.copysign(math.inf, x) if abs(rounded) >= 1 << 128 else float(rounded)


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e4, 1e4, width=32)


@st.composite
def near_ties(draw: st.DrawFn) -> tuple[float, float, float]:
    """Products that almost cancel the addend, or fall almost between two floats."""
    a, b = np.float32(draw(moderate)), np.float32(draw(moderate))
    c = np.float32(-(a * b)) * np.float32(2.0 ** draw(st.integers(-30, 30)))
    for _ in range(draw(st.integers(0, 3))):
        c = np.nextafter(c, np.float32(draw(st.sampled_from([-np.inf, np.inf]))))
    return float(a), float(b), float(c)


def exact(a: float, b: float, c: float) -> Fraction:
    return Fraction(a) * Fraction(b) + Fraction(c)


def assert_fused_rounds_once(a: float, b: float, c: float) -> None:
    nearest = nearest_float32(exact(a, b, c))
    found = reference.fused(a, b, c).item()
    assert found == nearest
    # A sum over two links is fused(a, b, fused(1, c, 0)).
    weights, values = np.array([1, a], np.float32), np.array([[c], [b]], np.float32)
    for simd in SIMD_LEVELS:
        assert _native.aggregate(AGGREGATION_IDS["sum"], weights, values, simd)[0] == nearest


@given(finite, finite, finite)
@example(1.0 + 2**-12, 1.0 + 2**-12, 2.0**-60)
@example(2.0**-140, 2.0**-10, 2.0**-149)
@example(2.0**127, 2.0, -(2.0**127))
def test_fused_rounds_once(a: float, b: float, c: float) -> None:
    assert_fused_rounds_once(a, b, c)


@given(near_ties())
def test_fused_rounds_once_near_ties(case: tuple[float, float, float]) -> None:
    assert_fused_rounds_once(*case)


def test_fused_of_any_bits_is_exact_or_ieee() -> None:
    special = [0, 1, 0x007FFFFF, 0x00800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
    special += [0x80000000 | pattern for pattern in special]
    rng = np.random.default_rng(0)
    chosen = np.stack(np.meshgrid(special, special, special)).reshape(3, -1).astype(np.uint32)
    random = rng.integers(0, 1 << 32, (3, 1000), dtype=np.uint32)
    a, b, c = np.concatenate([chosen, random], axis=1).view(np.float32)
    found = reference.fused(a, b, c)
    # Of special numbers, and where the result is an exact zero, float64 has the very IEEE answer.
    with np.errstate(all="ignore"):
        wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    expected = [
        float(x) if x == 0 or not np.isfinite(x) else nearest_float32(exact(*numbers))
        for x, numbers in zip(wide, np.stack([a, b, c], axis=1).tolist(), strict=True)
    ]
    signs = np.signbit(wide)  # of what was rounded to zero as well
    known = np.copysign(np.asarray(expected, np.float32), np.where(signs, -1, 1))
    ordered = known == known
    assert (np.isnan(found) == ~ordered).all()
    assert (bits(found[ordered]) == bits(known[ordered].astype(np.float32))).all()


def test_fused_of_infinity_and_not_a_number_is_ieee() -> None:
    inf, nan = np.inf, np.nan
    found = reference.fused(
        [inf, inf, 1.0, nan, 0.0], [2.0, 0.0, -inf, 1.0, inf], [1.0, 1.0, inf, 0.0, 0.0]
    )
    assert found[0] == inf
    assert np.isnan(found[1:]).all()


def doubles(lowest: int, highest: int) -> st.SearchStrategy[float]:
    """Numbers with exponents between two, many of them with few bits, and zeros."""
    fraction = st.integers(0, (1 << 52) - 1) | st.sampled_from([0, 1, 1 << 25, 1 << 26, 1 << 51])
    number = st.builds(
        lambda sign, f, e: sign * math.ldexp((1 << 52) + f, e - 52),
        st.sampled_from([-1.0, 1.0]),
        fraction,
        st.integers(lowest, highest),
    )
    return number | st.sampled_from([0.0, -0.0])


def assert_doubles_are_fused(a: float, b: float, c: float) -> None:
    found = fused_double(a, b, c).item()
    nearest = float(exact(a, b, c))  # Python rounds fractions correctly
    assert found == nearest
    if nearest == 0:  # the sign is that of a sum without a product
        assert math.copysign(1, found) == math.copysign(1, a * b + c)


@given(doubles(-480, 480), doubles(-480, 480), doubles(-960, 960))
@example(1 + 2.0**-27, 1 + 2.0**-27, 2.0**-200)
@example(1 + 2.0**-52, 1 - 2.0**-52, -1.0)
def test_fused_doubles_round_once(a: float, b: float, c: float) -> None:
    assert_doubles_are_fused(a, b, c)


@given(doubles(-300, 300), doubles(-300, 300), st.integers(-120, 60), st.integers(-4, 4))
def test_fused_doubles_round_once_near_ties(a: float, b: float, shift: int, steps: int) -> None:
    c = -(a * b) * 2.0**shift
    for _ in range(abs(steps)):
        c = math.nextafter(c, math.copysign(math.inf, steps))
    assert_doubles_are_fused(a, b, c)


def test_fused_doubles_keep_infinity_and_not_a_number() -> None:
    found = fused_double([np.inf, np.nan, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, np.nan])
    assert not np.isfinite(found).any()


# ---- aggregations ----


def left_fold_sum(x: list[float]) -> float:
    """What sum() was before Python 3.12 made it compensate."""
    return functools.reduce(lambda total, y: total + y, x, 0.0)


PYTHON: dict[str, Callable[[list[float]], float]] = {
    **{f.name: NEAT_AGGREGATIONS.get(f.name) for f in AGGREGATIONS},
    "sum": left_fold_sum,
    "mean": lambda x: left_fold_sum(x) / len(x) if x else 0.0,
    "median": lambda x: (
        left_fold_sum(x) / len(x) if 0 < len(x) <= 2 else NEAT_AGGREGATIONS.get("median")(x)
    ),
}
numbers = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf])


@each_aggregation
@given(x=st.lists(numbers, max_size=9))
def test_float64_aggregations_are_pythons(name: str, x: list[float]) -> None:
    wanted = np.array([PYTHON[name](x)])
    weights, values = np.ones(len(x)), np.array(x).reshape(-1, 1)
    found = reference.aggregate(AGGREGATION_IDS[name], weights, values)
    same = found == wanted
    assert (same | (np.isnan(found) & np.isnan(wanted))).all()


@pytest.mark.parametrize("name", ["max", "min", "maxabs"])
def test_a_nan_wins_only_as_the_first_link(name: str) -> None:
    for x in itertools.permutations([np.nan, 1.0, -2.0]):
        wanted = PYTHON[name](list(x))
        found = reference.aggregate(AGGREGATION_IDS[name], np.ones(3), np.array(x).reshape(-1, 1))
        np.testing.assert_equal(found[0], wanted)


@each_simd
@each_dtype
@each_aggregation
def test_every_instruction_set_aggregates_to_the_reference_bits(
    name: str, dtype: type, simd: str
) -> None:
    rng = np.random.default_rng(3)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38], dtype)
    for n, num_samples in itertools.product((0, 1, 2, 3, 4, 5, 8, 33), (1, 3, 16, 37)):
        weights = rng.normal(0, 2, n).astype(dtype)
        values = rng.normal(0, 2, (n, num_samples)).astype(dtype)
        values = np.where(rng.random(values.shape) < 0.1, rng.choice(special, values.shape), values)
        values = np.where(rng.random(values.shape) < 0.2, values.round(), values)
        values = values.astype(dtype)
        wanted = reference.aggregate(AGGREGATION_IDS[name], weights, values)
        found = _native.aggregate(AGGREGATION_IDS[name], weights, values, simd)
        assert found.dtype == wanted.dtype == dtype
        assert (bits(reference.canonical(found)) == bits(reference.canonical(wanted))).all()


@each_dtype
def test_the_median_does_not_depend_on_the_order_of_the_links(dtype: type) -> None:
    rng = np.random.default_rng(4)
    median = AGGREGATION_IDS["median"]
    for n in (3, 4, 5, 8, 17, 100):
        x = rng.integers(-2, 3, n).astype(dtype) * rng.choice([dtype(1), dtype(-1)], n)
        shuffled = np.stack([rng.permutation(x) for _ in range(20)], axis=1)
        found = _native.aggregate(median, np.ones(n, dtype), shuffled, SIMD_LEVELS[-1])
        assert len(set(bits(found).tolist())) == 1


@each_dtype
def test_the_median_of_very_many_links_takes_no_quadratic_time(dtype: type) -> None:
    n = 100_001
    x = np.arange(n)
    values = np.stack([x, x[::-1], (x * 7919) % n, np.zeros_like(x)], axis=1).astype(dtype)
    found = _native.aggregate(AGGREGATION_IDS["median"], np.ones(n, dtype), values, SIMD_LEVELS[-1])
    assert found.tolist() == [n // 2, n // 2, n // 2, 0]


def test_float32_preactivation_rounds_once_and_float64_twice() -> None:
    for dtype, exact in ((np.float32, 2.0**-24), (np.float64, 0.0)):
        one, epsilon = dtype(1), dtype(2.0**-12 if dtype == np.float32 else 2.0**-27)
        s = np.array([one - epsilon], dtype)
        found = reference.preactivation(-one, one + epsilon, s)
        assert found.dtype == dtype
        assert abs(found[0]) == exact


def test_the_registry_and_the_twin_name_the_same_functions() -> None:
    one = np.ones(1, np.float32)
    for i in range(len(ACTIVATIONS)):
        assert reference.activate(i, one).shape == (1,)
    for i in range(len(AGGREGATIONS)):
        assert reference.aggregate(i, one, np.ones((1, 1), np.float32)).shape == (1,)
