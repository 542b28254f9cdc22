"""cupy.cuda.nvrtc: "compiles" to a recipe for the SIMT runner, which a Module follows.

So the product's own compiler and its cache run in front of it, unchanged.
"""

from __future__ import annotations

import itertools
import json
import struct
from types import ModuleType
from typing import Any

from .errors import CUDADriverError, NVRTCError
from .machine import Machine

MAGIC = b"\x7fELF"
HEADER = 64  # bytes


class Nvrtc:
    """The functions of the module, over programs of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._programs: dict[int, dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def module(self, name: str) -> ModuleType:
        module = ModuleType(name)
        module.NVRTCError = NVRTCError  # type: ignore[attr-defined]
        for function in (
            self.createProgram,
            self.compileProgram,
            self.getCUBIN,
            self.getPTX,
            self.getProgramLog,
            self.destroyProgram,
            self.getVersion,
            self.getSupportedArchs,
        ):
            setattr(module, function.__name__, function)
        return module

    def createProgram(self, src: str, name: str, headers: Any, include_names: Any) -> int:  # noqa: N802
        number = next(self._numbers)
        self._programs[number] = {
            "source": src,
            "name": name,
            "headers": {_text(n): _text(h) for n, h in zip(include_names, headers, strict=True)},
        }
        return number

    def compileProgram(self, prog: int, options: Any) -> None:  # noqa: N802
        program = self._programs[prog]
        program["options"] = [_text(option) for option in options]
        self._machine.num_compiled += 1
        if self._machine.compile_fault:
            raise NVRTCError(6)

    def getCUBIN(self, prog: int) -> bytes:  # noqa: N802
        image = to_image(self._programs[prog])
        return image[:-1]  # CuPy takes it for the end of a text and drops it

    def getPTX(self, prog: int) -> bytes:  # noqa: N802
        return b"// The stand-in has no PTX."

    def getProgramLog(self, prog: int) -> str:  # noqa: N802
        return self._machine.compile_fault

    def destroyProgram(self, prog: int) -> None:  # noqa: N802
        del self._programs[prog]

    def getVersion(self) -> tuple[int, int]:  # noqa: N802
        # No real NVRTC has this version, so their caches can never hold each other's cubins.
        return self._machine.runtime // 1000, 999

    def getSupportedArchs(self) -> list[int]:  # noqa: N802
        dropped_by_13 = [50, 52, 53, 60, 61, 62, 70, 72] if self._machine.runtime < 13000 else []
        return [*dropped_by_13, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]


def to_image(recipe: dict[str, Any]) -> bytes:
    """A file with the header of an ELF file, the recipe, and a table of one zero byte."""
    text = json.dumps(recipe).encode()
    header = bytearray(HEADER)
    header[:4] = MAGIC
    struct.pack_into("<Q", header, 40, HEADER + len(text))  # where its table of sections is
    struct.pack_into("<HH", header, 58, 1, 1)  # size of an entry, entries
    return bytes(header) + text + b"\0"


def from_image(image: bytes) -> dict[str, Any]:
    """Reads what `to_image` wrote.

    Raises:
        CUDADriverError: It is something else, or incomplete.
    """
    if image[:4] != MAGIC or image[-1:] != b"\0":
        raise CUDADriverError(200)
    recipe: dict[str, Any] = json.loads(image[HEADER:-1])
    return recipe


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
