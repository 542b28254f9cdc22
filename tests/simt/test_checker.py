"""The checker finds every planted bug, by kind and line, and nothing in the repaired twins."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import simt
from tests.simt.samples import ORDERS, needs_compiler

PLANTED = Path(simt.__file__).parent / "planted"
pytestmark = needs_compiler


@dataclass
class Bug:
    """A kernel with a fault, as its source tells it."""

    name: str
    file: Path
    kinds: set[str]
    lines: set[int]


def planted_bugs() -> list[Bug]:
    """Reads all marks; one outside of a kernel, in a function, counts for the next kernel."""
    bugs = []
    for file in sorted(PLANTED.glob("*.cu")):
        kinds: set[str] = set()
        lines: set[int] = set()
        name = ""
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if found := re.search(r"__global__ void (\w+)\(", line):
                name = found[1]
            if found := re.search(r"// BUG: (.+)", line):
                kinds.update(found[1].split(" or "))
                lines.add(number)
            if line == "}" and name:
                if kinds:
                    bugs.append(Bug(name, file, kinds, lines))
                kinds, lines, name = set(), set(), ""
    return bugs


# How to launch: grid, block, bytes of dynamic shared memory, then the arguments by name: the number
# of elements of an array, its values, a scalar, or None for a null pointer.
LAUNCHES: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    # shared_races.cu
    "missing_barrier": (1, 64, 0, {"x": 64, "out": 64}),
    "reduction_without_barrier": (1, 64, 0, {"x": 64, "out": 1}),
    "one_buffer_for_two": (1, 64, 0, {"x": 64, "out": 64}),
    "double_buffer_not_switched": (1, 64, 0, {"x": 64, "out": 64}),
    "tile_overwritten_too_early": (1, 32, 0, {"x": 128, "out": 32}),
    "warp_without_syncwarp": (1, 32, 0, {"x": 32, "out": 32}),
    "shuffle_is_no_fence": (1, 32, 0, {"x": 32, "out": 32}),
    "written_after_a_vote": (1, 32, 0, {"x": 32, "out": 32}),
    "syncwarp_for_two_warps": (1, 64, 0, {"x": 64, "out": 64}),
    "half_of_the_warp_synchronised": (1, 32, 0, {"x": 32, "out": 32}),
    "flag_written_by_many": (1, 64, 0, {"x": 64, "out": 1}),
    "counter_read_too_early": (1, 64, 0, {"out": 1}),
    "race_inside_a_function": (1, 64, 128, {"x": 64, "out": 64}),
    # global_races.cu
    "sum_without_atomics": (1, 64, 0, {"x": 64, "out": 1}),
    "sum_over_blocks": (4, 64, 0, {"x": 4, "out": 1}),
    "reads_a_neighbour_block": (4, 32, 0, {"x": 128, "y": 128, "out": 128}),
    "stencil_in_place": (1, 64, 0, {"x": 64, "n": 64}),
    "atomics_and_a_plain_write": (2, 32, 0, {"count": 1, "out": 64}),
    "last_block_without_fence": (5, 32, 0, {"x": 5, "part": 5, "count": 1, "out": 1}),
    "fence_too_early": (5, 32, 0, {"x": 5, "part": 5, "count": 1, "out": 1}),
    "fence_of_another_thread": (5, 32, 0, {"x": 5, "part": 5, "count": 1, "out": 1}),
    "scratch_without_barrier": (2, 64, 0, {"x": 128, "scratch": 128, "out": 128}),
    "bytes_through_words": (1, 32, 0, {"bytes": 32}),
    "ticket_without_atomics": (3, 32, 0, {"out": 3}),
    # bounds.cu
    "off_by_one": (2, 32, 0, {"n": 50, "x": 50, "out": 50}),
    "reads_past_the_end": (2, 32, 0, {"n": 50, "x": 50, "out": 50}),
    "reads_before_the_begin": (2, 32, 0, {"n": 50, "x": 50, "out": 50}),
    "index_overflows": (1, 32, 0, {"n": 20, "x": 50, "out": 50}),
    "null_pointer": (1, 32, 0, {"n": 20, "optional": None, "out": 50}),
    "vector_reads_past_the_end": (1, 32, 0, {"n": 30, "x": 30, "out": 32}),
    "misaligned_vector": (1, 32, 0, {"x": 256, "out": 32}),
    "dynamic_shared_too_small": (1, 32, 64, {"x": 32, "out": 32}),
    "fills_beyond_a_shared_array": (1, 32, 0, {"out": 32}),
    "shared_index_too_large": (1, 32, 0, {"x": 32, "out": 32}),
    "column_beyond_the_row": (1, 32, 0, {"x": 32, "out": 32}),
    "local_index_too_large": (1, 32, 0, {"n": 4, "out": 32}),
    "copies_too_much": (1, 32, 0, {"x": 32, "out": 1}),
    "writes_its_input": (1, 32, 0, {"x": 32, "out": 32}),
    "writes_a_constant": (1, 32, 0, {"out": 32}),
    # barriers.cu
    "barrier_on_both_sides": (1, 64, 0, {"x": 64, "out": 64}),
    "returns_before_the_barrier": (1, 64, 0, {"n": 40, "x": 40, "out": 40}),
    "barrier_for_some": (1, 64, 0, {"x": 64, "out": 64}),
    "loops_of_different_length": (1, 64, 0, {"count": np.arange(64) % 3, "out": 64}),
    "barrier_and_shuffle_wait_for_each_other": (1, 32, 0, {"out": 32}),
    "waits_for_a_thread_that_waits": (1, 32, 0, {"flag": 1}),
    # warps.cu
    "mask_lacks_the_caller": (1, 32, 0, {"out": 32}),
    "full_mask_in_a_branch": (1, 32, 0, {"out": 32}),
    "lanes_that_left": (1, 32, 0, {"out": 32}),
    "shuffle_from_a_stranger": (1, 32, 0, {"out": 32}),
    "different_intrinsics": (1, 32, 0, {"out": 32}),
    "width_is_no_power_of_two": (1, 32, 0, {"out": 32}),
    # uninitialised.cu
    "reads_what_nobody_wrote": (1, 64, 0, {"n": 40, "x": 40, "out": 64}),
    "counts_from_anything": (2, 64, 0, {"x": 64, "out": 2}),
    "only_the_first_block_prepares": (2, 64, 256, {"x": 64, "out": 128}),
    # arithmetic.cu
    "shifts_too_far": (1, 64, 0, {"out": 64}),
    "float_too_large_for_int": (1, 64, 0, {"x": 64, "out": 64}),
    "divides_by_zero": (1, 64, 0, {"out": 64}),
    "fails_an_assertion": (1, 64, 0, {"n": 40, "out": 64}),
    "runs_into_a_trap": (1, 64, 0, {"n": 40, "out": 64}),
}
BUGS = planted_bugs()


@functools.cache
def module(file: Path) -> simt.Module:
    return simt.compile(file, mode="checked")


def findings(bug: Bug, order: str, twin: str = "") -> list[simt.Finding]:
    """Launches a planted kernel or its repaired twin."""
    grid, block, shared, given = LAUNCHES[bug.name]
    kernel = module(bug.file).get_function(bug.name + twin)
    args = []
    for parameter in kernel.parameters:
        value = given[parameter.name]
        dtype = np.dtype(f"{parameter.kind}{parameter.scalar_size}")
        if not parameter.is_pointer:
            args.append(dtype.type(value))
        elif value is None:
            args.append(np.intp(0))
        elif isinstance(value, np.ndarray):
            args.append(value.astype(dtype))
        else:
            mixed = np.linspace(-1, 1, value, dtype=dtype) if dtype.kind == "f" else None
            args.append(np.zeros(value, dtype) if mixed is None else mixed)
    timeout = 0.2 if "timeout" in bug.kinds and not twin else 60.0
    try:
        kernel((grid,), (block,), args, shared_mem=shared, order=order, seed=7, timeout=timeout)
    except simt.KernelFault as fault:
        return fault.findings
    return []


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found(bug: Bug, order: str) -> None:
    found = findings(bug, order)
    right = [finding for finding in found if finding.kind in bug.kinds]
    assert right, found
    assert {finding.location.file.split("/")[-1] for finding in right} == {bug.file.name}
    if any(kind.endswith("race") for kind in bug.kinds):
        assert any(finding.lines == bug.lines for finding in right), found
    assert all(finding.lines <= bug.lines for finding in right), found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_its_repaired_twin_is_clean(bug: Bug, order: str) -> None:
    assert findings(bug, order, twin="_repaired") == []


def test_all_planted_kernels_are_launched() -> None:
    names = {name for file in PLANTED.glob("*.cu") for name in module(file).kernel_names}
    assert names == {bug.name + twin for bug in BUGS for twin in ("", "_repaired")}
    assert len(BUGS) == len(LAUNCHES)
