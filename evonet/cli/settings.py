"""Turns what was typed into a config and a task."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evonet.cli.tables import TABLE_ENDINGS, describe_table, table_options
from evonet.config import Config
from evonet.config.config import TABLES
from evonet.config.learning import USUAL_STEPS
from evonet.errors import ConfigError, ConfigFault, OptionError, RunFolderError
from evonet.installation import resource_folder
from evonet.runs import RunFolder
from evonet.tasks import TASKS, Task, task_from_config
from evonet.tasks.registry import find_task

# The endings of config files.
ENDINGS = (".toml", ".ini", ".cfg")
# The endings of files that people may take for tables.
FOREIGN = (".txt", ".dat", ".data", ".gz", ".zip", ".xls", ".xlsx", ".ods", ".parquet", ".feather")
# The settings that the command line can change, and their options.
OPTIONS = {
    "neat.pop_size": "--population",
    "run.generations": "--generations",
    "run.minutes": "--minutes",
    "run.seed": "--seed",
    "run.backend": "--backend",
    "run.threads": "--threads",
    "run.on_bad_fitness": "--on-bad-fitness",
    "workers.where": "--workers",
    "workers.count": "--workers",
    "task.episodes": "--episodes",
    "task.data": "--data",
    "task.targets": "--target",
    "task.test_fraction": "--test",
}


class RunSettings(NamedTuple):
    """What a run starts with."""

    name: str  # a short name for the run's folder
    source: str  # the config's name in errors
    config: Config  # all settings
    task: Task  # what to evolve on
    scores_genomes: bool = False  # whether the task is a fitness function for neat-python
    inferred: str = ""  # a line about what was inferred from a table


def gather(options: Mapping[str, object], assignments: Sequence[str]) -> dict[str, object]:
    """Joins what options and --set change, by the names of settings.

    Args:
        options: Values of the settings in OPTIONS; None for those that were not typed.
        assignments: Texts like "genome.weight_mutate_rate=0.05". A value that is not TOML is text.

    Raises:
        ConfigError: A text is not such an assignment, or a setting is given twice; lists all.
    """
    given = {key: value for key, value in options.items() if value is not None}
    faults = []
    for text in assignments:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not key.partition(".")[2]:
            message = f"--set {text} must be TABLE.KEY=VALUE, such as neat.pop_size=300."
            faults.append(ConfigFault(key, message))
        elif key in given:
            faults.append(ConfigFault(key, f"--set: {key} is given twice."))
        else:
            given[key] = _read_value(value)
    if faults:
        raise ConfigError("command line", faults)
    return given


def _read_value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text  # words need no quotes here


def find_settings(
    what: str,
    changes: Mapping[str, object],
    config_path: Path | None = None,
    learn: bool | None = None,
) -> RunSettings:
    """Finds the config that was asked for, changes it, and makes its task.

    Args:
        what: A config file, a table, or the name of a task, with or without a config in configs/.
        changes: New values for settings, by their names.
        config_path: The config file, if `what` is a task.
        learn: Whether networks learn, whatever the config says; None leaves it to the config.

    Raises:
        ConfigError: Something does not fit; names the option.
    """
    changes, asked = _learning(changes, learn)
    path = Path(what)
    if what not in TASKS and path.is_dir() and RunFolder(path).config.is_file():
        raise RunFolderError(
            f"{what}: is the folder of a run. Resume it: evonet resume {shlex.quote(what)}"
        )
    shipped = resource_folder("configs") / f"{what}.toml"
    found: dict[str, object] = {}
    inferred = ""
    if config_path is not None:
        name, source, config = config_path.stem, str(config_path), Config.load(config_path, asked)
        found = _find_task_entries(config, what, config_path)
    elif path.suffix.lower() in TABLE_ENDINGS:
        name, source = path.stem, "command line"
        table, inferred = describe_table(path, changes)
        config = _fresh(table, changes)
    elif what in ("classification", "regression") and "task.data" in changes:
        name, source = Path(str(changes["task.data"])).stem, "command line"
        config = _fresh(table_options(what), changes)
    elif path.suffix.lower() in FOREIGN:
        raise OptionError(
            f"{what}: tables must end in .csv, .tsv or .npz. Save it as CSV, or rename it if it is."
        )
    elif path.suffix.lower() in ENDINGS or path.is_file():
        name, source, config = path.stem, str(path), Config.load(path, asked)
        found = _find_data(config, path.parent)
    elif what in TASKS and shipped.is_file():
        name, source, config = what, shipped.name, Config.load(shipped, asked)
    else:
        find_task(what)
        name, source = what, "command line"
        config = _fresh({"name": what}, changes)
    config = change(config, {**found, **changes}, source)
    # What is typed about learning starts it, and so does --learn.
    typed = learn or any(key.startswith("learning.") for key in changes)
    if typed and config.learning.steps == 0 and "learning.steps" not in changes:
        config = change(config, {"learning.steps": USUAL_STEPS}, source)
    config = change(config, _find_files(config, path.parent if path.is_file() else Path()), source)
    try:
        task = task_from_config(config, source)
    except ConfigError as error:
        raise _blaming_options(error, changes) from error
    except FileNotFoundError as error:
        if error.filename is None:
            raise
        raise ConfigError(source, [_missing(error.filename, path.parent)]) from error
    scores_genomes = str(config.task.get("name")).startswith("neat:")
    return RunSettings(_as_name(name), source, config, task, scores_genomes, inferred)


def _learning(
    changes: Mapping[str, object], learn: bool | None
) -> tuple[Mapping[str, object], dict[str, object]]:
    """Applies --learn and --no-learn.

    Returns:
        All changes; and those that count as given when a file is read, since a task has other
        defaults for networks that learn.
    """
    steps = changes.get("learning.steps")
    if learn is None:
        return changes, {} if steps is None else {"learning.steps": steps}
    word = "--learn" if learn else "--no-learn"
    if (learn and steps == 0) or (not learn and steps not in (None, 0)):
        message = f"{word} contradicts learning.steps = {steps}."
        raise ConfigError("command line", [ConfigFault("learning.steps", message)])
    if learn:
        return changes, {}
    return {**changes, "learning.steps": 0}, {"learning.steps": 0}


def _fresh(task: Mapping[str, object], changes: Mapping[str, object]) -> Config:
    """Makes the config of a task from what was typed alone.

    Typed settings count as given, so that defaults of the task that conflict with them step back.
    """
    tables: dict[str, dict[str, object]] = {"task": dict(task)}
    for key, value in changes.items():
        title, _, setting = key.partition(".")
        if "." not in setting:
            tables.setdefault(title, {})[setting] = value
    try:
        return Config.from_dict(tables, source="command line")
    except ConfigError as error:
        raise _blaming_options(error, changes) from error


def _find_task_entries(config: Config, what: str, path: Path) -> dict[str, object]:
    """Returns [task] for a task that was typed; a file.py:NAME is for neat-python."""
    if config.task.get("name") is not None:
        message = f"already has a task. Evolve on it: evonet evolve {shlex.quote(str(path))}"
        raise ConfigError(str(path), [ConfigFault("task", message)])
    file, _, attribute = what.rpartition(":")
    if not file.endswith(".py"):
        return {"task.name": what}
    where = f"neat:{Path(file).resolve()}:{attribute}"
    return {"task.name": where, "task.config": str(path.resolve())}


def _find_files(config: Config, folder: Path) -> dict[str, object]:
    """Completes "file.py:Class" of a task or an algorithm: a run may be resumed from anywhere."""
    found: dict[str, object] = {}
    for key, name in (
        ("task.name", config.task.get("name")),
        ("run.algorithm", config.run.algorithm),
    ):
        file, _, attribute = str(name).rpartition(":")
        if not file.endswith(".py") or file.startswith("neat:") or Path(file).is_absolute():
            continue
        for place in (Path(), folder):
            if (place / file).is_file():
                found[key] = f"{(place / file).resolve()}:{attribute}"
                break
    return found


def _find_data(config: Config, folder: Path) -> dict[str, object]:
    """Completes a relative `data` of [task] by the folder of the config, if the file is there."""
    data = config.task.get("data")
    if not isinstance(data, str) or Path(data).is_absolute():
        return {}
    beside = (folder / data).resolve()
    return {"task.data": str(beside)} if beside.is_file() else {}


def _missing(file: str, folder: Path) -> ConfigFault:
    """Reports where a missing file was looked for."""
    message = f"task: {file}: there is no such file."
    if not Path(file).is_absolute():
        places = dict.fromkeys(str(place.resolve()) for place in (folder, Path()))
        message += f" It was looked for in {' and '.join(places)}."
    return ConfigFault("task", message)


def change(config: Config, given: Mapping[str, object], source: str) -> Config:
    """Applies what was typed to a config; names the option of a value that does not fit."""
    try:
        return config.replace(given) if given else config
    except ConfigError as error:
        # The config was whole before, so what was typed is at fault.
        faults = [_with_options(fault, given) for fault in error.faults]
        raise _blaming_options(ConfigError("command line", faults), given) from error


def _with_options(fault: ConfigFault, given: Mapping[str, object]) -> ConfigFault:
    """Names the options that a setting does not fit, and how to change that setting too."""
    blamed = [OPTIONS.get(key, f"--set {key}") for key in given if f"{key} " in fault.message]
    if fault.key in given or not blamed:
        return fault
    message = f"{', '.join(blamed)}: {fault.message} Change it too, with --set {fault.key}=..."
    return fault._replace(message=message)


def _blaming_options(error: ConfigError, given: Mapping[str, object]) -> ConfigError:
    """Names the options of the command line that have faults."""
    typed = {key: OPTIONS.get(key, "--set") for key in given}
    typed |= {
        key.partition(".")[0]: "--set" for key in given if key.partition(".")[0] not in TABLES
    }
    if not any(fault.key in typed for fault in error.faults):
        return error
    source = "command line" if all(f.key in typed for f in error.faults) else error.source
    return ConfigError(
        source,
        [
            fault._replace(message=f"{typed[fault.key]}: {fault.message}")
            if fault.key in typed
            else fault
            for fault in error.faults
        ],
    )


def _as_name(text: str) -> str:
    """Turns any text into the name of a folder."""
    kept = "".join(c if c.isalnum() or c in "._-" else "-" for c in text).strip(".-")
    return kept[:60] or "run"
