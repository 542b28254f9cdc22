"""The small data sets that come with scikit-learn, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from evonet.errors import OptionError
from evonet.tasks.data import Data, data_of
from evonet.tasks.examples import Examples
from evonet.tasks.supervised import Supervised
from evonet.tasks.tabular import classification, regression, split_task


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


# What differs from the options of a task made of a file. 8 is a typical split, on which linear
# models score as on the average of many.
_DEFAULTS: Final[Mapping[str, object]] = {
    "test_fraction": 0.2,
    "validation_fraction": 0.2,
    "split_seed": 8,
    "batch_fraction": 0.5,
    "standardize": True,
    "standardize_targets": True,
}
# The options that say how a file is read.
_OF_FILES: Final = ("data", "targets", "missing", "categories", "exclude", "keep", "header")


def dataset_task(dataset: Dataset) -> Callable[..., Supervised]:
    """Returns the function that makes the task of a data set.

    Its options are those of `classification` or `regression`, except for those about files; it
    raises an OptionError if scikit-learn is not installed.
    """
    like = classification if dataset.classes else regression
    options = [
        option.replace(default=_DEFAULTS.get(option.name, option.default))
        for option in inspect.signature(like).parameters.values()
        if option.name not in _OF_FILES
    ]

    def make(**given: Any) -> Supervised:
        stated = {option.name: option.default for option in options}
        return split_task(_load(dataset), **{**stated, **given})

    make.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    make.__doc__ = like.__doc__
    return make


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
