"""Reads the arrays that users pass: of the host or of a GPU, whichever library made them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.base import DeviceBound
from evonet.errors import OptionError, ShapeError
from evonet.installation import load_native

CUDA_KINDS: Final = (2, 13)  # DLPack's kDLCUDA and kDLCUDAManaged


def read_numbers(name: str, x: Any, device: DeviceBound | None, backend: str) -> Any:
    """Reads real numbers: as a NumPy array, or as one in the memory of a device.

    Raises:
        ShapeError: They are no real numbers, or on a GPU that the backend does not use.
    """
    found = x if type(x) is np.ndarray else _read(name, x, device, backend)
    if found.dtype.kind not in "biuf":
        # NumPy would silently parse text, drop imaginary parts and turn None into NaN.
        raise ShapeError(f"{name} must be an array of real numbers, found {found.dtype}.")
    return found


def _read(name: str, x: Any, device: DeviceBound | None, backend: str) -> Any:
    if is_on_gpu(x):
        if device is None:
            raise ShapeError(
                f"{name} is a {type(x).__name__} on a GPU, and backend={backend!r} reads "
                "the host's memory. Copy it first: x.get() in CuPy, x.cpu() in PyTorch."
            )
        return device.adopt(x)
    try:
        if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
            return np.from_dlpack(x)
        return np.asarray(x)
    except (TypeError, ValueError, BufferError) as error:
        raise ShapeError(f"{name} must be an array of real numbers: {error}") from error


def is_on_gpu(x: object) -> bool:
    """Returns whether something is an array in an NVIDIA GPU's memory."""
    if not hasattr(x, "__dlpack_device__"):
        return hasattr(x, "__cuda_array_interface__")
    try:
        return int(x.__dlpack_device__()[0]) in CUDA_KINDS
    except (BufferError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False  # such an array gives its reason when it is read


def as_type(found: Any, dtype: np.dtype[Any]) -> Any:
    """Makes a host array C-contiguous, aligned and of a type; a device converts its own.

    Raises:
        ShapeError: A finite number is beyond the range of the type.
    """
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == dtype:
        numbers = np.asarray(found, order="C")
    else:
        try:
            with np.errstate(over="raise"):
                numbers = np.asarray(found, dtype, order="C")
        except FloatingPointError:
            raise ShapeError(_describe_overflow(found, dtype)) from None
    return numbers if numbers.flags.aligned else numbers.copy()


def read_answers(targets: Any, num_steps: int, num_samples: int, num_outputs: int) -> Any:
    """Brings targets [B, O] or [T, B, O] into the form [1, B, O] or [T, B, O].

    Raises:
        ShapeError: They have another shape.
    """
    last, every = (num_samples, num_outputs), (num_steps, num_samples, num_outputs)
    if targets.shape == last:
        return targets[None]
    if targets.shape == every:
        return targets
    both = (
        f"{list(last)}" if num_steps == 1 else f"{list(every)}, or {list(last)} for the last step"
    )
    raise ShapeError(f"targets must have shape {both}, found {list(targets.shape)}.")


def join_pairs(pairs: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Adds what kernels leave of each loss, [P, 2] to [P], in a new array of float64."""
    native = load_native()
    joined: npt.NDArray[np.float64]
    if native is None:
        joined = np.add(pairs[:, 0], pairs[:, 1], dtype=np.float64)
    elif pairs.dtype == np.float32:
        joined = native.join_pairs32(pairs)
    else:
        joined = native.join_pairs64(pairs)
    return joined


def _describe_overflow(found: npt.NDArray[Any], dtype: np.dtype[Any]) -> str:
    largest = np.finfo(dtype).max
    place = np.argwhere(np.isfinite(found) & (np.abs(found) > largest))[0]
    return (
        f"the number {found[tuple(place)]} at {place.tolist()} is beyond the range of {dtype}, "
        f"{largest:.3g}. Scale the numbers down, or compile with dtype='float64'."
    )


def read_positions(genomes: npt.ArrayLike | None, num_genomes: int) -> npt.NDArray[np.int64]:
    """Reads [K] positions of genomes; None stands for all of them.

    Raises:
        ShapeError: It is no list of whole numbers.
        OptionError: There is no such genome.
    """
    if genomes is None:
        return np.arange(num_genomes, dtype=np.int64)
    found = np.asarray(genomes)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ShapeError(
            f"genomes must be a list of positions, found {found.dtype} of shape "
            f"{list(found.shape)}."
        )
    outside = found[(found < 0) | (found >= num_genomes)]
    if outside.size:
        raise OptionError(
            f"genomes: there is no genome {outside[0]}. Allowed: 0 to {num_genomes - 1}."
        )
    return np.ascontiguousarray(found, np.int64)


def read_genome_index(found: npt.ArrayLike | None, num_genomes: int) -> npt.NDArray[np.int64]:
    """Reads [P] positions in a larger population; None stands for 0 to P - 1.

    Raises:
        ShapeError: It has another shape, or holds something but whole numbers.
    """
    if found is None:
        return np.arange(num_genomes, dtype=np.int64)
    index = np.asarray(found)
    if index.shape != (num_genomes,) or (index.size and index.dtype.kind not in "iu"):
        raise ShapeError(
            f"genome_index must be {num_genomes} whole numbers, one per genome, found "
            f"{index.dtype} of shape {list(index.shape)}."
        )
    return index.astype(np.int64)
