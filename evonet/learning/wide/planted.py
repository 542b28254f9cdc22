"""Examples with a planted structure, of the shapes of public data with very many labels.

Labels come in groups of 16. A label has features of its own, and its group has features that all
its labels share, so that labels of a group are easily confused. Popularity falls with the rank r
of a label or feature as 1 / (r + head): a few are common, most are rare.

A sample draws a main label by popularity. Half of its further labels are of the main label's group,
the others come by popularity too. Half of its features belong to its labels, a quarter to their
groups, and a quarter are noise by popularity. Values are positive, and each sample has norm 1.

All draws are Philox's: sample i of a seed is the same whatever else is drawn.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.errors import OptionError, check_option, check_seed, check_whole
from evonet.numerics.philox import Purpose, choose, philox

GROUP: Final = 16  # labels that share features
OWN: Final = 12  # features of a label, and of a group


@dataclasses.dataclass(frozen=True)
class PlantedShape:
    """How many of everything there are, and per sample."""

    num_features: int
    num_labels: int
    features: int  # of a sample; somewhat fewer if one is drawn twice
    labels: int  # likewise
    head: int  # ranks up to here are about equally popular


SHAPES: Final = {
    "delicious200k": PlantedShape(782_585, 205_443, 301, 75, 50),
    "amazon670k": PlantedShape(135_909, 670_091, 76, 5, 50),
    "small": PlantedShape(2_000, 1_000, 24, 2, 50),
}


def plant(
    shape: str | PlantedShape, num_samples: int, seed: int = 0, first: int = 0
) -> tuple[Any, Any]:
    """Draws samples [first, first + num_samples) of an endless sequence.

    Args:
        shape: A name of `SHAPES`, or a shape.
        num_samples: How many.
        seed: The seed of the structure and of the samples.
        first: The first sample; other samples of the same seed have the same structure.

    Returns:
        Features [num_samples, num_features] float32 and labels [num_samples, num_labels] float32,
        as SciPy's CSR matrices with sorted indices.

    Raises:
        OptionError: An argument is out of range.
    """
    from scipy.sparse import csr_matrix

    if isinstance(shape, str):
        check_option("shape", shape, SHAPES)
        shape = SHAPES[shape]
    if shape.num_features < 1 or shape.num_labels < 1:
        raise OptionError("shape must have features and labels.")
    seed, first = check_seed(seed), check_whole("first", first)
    count = check_whole("num_samples", num_samples, 1)
    sample = np.arange(first, first + count)
    labels = _draw_labels(shape, seed, sample)
    features, values = _draw_features(shape, seed, sample, labels)
    start = np.arange(count + 1)
    x = csr_matrix(
        (values.ravel(), features.ravel(), start * features.shape[1]), (count, shape.num_features)
    )
    x.sum_duplicates()
    norms = np.sqrt(np.asarray(x.multiply(x).sum(1)).ravel())
    x.data = (x.data / np.repeat(norms, np.diff(x.indptr))).astype(np.float32)
    ones = np.ones(labels.size, np.float32)
    y = csr_matrix((ones, labels.ravel(), start * labels.shape[1]), (count, shape.num_labels))
    y.sum_duplicates()
    y.data[:] = 1
    return x, y


def _draw_labels(shape: PlantedShape, seed: int, sample: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels [n, shape.labels], the main one first."""
    words = _words(seed, 0, sample, shape.labels)
    drawn = _popular(words[0], shape.num_labels, shape.head)
    group = drawn[:, :1] // GROUP * GROUP
    near = np.minimum(group + choose(words[1], GROUP), shape.num_labels - 1)
    from_group = choose(words[2], 2) == 1
    from_group[:, 0] = False
    return np.where(from_group, near, drawn)


def _draw_features(
    shape: PlantedShape, seed: int, sample: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Features [n, shape.features] and their values."""
    words = _words(seed, 1, sample, shape.features)
    more = _words(seed, 2, sample, shape.features)
    noise = _popular(words[0], shape.num_features, shape.head)
    chosen = np.take_along_axis(labels, choose(words[1], labels.shape[1]), 1)
    kind = choose(words[2], 4)  # 0 and 1: of the label, 2: of its group, 3: noise
    owner = np.where(kind < 2, chosen, chosen // GROUP)
    which = choose(words[3], OWN)
    purpose = Purpose.WIDE_PLANTED
    own = [
        choose(philox(seed, 3 + level, owner, purpose, which)[0], shape.num_features)
        for level in range(2)
    ]
    features = np.where(kind < 2, own[0], np.where(kind == 2, own[1], noise))
    return features, 0.5 + more[0] * 2.0**-32


def _popular(words: NDArray[np.uint64], count: int, head: int) -> NDArray[np.int64]:
    """Draws positions by popularity; ranks are scattered, so that neighbours differ."""
    sums = np.cumsum(1.0 / (np.arange(count) + head))
    rank = np.searchsorted(sums, words * 2.0**-32 * sums[-1], side="right")
    scattered: NDArray[np.int64] = np.minimum(rank, count - 1) * _scatter(count) % count
    return scattered


def _scatter(count: int) -> int:
    """A step that visits all positions before it comes back."""
    step = int(count * 0.6180339887498949) | 1
    while np.gcd(step, count) != 1:
        step += 2
    return step


def _words(seed: int, what: int, sample: NDArray[np.int64], count: int) -> NDArray[np.uint64]:
    """Words [4, n, count]."""
    words: NDArray[np.uint64] = philox(
        seed, what, sample[:, None], Purpose.WIDE_PLANTED, np.arange(count)[None, :]
    )
    return words
