"""NPZ files that are damaged, or that claim more than they hold: one clear error each."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evonet.errors import FileFormatError
from evonet.files import npz
from evonet.tasks.data import read_examples


def array_file(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An array file with any header."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(2, "little") + text + data


def shape(text: str, dtype: str = "<f8") -> str:
    return f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {text}}}"


def archive(path: Path, x: bytes, y: bytes | None = None, method: int = zipfile.ZIP_STORED) -> None:
    good = io.BytesIO()
    np.save(good, np.ones(2))
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("x.npy", x)
        file.writestr("y.npy", good.getvalue() if y is None else y)


def unterminated(path: Path) -> None:
    np.savez(path, x=np.ones((50, 2)), y=np.ones(50))
    path.write_bytes(path.read_bytes()[:-40])


def encrypted(path: Path) -> None:
    np.savez(path, x=np.ones((2, 2)), y=np.ones(2))
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(signature, at + 4)
    path.write_bytes(data)


def plain_npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.ones((2, 2)))


FAULTS: dict[str, Callable[[Path], None]] = {
    "empty": lambda path: path.write_bytes(b"") and None,
    "unterminated": unterminated,
    "encrypted": encrypted,
    "plain npy": plain_npy,
    "huge shape": lambda path: archive(path, array_file(shape("(1000000000, 1000000000)"))),
    "overflowing shape": lambda path: archive(path, array_file(shape(f"({2**62}, 4)"))),
    "negative shape": lambda path: archive(path, array_file(shape("(-2, -4)"), bytes(64))),
    "many dimensions": lambda path: archive(path, array_file(shape(f"({'1,' * 70})"), bytes(8))),
    "no shape": lambda path: archive(path, array_file("{}")),
    "nested header": lambda path: archive(path, array_file("[" * 100)),
    "newer version": lambda path: archive(path, array_file(shape("(2, 1)"), bytes(16), (9, 0))),
    "objects": lambda path: archive(path, array_file(shape("(2,)", "|O"), bytes(16))),
    "too few bytes": lambda path: archive(path, array_file(shape("(2, 2)"), bytes(31))),
    "text beyond Unicode": lambda path: archive(
        path, array_file(shape("(2, 2)"), bytes(32)), array_file(shape("(2,)", "<U1"), b"\xff" * 8)
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_npz_file_is_refused_by_name(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    FAULTS[fault](path)
    with pytest.raises(FileFormatError, match="this is not an NPZ file of plain arrays") as error:
        read_examples(path, None, classes=fault == "text beyond Unicode")
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).isprintable()
    assert len(str(error.value)) < len(str(path)) + 200


def test_an_archive_that_unpacks_to_far_more_than_its_length_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, x=np.zeros((1 << 20, 1)), y=np.zeros(1 << 20))
    assert len(read_examples(path, None, classes=False).x) == 1 << 20
    monkeypatch.setattr(npz, "PLAIN_BYTES", 1 << 20)
    with pytest.raises(FileFormatError, match=r"its arrays claim 16,777,\d+ bytes"):
        read_examples(path, None, classes=False)


def test_arrays_by_column_and_of_other_byte_orders_are_read(tmp_path: Path) -> None:
    x = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    np.savez_compressed(tmp_path / "table.npz", x=x, y=np.arange(4).astype(">i2"))
    read = read_examples(tmp_path / "table.npz", None, classes=False)
    assert read.x.tolist() == x.tolist()
    assert read.y.tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize("name", ["table.npz", "table.csv"])
def test_a_pipe_is_no_table(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="Expected a regular file"):
        read_examples(tmp_path / name, None, classes=False)


def test_numbers_beyond_float32_are_refused_by_place(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3e38,4\n-4e38,4\n")
    with pytest.raises(FileFormatError, match=r"x\[2, 0\] = -4e\+38 is beyond .* float32"):
        read_examples(path, None, classes=False)


def test_as_many_classes_as_samples_are_no_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "table.npz", x=np.zeros((20_000, 1)), y=np.arange(20_000))
    with pytest.raises(FileFormatError, match="20,000 different classes in 20,000 samples"):
        read_examples(tmp_path / "table.npz", None, classes=True)
