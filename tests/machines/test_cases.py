"""The cases that are compared between machines: equal at all SIMD levels of this one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from evonet import _native
from tests.machines import case_file
from tests.machines.cases import all_cases

HARNESS = Path(__file__).with_name("harness.cpp")


def test_every_simd_level_has_the_same_bits() -> None:
    for case in all_cases():
        found = [
            {name: array.tobytes() for name, array in case.run(simd).items()}
            for simd in _native.simd_levels()
        ]
        assert all(results == found[0] for results in found), case.name
        assert any(found[0].values()), case.name


def test_the_harness_knows_every_operation() -> None:
    known = re.findall(r'\{"(\w+)", \w+<float>', HARNESS.read_text())
    assert known == list(dict.fromkeys(case.name.split("/")[0] for case in all_cases()))


def test_files_hold_every_byte(tmp_path: Path) -> None:
    cases = {
        "a/f32/1": {"x": np.arange(3, dtype=np.float32), "none": np.zeros(0, np.int64)},
        "b/f64/2": {"y": np.array([[10, 13, 32], [0, 255, 1]], np.uint8)},
    }
    case_file.write(tmp_path / "cases", cases)
    expected = {
        case: {name: array.tobytes() for name, array in arrays.items()}
        for case, arrays in cases.items()
    }
    assert case_file.read(tmp_path / "cases") == expected
