"""From what was typed to a config and a task."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evonet.config import Config
from evonet.errors import ConfigError, ConfigFault, RunFolderError
from evonet.installation import resource_folder
from evonet.runs import RunFolder
from evonet.tasks import TASKS, Task, task_from_config
from evonet.tasks.registry import find_task

# What the name of a config file ends with.
ENDINGS = (".toml", ".ini", ".cfg")
# The option for each setting that the command line can change.
OPTIONS = {
    "neat.pop_size": "--population",
    "run.generations": "--generations",
    "run.seed": "--seed",
    "run.backend": "--backend",
    "run.threads": "--threads",
    "task.episodes": "--episodes",
}


class Settings(NamedTuple):
    """What a run begins with.

    Attributes:
        name: A short name for the run's folder.
        source: What errors call the config.
        config: All settings.
        task: What to evolve on.
        scores_genomes: Whether the task is a fitness function for neat-python.
    """

    name: str
    source: str
    config: Config
    task: Task
    scores_genomes: bool = False


def find_settings(
    what: str, changes: Mapping[str, object], config_path: Path | None = None
) -> Settings:
    """Finds the config that was asked for, changes it, and makes its task.

    Args:
        what: A config file, or the name of a task, with or without a config in configs/.
        changes: Settings of OPTIONS; None leaves one as it is.
        config_path: Where the settings come from, if `what` is a task.

    Raises:
        EvonetError: There is no such thing, or it has faults.
        OSError: A file cannot be read.
    """
    path = Path(what)
    if what not in TASKS and path.is_dir() and RunFolder(path).config.is_file():
        raise RunFolderError(
            f"{what}: is the folder of a run. Go on with it: evonet resume {shlex.quote(what)}"
        )
    shipped = resource_folder("configs") / f"{what}.toml"
    if config_path is not None:
        name, source = config_path.stem, str(config_path)
        config = _with_task(Config.load(config_path), what, config_path)
    elif path.suffix.lower() in ENDINGS or path.is_file():
        name, source, config = path.stem, str(path), Config.load(path)
        config = with_paths_beside(config, path.parent)
    elif what in TASKS and shipped.is_file():
        name, source, config = what, shipped.name, Config.load(shipped)
    else:
        find_task(what)
        name, source = what, "command line"
        config = Config.from_dict({"task": {"name": what}})
    given = {key: value for key, value in changes.items() if value is not None}
    config = change(config, given, source)
    try:
        task = task_from_config(config, source)
    except ConfigError as error:
        raise _blaming_options(error, given) from error
    except FileNotFoundError as error:
        if error.filename is None:
            raise
        raise ConfigError(source, [_missing(error.filename, path.parent)]) from error
    scores_genomes = str(config.task.get("name")).startswith("neat:")
    if scores_genomes:  # what it scores says of which kind networks are
        config = config.replace(task.settings)
    return Settings(_as_name(name), source, config, task, scores_genomes)


def _with_task(config: Config, what: str, path: Path) -> Config:
    """Gives a config the task that was typed; a file's name in it means what neat-python scores by.

    Raises:
        ConfigError: The config has a task already.
    """
    if config.task.get("name") is not None:
        message = f"has a task of its own. Evolve on it: evonet evolve {shlex.quote(str(path))}"
        raise ConfigError(str(path), [ConfigFault("task", message)])
    file, _, attribute = what.rpartition(":")
    if not file.endswith(".py"):
        return config.replace({"task.name": what})
    where = f"neat:{Path(file).resolve()}:{attribute}"
    return config.replace({"task.name": where, "task.config": str(path.resolve())})


def _missing(file: str, folder: Path) -> ConfigFault:
    """Says where a file that a task needs was looked for."""
    message = f"task: {file}: there is no such file."
    if not Path(file).is_absolute():
        places = dict.fromkeys(str(place.resolve()) for place in (folder, Path()))
        message += f" It was looked for in {' and '.join(places)}."
    return ConfigFault("task", message)


def change(config: Config, given: Mapping[str, object], source: str) -> Config:
    """Applies what was typed to a config.

    Args:
        config: As the file has it.
        given: Settings of OPTIONS.
        source: What errors call the config.

    Raises:
        ConfigError: A value does not fit; names the option.
    """
    try:
        return config.replace(given) if given else config
    except ConfigError as error:
        raise _blaming_options(ConfigError(source, error.faults), given) from error


def _blaming_options(error: ConfigError, given: Mapping[str, object]) -> ConfigError:
    """Names the options behind faults that were typed and do not stand in a file."""
    if not any(fault.key in given for fault in error.faults):
        return error
    source = "command line" if all(f.key in given for f in error.faults) else error.source
    return ConfigError(
        source,
        [
            fault._replace(message=f"{OPTIONS[fault.key]}: {fault.message}")
            if fault.key in given
            else fault
            for fault in error.faults
        ],
    )


def with_paths_beside(config: Config, folder: Path) -> Config:
    """Completes a relative path of data by the folder of its config, if the file is there.

    Args:
        config: Its [task] may have `data`.
        folder: Where the config file is.
    """
    data: Any = config.task.get("data")
    if not isinstance(data, str) or Path(data).is_absolute():
        return config
    beside = (folder / data).resolve()
    return config.replace({"task.data": str(beside)}) if beside.is_file() else config


def _as_name(text: str) -> str:
    """Makes the name of a folder of any text."""
    kept = "".join(c if c.isalnum() or c in "._-" else "-" for c in text).strip(".-")
    return kept[:60] or "run"
