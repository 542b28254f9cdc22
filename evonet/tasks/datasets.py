"""The small data sets that come with scikit-learn, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from evonet.errors import OptionError
from evonet.tasks.data import Data, data_of, split_data
from evonet.tasks.examples import Examples
from evonet.tasks.supervised import Supervised
from evonet.tasks.tabular import task_of_parts


class Dataset(NamedTuple):
    """A data set.

    Attributes:
        name: The name that users write; scikit-learn's function is load_NAME.
        target: What is to be predicted.
        classes: Whether that is a class.
        summary: A one-line description.
    """

    name: str
    target: str
    classes: bool
    summary: str


_LIST: Final = (
    Dataset("iris", "species", True, "three species of iris by 4 sizes; 150 examples"),
    Dataset("wine", "cultivar", True, "three sorts of wine by 13 measurements; 178 examples"),
    Dataset("breast_cancer", "diagnosis", True, "two diagnoses by 30 measurements; 569 examples"),
    Dataset("digits", "digit", True, "handwritten digits, 8 by 8 pixels; 1,797 examples"),
    Dataset("diabetes", "progression", False, "a disease in a year by 10 figures; 442 examples"),
)
DATASETS: Final = {dataset.name: dataset for dataset in _LIST}


def dataset_task(dataset: Dataset) -> Callable[..., Supervised]:
    """Returns the function that makes the task of a data set."""

    def classes(
        *,
        test_fraction: float = 0.2,
        validation_fraction: float = 0.2,
        split_seed: int = 8,
        batch_fraction: float = 0.5,
        standardize: bool = True,
        class_weights: Any = "none",
        solved: float | None = None,
    ) -> Supervised:
        """Predicts the class; fitness is minus the mean cross-entropy of the outputs' softmax.

        Args:
            test_fraction: The fraction of examples to hold out for `test_scores`.
            validation_fraction: The fraction of the others that decides which genome is the best
                so far, and thus, with run.patience, when to stop; no fitness depends on it.
            split_seed: Decides which examples are in which part; 8 is a typical split, on which
                linear models score as on the average of many.
            batch_fraction: The fraction of the training examples that each generation is scored
                on, others each time; below 1 evolution is faster and overfits less.
            standardize: Whether to shift and scale inputs to mean 0 and deviation 1.
            class_weights: How much examples of a class count: "none" for all alike, "balanced"
                for more where there are fewer, or a table of classes and weights.
            solved: The fitness that solves the task; None for none.

        Raises:
            OptionError: scikit-learn is not installed, or an option is out of range.
        """
        found = _load(dataset)
        parts = split_data(
            found,
            test_fraction=test_fraction,
            validation_fraction=validation_fraction,
            split_seed=split_seed,
            standardize=standardize,
            class_weights=class_weights,
        )
        return task_of_parts(found, parts, batch_fraction, solved)

    def numbers(
        *,
        test_fraction: float = 0.2,
        validation_fraction: float = 0.2,
        split_seed: int = 8,
        batch_fraction: float = 0.5,
        standardize: bool = True,
        standardize_targets: bool = True,
        solved: float | None = None,
    ) -> Supervised:
        """Predicts a number; fitness is minus the mean squared error.

        Args:
            test_fraction: The fraction of examples to hold out for `test_scores`.
            validation_fraction: The fraction of the others that decides which genome is the best
                so far, and thus, with run.patience, when to stop; no fitness depends on it.
            split_seed: Decides which examples are in which part; 8 is a typical split, on which
                linear models score as on the average of many.
            batch_fraction: The fraction of the training examples that each generation is scored
                on, others each time; below 1 evolution is faster and overfits less.
            standardize: Whether to shift and scale inputs to mean 0 and deviation 1.
            standardize_targets: Whether to do the same with the target: fitness is then r2 - 1.
            solved: The fitness that solves the task; None for none.

        Raises:
            OptionError: scikit-learn is not installed, or an option is out of range.
        """
        found = _load(dataset)
        parts = split_data(
            found,
            test_fraction=test_fraction,
            validation_fraction=validation_fraction,
            split_seed=split_seed,
            standardize=standardize,
            standardize_targets=standardize_targets,
        )
        return task_of_parts(found, parts, batch_fraction, solved)

    return classes if dataset.classes else numbers


def _load(dataset: Dataset) -> Data:
    try:
        from sklearn import datasets
    except ImportError:
        raise OptionError(
            f"task {dataset.name} comes with scikit-learn, which is not installed: "
            "pip install scikit-learn"
        ) from None
    bunch = getattr(datasets, f"load_{dataset.name}")()
    labels = np.asarray(bunch.target)
    if dataset.classes:
        labels = np.asarray([str(name) for name in bunch.target_names])[labels]
    examples = Examples.of(bunch.data, labels, classes=dataset.classes)
    columns = tuple(str(name) for name in bunch.feature_names)
    if not dataset.classes:
        columns += (dataset.target,)
    data = data_of(replace(examples, columns=columns))
    return replace(data, encoding=replace(data.encoding, targets=(dataset.target,)))
