"""What a GPU offers to blocks of threads, as it reports it or by its data sheet."""

from __future__ import annotations

import dataclasses

# Blocks that a multiprocessor holds at a time, as cuda_occupancy.h of CUDA 13 lists them.
BLOCKS_PER_SM = {
    "sm_70": 32,
    "sm_75": 16,
    "sm_80": 32,
    "sm_86": 16,
    "sm_87": 16,
    "sm_88": 16,
    "sm_89": 24,
    "sm_90": 32,
    "sm_100": 32,
    "sm_103": 32,
    "sm_110": 24,
    "sm_120": 24,
    "sm_121": 24,
}


@dataclasses.dataclass(frozen=True)
class DeviceLimits:
    """What a GPU offers to blocks of threads."""

    arch: str  # its architecture as compilers spell it, such as "sm_86"
    num_sms: int  # multiprocessors
    shared_per_block_optin: int  # bytes of shared memory that a block may ask for
    shared_per_sm: int  # bytes of shared memory of a multiprocessor
    max_threads_per_sm: int  # threads that a multiprocessor holds at a time
    registers_per_sm: int  # 32-bit registers of a multiprocessor
    reported_blocks_per_sm: int = 0  # what the GPU itself reports; 0 for one of a data sheet

    @property
    def max_blocks_per_sm(self) -> int:
        """Blocks that a multiprocessor holds at a time; for an unknown one the least."""
        return self.reported_blocks_per_sm or BLOCKS_PER_SM.get(self.arch, 16)
