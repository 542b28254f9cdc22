"""The text format of the extreme classification repository, read natively and checked.

3 10 5               samples, features, labels
0,4 1:0.5 7:0.25     labels, then feature:value; a sample without labels starts with a space
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from evonet.errors import FileFormatError
from evonet.files.atomic import open_atomic
from evonet.files.regular import read_bytes
from evonet.installation import load_native
from evonet.learning.wide.text_reference import read_text

MOST_BYTES = 1 << 40


def read_xmc(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Reads samples and their labels.

    Args:
        path: The file.

    Returns:
        Features [n, F] and labels [n, C] float32, as SciPy's CSR matrices.

    Raises:
        FileFormatError: The file is not in the format; names the line.
        OSError: It cannot be read.
    """
    from scipy.sparse import csr_matrix

    where = os.fspath(path)
    text = read_bytes(path, MOST_BYTES)
    if not text:
        raise FileFormatError(f"{where}: the file is empty.")
    native = load_native()
    found = read_text(text, where) if native is None else native.read_xmc(text, where)
    num_features, num_labels, start, features, values, label_start, labels = found
    count = len(start) - 1
    x = csr_matrix((values, features, start), (count, num_features))
    y = csr_matrix((np.ones(len(labels), np.float32), labels, label_start), (count, num_labels))
    return x, y


def write_xmc(path: str | os.PathLike[str], x: Any, y: Any) -> None:
    """Writes samples and their labels, from which `read_xmc` reads the same bits.

    Args:
        path: The file to replace or create.
        x: Features [n, F], SciPy's CSR.
        y: Labels [n, C], likewise.

    Raises:
        OSError: It cannot be written.
    """
    x, y = x.tocsr(), y.tocsr()
    with open_atomic(path) as file:
        file.write(f"{x.shape[0]} {x.shape[1]} {y.shape[1]}\n".encode())
        for i in range(x.shape[0]):
            labels = ",".join(map(str, y.indices[y.indptr[i] : y.indptr[i + 1]].tolist()))
            part = slice(x.indptr[i], x.indptr[i + 1])
            pairs = zip(x.indices[part].tolist(), x.data[part], strict=True)
            words = [labels, *(f"{column}:{np.float32(value)!s}" for column, value in pairs)]
            file.write((" ".join(words) + "\n").encode())
