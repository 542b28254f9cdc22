"""How a task travels to a worker: as its config, or as the object that it is.

A task that a config names as "module:Class" or "file.py:Class" is made again where it arrives:
its class may be in a file that other processes cannot import by name. Every other task is pickled,
from the driver to workers that it started itself; nothing is ever unpickled from a file.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from typing import Any, cast

from evonet.errors import OptionError, WorkerError
from evonet.messages import show
from evonet.tasks.base import Adopted, Task, adopt
from evonet.tasks.origin import origin_of
from evonet.tasks.registry import make_task

Dumps = Callable[[Any], bytes]


def pack_task(
    task: Task, options: Mapping[str, Any], dumps: Dumps = pickle.dumps, as_config: bool = True
) -> bytes:
    """Packs a task and the other arguments of `Here`.

    Args:
        task: What scores networks.
        options: The other arguments of `Here`.
        dumps: Pickles an object.
        as_config: Whether custom tasks may travel as their config; not if `dumps` includes classes.

    Raises:
        OptionError: The task cannot be pickled.
    """
    found: object = task.adopted if isinstance(task, Adopted) else task
    origin = origin_of(found)
    made: tuple[str, Any] = ("object", found)
    is_custom = origin is not None and ":" in origin.name
    if origin is not None and origin.name.startswith(("gym:", "jax:", "minatar:")):
        is_custom = False  # these know how to be made again
    if origin is not None and is_custom and as_config:
        made = ("config", (origin.name, dict(origin.options)))
    try:
        return dumps((os.getcwd(), made, dict(options)))
    except Exception as error:  # pickling may raise anything
        raise OptionError(
            f"task {show(repr(found))} cannot be sent to workers: {error}. Keep what cannot be "
            "pickled out of it (__getstate__), or name it in the config as module:Class, so that "
            "each worker makes its own."
        ) from error


def unpack_task(data: bytes) -> tuple[Task, dict[str, Any]]:
    """Undoes `pack_task`, in a worker of the process that packed it.

    Raises:
        WorkerError: The task cannot be made here.
    """
    try:
        folder, (form, content), options = pickle.loads(data)
        if os.path.isdir(folder):
            os.chdir(folder)
        if form == "config":
            name, given = content
            return adopt(make_task(name, **given)), options
        return adopt(content), options
    except Exception as error:
        advice = ""
        if isinstance(error, AttributeError) and "__main__" in str(error):
            advice = (
                " Put its class into a module: workers cannot see what was typed into an "
                "interpreter or a notebook."
            )
        text = " ".join(str(error).split())
        raise WorkerError(
            f"the task cannot be made in a worker: {type(error).__name__}: {text}.{advice}"
        ) from error


def unpickled(data: bytes) -> tuple[Any, ...]:
    """Reads a message of the other end of a pipe that this process made."""
    return cast("tuple[Any, ...]", pickle.loads(data))
