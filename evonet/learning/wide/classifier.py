"""A classifier for very many classes, with scikit-learn's conventions."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evonet.backends.wide import WideKernels, resolve_wide
from evonet.backends.wide_level import AdamRule
from evonet.errors import (
    CheckpointError,
    EvonetError,
    OptionError,
    ShapeError,
    check_seed,
    check_threads,
    check_whole,
)
from evonet.learning.wide.estimator import not_fitted
from evonet.learning.wide.hashing import default_bits
from evonet.learning.wide.predictor import Predictor
from evonet.learning.wide.progress import Progress
from evonet.learning.wide.rows import Rows, read_rows
from evonet.learning.wide.saving import Saved, load_model, save_model
from evonet.learning.wide.targets import Targets, read_targets
from evonet.learning.wide.training import Batch, StepResult, WideModel, WideSettings
from evonet.learning.wide.trunk import TrainedTrunk, Trunk, padded
from evonet.numerics.philox import Purpose, philox

# Arguments that change nothing that is learned.
UNSAVED: Final = ("trunk", "threads", "backend", "progress", "checkpoint", "checkpoint_every")


class _Place(NamedTuple):
    """How far a fit has come: passes that are done, and batches of the next one."""

    epoch: int = 0
    batch: int = 0
    best: float = -1.0
    waited: int = 0
    sums: dict[str, float] | None = None


class WideClassifier(Predictor):
    """Trains a layer with any number of outputs on the few that each sample would excite.

    Hash tables find, for a sample, the classes whose weights point where its hidden values do.
    Softmax, gradient and update run over these classes, the sample's labels and some others, so
    that a step costs about the same for ten thousand classes as for a million. Equal seeds give
    equal bits, whatever the threads or the backend.

    Args:
        num_classes: Classes are the numbers below it; None takes them from y.
        hidden: Nodes of the rectified hidden layer between inputs and classes.
        trunk: A champion, a population of one genome or a compiled network, whose outputs take the
            place of the hidden layer, or "identity" for X itself.
        train_trunk: Whether the weights and biases of a champion or population are trained, too.
        hash: "dwta" or "simhash".
        bits: Bits of a bucket's number, for "dwta" a multiple of 3; None suits the classes.
        tables: Hash tables.
        capacity: Classes that a bucket keeps.
        keep: Which: "reservoir" for a random choice, "last" for those that came last.
        limit: Classes that a sample takes from its buckets, at most.
        shared: Labels of other samples of its batch, at most.
        minimum: Classes of a sample, at least; random ones fill up.
        rebuild: Batches until tables are rebuilt for the first time.
        growth: How much longer the tables then last each time.
        batch: Samples per step.
        epochs: Passes over the examples.
        rate: Adam's learning rate.
        beta1: What Adam keeps of its mean of gradients.
        beta2: What Adam keeps of its mean of squares.
        validation: The fraction of examples to hold out for early stopping; 0 for none.
        patience: Passes without a better score on them after which to stop.
        seed: The seed of all random numbers.
        threads: Threads; 0 for all available.
        backend: "auto", "cpu", "cuda" or "reference".
        progress: Whether to show a progress bar.
        checkpoint: A file that `fit` saves its state to, now and then, and can resume from.
        checkpoint_every: Batches between two checkpoints, at least.

    Attributes:
        classes_: [C] the classes.
        n_features_in_: Input columns.
        n_iter_: Passes over the examples that were made.
        history_: For each pass a table of loss, P@1 over the active classes, active share, and
            the held-out score if there is one.
        model_: The levels.
        trunk_: The trunk, whose `population` is the trained genome if it was trained.
    """

    def __init__(
        self,
        num_classes: int | None = None,
        hidden: int = 128,
        trunk: Any = None,
        *,
        train_trunk: bool = False,
        hash: str = "dwta",
        bits: int | None = None,
        tables: int = 24,
        capacity: int = 128,
        keep: str = "reservoir",
        limit: int = 64,
        shared: int = 6144,
        minimum: int = 64,
        rebuild: int = 50,
        growth: float = 1.2,
        batch: int = 128,
        epochs: int = 5,
        rate: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        validation: float = 0.0,
        patience: int = 3,
        seed: int = 0,
        threads: int = 0,
        backend: str = "auto",
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1000,
    ) -> None:
        self.num_classes = num_classes
        self.hidden = hidden
        self.trunk = trunk
        self.train_trunk = train_trunk
        self.hash = hash
        self.bits = bits
        self.tables = tables
        self.capacity = capacity
        self.keep = keep
        self.limit = limit
        self.shared = shared
        self.minimum = minimum
        self.rebuild = rebuild
        self.growth = growth
        self.batch = batch
        self.epochs = epochs
        self.rate = rate
        self.beta1 = beta1
        self.beta2 = beta2
        self.validation = validation
        self.patience = patience
        self.seed = seed
        self.threads = threads
        self.backend = backend
        self.progress = progress
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    # ---- training ----

    def fit(self, X: Any, y: Any, resume: bool = False) -> Self:
        """Trains from the start, or from where a checkpoint is.

        Args:
            X: Samples [n, features], dense or sparse.
            y: Classes [n], or labels [n, C] as an indicator matrix, dense or sparse.
            resume: Whether to continue from the file `checkpoint`, if there is one; the outcome is
                the same, to the last bit, as without an interruption.

        Raises:
            ShapeError: X or y do not fit.
            OptionError: An argument is out of range.
            CheckpointError: The checkpoint is of another fit.
        """
        rows = read_rows(X)
        targets = read_targets(y, len(rows), self._class_count())
        examples = f"{rows.digest()}{_digest(targets)}"
        place = _Place()
        if resume and self.checkpoint is not None and os.path.exists(self.checkpoint):
            place = self._resume(rows, targets, examples)
        else:
            self._start(rows, targets)
        return self._train(rows, targets, place, examples)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Trains on the samples given, once and in their order.

        Args:
            X: Samples [n, features].
            y: Classes [n] or labels [n, C].
            classes: All classes that there will be, in the first call; not needed for an indicator
                matrix, or with `num_classes`.

        Raises:
            ShapeError: X or y do not fit, or not to the calls before.
            OptionError: An argument is out of range.
        """
        rows = read_rows(X)
        if not hasattr(self, "model_"):
            known = None if classes is None else np.unique(np.asarray(classes))
            self._start(rows, read_targets(y, len(rows), self._class_count(), known))
        elif rows.num_columns != self.n_features_in_:
            raise ShapeError(self._width_fault(rows.num_columns))
        targets = read_targets(y, len(rows), self._class_count(), self.classes_)
        with Progress(self.progress, len(rows)) as bar:
            for begin in range(0, len(rows), self._batch_size()):
                chosen = np.arange(begin, min(begin + self._batch_size(), len(rows)))
                self._step(rows.take(chosen), targets.take(chosen), bar)
        return self

    def _class_count(self) -> int | None:
        return None if self.num_classes is None else check_whole("num_classes", self.num_classes, 1)

    def _batch_size(self) -> int:
        return check_whole("batch", self.batch, 1, 1 << 20)

    def _kernels(self) -> WideKernels:
        return resolve_wide(self.backend, check_threads(self.threads))

    def _start(self, rows: Rows, targets: Targets) -> None:
        if targets.single and len(targets.classes) < 2:
            raise ShapeError("y has only one class. A classifier needs at least two classes.")
        self.classes_, self._single = targets.classes, targets.single
        self.n_features_in_ = rows.num_columns
        self.history_: list[dict[str, float]] = []
        self.n_iter_ = 0
        self.trunk_ = self._make_trunk(rows.num_columns)
        self.model_ = WideModel(self._settings(rows, len(targets.classes)), self._kernels())

    def _make_trunk(self, num_inputs: int) -> Trunk | None:
        if self.trunk is None:
            if self.train_trunk:
                raise OptionError("train_trunk=True needs a trunk.")
            return None
        kind = TrainedTrunk if self.train_trunk else Trunk
        return kind(self.trunk, num_inputs)

    def _settings(self, rows: Rows, num_classes: int) -> WideSettings:
        hidden = self.hidden if self.trunk_ is None else self.trunk_.num_outputs
        return WideSettings(
            num_inputs=rows.num_columns + 1 if self.trunk_ is None else 0,
            num_classes=num_classes,
            hidden=check_whole("hidden", hidden, 1, 65536),
            hash=self.hash,
            bits=default_bits(self.hash, num_classes) if self.bits is None else self.bits,
            tables=self.tables,
            capacity=self.capacity,
            keep=self.keep,
            limit=min(self.limit, num_classes) if isinstance(self.limit, int) else self.limit,
            shared=self.shared,
            minimum=min(self.minimum, num_classes),
            rebuild=self.rebuild,
            growth=float(self.growth),
            rate=float(self.rate),
            beta1=float(self.beta1),
            beta2=float(self.beta2),
            epsilon=1e-8,
            input_scale=_input_scale(rows),
            seed=check_seed(self.seed),
        )

    def _train(self, rows: Rows, targets: Targets, place: _Place, examples: str) -> Self:
        kept, held = self._split(len(rows))
        size = self._batch_size()
        epochs = check_whole("epochs", self.epochs, 1)
        patience = check_whole("patience", self.patience, 1)
        saved_at = self.model_.step
        done = place.epoch * len(kept) + place.batch * size
        with Progress(self.progress, len(kept) * epochs, done, place.sums) as bar:
            for epoch in range(place.epoch, epochs):
                order = kept[_shuffled(self.seed, epoch, len(kept))]
                for index in range(place.batch, -(-len(kept) // size)):
                    chosen = order[index * size : (index + 1) * size]
                    rebuilt = self.model_.epoch
                    self._step(rows.take(chosen), targets.take(chosen), bar)
                    # Tables are a function of the weights at this moment only, so that a
                    # checkpoint needs no tables.
                    due = self.model_.step - saved_at >= self.checkpoint_every
                    if self.checkpoint is not None and due and self.model_.epoch != rebuilt:
                        saved_at = self.model_.step
                        self._save_checkpoint(place._replace(batch=index + 1), examples, bar)
                self.history_.append(bar.finish_pass())
                self.n_iter_ = epoch + 1
                place = place._replace(epoch=epoch + 1, batch=0)
                if len(held):
                    score = self._precision(rows.take(held), targets.take(held), 1)
                    self.history_[-1]["held_out"] = score
                    better = score > place.best
                    place = place._replace(
                        best=max(score, place.best), waited=0 if better else place.waited + 1
                    )
                    if place.waited >= patience:
                        break
        return self

    def _split(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The examples to train on, and those that are held out."""
        if not 0 <= self.validation < 1:
            raise OptionError(f"validation={self.validation} must be from 0 to below 1.")
        order = _shuffled(self.seed, 0xFFFFFFFF, count)
        held = int(count * self.validation)
        if self.validation and not 0 < held < count:
            raise OptionError(f"validation={self.validation} of {count} examples are {held}.")
        return np.sort(order[held:]), np.sort(order[:held])

    def _step(self, rows: Rows, targets: Targets, bar: Progress) -> None:
        found = self._train_batch(rows, targets)
        if not np.isfinite(found.loss).all():
            raise EvonetError(
                f"the loss is no longer a finite number after {self.model_.step} batches. Lower "
                f"the rate, which is {self.rate}, or scale the features down."
            )
        bar.count(_summary(found, self.model_.settings.num_classes))

    def _train_batch(self, rows: Rows, targets: Targets) -> StepResult:
        model, trunk = self.model_, self.trunk_
        if not isinstance(trunk, TrainedTrunk):
            return model.train(self._batch(rows, targets.start, targets.labels))
        answers, step = trunk.answer(rows), model.step
        hidden = padded(answers, model.settings.width)
        found = model.train(Batch(None, None, hidden, targets.start, targets.labels, True))
        assert found.slopes is not None
        slopes = found.slopes[:, : trunk.num_outputs]
        if np.isfinite(slopes).all():  # otherwise the loss says so
            trunk.learn(rows, answers, slopes, self._host_rule(), step)
        return found

    def _host_rule(self) -> AdamRule:
        rule, get = self.model_.rule, self.model_.kernels.get
        return dataclasses.replace(
            rule, corrected_rate=get(rule.corrected_rate), correction=get(rule.correction)
        )

    # ---- files ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to one checksummed file; of a trunk, only what was trained.

        Raises:
            OSError: It cannot be written.
        """
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        save_model(path, self._saved({}))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        trunk: Any = None,
        backend: str = "auto",
        threads: int = 0,
    ) -> Self:
        """Reads what `save` wrote; nothing in the file is executed.

        Args:
            path: The file.
            trunk: The trunk, if the model was trained with one.
            backend: As for the constructor.
            threads: As for the constructor.

        Raises:
            FileFormatError: The file is damaged, or holds something else.
            OptionError: A trunk is missing.
        """
        saved = load_model(path, resolve_wide(backend, check_threads(threads)))
        names = set(cls._names()) - set(UNSAVED)
        params = {name: value for name, value in saved.params.items() if name in names}
        made = cls(**params, trunk=trunk, backend=backend, threads=threads)
        if (trunk is None) != bool(saved.model.settings.num_inputs):
            needs = "no" if saved.model.settings.num_inputs else "a"
            raise OptionError(f"{os.fspath(path)} was trained with {needs} trunk=.")
        made._adopt(saved)
        made.trunk_ = made._make_trunk(made.n_features_in_)
        made._adopt_trunk(saved)
        return made

    def _saved(self, progress: dict[str, Any]) -> Saved:
        params = {k: v for k, v in self.get_params().items() if k not in UNSAVED}
        plain = np.array_equal(self.classes_, np.arange(len(self.classes_)))
        notes = {**progress, "num_features": self.n_features_in_, "history": self.history_}
        trunk = self.trunk_.pack() if isinstance(self.trunk_, TrainedTrunk) else {}
        classes = None if plain else self.classes_
        return Saved(self.model_, classes, self._single, notes, params, trunk)

    def _adopt_trunk(self, saved: Saved) -> None:
        if isinstance(self.trunk_, TrainedTrunk):
            self.trunk_.unpack(saved.trunk)

    def _adopt(self, saved: Saved) -> None:
        count = saved.model.settings.num_classes
        self.model_, self._single = saved.model, saved.single
        self.classes_ = np.arange(count) if saved.classes is None else saved.classes
        inputs = saved.model.settings.num_inputs
        noted = saved.progress.get("num_features")
        self.n_features_in_ = inputs - 1 if inputs else int(noted) if type(noted) is int else 0
        history = saved.progress.get("history")
        self.history_ = history if isinstance(history, list) else []
        self.n_iter_ = len(self.history_)

    def _save_checkpoint(self, place: _Place, examples: str, bar: Progress) -> None:
        assert self.checkpoint is not None
        notes = {"place": list(place[:4]), "examples": examples, "sums": bar.sums}
        save_model(self.checkpoint, self._saved(notes))

    def _resume(self, rows: Rows, targets: Targets, examples: str) -> _Place:
        assert self.checkpoint is not None
        where = os.fspath(self.checkpoint)
        saved = load_model(self.checkpoint, self._kernels())
        self.n_features_in_ = rows.num_columns
        self.trunk_ = self._make_trunk(rows.num_columns)
        expected = self._settings(rows, len(targets.classes))
        if saved.model.settings != expected:
            names = [
                field.name
                for field in dataclasses.fields(expected)
                if getattr(expected, field.name) != getattr(saved.model.settings, field.name)
            ]
            raise CheckpointError(f"{where}: the run had other settings: {', '.join(names)}.")
        try:
            epoch, index, best, waited = saved.progress["place"]
            sums = {str(k): float(v) for k, v in saved.progress["sums"].items()}
            place = _Place(int(epoch), int(index), float(best), int(waited), sums)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise CheckpointError(f"{where}: this is a model, not a checkpoint of a fit.") from None
        batch = saved.params.get("batch"), saved.params.get("validation")
        if saved.progress.get("examples") != examples or batch != (self.batch, self.validation):
            raise CheckpointError(f"{where}: the run had other examples, or other batches.")
        self._adopt(saved)
        self._adopt_trunk(saved)
        self.classes_ = targets.classes
        return place

    def __getstate__(self) -> dict[str, Any]:
        """What copies take along; models are copied by their arrays."""
        state = dict(self.__dict__)
        if "model_" in state:
            state["model_"] = self.model_.frozen()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "model_" in state:
            self.model_ = WideModel.thawed(state["model_"], self._kernels())


def _shuffled(seed: int, epoch: int, count: int) -> NDArray[np.int64]:
    """The order of examples in a pass."""
    words = philox(seed, epoch, 0, Purpose.WIDE_ORDER, np.arange(count))[0]
    return np.argsort(words, kind="stable").astype(np.int64)


def _input_scale(rows: Rows) -> float:
    """First weights, so that hidden values are about 0.1 for the samples at hand.

    A power of 2, which the last bits of a sum over all samples do not change.
    """
    square = float(np.square(rows.values, dtype=np.float64).sum()) / max(len(rows), 1)
    return math.ldexp(0.25, -round(0.5 * math.log2(square))) if square > 0 else 0.25


def _digest(targets: Targets) -> str:
    return Rows(
        targets.start, targets.labels, np.zeros(0, np.float32), len(targets.classes)
    ).digest()


def _summary(found: StepResult, num_classes: int) -> dict[str, float]:
    return {
        "samples": float(len(found.loss)),
        "loss": math.fsum(found.loss.tolist()),
        "hits": float(found.hit.sum()),
        "active": found.num_active / num_classes * len(found.loss),
    }
