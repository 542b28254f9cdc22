"""Tasks of the user's own, named by where they are: "module:Class"."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from evonet.errors import OptionError
from evonet.tasks.base import Task
from evonet.tasks.stepwise import Stepwise, World

# Where Python itself is at work during an import.
_IMPORTING = ("<frozen importlib", importlib.__file__)


def find_class(name: str) -> Callable[..., Task]:
    """Imports what makes a task: a class or function, whose arguments are the task's options.

    It may make a `Task`, or a `World`; a world's options also have those of `Stepwise`. The
    current folder is searched too. This runs the module, so a name must come from the user.

    Args:
        name: "module:Class", with dots in the module as in an import.

    Raises:
        OptionError: There is no such module or name, or it cannot be called, or the module
            itself fails; says where.
    """
    module_name, _, attribute = name.partition(":")
    if not attribute.isidentifier() or not all(map(str.isidentifier, module_name.split("."))):
        raise OptionError(
            f'task {name!r} is not of the form "module:Class", where the module may have dots as '
            "in an import."
        )
    try:
        module = _import(module_name)
    except Exception as error:  # whatever the user's own code may raise
        raise OptionError(f"task {name!r} cannot be imported: {_where(error)}{error}") from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise OptionError(f"task {name!r}: {module_name} has no class or function {attribute!r}.")
    return _Maker(name, found)


class _Maker:
    """Calls a class and sees to it that a task comes out."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self._name = name
        self._make = make
        own = inspect.signature(make).parameters
        self._stepwise: list[inspect.Parameter] = []
        if isinstance(make, type) and hasattr(make, "step") and not hasattr(make, "evaluate"):
            options = inspect.signature(Stepwise).parameters.values()
            self._stepwise = [p for p in options if p.name != "world" and p.name not in own]
        plain = [p.replace(kind=p.KEYWORD_ONLY) for p in own.values() if p.kind <= p.KEYWORD_ONLY]
        self.__signature__ = inspect.Signature([*plain, *self._stepwise])

    def __call__(self, **options: Any) -> Task:
        stepwise = {p.name: options.pop(p.name) for p in self._stepwise if p.name in options}
        made = self._make(**options)
        if isinstance(made, World) and not isinstance(made, Task):
            return Stepwise(made, **stepwise)
        if not isinstance(made, Task):
            raise OptionError(
                f"task {self._name!r} made a {type(made).__name__}, which is no task: "
                "it needs num_inputs, num_outputs and evaluate, or reset, step and max_steps."
            )
        return made


def _where(error: Exception) -> str:
    """Says in which line of the user's an import failed, and with what; "" if it never began."""
    kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
    if isinstance(error, SyntaxError):
        return kind  # whose own text says where
    lines = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and not frame.filename.startswith(_IMPORTING)
    ]
    return f"{lines[-1].filename}, line {lines[-1].lineno}: {kind}" if lines else kind


def _import(module_name: str) -> Any:
    folder = os.getcwd()
    if folder in sys.path:
        return importlib.import_module(module_name)
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(module_name)
    finally:
        sys.path.remove(folder)
