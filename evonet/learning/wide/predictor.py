"""What a trained wide classifier answers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.errors import ShapeError, check_whole
from evonet.learning.wide.estimator import Estimator, not_fitted
from evonet.learning.wide.rows import Rows, read_rows
from evonet.learning.wide.targets import Targets, read_targets
from evonet.learning.wide.training import Batch, WideModel
from evonet.learning.wide.trunk import Trunk, padded

PREDICT_ROWS: Final = 4096  # samples whose hidden rows are in memory at a time


class Predictor(Estimator):
    """Answers by a model that somebody has trained or loaded."""

    model_: WideModel
    trunk_: Trunk | None
    classes_: NDArray[Any]
    n_features_in_: int

    def predict(self, X: Any, k: int = 1) -> NDArray[Any]:
        """The most likely class of each sample, [n]; or the k most likely, best first, [n, k].

        Raises:
            ShapeError: X does not fit.
            OptionError: There are fewer than k classes.
        """
        ids, _ = self.top(X, k)
        best: NDArray[Any] = self.classes_[ids]
        return best[:, 0] if k == 1 else best

    def top(self, X: Any, k: int = 1) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The k largest outputs of each sample: positions [n, k] in `classes_`, and logits.

        All classes are looked at, so that this is exact.

        Raises:
            ShapeError: X does not fit.
            OptionError: There are fewer than k classes.
        """
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        rows = read_rows(X)
        if rows.num_columns != self.n_features_in_:
            raise ShapeError(self._width_fault(rows.num_columns))
        k = check_whole("k", k, 1, len(self.classes_))
        found = []
        for begin in range(0, len(rows), PREDICT_ROWS):
            part = rows.take(np.arange(begin, min(begin + PREDICT_ROWS, len(rows))))
            empty = np.zeros(len(part) + 1, np.int64), np.zeros(0, np.int32)
            hidden = self.model_.hidden_rows(self._batch(part, *empty))
            found.append(self.model_.kernels.top(hidden, self.model_.outputs, k))
        ids, logits = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(logits)

    def score(self, X: Any, y: Any) -> float:
        """The fraction of samples whose most likely class is one of theirs (P@1)."""
        return self.precision(X, y, 1)

    def precision(self, X: Any, y: Any, k: int = 1) -> float:
        """The mean fraction of the k most likely classes that are labels of their sample (P@k)."""
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        rows = read_rows(X)
        if rows.num_columns != self.n_features_in_:
            raise ShapeError(self._width_fault(rows.num_columns))
        k = check_whole("k", k, 1, len(self.classes_))
        return self._precision(rows, read_targets(y, len(rows), None, self.classes_), k)

    def _precision(self, rows: Rows, targets: Targets, k: int) -> float:
        # A sample and a class as one number, so that one search finds all pairs.
        count = len(self.classes_)
        sample = np.repeat(np.arange(len(rows)), np.diff(targets.start))
        true = sample * np.int64(count) + targets.labels
        hits = 0
        for begin in range(0, len(rows), PREDICT_ROWS):
            chosen = np.arange(begin, min(begin + PREDICT_ROWS, len(rows)))
            part = rows.take(chosen)
            empty = np.zeros(len(part) + 1, np.int64), np.zeros(0, np.int32)
            hidden = self.model_.hidden_rows(self._batch(part, *empty))
            ids, _ = self.model_.kernels.top(hidden, self.model_.outputs, k)
            hits += int(np.isin(chosen[:, None] * np.int64(count) + ids, true).sum())
        return hits / (len(rows) * k)

    def _width_fault(self, found: int) -> str:
        return (
            f"X has {found} features, but {type(self).__name__} is expecting "
            f"{self.n_features_in_} features as input."
        )

    def _batch(self, rows: Rows, start: NDArray[np.int64], labels: NDArray[np.int32]) -> Batch:
        if self.trunk_ is None:
            lists, values = rows.with_bias()
            return Batch(lists, values, None, start, labels)
        hidden = padded(self.trunk_.answer(rows), self.model_.settings.width)
        return Batch(None, None, hidden, start, labels)
