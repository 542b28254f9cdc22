"""Wide levels on imaginary GPUs: the bits of the cpu, checked accesses, PTX and budgets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evonet import OptionError, WideClassifier
from evonet.backends.cuda import compiler
from evonet.backends.reference.wide import ReferenceWide
from evonet.backends.wide import resolve_wide
from evonet.backends.wide_cpu import CpuWide
from evonet.backends.wide_level import Buckets, Level
from evonet.learning.wide.training import WideModel
from tests.backends.cuda.test_compile import ARCHS, why_missing
from tests.cupy_stand_in import Machine
from tests.learning.wide import cases
from tests.support.ptx_rules import find_faults

Lend = Callable[..., Machine]
# Registers that leave four blocks of 256 threads, or eight of 128, to a multiprocessor.
KERNELS = {
    "wide_active": 64,
    "wide_build": 64,
    "wide_forward": 64,
    "wide_hash": 64,
    "wide_logits": 64,
    "wide_mark": 64,
    "wide_sum": 64,
    "wide_top": 64,
    "wide_update": 64,
}
# More active classes than a row has lanes, so that threads read what others wrote.
TINY = {"num_inputs": 12, "num_classes": 90, "tables": 4, "hidden": 20, "minimum": 40, "limit": 30}


@pytest.mark.parametrize("kind", cases.KINDS, ids=lambda kind: kind["hash"])
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_gpus_give_the_bits_of_the_cpu(
    kind: dict[str, Any], order: str, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.order = order
    chosen = cases.settings(**{**TINY, **kind})
    model, expected = WideModel(chosen, resolve_wide("cuda")), WideModel(chosen, CpuWide(1))
    assert model.kernels.name == "cuda"
    assert cases.train(model, 5, 5) == cases.train(expected, 5, 5)
    assert cases.contents(model) == cases.contents(expected)
    batch = cases.make_batch(chosen, 7, np.random.default_rng(4))
    found, wanted = (m.kernels.top(m.hidden_rows(batch), m.outputs, 4) for m in (model, expected))
    for a, b in zip(found, wanted, strict=True):
        assert a.tobytes() == b.tobytes()
    assert {*machine.launches} >= set(KERNELS)


@pytest.mark.parametrize("kind", cases.KINDS, ids=lambda kind: kind["hash"])
def test_no_thread_reads_or_writes_what_it_should_not(
    kind: dict[str, Any], imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    machine.mode = "checked"
    chosen = cases.settings(**{**TINY, **kind, "hidden": 150, "rebuild": 1})
    model = WideModel(chosen, resolve_wide("cuda"))
    cases.train(model, 2, 3)
    batch = cases.make_batch(chosen, 2, np.random.default_rng(4))
    model.kernels.top(model.hidden_rows(batch), model.outputs, 3)


@pytest.mark.parametrize("keep_last", [False, True])
def test_full_buckets_keep_the_same_rows(keep_last: bool, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.order = "random"
    codes = np.random.default_rng(1).integers(0, 3, (2, 700)).astype(np.int32)
    rule = Buckets(3, 20, keep_last)
    kernels = resolve_wide("cuda")
    found = kernels.build(kernels.put(codes), rule, 5, 6)
    expected = CpuWide().build(codes, rule, 5, 6)
    np.testing.assert_array_equal(kernels.get(found.starts), expected.starts)
    np.testing.assert_array_equal(kernels.get(found.ids)[:, :60], expected.ids[:, :60])


def test_of_equal_logits_the_first_class_wins(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    arrays = [np.zeros((40, width), np.float32) for width in (16, 16, 16, 4)]
    arrays[3][[7, 21, 30], 0] = 1  # equal biases
    for kernels in (ReferenceWide(), CpuWide(), resolve_wide("cuda")):
        level = Level(*(kernels.put(each) for each in arrays))
        ids, _ = kernels.top(kernels.put(np.ones((2, 16), np.float32)), level, 5)
        assert ids.tolist() == [[7, 21, 30, 0, 1]] * 2


def test_a_classifier_trains_on_a_gpu(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int) + 2 * (x[:, 1] > 0)
    options: dict[str, Any] = {"hidden": 16, "epochs": 2, "batch": 20}
    made = [WideClassifier(backend=name, **options).fit(x, y) for name in ("cuda", "cpu")]
    np.testing.assert_array_equal(*(each.top(x, 3)[1] for each in made))


def test_more_active_classes_than_a_block_sorts_are_refused(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    chosen = cases.settings(**{**TINY, "limit": 9000})
    with pytest.raises(OptionError, match="Lower limit"):
        cases.train(WideModel(chosen, resolve_wide("cuda")), 1)


@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_arithmetic_and_resources(kernel: str, arch: str) -> None:
    compiled = compiler.compile_kernel(kernel, {}, arch)
    assert compiled.cubin[:4] == b"\x7fELF"
    assert find_faults(compiled.ptx, "float", counts=True) == []
    assert "warning" not in compiled.log, compiled.log
    assert re.search(
        r"\b0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", compiled.log
    )
    registers = int(re.findall(r"Used (\d+) registers", compiled.log)[0])
    assert registers <= KERNELS[kernel]
