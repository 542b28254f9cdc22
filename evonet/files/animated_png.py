"""Animated PNG: a film that every browser shows, written with the standard library alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[np.uint8]

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
# Bits that are kept of each colour: fewer compress better, and flat drawings look the same.
KEPT: Final = np.uint8(0b11111000)


def encode_frames(frames: Sequence[npt.NDArray[Any]], rate: float) -> bytes:
    """Encodes frames of equal size; the animation repeats for ever.

    Args:
        frames: At least one, each [height, width, 3] of 0 to 255.
        rate: Frames per second.
    """
    height, width, _ = frames[0].shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [
        SIGNATURE,
        _chunk(b"IHDR", header),
        _chunk(b"acTL", struct.pack(">II", len(frames), 0)),
    ]
    delay = max(1, round(1000 / rate))
    sequence = 0
    for number, frame in enumerate(frames):
        place = struct.pack(">IIIII", sequence, width, height, 0, 0)
        parts.append(_chunk(b"fcTL", place + struct.pack(">HHBB", delay, 1000, 0, 0)))
        sequence += 1
        data = _compress(frame)
        if number == 0:
            parts.append(_chunk(b"IDAT", data))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + data))
            sequence += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def fit_frames(
    frames: Sequence[npt.NDArray[Any]], most_frames: int, most_width: int
) -> list[Frame]:
    """Leaves out frames evenly, and pixels, until a film is small.

    Args:
        frames: Each [height, width, 3].
        most_frames: How many to keep at most; the last one is always kept.
        most_width: The largest width in pixels.
    """
    count = min(len(frames), most_frames)
    chosen = np.linspace(0, len(frames) - 1, count).round().astype(int)
    step = -(-frames[0].shape[1] // most_width)
    return [np.ascontiguousarray(frames[i][::step, ::step], np.uint8) for i in chosen.tolist()]


def _compress(frame: npt.NDArray[Any]) -> bytes:
    """Compresses the rows of a frame, each as its difference from the row above."""
    pixels = (np.asarray(frame, np.uint8) & KEPT).reshape(len(frame), -1)
    above = np.concatenate([np.zeros_like(pixels[:1]), pixels[:-1]])
    filtered = np.concatenate(
        [np.full((len(frame), 1), 2, np.uint8), pixels - above], axis=1, dtype=np.uint8
    )
    return zlib.compress(filtered.tobytes(), 9)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
