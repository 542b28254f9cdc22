"""Fits NumPy arguments to the parameters of a kernel, as strictly as a GPU would punish."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ArgumentError
from .limits import MAX_PARAMETERS

C_NAMES = {
    ("b", 1): "bool",
    ("i", 1): "signed char",
    ("i", 2): "short",
    ("i", 4): "int",
    ("i", 8): "long long",
    ("u", 1): "unsigned char",
    ("u", 2): "unsigned short",
    ("u", 4): "unsigned",
    ("u", 8): "unsigned long long",
    ("f", 4): "float",
    ("f", 8): "double",
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel, as the compiler sees it.

    kind is NumPy's letter for the scalar: b, i, u, f; V is a struct, v void, p a pointer to a
    pointer. A float4* has kind f, scalar_size 4 and size 16.
    """

    name: str
    kind: str
    is_pointer: bool
    is_const: bool
    scalar_size: int
    size: int

    @property
    def c_type(self) -> str:
        """Returns about what the source says."""
        scalar = C_NAMES.get((self.kind, self.scalar_size), f"struct of {self.size} bytes")
        if self.kind == "v":
            scalar = "void"
        elif self.size > self.scalar_size:
            scalar += str(self.size // self.scalar_size)
        return f"{'const ' if self.is_const else ''}{scalar}{'*' if self.is_pointer else ''}"

    def accepts(self, dtype: np.dtype[Any]) -> bool:
        """Tells whether memory of this type may be passed."""
        if self.kind == "v":
            return True
        if self.kind == "V":
            return dtype.kind == "V" and dtype.itemsize == self.size
        if (dtype.kind, dtype.itemsize) == (self.kind, self.scalar_size):
            return True
        return self.scalar_size == 1 and self.kind in "iu" and dtype in (np.int8, np.uint8)


def check_arguments(kernel: str, parameters: list[Parameter], args: Any) -> None:
    """Checks number, types, layout and writability of a launch's arguments.

    Raises:
        ArgumentError: What was found, what the kernel declares, and what to pass instead.
    """
    if not isinstance(args, tuple | list):
        raise ArgumentError(f"{kernel}: args is {type(args).__name__}; give a tuple")
    if len(args) != len(parameters):
        names = ", ".join(f"{p.c_type} {p.name}" for p in parameters)
        raise ArgumentError(
            f"{kernel}: {len(args)} arguments for {len(parameters)} parameters ({names})"
        )
    for place, (parameter, value) in enumerate(zip(parameters, args, strict=True)):
        where = f"{kernel}: argument {place}, {parameter.c_type} {parameter.name}"
        if parameter.is_pointer:
            _check_pointer(where, parameter, value)
        else:
            _check_value(where, parameter, value)
    size = sum(8 if p.is_pointer else p.size for p in parameters)
    if size > MAX_PARAMETERS:
        raise ArgumentError(f"{kernel}: {size} bytes of parameters, allowed are {MAX_PARAMETERS}")


def _check_pointer(where: str, parameter: Parameter, value: Any) -> None:
    if parameter.kind == "p":
        raise ArgumentError(f"{where}: pointers to pointers are not supported")
    if is_null(value):
        return
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{where}: needs an array, got {type(value).__name__}")
    if not parameter.accepts(value.dtype):
        raise ArgumentError(f"{where}: got an array of {value.dtype}")
    if not value.flags.c_contiguous:
        raise ArgumentError(
            f"{where}: the array of shape {value.shape} and strides {value.strides} is not "
            "C-contiguous; a kernel sees only its address. Pass np.ascontiguousarray(...)"
        )
    if parameter.kind not in "vV" and value.nbytes % parameter.size:
        raise ArgumentError(
            f"{where}: {value.nbytes} bytes are no multiple of the element's {parameter.size}"
        )
    if not parameter.is_const and not value.flags.writeable:
        raise ArgumentError(f"{where}: the array is read-only but the parameter is not const")


def _check_value(where: str, parameter: Parameter, value: Any) -> None:
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        wide = "float64" if isinstance(value, float) else "int64"
        raise ArgumentError(
            f"{where}: got a Python {type(value).__name__}, which CuPy passes as {wide} whatever "
            f"the kernel declares. Wrap it: np.{_dtype_name(parameter)}({value})"
        )
    if not isinstance(value, np.generic):
        raise ArgumentError(f"{where}: needs a NumPy scalar, got {type(value).__name__}")
    vector = parameter.size != parameter.scalar_size
    if vector:
        if value.dtype.kind != "V" or value.dtype.itemsize != parameter.size:
            raise ArgumentError(f"{where}: needs a structured scalar of {parameter.size} bytes")
    elif not parameter.accepts(value.dtype):
        raise ArgumentError(f"{where}: got np.{value.dtype}; pass np.{_dtype_name(parameter)}")


def _dtype_name(parameter: Parameter) -> str:
    if parameter.kind not in "biuf":
        return "void"
    return np.dtype(f"{parameter.kind}{parameter.scalar_size}").name


def is_null(value: Any) -> bool:
    """Tells whether an argument is a null pointer: np.intp(0), which CuPy passes as such."""
    return isinstance(value, np.integer) and value.dtype.itemsize == 8 and value == 0


def value_bytes(value: np.generic) -> ctypes.Array[ctypes.c_char]:
    """Returns the bytes of a scalar, for the kernel to read."""
    data = value.tobytes()
    return ctypes.create_string_buffer(data, len(data))
