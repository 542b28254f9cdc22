"""What the kernel of fronts takes on GPUs: machine code as compiled, and a model of its time.

    python -m benchmarks.image_model [--write docs/images.md]

Registers and instructions are read off the machine code that NVRTC makes; no GPU is needed. The
times are a model and nothing else. A multiprocessor starts 4 warp instructions and serves 128 bytes
of its first-level cache or shared memory in a cycle; whichever of both takes longer counts, and so
does moving all inputs, weights and outputs through memory once. Sparse: a non-zero costs one
broadcast and the weights of a team. Dense: four windows share those weights. The direct convolution
beside it is an ideal one that is limited by its multiplications alone, a warp in each of the 4
slots of a cycle, which no real one reaches.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path

from benchmarks import sass
from benchmarks.cuda_cost import ARCHS
from benchmarks.images import VGG, Layer
from evonet.backends.cuda.cards import CARDS, Card
from evonet.backends.cuda.cost import LAUNCH
from evonet.backends.cuda.images import ConvLaunch, plan_layer
from evonet.backends.cuda.nvrtc import nvrtc_version

BEGIN, END = "<!-- kernel tables: begin -->", "<!-- kernel tables: end -->"
OPTIONS = {"float32": {"REAL": "float", "VECTOR": 4}, "float64": {"REAL": "double", "VECTOR": 2}}
REVERSE = ("image_pool", "image_adjoint", "image_slopes", "image_spread", "image_join")
SUMS = ("image_slopes", "image_spread")
LAYERS = (VGG[1], VGG[3], VGG[5], VGG[9], VGG[13])
ZEROS = (0.0, 0.5, 0.8, 0.9, 0.95)
BATCH = 8
ISSUED, SERVED = 4, 128  # warp instructions and bytes of a multiprocessor and cycle
SHARING = 4  # windows that share a weight in the dense way
PACKING = 40.0  # warp instructions to count, mask and pack 32 numbers, by the machine code


@functools.cache
def compiled(dtype: str, arch: str, kernel: str = "convolve") -> sass.Report:
    """A kernel for an architecture."""
    options = OPTIONS[dtype]
    if kernel != "convolve":
        options = {"REAL": options["REAL"]}
    found = sass.report(kernel, options, arch)
    if found.spills:
        raise SystemExit(f"{kernel} spills {found.spills} bytes on {arch}")
    return found


def loop_costs(dtype: str, arch: str) -> tuple[float, float]:
    """Instructions per product of the sparse loop, which reads shared memory, and the dense one."""
    loops = compiled(dtype, arch).loops
    sparse = [x for x in loops if any(sass.opcode(i) == "LDS" for i in x.code) and x.products > 7]
    dense = [x for x in loops if not any(sass.opcode(i) == "LDS" for i in x.code)]
    best = (min(x.per_product for x in some if x.products > 7) for some in (sparse, dense))
    return next(best), next(best)


def kernel_table() -> Iterator[str]:
    yield f"Made by `python -m benchmarks.image_model` with NVRTC {nvrtc_version()}."
    yield ""
    yield "**SASS instructions per multiply-add** of the sparse and the dense loop of `convolve`,"
    yield "and registers of a thread; no spills."
    yield ""
    yield "| | " + " | ".join(ARCHS) + " |"
    yield "|---|" + "---|" * len(ARCHS)
    for dtype in OPTIONS:
        cells = []
        for arch in ARCHS:
            sparse, dense = loop_costs(dtype, arch)
            cells.append(f"{sparse:.2f}, {dense:.2f} · {compiled(dtype, arch).registers}")
        yield f"| {dtype} | " + " | ".join(cells) + " |"


def reverse_table() -> Iterator[str]:
    yield "**On the way back**: SASS instructions per multiply-add of adjoints that are not 0, if"
    yield "a kernel has such a loop, and registers of a thread; no spills."
    yield ""
    yield "| | " + " | ".join(ARCHS) + " |"
    yield "|---|" + "---|" * len(ARCHS)
    for kernel, dtype in itertools.product(REVERSE, OPTIONS):
        cells = []
        for arch in ARCHS:
            found = compiled(dtype, arch, kernel)
            costs = [x.per_product for x in found.loops if x.products]
            cost = f"{min(costs):.2f} · " if kernel in SUMS and costs else ""
            cells.append(f"{cost}{found.registers}")
        yield f"| {kernel}, {dtype} | " + " | ".join(cells) + " |"


def seconds(plan: ConvLaunch, card: Card, zeros: float, way: str) -> float:
    """The model: one layer of `BATCH` images in float32."""
    sparse, dense = loop_costs("float32", card.limits.arch)
    terms = BATCH * plan.num_blocks * plan.windows * plan.taps  # a team's: its warp's channels
    warps = plan.lanes / 32
    weights = plan.lanes * 16 / SERVED
    if way == "sparse":
        share = 1.0 - zeros
        cycles = share * terms * max(sparse * plan.vector * warps / ISSUED, weights + 1)
        reach = [(n - 1) * plan.stride + k for n, k in zip(plan.group, plan.kernel, strict=True)]
        numbers = BATCH * plan.tiles * plan.num_blocks * reach[0] * reach[1] * plan.channels
        cycles += numbers / 32 * PACKING / ISSUED
    elif way == "dense":
        cycles = terms * max(dense * plan.vector * warps / ISSUED, weights / SHARING + 1)
    else:
        cycles = terms * plan.vector * warps / ISSUED
    done = cycles / (card.limits.num_sms * card.gigahertz * 1e9)
    memory = bytes_moved(plan) / (card.memory * 1e9)
    return max(done, memory) + LAUNCH / (card.gigahertz * 1e9)


def bytes_moved(plan: ConvLaunch) -> int:
    """Inputs, weights and outputs, each once."""
    outputs = plan.out[0] * plan.out[1] * plan.num_outputs
    return 4 * (BATCH * (plan.map_size + outputs) + plan.taps * plan.num_outputs)


def plan_of(layer: Layer) -> ConvLaunch:
    """How a layer is launched."""
    shape = (layer.channels, layer.side, layer.side)
    weights = (layer.outputs, layer.kernel, layer.kernel, layer.channels)
    return plan_layer(shape, weights, (layer.stride, layer.padding, 0, 0, 1, 1), 4)


def model_table() -> Iterator[str]:
    yield "**A model, not a measurement**: milliseconds of a layer, 8 images, float32. The dense"
    yield "way and an ideal direct convolution do not depend on zeros; the last column is the"
    yield "share of zeros from which the sparse way is faster than that ideal."
    yield ""
    heads = [f"sparse, {zeros:.0%} zeros" for zeros in ZEROS[1:]]
    yield f"| layer | MB moved | card | {' | '.join(heads)} | dense | ideal | faster from |"
    yield "|---|---|---|" + "---|" * (len(heads) + 3)
    for layer in LAYERS:
        plan = plan_of(layer)
        for card in CARDS:
            times = [seconds(plan, card, zeros, "sparse") for zeros in ZEROS[1:]]
            times += [seconds(plan, card, 0.0, way) for way in ("dense", "ideal")]
            from_here = next(
                (z for z in range(101) if seconds(plan, card, z / 100, "sparse") < times[-1]), None
            )
            last = "never" if from_here is None else f"{from_here} %"
            cells = " | ".join(f"{1e3 * t:.2f}" for t in times)
            moved = f"{bytes_moved(plan) / 1e6:.0f}"
            yield f"| {layer.name} | {moved} | {card.name} | {cells} | {last} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with marks, to put the tables into")
    page = parser.parse_args().write
    text = "\n".join([*kernel_table(), "", *reverse_table(), "", *model_table()])
    if page is None:
        print(text)
        return
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
