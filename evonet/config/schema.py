"""Turns dataclasses whose fields carry rules into flat settings, and back.

A `Part` is a frozen dataclass. A field is either a setting with a rule or another part, whose
settings then appear under a joined name: `genome.bias.max_value` is "genome.bias_max_value" in a
file. Files, overrides and conflicts all speak of settings by these flat names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

from evonet.config.rules import Conflict, RefusedError, Rule
from evonet.errors import ConfigError, ConfigFault
from evonet.messages import show

T = TypeVar("T")
P = TypeVar("P", bound="Part")


def setting(rule: Rule[Any], default: T) -> T:
    """Declares a field that is a setting.

    Args:
        rule: What it may be.
        default: Its value where a TOML file is silent.
    """
    return dataclasses.field(default=default, metadata={"rule": rule})


class Setting(NamedTuple):
    """One setting of a part, seen from outside.

    Attributes:
        path: The attributes that lead to it.
        rule: What it may be.
        default: Its value where a TOML file is silent.
    """

    path: tuple[str, ...]
    rule: Rule[Any]
    default: object


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A group of settings that checks itself whenever it is made.

    Attributes:
        joint: Stands between the name of a part and that of its setting.
        conflicts: What is impossible among the settings of this part.
    """

    joint: ClassVar[str] = "_"
    conflicts: ClassVar[tuple[Conflict, ...]] = ()

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            expected = type(field.default)
            if issubclass(expected, Part) and type(getattr(self, field.name)) is not expected:
                found = show(getattr(self, field.name))
                message = f"{field.name} = {found} must be a {expected.__name__}."
                raise ConfigError(type(self).__name__, [ConfigFault(field.name, message)])
        values, faults = check(type(self), flatten(self))
        if faults:
            raise ConfigError(type(self).__name__, faults)
        for name, own in settings(type(self)).items():
            if len(own.path) == 1:
                object.__setattr__(self, own.path[0], values[name])


def settings(part: type[Part]) -> dict[str, Setting]:
    """Lists all settings of a part by their flat names, in the order of the source."""
    return _settings(cast(Hashable, part))


def conflicts(part: type[Part]) -> tuple[Conflict, ...]:
    """Lists the conflicts of a part and of the parts within, by flat names."""
    return _conflicts(cast(Hashable, part))


@cache
def _settings(part: type[Part]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for field in dataclasses.fields(part):
        if "rule" in field.metadata:
            found[field.name] = Setting((field.name,), field.metadata["rule"], field.default)
        elif isinstance(field.default, Part):
            for name, inner in settings(type(field.default)).items():
                default = reach(field.default, inner.path)
                path = (field.name, *inner.path)
                found[f"{field.name}{part.joint}{name}"] = Setting(path, inner.rule, default)
    return found


@cache
def _conflicts(part: type[Part]) -> tuple[Conflict, ...]:
    found = list(part.conflicts)
    for field in dataclasses.fields(part):
        if isinstance(field.default, Part):
            for inner in conflicts(type(field.default)):
                prefix = f"{field.name}{part.joint}"
                found.append(inner._replace(key=prefix + inner.key, other=prefix + inner.other))
    return tuple(found)


def reach(part: Part, path: Iterable[str]) -> object:
    """Follows attributes from a part to the value of a setting."""
    value: object = part
    for name in path:
        value = getattr(value, name)
    return value


def flatten(part: Part) -> dict[str, object]:
    """Reads all settings of a part by their flat names."""
    return {name: reach(part, own.path) for name, own in settings(type(part)).items()}


def check(
    part: type[Part], values: Mapping[str, object], spell: Callable[[str], str] = str
) -> tuple[dict[str, object], list[ConfigFault]]:
    """Checks values by the rules of their settings, then all conflicts among the good ones.

    Args:
        part: The part that the values are for.
        values: Flat names with values; all must be settings of the part, none need be there.
        spell: What messages call a setting.

    Returns:
        The good values in canonical form, and the faults of all others.
    """
    good: dict[str, object] = {}
    faults: list[ConfigFault] = []
    for name, value in values.items():
        try:
            good[name] = settings(part)[name].rule.check(value)
        except RefusedError as refusal:
            faults.append(_fault(spell(name), value, str(refusal)))
    for key, other, clash, message in conflicts(part):
        if key in good and other in good and clash(good[key], good[other]):
            reason = f"{message} {spell(other)} = {show(good[other])}."
            faults.append(_fault(spell(key), good[key], reason))
    return good, faults


def _fault(key: str, found: object, message: str) -> ConfigFault:
    return ConfigFault(key, f"{key} = {show(found)} {message}")


def build(part: type[P], values: Mapping[str, object]) -> P:
    """Makes a part from checked values by flat names; defaults fill in the rest.

    Raises:
        ConfigError: The values were not checked, and have faults.
    """
    own: dict[str, object] = {}
    for field in dataclasses.fields(part):
        if "rule" in field.metadata and field.name in values:
            own[field.name] = values[field.name]
        elif isinstance(field.default, Part):
            prefix = f"{field.name}{part.joint}"
            inner = flatten(field.default)
            inner.update({n: values[prefix + n] for n in inner if prefix + n in values})
            own[field.name] = build(type(field.default), inner)
    return part(**own)
