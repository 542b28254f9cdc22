"""Custom tasks, named by where they are: "module:Class" or "file.py:Class"."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evonet.errors import OptionError
from evonet.tasks.base import Task, is_task
from evonet.tasks.stepwise import Stepwise, World

# Where Python itself is at work during an import.
_IMPORTING = ("<frozen importlib", importlib.__file__)


def find_class(name: str) -> Callable[..., Task]:
    """Imports a class or function that makes a task; its arguments are the task's options.

    It may make a `Task`, or a `World`, which also has the options of `Stepwise`. The current
    folder is searched too. This runs the module, so the name must come from the user.

    Args:
        name: "module:Class", with dots in the module as in an import; or "file.py:Class".

    Raises:
        OptionError: There is no such module or name, it cannot be called, or the module fails;
            the message names the line.
    """
    found = load_object(name)
    if not callable(found):
        module_name, _, attribute = name.rpartition(":")
        raise OptionError(f"task {name!r}: {module_name} has no class or function {attribute!r}.")
    return _Maker(name, found)


def load_object(name: str, what: str = "task") -> Any:
    """Imports an object. This runs the module, so the name must come from the user.

    Args:
        name: "module:name", with dots in the module as in an import; or "file.py:name".
        what: What error messages call it.

    Returns:
        The object, or None if the module has no such name.

    Raises:
        OptionError: There is no such module, or it fails; the message names the line.
    """
    module_name, _, attribute = name.rpartition(":")
    is_file = module_name.endswith(".py")
    if not attribute.isidentifier() or not (
        is_file or all(map(str.isidentifier, module_name.split(".")))
    ):
        raise OptionError(
            f'{what} {name!r} must have the form "module:Class", with dots in the module as in an '
            'import, or "file.py:Class".'
        )
    try:
        module = _import_file(Path(module_name)) if is_file else _import(module_name)
    except Exception as error:  # user code may raise anything
        raise OptionError(f"{what} {name!r} cannot be imported: {_where(error)}{error}") from error
    return getattr(module, attribute, None)


class _Maker:
    """Calls a class and checks that it makes a task."""

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
        if isinstance(made, World) and not is_task(made):
            return Stepwise(made, **stepwise)
        if not is_task(made):
            raise OptionError(
                f"task {self._name!r} made a {type(made).__name__}, which is not a task: "
                "it needs num_inputs, num_outputs and evaluate, or reset, step and max_steps."
            )
        task: Task = made
        return task


def _where(error: Exception) -> str:
    """Describes the line and the kind of error in which an import failed; "" if unknown."""
    kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
    if isinstance(error, SyntaxError):
        return kind  # its message names the line
    lines = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and not frame.filename.startswith(_IMPORTING)
    ]
    return f"{lines[-1].filename}, line {lines[-1].lineno}: {kind}" if lines else kind


def _import(module_name: str) -> Any:
    with searching(os.getcwd()):
        return importlib.import_module(module_name)


def _import_file(path: Path) -> Any:
    """Runs a file as a module, which may import others beside it."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # classes in it are looked up there
    with searching(str(path.resolve().parent)):
        spec.loader.exec_module(module)
    return module


@contextmanager
def searching(folder: str) -> Iterator[None]:
    """Lets imports find modules in a folder."""
    if folder in sys.path:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
