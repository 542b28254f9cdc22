"""A launch of a kernel: as it is planned, and with its arguments."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from evonet.backends.cuda.cost import WARP
from evonet.backends.cuda.nvrtc import Defines


@dataclasses.dataclass(frozen=True)
class LaunchPlan:
    """One launch of a kernel, all but its arguments.

    `wide` has a launch for every level, and its grid is that of the widest.
    """

    kernel: str  # name of the .cu file and of its entry point
    defines: Defines  # what the kernel is compiled with
    grid: tuple[int, ...]  # blocks
    block: tuple[int, ...]  # threads of a block
    shared_mem: int = 0  # bytes of dynamic shared memory of a block
    scratch_nbytes: int = 0  # bytes of global memory that it needs for intermediate values
    team_size: int = WARP  # threads that share a genome and a tile
    tile: int = WARP  # samples that a team evaluates at a time
    team_values: int = 0  # numbers that a team keeps; for `wide` those of a genome
    cycles: float = 0.0  # the cost of a forward pass; 0 where there is no choice
    strip: int = 0  # nodes of a warp; only for `wide`
    columns: int = 0  # samples that all launches of `wide` evaluate at a time

    @property
    def mapping(self) -> str:
        """The mapping of a forward pass; for other kernels their name."""
        return self.kernel.removeprefix("forward_")


class Launch(NamedTuple):
    """A launch that is ready to go; the fields are those that `Device.launch` takes."""

    kernel: str
    defines: Defines
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    shared_mem: int = 0
