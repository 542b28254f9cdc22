"""Which other libraries can be imported here, and how to install the missing ones."""

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
        name: The name in tables.
        module: The module to import.
        package: The package that holds it.
        install: The command that installs it.
    """

    name: str
    module: str
    package: str
    install: str


PEERS: Final = (
    Peer("neat-python", "neat", "neat-python", "pip install neat-python"),
    Peer("SciPy", "scipy.sparse", "scipy", "pip install scipy"),
    Peer("PyTorch", "torch", "torch", "pip install torch"),
    Peer(
        "TensorNEAT",
        "tensorneat",
        "tensorneat",
        "pip install git+https://github.com/EMI-Group/tensorneat",
    ),
)
MADE_FOR_GPUS: Final = "made for GPUs, here on the processor"


class Peers:
    """Imports libraries once, and lists the missing ones.

    Attributes:
        missing: A line for each library that could not be imported, by name.
    """

    def __init__(self) -> None:
        """Imports nothing yet."""
        self.missing: dict[str, str] = {}
        self._found: dict[str, ModuleType] = {}

    def find(self, name: str) -> ModuleType | None:
        """Imports a library; None if it is missing.

        Args:
            name: The name of one of `PEERS`.
        """
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
