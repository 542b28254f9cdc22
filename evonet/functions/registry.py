"""The one registry of activation, aggregation and loss functions.

A function's position is its id: the number that genes store and that kernels switch on. The
formulas of the built-in ones live once, in `kernels/nodes/`, under the same ids.

Functions of one's own come behind them; `function_table` keeps them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from evonet.errors import ExpressionError, UnknownFunctionError
from evonet.functions.table import Definition, Function, Functions
from evonet.messages import did_you_mean

Texts: TypeAlias = Mapping[str, Mapping[str, str]]
"""Functions of one's own as files have them: {"activations": {name: expression}, ...}."""

# clip(x, a) = max(-a, min(a, x)), which turns NaN into a.
ACTIVATIONS: Final[tuple[Function, ...]] = (
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

AGGREGATIONS: Final[tuple[Function, ...]] = (
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

# These, and functions of one's own behind them.
ACTIVATION_TABLE: Final = Functions("activation", ACTIVATIONS)
AGGREGATION_TABLE: Final = Functions("aggregation", AGGREGATIONS)
ACTIVATION_IDS: Final = ACTIVATION_TABLE.ids
AGGREGATION_IDS: Final = AGGREGATION_TABLE.ids
# How files call the two kinds.
OWN: Final = {"activations": ACTIVATION_TABLE, "aggregations": AGGREGATION_TABLE}
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


def register_activation(name: str, definition: Definition) -> None:
    """Adds an activation of one's own, for configs, genes and every backend.

        evonet.register_activation("swish", "x / (1 + exp(-x))")

    Args:
        name: What genes and configs will call it.
        definition: An expression of x, or a Python function of one number that consists of
            assignments, `if` and `return`. It is translated, and never called.

    Raises:
        ExpressionError: It cannot be translated; the message points at the character.
        OptionError: The name is not allowed, or stands for something else already.
    """
    ACTIVATION_TABLE.register(name, definition)


def register_aggregation(name: str, definition: Definition) -> None:
    """Adds an aggregation of one's own.

        evonet.register_aggregation("norm", "sqrt(sum(x * x))")

    Args:
        name: What genes and configs will call it.
        definition: An expression of sums, products, means, largest and smallest values over all
            links, where x is weight times value, and of their count; or a Python function that
            takes all x. A node without links gets 0.

    Raises:
        ExpressionError: It cannot be translated; the message points at the character.
        OptionError: The name is not allowed, or stands for something else already.
    """
    AGGREGATION_TABLE.register(name, definition)


def unregister_activation(name: str) -> None:
    """Gives up the name of an activation of one's own, so that it may stand for another.

    Populations and networks that have the function keep it.

    Raises:
        OptionError: There is none of that name.
    """
    ACTIVATION_TABLE.unregister(name)


def unregister_aggregation(name: str) -> None:
    """Gives up the name of an aggregation of one's own; see `unregister_activation`.

    Raises:
        OptionError: There is none of that name.
    """
    AGGREGATION_TABLE.unregister(name)


@contextmanager
def adopted(texts: Texts, where: str = "") -> Iterator[None]:
    """Registers what a file brings along; if the file turns out to be no good, takes it back.

    Args:
        texts: The functions.
        where: How a message begins.

    Raises:
        ExpressionError: An expression is not allowed.
        OptionError: A name is not allowed, or stands for something else already.
    """
    new: list[tuple[Functions, str]] = []
    try:
        for title, functions in OWN.items():
            for name, text in texts.get(title, {}).items():
                place = f"{where}functions.{title}.{str(name)[:40]}"
                if not isinstance(text, str):
                    raise ExpressionError(f"{place}: Expected an expression as text.")
                if functions.register(name, text, place):
                    new.append((functions, name))
        yield
    except BaseException:
        for functions, name in new:
            functions.unregister(name)
        raise


def join_texts(*parts: Texts) -> dict[str, dict[str, str]]:
    """Joins functions of one's own that do not contradict each other, without empty tables."""
    joined: dict[str, dict[str, str]] = {}
    for part in parts:
        for title, own in part.items():
            joined.setdefault(title, {}).update(own)
    return {title: dict(sorted(own.items())) for title, own in sorted(joined.items()) if own}


def is_texts(found: object) -> bool:
    """Whether something out of a file has the form of `Texts`."""
    if not isinstance(found, Mapping) or not found.keys() <= OWN.keys():
        return False
    return all(
        isinstance(own, Mapping) and all(isinstance(text, str) for text in (*own, *own.values()))
        for own in found.values()
    )


def _lookup(name: str, ids: Mapping[str, int], what: str) -> int:
    if name not in ids:
        raise UnknownFunctionError(f'"{name}" is not a known {what}. {did_you_mean(name, ids)}')
    return ids[name]
