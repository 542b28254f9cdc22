"""The config as a whole: reading, writing, changing and comparing it."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from evonet.config.connection import InitialConnection
from evonet.config.custom_functions import freeze_functions, registered, written_out
from evonet.config.draft import Draft, draft_tables
from evonet.config.file import read_text, tell_format
from evonet.config.ini import draft_ini
from evonet.config.parts import (
    Genome,
    Neat,
    Network,
    Reproduction,
    Run,
    Speciation,
    Stagnation,
)
from evonet.config.rules import Conflict
from evonet.config.schema import Part, build, check, conflicts, flatten, settings
from evonet.config.task import Table, thaw
from evonet.config.task_defaults import task_defaults
from evonet.config.toml import parse, write
from evonet.definitions.dynamics import Dynamics
from evonet.errors import ConfigError, ConfigFault, OptionError
from evonet.messages import printable

# The order of tables in a file.
TABLES: Final = (
    "task",
    "run",
    "network",
    "neat",
    "genome",
    "speciation",
    "stagnation",
    "reproduction",
)
# The tables that decide what evolution does on a task.
EVOLUTION: Final = TABLES[2:]


@dataclass(frozen=True, slots=True)
class Config(Part):
    """All settings of a run.

    Attributes:
        run: How a run is carried out.
        network: What networks remember, and how they work through time.
        neat: The population, and when evolution is done.
        genome: What genomes look like, how far apart they are, and how they mutate.
        speciation: How genomes are divided into species.
        stagnation: Which species die out.
        reproduction: How many children each species has, and who are the parents.
        functions: Activations and aggregations of one's own, as tables of expressions; those that
            genes name are always among them.
        task: What to evolve on; the task itself says what it may hold.
    """

    run: Run = field(default=Run())
    network: Network = field(default=Network())
    neat: Neat = field(default=Neat())
    genome: Genome = field(default=Genome())
    speciation: Speciation = field(default=Speciation())
    stagnation: Stagnation = field(default=Stagnation())
    reproduction: Reproduction = field(default=Reproduction())
    functions: Mapping[str, Any] = Table()
    task: Mapping[str, object] = Table()

    joint: ClassVar[str] = "."
    conflicts: ClassVar[tuple[Conflict, ...]] = (
        Conflict(
            "network.kind",
            "genome.feed_forward",
            lambda kind, feed_forward: kind == "feedforward" and not feed_forward,
            "has no cycles, and needs true for",
        ),
        Conflict(
            "network.propagation",
            "genome.feed_forward",
            lambda propagation, feed_forward: propagation == "same-step" and feed_forward,
            "is for networks with cycles, and needs false for",
        ),
        Conflict(
            "reproduction.elitism",
            "neat.pop_size",
            lambda elitism, pop_size: elitism > pop_size,
            "must not exceed",
        ),
        Conflict(
            "reproduction.min_species_size",
            "neat.pop_size",
            lambda size, pop_size: size > pop_size,
            "must not exceed",
        ),
        Conflict(
            "speciation.target_num_species",
            "neat.pop_size",
            lambda target, pop_size: target is not None and target > pop_size,
            "must not exceed",
        ),
    )

    def __post_init__(self) -> None:
        Part.__post_init__(self)
        self.dynamics  # noqa: B018 (raises if something is missing)
        if not isinstance(self.task, Table):
            draft = draft_tables({"task": self.task}, {})
            if draft.faults:
                raise ConfigError("Config", draft.faults)
            object.__setattr__(self, "task", draft.task)
        if not isinstance(self.functions, Table):
            draft = draft_tables({"functions": self.functions}, {})
            with registered(draft):
                if draft.faults:
                    raise ConfigError("Config", draft.faults)
            object.__setattr__(self, "functions", draft.functions)
        object.__setattr__(self, "functions", written_out(self.functions, self.genome))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Config:
        """Reads a TOML file, or a neat-python INI file.

        The ending .toml means TOML; .ini, .cfg and no ending mean INI; others are told by what
        is in the file.

        Raises:
            ConfigError: The file has faults; lists all of them.
            FileNotFoundError: There is no such file.
        """
        source = printable(os.fspath(path))
        text = read_text(path, source)
        return cls.loads(text, tell_format(path, text, source), source=source)

    @classmethod
    def loads(
        cls, text: str, format: Literal["toml", "ini"] = "toml", *, source: str = "config"
    ) -> Config:
        """Reads the text of a file.

        Args:
            text: TOML, or what neat-python reads.
            format: Which of them.
            source: What errors call the file.

        Raises:
            ConfigError: The text has faults; lists all of them.
        """
        if format == "ini":
            return cls._finish(draft_ini(text, settings(cls)), source)
        tables, faults, lines = parse(text)
        if tables is None:
            raise ConfigError(source, faults)
        draft = Draft(faults=faults, unreadable={fault.key for fault in faults}, lines=lines)
        return cls._finish(draft_tables(tables, settings(cls), draft), source)

    @classmethod
    def from_dict(cls, tables: Mapping[str, object], *, source: str = "config") -> Config:
        """Reads tables such as `to_dict` gives; what they leave out has its default.

        That is the default of the task in `[task]` for the few settings that it has one for.

        Raises:
            ConfigError: The tables have faults; lists all of them.
        """
        return cls._finish(draft_tables(tables, settings(cls)), source)

    @classmethod
    def _finish(cls, draft: Draft, source: str) -> Config:
        with registered(draft):
            return cls._build(draft, source)

    @classmethod
    def _build(cls, draft: Draft, source: str) -> Config:
        known = settings(cls)
        defaults = {name: known[name].default for name in known if name not in draft.unreadable}
        given = draft.unreadable | draft.values.keys()
        defaults |= task_defaults(draft.task.get("name"), given, conflicts(cls))
        good, faults = check(cls, defaults | draft.values, draft.spell)
        draft.faults += faults
        if draft.faults:
            raise ConfigError(source, draft.sorted_faults())
        if draft.ignored:
            lines = (f"{source}: {line} It is ignored." for line in draft.ignored)
            warnings.warn("\n".join(lines), stacklevel=5)
        functions = freeze_functions(draft.functions)
        try:
            return dataclasses.replace(build(cls, good), functions=functions, task=draft.task)
        except ConfigError as error:
            raise ConfigError(source, error.faults) from error

    def replace(self, changes: Mapping[str, object] | None = None, /, **more: object) -> Config:
        """Copies the config with some settings changed.

        Args:
            changes: Settings by the names that a TOML file has for them, such as
                "neat.pop_size" or "genome.bias_mutate_rate", with their new values.
            **more: More of them.

        Raises:
            ConfigError: A name is not a setting, or a value does not fit; lists all faults.
        """
        tables: dict[str, Any] = dict(self.to_dict())
        for name, value in {**(changes or {}), **more}.items():
            *path, last = name.split(".")
            table = tables
            for step in path:
                if not isinstance(table.get(step), dict):
                    table[step] = {}
                table = table[step]
            table[last] = value
        return self.from_dict(tables)

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Gives all tables as plain values; what is None is left out."""
        tables: dict[str, dict[str, object]] = {name: {} for name in TABLES}
        tables["task"].update((key, thaw(value)) for key, value in self.task.items())
        for name, value in flatten(self).items():
            table, _, key = name.partition(".")
            if isinstance(value, InitialConnection):
                value = str(value)
            if value is not None:
                tables[table][key] = thaw(value)
        if self.functions:
            tables["functions"] = {title: thaw(own) for title, own in self.functions.items()}
        return tables

    def to_toml(self) -> str:
        """Writes all settings as TOML, always in the same way; `loads` gives an equal config."""
        return write(self.to_dict())

    @property
    def dynamics(self) -> Dynamics:
        """How networks work through time, with "auto" resolved.

        Raises:
            ConfigError: What "auto" stands for does not have all that is set.
        """
        kind, time_step = self.network.kind, self.network.time_step
        if kind == "auto":
            kind = "feedforward" if self.genome.feed_forward else "recurrent"
        try:
            return Dynamics.of(
                kind,
                self.network.propagation,
                None if time_step == "default" else time_step,
                self.network.steps,
            )
        except OptionError as error:
            fault = ConfigFault("network.kind", f"network: {error}")
            raise ConfigError("Config", [fault]) from error

    def digest(self) -> str:
        """Names by a SHA-256 all that decides what evolution does, so not the run or the task."""
        return digest_tables(self.to_dict())


def digest_tables(tables: Mapping[str, Mapping[str, object]]) -> str:
    """Names tables such as `Config.to_dict` gives, which may be from an older evonet.

    Settings of networks count where they are not the default, so that a config from before there
    were any still has its name; functions of one's own where there are some.
    """
    chosen = {name: dict(tables.get(name, {})) for name in EVOLUTION}
    defaults = flatten(Network())
    chosen["network"] = {k: v for k, v in chosen["network"].items() if v != defaults.get(k)}
    if not chosen["network"]:
        del chosen["network"]
    if tables.get("functions"):
        chosen["functions"] = dict(tables["functions"])
    return hashlib.sha256(write(chosen).encode()).hexdigest()
