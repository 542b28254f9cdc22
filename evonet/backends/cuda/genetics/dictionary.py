"""Genomes that others are measured against, in a GPU's memory: `kernels/cuda/dictionary.h`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evonet.backends.cuda.genetics.sums import THREADS, fill
from evonet.backends.cuda.layout import real_name

if TYPE_CHECKING:
    from evonet.backends.cuda.device import Device, DeviceArray
    from evonet.backends.cuda.genetics.genes import DeviceGenes
    from evonet.genes.mating import Indices

STANDARDS: Final = 16  # kStandards of kernels/genetics/standards.h
NODE_ROWS: Final = 6  # numbers that a standard has of a node
LINK_ROWS: Final = 3
FREE: Final = 0xFFFFFFFF  # a slot without a word


class Dictionary:
    """Up to `STANDARDS` genomes.

    Attributes:
        count: How many genomes.
        arguments: What kernels take them as.
    """

    def __init__(self, genes: DeviceGenes, chosen: Indices) -> None:
        """Learns genomes by their positions; -1 is a genome without genes."""
        device, real = genes.device, genes.dtype
        self.count = len(chosen)
        nodes, conns = max(1, genes.most_nodes), max(1, genes.most_connections)
        words = self.count * nodes, self.count * conns
        bits = [max(2, (2 * size - 1).bit_length()) for size in words]
        slots = _parts(device, [1 << each for each in bits], np.dtype(np.int32), FREE)
        rows = [
            size * attributes * STANDARDS
            for size, attributes in zip(words, (NODE_ROWS, LINK_ROWS), strict=True)
        ]
        keys = [device.empty((2 * size,), np.int64) for size in words]
        self.arguments: tuple[Any, ...] = (
            *map(np.int32, (nodes, conns, *bits)),
            *slots,
            *keys,
            *_parts(device, rows, real, 0),
            device.empty((words[1] * STANDARDS,), np.int64),
            device.empty((2 * STANDARDS,), real),
            device.empty((STANDARDS,), np.int64),
            np.int32(self.count),
        )
        device.launch(
            "learn_standards",
            {"REAL": real_name(real)},
            (-(-max(nodes, conns) // THREADS), self.count),
            (THREADS,),
            (*genes.arguments, device.upload(np.ascontiguousarray(chosen)), *self.arguments),
        )


def _parts(device: Device, sizes: list[int], dtype: np.dtype[Any], word: int) -> list[DeviceArray]:
    """Arrays side by side, so that one launch sets all their words."""
    whole = device.empty((sum(sizes),), dtype)
    fill(device, whole, word)
    ends = np.cumsum(sizes).tolist()
    return [whole[end - size : end] for size, end in zip(sizes, ends, strict=True)]
