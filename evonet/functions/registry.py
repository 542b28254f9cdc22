"""The one registry of activation, aggregation and loss functions.

A function's position is its id: the number that genes store and that kernels switch on. The
built-in ones are listed in `kernels/nodes/functions.def`, beside their formulas. Custom functions
get the ids behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final, TypeAlias

from evonet.definitions.reader import read_list
from evonet.errors import ExpressionError, UnknownFunctionError
from evonet.functions.table import Definition, Function, Functions
from evonet.messages import did_you_mean, show
from evonet.messages import name as quoted

Texts: TypeAlias = Mapping[str, Mapping[str, str]]
"""Custom functions as files store them: {"activations": {name: expression}, ...}."""


def _read(*kinds: str) -> tuple[Function, ...]:
    entries = read_list("nodes/functions.def", *kinds)
    return tuple(Function(name, formula) for _, name, formula in entries)


ACTIVATIONS: Final = _read("activation")
AGGREGATIONS: Final = _read("aggregation", "fold")
LOSSES: Final = _read("loss")

# The built-in functions, and custom ones behind them.
ACTIVATION_TABLE: Final = Functions("activation", ACTIVATIONS)
AGGREGATION_TABLE: Final = Functions("aggregation", AGGREGATIONS)
ACTIVATION_IDS: Final = ACTIVATION_TABLE.ids
AGGREGATION_IDS: Final = AGGREGATION_TABLE.ids
# The tables that custom functions go to, by their names in files.
OWN: Final = {"activations": ACTIVATION_TABLE, "aggregations": AGGREGATION_TABLE}
LOSS_IDS: dict[str, int] = {f.name: i for i, f in enumerate(LOSSES)}


def activation_id(name: str) -> int:
    """Looks up an activation by name, or raises an `UnknownFunctionError`."""
    return _lookup(name, ACTIVATION_IDS, "activation")


def aggregation_id(name: str) -> int:
    """Looks up an aggregation by name, or raises an `UnknownFunctionError`."""
    return _lookup(name, AGGREGATION_IDS, "aggregation")


def register_activation(name: str, definition: Definition) -> None:
    """Adds a custom activation, for configs, genes and every backend.

        evonet.register_activation("swish", "x / (1 + exp(-x))")

    Args:
        name: The name that genes and configs use.
        definition: An expression of x, or a Python function of one number that consists of
            assignments, `if` and `return`. It is translated and never called.

    Raises:
        ExpressionError: It cannot be translated; the message points at the character.
        OptionError: The name is not allowed or already stands for something else.
    """
    ACTIVATION_TABLE.register(name, definition)


def register_aggregation(name: str, definition: Definition) -> None:
    """Adds a custom aggregation, as `register_activation` adds an activation.

        evonet.register_aggregation("norm", "sqrt(sum(x * x))")

    The definition is an expression of sums, products, means, largest and smallest values over all
    links, where x is weight times value, and of their count; or a Python function that takes all x.
    A node without links is 0.
    """
    AGGREGATION_TABLE.register(name, definition)


def unregister_activation(name: str) -> None:
    """Removes the name of a custom activation, so that it may be given to another.

    Populations and networks that use the function keep it.

    Raises:
        OptionError: No custom activation has that name.
    """
    ACTIVATION_TABLE.unregister(name)


def unregister_aggregation(name: str) -> None:
    """Removes the name of a custom aggregation; see `unregister_activation`."""
    AGGREGATION_TABLE.unregister(name)


@contextmanager
def undone_on_error() -> Iterator[None]:
    """Takes back what a block registers if it raises; a refused file leaves no trace."""
    with ExitStack() as tables:
        for functions in OWN.values():
            tables.enter_context(functions.undone_on_error())
        yield


@contextmanager
def adopted(texts: Texts, where: str = "") -> Iterator[None]:
    """Registers a file's custom functions, and removes them again if reading the file fails."""
    with undone_on_error():
        for title, functions in OWN.items():
            for name, text in texts.get(title, {}).items():
                place = f"{where}functions.{title}.{quoted(str(name)[:40])}"
                if not isinstance(text, str):
                    raise ExpressionError(f"{place}: Expected an expression as text.")
                functions.register(name, text, place)
        yield


def join_texts(*parts: Texts) -> dict[str, dict[str, str]]:
    """Joins custom functions that do not contradict each other, without empty tables."""
    joined: dict[str, dict[str, str]] = {}
    for part in parts:
        for title, own in part.items():
            joined.setdefault(title, {}).update(own)
    return {title: dict(sorted(own.items())) for title, own in sorted(joined.items()) if own}


def is_texts(found: object) -> bool:
    """Whether a value from a file has the form of `Texts`."""
    if not isinstance(found, Mapping) or not found.keys() <= OWN.keys():
        return False
    return all(
        isinstance(own, Mapping) and all(isinstance(text, str) for text in (*own, *own.values()))
        for own in found.values()
    )


def _lookup(name: str, ids: Mapping[str, int], what: str) -> int:
    if name not in ids:
        raise UnknownFunctionError(f"{show(name)} is not a known {what}. {did_you_mean(name, ids)}")
    return ids[name]
