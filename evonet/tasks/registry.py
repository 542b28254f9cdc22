"""The one list of tasks that can be made by name.

Registering a task makes it available to configs and to the command line, and tests it on every
backend.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from evonet.config import Config
from evonet.config.docstrings import read_arguments
from evonet.config.schema import settings as all_settings
from evonet.config.task_defaults import TASK_DEFAULTS, task_defaults
from evonet.definitions.controls import CONTROLS
from evonet.definitions.providers import TASK_PREFIXES, Provider
from evonet.errors import ConfigError, ConfigFault, EvonetError, OptionError
from evonet.messages import did_you_mean, show
from evonet.messages import name as quoted
from evonet.tasks.base import Task
from evonet.tasks.control import Control
from evonet.tasks.datasets import DATASETS, dataset_task
from evonet.tasks.images import images
from evonet.tasks.origin import note_origin
from evonet.tasks.supervised import parity, xor
from evonet.tasks.tabular import classification, regression
from evonet.tasks.user import find_class

__all__ = ["TASKS", "RegisteredTask", "make_task", "register", "task_from_config"]


@dataclass(frozen=True)
class RegisteredTask:
    """A task that can be made by name.

    Attributes:
        name: The name that users write.
        summary: A one-line description.
        make: Makes the task; its keyword arguments are the options in [task].
    """

    name: str
    summary: str
    make: Callable[..., Task]

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The options by name, in the order of the source."""
        found = inspect.signature(self.make).parameters.values()
        return {p.name: p for p in found if p.kind is not p.VAR_KEYWORD}

    @property
    def defaults(self) -> dict[str, object]:
        """The default of each option; None for those that have no effect unless given.

        Some depend on the task, so one is made to read them, where that is possible.
        """
        stated = {n: p.default for n, p in self.options.items() if n not in self.required}
        if self.required or None not in stated.values():
            return stated
        try:
            made = self.make()
        except Exception:  # a task that cannot be made here can still be described
            return stated
        attributes = {"solved": "fitness_threshold"}
        return {
            name: getattr(made, attributes.get(name, name), None) if default is None else default
            for name, default in stated.items()
        }

    @property
    def meanings(self) -> dict[str, str]:
        """What each option means, as far as it is documented."""
        found = read_arguments(self.make)
        return {option: found[option] for option in self.options if option in found}

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings of a config whose defaults this task changes."""
        return task_defaults(self.name, {}, (), ())

    @property
    def required(self) -> tuple[str, ...]:
        """The options that have no default."""
        return tuple(n for n, p in self.options.items() if p.default is inspect.Parameter.empty)


TASKS: dict[str, RegisteredTask] = {}


def register(
    name: str,
    summary: str,
    make: Callable[..., Task],
    settings: Mapping[str, object] | None = None,
) -> RegisteredTask:
    """Adds a task to the list.

    Args:
        name: The name that users write, without a colon, which marks names looked up elsewhere.
        summary: A one-line description.
        make: Makes the task; its keyword arguments become the options in [task].
        settings: Defaults for settings that a config leaves out, such as
            {"genome.activation_default": "tanh"}.

    Raises:
        OptionError: The name is taken or has a colon, or there is no such setting.
    """
    for setting in settings or {}:
        known = all_settings(Config)
        if setting not in known:
            hint = did_you_mean(setting, known)
            raise OptionError(f"task {name!r}: {setting} is not a setting. {hint}")
    if name in TASKS or ":" in name:
        reason = "is taken" if name in TASKS else "must not have a colon"
        raise OptionError(f"task {name!r} {reason}. Choose another name.")
    TASKS[name] = RegisteredTask(name, summary, make)
    if settings:
        TASK_DEFAULTS[name] = dict(settings)
    return TASKS[name]


def find_task(name: str) -> RegisteredTask:
    """Looks up a task by its name, or as "gym:NAME", "neat:FILE.py:NAME" or "module:Class".

    Raises:
        OptionError: There is no such task.
    """
    prefix, colon, rest = name.partition(":")
    if colon and prefix in TASK_PREFIXES:
        provider = TASK_PREFIXES[prefix]
        return RegisteredTask(name, provider.summary, partial(provider.load(), rest))
    if colon:
        return RegisteredTask(name, "a custom task", find_class(name))
    if name in TASK_PREFIXES:
        raise OptionError(
            f"{show(name)} is not a task but the first part of one: {name}:NAME, for "
            f"{TASK_PREFIXES[name].summary}."
        )
    if name not in TASKS:
        places = ", ".join(f'"{prefix}:NAME"' for prefix in sorted(TASK_PREFIXES))
        hint = did_you_mean(name, TASKS)
        raise OptionError(
            f'{show(name)} is not a task. {hint} {places} and "module:Class" are also allowed.'
        )
    return TASKS[name]


def make_task(name: str, **options: Any) -> Task:
    """Makes a task by name.

    Args:
        name: A registered name, "gym:NAME" for a Gymnasium environment, or "module:Class" for a
            custom task, which is imported.
        **options: The task's options.

    Raises:
        OptionError: There is no such task or option, or an option is out of range.
    """
    entry = find_task(name)
    for refusal in _refusals(entry, options):
        raise refusal
    task = entry.make(**options)
    note_origin(task, name, options)
    return task


def _refusals(entry: RegisteredTask, options: Mapping[str, Any]) -> Iterator[OptionError]:
    """Yields an error for each unknown option and for each missing one."""
    allowed = entry.options
    for option in options:
        if option not in allowed:
            hint = did_you_mean(option, allowed) if allowed else "It has none."
            message = f"{quoted(option)} is not an option of task {show(entry.name)}. {hint}"
            yield OptionError(message, option)
    for option in entry.required:
        if option not in options:
            yield OptionError(f"task {show(entry.name)} needs the option {option}.")


def task_from_config(config: Config, source: str = "config") -> Task:
    """Makes the task that a config's [task] table describes.

    Args:
        config: A config whose `[task]` has a name and the task's options.
        source: The name of the file in errors.

    Raises:
        ConfigError: There is no such task or option, or options are out of range; lists all
            faults.
    """
    options: dict[str, Any] = dict(config.task)
    name = options.pop("name", None)
    if not isinstance(name, str):
        fault = ConfigFault("task.name", f"task.name = {show(name)} must name a task.")
        if name is None:
            fault = ConfigFault(
                "task", '[task] has no name. Add the name of a task, such as "cartpole".'
            )
        raise ConfigError(source, [fault])
    try:
        entry = find_task(name)
    except OptionError as error:
        raise ConfigError(source, [_fault(error)]) from error
    task, faults = _make_with_faults(entry, _plain(options))
    if task is None or faults:
        raise ConfigError(source, faults)
    return task


def _make_with_faults(
    entry: RegisteredTask, options: dict[str, Any]
) -> tuple[Task | None, list[ConfigFault]]:
    """Makes a task, leaving out the options that it refuses, so that all faults are found."""
    refusals = list(_refusals(entry, options))
    faults = [_fault(refusal) for refusal in refusals]
    for refusal in refusals:
        options.pop(refusal.option or "", None)
    missing = [option for option in entry.required if option not in options]
    if missing:  # made without them only to find the faults of the others
        _, more = _make_with_faults(entry, {**options, **dict.fromkeys(missing)})
        return None, faults + [f for f in more if f.key.partition(".")[2] in options]
    while True:
        try:
            task = entry.make(**options)
            note_origin(task, entry.name, options)
            return task, faults
        except ConfigError:
            raise
        except FileNotFoundError as error:
            if not faults:
                raise
            faults.append(ConfigFault("task", f"task: {error.filename}: there is no such file."))
            return None, faults
        except EvonetError as error:
            faults.append(_fault(error))
            refused = error.option if isinstance(error, OptionError) else None
            if refused not in options or refused in entry.required:
                return None, faults
            del options[refused]


def _fault(error: EvonetError) -> ConfigFault:
    option = error.option if isinstance(error, OptionError) else None
    if option is None:
        return ConfigFault("task", f"task: {error}")
    return ConfigFault(f"task.{option}", f"task.{error}")


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, tuple) else v for key, v in options.items()}


TASK_PREFIXES["jax"] = Provider("evonet.tasks.jax_environments:jax_task", "a JAX environment")
TASK_PREFIXES["minatar"] = Provider("evonet.tasks.minatar:MinAtarTask", "a game of MinAtar")
TASK_PREFIXES["gym"] = Provider("evonet.tasks.gymnasium:GymnasiumTask", "a Gymnasium environment")
register("xor", "the exclusive or of two bits", xor)
register("parity", "whether an odd number of bits is set", parity)
register("regression", "predict numbers from a table of examples", regression)
register("classification", "predict classes from a table of examples", classification)
register("images", "predict classes of images, through convolutions that learn", images)
for _dataset in DATASETS.values():
    register(_dataset.name, _dataset.summary, dataset_task(_dataset))
for _control in CONTROLS:
    register(_control.name, _control.summary, partial(Control, _control.name))
