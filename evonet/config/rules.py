"""What a setting may be: one rule per kind of value.

A rule has two methods. `parse` turns the text of an INI file into the value that TOML would have
given; `check` accepts or refuses that value, whichever file it came from. Both refuse by raising
`RefusedError` with the end of a sentence, such as "must be at least 1."; the caller knows the key.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

from evonet.messages import did_you_mean, show

T = TypeVar("T")

# The largest count: packed arrays have 32-bit counts.
MOST: Final = 2**31 - 1

# What kernels/genetics/gene_rules.h has room for.
MOST_OPTIONS: Final = 32

TRUE: Final = ("true", "yes", "on", "1")
FALSE: Final = ("false", "no", "off", "0")


class RefusedError(ValueError):
    """A rule refuses a value; the message is the end of a sentence."""


class Rule(Generic[T]):
    """Accepts or refuses the value of one setting."""

    def parse(self, text: str) -> object:
        """Turns the text of an INI file into a value for `check`."""
        return text

    def check(self, value: object) -> T:
        """Returns the value in its one canonical form."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Whole(Rule[int]):
    """A whole number between two bounds, both allowed."""

    least: int = 0
    most: int = MOST

    def parse(self, text: str) -> object:
        """Reads what Python's `int` reads."""
        try:
            return int(text)
        except ValueError:
            raise RefusedError("must be a whole number.") from None

    def check(self, value: object) -> int:
        """Refuses booleans, fractions and numbers out of range."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise RefusedError("must be a whole number.")
        number = int(value)
        if not self.least <= number <= self.most:
            raise RefusedError(f"must be between {self.least} and {self.most}.")
        return number


@dataclass(frozen=True, eq=False)
class Real(Rule[float]):
    """A finite number from `least` to `most`, or above `above`."""

    least: float | None = None
    most: float | None = None
    above: float | None = None

    def parse(self, text: str) -> object:
        """Reads what Python's `float` reads."""
        try:
            return float(text)
        except ValueError:
            raise RefusedError("must be a number.") from None

    def check(self, value: object) -> float:
        """Accepts whole numbers too; refuses booleans, infinities and NaN."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise RefusedError("must be a number.")
        try:
            number = float(value) + 0.0  # -0.0 becomes 0.0: equal configs are written alike
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise RefusedError("must be a finite number.")
        if (
            (self.least is not None and number < self.least)
            or (self.most is not None and number > self.most)
            or (self.above is not None and number <= self.above)
        ):
            raise RefusedError(f"must be {self._range()}.")
        return number

    def _range(self) -> str:
        if self.least is not None and self.most is not None:
            return f"between {self.least:g} and {self.most:g}"
        bounds = {"at least": self.least, "above": self.above, "at most": self.most}
        return " and ".join(f"{word} {b:g}" for word, b in bounds.items() if b is not None)


class Flag(Rule[bool]):
    """True or false."""

    def parse(self, text: str) -> object:
        """Reads the spellings of Python's configparser."""
        if text.lower() not in TRUE + FALSE:
            raise RefusedError("must be True or False.")
        return text.lower() in TRUE

    def check(self, value: object) -> bool:
        """Accepts booleans only."""
        if not isinstance(value, bool):
            raise RefusedError("must be true or false.")
        return value


class OneOf(Rule[Any]):
    """One word of a list, spelled exactly."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def check(self, value: object) -> str:
        """Names the nearest word when it refuses."""
        if not (isinstance(value, str) and value in self.words):
            raise RefusedError(f"is not a choice. {did_you_mean(value, self.words)}")
        return str(value)


class OneOfOrImport(OneOf):
    """One word of a list, or "module:Class" for something that is imported later."""

    def check(self, value: object) -> str:
        """Accepts any text with a colon."""
        return value if isinstance(value, str) and ":" in value else super().check(value)


@dataclass(frozen=True, eq=False)
class Spelled(Rule[Any]):
    """A value that has several spellings, in upper or lower case, given all their meanings."""

    values: Mapping[str, object]

    def check(self, value: object) -> Any:
        """Reads a boolean as the word "true" or "false"."""
        word = str(value).lower() if isinstance(value, (bool, str)) else ""
        if word not in self.values:
            words = dict.fromkeys(str(v).lower() for v in self.values.values())
            raise RefusedError(f"is not a choice. {did_you_mean(value, words)}")
        return self.values[word]


@dataclass(frozen=True, eq=False)
class Or(Rule[Any]):
    """Special words and their values, besides what another rule accepts; files leave None out."""

    rule: Rule[Any]
    words: Mapping[str, str | None]

    def parse(self, text: str) -> object:
        """Leaves the words for `check`."""
        return text if text.lower() in self.words else self.rule.parse(text)

    def check(self, value: object) -> Any:
        """Looks for the words first."""
        if value is None and None in self.words.values():
            return None
        if isinstance(value, str) and value.lower() in self.words:
            return self.words[value.lower()]
        try:
            return self.rule.check(value)
        except RefusedError as refusal:
            words = " or ".join(f'"{word}"' for word in self.words)
            raise RefusedError(f"{str(refusal)[:-1]}, or {words}.") from None


@dataclass(frozen=True, eq=False)
class Maybe(Rule[Any]):
    """What another rule accepts, or None, which a file can only express by leaving it out."""

    rule: Rule[Any]

    def parse(self, text: str) -> object:
        """Reads what the other rule reads."""
        return self.rule.parse(text)

    def check(self, value: object) -> Any:
        """Passes None."""
        return None if value is None else self.rule.check(value)


PROBABILITY: Final = Real(0.0, 1.0)
NOT_NEGATIVE: Final = Real(0.0)


@dataclass(frozen=True, eq=False)
class FunctionNames(Rule[tuple[str, ...]]):
    """Names of registered functions, at least one; a repeated name is picked more often."""

    known: Iterable[str]
    kind: str  # "activation" or "aggregation"

    def parse(self, text: str) -> object:
        """Splits at white space."""
        return text.split()

    def check(self, value: object) -> tuple[str, ...]:
        """Reports the first name that is not registered."""
        if not isinstance(value, (list, tuple)):
            raise RefusedError("must be a list of names.")
        if not value:
            raise RefusedError("must not be empty.")
        if len(value) > MOST_OPTIONS:
            raise RefusedError(f"must not have more than {MOST_OPTIONS} names.")
        for name in value:
            if not isinstance(name, str) or name not in self.known:
                raise RefusedError(
                    f"holds {show(name)}, which is not a function. "
                    f"{did_you_mean(name, self.known)}{_registering(name, self.kind)}"
                )
        return tuple(value)


@dataclass(frozen=True, eq=False)
class FunctionName(Rule[str]):
    """The name of a registered function, or "random" for any of the options."""

    known: Iterable[str]
    kind: str  # "activation" or "aggregation"

    def check(self, value: object) -> str:
        """Reads "none" as "random", as neat-python does."""
        if value in ("random", "none"):
            return "random"
        if not isinstance(value, str) or value not in self.known:
            hint = did_you_mean(value, [*self.known, "random"])
            raise RefusedError(f"is not a function. {hint}{_registering(value, self.kind)}")
        return value


def _registering(name: object, kind: str) -> str:
    """Ends a message with the line that registers a custom function of that name."""
    if not isinstance(name, str) or not name.isidentifier():
        return ""
    return f' A custom one is registered before: evonet.register_{kind}("{name}", "...").'


class InitType(Rule[Literal["gaussian", "uniform"]]):
    """How gene values are first drawn."""

    def check(self, value: object) -> Literal["gaussian", "uniform"]:
        """Looks for a word within the value, as neat-python does."""
        text = value.lower() if isinstance(value, str) else ""
        if "gauss" in text or "normal" in text:
            return "gaussian"
        if "uniform" in text:
            return "uniform"
        raise RefusedError(
            f"is not a choice. {did_you_mean(value, ('gaussian', 'normal', 'uniform'))}"
        )


class Conflict(NamedTuple):
    """Two settings that may be impossible together though each is fine alone."""

    key: str  # the setting to blame
    other: str  # the setting that it conflicts with
    clash: Callable[[Any, Any], bool]  # whether their values conflict
    message: str  # what the first must do with respect to the second, such as "must not exceed"


def at_most(key: str, other: str) -> Conflict:
    """Makes the conflict of a setting that must not exceed another one, unless it is None."""
    return Conflict(key, other, lambda a, b: a is not None and a > b, "must not exceed")
