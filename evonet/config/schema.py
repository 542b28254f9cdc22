"""Turns dataclasses whose fields carry rules into flat settings, and back.

A `Schema` is a frozen dataclass. A field is either a setting with a rule or another schema, whose
settings then appear under a joined name: `genome.bias.max_value` is "genome.bias_max_value" in a
file. Files, overrides and conflicts all refer to settings by these flat names.
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
S = TypeVar("S", bound="Schema")


def setting(rule: Rule[Any], default: T) -> T:
    """Declares a field that is a setting, with its value where a TOML file does not set it."""
    return dataclasses.field(default=default, metadata={"rule": rule})


class Setting(NamedTuple):
    """One setting of a schema, seen from outside."""

    path: tuple[str, ...]  # the attributes that lead to it
    rule: Rule[Any]  # what it may be
    default: object  # its value where a TOML file does not set it


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """A group of settings that checks itself whenever it is made."""

    # The text between the name of an inner schema and that of its setting.
    joint: ClassVar[str] = "_"
    # What is impossible among the settings of this schema.
    conflicts: ClassVar[tuple[Conflict, ...]] = ()

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            expected = type(field.default)
            if issubclass(expected, Schema) and type(getattr(self, field.name)) is not expected:
                found = show(getattr(self, field.name))
                message = f"{field.name} = {found} must be a {expected.__name__}."
                raise ConfigError(type(self).__name__, [ConfigFault(field.name, message)])
        values, faults = check(type(self), flatten(self))
        if faults:
            raise ConfigError(type(self).__name__, faults)
        for name, own in settings(type(self)).items():
            if len(own.path) == 1:
                object.__setattr__(self, own.path[0], values[name])


def settings(schema: type[Schema]) -> dict[str, Setting]:
    """Lists all settings of a schema by their flat names, in the order of the source."""
    return _settings(cast(Hashable, schema))


def conflicts(schema: type[Schema]) -> tuple[Conflict, ...]:
    """Lists the conflicts of a schema and of its inner schemas, by flat names."""
    return _conflicts(cast(Hashable, schema))


@cache
def _settings(schema: type[Schema]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for field in dataclasses.fields(schema):
        if "rule" in field.metadata:
            found[field.name] = Setting((field.name,), field.metadata["rule"], field.default)
        elif isinstance(field.default, Schema):
            for name, inner in settings(type(field.default)).items():
                default = reach(field.default, inner.path)
                path = (field.name, *inner.path)
                found[f"{field.name}{schema.joint}{name}"] = Setting(path, inner.rule, default)
    return found


@cache
def _conflicts(schema: type[Schema]) -> tuple[Conflict, ...]:
    found = list(schema.conflicts)
    for field in dataclasses.fields(schema):
        if isinstance(field.default, Schema):
            for inner in conflicts(type(field.default)):
                prefix = f"{field.name}{schema.joint}"
                found.append(inner._replace(key=prefix + inner.key, other=prefix + inner.other))
    return tuple(found)


def reach(made: Schema, path: Iterable[str]) -> object:
    """Follows attributes to the value of a setting."""
    value: object = made
    for name in path:
        value = getattr(value, name)
    return value


def flatten(made: Schema) -> dict[str, object]:
    """Reads all settings by their flat names."""
    return {name: reach(made, own.path) for name, own in settings(type(made)).items()}


def check(
    schema: type[Schema], values: Mapping[str, object], spell: Callable[[str], str] = str
) -> tuple[dict[str, object], list[ConfigFault]]:
    """Checks values by the rules of their settings, then all conflicts among the good ones.

    `spell` turns a flat name into the name that messages use. Returns the good values in canonical
    form, and the faults of all others.
    """
    good: dict[str, object] = {}
    faults: list[ConfigFault] = []
    for name, value in values.items():
        try:
            good[name] = settings(schema)[name].rule.check(value)
        except RefusedError as refusal:
            faults.append(_fault(spell(name), value, str(refusal)))
    for key, other, clash, message in conflicts(schema):
        if key in good and other in good and clash(good[key], good[other]):
            reason = f"{message} {spell(other)} = {show(good[other])}."
            faults.append(_fault(spell(key), good[key], reason))
    return good, faults


def _fault(key: str, found: object, message: str) -> ConfigFault:
    return ConfigFault(key, f"{key} = {show(found)} {message}")


def build(schema: type[S], values: Mapping[str, object]) -> S:
    """Makes a schema of all values that `check` returned, without checking them again."""
    made = object.__new__(schema)
    for field in dataclasses.fields(schema):
        value = values.get(field.name, field.default)
        if isinstance(field.default, Schema):
            prefix = f"{field.name}{schema.joint}"
            inner = type(field.default)
            value = build(inner, {name: values[prefix + name] for name in settings(inner)})
        object.__setattr__(made, field.name, value)
    return made
