"""`BatchEvaluator`: the fitness function of `neat.Population.run`, for whole populations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import KIND_NAMES, KindName
from evonet.errors import OptionError, check_option
from evonet.genes.arrays import real_type
from evonet.plugins.neat_python.compiling import compile_genomes, kind_of, network_maker
from evonet.plugins.neat_python.environments import environment_task
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome, NeatGenomes
from evonet.plugins.neat_python.genomes import list_genomes
from evonet.plugins.neat_python.scores import (
    CustomLoss,
    DataScore,
    GenomeScore,
    NetworkScore,
    OutputScore,
    TaskScore,
    check_population_fitness,
)
from evonet.runs.loop import task_seed


class EvaluatorOptions(TypedDict, total=False):
    """The options of `BatchEvaluator`, which documents them."""

    kind: str
    exact: bool | None
    dtype: npt.DTypeLike
    backend: str
    threads: int
    time_step: float | None
    steps: int
    reuse_fitness: bool
    seed: int


class BatchEvaluator:
    """Sets the fitness of all genomes, as `neat.Population.run` wants it.

        evaluator = BatchEvaluator.from_data(X, Y)
        winner = population.run(evaluator, 300)

    Genomes are packed natively and their networks run together. Nothing is pickled, and the
    config is only read: the same seed evolves as it does without evonet.

    Attributes:
        score: How genomes are scored.
        calls: How many generations were evaluated; together with the seed it determines the
            random numbers of tasks. Set it to continue where another run ended.
        evaluated: How many genomes were evaluated.
    """

    def __init__(
        self,
        score: NetworkScore | GenomeScore,
        *,
        kind: str = "auto",
        exact: bool | None = None,
        dtype: npt.DTypeLike = np.float64,
        backend: str = "auto",
        threads: int = 0,
        time_step: float | None = None,
        steps: int = 1,
        reuse_fitness: bool = False,
        seed: int = 0,
    ) -> None:
        """Takes a way to score; the class methods make one.

        Args:
            score: How genomes are scored.
            kind: A kind of network; "auto" for what the config describes: feed-forward or
                recurrent by `feed_forward`, spiking for `IZGenome`, never "ctrnn".
            exact: Whether outputs have neat-python's very bits, so that the same seed evolves the
                same genomes. False for evonet's kernels, which are faster with many samples, and
                whose functions are within two units in the last place. None means True unless
                something else needs kernels: float32, another backend, or a task.
            dtype: float64, as in neat-python, or float32.
            backend: Where kernels run, "cuda", "cpu" or "reference"; "auto" takes the first that
                works.
            threads: CPU threads; 0 for all available.
            time_step: How much time a step takes, for "ctrnn" in seconds and for "izhikevich" in
                milliseconds; None for 0.01 and 0.05.
            steps: How many steps networks with memory take per sample.
            reuse_fitness: Whether genomes that this evaluator scored in the generation before,
                the elites, keep their fitness. Right wherever fitness is deterministic.
            seed: Together with the number of calls, determines the random numbers of tasks.

        Raises:
            OptionError: There is no such kind, or `exact` contradicts other options.
        """
        check_option("kind", kind, ("auto", *KIND_NAMES))
        wants_kernels = real_type(dtype) != np.float64 or backend not in ("auto", "cpu")
        if exact and wants_kernels:
            raise OptionError(
                "exact=True computes as neat-python does: in float64, on the CPU. Leave out "
                "exact=True, or dtype and backend."
            )
        if exact is None:
            exact = not wants_kernels and not isinstance(score, TaskScore)
        self.score = score
        self.calls = 0
        self.evaluated = 0
        self._compiling: dict[str, Any] = {
            "kind": kind,
            "exact": exact,
            "dtype": dtype,
            "backend": backend,
            "threads": threads,
            "time_step": time_step,
            "steps": steps,
        }
        self._reuse = reuse_fitness
        self._seed = seed
        self._known: dict[Any, tuple[NeatGenome, float]] = {}

    @classmethod
    def from_data(
        cls,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        loss: str | CustomLoss = "squared",
        *,
        best: float = 0.0,
        **options: Unpack[EvaluatorOptions],
    ) -> BatchEvaluator:
        """Scores by examples: fitness = best - loss.

        Args:
            x: [B, I] samples; for networks with memory also [B, T, I], sequences of T steps.
            y: [B, O] the right answers, or [B, T, O]; without the last axis for a single output.
            loss: "squared", the sum of squared errors; "cross_entropy" or "misses" for classes;
                or a function of outputs and y that returns [P].
            best: The fitness of a network without error; 4.0 in neat-python's XOR example.
            **options: As for `BatchEvaluator`.

        Raises:
            ShapeError: x and y do not fit each other.
            OptionError: There is no such loss or option.
        """
        return cls(DataScore(x, y, loss, best), **options)

    @classmethod
    def from_outputs(
        cls,
        x: npt.ArrayLike,
        f: Callable[[npt.NDArray[Any]], npt.ArrayLike],
        **options: Unpack[EvaluatorOptions],
    ) -> BatchEvaluator:
        """Scores by a function of all outputs.

        Args:
            x: [B, I] samples; for networks with memory also [B, T, I], sequences of T steps.
            f: Takes outputs [P, B, O], or [P, B, T, O], and returns fitness [P].
            **options: As for `BatchEvaluator`.

        Raises:
            ShapeError: x has another shape.
            OptionError: f cannot be called.
        """
        return cls(OutputScore(x, f), **options)

    @classmethod
    def from_genomes(
        cls, f: Callable[[NeatGenome, Any], float], **options: Unpack[EvaluatorOptions]
    ) -> BatchEvaluator:
        """Scores one genome at a time: the loop body of an `eval_genomes` as it is.

        Args:
            f: Takes a genome and its network, a fast one with neat-python's methods, and returns
                its fitness.
            **options: As for `BatchEvaluator`. Networks are always float64 here, on one thread.

        Raises:
            OptionError: f cannot be called.
        """
        return cls(GenomeScore(f), **options)

    @classmethod
    def from_env(
        cls,
        environment: str,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        native: bool | None = None,
        env_options: dict[str, Any] | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> BatchEvaluator:
        """Scores by the mean return in a Gymnasium environment.

        Episodes change from generation to generation, and are the same for all genomes of one.

        Args:
            environment: Its name in Gymnasium, such as "CartPole-v1".
            episodes: Episodes per genome; None for 1, or for 5 in kernels.
            max_steps: The length at which an episode ends; None for the environment's own limit.
            native: Whether kernels run whole episodes, as they can for classic control. None does
                so where it is possible.
            env_options: Options of the environment, which is then Gymnasium's.
            **options: As for `BatchEvaluator`.

        Raises:
            OptionError: There is no such environment, or an option is out of range.
        """
        task = environment_task(environment, episodes, max_steps, native, env_options)
        return cls(TaskScore(task), **options)

    @classmethod
    def from_task(cls, task: Any, **options: Unpack[EvaluatorOptions]) -> BatchEvaluator:
        """Scores by one of evonet's tasks.

        Args:
            task: A task; see `evonet.tasks`.
            **options: As for `BatchEvaluator`.

        Raises:
            OptionError: It is no task.
        """
        return cls(TaskScore(task), **options)

    def kind(self, config: NeatConfig) -> KindName:
        """Returns the kind of network that genomes of a config become here."""
        return kind_of(config, self._compiling["kind"])

    def network_settings(self, config: NeatConfig) -> dict[str, object]:
        """Returns what a config of evonet's needs so that its networks are as they are here."""
        settings: dict[str, object] = {"network.kind": self.kind(config)}
        for name, default in (("time_step", None), ("steps", 1)):
            if self._compiling[name] != default:
                settings[f"network.{name}"] = self._compiling[name]
        return settings

    def __call__(self, genomes: NeatGenomes, config: NeatConfig) -> None:
        """Evaluates a generation.

        Args:
            genomes: Pairs (id, genome), as `neat.Population.run` passes them.
            config: The `neat.Config`.

        Raises:
            GenomeError: A gene makes no sense; names the genome.
            ShapeError: Samples do not fit the config's inputs.
            FitnessError: The result is not a number for every genome; names the genome.
        """
        ids, found = list_genomes(genomes)
        pairs = list(zip(ids, found, strict=True))
        todo = [pair for pair in pairs if not self._is_known(*pair)] if self._reuse else pairs
        if todo:
            for (_, genome), fitness in zip(todo, self._fitness(todo, config), strict=True):
                genome.fitness = fitness
        self.calls += 1
        self.evaluated += len(todo)
        if self._reuse:
            self._known = {key: (genome, genome.fitness) for key, genome in pairs}

    evaluate = __call__  # what ParallelEvaluator calls it

    def _is_known(self, key: Any, genome: NeatGenome) -> bool:
        known = self._known.get(key)
        return known is not None and known[0] is genome and known[1] == genome.fitness

    def _fitness(self, genomes: list[tuple[Any, NeatGenome]], config: NeatConfig) -> list[float]:
        if isinstance(self.score, GenomeScore):
            make = network_maker(self.kind(config), config)
            return self.score.of_genomes(genomes, make)
        network = compile_genomes(genomes, config, **self._compiling)
        scored = self.score.of_population(network, task_seed(self._seed, self.calls))
        return check_population_fitness(scored, [key for key, _ in genomes])
