"""Derivatives of custom functions: against differences, by hand, and equal bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import evonet
from evonet import ExpressionError, _native
from evonet.backends.reference.expressions import (
    activate_expression,
    aggregate_expression,
    differentiate_expression,
)
from evonet.functions.expressions.cuda_source import write_slopes
from evonet.functions.expressions.derivative import Derivative
from evonet.functions.expressions.expression import Expression
from evonet.functions.expressions.tree import ExpressionNode
from evonet.functions.native import define_slopes
from evonet.functions.registry import ACTIVATION_TABLE, AGGREGATION_TABLE
from evonet.installation import resource_folder
from tests import simt
from tests.functions.test_expressions import (
    SIMD_LEVELS,
    activation,
    aggregation,
    bits,
    each_dtype,
    joins,
    made,
    samples,
    trees,
)
from tests.simt.samples import needs_compiler


def slope(text: str, x: Any, dtype: Any = np.float64) -> list[float]:
    with np.errstate(all="ignore"):
        found = activate_expression(activation(text).derivative.steps, np.asarray(x, dtype))
    return found.tolist()


def terms(text: str, products: Any) -> NDArray[Any]:
    column = np.asarray(products, float)[:, None]
    with np.errstate(all="ignore"):
        return differentiate_expression(aggregation(text).derivative.steps, column)[:, 0]


def native(derivative: Derivative) -> _native.Function:
    code = derivative.program
    return _native.Function(code.code, code.constants, code.bounds, code.result)


# ---- against differences ----


def differences(function: Any, x: NDArray[Any]) -> NDArray[Any]:
    """Central differences at two distances; NaN where they disagree: at kinks and jumps."""
    steps = []
    for h in (1e-4, 3e-5):
        with np.errstate(all="ignore"):
            steps.append((function(x + h) - function(x - h)) / (2 * h))
    near = abs(steps[0] - steps[1]) <= 1e-4 * (1 + abs(steps[1]))
    near &= ~(abs(function(x)) > 1e6)  # they lose their digits
    return np.where(near & (abs(steps[1]) < 1e3), steps[1], np.nan)


def assert_near(found: NDArray[Any], wanted: NDArray[Any], what: str) -> None:
    known = np.isfinite(wanted) & ~(abs(found) > 1e4)  # differences do not see steep places
    wrong = ~(abs(found - wanted) <= 1e-3 * (1 + abs(wanted)))[known]
    # A kink that lies between the two distances is seen by one of them alone.
    assert wrong.sum() <= 0.02 * known.size, (what, found[known][wrong], wanted[known][wrong])


def tame(tree: ExpressionNode) -> ExpressionNode:
    """The tree with small numbers; differences lose all digits beside large ones."""
    value = tree.value % 10 if tree.op == "number" else tree.value
    return ExpressionNode(tree.op, tuple(tame(arg) for arg in tree.args), value)


# Not by chance: a rare expression may still be too large within to have differences.
@settings(max_examples=120, derandomize=True)
@given(tree=trees())
def test_slopes_are_what_differences_are(tree: ExpressionNode) -> None:
    expression = made(tame(tree), "activation")
    x = np.random.default_rng(1).normal(0, 1.5, 100)
    with np.errstate(all="ignore"):
        wanted = differences(lambda at: activate_expression(expression.steps, at), x)
        found = activate_expression(expression.derivative.steps, x)
    assert_near(found, wanted, expression.text)


@settings(max_examples=120, derandomize=True)
@given(tree=joins(), links=st.integers(1, 6))
def test_terms_are_what_differences_are(tree: ExpressionNode, links: int) -> None:
    expression = made(tame(tree), "aggregation")
    products = np.random.default_rng(links).normal(0, 1, (links, 20))
    with np.errstate(all="ignore"):
        found = differentiate_expression(expression.derivative.steps, products)
        for i in range(links):

            def of(x: NDArray[Any], link: int = i) -> NDArray[Any]:
                moved = products.copy()
                moved[link] = x
                return aggregate_expression(expression.steps, moved)

            assert_near(found[i], differences(of, products[i]), expression.text)


# ---- equal bits ----


def program_of(expression: Expression) -> Derivative:
    try:
        _ = expression.derivative.program
    except ValueError as error:
        assume("too many values" not in str(error))
        raise
    return expression.derivative


@each_dtype
@settings(max_examples=60)
@given(tree=trees())
def test_every_instruction_set_has_the_slopes_of_the_reference(
    tree: ExpressionNode, dtype: Any
) -> None:
    derivative, x = program_of(made(tree, "activation")), samples(dtype)
    with np.errstate(all="ignore"):
        wanted = activate_expression(derivative.steps, x)
    for simd in SIMD_LEVELS:
        assert (bits(native(derivative).activate(x, simd)) == bits(wanted)).all()


@each_dtype
@settings(max_examples=60)
@given(tree=joins(), links=st.sampled_from([1, 2, 7, 150]), width=st.sampled_from([1, 4, 16, 64]))
def test_every_instruction_set_has_the_terms_of_the_reference(
    tree: ExpressionNode, links: int, width: int, dtype: Any
) -> None:
    derivative = program_of(made(tree, "aggregation"))
    rng = np.random.default_rng(links)
    with np.errstate(all="ignore"):
        weights = rng.normal(0, 1, links).astype(dtype)
        values = rng.choice(samples(dtype), (links, width))
        values[:, 0] = rng.normal(0, 1, links)
        wanted = differentiate_expression(derivative.steps, weights[:, None] * values)
    for simd in SIMD_LEVELS:
        found = native(derivative).terms(weights, values, simd)
        assert (bits(found) == bits(wanted)).all(), simd


KERNEL = """
extern "C" __global__ void slopes(const REAL* x, REAL* y, int count) {
  for (int id = 18; id < 18 + NUM_SLOPES; ++id) {
    for (int i = 0; i < count; ++i) {
      evonet::with_custom_slope(id, [&](auto slope) {
        y[(id - 18) * count + i] = slope.apply(x[i]);
      });
    }
  }
}
extern "C" __global__ void terms(const REAL* x, REAL* y, int count) {
  for (int id = 7; id < 7 + NUM_TERMS; ++id) {
    evonet::terms_by_custom<REAL>(
        id, count, [&](int i) { return x[i]; },
        [&](int i, REAL term) { y[(id - 7) * count + i] = term; });
  }
}
"""


@needs_compiler
@each_dtype
def test_cuda_has_the_bits_of_the_reference(dtype: Any) -> None:
    slopes = [activation(t).derivative for t in ("x / (1 + exp(-x))", "abs(sin(x)) ** 3", "7 * x")]
    joined = [
        aggregation(text).derivative
        for text in ("max(x) + log(sum(exp(x - max(x))))", "product(x) - min(x) * count", "mean(x)")
    ]
    header = write_slopes(
        {18 + i: each.steps for i, each in enumerate(slopes)},
        {7 + i: each.steps for i, each in enumerate(joined)},
    )
    real = "float" if dtype == np.float32 else "double"
    counts = {"NUM_SLOPES": len(slopes), "NUM_TERMS": len(joined), "REAL": real}
    module = simt.compile(
        header + KERNEL, include_dirs=[resource_folder("kernels")], defines=counts, mode="checked"
    )
    x = samples(dtype, 10)
    usual = np.random.default_rng(0).normal(0, 2, len(x)).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = np.stack([activate_expression(each.steps, x) for each in slopes])
        by_link = [differentiate_expression(each.steps, usual[:, None])[:, 0] for each in joined]
    for name, values, expected in (("slopes", x, wanted), ("terms", usual, np.stack(by_link))):
        found = np.zeros_like(expected)
        module.get_function(name)((1,), (1,), (values, found, np.int32(len(values))))
        assert (bits(found) == bits(expected)).all(), name


# ---- by hand ----


def test_constants_fold() -> None:
    for text in ("2 * x * 3 + 1", "(x + x) * 3", "6 * x - floor(x)", "-(-x) * 6 / 1"):
        assert [step.op for step in activation(text).derivative.steps.steps] == ["number"], text
        assert slope(text, [0.0, 5.0]) == [6.0, 6.0]
    assert [step.op for step in activation("exp(3) + pi").derivative.steps.steps] == ["number"]
    assert len(aggregation("sum(x) * 2 + count").derivative.steps.steps) == 1


def test_a_derivative_stays_as_small_as_its_function() -> None:
    nested = "x"
    for _ in range(40):
        nested = f"tanh({nested} + 1)"
    assert len(activation(nested).derivative.steps.steps) < 6 * 40


def test_kinks_have_the_documented_slope() -> None:
    assert slope("abs(x)", [-2.0, 0.0, 3.0]) == [-1.0, 0.0, 1.0]
    assert slope("max(0, x)", [-1.0, 0.0, 1.0]) == [0.0, 0.0, 1.0]
    assert slope("max(x, 0)", [-1.0, 0.0, 1.0]) == [0.0, 1.0, 1.0]
    assert slope("clip(x, -1, 1)", [-1.0, -0.5, 1.0, 2.0]) == [0.0, 1.0, 0.0, 0.0]
    assert slope("x if x > 0 else 3 * x", [0.0, 1.0]) == [3.0, 1.0]
    assert slope("sqrt(x)", [0.0, 4.0]) == [0.0, 0.25]
    assert slope("floor(x) * x", [2.5]) == [2.0]


def test_the_branch_that_is_not_taken_never_matters() -> None:
    assert slope("log(x) if x > 0 else 0", [0.0, -1.0, 2.0]) == [0.0, 0.0, 0.5]
    assert slope("max(0, 1 / x)", [-1e-320]) == [0.0]
    assert terms("count if sum(x) < 9 else sum(sqrt(x))", [-1.0, 2.0]).tolist() == [0.0, 0.0]


@each_dtype
def test_slopes_far_away_are_numbers(dtype: Any) -> None:
    far = [-1e4, 1e4]
    assert slope("sigmoid(x)", far, dtype) == [0.0, 0.0]
    assert slope("x / (1 + exp(-x))", far, dtype) == [0.0, 1.0]
    assert slope("tanh(x)", far, dtype) == [0.0, 0.0]
    assert slope("exp(-exp(x)) + tanh(exp(x))", far, dtype) == [0.0, 0.0]


def test_products_with_zeros() -> None:
    assert terms("product(x)", [2.0, 3.0, 5.0]).tolist() == [15.0, 10.0, 6.0]
    assert terms("product(x)", [0.0, 3.0, 5.0]).tolist() == [15.0, 0.0, 0.0]
    assert terms("product(x)", [0.0, 0.0, 5.0]).tolist() == [0.0, 0.0, 0.0]


def test_links_that_tie_have_equal_parts() -> None:
    assert terms("max(x)", [1.0, 4.0, 2.0]).tolist() == [0.0, 1.0, 0.0]
    assert terms("max(x)", [4.0, 4.0, 2.0]).tolist() == [0.5, 0.5, 0.0]
    assert terms("max(x) - min(x)", [7.0, 7.0]).tolist() == [0.0, 0.0]


def test_reductions_within_reductions_follow_the_chain_rule() -> None:
    x = np.array([1.0, 2.0, 6.0])
    wanted = 2 * (x - x.mean()) / 3
    assert terms("sum((x - mean(x)) ** 2) / count", x) == pytest.approx(wanted)
    soft = np.exp(x) / np.exp(x).sum()
    assert terms("max(x) + log(sum(exp(x - max(x))))", x) == pytest.approx(soft)


# ---- in the extension ----


def test_the_extension_takes_derivatives_of_what_is_custom() -> None:
    code = activation("x + 1").program
    with pytest.raises(ValueError, match="not a derivative by links"):
        _native.define(True, 254, code.code, code.constants, code.bounds, code.result, slope=True)
    evonet.register_activation("curve", "x * x")
    evonet.register_aggregation("middle", "(max(x) + min(x)) / 2")
    try:
        for functions, name in ((ACTIVATION_TABLE, "curve"), (AGGREGATION_TABLE, "middle")):
            define_slopes(_native, functions, [0, functions.ids[name]])
    finally:
        evonet.unregister_activation("curve")
        evonet.unregister_aggregation("middle")


def test_a_derivative_with_too_many_values_is_refused_by_name() -> None:
    reductions = " + ".join(f"product(x - {i} * sum(x)) / product(x + {i})" for i in range(1, 4))
    many = " * ".join(f"(x + {i} + sin(x))" for i in range(2, 24))
    evonet.register_aggregation("wide_one", f"sum({many}) + {reductions}")
    try:
        with pytest.raises(ExpressionError, match="the derivative of the aggregation wide_one"):
            define_slopes(_native, AGGREGATION_TABLE, [AGGREGATION_TABLE.ids["wide_one"]])
    finally:
        evonet.unregister_aggregation("wide_one")
