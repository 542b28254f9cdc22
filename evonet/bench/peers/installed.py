"""Which other libraries can be imported here, and how to install the missing ones."""

from __future__ import annotations

import importlib
import importlib.metadata
import warnings
from types import ModuleType
from typing import Final, NamedTuple


class Peer(NamedTuple):
    """Another library."""

    name: str  # in tables
    module: str  # to import
    package: str  # that holds it
    source: str  # what pip installs

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"pip install {self.source}"


PEERS: Final = (
    Peer("neat-python", "neat", "neat-python", "neat-python"),
    Peer("SciPy", "scipy.sparse", "scipy", "scipy"),
    Peer("PyTorch", "torch", "torch", "torch"),
    Peer("TensorNEAT", "tensorneat", "tensorneat", "git+https://github.com/EMI-Group/tensorneat"),
)
MADE_FOR_GPUS: Final = "made for GPUs, here on the processor"


class Peers:
    """Imports libraries once, and keeps a line about each that is missing, by name."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self._found: dict[str, ModuleType] = {}

    def find(self, name: str) -> ModuleType | None:
        """Imports one of `PEERS` by name; None if it is missing."""
        peer = next(peer for peer in PEERS if peer.name == name)
        if name in self._found or name in self.missing:
            return self._found.get(name)
        try:
            with warnings.catch_warnings():  # other libraries' deprecations do not concern users
                warnings.simplefilter("ignore")
                self._found[name] = importlib.import_module(peer.module)
        except ModuleNotFoundError:
            self.missing[name] = f"{name}: not installed: {peer.install}"
        except (ImportError, OSError) as error:
            self.missing[name] = f"{name}: installed, but cannot be imported: {error}"
        return self._found.get(name)

    def versions(self) -> dict[str, str]:
        """The versions of the imported libraries."""
        found = {}
        for peer in PEERS:
            if peer.name in self._found:
                try:
                    found[peer.name] = importlib.metadata.version(peer.package)
                except importlib.metadata.PackageNotFoundError:
                    found[peer.name] = "unknown"
        return found
