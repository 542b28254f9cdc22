"""Counts instructions of compiled kernels: the machine code of loops, by way of nvdisasm.

Needs `pip install nvidia-cuda-nvdisasm`, or a CUDA toolkit, but no GPU.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import site
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evonet.backends.cuda import compiler
from evonet.backends.cuda.nvrtc import compile_source
from evonet.functions.registry import ACTIVATION_IDS

# Products that an instruction adds up; a FFMA2 of newer architectures does two, and float64 adds
# after multiplying.
PRODUCTS = {"FFMA": 1, "FFMA2": 2, "DADD": 1}
MOST_CODE = 200  # instructions of a loop over links


ACTIVATION_KERNEL = """
#include "nodes/activations.h"
extern "C" __global__ void alone(const REAL* x, REAL* y) {
  REAL z[4];
  for (int k = 0; k < 4; ++k) z[k] = x[4 * threadIdx.x + k];
  for (int k = 0; k < 4; ++k) y[4 * threadIdx.x + k] = evonet::activate_NAME(z[k]);
}
"""


@dataclasses.dataclass(frozen=True)
class Loop:
    """An innermost loop.

    Attributes:
        code: Its instructions.
        products: Products that one turn adds up, per thread: links times samples.
    """

    code: tuple[str, ...]
    products: int

    @property
    def stores(self) -> int:
        """Its writes to global memory."""
        return sum(opcode(instruction) in ("STG", "ST") for instruction in self.code)

    @property
    def per_product(self) -> float:
        """Instructions that a thread issues for a connection and a sample."""
        return len(self.code) / self.products


@dataclasses.dataclass(frozen=True)
class Report:
    """What is known of a compiled kernel.

    Attributes:
        registers: The registers of a thread.
        spills: Bytes of a thread that went to local memory.
        shared: Bytes of static shared memory of a block.
        code: All instructions.
        loops: Its innermost loops, in the order of the code.
    """

    registers: int
    spills: int
    shared: int
    code: tuple[str, ...]
    loops: tuple[Loop, ...]

    @property
    def hot_loop(self) -> Loop | None:
        """The loop over links that adds up products with the fewest instructions."""
        return hot_loop(self.loops)


def report(kernel: str, defines: dict[str, int | str], arch: str) -> Report:
    """Compiles a kernel as the product does, and disassembles it."""
    compiled = compiler.compile_kernel(kernel, defines, arch)
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", compiled.log)
    code, labels = disassemble(compiled.cubin)
    return Report(
        registers=int(re.findall(r"Used (\d+) registers", compiled.log)[0]),
        spills=sum(map(int, spills)),
        shared=sum(map(int, re.findall(r"(\d+) bytes smem", compiled.log))),
        code=tuple(code),
        loops=innermost_loops(code, labels),
    )


def activation_costs(arch: str, real: str) -> dict[str, float]:
    """Instructions of each activation for one sample, evaluated for four at a time.

    Counted up to the end of the kernel, so the rare path of a division is in it, but not the
    function that it calls.
    """
    costs = {}
    for name in ("identity", *(n for n in ACTIVATION_IDS if n != "identity")):
        source = ACTIVATION_KERNEL.replace("NAME", name)
        headers = compiler.kernel_sources("forward_samples", {})
        del headers["cuda/forward_samples.cu"]
        options = compiler.compile_options({"REAL": real}, arch)
        code, _ = disassemble(compile_source(source, name, headers, options).cubin)
        costs[name] = next(i for i, one in enumerate(code) if opcode(one) == "EXIT") / 4
    return {name: cost - costs["identity"] + 2 for name, cost in costs.items()}


def disassemble(cubin: bytes) -> tuple[list[str], dict[str, int]]:
    """The instructions of a cubin, and where its labels stand among them."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(find_nvdisasm()), "-c", file.name]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L\w*):", line):
            labels[label[1]] = len(code)
        elif instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            code.append(instruction[1])
    return code, labels


def find_nvdisasm() -> Path:
    """Looks on the path and beside NVIDIA's Python packages."""
    found = shutil.which("nvdisasm")
    folders = [Path(folder) for folder in site.getsitepackages()]
    places = [place for folder in folders for place in folder.glob("nvidia/*/bin/nvdisasm")]
    if found or places:
        return Path(found) if found else places[0]
    raise SystemExit("nvdisasm is missing: pip install nvidia-cuda-nvdisasm")


def opcode(instruction: str) -> str:
    """The name of an instruction, without its predicate and variants."""
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0].split(".")[0]


def innermost_loops(code: list[str], labels: dict[str, int]) -> tuple[Loop, ...]:
    """Finds the loops that contain no other.

    Code that seldom runs stands at the end and jumps back, which looks like a large loop: such are
    left out.
    """
    loops = []
    for end, instruction in enumerate(code):
        target = re.search(r"\bBRA\b.*`\((\.L\w*)\)", instruction)
        if target and labels.get(target[1], len(code)) <= end:
            loops.append((labels[target[1]], end))
    innermost = [
        (begin, end)
        for begin, end in loops
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops)
    ]
    return tuple(
        Loop(tuple(code[begin : end + 1]), count_products(code[begin : end + 1]))
        for begin, end in innermost
        if end - begin < MOST_CODE
    )


def count_in_loops(code: Sequence[str], labels: dict[str, int]) -> int:
    """Counts the instructions that are part of some loop, each once, whatever branches there are.

    A loop goes from a label to the last jump back to it. Code that seldom runs stands at the end
    and may jump back, so this is an upper bound.
    """
    inside = [False] * len(code)
    for end, instruction in enumerate(code):
        target = re.search(r"\bBRA\b.*`\((\.L\w*)\)", instruction)
        begin = labels.get(target[1], len(code)) if target else len(code)
        if begin < end:  # a jump to itself ends every kernel
            inside[begin : end + 1] = [True] * (end + 1 - begin)
    return sum(inside)


def hot_loop(loops: Sequence[Loop]) -> Loop | None:
    """The one that adds up products with the fewest instructions."""
    adding = [loop for loop in loops if loop.products]
    return min(adding, key=lambda loop: loop.per_product, default=None)


def count_products(code: list[str]) -> int:
    return sum(PRODUCTS.get(opcode(instruction), 0) for instruction in code)
