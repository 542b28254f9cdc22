"""Learning from examples: networks are scored by the loss of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from evonet.backends.arrays import as_type
from evonet.config.rules import Maybe, Real, Whole
from evonet.errors import OptionError, ShapeError, check_option
from evonet.evaluation import Evaluation, Round
from evonet.messages import counted
from evonet.numerics.philox import Purpose, philox
from evonet.tasks.base import Task
from evonet.tasks.encoding import Encoding
from evonet.tasks.examples import Examples
from evonet.tasks.held_out import Claim, claim_accuracy, claim_r2
from evonet.tasks.options import read_option
from evonet.tasks.results import describe_results

if TYPE_CHECKING:
    from evonet.network import Network

Loss: TypeAlias = Literal["squared", "cross_entropy"]

# The fraction of a perfect fitness that solves parity: neat-python's XOR example asks for 3.9 of 4.
SOLVED_SHARE: Final = 0.975


class Supervised(Task):
    """Fitness = best - loss over all samples; with `mean`, the loss is divided by their number.

    Attributes:
        x: [B, I] samples.
        y: [B, O] targets.
        best: The fitness of a network without error.
        loss: "squared", or "cross_entropy" of the softmax of the outputs.
        mean: Whether the loss is per sample.
        test: Held-out examples, on which no fitness depends, or None.
        validation: Examples that decide which genome is the best so far, and no fitness; or None.
        encoding: How a table became these numbers, or None.
        batch: How many examples a generation is scored on, others each time; 0 for all. The whole
            training part then decides which genome is the best so far, unless there is a
            validation part.
    """

    is_native = True
    encoding: Encoding | None = None

    def __init__(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        best: float = 0.0,
        *,
        loss: Loss = "squared",
        mean: bool = False,
        solved: float | None = None,
        test: Examples | None = None,
        validation: Examples | None = None,
        input_names: Sequence[str] = (),
        output_names: Sequence[str] = (),
        encoding: Encoding | None = None,
        batch: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        """Makes a task of examples; the class and `Task` describe the arguments.

        Raises:
            ShapeError: x and y are not two-dimensional or differ in length.
            OptionError: There is no such loss.
        """
        check_option("loss", loss, get_args(Loss))
        self.x = _fixed(np.asarray(x, np.float64))
        self.y = _fixed(np.asarray(y, np.float64))
        self._typed: dict[np.dtype[Any], tuple[npt.NDArray[Any], ...]] = {}
        if self.x.ndim != 2 or self.y.ndim != 2 or len(self.x) != len(self.y):
            raise ShapeError(
                "examples need x of shape [B, I] and y of shape [B, O], "
                f"found {list(self.x.shape)} and {list(self.y.shape)}."
            )
        if mean and len(self.x) == 0:
            raise ShapeError("a mean loss needs at least one example, found none.")
        self.best = best
        self.loss = loss
        self.mean = mean
        self.num_inputs = self.x.shape[1]
        self.num_outputs = self.y.shape[1]
        self.fitness_threshold = read_option("solved", solved, Maybe(Real()))
        self.test = test
        self.validation = validation
        self.num_held_out = 0 if test is None else len(test.x)
        self.input_names = tuple(input_names)
        self.output_names = tuple(output_names)
        self.encoding = encoding
        self.batch = read_option("batch", batch, Whole(0, len(self.x)))
        self.notes = tuple(notes)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Scores every genome; the seed decides which examples a batch has."""
        x, y = self._typed_examples(network.dtype)
        if self.batch:
            chosen = self._choose(seed)
            x, y = x[chosen], y[chosen]
        loss = network.loss(x, y, self.loss)
        if self.mean:
            loss /= len(x)
        return np.subtract(self.best, loss, out=loss)

    def _typed_examples(self, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Returns x and y in the networks' type: the same arrays in every generation.

        They cannot change, so a GPU that has them once keeps them. Whoever sets `x` or `y` to
        arrays that may change gets these.
        """
        if self.x.flags.writeable or self.y.flags.writeable:
            return self.x, self.y
        known = self._typed.get(dtype)
        if known is None or known[0] is not self.x or known[1] is not self.y:
            known = (self.x, self.y, *(_fixed(as_type(part, dtype)) for part in (self.x, self.y)))
            self._typed[dtype] = known
        return known[2], known[3]

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out what can be made again."""
        return {**self.__dict__, "_typed": {}}

    def _choose(self, seed: int) -> npt.NDArray[np.int64]:
        words = philox(seed, 0, np.arange(len(self.x)), Purpose.SPLIT, 1)
        chosen: npt.NDArray[np.int64] = np.argsort(words[0], kind="stable")[: self.batch]
        return np.sort(chosen)

    def score(self, round: Round) -> Evaluation:
        """Scores a round, on the validation part too if there is one."""
        fitness = self.evaluate(round.network, round.seed)
        judge = self.validation
        if judge is None and self.batch:
            judge = self.examples()
        if judge is None:
            return Evaluation(fitness)
        validation = -round.network.loss(judge.x, judge.y, self.loss) / len(judge.x)
        return Evaluation(fitness, validation=validation)

    def parts(self) -> dict[str, Examples]:
        """Returns all examples by what they are for: "train", "validation" and "held out"."""
        found = {"train": self.examples(), "validation": self.validation, "held out": self.test}
        return {name: part for name, part in found.items() if part is not None}

    def scores(self, network: Network, examples: Examples) -> dict[str, npt.NDArray[np.float64]]:
        """Scores every genome on some examples.

        Returns:
            "loss", the mean over samples, and "accuracy" for classes or "r2" for numbers, each [P].
        """
        x, y = examples.x, examples.y
        loss = network.loss(x, y, self.loss)
        scores = {"loss": loss / len(x)}
        if self.loss == "cross_entropy":
            scores["accuracy"] = 1 - network.loss(x, y, "misses") / len(x)
        else:
            spread = float(((y - y.mean(axis=0)) ** 2).sum())
            if spread > 0:
                scores["r2"] = 1 - loss / spread
        return scores

    def test_scores(self, network: Network) -> dict[str, npt.NDArray[np.float64]]:
        """Scores every genome on the held-out examples, as `scores` does.

        Raises:
            OptionError: There are no held-out examples.
        """
        if self.test is None:
            raise OptionError("there are no held-out examples. Give the task a test_fraction.")
        return self.scores(network, self.test)

    def held_out_scores(self, network: Network) -> dict[str, npt.NDArray[np.float64]]:
        """Returns `test_scores`, or nothing if no examples are held out."""
        return {} if self.test is None else self.test_scores(network)

    def claim(self, network: Network) -> Claim | None:
        """Scores one network on the held-out examples, with an interval; None if there are none."""
        if self.test is None:
            return None
        if self.loss == "cross_entropy":
            return claim_accuracy(network, self.examples(), self.test)
        return claim_r2(network, self.test)

    def part_scores(self, network: Network) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
        """Scores every genome on each part of a table; a truth table has none."""
        if not self.mean:
            return {}
        return {name: self.scores(network, part) for name, part in self.parts().items()}

    def results(self, network: Network) -> dict[str, Any]:
        """Lets one network answer all examples; see `evonet.tasks.results`."""
        return describe_results(self, network)

    def in_units(self, y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turns targets or outputs [B, O] into the units of the data."""
        return y if self.encoding is None else self.encoding.in_units(y)

    def examples(self) -> Examples:
        """Returns the examples that fitness is made of, and that networks may learn from."""
        return Examples(self.x, self.y, loss=self.loss, validation=self.validation)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part.x)} {name}" for name, part in self.parts().items())
        pins = f"{counted(self.num_inputs, 'input')}, {counted(self.num_outputs, 'output')}"
        return f"Supervised({pins}, {sizes})"


def _fixed(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns a copy that nobody can change, or the numbers if that is true of them."""
    if numbers.flags.owndata and numbers.flags.c_contiguous and not numbers.flags.writeable:
        return numbers
    copied = numbers.copy(order="C")
    copied.setflags(write=False)
    return copied


def xor() -> Supervised:
    """Makes XOR of two inputs; a perfect network scores 4, and 3.9 solves it."""
    return parity(bits=2)


def parity(*, bits: int = 3, solved: float | None = None) -> Supervised:
    """Makes parity: is an odd number of inputs 1? A perfect network scores 2^bits.

    Args:
        bits: The number of inputs.
        solved: The fitness that solves the task; None for 97.5 % of a perfect network's.

    Raises:
        OptionError: There are no bits, or more than 16.
    """
    bits = read_option("bits", bits, Whole(1), 3)
    if bits > 16:
        raise OptionError(f"bits = {bits} must be at most 16: there are 2^bits samples.", "bits")
    numbers = np.arange(2**bits)
    x = (numbers[:, None] >> np.arange(bits)[::-1]) & 1
    y = x.sum(axis=1, keepdims=True) % 2
    perfect = float(2**bits)
    threshold = SOLVED_SHARE * perfect if solved is None else solved
    return Supervised(x, y, best=perfect, solved=threshold)
