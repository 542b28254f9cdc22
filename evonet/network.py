"""Networks: what `evonet.compile` returns, a callable over a whole population."""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from evonet.backends import Backend, DeviceBound, resolve_backend
from evonet.backends.actor import Actor, make_actor
from evonet.backends.arrays import (
    as_type,
    join_pairs,
    read_genome_index,
    read_numbers,
    read_positions,
)
from evonet.backends.base import Bound, CompilingBackend, Episodes, Rollout
from evonet.backends.differentiable import Differentiable, check_outputs
from evonet.definitions.backends import MAPPINGS, BackendName, Mapping
from evonet.definitions.controls import find_control
from evonet.definitions.dynamics import Dynamics, KindName, Propagation
from evonet.definitions.lock import Lock
from evonet.errors import OptionError, ShapeError, check_option, check_threads, check_whole
from evonet.functions.registry import LOSS_IDS
from evonet.genes.genome import Genome
from evonet.genes.population import Population
from evonet.schedule.build import OnCycle, build_schedule
from evonet.schedule.checks import check_schedule
from evonet.schedule.pending import PendingSchedule
from evonet.schedule.schedule import Schedule

Losses = npt.NDArray[np.float64]


class Network:
    """P networks compiled to one schedule, evaluated together.

    Threads may share one. Networks with memory then take one step after the other, and all threads
    continue the same memory.

    Attributes:
        backend: Name of the backend that runs it.
        genome_index: [P] int64, the position of each genome in the whole population. A part of a
            population keeps these positions, so that chance that depends on the genome is the
            same for a part as for the whole.
    """

    def __init__(
        self,
        schedule: Schedule,
        backend: str | Backend,
        threads: int,
        mapping: Mapping = "auto",
        genome_index: npt.ArrayLike | None = None,
        population: Population | None = None,
    ) -> None:
        """Binds a schedule to a backend; `compile_with` describes the arguments and errors.

        A schedule may come from anywhere: a ShapeError says what is wrong with it. Gradients need
        the population that it was built from, too.
        """
        found = resolve_backend(backend) if isinstance(backend, str) else backend
        check_schedule(schedule)
        bound = found.bind(schedule, threads, mapping)
        self._start(schedule, found, bound, threads, genome_index, population)

    @classmethod
    def compiled_there(
        cls,
        pending: PendingSchedule,
        backend: Backend,
        bound: Bound,
        threads: int,
        genome_index: npt.ArrayLike | None,
        population: Population,
    ) -> Network:
        """Takes what a backend has compiled by itself; the schedule is built if somebody asks."""
        network = cls.__new__(cls)
        network._start(pending, backend, bound, threads, genome_index, population)
        return network

    def _start(
        self,
        schedule: Schedule | PendingSchedule,
        backend: Backend,
        bound: Bound,
        threads: int,
        genome_index: npt.ArrayLike | None,
        population: Population | None,
    ) -> None:
        self._lock = Lock()
        self._schedule = schedule
        self.backend = backend.name
        self.genome_index = read_genome_index(genome_index, schedule.num_genomes)
        self._bound = bound
        self._backend, self._threads, self._population = backend, threads, population
        self._differentiable: Differentiable | None = None
        self._dynamics = schedule.dynamics
        self._has_memory = schedule.dynamics.has_memory
        self._evaluate = self._bound.step if self._has_memory else self._bound.forward
        self._device = self._bound if isinstance(self._bound, DeviceBound) else None
        self._dtype = schedule.dtype
        self._num_genomes = schedule.num_genomes
        self._num_inputs = schedule.num_inputs

    @property
    def schedule(self) -> Schedule:
        """What is run; built when it is first read if the genomes were compiled on a GPU."""
        found = self._schedule
        return found if isinstance(found, Schedule) else found.build()

    @property
    def num_genomes(self) -> int:
        """P."""
        return self._num_genomes

    @property
    def num_inputs(self) -> int:
        """I."""
        return self._num_inputs

    @property
    def num_outputs(self) -> int:
        """O."""
        return self._schedule.num_outputs

    @property
    def kind(self) -> KindName:
        """What nodes remember; one of `evonet.definitions.dynamics.KINDS`."""
        return self._dynamics.kind

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all values, float32 or float64."""
        return self._dtype

    def __call__(self, x: Any, out: Literal["host", "device"] = "host") -> Any:
        """Evaluates every network on every sample.

        Networks with memory continue from where the last call ended, each sample with a memory of
        its own; every call until `reset` must have equally many samples.

        Args:
            x: [B, I] the same samples for all genomes, or [P, B, I] other samples
                for each. On the backend "cuda" also an array of any
                library on a GPU, through DLPack or `__cuda_array_interface__`.
            out: Where the result should be: "device" leaves it on the GPU, as a
                CuPy array that other libraries take through DLPack. The CPU
                backends have only one memory, so both give a NumPy array.

        Returns:
            [P, B, O], a new array.

        Raises:
            ShapeError: x has neither shape, or holds something but real numbers, or more or fewer
                samples than the networks remember.
            OptionError: out is neither.
            DeviceMemoryError: A GPU has too little memory for a single genome.
            DeviceError: A GPU failed.
        """
        if type(out) is not str or out != "host":
            _check_out(out)
        samples = self._samples(x)
        evaluate = self._evaluate
        if out == "device" and self._device is not None:
            device = self._device
            evaluate = device.step_on_device if self._has_memory else device.forward_on_device
        if not self._has_memory:
            return evaluate(samples)
        with self._lock:
            self._check_remembered(samples.shape[-2])
            return evaluate(samples)

    def loss(self, x: Any, targets: Any, loss: str = "squared") -> Losses:
        """Scores every network by how far its outputs are from the right answers.

        Networks with memory answer from a first state, as if after `reset`, and what they
        remember stays as it is.

        Samples are added up by one fixed tree, so that the bits depend on neither threads nor
        backend. Squared errors of float32 networks are added with twice the digits of a
        float32: evolution lives on small progress.

        Args:
            x: [B, I] or [P, B, I] samples, as for a call.
            targets: [B, O] the right answers; for classes 1 at the right output and 0 elsewhere.
                On the host or on a GPU, as for x.
            loss: "squared", the sum of squared errors; "cross_entropy" of the softmax, summed
                over samples; "binary_cross_entropy" of outputs that are probabilities, such as
                those of a sigmoid; "huber", squared errors up to 1 and absolute ones beyond;
                "misses", the number of samples put into the wrong class, where a single output
                means two classes, below 0.5 and above.

        Returns:
            [P], lower is better.

        Raises:
            ShapeError: x or targets has another shape, or holds something but real numbers.
            OptionError: There is no such loss, or it needs several outputs.
        """
        check_option("loss", loss, tuple(LOSS_IDS))
        check_outputs(loss, self.num_outputs)
        samples = self._samples(x)
        wanted = (samples.shape[-2], self.num_outputs)
        found = read_numbers("targets", targets, self._device, self.backend)
        if found.shape != wanted:
            raise ShapeError(
                f"targets must have shape {list(wanted)}, one row per sample, "
                f"found {list(found.shape)}."
            )
        answers = as_type(found, self._dtype)
        pairs = self._bound.loss(samples, answers, LOSS_IDS[loss])
        return join_pairs(pairs)

    def gradients(
        self, x: Any, targets: Any, loss: str = "squared", *, inputs: bool = False
    ) -> tuple[Losses, dict[str, npt.NDArray[Any]]]:
        """Differentiates the loss of every network by its genes.

        Networks with memory start from their first state, take a call per step of x, and are
        differentiated through all steps; what they remember stays as it is.

        The bits depend on neither threads nor backend nor on how samples are split. At kinks and
        ties, `docs/learning.md` lists which slope counts.

        Args:
            x: [B, I] or [P, B, I] samples; for networks with memory [T, B, I] or [P, T, B, I], T
                steps of B sequences.
            targets: [B, O] the right answers; for networks with memory those of the last step, or
                [T, B, O] those of every step.
            loss: "squared", "cross_entropy", "binary_cross_entropy" or "huber", as for `loss`.
            inputs: Whether to differentiate by x, too.

        Returns:
            [P] losses, the sum over all samples (and steps that have targets), and the derivatives
            by name, in the layout of the population's arrays: "weight" [E], "bias" [N] and
            "response" [N], for "ctrnn" also "time_constant" [N]. Genes that change nothing have 0.
            With `inputs` also "x": [P, B, I], or [P, T, B, I].

        Raises:
            ShapeError: x or targets has another shape, or holds something but real numbers.
            OptionError: The loss has no derivative, or spiking networks are asked for one, or the
                network was made from a schedule and knows no genes.
        """
        with self._lock:
            if self._differentiable is None:
                if self._population is None:
                    raise OptionError(
                        "this network was made from a schedule, which knows no genes. For "
                        "gradients use evonet.compile(population)."
                    )
                self._differentiable = Differentiable(
                    self._population,
                    self._dynamics,
                    backend=self._backend,
                    threads=self._threads,
                    on_cycle="zero",  # as it was compiled: an error would have been raised
                )
        return self._differentiable.gradients(x, targets, loss, inputs)

    def _samples(self, x: Any) -> Any:
        """Brings samples into the backend's form, on the host or on its device."""
        found = read_numbers("x", x, self._device, self.backend)
        if found.ndim == 2:
            fits = found.shape[1] == self._num_inputs
        else:
            wanted = self._num_genomes, self._num_inputs
            fits = found.ndim == 3 and (found.shape[0], found.shape[2]) == wanted
        if not fits:
            raise ShapeError(self._shape_fault(found.shape))
        return as_type(found, self._dtype)

    def _shape_fault(self, found: tuple[int, ...]) -> str:
        message = (
            f"x must have shape [B, {self._num_inputs}] or "
            f"[{self._num_genomes}, B, {self._num_inputs}], found {list(found)}."
        )
        if found == (self._num_inputs,):
            message += " For a single sample write network(x[None])."
        return message

    def rollout(
        self,
        control: str,
        *,
        episodes: int = 1,
        seed: int = 0,
        first_episode: int = 0,
        max_steps: int | None = None,
        genomes: npt.ArrayLike | None = None,
    ) -> Rollout:
        """Lets every network act in a control task for whole episodes, entirely in native code.

        Args:
            control: The task, one of `evonet.definitions.controls.CONTROLS`.
            episodes: E, episodes per genome. All genomes play the same ones.
            seed: Decides how episodes start, together with their numbers.
            first_episode: Number of the first episode.
            max_steps: Steps after which an episode is cut; None for the task's limit.
            genomes: [K] positions of the genomes that play; None for all.

        Returns:
            Returns and steps, each [K, E].

        Raises:
            OptionError: There is no such task, or a number is out of range.
            ShapeError: The networks have other inputs or outputs than the task.
            KeyboardInterrupt: Ctrl-C ends it within a fraction of a second; on a GPU, where
                nothing stops a kernel, when the episodes are over.
        """
        task = find_control(control)
        if (self.num_inputs, self.num_outputs) != (task.num_inputs, task.num_outputs):
            raise ShapeError(
                f"{task.name} has {task.num_inputs} inputs and {task.num_outputs} outputs, "
                f"the networks have {self.num_inputs} and {self.num_outputs}."
            )
        most = 2**31 - 1
        played = Episodes(
            control=task.name,
            count=check_whole("episodes", episodes, 1, most),
            max_steps=check_whole(
                "max_steps", task.max_steps if max_steps is None else max_steps, 1, most
            ),
            seed=check_whole("seed", seed, 0, 2**64 - 1),
            first=check_whole("first_episode", first_episode, 0, most),
        )
        return self._bound.rollout(played, read_positions(genomes, self._num_genomes))

    def actor(self, genome: int = 0) -> Actor:
        """Returns one of the networks alone, to answer one observation [I] at a time.

        An actor has a memory of its own, apart from that of this object and of other actors. It
        answers on the processor, in a microsecond, with the bits of a call for all networks.

        Args:
            genome: Which network, 0 to P - 1.

        Raises:
            OptionError: There is no such genome.
        """
        check_whole("genome", genome, 0, self._num_genomes - 1)
        return make_actor(self.schedule, genome, self.backend)

    def reset(self) -> None:
        """Forgets everything, as before the first call; feed-forward networks remember nothing."""
        if self._has_memory:
            with self._lock:
                self._bound.reset()

    @property
    def state(self) -> npt.NDArray[Any] | None:
        """What networks with memory remember, [C, N, B], as a copy; None before the first call.

        Row n belongs to the live node `schedule.node_key[n]`. Recurrent networks and CTRNNs
        remember each node's value (C = 1), Izhikevich's neurons whether they fired, their
        potential and their recovery (C = 3). Set it to continue from there; on the backend "cuda"
        it may be an array on a GPU, as for x.

        Raises:
            OptionError: Feed-forward networks have no state to set.
            ShapeError: What is set has another shape, or holds something but real numbers.
        """
        if not self._has_memory:
            return None
        with self._lock:
            return self._bound.read_state()

    @state.setter
    def state(self, state: Any) -> None:
        if not self._has_memory:
            raise OptionError("feed-forward networks remember nothing, so they have no state.")
        found = read_numbers("state", state, self._device, self.backend)
        wanted = self._dynamics.num_states, self.schedule.num_nodes
        if found.ndim != 3 or found.shape[:2] != wanted:
            raise ShapeError(
                f"state must have shape [{wanted[0]}, {wanted[1]}, B], found {list(found.shape)}."
            )
        with self._lock:
            self._bound.write_state(as_type(found, self._dtype))

    def _check_remembered(self, num_samples: int) -> None:
        remembered = self._bound.num_samples
        if remembered is not None and remembered != num_samples:
            raise ShapeError(
                f"x has {num_samples} samples, and the networks remember {remembered}. "
                "Call network.reset() before other samples."
            )

    def __len__(self) -> int:
        return self._num_genomes

    def __reduce__(self) -> NoReturn:
        """Refuses to pickle or copy: a network is bound to this process and its hardware."""
        raise TypeError(
            "a compiled network cannot be pickled or copied: it is bound to this process. Carry "
            "the genomes and compile them there: population.save(path), then "
            "evonet.compile(evonet.Population.load(path)); or save_champion(path, ...), then "
            "read_champion(path).compile()."
        )

    def __repr__(self) -> str:
        return f"Network({self.kind}, backend={self.backend!r}, {self._schedule!r})"


def _check_out(out: object) -> None:
    if not isinstance(out, str):
        raise OptionError(
            f'out must be "host" or "device", found {type(out).__name__}. '
            "Results are always new arrays."
        )
    check_option("out", out, ("host", "device"))


def compile(
    population: Population | Genome,
    kind: KindName = "feedforward",
    backend: BackendName = "auto",
    mapping: Mapping = "auto",
    dtype: npt.DTypeLike | None = None,
    threads: int = 0,
    on_cycle: OnCycle = "error",
    propagation: Propagation = "next-step",
    time_step: float | None = None,
    steps: int = 1,
) -> Network:
    """Compiles a population to a callable that evaluates all of it at once.

    Args:
        population: P genomes, or one `Genome`.
        kind: "feedforward" evaluates every node once per call, after all nodes that it reads.
            The others remember their nodes' values between calls and may have cycles:
            "recurrent", "ctrnn" (continuous time: every node follows its input with its time
            constant) and "izhikevich" (spiking neurons; outputs are 1 where one fires).
        backend: "cuda" is an NVIDIA GPU, "cpu" the compiled extension, "reference"
            plain NumPy, all with the same bits; "auto" takes the first that works
            here. Without a usable GPU "cuda" warns once and runs on the processor.
        mapping: How work is laid out over the threads of a GPU: "levels" gives one
            to each node and sample of a level, "samples" one to each genome and
            four samples, "wide" a launch to each level; "auto" lets a cost model choose. Results
            never depend on it.
        dtype: float32 or float64; None keeps the population's.
        threads: Threads to use; 0 for all available. Results never depend on it.
        on_cycle: For feed-forward networks: "error" refuses genomes with a cycle, "zero" leaves
            every node on or behind one at 0 as neat-python does.
        propagation: For recurrent networks: with "next-step" a value travels one link per step, as
            in neat-python; with "same-step" only the links that close a cycle wait for the next
            step, so that a network without cycles is the feed-forward one.
        time_step: The time that a step of a "ctrnn" (in s, 0.01 if None) or of an "izhikevich" (in
            ms, 0.05 if None) takes.
        steps: Steps that a call takes with the same inputs.

    Raises:
        CyclicGenomeError: A genome has a cycle and on_cycle is "error".
        GenomeError: A gene is too large for the dtype.
        BackendError: The backend cannot run here.
        OptionError: An option has a value that is not allowed.
        ShapeError: The dtype is neither float32 nor float64.
    """
    dynamics = Dynamics.of(kind, propagation, time_step, steps)
    return compile_with(
        population,
        dynamics,
        backend=backend,
        mapping=mapping,
        dtype=dtype,
        threads=threads,
        on_cycle=on_cycle,
    )


def compile_with(
    population: Population | Genome,
    dynamics: Dynamics,
    *,
    backend: str = "auto",
    mapping: Mapping = "auto",
    dtype: npt.DTypeLike | None = None,
    threads: int = 0,
    on_cycle: OnCycle = "error",
    genome_index: npt.ArrayLike | None = None,
) -> Network:
    """Compiles a population to networks that work through time as `dynamics` describes.

    `genome_index` holds the [P] positions of the genomes in the whole population, if this is a part
    of it; None stands for 0 to P - 1. The other arguments are those of `compile`.

    Raises:
        EvonetError: As for `compile`.
        ShapeError: genome_index has another shape, or holds something but whole numbers.
    """
    if isinstance(population, Genome):
        population = population.population
    if not isinstance(population, Population):
        raise OptionError(
            f"population must be an evonet.Population, found {type(population).__name__}. "
            "Genomes of neat-python become one by Population.from_neat(genomes, config)."
        )
    check_option("mapping", mapping, MAPPINGS)
    threads = check_threads(threads)
    if dtype is not None:
        population = population.astype(dtype)
    where = resolve_backend(backend)
    if population.distant is not None and isinstance(where, CompilingBackend):
        check_option("on_cycle", on_cycle, ("error", "zero"))
        pending = PendingSchedule(population, dynamics, on_cycle, threads)
        bound = where.bind_population(population, pending, mapping)
        if bound is not None:
            return Network.compiled_there(pending, where, bound, threads, genome_index, population)
    schedule = build_schedule(
        population,
        dynamics,
        on_cycle=on_cycle,
        threads=threads,
        native=False if where.name == "reference" else None,
    )
    return Network(schedule, where, threads, mapping, genome_index, population)
