"""Metrics for TensorBoard, by the small package tensorboardX."""

from __future__ import annotations

import os
from typing import Any

from evonet.errors import OptionError
from evonet.evolution.hooks import Callback, Result, Run
from evonet.evolution.record import GenerationRecord
from evonet.installation import install_command


class TensorBoardWriter(Callback):
    """Writes the metrics of each generation where TensorBoard finds them.

    It needs `pip install 'evonet-gpu[tensorboard]'`.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Writes nothing yet.

        Args:
            folder: What to give TensorBoard as --logdir, or a folder below that.

        Raises:
            OptionError: tensorboardX is not installed.
        """
        try:
            import tensorboardX
        except ImportError:
            raise OptionError(
                "TensorBoardWriter needs tensorboardX. Install it with: "
                f"{install_command('tensorboard')}"
            ) from None
        self._make = tensorboardX.SummaryWriter
        self._folder = os.fspath(folder)
        self._writer: Any = None

    def on_start(self, run: Run) -> None:
        """Opens a file; TensorBoard drops what an earlier one holds from this generation on."""
        self._writer = self._make(self._folder, purge_step=run.first_generation)

    def on_generation(self, record: GenerationRecord) -> None:
        """Writes all scalars of a generation."""
        scalars: dict[str, float] = {
            "fitness/best": record.best,
            "fitness/mean": record.mean,
            "fitness/deviation": record.std,
            "fitness/best so far": record.best_so_far,
            "complexity/nodes, mean": record.mean_nodes,
            "complexity/nodes, best": record.best_nodes,
            "complexity/connections, mean": record.mean_connections,
            "complexity/connections, best": record.best_connections,
            "speed/evaluations per second": record.evaluations_per_second,
            "speed/seconds, ask": record.seconds.ask,
            "speed/seconds, compile": record.seconds.compile,
            "speed/seconds, evaluate": record.seconds.evaluate,
            "speed/seconds, tell": record.seconds.tell,
        }
        for name, value in record.details.items():
            if isinstance(value, int | float):
                scalars[f"algorithm/{name}"] = value
        for name, value in scalars.items():
            self._writer.add_scalar(name, value, record.generation)

    def on_end(self, result: Result) -> None:
        """Closes the file."""
        self._writer.close()
