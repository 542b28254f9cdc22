"""Images and their classes, seen through a front that learns before evolution begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Maybe, Real, Whole
from evonet.definitions.lock import Lock
from evonet.errors import OptionError
from evonet.evaluation import Evaluation, Round
from evonet.functions.registry import ACTIVATION_TABLE, activation_id
from evonet.genes.population import Population
from evonet.images.data import ImageSet, load_images
from evonet.images.front import ConvFront
from evonet.images.layers import Conv
from evonet.images.learning import FrontLearner
from evonet.images.spec import front_from_table, table_from_layers
from evonet.learning.lesson import Lesson
from evonet.messages import counted, show
from evonet.numerics.philox import Purpose, philox, uniform
from evonet.tasks.base import Task
from evonet.tasks.data import Data, Parts, check_split, split_data
from evonet.tasks.encoding import Column, Encoding, sort_values
from evonet.tasks.examples import MOST_CELLS, Examples
from evonet.tasks.held_out import Claim
from evonet.tasks.image_encoding import STATE, ImageEncoding, pack_front, unpack_front
from evonet.tasks.options import read_option
from evonet.tasks.sight import describe_sight
from evonet.tasks.supervised import Supervised

if TYPE_CHECKING:
    from evonet.network import Network

Array = npt.NDArray[Any]

# What a front is where [task.front] does not say it.
LAYERS: Final = (Conv(16, 3, padding=1, pool=2), Conv(32, 3, padding=1, pool=2))
# Steps between two looks at the validation part, and looks without progress.
CHECK_EVERY: Final = 10
PATIENCE: Final = 20
# Images whose features are computed at once.
AT_ONCE: Final = 4096


class ImageTask(Task):
    """Predicts classes of images; fitness is minus the mean cross-entropy, as for tables.

    Networks see the features of a front, which all genomes share. Where it learns, it does so once,
    before it is first needed, together with one layer of weights from all features to all classes.
    Its weights are the task's state, and thus part of checkpoints and champions.

    Attributes:
        encoding: How images become inputs, for champions that predict.
    """

    is_native = True
    encoding: ImageEncoding

    def __init__(
        self,
        images: ImageSet,
        parts: Parts,
        front: ConvFront,
        *,
        steps: int,
        rate: float,
        batch: int,
        batch_fraction: float,
        solved: float | None,
    ) -> None:
        """Takes images that are split; the options of `images` describe the rest.

        Args:
            images: All images.
            parts: Which of them are in which part: x [B, 1] has their positions.
            front: The front before it learns.
            steps: Steps that it learns.
            rate: Its learning rate.
            batch: Images of a step.
            batch_fraction: The fraction of training images that a generation is scored on.
            solved: The fitness that solves the task; None for none.
        """
        self._images, self._parts, self._front = images, parts, front
        self._steps, self._rate, self._batch = steps, rate, batch
        self._fraction = batch_fraction
        self._lock = Lock()
        self._scored: Supervised | None = None
        self._learned = steps == 0
        train = parts.train
        largest = float(np.abs(self._pixels(train)).max())
        scale = 255.0 if images.images.dtype == np.uint8 else largest
        self.encoding = ImageEncoding(
            front.input_shape, front.layers, scale if scale > 0 else 1.0, train.classes
        )
        self.num_inputs, self.num_outputs = front.num_features, len(train.classes)
        self.input_names, self.output_names = self.encoding.input_names, train.classes
        self.fitness_threshold = solved
        self.num_held_out = 0 if parts.test is None else len(parts.test.x)
        sizes = ", ".join(f"{len(part.x):,} {name}" for name, part in self._named_parts().items())
        self.notes = (
            f"images of {_size(front.input_shape)}, {len(train.classes)} classes; images: {sizes}",
            f"front: {self.encoding.describe()}",
        )

    def _named_parts(self) -> dict[str, Examples]:
        parts = self._parts
        found = {"train": parts.train, "validation": parts.validation, "held out": parts.test}
        return {name: part for name, part in found.items() if part is not None}

    def _pixels(self, part: Examples) -> Array:
        return self._images.images[part.x[:, 0].astype(np.int64)]

    def image_parts(self) -> dict[str, tuple[Array, Array]]:
        """Returns all images [B, C, H, W], scaled, and targets [B, O], by what they are for."""
        parts = self._named_parts().items()
        return {name: (self.encoding.inputs(self._pixels(part)), part.y) for name, part in parts}

    def learned_front(self) -> ConvFront:
        """The front, which learns now if it has not yet."""
        with self._lock:
            if not self._learned:
                self._learn()
            return self._front

    def _learn(self) -> None:
        train, validation = self._parts.train, self._parts.validation
        lesson = Lesson(
            steps=self._steps,
            optimizer="adamw",
            rate=self._rate,
            batch=self._batch,
            loss="cross_entropy",
            patience=PATIENCE,
            check_every=CHECK_EVERY,
        )
        learner = FrontLearner(first_head(self._front, self.num_outputs), self._front, lesson)
        looks = None
        if validation is not None:
            looks = self.encoding.inputs(self._pixels(validation)), validation.y
        from tqdm import tqdm

        with tqdm(total=self._steps, desc="front", unit="step", leave=False, disable=None) as bar:
            found = learner.run(
                self.encoding.inputs(self._pixels(train)),
                train.y,
                lambda done, _: bar.update(done - bar.n),
                validation=looks,
            )
        self._front, self._learned = found.front, True

    @property
    def state(self) -> dict[str, Array]:
        """The weights of the front."""
        return {STATE: pack_front(self.learned_front())}

    @state.setter
    def state(self, state: Mapping[str, Array]) -> None:
        if set(state) != {STATE}:
            raise OptionError(f"{self!r} has the state {show(STATE)}, found {show(sorted(state))}.")
        with self._lock:
            if self._learned and np.array_equal(state[STATE], pack_front(self._front)):
                return
            self._front = self._front.replace(unpack_front(self._front, state[STATE]))
            self._learned, self._scored = True, None

    @property
    def scored(self) -> Supervised:
        """The features of all parts as examples."""
        front = self.learned_front()
        with self._lock:
            if self._scored is None:
                self._scored = self._make(front)
            return self._scored

    def _make(self, front: ConvFront) -> Supervised:
        def seen(part: Examples | None) -> Examples | None:
            if part is None:
                return None
            pixels = self._pixels(part)
            x = np.concatenate(
                [
                    front(self.encoding.inputs(pixels[begin : begin + AT_ONCE]))
                    for begin in range(0, len(pixels), AT_ONCE)
                ]
            )
            return Examples(x.astype(np.float64), part.y, part.classes)

        train = seen(self._parts.train)
        assert train is not None
        share = self._fraction
        return Supervised(
            train.x,
            train.y,
            loss="cross_entropy",
            mean=True,
            solved=self.fitness_threshold,
            validation=seen(self._parts.validation),
            test=seen(self._parts.test),
            input_names=self.input_names,
            output_names=self.output_names,
            batch=0 if share == 1 else max(1, round(share * len(train.x))),
        )

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Scores every genome; the seed decides which images a batch has."""
        return self.scored.evaluate(network, seed)

    def score(self, round: Round) -> Evaluation:
        """Scores a round, on the validation part too if there is one."""
        found = self.scored.score(round)
        return Evaluation(found.fitness, validation=found.validation, task_state=self.state)

    def parts(self) -> dict[str, Examples]:
        """Returns the features of all images by what they are for."""
        return self.scored.parts()

    def held_out_scores(self, network: Network) -> dict[str, npt.NDArray[np.float64]]:
        """Scores every genome on held-out images; see `Supervised.test_scores`."""
        return self.scored.held_out_scores(network)

    def claim(self, network: Network) -> Claim | None:
        """Scores one network on held-out images, with an interval."""
        return self.scored.claim(network)

    def part_scores(self, network: Network) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
        """Scores every genome on each part."""
        return self.scored.part_scores(network)

    def results(self, network: Network) -> dict[str, Any]:
        """Lets one network answer all images, and shows what it sees of some."""
        part = self._parts.test or self._parts.validation or self._parts.train
        sight = describe_sight(
            self.learned_front(),
            self.encoding.inputs(self._pixels(part)),
            part.y,
            network,
            self.output_names,
        )
        return {**self.scored.results(network), "sight": sight}

    def examples(self) -> Examples:
        """Returns the features that networks may learn from."""
        return self.scored.examples()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part.x)} {name}" for name, part in self._named_parts().items())
        return f"ImageTask({self.num_inputs} features, {self.num_outputs} classes, {sizes})"


def images(
    *,
    data: Any = "digits",
    front: Any = None,
    front_steps: int = 300,
    front_rate: float = 0.003,
    front_batch: int = 64,
    test_fraction: float = 0.2,
    validation_fraction: float = 0.2,
    split_seed: int = 8,
    batch_fraction: float = 0.5,
    class_weights: Any = "none",
    solved: float | None = None,
) -> ImageTask:
    """Predicts classes of images, seen through a front that all genomes share.

    Args:
        data: "digits"; or the path of an NPZ file with images and labels, or of a folder that has a
            folder of PNG files for each class; or (images, labels) arrays.
        front: The convolutions, as [task.front] has them; None for two layers of 16 and 32
            channels with pools.
        front_steps: Steps that the front learns before evolution begins; 0 leaves its weights as
            they are.
        front_rate: The learning rate of the front.
        front_batch: The images of each of its steps.
        test_fraction: The fraction of images to hold out.
        validation_fraction: The fraction of the others that decides when the front has learned
            enough, and which genome is the best so far; no fitness depends on it.
        split_seed: Decides which images are in which part.
        batch_fraction: The fraction of the training images that each generation is scored on,
            others each time.
        class_weights: How much images of a class count: "none" for all alike, "balanced" for
            more where there are fewer, or a table of classes and weights.
        solved: The fitness that solves the task; None for none.

    Raises:
        OptionError: An option is out of range, or a package is missing.
        FileFormatError: A file does not hold such images.
        FileNotFoundError: There is no such file.
    """
    check_split(test_fraction, validation_fraction, split_seed, False, solved)
    steps = read_option("front_steps", front_steps, Whole(0))
    rate = read_option("front_rate", front_rate, Real(above=0))
    batch = read_option("front_batch", front_batch, Whole(1))
    share = read_option("batch_fraction", batch_fraction, Real(most=1, above=0))
    found = load_images(data)
    table = table_from_layers(LAYERS) if front is None else front
    eyes = front_from_table(table, found.shape)
    for layer in eyes.layers:
        if activation_id(layer.activation) >= ACTIVATION_TABLE.num_builtin:
            raise OptionError(
                f"front: {layer.activation} is a custom activation, which champions cannot carry.",
                "front",
            )
    parts = split_data(
        _examples(found),
        test_fraction=test_fraction,
        validation_fraction=validation_fraction,
        split_seed=split_seed,
        class_weights=class_weights,
    )
    return ImageTask(
        found,
        parts,
        eyes,
        steps=steps,
        rate=rate,
        batch=batch,
        batch_fraction=share,
        solved=read_option("solved", solved, Maybe(Real())),
    )


def first_head(front: ConvFront, num_outputs: int) -> Population:
    """One genome that joins all features of a front to all outputs, with small weights."""
    count = front.num_features * num_outputs
    words = philox(0, 0, len(front.layers), Purpose.FRONT, np.arange((count + 3) // 4))
    share = uniform(words).T.reshape(-1)[:count].astype(np.float64)
    weights = (2.0 * share - 1.0) * np.sqrt(1.0 / front.num_features)
    matrix = weights.reshape(front.num_features, num_outputs)
    return Population.from_layers([matrix], activation="identity")


def _examples(found: ImageSet) -> Data:
    """The positions of all images as examples with classes."""
    classes = sort_values(set(found.labels))
    if len(classes) < 2:
        raise OptionError(f"data: all images are of the class {show(classes[0])}.", "data")
    if len(classes) * len(found.labels) > MOST_CELLS:
        raise OptionError(f"data: has {len(classes):,} classes. Are they numbers?", "data")
    number = {name: i for i, name in enumerate(classes)}
    labels = np.array([number[label] for label in found.labels])
    positions = np.arange(len(labels), dtype=np.float64)[:, None]
    y = (labels[:, None] == np.arange(len(classes))).astype(np.float64)
    encoding = Encoding((Column("image"),), ("label",), classes)
    return Data(Examples(positions, y, classes), np.zeros(positions.shape, np.bool_), encoding)


def _size(shape: tuple[int, int, int]) -> str:
    channels, height, width = shape
    return f"{height} x {width} pixels and {counted(channels, 'channel')}"
