"""Writes steps as the text of `kernels/nodes/custom_functions.h` and `custom_slopes.h`, for NVRTC.

Everything in the text is made here: names of variables, operators, and numbers as hexadecimal
literals. User input, names of functions included, does not appear in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from evonet.functions.expressions.steps import ExpressionSteps
from evonet.functions.expressions.tree import BINARY, CONDITIONS

_FORMS: Final = {
    "neg": "-{}",
    "abs": "magnitude({})",
    "sqrt": "square_root({})",
    **{word: f"expression_{word}({{}})" for word in ("exp", "log", "sin", "cos", "tanh", "floor")},
    "not": "!{}",
    **{op: f"{{}} {sign} {{}}" for op, (sign, _) in BINARY.items()},
    "and": "{} && {}",
    "or": "{} || {}",
    "min": "at_most({1}, {0})",
    "max": "at_least({1}, {0})",
    "if": "{} ? {} : {}",
}
_JOINS: Final = {
    "sum_of": "{0} + {1}",
    "product_of": "{0} * {1}",
    "max_of": "at_least({1}, {0})",
    "min_of": "at_most({1}, {0})",
}

_TEXT: Final = """\
// Written by evonet/functions/expressions/cuda_source.py.
#pragma once

#include "numerics/expression.h"

EVONET_NAMESPACE_BEGIN

constexpr bool kHasCustomActivations = {has_activations};
constexpr bool kHasCustomAggregations = {has_aggregations};
{activations}{aggregations}
template <class Visit>
EVONET_FN void with_custom_activation(int id, Visit visit) {{
  switch (id) {{{activation_cases}
  }}
}}

template <class T, class Numbers>
EVONET_FN T join_by_custom(int id, int32 count, Numbers x) {{
  switch (id) {{{aggregation_cases}
  }}
  return T(0);
}}

EVONET_NAMESPACE_END
"""

_SLOPES: Final = """\
// Written by evonet/functions/expressions/cuda_source.py.
#pragma once

#include "numerics/expression.h"

EVONET_NAMESPACE_BEGIN
{activations}{aggregations}
template <class Visit>
EVONET_FN void with_custom_slope(int id, Visit visit) {{
  switch (id) {{{activation_cases}
  }}
}}

template <class T, class Numbers, class Each>
EVONET_FN void terms_by_custom(int id, int32 count, Numbers x, Each each) {{
  switch (id) {{{aggregation_cases}
  }}
}}

EVONET_NAMESPACE_END
"""


def write_header(
    activations: Mapping[int, ExpressionSteps], aggregations: Mapping[int, ExpressionSteps]
) -> str:
    """Writes the header for some functions, by id."""
    return _TEXT.format(
        has_activations=str(bool(activations)).lower(),
        has_aggregations=str(bool(aggregations)).lower(),
        activations="".join(_activation(i, steps) for i, steps in activations.items()),
        aggregations="".join(_aggregation(i, steps) for i, steps in aggregations.items()),
        activation_cases="".join(
            f"\n    case {i}:\n      return visit(CustomActivation{i}());" for i in activations
        ),
        aggregation_cases="".join(
            f"\n    case {i}:\n      return CustomAggregation{i}::join<T>(count, x);"
            for i in aggregations
        ),
    )


def write_slopes(
    activations: Mapping[int, ExpressionSteps], aggregations: Mapping[int, ExpressionSteps]
) -> str:
    """Writes the header for the derivatives of some functions, by id of the functions."""
    return _SLOPES.format(
        activations="".join(_activation(i, steps, "Slope") for i, steps in activations.items()),
        aggregations="".join(_aggregation(i, steps) for i, steps in aggregations.items()),
        activation_cases="".join(
            f"\n    case {i}:\n      return visit(CustomSlope{i}());" for i in activations
        ),
        aggregation_cases="".join(
            f"\n    case {i}:\n      return CustomTerms{i}::join<T>(count, x, each);"
            for i in aggregations
        ),
    )


def _activation(number: int, steps: ExpressionSteps, word: str = "Activation") -> str:
    body = _lines(steps, steps.last, {"x": "x"}, "    ")
    return f"""
struct Custom{word}{number} {{
  template <class T>
  static EVONET_METHOD T apply(T x) {{
{body}    return canonical({_value(steps, steps.result)});
  }}
}};
"""


def _aggregation(number: int, steps: ExpressionSteps) -> str:
    body = ""
    for each in steps.passes:
        body += _lines(steps, each.before, {"count": "T(count)"}, "    ")
        for position in each.reductions:
            body += f"    T v{position}(0);\n"
        body += "    EVONET_KEEP_LOOP\n    for (int32 i = 0; i < count; ++i) {\n"
        body += _lines(steps, each.each, {"x": "x(i)"}, "      ")
        for position in each.reductions:
            op, (arg,), _ = steps.steps[position]
            joined = _JOINS[op].format(f"v{position}", _value(steps, arg))
            if op != "sum_of":
                joined = f"i == 0 ? {_value(steps, arg)} : {joined}"
            body += f"      v{position} = {joined};\n"
        if steps.terms and each is steps.passes[-1]:
            body += f"      each(i, canonical({_value(steps, steps.result)}));\n"
        body += "    }\n"
    if steps.terms:
        return f"""
struct CustomTerms{number} {{
  template <class T, class Numbers, class Each>
  static EVONET_METHOD void join(int32 count, Numbers x, Each each) {{
{body}  }}
}};
"""
    body += _lines(steps, steps.last, {"count": "T(count)"}, "    ")
    return f"""
struct CustomAggregation{number} {{
  template <class T, class Numbers>
  static EVONET_METHOD T join(int32 count, Numbers x) {{
{body}    return {_value(steps, steps.result)};
  }}
}};
"""


def _lines(
    steps: ExpressionSteps, positions: Iterable[int], inputs: Mapping[str, str], indent: str
) -> str:
    lines = ""
    for position in positions:
        op, args, _ = steps.steps[position]
        if op == "number":
            continue
        if op in inputs:
            text = inputs[op]
        else:
            text = _FORMS[op].format(*(_value(steps, arg) for arg in args))
        kind = "bool" if op in CONDITIONS else "T"
        lines += f"{indent}const {kind} v{position} = {text};\n"
    return lines


def _value(steps: ExpressionSteps, position: int) -> str:
    """The variable of a step, or the literal of a number."""
    op, _, value = steps.steps[position]
    return f"T({value.hex()})" if op == "number" else f"v{position}"
