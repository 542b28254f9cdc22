"""Every error that evonet raises on purpose, drawn as a tree.

    EvonetError
    ├── GenomeError            a gene makes no sense; names the genome and the gene
    │   ├── UnknownFunctionError   an activation or aggregation nobody registered
    │   └── CyclicGenomeError      a feed-forward genome has a cycle
    ├── ShapeError             an array has the wrong shape or type
    ├── OptionError            an argument has a value that is not allowed
    ├── ExpressionError        a function of one's own is no expression; points at the character
    ├── BackendError           a backend was asked for and cannot run here
    │   └── DeviceError            a GPU is missing, or failed at work
    │       ├── CompileError           NVRTC refuses a kernel; carries its log
    │       └── DeviceMemoryError      a GPU has too little memory for the smallest piece of work
    ├── FileFormatError        a file is not what its name says, or is damaged
    ├── ConfigError            a config file has faults; lists all of them
    ├── FitnessError           fitness has the wrong shape or is not a finite number
    ├── ExtinctionError        all species died out
    ├── CheckpointError        a checkpoint cannot be read, or does not fit the run
    └── RunFolderError         a folder holds no run, or one that is in the way

All of them also derive from the built-in exception that callers would expect
(`ValueError`, `RuntimeError`, `MemoryError`), so ordinary handlers keep working.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple


class EvonetError(Exception):
    """The root of all evonet errors."""


class GenomeError(EvonetError, ValueError):
    """A genome holds a gene that makes no sense.

    Attributes:
        genome: Position of the genome in its population, or None.
    """

    def __init__(self, message: str, genome: int | None = None) -> None:
        super().__init__(message)
        self.genome = genome


class UnknownFunctionError(GenomeError):
    """A node names an activation or aggregation that is not registered."""


class CyclicGenomeError(GenomeError):
    """A feed-forward genome has a cycle among the nodes its outputs need."""


class ShapeError(EvonetError, ValueError):
    """An array has the wrong shape or data type."""


class OptionError(EvonetError, ValueError):
    """An argument has a value that is not allowed.

    Attributes:
        option: The name that the message begins with, where it blames one argument alone.
    """

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


class ExpressionError(EvonetError, ValueError):
    """The text or the Python function that should become a function of one's own does not do.

    Attributes:
        position: The character of the text to blame, counted from 0, or None.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class BackendError(EvonetError, RuntimeError):
    """A backend was asked for by name and cannot run on this machine."""


class DeviceError(BackendError):
    """A GPU is missing or unusable, or failed at work."""


class CompileError(DeviceError):
    """NVRTC is missing, or refuses a kernel.

    Attributes:
        log: What NVRTC said, or "".
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class DeviceMemoryError(DeviceError, MemoryError):
    """A GPU has too little memory, however small the pieces that the work is cut into."""


class FileFormatError(EvonetError, ValueError):
    """A file is not what it claims to be, or is damaged."""


class ConfigFault(NamedTuple):
    """One thing that is wrong with a config.

    Attributes:
        key: The setting as its file spells it, "neat.pop_size" or "[NEAT] pop_size"; "" when
            the fault is the whole file's.
        message: A sentence that says what is wrong and names the key.
        line: Where in the file, counted from 1, or None.
    """

    key: str
    message: str
    line: int | None = None


class ConfigError(EvonetError, ValueError):
    """A config has faults; the message has one line for each.

    Attributes:
        source: The name of the file.
        faults: All that is wrong with it.
    """

    def __init__(self, source: str, faults: Iterable[ConfigFault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        super().__init__("\n".join(map(self._line, self.faults)))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, tuple[ConfigFault, ...]]]:
        return type(self), (self.source, self.faults)

    def _line(self, fault: ConfigFault) -> str:
        where = "" if fault.line is None else f" (line {fault.line})"
        return f"{self.source}: {fault.message}{where}"


class FitnessError(EvonetError, ValueError):
    """Fitness has the wrong shape, or that of a genome is not a finite number."""


class ExtinctionError(EvonetError, RuntimeError):
    """All species stagnated and died out."""


class CheckpointError(EvonetError, ValueError):
    """A checkpoint cannot be read, or does not fit the run that should go on from it."""


class RunFolderError(EvonetError, ValueError):
    """A folder holds no run where one was expected, or the other way round."""


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Ends an error message with the nearest allowed name, or all of them.

    Args:
        name: What was found.
        allowed: What would have been accepted.
    """
    options = sorted(allowed)
    nearest = difflib.get_close_matches(name, options, n=1)
    if nearest:
        return f'Did you mean "{nearest[0]}"?'
    return f"Allowed: {', '.join(options)}."


def check_option(name: str, found: object, allowed: Iterable[str]) -> None:
    """Raises unless an option has one of its allowed values.

    Raises:
        OptionError: The value is not allowed.
    """
    options = list(allowed)
    if found not in options:
        raise OptionError(f"{name}={found!r} is not a choice. {did_you_mean(str(found), options)}")
