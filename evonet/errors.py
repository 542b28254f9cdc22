"""Every error that evonet raises on purpose, drawn as a tree; and the checks of arguments.

    EvonetError
    ├── GenomeError            a gene makes no sense; names the genome and the gene
    │   ├── UnknownFunctionError   an activation or aggregation is not registered
    │   └── CyclicGenomeError      a feed-forward genome has a cycle
    ├── ShapeError             an array has the wrong shape or type
    ├── OptionError            an argument has a value that is not allowed
    ├── ExpressionError        a custom function cannot be translated; points at the character
    ├── BackendError           a backend was asked for and cannot run here
    │   └── DeviceError            a GPU is missing, or failed while working
    │       ├── CompileError           NVRTC refuses a kernel; carries its log
    │       └── DeviceMemoryError      a GPU has too little memory for the smallest piece of work
    ├── FileFormatError        a file is not what its name says, or is damaged
    ├── ConfigError            a config file has faults; lists all of them
    ├── EpisodeError           an environment raised; names it and the episode's seed
    ├── FitnessError           fitness has the wrong shape or is not a finite number
    ├── WorkerError            workers cannot start, or a genome fails on all of them
    ├── BusyError              an object that only one may use at a time is in use
    ├── ExtinctionError        all species died out
    ├── CheckpointError        a checkpoint cannot be read, or does not fit the run
    └── RunFolderError         a folder holds no run, or one that is in the way

All of them also derive from the built-in exception that callers would expect
(`ValueError`, `RuntimeError`, `MemoryError`), so ordinary handlers keep working.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Final, NamedTuple

from evonet.messages import did_you_mean, show

MOST_SEED: Final = 2**64 - 1
# More threads than any machine has; a larger number is a mistake.
MOST_THREADS: Final = 4096


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
    """The text or the Python function cannot be translated into a custom function.

    Attributes:
        position: The character of the text to blame, counted from 0, or None.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class BackendError(EvonetError, RuntimeError):
    """A backend was asked for by name and cannot run on this machine."""


class DeviceError(BackendError):
    """A GPU is missing or unusable, or failed while working."""


class CompileError(DeviceError):
    """NVRTC is missing, or refuses a kernel.

    Attributes:
        log: NVRTC's log, or "".
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class DeviceMemoryError(DeviceError, MemoryError):
    """A GPU has too little memory, even for the smallest piece of work."""


class FileFormatError(EvonetError, ValueError):
    """A file is not what it claims to be, or is damaged."""


# More faults than this are counted, not listed.
MOST_FAULTS: Final = 50


class ConfigFault(NamedTuple):
    """One thing that is wrong with a config.

    Attributes:
        key: The setting as its file spells it, "neat.pop_size" or "[NEAT] pop_size"; "" if the
            whole file is at fault.
        message: A sentence that names the key and what is wrong with it.
        line: The line of the file, counted from 1, or None.
    """

    key: str
    message: str
    line: int | None = None


class ConfigError(EvonetError, ValueError):
    """A config has faults; the message has one line for each of the first `MOST_FAULTS`.

    Attributes:
        source: The name of the file.
        faults: Everything that is wrong with it.
    """

    def __init__(self, source: str, faults: Iterable[ConfigFault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        listed = [self._line(fault) for fault in self.faults[:MOST_FAULTS]]
        if len(self.faults) > MOST_FAULTS:
            listed.append(f"{source}: There are {len(self.faults) - MOST_FAULTS:,} more faults.")
        super().__init__("\n".join(listed))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, tuple[ConfigFault, ...]]]:
        return type(self), (self.source, self.faults)

    def _line(self, fault: ConfigFault) -> str:
        where = "" if fault.line is None else f" (line {fault.line})"
        return f"{self.source}: {fault.message}{where}"


class EpisodeError(EvonetError, RuntimeError):
    """An environment raised an error; the message names it and the episode's seed."""


class FitnessError(EvonetError, ValueError):
    """Fitness has the wrong shape, or that of a genome is not a finite number."""


class WorkerError(EvonetError, RuntimeError):
    """Workers cannot start, or a genome fails however often and wherever it is tried."""


class BusyError(EvonetError, RuntimeError):
    """Something was called while it was at work, by another thread or from within."""


class ExtinctionError(EvonetError, RuntimeError):
    """All species stagnated and died out."""


class CheckpointError(EvonetError, ValueError):
    """A checkpoint cannot be read, or does not fit the run that should resume from it."""


class RunFolderError(EvonetError, ValueError):
    """A folder holds no run although one was expected, or holds one that is in the way."""


def check_option(name: str, found: object, allowed: Iterable[str]) -> None:
    """Raises unless an option has one of its allowed values.

    Raises:
        OptionError: The value is not allowed.
    """
    options = list(allowed)
    if found not in options:
        raise OptionError(f"{name}={found!r} is not a choice. {did_you_mean(str(found), options)}")


def check_whole(
    name: str, found: object, least: int = 0, most: int | None = None, note: str = ""
) -> int:
    """Returns a whole number of any type, NumPy's included, as an int.

    Args:
        name: The argument that has this value.
        found: The value; booleans are refused.
        least: The smallest that is allowed.
        most: The largest that is allowed; None for no limit.
        note: The end of the message, such as "; 0 takes all".

    Raises:
        OptionError: It is not a whole number, or out of range.
    """
    try:
        number = None if isinstance(found, bool) else operator.index(found)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f", at least {least}"
        if most is not None:
            bounds = f" from {least} to {'2^64 - 1' if most == MOST_SEED else most}"
        raise OptionError(f"{name}={_shown(found)} must be a whole number{bounds}{note}.")
    return number


def _shown(found: object) -> str:
    return repr(found) if isinstance(found, bool) or not isinstance(found, int) else show(found)


def check_positive(name: str, found: object) -> float:
    """Returns a finite number above 0 of any type, NumPy's included, as a float.

    Raises:
        OptionError: It is not a number, not finite, or not above 0.
    """
    try:
        number = math.nan if isinstance(found, (bool, str)) else float(found)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise OptionError(f"{name}={found!r} must be a number above 0.")
    return number


def check_seed(seed: object) -> int:
    """Returns the seed of a run.

    Raises:
        OptionError: It is not a whole number from 0 to 2^64 - 1.
    """
    return check_whole("seed", seed, 0, MOST_SEED)


def check_threads(threads: object) -> int:
    """Returns a number of threads; 0 stands for all that are available.

    Raises:
        OptionError: It is not a whole number from 0 to MOST_THREADS.
    """
    return check_whole("threads", threads, 0, MOST_THREADS, ", 0 for all available")
