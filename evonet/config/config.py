"""The config as a whole: reading, writing, changing and comparing it."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple

from evonet.config.draft import RESERVED, Draft, draft_tables
from evonet.config.file import find_format, read_text
from evonet.config.functions import complete_functions, registered
from evonet.config.genome import GenomeTable, InitialConnection
from evonet.config.ini import draft_ini
from evonet.config.islands import IslandsTable
from evonet.config.learning import USUAL_STEPS, LearningTable
from evonet.config.neat import NeatTable
from evonet.config.network import NetworkTable
from evonet.config.reproduction import ReproductionTable
from evonet.config.rules import Conflict, at_most
from evonet.config.run import RunTable
from evonet.config.schema import Schema, build, check, conflicts, flatten, settings
from evonet.config.speciation import SpeciationTable
from evonet.config.stagnation import StagnationTable
from evonet.config.task import FrozenTable, thaw
from evonet.config.task_defaults import task_defaults
from evonet.config.toml import parse, write
from evonet.config.workers import WorkersTable
from evonet.definitions.dynamics import Dynamics
from evonet.errors import ConfigError, ConfigFault, OptionError
from evonet.messages import printable


class TableUse(NamedTuple):
    """What a table is for."""

    # Which of its settings the digest covers: none where they do not decide what evolution does, or
    # all, or those that are changed from their defaults. A table that older versions do not have
    # needs the last one, so that old digests stay valid.
    digest: Literal["none", "all", "changed"]
    algorithm: str | None  # the algorithm that reads it; None for all of them


def use(
    digest: Literal["none", "all", "changed"] = "none", algorithm: str | None = None
) -> dict[str, TableUse]:
    """Declares a field to be a table; `TableUse` explains the arguments."""
    return {"use": TableUse(digest, algorithm)}


@dataclass(frozen=True, slots=True)
class Config(Schema):
    """All settings of a run. Its fields are the one list of tables, in the order of a file.

    Attributes:
        task: What to evolve on; the task itself interprets it.
        run: How a run is carried out.
        workers: Where genomes are evaluated.
        islands: How many populations evolve side by side.
        network: What networks remember, and how they work through time.
        neat: The population, and when evolution is done.
        genome: What genomes look like, how far apart they are, and how they mutate.
        speciation: How genomes are divided into species.
        stagnation: Which species die out.
        reproduction: How many children each species has, and who are the parents.
        learning: How networks learn by gradients before they are scored.
        functions: Custom activations and aggregations as expressions, by kind and name; always
            includes those that genes name.
    """

    task: Mapping[str, object] = field(default=FrozenTable(), metadata=use())
    run: RunTable = field(default=RunTable(), metadata=use())
    workers: WorkersTable = field(default=WorkersTable(), metadata=use())
    islands: IslandsTable = field(default=IslandsTable(), metadata=use("changed"))
    network: NetworkTable = field(default=NetworkTable(), metadata=use("changed"))
    neat: NeatTable = field(default=NeatTable(), metadata=use("all", "neat"))
    genome: GenomeTable = field(default=GenomeTable(), metadata=use("all"))
    speciation: SpeciationTable = field(default=SpeciationTable(), metadata=use("all", "neat"))
    stagnation: StagnationTable = field(default=StagnationTable(), metadata=use("all", "neat"))
    reproduction: ReproductionTable = field(
        default=ReproductionTable(), metadata=use("all", "neat")
    )
    learning: LearningTable = field(default=LearningTable(), metadata=use("changed"))
    functions: Mapping[str, Any] = field(default=FrozenTable(), metadata=use("changed"))

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
        at_most("reproduction.elitism", "neat.pop_size"),
        at_most("reproduction.min_species_size", "neat.pop_size"),
        at_most("speciation.target_num_species", "neat.pop_size"),
    )

    def __post_init__(self) -> None:
        Schema.__post_init__(self)
        draft = draft_tables({"task": self.task, "functions": self.functions}, {})
        with registered(draft):
            if draft.faults:
                raise ConfigError("Config", draft.faults)
            self._complete(draft)

    def _complete(self, draft: Draft) -> None:
        """Sets the tables that are no schemas, and checks what no two settings can decide."""
        object.__setattr__(self, "task", draft.task)
        object.__setattr__(self, "functions", complete_functions(draft.functions, self.genome))
        self.dynamics  # noqa: B018 - raises

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], given: Mapping[str, object] | None = None
    ) -> Config:
        """Reads a TOML file, or a neat-python INI file.

        The ending .toml means TOML; .ini, .cfg and no ending mean INI; the format of others is
        recognized by what is in the file.

        Args:
            path: The file.
            given: Settings by name that count as if the file had them, and win over those it has.

        Raises:
            ConfigError: The file has faults; lists all of them.
            FileNotFoundError: There is no such file.
        """
        source = printable(os.fspath(path))
        text = read_text(path, source)
        format = find_format(path, text, (*TABLES, *RESERVED), source)
        return cls.loads(text, format, source=source, given=given)

    @classmethod
    def loads(
        cls,
        text: str,
        format: Literal["toml", "ini"] = "toml",
        *,
        source: str = "config",
        given: Mapping[str, object] | None = None,
    ) -> Config:
        """Reads the text of a file.

        Args:
            text: TOML, or what neat-python reads.
            format: The format of the text.
            source: The file's name in errors.
            given: As for `load`.

        Raises:
            ConfigError: The text has faults; lists all of them.
        """
        if format == "ini":
            draft = draft_ini(text, settings(cls))
            draft.values |= given or {}
            return cls._build(draft, source)
        tables, faults, lines = parse(text)
        if tables is None:
            raise ConfigError(source, faults)
        draft = Draft(faults=faults, unreadable={fault.key for fault in faults}, lines=lines)
        draft_tables(tables, settings(cls), draft)
        draft.values |= given or {}
        return cls._build(draft, source)

    @classmethod
    def from_dict(cls, tables: Mapping[str, object], *, source: str = "config") -> Config:
        """Reads tables such as `to_dict` returns; what they leave out has its default.

        For a few settings the task in `[task]` has a default of its own.

        Raises:
            ConfigError: The tables have faults; lists all of them.
        """
        return cls._build(draft_tables(tables, settings(cls)), source)

    @classmethod
    def _build(cls, draft: Draft, source: str) -> Config:
        """Checks everything in a draft, once."""
        known = settings(cls)
        values = {name: known[name].default for name in known if name not in draft.unreadable}
        task = draft.task.get("name")
        learns = any(name.startswith("learning.") for name in draft.values)
        if learns and "learning.steps" in values:
            values["learning.steps"] = USUAL_STEPS
        values |= task_defaults(task, draft.values, draft.unreadable, conflicts(cls))
        values |= draft.values
        with registered(draft):
            good, faults = check(cls, values, draft.spell)
            draft.faults += faults
            if draft.faults:
                raise ConfigError(source, draft.sorted_faults())
            if draft.ignored:
                lines = (f"{source}: {line} It is ignored." for line in draft.ignored)
                warnings.warn("\n".join(lines), stacklevel=4)
            config = build(cls, good)
            try:
                config._complete(draft)
            except ConfigError as error:
                raise ConfigError(source, error.faults) from error
            return config

    def replace(self, changes: Mapping[str, object] | None = None, /, **more: object) -> Config:
        """Copies the config with some settings changed.

        Args:
            changes: New values by the names that settings have in a TOML file, such as
                "neat.pop_size" or "genome.bias_mutate_rate".
            **more: More of them.

        Raises:
            ConfigError: A name is not a setting, or a value does not fit; lists all faults.
        """
        tables: dict[str, Any] = self._tables()
        for name, value in {**(changes or {}), **more}.items():
            *path, last = name.split(".")
            table = tables
            for step in path:
                if not isinstance(table.get(step), dict):
                    table[step] = {}
                table = table[step]
            table[last] = value
        return self.from_dict(tables)

    def _tables(self) -> dict[str, dict[str, object]]:
        """Returns all tables in plain dicts, with all settings in canonical form."""
        tables: dict[str, dict[str, object]] = {name: {} for name in TABLES}
        for name, value in flatten(self).items():
            table, _, key = name.partition(".")
            tables[table][key] = value
        for name, frozen in (("task", self.task), ("functions", self.functions)):
            tables[name].update((key, thaw(value)) for key, value in frozen.items())
        return tables

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Returns all tables as plain values, without settings that are None."""
        tables = self._tables()
        if not self.functions:
            del tables["functions"]
        return {
            title: {
                key: str(value) if isinstance(value, InitialConnection) else thaw(value)
                for key, value in table.items()
                if value is not None
            }
            for title, table in tables.items()
        }

    def to_toml(self) -> str:
        """Writes all settings as TOML, always in the same way; `loads` gives an equal config."""
        return write(self.to_dict())

    @property
    def dynamics(self) -> Dynamics:
        """How networks work through time, with "auto" resolved.

        Raises:
            ConfigError: What "auto" stands for does not have all options that are set.
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
        """Returns the SHA-256 of all settings that decide what evolution does on a task."""
        return digest_tables(self.to_dict())


# The tables by name, in the order of a file.
TABLES: Final[Mapping[str, TableUse]] = {
    field.name: field.metadata["use"] for field in dataclasses.fields(Config)
}
# The tables that decide what evolution does on a task.
EVOLUTION: Final = tuple(name for name, use in TABLES.items() if use.digest != "none")
DEFAULTS: Final = Config().to_dict()


def digest_tables(tables: Mapping[str, Mapping[str, object]]) -> str:
    """Returns the digest of tables such as `Config.to_dict` returns, maybe in an older version."""
    chosen: dict[str, dict[str, object]] = {}
    for name in EVOLUTION:
        chosen[name] = dict(tables.get(name, {}))
        if TABLES[name].digest == "changed":
            default = DEFAULTS.get(name, {})
            chosen[name] = {k: v for k, v in chosen[name].items() if v != default.get(k)}
            if not chosen[name]:
                del chosen[name]
    return hashlib.sha256(write(chosen).encode()).hexdigest()
