"""Evaluates one layered network on many samples, and counts what that took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.cpu import CpuBackend
from evonet.errors import ShapeError
from evonet.genes.layers import Layer
from evonet.network import Network
from evonet.schedule.layered import schedule_of_layers
from evonet.schedule.schedule import Schedule

# Samples between two reports: enough for all threads, few enough that outputs need little memory.
CHUNK: Final = 8192


@dataclass(frozen=True)
class LayeredResult:
    """What a network made of all samples.

    Attributes:
        categories: [C] samples with an output that is not zero, ascending.
        num_samples: B.
        num_links: Links of the network.
        seconds: Time that evaluating took, without reading and compiling.
        executed: Links times samples that were computed; the others' values were known to be 0.
        layer_seconds: For groups of consecutive layers, how many they are and the time that they
            took, summed over threads; empty where the backend does not measure it.
        outputs: [B, O], if they were wanted.
    """

    categories: npt.NDArray[np.int64]
    num_samples: int
    num_links: int
    seconds: float
    executed: int
    layer_seconds: list[tuple[int, float]]
    outputs: npt.NDArray[Any] | None = None

    @property
    def nominal_rate(self) -> float:
        """Links times samples per second, all of them counted, as the challenge does."""
        return self.num_links * self.num_samples / max(self.seconds, 1e-9)

    @property
    def executed_rate(self) -> float:
        """Links times samples per second that were computed."""
        return self.executed / max(self.seconds, 1e-9)


class LayeredNetwork:
    """A layered network, compiled without a population.

    Attributes:
        schedule: What is run.
        backend: Where: "cpu", "cuda" or "reference".
    """

    def __init__(
        self, layers: Iterable[Layer] | Schedule, *, backend: str = "cpu", threads: int = 0
    ) -> None:
        """Compiles layers, which may come one by one.

        Args:
            layers: From the first to the last; or a schedule that holds them.
            backend: Where to run; see `evonet.compile`.
            threads: Threads to use; 0 for all available.

        Raises:
            EvonetError: As for `schedule_of_layers` and `evonet.compile`.
        """
        self.schedule = layers if isinstance(layers, Schedule) else schedule_of_layers(layers)
        self._network = Network(self.schedule, backend, threads)
        self.backend = self._network.backend
        on_cpu = self.backend == "cpu"
        self._tiles = CpuBackend().bind(self.schedule, threads) if on_cpu else None

    def run(
        self,
        x: npt.NDArray[Any],
        *,
        drop: bool = True,
        outputs: bool = False,
        report: Callable[[int], None] | None = None,
    ) -> LayeredResult:
        """Evaluates all samples.

        Args:
            x: [B, I] numbers of any type.
            drop: Whether samples whose values are all 0, and stay 0, leave the work. No bit of the
                result depends on it.
            outputs: Whether to return all outputs.
            report: Called with the number of samples after each part.

        Raises:
            ShapeError: x has another shape.
        """
        s = self.schedule
        if x.ndim != 2 or x.shape[1] != s.num_inputs:
            raise ShapeError(f"x must have shape [B, {s.num_inputs}], found {list(x.shape)}.")
        found, kept, executed, seconds = [], [], 0, 0.0
        layers: dict[int, tuple[int, float]] = {}
        for begin in range(0, len(x), CHUNK):
            part = np.ascontiguousarray(x[begin : begin + CHUNK], s.dtype)
            start = time.perf_counter()
            if self._tiles is None:
                y = np.asarray(self._network(part))
                executed += s.num_edges * len(part)
            else:
                y, counts = self._tiles.forward_in_tiles(part, drop)
                executed += counts.executed
                for i, (count, spent) in enumerate(counts.segments):
                    layers[i] = count, layers.get(i, (0, 0.0))[1] + spent
            seconds += time.perf_counter() - start
            found.append(begin + np.flatnonzero(y[0].any(axis=1)))
            if outputs:
                kept.append(y[0])
            if report is not None:
                report(len(part))
        empty = np.zeros(0, np.int64)
        return LayeredResult(
            np.concatenate([empty, *found]),
            len(x),
            s.num_edges,
            seconds,
            executed,
            [layers[i] for i in sorted(layers)],
            np.concatenate([np.zeros((0, s.num_outputs), s.dtype), *kept]) if outputs else None,
        )
