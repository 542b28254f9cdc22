"""The one registry of activation, aggregation and loss functions.

A function's position in its tuple is its id: the number that genes store and
that kernels switch on. The formulas themselves live once, in
`kernels/activations.h`, `kernels/aggregations.h` and `kernels/loss.h`, under
the same ids.
"""

from __future__ import annotations

from typing import NamedTuple

from evonet.errors import UnknownFunctionError, did_you_mean


class Function(NamedTuple):
    """One registered function.

    Attributes:
        name: The name that neat-python and config files use.
        formula: What it computes, for people.
    """

    name: str
    formula: str


# clip(x, a) = max(-a, min(a, x)), which turns NaN into a.
ACTIVATIONS: tuple[Function, ...] = (
    Function("sigmoid", "1 / (1 + exp(-clip(5z, 60)))"),
    Function("tanh", "tanh(clip(2.5z, 60))"),
    Function("sin", "sin(clip(5z, 60))"),
    Function("gauss", "exp(-5 clip(z, 3.4)^2)"),
    Function("relu", "z if z > 0 else 0"),
    Function("elu", "z if z > 0 else exp(z) - 1"),
    Function("lelu", "z if z > 0 else 0.005z"),
    Function("selu", "1.0507009873554805 (z if z > 0 else 1.6732632423543772 (exp(z) - 1))"),
    Function("softplus", "0.2 ln(1 + exp(clip(5z, 60)))"),
    Function("identity", "z"),
    Function("clamped", "clip(z, 1)"),
    Function("inv", "1 / z, 0 at 0"),
    Function("log", "ln(max(1e-7, z))"),
    Function("exp", "exp(clip(z, 60))"),
    Function("abs", "|z|"),
    Function("hat", "max(0, 1 - |z|)"),
    Function("square", "z^2"),
    Function("cube", "z^3"),
)

AGGREGATIONS: tuple[Function, ...] = (
    Function("sum", "x1 + x2 + ..., in link order; 0 when empty"),
    Function("product", "x1 x2 ...; 1 when empty"),
    Function("max", "the largest; 0 when empty"),
    Function("min", "the smallest; 0 when empty"),
    Function("maxabs", "the one farthest from 0, with its sign, the first on ties; 0 when empty"),
    Function("median", "the middle one, or the mean of the middle two; 0 when empty"),
    Function("mean", "sum / count; 0 when empty"),
)

LOSSES: tuple[Function, ...] = (
    Function("squared", "the sum of squared errors"),
    Function("cross_entropy", "-sum target ln softmax(output), for classes"),
    Function("misses", "samples whose largest output is not that of the target"),
)

ACTIVATION_IDS: dict[str, int] = {f.name: i for i, f in enumerate(ACTIVATIONS)}
AGGREGATION_IDS: dict[str, int] = {f.name: i for i, f in enumerate(AGGREGATIONS)}
LOSS_IDS: dict[str, int] = {f.name: i for i, f in enumerate(LOSSES)}


def activation_id(name: str) -> int:
    """Looks up an activation by name.

    Raises:
        UnknownFunctionError: Nobody registered the name.
    """
    return _lookup(name, ACTIVATION_IDS, "activation")


def aggregation_id(name: str) -> int:
    """Looks up an aggregation by name.

    Raises:
        UnknownFunctionError: Nobody registered the name.
    """
    return _lookup(name, AGGREGATION_IDS, "aggregation")


def _lookup(name: str, ids: dict[str, int], what: str) -> int:
    if name not in ids:
        raise UnknownFunctionError(f'"{name}" is not a known {what}. {did_you_mean(name, ids)}')
    return ids[name]
