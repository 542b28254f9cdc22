"""Every list stands in one place: C++ includes it, Python reads it, nothing repeats it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import evonet
from evonet.backends.reference import expressions as reference_expressions
from evonet.definitions.controls import CONTROLS
from evonet.definitions.dynamics import KINDS
from evonet.definitions.reader import read_list
from evonet.errors import EvonetError
from evonet.functions.expressions import cuda_source, derivative, program, steps
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS, LOSSES
from evonet.genes.arrays import ARRAYS, CONNECTION_ARRAYS, NODE_ARRAYS
from evonet.genes.rules import genome_rules
from evonet.installation import require_native, resource_folder
from evonet.numerics.philox import Purpose
from tests.simt.samples import needs_compiler

KERNELS = resource_folder("kernels")
PACKAGE = Path(evonet.__file__).parent
LISTS = {
    "nodes/functions.def": ("ACTIVATION", "FOLD", "AGGREGATION", "LOSS"),
    "genetics/population.def": ("OFFSETS", "NODE_GENE", "CONNECTION_GENE", "CONNECTION_ORDER"),
    "control/controls.def": ("CONTROL",),
}


def source(name: str) -> str:
    return (KERNELS / name).read_text()


def enumerators(name: str, enum: str, prefix: str) -> dict[str, int]:
    """Names and values of an enum in a header, without what counts them."""
    body = re.sub(r"//.*", "", source(name).split(f"enum {enum} ")[1].split("{", 1)[1])
    found: dict[str, int] = {}
    for entry in body.split("}", 1)[0].split(","):
        word, _, value = (part.strip() for part in entry.partition("="))
        if word.startswith(prefix):
            found[word.removeprefix(prefix)] = (
                int(value) if value else max(found.values(), default=-1) + 1
            )
    return found


# ---- what C++ includes is what Python reads ----


@needs_compiler
@pytest.mark.parametrize("name", LISTS)
def test_a_compiler_sees_the_entries_that_python_reads(name: str) -> None:
    # Without the formulas, which a list of tasks includes.
    text = re.sub(r'#include ".*"', "", source(name))
    macros = [f"-DEVONET_{kind}(...)=<{kind.lower()}|__VA_ARGS__>" for kind in LISTS[name]]
    seen = subprocess.run(
        ["g++", "-E", "-P", "-x", "c++", *macros, "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = [
        (kind, [quoted or word for quoted, word in re.findall(r'"([^"]*)"|([^\s",]+)', arguments)])
        for kind, arguments in re.findall(r'<(\w+)\|((?:[^">]|"[^"]*")*)>', seen)
    ]
    for kind in LISTS[name]:
        wanted = [list(entry) for entry in read_list(name, kind.lower())]
        assert [arguments for known, arguments in found if known == kind.lower()] == wanted
    assert {kind for kind, _ in found} == {kind.lower() for kind in LISTS[name]}


def test_functions_are_those_of_the_list() -> None:
    entries = read_list("nodes/functions.def", "activation", "aggregation", "fold", "loss")
    assert [(f.name, f.formula) for f in (*ACTIVATIONS, *AGGREGATIONS, *LOSSES)] == [
        (name, formula) for _, name, formula in entries
    ]
    assert all(constant == name.upper() for constant, name, _ in entries)


def test_control_tasks_are_those_of_the_list_and_of_the_extension() -> None:
    assert [control.name for control in CONTROLS] == [
        name for name, *_ in read_list("control/controls.def", "control")
    ]
    assert require_native().controls() == [
        (c.name, c.state_size, c.num_inputs, c.num_outputs, c.max_steps) for c in CONTROLS
    ]


def test_arrays_of_a_population_are_those_of_the_list_everywhere() -> None:
    assert ARRAYS == {
        "node_start": "int64",
        **NODE_ARRAYS,
        "conn_start": "int64",
        **CONNECTION_ARRAYS,
    }
    parts = ["num_inputs", "num_outputs", *ARRAYS, "distant"]
    assert list(evonet.Population.__annotations__) == parts
    types = {"int64": np.int64, "uint8": np.uint8, "int32": np.int32, "bool": np.bool_}
    hints = get_type_hints(evonet.Population)
    for name, kind in ARRAYS.items():
        assert kind == "real" or types[kind].__name__ in str(hints[name])
    described = re.findall(r"^        (\w+): ", evonet.Population.__doc__ or "", re.MULTILINE)
    assert described == parts


def test_the_extension_breeds_the_arrays_of_the_list() -> None:
    native = require_native()
    config = evonet.Config.load(resource_folder("configs") / "xor.toml")
    parents = evonet.NEAT(config, seed=1).ask()
    some = np.arange(5)
    arrays, _, _ = native.breed32(
        parents, some, some, genome_rules(config), 1, 1, 100, 100, 1, native.simd_levels()[0]
    )
    assert {name: str(array.dtype) for name, array in arrays.items()} == {
        name: "float32" if kind == "real" else kind for name, kind in ARRAYS.items()
    }


# ---- short lists that stand in a header and in Python ----


def test_kinds_of_networks_are_those_of_the_kernels() -> None:
    ids = enumerators("nodes/cells.h", "Kind", "KIND_")
    assert [name.lower() for name in ids] == [kind.name for kind in KINDS]
    cells = re.findall(
        r"struct (\w+)Cell \{\s*static constexpr int kStates = (\d), kParameters = (\d);",
        source("nodes/cells.h"),
    )
    assert [(name.lower(), int(states), int(parameters)) for name, states, parameters in cells] == [
        (kind.name, len(kind.states), len(kind.parameters)) for kind in KINDS
    ]


def test_purposes_of_draws_are_those_of_the_kernels() -> None:
    assert enumerators("numerics/philox.h", "Purpose", "FOR_") == {
        purpose.name: purpose.value for purpose in Purpose
    }


def test_operations_of_programs_are_those_of_the_kernels() -> None:
    operations = [name.lower() for name in enumerators("native/program.h", "Operation", "OP_")]
    assert operations == list(program.OPERATIONS)
    constants = dict(re.findall(r"constexpr int (k\w+) = (\d+);", source("native/program.h")))
    assert {name: int(value) for name, value in constants.items()} == {
        "kNumRegisters": program.NUM_REGISTERS,
        "kFirstConstant": program.FIRST_CONSTANT,
        "kMostPasses": derivative.MOST_PASSES,
    }


def test_every_backend_knows_every_operation() -> None:
    numbers = {"copy", *steps.UNARY, *steps.BINARY, "if"}
    cases = re.findall(r"case OP_(\w+):", source("native/program_rows.h"))
    assert {case.lower() for case in cases} == numbers
    for known in (cuda_source._FORMS, reference_expressions._TAKE):
        assert set(known) == numbers - {"copy"}
    for known in (cuda_source._JOINS, reference_expressions._JOIN):
        assert set(known) == set(steps.REDUCTIONS)


# ---- nothing repeats a list ----


def files_with_all(names: Iterable[str]) -> set[str]:
    """Sources in which every name occurs as a word, in any case; prefixes such as ACT_ count."""
    words = [re.compile(rf"(?<![A-Za-z]){name}(?![A-Za-z])", re.IGNORECASE) for name in names]
    paths = [path for path in KERNELS.rglob("*") if path.suffix in (".h", ".cpp", ".cu")]
    paths += PACKAGE.rglob("*.py")
    found = set[str]()
    for path in paths:
        text = path.read_text()
        if all(word.search(text) for word in words):
            found.add(str(path.relative_to(KERNELS if KERNELS in path.parents else PACKAGE)))
    return found


TWINS = ("backends/reference/functions.py", "backends/reference/derivatives.py")


@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        # The formulas, their slopes, and the NumPy twins of both.
        (ACTIVATIONS, {"nodes/activations.h", "nodes/derivatives.h", *TWINS}),
        (AGGREGATIONS, {"nodes/aggregations.h", "nodes/derivatives.h", *TWINS}),
        # What reports call inputs and outputs.
        (CONTROLS, {"report/names.py"}),
    ],
    ids=["activations", "aggregations", "controls"],
)
def test_no_other_file_enumerates_the_names(names: Any, allowed: set[str]) -> None:
    assert files_with_all(named.name for named in names) == allowed


def test_no_kernel_but_the_loss_enumerates_losses() -> None:
    found = files_with_all(f"loss_{loss.name}" for loss in LOSSES)
    assert found == {"nodes/loss.h"}


# ---- the reader ----


def test_a_missing_list_asks_for_a_new_installation() -> None:
    with pytest.raises(EvonetError, match=r"cannot read .*nothing\.def.*Reinstall evonet"):
        read_list("nodes/nothing.def", "activation")


def test_a_list_without_the_entries_asks_for_a_new_installation() -> None:
    with pytest.raises(EvonetError, match=r"functions\.def has no entries of .*Reinstall evonet"):
        read_list("nodes/functions.def", "inhibition")
