"""NVIDIA GPUs through CuPy: each one runs its shard of the genomes."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.backends.base import CompilingBackend, DeviceBound, Rollout
from evonet.backends.cuda.device import Device, DeviceArray, device_index
from evonet.backends.cuda.discovery import check_process, usable_devices
from evonet.backends.cuda.genetics.genes import DeviceGenes
from evonet.backends.cuda.layout import gather_samples
from evonet.backends.cuda.packed import HostGenomes
from evonet.backends.cuda.scheduling.compiled import CompiledGenes, compile_genes
from evonet.backends.cuda.scheduling.genomes import DeviceGenomes
from evonet.backends.cuda.shard import Shard
from evonet.backends.cuda.state import DeviceState
from evonet.backends.learning import Genes, Gradients
from evonet.errors import DeviceMemoryError, ShapeError

if TYPE_CHECKING:
    from evonet.backends.base import Episodes
    from evonet.backends.cuda.packed import Genomes
    from evonet.backends.learning import LearningState, UpdateRule
    from evonet.definitions.backends import Mapping
    from evonet.genes.population import Population
    from evonet.schedule.pending import PendingSchedule
    from evonet.schedule.schedule import Schedule

LEAST_WORK: Final = 1 << 18
"""Nodes and links that are worth a GPU of their own: fewer take longer to send than to run."""


class CudaBackend(CompilingBackend):
    """Runs schedules on all GPUs that work, the population split between them.

    Raises:
        DeviceError: No GPU works here; says why and how to fix it.
    """

    name = "cuda"

    def __init__(self) -> None:
        self._devices = usable_devices()

    def bind(self, schedule: Schedule, threads: int, mapping: Mapping = "auto") -> CudaBound:
        """Divides the schedule among the GPUs; it is uploaded by the first call."""
        ranges = split_genomes(schedule, [device.limits.num_sms for device in self._devices])
        return CudaBound(HostGenomes(schedule), self._devices, ranges, mapping)

    def bind_population(
        self, population: Population, pending: PendingSchedule, mapping: Mapping = "auto"
    ) -> CudaBound | None:
        """Compiles genomes on the GPU that holds them, and runs them on that one alone."""
        genes = population.distant
        if not isinstance(genes, DeviceGenes) or genes.device not in self._devices:
            return None
        try:
            compiled = compile_genes(population, genes, pending.dynamics, pending.on_cycle)
        except DeviceMemoryError:
            return None  # the host sends genomes in chunks that fit
        if not isinstance(compiled, CompiledGenes):
            return None
        # The GPU's shard is the first, and so are results that stay on a GPU.
        devices = sorted(self._devices, key=lambda device: device is not genes.device)
        ranges = [(0, pending.num_genomes)]
        return CudaBound(DeviceGenomes(compiled, pending), devices, ranges, mapping)


@functools.cache
def threads_for(num_devices: int) -> ThreadPoolExecutor:
    """The threads that run the shards of all networks, one per GPU."""
    return ThreadPoolExecutor(num_devices, "evonet-gpu")


def work_before(schedule: Schedule) -> npt.NDArray[np.int64]:
    """[P + 1] nodes and links of all genomes before each; every genome counts for 1 more."""
    nodes = schedule.node_start
    total: npt.NDArray[np.int64] = nodes + schedule.edge_start[nodes] + np.arange(len(nodes))
    return total


def split_genomes(schedule: Schedule, speeds: Sequence[int]) -> list[tuple[int, int]]:
    """Splits a population into ranges [begin, end), for as many GPUs as there is work for.

    `speeds` are relative. None of the ranges is empty, unless there are no genomes.
    """
    if len(speeds) == 1:
        return [(0, schedule.num_genomes)]
    before = work_before(schedule)
    wanted = min(len(speeds), max(1, int(before[-1]) // LEAST_WORK))
    parts = np.cumsum(speeds[:wanted]) / sum(speeds[:wanted])
    ends = np.searchsorted(before, parts * before[-1]).tolist()
    ends[-1] = schedule.num_genomes
    ranges = [(b, e) for b, e in zip([0, *ends[:-1]], ends, strict=True) if b < e]
    return ranges or [(0, 0)]


class CudaBound(DeviceBound):
    """Genomes on one or several GPUs; results are on the first, or on the host."""

    def __init__(
        self,
        genomes: Genomes,
        devices: Sequence[Device],
        ranges: Sequence[tuple[int, int]],
        mapping: Mapping,
    ) -> None:
        """Gives every GPU its range [begin, end) of genomes, as long as there are ranges."""
        self._genomes = genomes
        self._num_genomes = ranges[-1][1]
        self._devices = {device.index: device for device in devices}
        self._first = devices[0]
        self._shards = [
            Shard(device, genomes, begin, end, mapping)
            for device, (begin, end) in zip(devices, ranges, strict=False)
        ]
        self._states: list[DeviceState] = []  # of each shard, after the first step
        self._process = os.getpid()

    def adopt(self, x: object) -> DeviceArray:
        """Wraps a device array of any library as CuPy's, without a copy."""
        check_process(self._process)
        try:
            array = self._first.adopt(x)
        except (TypeError, ValueError, BufferError, NotImplementedError) as error:
            raise ShapeError(
                f"x is a {type(x).__name__} on a device, which CuPy cannot read: {error} "
                "Copy it to the host first."
            ) from error
        if device_index(array) not in self._devices:
            raise ShapeError(
                f"x is on GPU {device_index(array)}, which evonet does not use. "
                f"Copy it to GPU {self._first.index} first."
            )
        return array

    def forward(self, x: Any) -> npt.NDArray[Any]:
        """Evaluates from a first state and brings the outputs to the host."""
        y = np.empty(self._shape(x), self._genomes.dtype)
        self._evaluate(x, y)
        return y

    def forward_on_device(self, x: Any) -> DeviceArray:
        """Leaves the outputs on the first GPU, whose work may still be under way."""
        if len(self._shards) == 1 and not isinstance(x, np.ndarray):
            check_process(self._process)
            again = self._shards[0].repeat(x)
            if again is not None:
                return again
        y = self._outputs_on_device(x)
        self._evaluate(x, y)
        return y

    def step(self, x: Any) -> npt.NDArray[Any]:
        """Continues from where the last step ended; states stay on the GPUs."""
        y = np.empty(self._shape(x), self._genomes.dtype)
        self._step(x, y)
        return y

    def step_on_device(self, x: Any) -> DeviceArray:
        """Does what `step` does and leaves the outputs on the first GPU."""
        y = self._outputs_on_device(x)
        self._step(x, y)
        return y

    @property
    def num_samples(self) -> int | None:
        """B of the state; None before the first step."""
        return int(self._states[0].shape[-1]) if self._states else None

    def reset(self) -> None:
        """Forgets all steps; CuPy's pool keeps the memory of their states for the next ones."""
        self._states = []

    def read_state(self) -> npt.NDArray[Any] | None:
        """Copies what the nodes remember, [C, N, B], to the host; None before the first step."""
        read = [state.read() for state in self._states]
        return np.concatenate(read, axis=1) if read else None

    def write_state(self, state: Any) -> None:
        """Continues from a state [C, N, B], of the schedule's type if it is on the host."""
        self.reset()
        before, states = self._genomes.nodes_before, []
        for shard in self._shards:
            part = state[:, before(shard.begin) : before(shard.end)]
            copied = shard.make_room(functools.partial(self._copy_to, shard.device, part))
            states.append(DeviceState(shard.device, part.shape, self._genomes.dtype, copied))
        self._states = states

    def _copy_to(self, device: Device, state: Any) -> DeviceArray:
        """A contiguous copy on a GPU of a part of a state on the host or on any GPU."""
        if isinstance(state, np.ndarray):
            return device.upload(np.ascontiguousarray(state))
        source = self._devices[device_index(state)]
        return device.bring(gather_samples(source, state, self._genomes.dtype, "state", copy=True))

    def loss(self, x: Any, targets: Any, loss: int) -> npt.NDArray[Any]:
        """Evaluates and adds up losses on the GPUs; only [P, 2] numbers come back."""
        losses = np.zeros((self._num_genomes, 2), self._genomes.dtype)
        if 0 not in self._shape(x):
            check_process(self._process)
            goals, samples = self._contiguous(targets), self._contiguous(x)
            self._each(lambda shard: shard.loss(samples, goals, loss, losses))
        return losses

    @property
    def has_gradients(self) -> bool:
        """Always."""
        return True

    def gradient(
        self,
        x: Any,
        targets: Any,
        loss: int,
        *,
        inputs: bool = False,
        genes: Genes | None = None,
        backward: bool = True,
    ) -> Gradients:
        """A warp takes each genome forwards and back; x and targets are on the host."""
        s = self._genomes.schedule
        check_process(self._process)
        chosen = Genes(s.weight, s.bias, s.response) if genes is None else genes
        found = Gradients(
            np.empty((s.num_genomes, 2), s.dtype),
            Genes(*(np.empty_like(array) for array in chosen)),
            np.empty_like(s.cell),
            np.empty((s.num_genomes, *x.shape[-3:]), s.dtype) if inputs else None,
        )
        self._each(
            lambda shard: shard.run_reverse(
                x.shape[-2],
                lambda part: part.gradient(x, targets, loss, chosen, backward, found),
            )
        )
        return found

    def learn(
        self,
        state: LearningState,
        x: Any,
        targets: Any,
        order: npt.NDArray[np.int64],
        loss: int,
        rule: UpdateRule,
    ) -> npt.NDArray[Any]:
        """Takes all steps on the GPUs; samples, genes and what optimisers keep stay there."""
        check_process(self._process)
        losses = np.full((len(order), self._num_genomes), np.nan, self._genomes.dtype)
        self._each(
            lambda shard: shard.run_reverse(
                x.shape[-2],
                lambda part: part.learn(state, x, targets, order, loss, rule, losses),
            )
        )
        return losses

    def rollout(self, episodes: Episodes, genomes: npt.NDArray[np.int64]) -> Rollout:
        """Plays whole episodes on the GPUs, a thread for each; only [K, E] numbers come back."""
        check_process(self._process)
        shape = len(genomes), episodes.count
        rollout = Rollout(np.empty(shape, self._genomes.dtype), np.empty(shape, np.int32))
        self._each(lambda shard: shard.rollout(episodes, genomes, rollout))
        return rollout

    def _step(self, x: Any, y: Any) -> None:
        states = self._states or [
            DeviceState(shard.device, self._state_shape(shard, x.shape[-2]), self._genomes.dtype)
            for shard in self._shards
        ]
        for shard, state in zip(self._shards, states, strict=True):
            shard.make_room(state.prepare)
        self._evaluate(x, y, states)
        for state in states:
            state.swap()
        self._states = states

    def _state_shape(self, shard: Shard, num_samples: int) -> tuple[int, int, int]:
        before = self._genomes.nodes_before
        num_nodes = before(shard.end) - before(shard.begin)
        return self._genomes.dynamics.num_states, num_nodes, num_samples

    def _evaluate(self, x: Any, y: Any, states: Sequence[DeviceState] = ()) -> None:
        """Writes all outputs to y [P, B, O], on the host or on the first GPU."""
        if y.size:
            check_process(self._process)
            samples, state_of = self._contiguous(x), dict(zip(self._shards, states, strict=False))
            self._each(lambda shard: shard.forward(samples, y, state_of.get(shard)))

    def _outputs_on_device(self, x: Any) -> DeviceArray:
        """Makes room for [P, B, O] on the first GPU, by freeing what can be uploaded again."""
        check_process(self._process)
        shape, dtype = self._shape(x), self._genomes.dtype
        try:
            return self._shards[0].make_room(lambda: self._first.empty(shape, dtype))
        except DeviceMemoryError as error:
            raise DeviceMemoryError(
                f"{error} Outputs {list(shape)} of {dtype} do not fit there: take them to the "
                'host with out="host", or pass fewer samples at a time.'
            ) from error

    def _shape(self, x: Any) -> tuple[int, int, int]:
        return (self._num_genomes, x.shape[-2], self._genomes.num_outputs)

    def _contiguous(self, array: Any) -> Any:
        """Host arrays come in the right form; those of a GPU are converted there."""
        if isinstance(array, np.ndarray):
            return array
        return gather_samples(self._devices[device_index(array)], array, self._genomes.dtype)

    def _each(self, work: Callable[[Shard], None]) -> None:
        """Runs every shard; a single one in this thread, several in their own."""
        if len(self._shards) == 1:
            work(self._shards[0])
            return
        # Other threads have other current streams: what the arguments come from must be done.
        for device in self._devices.values():
            device.finish()

        def work_to_end(shard: Shard) -> None:
            work(shard)
            shard.device.finish()

        threads = threads_for(len(self._devices))
        runs = [threads.submit(work_to_end, shard) for shard in self._shards]
        wait(runs)  # all of them, since they write to the same arrays
        for run in runs:
            run.result()
