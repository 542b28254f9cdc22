"""The text format in plain Python: the oracle and the fallback of kernels/native/xmc_text.cpp."""

from __future__ import annotations

import re
from typing import Any, NoReturn

import numpy as np

from evonet.errors import FileFormatError
from evonet.messages import name as quoted

_WHOLE = re.compile(rb"[0-9]+")
_NUMBER = re.compile(rb"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
MOST = 2147483646


def read_text(text: bytes, where: str) -> tuple[Any, ...]:
    """Reads a whole text; see `evonet._native.read_xmc`.

    Raises:
        FileFormatError: The text is not in the format; names the line.
    """
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    reader = _Reader(where)
    samples, num_features, num_labels = reader.header(lines[0])
    start, label_start = [0], [0]
    features: list[int] = []
    values: list[float] = []
    labels: list[int] = []
    for i in range(samples):
        if i + 1 >= len(lines):
            reader.fail(f"the file ends after {i} samples, and its first line promises {samples}")
        reader.line += 1
        own, rest = reader.labels(lines[i + 1].removesuffix(b"\r"), num_labels)
        labels += own
        found = reader.features(rest, num_features)
        features += [column for column, _ in found]
        values += [value for _, value in found]
        start.append(len(features))
        label_start.append(len(labels))
    for line in lines[samples + 1 :]:
        reader.line += 1
        if line.strip(b" \t\r"):
            reader.fail(f"there are more samples than the {samples} that the first line promises")
    return (
        num_features,
        num_labels,
        np.array(start, np.int64),
        np.array(features, np.int32),
        np.array(values, np.float32),
        np.array(label_start, np.int64),
        np.array(labels, np.int32),
    )


class _Reader:
    """Reads parts of lines, and knows which line it is."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.line = 1

    def fail(self, what: str) -> NoReturn:
        raise FileFormatError(f"{self.where}, line {self.line}: {what}.")

    def whole(self, word: bytes, what: str, end: int) -> int:
        if not _WHOLE.fullmatch(word):
            self.fail(f"expected {what}, found {quoted(word.decode(errors='replace'))}")
        if len(word) > 19 or int(word) >= end:
            self.fail(f"{what} {quoted(word.decode())} is out of range. Expected 0 to {end - 1}")
        return int(word)

    def header(self, line: bytes) -> tuple[int, int, int]:
        words = re.split(rb"[ \t]+", line.removesuffix(b"\r").strip(b" \t"))
        if len(words) != 3:
            self.fail("expected three numbers: samples, features and labels")
        samples, features, labels = (
            self.whole(word, f"the number of {what}", MOST)
            for word, what in zip(words, ("samples", "features", "labels"), strict=True)
        )
        if 0 in (samples, features, labels):
            self.fail("a number of samples, features or labels is 0")
        return samples, features, labels

    def labels(self, line: bytes, end: int) -> tuple[list[int], bytes]:
        if not line or line[:1] in b" \t":
            return [], line
        first, *rest = re.split(rb"[ \t]", line, maxsplit=1)
        found = sorted(self.whole(word, "a label", end) for word in first.split(b","))
        if len(set(found)) < len(found):
            self.fail("a label appears twice")
        return found, b"".join(rest)

    def features(self, text: bytes, end: int) -> list[tuple[int, float]]:
        found: dict[int, float] = {}
        for word in re.split(rb"[ \t]+", text.strip(b" \t")):
            if not word:
                continue
            column, colon, value = word.partition(b":")
            feature = self.whole(column, "a feature", end)
            if not colon:
                self.fail("expected feature:value, found no colon")
            if feature in found:
                self.fail(f"feature {feature} appears twice")
            number = np.float32(value) if _NUMBER.fullmatch(value) else np.float32(np.nan)
            if not np.isfinite(number):
                self.fail(
                    f"expected a finite number, found {quoted(value.decode(errors='replace'))}"
                )
            found[feature] = float(number)
        return sorted(found.items())
