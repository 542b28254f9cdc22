"""What everything that can be evolved on has in common, and what it may offer besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from evonet.errors import OptionError
from evonet.evaluation import Evaluation, Round

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.encoding import Encoding
    from evonet.tasks.examples import Examples
    from evonet.tasks.held_out import Claim
    from evonet.tasks.image_encoding import ImageEncoding

REQUIRED: Final = ("num_inputs", "num_outputs", "evaluate")
# What a task may offer besides; `Task` documents each.
OFFERS: Final = (
    "fitness_threshold",
    "input_names",
    "output_names",
    "settings",
    "splits",
    "is_native",
    "num_held_out",
    "held_out_scores",
    "claim",
    "part_scores",
    "results",
    "examples",
    "encoding",
    "notes",
    "episodes",
    "film",
    "retests",
    "returns",
    "score",
    "merge",
)


class Task:
    """Scores a whole population at once. Derive from it, and override what the task has to offer.

    Only `num_inputs`, `num_outputs` and `evaluate` are required, so that any object that has
    them is accepted as a task; `adopt` then adds the rest.

    Attributes:
        num_inputs: I, the numbers that networks see.
        num_outputs: O, the numbers that networks answer.
        fitness_threshold: The fitness that solves the task where the config has none; or None.
        input_names: [I] names of the inputs for reports, or empty.
        output_names: [O] names of the outputs for reports, or empty.
        settings: Settings that the task cannot do without, such as {"network.kind": "recurrent"};
            `evolve` gives them to its config.
        splits: Whether genomes can be scored in parts of the population. A task whose scores
            depend on a genome's neighbours sets it to False and is evaluated whole.
        is_native: Whether evaluation happens in compiled code, not in Python.
        num_held_out: Examples that no fitness depends on.
        encoding: How the rows of a table, or images, become inputs, for champions that predict; or
            None.
        notes: Lines about how the task came about, which the command line prints.
        episodes: Episodes that each genome plays in `evaluate`; 1 for tasks without episodes.
        retests: Fresh episodes that test a champion, through `returns`; 0 for tasks without chance.
    """

    num_inputs: int
    num_outputs: int
    fitness_threshold: float | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    settings: Mapping[str, object] = {}
    splits: bool = True
    is_native: ClassVar[bool] = False
    num_held_out: int = 0
    encoding: Encoding | ImageEncoding | None = None
    notes: tuple[str, ...] = ()
    episodes: int = 1
    retests: int = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_inputs} inputs, {self.num_outputs} outputs)"

    def evaluate(self, network: Network, seed: int) -> Any:
        """Scores every genome.

        Args:
            network: P compiled networks.
            seed: Differs from generation to generation; for tasks with chance in them.

        Returns:
            [P] fitness, or an `Evaluation` for more than that.
        """
        raise NotImplementedError(f"{type(self).__name__} has no evaluate(network, seed).")

    def score(self, round: Round) -> Evaluation:
        """Scores a round; override it instead of `evaluate` to see genomes and their numbers."""
        return Evaluation.of(self.evaluate(round.network, round.seed))

    def returns(
        self, network: Network, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Plays single episodes, for tests on fresh ones.

        Args:
            network: G compiled networks.
            seed: The seed for the chance in the task.
            first_episode: Number of the first episode; other numbers are other episodes.
            episodes: E, how many episodes each genome plays.

        Returns:
            [G, E] the return of every episode.

        Raises:
            OptionError: The task has no episodes.
        """
        raise OptionError(f"{self!r} has no episodes to play.")

    def film(self, network: Network, seed: int) -> bytes | None:
        """Draws an episode of one network as an animated PNG; None if there is nothing to see.

        Args:
            network: One compiled network.
            seed: The seed for the chance in the task.

        Raises:
            OptionError: It cannot be drawn here; the message says why.
        """
        return None

    def held_out_scores(self, network: Network) -> Mapping[str, npt.NDArray[np.float64]]:
        """Scores every genome on examples that no fitness depends on.

        Args:
            network: P compiled networks.

        Returns:
            [P] scores by name, such as "loss" and "accuracy"; none if nothing is held out.
        """
        return {}

    def claim(self, network: Network) -> Claim | None:
        """Scores one network on examples that no fitness depends on, with an interval.

        Args:
            network: One compiled network.

        Returns:
            The score that counts; None if nothing is held out.
        """
        return None

    def part_scores(self, network: Network) -> Mapping[str, Mapping[str, npt.NDArray[np.float64]]]:
        """Scores every genome on each part of the examples, for progress bars.

        Args:
            network: P compiled networks.

        Returns:
            By part, such as "train" and "held out", [P] scores by name; the last is the one to
            watch. None if the task has no such parts.
        """
        return {}

    def results(self, network: Network) -> Mapping[str, Any] | None:
        """Describes what one network answers, for results.json and reports; or None.

        Args:
            network: One compiled network.

        Returns:
            What JSON can hold; `evonet.tasks.results` documents the results of examples.
        """
        return None

    def examples(self) -> Examples | None:
        """Returns the examples that networks can learn from by gradients, or None.

        With a [learning] table, networks learn from them before `evaluate` scores them. What is
        held out must not be among them; `Examples.validation` decides when to stop.
        """
        return None

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What changes from generation to generation, such as running statistics, by name.

        It is frozen while a generation is evaluated, and part of every checkpoint. A task that
        has some overrides both the property and its setter.
        """
        return {}

    @state.setter
    def state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        _refuse_state(self, state)

    def merge(self, gathered: Mapping[str, npt.NDArray[Any]]) -> None:
        """Updates `state` by what the evaluation of a whole generation gathered.

        Args:
            gathered: [P, ...] arrays by name, in the order of the genomes.
        """


class Adopted(Task):
    """Somebody's own object as a task, with as many offers as it has.

    Attributes:
        adopted: The object.
    """

    def __init__(self, task: Any) -> None:
        for name in (*REQUIRED, *OFFERS):
            if hasattr(task, name):
                setattr(self, name, getattr(task, name))
        self.adopted = task

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The object's own; none if it keeps none."""
        return dict(getattr(self.adopted, "state", {}))

    @state.setter
    def state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        if hasattr(self.adopted, "state"):
            self.adopted.state = state
        else:
            _refuse_state(self, state)

    def __repr__(self) -> str:
        return repr(self.adopted)


def _refuse_state(task: Task, state: Mapping[str, object]) -> None:
    if state:
        raise OptionError(f"{task!r} keeps no state, so {min(state)} cannot be restored.")


def mean_return(returns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the mean of returns [G, E] over episodes, summed in order to be reproducible."""
    total = np.zeros(len(returns))
    for episode in returns.T:
        total += episode
    return total / len(returns.T)


def is_task(found: object) -> bool:
    """Whether something has all that a task must have."""
    return isinstance(found, Task) or all(hasattr(found, name) for name in REQUIRED)


def adopt(task: object) -> Task:
    """Returns a task with everything that `Task` documents.

    Args:
        task: A `Task`, or any object with num_inputs, num_outputs and evaluate.

    Raises:
        OptionError: It lacks one of these.
    """
    if isinstance(task, Task):
        return task
    if not is_task(task):
        raise OptionError(
            f"task={task!r} is not a task, which has num_inputs, num_outputs and evaluate."
        )
    return Adopted(task)
