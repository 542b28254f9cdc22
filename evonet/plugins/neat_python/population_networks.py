"""Populations of networks that compute as neat-python does, with the methods of `Network`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from evonet.backends.actor import Actor
from evonet.backends.reference.loss import total_loss
from evonet.definitions.dynamics import Dynamics
from evonet.definitions.lock import Lock
from evonet.errors import OptionError, ShapeError, check_option, check_whole
from evonet.functions.registry import LOSS_IDS
from evonet.network import Network
from evonet.plugins.neat_python.installed import ctrnn_rule, network_engine


class PopulationNetwork:
    """The methods of `Network` that scores and tasks call; subclasses say how samples are answered.

    Threads may share one, as they may share a `Network`.

    Attributes:
        kind: The kind of network.
        num_genomes: P.
        num_inputs: I.
        num_outputs: O.
        dtype: The type of the outputs.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, dynamics: Dynamics, size: tuple[int, int, int]) -> None:
        """Takes how networks work through time, and P, I and O."""
        self.kind = dynamics.kind
        self.num_genomes, self.num_inputs, self.num_outputs = size
        self._dynamics = dynamics
        self._width = 0  # how many samples are remembered
        self._lock = Lock()

    def __len__(self) -> int:
        return self.num_genomes

    def __call__(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns outputs [P, B, O] for samples [B, I] or [P, B, I], as `Network` does."""
        samples = np.ascontiguousarray(x, np.float64)
        fits = samples.ndim in (2, 3) and samples.shape[-1] == self.num_inputs
        if not fits or (samples.ndim == 3 and len(samples) != self.num_genomes):
            raise ShapeError(
                f"x must have shape [B, {self.num_inputs}] or [{self.num_genomes}, B, "
                f"{self.num_inputs}], found {list(samples.shape)}. I is num_inputs of the config."
            )
        with self._lock:
            return self._call(samples)

    def actor(self, genome: int = 0) -> Actor:
        """Returns one of the networks alone, as `Network` does, but sharing its memory with all."""
        return _Row(self, check_whole("genome", genome, 0, self.num_genomes - 1))

    def _call(self, samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        width = samples.shape[-2]
        if self.kind != "feedforward" and self._width != width:
            if self._width:
                raise ShapeError(
                    f"x has {width} samples, and the networks remember {self._width}. "
                    "Call reset() first."
                )
            self._begin(width)
            self._width = width
        outputs = np.empty((self.num_genomes, width, self.num_outputs))
        self._answer(samples, outputs)
        return outputs

    def _begin(self, width: int) -> None:
        """Starts a memory for each of `width` samples."""

    def _answer(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        """Returns to the first state."""
        with self._lock:
            self._width = 0
            self._forget()

    def _forget(self) -> None:
        """Returns everything that a network is made of to its first state."""

    def loss(self, x: Any, targets: Any, loss: str = "squared") -> npt.NDArray[np.float64]:
        """Returns losses [P], from and back to the first state, as `Network` does."""
        with self._lock:
            self.reset()
            outputs = self(x)
            self.reset()
        return losses(outputs, np.asarray(targets, np.float64), loss)

    def rollout(self, *_: object, **__: object) -> NoReturn:
        """Refuses: only kernels run whole episodes."""
        raise OptionError(
            "these networks have functions or formulas that no kernel computes, so no kernel can "
            "run whole episodes. Let Gymnasium step the environment: from_env(..., native=False)."
        )


class _Row:
    """One network of a population, which answers by calls for all of it."""

    def __init__(self, network: PopulationNetwork, genome: int) -> None:
        self._network = network
        self._genome = genome
        self.reset = network.reset

    def __call__(self, x: npt.NDArray[Any]) -> list[float]:
        outputs: list[float] = self._network(x[None])[self._genome, 0].tolist()
        return outputs


class ExactNetwork(PopulationNetwork):
    """P networks, not spiking, that the compiled extension evaluates as neat-python would."""

    def __init__(self, dynamics: Dynamics, size: tuple[int, int, int], engine: Any) -> None:
        """Takes a native `NeatPopulation`."""
        super().__init__(dynamics, size)
        self._engine = engine

    def _begin(self, width: int) -> None:
        self._engine.begin(width)

    def _answer(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
        steps, time_step = self._dynamics.steps, self._dynamics.time_step
        if self.kind == "ctrnn":
            self._engine.advance(steps, x, y, time_step, ctrnn_rule() == "exponential")
        else:
            self._engine.answer(steps, x, y)


class SteppedNetwork(PopulationNetwork):
    """P networks of the drop-in classes, which answer one genome at a time."""

    def __init__(
        self, dynamics: Dynamics, size: tuple[int, int, int], networks: Sequence[Any]
    ) -> None:
        """Takes networks in their first state."""
        super().__init__(dynamics, size)
        self._networks = networks

    def _answer(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
        time = self._dynamics.time_step
        times = {"ctrnn": (time, time), "izhikevich": (time,)}.get(self.kind, ())
        for p, network in enumerate(self._networks):
            answer = network.advance_batch if times else network.activate_batch
            for _ in range(self._dynamics.steps):
                y[p] = answer(x if x.ndim == 2 else x[p], *times)

    def _forget(self) -> None:
        if self.kind != "feedforward":
            for network in self._networks:
                network.reset()


class MixedNetwork(PopulationNetwork):
    """P networks: some run in kernels, the others as neat-python would."""

    def __init__(
        self,
        size: tuple[int, int, int],
        is_exact: npt.NDArray[np.bool_],
        exact: ExactNetwork | SteppedNetwork,
        compiled: Network,
    ) -> None:
        """Puts both together; is_exact, [P], marks those that run as neat-python would."""
        super().__init__(exact._dynamics, size)
        self._is_exact = is_exact
        self._exact = exact
        self._compiled = compiled

    def _answer(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> None:
        for mine, network in ((self._is_exact, self._exact), (~self._is_exact, self._compiled)):
            y[mine] = network(x if x.ndim == 2 else x[mine])

    def _forget(self) -> None:
        self._exact.reset()
        self._compiled.reset()


def losses(
    outputs: npt.NDArray[np.float64], targets: npt.NDArray[np.float64], loss: str
) -> npt.NDArray[np.float64]:
    """Computes the loss of every genome, [P], from outputs [P, B, O] and targets [B, O]."""
    check_option("loss", loss, tuple(LOSS_IDS))
    _check_targets(outputs, targets)
    pairs = [total_loss(LOSS_IDS[loss], one, targets) for one in outputs]
    total: npt.NDArray[np.float64] = np.array(pairs, np.float64).reshape(-1, 2).sum(axis=1)
    return total


def subtract_squares(
    best: float, outputs: npt.NDArray[np.float64], targets: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Subtracts squared errors from the best fitness, [P], with the bits of a loop in Python."""
    _check_targets(outputs, targets)
    native, fitness = network_engine(), np.full(len(outputs), best)
    if native is not None:
        native.subtract_squares(outputs, np.ascontiguousarray(targets), best, fitness)
        return fitness
    wanted = targets.ravel().tolist()
    for p, one in enumerate(outputs.reshape(len(outputs), -1).tolist()):
        for got, want in zip(one, wanted, strict=True):
            fitness[p] -= (got - want) ** 2
    return fitness


def _check_targets(outputs: npt.NDArray[np.float64], targets: npt.NDArray[np.float64]) -> None:
    if targets.shape != outputs.shape[1:]:
        raise ShapeError(
            f"targets must have shape {list(outputs.shape[1:])}, one row per sample, "
            f"found {list(targets.shape)}."
        )
