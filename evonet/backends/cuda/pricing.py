"""What a generation on a GPU costs as a whole: the host's work, the copies and the kernels.

It is a model, for `auto` to choose before anything was measured and for tables. Its assumptions:

- the host packs genomes at `PACK` bytes per second, while the GPU copies what is packed already;
- copies reach the link's speed, `LINK` where it is not known;
- kernels take the cycles of the cost model, at `GIGAHERTZ` where the clock is not known;
- every evaluation adds `CALL` seconds: Python, launches, and waiting for the result;
- kernels are compiled, samples are on the GPU, and all genomes fit into its memory.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from evonet.backends.cuda.cost import WARP, Workload
from evonet.backends.cuda.limits import DeviceLimits
from evonet.backends.cuda.plan import plan_forward

PACK: Final = 10e9  # bytes per second; two threads of a server's processor packed 12e9
LINK: Final = 12e9  # bytes per second: PCIe 3.0 x16, about what copies reach
GIGAHERTZ: Final = 1.4
CALL: Final = 60e-6  # seconds
LOSS: Final = 6.0  # cycles of a warp for 32 outputs, which are read once


@dataclasses.dataclass(frozen=True)
class Price:
    """Seconds of one evaluation of new genomes, by phase."""

    pack: float  # on the host
    upload: float  # of the genomes, while the next are packed
    kernel: float  # forward pass and loss
    download: float  # of a loss per genome
    call: float = CALL

    @property
    def total(self) -> float:
        """All phases; packing and copying overlap."""
        return max(self.pack, self.upload) + self.kernel + self.download + self.call


def packed_size(work: Workload) -> int:
    """About how many bytes the packed genomes of a workload have."""
    size = work.dtype.itemsize
    per_genome = 3 * 8 + 4 * work.num_outputs
    per_node = 4 * size + 4 + size  # header, place, and half a unit that is left over
    return (
        work.num_genomes * per_genome
        + work.num_nodes * per_node
        + 2 * size * work.num_edges
        + 4 * work.num_levels
    )


def price_evaluation(
    work: Workload,
    limits: DeviceLimits,
    *,
    gigahertz: float = GIGAHERTZ,
    link: float = LINK,
    pack: float = PACK,
) -> Price:
    """Prices the loss of all genomes of a workload that is not empty, on one GPU."""
    copied = packed_size(work)
    cycles = plan_forward(work, limits).cycles
    outputs = work.num_genomes * work.num_samples * work.num_outputs
    cycles += LOSS * outputs / WARP / limits.num_sms
    return Price(
        pack=copied / pack,
        upload=copied / link,
        kernel=cycles / (gigahertz * 1e9),
        download=2 * work.dtype.itemsize * work.num_genomes / link,
    )
