"""Checkpoints: a folder with the last few states of a run, and how to continue from there.

    save_checkpoint(algorithm, "runs/xor")         # after every tell
    algorithm = load_checkpoint("runs/xor")        # the newest that can be read

A file appears whole or not at all, and older ones go only once the new one is safe on the disk.
So whenever a run is killed, there is a checkpoint to continue from, with equal bits.
"""

from __future__ import annotations

from evonet.evolution.checkpoint.file import Checkpoint, read_checkpoint, write_checkpoint
from evonet.evolution.checkpoint.folder import (
    generation_of,
    list_checkpoints,
    load_checkpoint,
    open_checkpoint,
    save_checkpoint,
    tidy_checkpoints,
)
from evonet.evolution.checkpoint.restore import restore

__all__ = [
    "Checkpoint",
    "generation_of",
    "list_checkpoints",
    "load_checkpoint",
    "open_checkpoint",
    "read_checkpoint",
    "restore",
    "save_checkpoint",
    "tidy_checkpoints",
    "write_checkpoint",
]
