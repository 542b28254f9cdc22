"""Where the files of a run are, and whether a folder is free for one."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from evonet.errors import RunFolderError
from evonet.files.atomic import remove_leftovers, resolve_inside
from evonet.files.regular import open_regular

# A folder with one of these holds a run, or something that would be overwritten.
FILES: Final = (
    "config.toml",
    "metrics.jsonl",
    "improvements.jsonl",
    "checkpoints",
    "champion.json",
    "results.json",
    "film.png",
    "report.html",
)
LOCK: Final = ".lock"
LOCKING: Final = (
    os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)


class RunFolder:
    """The folder of one run.

    Attributes:
        path: The folder itself.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Names a folder, without a look at the disk."""
        self.path = Path(path)

    @property
    def config(self) -> Path:
        """All settings."""
        return self.path / "config.toml"

    @property
    def metrics(self) -> Path:
        """A line of JSON per generation."""
        return self.path / "metrics.jsonl"

    @property
    def improvements(self) -> Path:
        """A line of JSON per new best genome."""
        return self.path / "improvements.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def champion(self) -> Path:
        """The best genome."""
        return self.path / "champion.json"

    @property
    def results(self) -> Path:
        """What the best genome answers to examples, for tasks that have some."""
        return self.path / "results.json"

    @property
    def film(self) -> Path:
        """An episode of the best genome, as an animated PNG; only some tasks have one."""
        return self.path / "film.png"

    @property
    def report(self) -> Path:
        """The page about the run."""
        return self.path / "report.html"

    def create(self) -> bool:
        """Makes the folder, which may be there already as long as it holds no run.

        Returns:
            Whether it was not there before.

        Raises:
            RunFolderError: It holds a run, or cannot be made.
        """
        try:
            made = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            found = [name for name in FILES if (self.path / name).exists()]
        except OSError as error:
            raise RunFolderError(
                f"{self.path}: no run can be kept there: {error.strerror}. Choose another folder."
            ) from error
        if found:
            raise RunFolderError(
                f"{self.path}: already holds {found[0]} of a run. Resume that run, or choose "
                "another folder."
            )
        return made

    def discard(self, error: BaseException) -> None:
        """Removes the folder of a run that has ended with an error, unless it did something.

        Args:
            error: What ended it. After an interrupt or a full disk the run can start again from
                its settings alone; after any other error it would only fail again.
        """
        can_start_again = isinstance(error, OSError) or not isinstance(error, Exception)
        worthless = {LOCK} if can_start_again else {LOCK, self.config.name}
        with suppress(OSError):
            if {path.name for path in self.path.iterdir()} <= worthless:
                for name in worthless:
                    (self.path / name).unlink(missing_ok=True)
                self.path.rmdir()

    def check(self) -> None:
        """Raises unless the folder holds a run.

        Raises:
            RunFolderError: It does not.
        """
        if not self.path.exists():
            raise RunFolderError(f"{self.path}: there is no such folder.")
        if not self.config.is_file():
            raise RunFolderError(f"{self.path}: is not the folder of a run: it has no config.toml.")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes from writing to the same run.

        The system lets go of the lock when the process ends, however it ends. What a killed
        process left half written is removed.

        Raises:
            RunFolderError: Another process writes to it.
            OSError: The folder cannot be written to, or a link in it leads elsewhere.
        """
        try:
            import fcntl
        except ImportError:  # Windows has no such locks
            yield
            return
        with open_regular(self.path / LOCK, LOCKING) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    raise RunFolderError(
                        f"{self.path}: another process is working on this run. Wait for it, or "
                        "stop it first."
                    ) from None
                if error.errno not in (errno.ENOLCK, errno.ENOTSUP):  # some network file systems
                    raise
            for name in FILES:
                resolve_inside(self.path / name)
            remove_leftovers(self.path, FILES)
            yield

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"


def find_champion(path: Path) -> Path:
    """Returns the file of a champion, which may be given by its run's folder.

    Raises:
        RunFolderError: A folder holds no run, or its first generation is not done.
    """
    if not path.is_dir():
        return path
    home = RunFolder(path)
    if not home.champion.is_file():
        home.check()
        raise RunFolderError(f"{path}: no generation is done yet, so there is no champion.")
    return home.champion


def next_folder(parent: Path, name: str) -> RunFolder:
    """Makes the first folder name-001, name-002, ... that is not there yet.

    Args:
        parent: The folder of all runs; made if it is missing.
        name: What the run is about.

    Raises:
        RunFolderError: It cannot be made.
    """
    for number in itertools.count(1):
        folder = parent / f"{name}-{number:03d}"
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError:
            if not parent.is_dir():
                raise RunFolderError(f"{parent}: is a file. Runs need a folder.") from None
            continue
        except OSError as error:
            raise RunFolderError(
                f"{folder}: no run can be kept there: {error.strerror}. Choose another folder "
                "with --out."
            ) from error
        return RunFolder(folder)
    raise AssertionError("numbers do not end")
