"""What TensorBoard is told is what the records say."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evonet.errors import OptionError
from evonet.evolution.callbacks import GenerationRecord
from evonet.evolution.tensorboard import TensorBoardWriter
from evonet.runs.loop import evolve
from evonet.tasks import xor
from tests.support.evolution_cases import xor_config


def events(folder: Path) -> Iterator[Any]:
    """Reads event files: a length, its checksum, an event, its checksum, and so on."""
    from tensorboardX.proto.event_pb2 import Event

    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack_from("<Q", data)
            yield Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]


def test_every_generation_is_written(tmp_path: Path) -> None:
    records: list[GenerationRecord] = []
    evolve(
        xor(),
        xor_config(12),
        generations=4,
        callbacks=[TensorBoardWriter(tmp_path), records.append],
    )
    found: dict[str, dict[int, float]] = {}
    for event in events(tmp_path):
        for value in event.summary.value:
            found.setdefault(value.tag, {})[event.step] = value.simple_value
    best = next(series for tag, series in found.items() if tag.startswith("fitness/best"))
    assert sorted(best) == [0, 1, 2, 3]
    for record in records:
        assert best[record.generation] == pytest.approx(record.best)
    assert found["algorithm/num_species"][3] == records[3].details["num_species"]
    assert len(found) == 16


def test_without_the_package_the_fix_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(OptionError, match=r"pip install 'evonet-gpu\[tensorboard\]'"):
        TensorBoardWriter(tmp_path)
