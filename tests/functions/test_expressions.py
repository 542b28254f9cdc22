"""Expressions: what is read, what is refused and how, and equal bits of what is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evonet import ExpressionError, _native
from evonet.backends.reference.expressions import activate_expression, aggregate_expression
from evonet.functions.expressions.expression import Expression, make_expression
from evonet.functions.expressions.parse import MOST_CHARACTERS, parse
from evonet.functions.expressions.program import NUM_REGISTERS, OPERATIONS
from evonet.functions.expressions.tree import LARGEST_NUMBER, MOST_DEPTH, ExpressionNode, write
from evonet.numerics.elementary import canonical
from tests.campaigns import expressions as expressions_campaign

SIMD_LEVELS = _native.simd_levels()
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])


def activation(text: str | Callable[..., Any]) -> Expression:
    return make_expression(text, "activation", "here")


def aggregation(text: str | Callable[..., Any]) -> Expression:
    return make_expression(text, "aggregation", "here")


def bits(x: NDArray[Any]) -> NDArray[Any]:
    return x.view(np.uint32 if x.dtype == np.float32 else np.uint64)


def native(expression: Expression) -> _native.Function:
    code = expression.program
    return _native.Function(code.code, code.constants, code.bounds, code.result)


# ---- reading and writing ----


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x/(1+exp(-x))", "x / (1 + exp(-x))"),
        ("z", "x"),
        (" ( x ) ", "x"),
        ("+x", "x"),
        ("--x", "--x"),
        ("x\n * 2", "x * 2"),
        ("a(x)".replace("a", "abs"), "abs(x)"),
        ("x-(x-x)-x", "x - (x - x) - x"),
        ("x*(x/x)", "x * (x / x)"),
        ("-x**2", "-x ** 2"),
        ("(-x)**-2", "(-x) ** -2"),
        ("(x**2)**3", "(x ** 2) ** 3"),
        ("0<x<=1", "0 < x and x <= 1"),
        ("1e-05 + .5 + 2. + 1e22", "1e-05 + 0.5 + 2 + 1e+22"),
        ("(1 if x > 0 else 2) if x < 1 else 3", "(1 if x > 0 else 2) if x < 1 else 3"),
        ("1 if x > 0 else 2 if x < 1 else 3", "1 if x > 0 else 2 if x < 1 else 3"),
        ("1 if not (x > 0 or x < 1) and x != x else 3", None),
        ("1 if (x if x > 0 else 1) > 2 else 3", None),
        ("clip(x, -1, 1) + sigmoid(x) + min(x, 1, 2) + max(x, 0)", None),
    ],
)
def test_text_is_written_in_one_way(text: str, written: str | None) -> None:
    if "<=1" in text:
        text, written = f"1 if {text} else 0", f"1 if {written} else 0"
    found = activation(text).text
    assert found == (written or text)
    assert activation(found) == activation(text)


ONE = ("neg", "exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor", "sigmoid")
TWO = ("add", "sub", "mul", "div", "min", "max")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
JOINS = ("sum_of", "product_of", "mean_of", "max_of", "min_of")


@st.composite
def trees(draw: st.DrawFn, depth: int = 4, leaves: tuple[str, ...] = ("x",)) -> ExpressionNode:
    """Draws what gives a number; leaves that are names of reductions are reductions of trees."""
    form = (
        draw(st.sampled_from(["leaf", "number", "one", "two", "three", "power", "if"]))
        if depth
        else "leaf"
    )
    if form == "leaf":
        leaf = draw(st.sampled_from(leaves))
        return ExpressionNode(leaf, (draw(trees(2)),)) if leaf in JOINS else ExpressionNode(leaf)
    if form == "number":
        value = draw(st.one_of(st.integers(0, 99), st.floats(0, LARGEST_NUMBER)))
        return ExpressionNode("number", value=float(value) + 0.0)

    def some(count: int) -> tuple[ExpressionNode, ...]:
        return tuple(draw(trees(depth - 1, leaves)) for _ in range(count))

    if form == "one":
        return ExpressionNode(draw(st.sampled_from(ONE)), some(1))
    if form == "two":
        return ExpressionNode(draw(st.sampled_from(TWO)), some(2))
    if form == "three":
        return ExpressionNode(draw(st.sampled_from(("min", "max", "clip"))), some(3))
    if form == "power":
        return ExpressionNode("power", some(1), float(draw(st.integers(-16, 16))))
    return ExpressionNode("if", (draw(conditions(depth - 1, leaves)), *some(2)))


@st.composite
def conditions(draw: st.DrawFn, depth: int, leaves: tuple[str, ...]) -> ExpressionNode:
    word = draw(st.sampled_from(COMPARISONS + (("and", "or", "not") if depth else ())))
    if word in COMPARISONS:
        return ExpressionNode(word, (draw(trees(depth, leaves)), draw(trees(depth, leaves))))
    count = 1 if word == "not" else 2
    return ExpressionNode(word, tuple(draw(conditions(depth - 1, leaves)) for _ in range(count)))


@st.composite
def joins(draw: st.DrawFn) -> ExpressionNode:
    """Draws an aggregation; now and then with a reduction within a reduction."""
    tree = draw(trees(3, (*JOINS, "count")))
    if draw(st.booleans()):
        inner = ExpressionNode(
            draw(st.sampled_from(JOINS)), (draw(trees(2, ("x", "sum_of", "count"))),)
        )
        tree = ExpressionNode("add", (tree, inner))
    return tree


def made(tree: ExpressionNode, kind: Any) -> Expression:
    """What the parser makes of a written tree, if it is short enough."""
    text = write(tree)
    assume(len(text) <= MOST_CHARACTERS and text.count("(") <= 50)
    try:
        return make_expression(text, kind, "here")
    except ExpressionError as error:
        assume("too many" not in str(error) and "nested" not in str(error))
        raise


@given(trees())
def test_a_written_tree_is_read_as_the_same_tree(tree: ExpressionNode) -> None:
    assert made(tree, "activation").tree == tree


@given(joins())
def test_a_written_aggregation_is_read_as_the_same_tree(tree: ExpressionNode) -> None:
    assert made(tree, "aggregation").tree == tree


# ---- equal bits ----

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 1e-300, 1e6, -2e6, 0.5, -2.5]


def samples(dtype: Any, count: int = 50) -> NDArray[Any]:
    rng = np.random.default_rng(count)
    width = np.dtype(dtype).itemsize
    wild = rng.integers(0, 2 ** (8 * width) - 1, count, dtype=f"u{width}").view(dtype)
    with np.errstate(all="ignore"):
        usual = np.concatenate([rng.normal(0, 3, count), SPECIAL]).astype(dtype)
    return np.concatenate([usual, wild])


@each_dtype
@settings(max_examples=80)
@given(tree=trees())
def test_every_instruction_set_takes_the_reference_steps(tree: ExpressionNode, dtype: Any) -> None:
    expression, x = made(tree, "activation"), samples(dtype)
    with np.errstate(all="ignore"):
        wanted = activate_expression(expression.steps, x)
    function = native(expression)
    for simd in SIMD_LEVELS:
        assert (bits(function.activate(x, simd)) == bits(wanted)).all(), (simd, expression.text)


@each_dtype
@settings(max_examples=50)
@given(
    tree=joins(),
    links=st.sampled_from([1, 2, 3, 7, 40, 150]),
    width=st.sampled_from([1, 4, 16, 64]),
    seed=st.integers(0, 99),
)
def test_every_instruction_set_joins_links_as_the_reference(
    tree: ExpressionNode, links: int, width: int, seed: int, dtype: Any
) -> None:
    expression = made(tree, "aggregation")
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        weights = rng.normal(0, 1, links).astype(dtype)
        values = rng.choice(samples(dtype), (links, width))
        values[:, 0] = rng.normal(0, 1, links)
        wanted = canonical(aggregate_expression(expression.steps, weights[:, None] * values))
    function = native(expression)
    for simd in SIMD_LEVELS:
        found = canonical(function.aggregate(weights, values, simd))
        assert (bits(found) == bits(wanted)).all(), (simd, expression.text)


@pytest.mark.parametrize(
    ("word", "function", "span"),
    [
        ("exp", np.exp, 87.0),
        ("tanh", np.tanh, 11.0),
        ("sin", np.sin, 1e6),
        ("cos", np.cos, 1e6),
        ("log", np.log, 1e30),
    ],
)
@each_dtype
def test_functions_are_within_2_ulp(word: str, function: Any, span: float, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-span, span, 20_000), rng.normal(0, 1, 20_000)]).astype(dtype)
    x = abs(x) if word == "log" else x
    wanted = function(x.astype(np.longdouble))
    found = activate_expression(activation(f"{word}(x)").steps, x)
    unit = np.spacing(abs(wanted).astype(dtype)).astype(np.longdouble)
    assert (abs(found - wanted) <= 2 * unit).all()


@each_dtype
def test_functions_follow_ieee_at_the_edges(dtype: Any) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0], dtype)
    smallest = float(np.finfo(dtype).smallest_subnormal)
    with np.errstate(all="ignore"):

        def of(text: str, x: Any = x) -> list[float]:
            return activate_expression(activation(text).steps, np.asarray(x, dtype)).tolist()

        assert str(of("exp(x)")[:5]) == "[1.0, 1.0, inf, 0.0, nan]"
        assert str(of("log(x)")) == "[-inf, -inf, inf, nan, nan, nan]"
        assert str(of("1 / x")) == "[inf, -inf, 0.0, -0.0, nan, -1.0]"
        assert str(of("sqrt(x)")) == "[0.0, -0.0, inf, nan, nan, nan]"
        assert str(of("floor(x)")) == "[0.0, -0.0, inf, -inf, nan, -1.0]"
        assert str(of("x ** 0")) == "[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]"
        assert str(of("sin(x)")[2:5]) == "[nan, nan, nan]"
        assert of("log(x)", [smallest]) == pytest.approx([math.log(smallest)])
        assert of("exp(x)", [math.log(smallest)]) == [smallest]
        assert of("min(x, 1)", [np.nan]) != of("min(1, x)", [np.nan]) == [1.0]
        assert of("floor(x)", [2.5, -2.5, 1e30]) == np.floor([2.5, -2.5, dtype(1e30)]).tolist()


def test_what_is_short_is_spelled_out_in_one_way() -> None:
    x = samples(np.float32)
    with np.errstate(all="ignore"):
        for short, long in (
            ("sigmoid(x)", "1 / (1 + exp(-x))"),
            ("clip(x, -1, 2)", "max(-1, min(2, x))"),
            ("x ** 3", "x * x * x"),
            ("x ** 4", "(x * x) * (x * x)"),
            ("x ** -2", "1 / (x * x)"),
            ("min(x, 1, -x)", "min(min(x, 1), -x)"),
        ):
            a, b = (activate_expression(activation(text).steps, x) for text in (short, long))
            assert (bits(a) == bits(b)).all(), short


def test_reductions_go_in_link_order() -> None:
    products = np.array([[1e8], [1.0], [-1e8], [1.0]], np.float32)
    assert aggregate_expression(aggregation("sum(x)").steps, products) == [1.0]
    assert aggregate_expression(aggregation("count").steps, products) == [4.0]
    assert aggregate_expression(aggregation("mean(x)").steps, products) == [0.25]
    nan = np.array([[1.0], [np.nan]], np.float32)
    assert aggregate_expression(aggregation("max(x)").steps, nan) == [1.0]
    assert np.isnan(aggregate_expression(aggregation("max(x)").steps, nan[::-1]))


def test_equal_values_are_computed_once() -> None:
    steps = activation("exp(x) * exp(x) + exp(x) / (1 + exp(x))").steps
    assert [step.op for step in steps.steps].count("exp") == 1


def test_nested_reductions_take_a_pass_each() -> None:
    assert len(aggregation("sum((x - mean(x)) ** 2)").steps.passes) == 2
    assert len(aggregation("max(x) - min(x)").steps.passes) == 1
    products = np.array([[1.0], [2.0], [6.0]])
    assert aggregate_expression(aggregation("sum((x - mean(x)) ** 2)").steps, products) == [14.0]
    found = aggregate_expression(
        aggregation("max(x) + log(sum(exp(x - max(x))))").steps, products * 500
    )
    assert found == [3000.0]


def test_programs_of_garbage_are_refused() -> None:
    code = activation("x + 1").program
    good = [code.code, code.constants, code.bounds, code.result]
    _native.Function(*good)
    for position, bad in (
        (0, np.full_like(code.code, 999)),
        (0, np.zeros((0, 5), np.uint16)),
        (1, np.zeros(0)),
        (2, np.array([5], np.int32)),
        (2, np.array([0, 1], np.int32)),
        (2, np.array([-1], np.int32)),
        (3, NUM_REGISTERS),
        (3, -1),
    ):
        arguments: list[Any] = list(good)
        arguments[position] = bad
        with pytest.raises(ValueError, match="not a program"):
            _native.Function(*arguments)
    with pytest.raises(ValueError, match="not an activation"):
        native(aggregation("sum(x)")).activate(np.zeros(3, np.float32), SIMD_LEVELS[0])
    assert len(set(OPERATIONS)) == len(OPERATIONS)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("x.real", "x.real is not allowed here", 1),
        ("1 + foo", 'foo is not known here. Did you mean "floor"', 4),
        ("exq(x)", 'exq is not a known function. Did you mean "exp"', 0),
        ("x ** 0.5", "0.5 is not a whole number as ** needs it: 2 or -3, say. Write sqrt", 5),
        ("x ** 17", "17 is too large", 5),
        ("1 + x % 2", '"%" is not allowed', 6),
        ("x // 2", "has an operator that is not allowed", 0),
        ("2 * (x > 1)", "x > 1 is a condition. Use it as in", 5),
        ("1 if x else 2", "x is a number. A condition compares", 5),
        ("exp(x, 2)", "exp takes 1 argument, found 2", 0),
        ("min(x)", "min of one number is for aggregations", 0),
        ("sum(x)", "sum joins links, so it is for aggregations", 0),
        ("1e39", "1e39 is too large", 0),
        ("tanh", "tanh is a function: write tanh", 0),
        ("x +", "cannot be read as an expression", None),
        ("\uff58", r'"\uff58" is not allowed', 0),
        ("x\0", r'"\x00" is not allowed', 1),
        ("", "the expression is empty", None),
        ("x" * 1001, "has 1001 characters", None),
        ("(" * 60, "is nested too deeply", 50),
        ("-" * 200 + "x", "is nested too deeply", None),
        ("x" + "+x" * 401, "At most", None),
    ],
)
def test_a_message_points_at_the_character(text: str, message: str, position: int | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, "activation", 'register_activation("f", ...)')
    found = str(caught.value)
    assert found.startswith('register_activation("f", ...): ')
    assert message in found
    if position is not None:
        assert caught.value.position == position
        line, mark = found.split("\n")[1:]
        assert len(line) > len(mark) - 1
        assert mark.endswith("^")


def test_the_message_of_the_guide() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("x.real", "activation", 'register_activation("f", ...)')
    assert str(caught.value) == (
        'register_activation("f", ...): x.real is not allowed here.\n  x.real\n   ^'
    )


def test_x_of_an_aggregation_belongs_into_a_reduction() -> None:
    with pytest.raises(ExpressionError, match="there is an x for every link"):
        aggregation("x + sum(x)")


@pytest.mark.parametrize("text", ["sum(" * 5 + "x" + ")" * 5, " + ".join(["sum(x + 1)"] * 1)])
def test_reductions_nest_only_so_deep(text: str) -> None:
    if text.count("sum") == 1:
        many = " + ".join(f"sum(x + {i})" for i in range(9))
        with pytest.raises(ExpressionError, match="too many reductions"):
            aggregation(many)
    else:
        with pytest.raises(ExpressionError, match="nested 5 deep"):
            aggregation(text)


def test_trees_stay_small_however_they_are_written() -> None:
    with pytest.raises(ExpressionError, match="deeply"):
        activation("x" + " + x" * (MOST_DEPTH + 5))


def test_hostile_expressions_are_refused_without_harm() -> None:
    seen, faults = expressions_campaign.run(400, seed=2)
    assert faults == []
    assert seen["refused"] > 250
    assert seen["taken"] > 20


def test_the_campaign_would_see_an_executed_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(text: str, kind: Any, where: str) -> Expression:
        eval(text, {**vars(expressions_campaign)})
        return make_expression(text, kind, where)

    monkeypatch.setattr(expressions_campaign, "make_expression", careless)
    _, faults = expressions_campaign.run(8, seed=1)
    assert any("executed" in fault for fault in faults)


# ---- Python functions ----

SLOPE = 0.25


def swish(x: float) -> float:
    """Is only a docstring."""
    return x / (1 + math.exp(-x))


def pieces(value: float) -> float:
    half = value / 2
    steep: float = SLOPE * half
    if value > 1:
        return half
    if value < -1:
        return np.where(steep < -2, -2, np.minimum(steep, np.square(half)))
    return abs(steep) ** 2 if not steep <= 0 else np.pi


def norm(x: Any) -> float:
    return math.sqrt(sum(v * v for v in x))


def variance(x: Any) -> Any:
    middle = np.mean(x)
    apart = x - middle
    return np.sum(apart * apart) / len(x)


def test_python_functions_become_expressions() -> None:
    assert activation(swish).text == "x / (1 + exp(-x))"
    assert activation(lambda x: np.maximum(x, 0)).text == "max(x, 0)"
    assert aggregation(norm).text == "sqrt(sum(x * x))"
    assert aggregation(variance).text == "sum((x - mean(x)) * (x - mean(x))) / count"
    assert aggregation(lambda x: max(x) - min(x)).text == "max(x) - min(x)"
    factor = 3

    def closed(x: float) -> float:
        return factor * x

    assert activation(closed).text == "3 * x"


def test_a_translated_function_computes_what_python_does() -> None:
    x = np.linspace(-9, 9, 101)
    found = activate_expression(activation(pieces).steps, x)
    assert found.tolist() == pytest.approx([float(pieces(v)) for v in x])
    rows = np.random.default_rng(1).normal(size=(7, 5))
    for function in (norm, variance):
        joined = aggregate_expression(aggregation(function).steps, rows)
        assert joined.tolist() == pytest.approx([float(function(column)) for column in rows.T])


def loops(x: float) -> float:
    for _ in range(3):
        x = x * x
    return x


def opens(x: Any) -> Any:
    return open(x)


def attribute(x: Any) -> Any:
    return x.real


def two(x: float, y: float) -> float:
    return x + y


def ends_without_return(x: float) -> Any:
    if x > 0:
        return x


def exp(x: float) -> float:
    return x + 1


def other_exp(x: float) -> float:
    return exp(x)


def doubles(x: float) -> float:
    a = x + x
    b = a * a
    c = b * b
    d = c * c
    f = d * d
    g = f * f
    h = g * g
    i = h * h
    return i * i


def unknown_name(x: float) -> float:
    return x * missing  # type: ignore[name-defined]  # noqa: F821


def text_around(x: float) -> Any:
    return x * __name__  # type: ignore[operator]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (loops, "Only assignments, if and return"),
        (opens, "open is not a function that can be translated"),
        (attribute, "x.real is an attribute"),
        (two, "takes one argument"),
        (ends_without_return, "must end with a return"),
        (other_exp, "exp is not a function that can be translated"),
        (doubles, "is too long"),
        (unknown_name, "missing is not a number"),
        (text_around, "__name__ is not a number"),
        (print, "the source of print cannot be read"),
        (np.tanh, "cannot be read"),
        (3, "found int. Expected an expression as text"),
    ],
)
def test_functions_that_do_more_are_refused(function: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        activation(function)


def test_a_function_is_never_called() -> None:
    calls = []

    def counts(x: float) -> float:
        calls.append(x)
        return x

    with pytest.raises(ExpressionError, match="Only assignments"):
        activation(counts)
    assert calls == []
