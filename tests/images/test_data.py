"""Images from files: what is read, and what is refused in one line."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evonet.errors import EvonetError, FileFormatError, OptionError
from evonet.images.data import load_images


def write_png(path: Path, pixels: Any) -> None:
    """Writes a grey or coloured PNG file without any package."""
    array = np.asarray(pixels, np.uint8)
    kind = 0 if array.ndim == 2 else 2
    height, width = array.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in array)

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + name
            + data
            + struct.pack(">I", zlib.crc32(name + data) & 0xFFFFFFFF)
        )

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_an_npz_file_has_images_and_labels(tmp_path: Path) -> None:
    images = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    found = load_images(save(tmp_path / "a.npz", images=images, labels=np.array(["x", "y"])))
    np.testing.assert_array_equal(found.images, images[:, None])
    assert found.labels == ("x", "y")
    assert found.shape == (1, 3, 4)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((5, 8, 9), (1, 8, 9)),
        ((5, 3, 8, 9), (3, 8, 9)),
        ((5, 8, 9, 3), (3, 8, 9)),
        ((5, 2, 8, 9), (2, 8, 9)),
        ((5, 3, 3, 3), (3, 3, 3)),
    ],
)
def test_channels_may_come_first_or_last(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape)
    found = load_images((x, np.arange(5) % 2))
    assert found.shape == wanted
    if wanted != shape[1:] and len(shape) == 4:
        np.testing.assert_array_equal(found.images, x.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"images": np.zeros((2, 3)), "labels": [0, 1]}, "images must have shape [B, H, W]"),
        ({"images": np.zeros((0, 3, 3)), "labels": []}, "there is nothing in it"),
        ({"images": np.full((2, 3, 3), np.nan), "labels": [0, 1]}, "images[0, 0, 0, 0] = nan"),
        ({"images": np.full((2, 3, 3), "a"), "labels": [0, 1]}, "images must hold numbers"),
        ({"images": np.zeros((2, 3, 3)), "labels": [0, 1, 2]}, "labels must have shape [2]"),
        ({"images": np.zeros((2, 3, 3)), "labels": [0.5, 1]}, "whole numbers or text"),
        ({"images": np.zeros((2, 3, 3))}, "the array labels is missing"),
        ({"x": np.zeros((2, 3, 3))}, "the array images is missing"),
    ],
)
def test_a_bad_npz_file_is_refused_in_one_line(
    arrays: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = save(tmp_path / "bad.npz", **arrays)
    with pytest.raises(FileFormatError) as caught:
        load_images(path)
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 16, 1 << 13, 1)}
    )
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("images.npy", "w", force_zip64=True) as entry:
            entry.write(header.getvalue())
            block = bytes(1 << 20)
            for _ in range(512):
                entry.write(block)
        archive.writestr("labels.npy", b"")
    with pytest.raises(FileFormatError, match="its arrays claim"):
        load_images(path)


def test_other_things_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="must be a file, a folder"):
        load_images(3)
    with pytest.raises(OptionError, match=r"must be an .npz file, a folder"):
        load_images(str(tmp_path / "a.csv"))
    with pytest.raises(FileNotFoundError):
        load_images(str(tmp_path / "a.npz"))
    with pytest.raises(OptionError, match="data: images must have shape"):
        load_images((np.zeros(3), np.zeros(3)))


def test_digits_come_by_name() -> None:
    found = load_images("digits")
    assert found.shape == (1, 8, 8)
    assert set(found.labels) == set("0123456789")


# ---- folders of PNG files ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("PIL", reason="needs Pillow")
    for i in range(3):
        write_png(tmp_path / "pictures/ants" / f"{i}.png", np.full((4, 5), 10 * i))
        write_png(tmp_path / "pictures/bees" / f"{i}.PNG", np.full((4, 5), 200 + i))
    return tmp_path / "pictures"


def test_a_folder_has_a_folder_per_class(folder: Path) -> None:
    (folder / ".hidden").mkdir()
    (folder / "ants/notes.txt").write_text("no picture")
    found = load_images(folder)
    assert found.shape == (1, 4, 5)
    assert found.labels == ("ants",) * 3 + ("bees",) * 3
    assert found.images[:, 0, 0, 0].tolist() == [0, 10, 20, 200, 201, 202]
    assert found.names[0] == "ants/0.png"


def test_grey_images_become_coloured_beside_coloured_ones(folder: Path) -> None:
    write_png(folder / "ants/red.png", np.broadcast_to(np.uint8([255, 0, 0]), (4, 5, 3)))
    found = load_images(folder)
    assert found.shape == (3, 4, 5)
    assert found.images[1, :, 0, 0].tolist() == [10, 10, 10]
    assert found.images[3, :, 0, 0].tolist() == [255, 0, 0]


def test_images_without_classes_may_be_one_file_or_a_plain_folder(folder: Path) -> None:
    found = load_images(folder / "bees", labels=False)
    assert found.labels == ()
    assert found.names == ("0.PNG", "1.PNG", "2.PNG")
    assert load_images(folder / "ants/1.png", labels=False).images.max() == 10


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:48])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda f: write_png(f / "bees/9.png", np.zeros((4, 6))),
            "9.png: has 6 x 4 pixels, and 0.",
        ),
        (lambda f: (f / "cats").mkdir(), "cats: holds no PNG files, so that this class is empty"),
        (lambda f: (f / "bees/9.png").write_bytes(b"GIF89a"), "9.png: this is not a PNG file"),
        (lambda f: _truncate(f / "bees/1.PNG"), "1.PNG: this is not a PNG file"),
    ],
)
def test_a_bad_folder_is_refused_in_one_line(folder: Path, spoil: Any, words: str) -> None:
    spoil(folder)
    with pytest.raises(EvonetError) as caught:
        load_images(folder)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_needs_two_classes(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"has 0 folders. Expected a folder of PNG files"):
        load_images(tmp_path)


def test_a_png_bomb_is_not_unpacked(folder: Path) -> None:
    path = folder / "ants/bomb.png"
    write_png(path, np.zeros((1, 1)))
    data = bytearray(path.read_bytes())
    data[16:24] = struct.pack(">II", 60000, 60000)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    path.write_bytes(bytes(data))
    with pytest.raises(FileFormatError, match=r"bomb.png: this is not a PNG file"):
        load_images(folder)
