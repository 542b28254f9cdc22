"""Which peers can be imported here, and what installs the others."""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Final


@dataclass(frozen=True)
class Peer:
    """Another library.

    Attributes:
        name: For tables.
        module: To import.
        package: That holds it.
        install: What brings it here.
        note: What a reader must know to judge its results.
    """

    name: str
    module: str
    package: str
    install: str
    note: str = ""


PEERS: Final = (
    Peer("neat-python", "neat", "neat-python", "pip install neat-python"),
    Peer("SciPy", "scipy.sparse", "scipy", "pip install scipy"),
    Peer("PyTorch", "torch", "torch", "pip install torch"),
    Peer(
        "TensorNEAT",
        "tensorneat",
        "tensorneat",
        "pip install git+https://github.com/EMI-Group/tensorneat",
        "made for GPUs, here on the processor",
    ),
)


class Peers:
    """Imports peers once, and remembers which are missing.

    Attributes:
        missing: A line for each that could not be imported, by name.
    """

    def __init__(self, left_out: tuple[str, ...] = ()) -> None:
        """Imports nothing yet.

        Args:
            left_out: Names of peers to be treated as if nobody had installed them.
        """
        self.missing: dict[str, str] = {}
        self._found: dict[str, ModuleType] = {}
        self._left_out = left_out

    def find(self, name: str) -> ModuleType | None:
        """Imports a peer; None where it is missing.

        Args:
            name: Of one of `PEERS`.
        """
        peer = next(peer for peer in PEERS if peer.name == name)
        if name in self._found or name in self.missing:
            return self._found.get(name)
        if name in self._left_out:
            self.missing[name] = f"{name}: left out"
            return None
        try:
            with warnings.catch_warnings():  # what others deprecate is not our user's concern
                warnings.simplefilter("ignore")
                self._found[name] = importlib.import_module(peer.module)
        except ModuleNotFoundError:
            self.missing[name] = f"{name}: not installed: {peer.install}"
        except (ImportError, OSError) as error:
            self.missing[name] = f"{name}: installed, but cannot be imported: {error}"
        return self._found.get(name)

    def versions(self) -> dict[str, str]:
        """The versions of those that were imported."""
        found = {}
        for peer in PEERS:
            if peer.name in self._found:
                try:
                    found[peer.name] = importlib.metadata.version(peer.package)
                except importlib.metadata.PackageNotFoundError:
                    found[peer.name] = "unknown"
        return found
