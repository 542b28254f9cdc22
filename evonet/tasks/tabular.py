"""Tasks from tables of examples: numbers or classes to predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evonet.config.rules import Real
from evonet.messages import counted
from evonet.tasks.data import Data, check_split, load_data, split_data
from evonet.tasks.encoding import Missing
from evonet.tasks.options import read_option
from evonet.tasks.supervised import Supervised
from evonet.tasks.tables import Header


def regression(
    *,
    data: Any,
    targets: Any = None,
    test_fraction: float = 0.0,
    validation_fraction: float = 0.0,
    split_seed: int = 0,
    batch_fraction: float = 1.0,
    standardize: bool = False,
    standardize_targets: bool = False,
    missing: Missing = "error",
    categories: Sequence[str] = (),
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    header: Header = "auto",
    solved: float | None = None,
) -> Supervised:
    """Predicts numbers; fitness is minus the mean squared error.

    Args:
        data: Path of a CSV file, or of an NPZ file with x and y, or (x, y) arrays.
        targets: The columns of a CSV file to predict; None for the last.
        test_fraction: The fraction of examples to hold out: nothing depends on them, and the run
            ends with their scores.
        validation_fraction: The fraction of the others that decides which genome is the best so
            far, and thus, with run.patience, when to stop; no fitness depends on it.
        split_seed: Decides which examples are in which part.
        batch_fraction: The fraction of the training examples that each generation is scored on,
            others each time; below 1 evolution is faster and overfits less.
        standardize: Whether to shift and scale inputs, not targets, to mean 0 and deviation 1.
        standardize_targets: Whether to do the same with targets: fitness is then r2 - 1.
        missing: What to do about missing cells: "error", "fill" by the mean of the training
            examples, or "drop" their rows. Rows without a target are left out in either case.
        categories: Columns of numbers that are categories all the same.
        exclude: Columns that networks do not see.
        keep: Columns that networks see although they look like identifiers: another text, or under
            a name such as user_id another whole number, in every row. Others are left out.
        header: Whether a CSV file starts with the names of columns: "yes", "no", or "auto" to find
            out.
        solved: The fitness that solves the task; None for none.

    Raises:
        OptionError: An option is out of range.
        FileFormatError: The file does not hold examples.
        FileNotFoundError: There is no such file.
    """
    check_split(test_fraction, validation_fraction, split_seed, standardize, solved)
    found = load_data(
        data,
        targets,
        classes=False,
        missing=missing,
        categories=categories,
        exclude=exclude,
        keep=keep,
        header=header,
    )
    return split_task(
        found,
        test_fraction=test_fraction,
        validation_fraction=validation_fraction,
        split_seed=split_seed,
        standardize=standardize,
        standardize_targets=standardize_targets,
        batch_fraction=batch_fraction,
        solved=solved,
    )


def classification(
    *,
    data: Any,
    targets: Any = None,
    test_fraction: float = 0.0,
    validation_fraction: float = 0.0,
    split_seed: int = 0,
    batch_fraction: float = 1.0,
    standardize: bool = False,
    class_weights: Any = "none",
    missing: Missing = "error",
    categories: Sequence[str] = (),
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    header: Header = "auto",
    solved: float | None = None,
) -> Supervised:
    """Predicts classes; fitness is minus the mean cross-entropy of the outputs' softmax.

    Classes are text or numbers; networks have an output for each, in sorted order. All parts have
    about the same share of each class.

    Args:
        data: Path of a CSV file, or of an NPZ file with x and y, or (x, y) arrays.
        targets: The column of a CSV file that holds the class; None for the last.
        test_fraction: The fraction of examples to hold out: nothing depends on them, and the run
            ends with their scores.
        validation_fraction: The fraction of the others that decides which genome is the best so
            far, and thus, with run.patience, when to stop; no fitness depends on it.
        split_seed: Decides which examples are in which part.
        batch_fraction: The fraction of the training examples that each generation is scored on,
            others each time; below 1 evolution is faster and overfits less.
        standardize: Whether to shift and scale inputs to mean 0 and deviation 1.
        class_weights: How much examples of a class count: "none" for all alike, "balanced" for
            more where there are fewer, or a table of classes and weights.
        missing: What to do about missing cells: "error", "fill" by the mean of the training
            examples, or "drop" their rows. Rows without a target are left out in either case.
        categories: Columns of numbers that are categories all the same.
        exclude: Columns that networks do not see.
        keep: Columns that networks see although they look like identifiers: another text, or under
            a name such as user_id another whole number, in every row. Others are left out.
        header: Whether a CSV file starts with the names of columns: "yes", "no", or "auto" to find
            out.
        solved: The fitness that solves the task; None for none.

    Raises:
        EvonetError: As `regression` raises it.
    """
    check_split(test_fraction, validation_fraction, split_seed, standardize, solved)
    found = load_data(
        data,
        targets,
        classes=True,
        missing=missing,
        categories=categories,
        exclude=exclude,
        keep=keep,
        header=header,
    )
    return split_task(
        found,
        test_fraction=test_fraction,
        validation_fraction=validation_fraction,
        split_seed=split_seed,
        standardize=standardize,
        class_weights=class_weights,
        batch_fraction=batch_fraction,
        solved=solved,
    )


def split_task(
    data: Data, *, batch_fraction: float, solved: float | None, **split: Any
) -> Supervised:
    """Makes a task of examples that are read.

    Args:
        data: What was read.
        batch_fraction: The fraction of training examples per generation.
        solved: The fitness that solves the task; None for none.
        **split: The options of `evonet.tasks.data.split_data`.

    Raises:
        OptionError: An option is out of range.
    """
    parts = split_data(data, **split)
    train = parts.train
    share = read_option("batch_fraction", batch_fraction, Real(most=1, above=0))
    task = Supervised(
        train.x,
        train.y,
        loss="cross_entropy" if train.classes else "squared",
        mean=True,
        solved=solved,
        validation=parts.validation,
        test=parts.test,
        input_names=train.input_names,
        output_names=train.output_names,
        encoding=parts.encoding,
        batch=0 if share == 1 else max(1, round(share * len(train.x))),
        notes=data.notes,
    )
    what = f"{len(train.classes)} classes" if train.classes else "numbers"
    if train.columns or train.classes:
        what += f" of {', '.join(parts.encoding.targets)}" if train.columns else ""
    sizes = ", ".join(f"{len(part.x):,} {name}" for name, part in task.parts().items())
    line = f"{counted(task.num_inputs, 'input')}, {what}; examples: {sizes}"
    task.notes = (line, *data.notes)
    return task
