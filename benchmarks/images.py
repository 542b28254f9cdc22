"""Times convolutions that skip zeros beside PyTorch's (oneDNN), in one process and in turns.

python -m benchmarks.images [--batch 1] [--layers vgg|small|all] [--zeros 0 0.5 0.9] [--svg FILE]

Per layer and share of zeros: milliseconds of the kernel alone (bias and identity, no pool) beside
`conv2d` in its faster memory format, then convolution, relu and 2 x 2 max pool fused beside
PyTorch's three calls. Zeros are random, or `--clustered` in squares of 4 x 4 pixels. Neither side
pays for converting its weights; evonet's images have their channels last, as PyTorch's do in that
format, and its times include copying and packing them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evonet.images import Conv, ConvFront


class Layer(NamedTuple):
    """A convolution of a known network; `channels` in, `side` x `side` pixels, `outputs` out."""

    name: str
    channels: int
    side: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1


VGG = tuple(
    Layer(f"VGG-19 conv{stage}_{i + 1}", c if i == 0 else o, side, o)
    for stage, count, c, side, o in (
        (1, 2, 3, 224, 64),
        (2, 2, 64, 112, 128),
        (3, 4, 128, 56, 256),
        (4, 4, 256, 28, 512),
        (5, 4, 512, 14, 512),
    )
    for i in range(count)
)
SMALL = (
    Layer("LeNet conv1", 1, 32, 6, 5, 1, 0),
    Layer("LeNet conv2", 6, 14, 16, 5, 1, 0),
    Layer("AlexNet conv1", 3, 227, 96, 11, 4, 0),
    Layer("AlexNet conv2", 96, 27, 256, 5, 1, 2),
    Layer("AlexNet conv3", 256, 13, 384),
    Layer("AlexNet conv4", 384, 13, 384),
    Layer("AlexNet conv5", 384, 13, 256),
    Layer("GoogLeNet 3a 3x3", 96, 28, 128),
    Layer("GoogLeNet 3a 5x5", 16, 28, 32, 5, 1, 2),
    Layer("GoogLeNet 4a 3x3", 96, 14, 208),
    Layer("GoogLeNet 5a 3x3", 160, 7, 320),
)


class Row(NamedTuple):
    """Milliseconds of one layer at one share of zeros."""

    layer: Layer
    zeros: float
    ours: float
    theirs: float
    fused: float
    three_calls: float


def draw_map(rng: Any, shape: tuple[int, ...], zeros: float, clustered: bool) -> Any:
    """Draws a map of which a share is zero, pixel by pixel or square by square."""
    x = np.abs(rng.standard_normal(shape)).astype(np.float32)
    if clustered:
        b, c, h, w = shape
        coarse = rng.random((b, c, -(-h // 4), -(-w // 4))) < zeros
        mask = coarse.repeat(4, axis=2).repeat(4, axis=3)[:, :, :h, :w]
    else:
        mask = rng.random(shape) < zeros
    x[mask] = 0
    return x


def in_turns(*calls: Callable[[], object], seconds: float) -> list[float]:
    """Returns the least time of each, in milliseconds, all of them called in turns."""
    for call in calls:
        call()
    best = [float("inf")] * len(calls)
    end = time.perf_counter() + seconds
    while True:
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
        if time.perf_counter() > end:
            return [1e3 * t for t in best]


def measure(layer: Layer, batch: int, zeros: float, clustered: bool, seconds: float) -> Row:
    """Times a layer beside PyTorch, and checks that both agree."""
    import torch

    rng = np.random.default_rng(0)
    shape = (layer.channels, layer.side, layer.side)
    x = draw_map(rng, (batch, *shape), zeros, clustered)

    def make(activation: str, pool: int | None) -> ConvFront:
        conv = Conv(layer.outputs, layer.kernel, layer.stride, layer.padding, activation, pool)
        return ConvFront([conv], shape, backend="cpu")

    plain, fused = make("identity", None), make("relu", 2)
    weights, bias = (torch.from_numpy(a) for a in plain.weights[0])
    formats = (torch.contiguous_format, torch.channels_last)
    given = [
        (torch.from_numpy(x).to(memory_format=f), weights.to(memory_format=f)) for f in formats
    ]
    conv, pool = torch.nn.functional.conv2d, torch.nn.functional.max_pool2d

    def run(i: int, pooled: bool) -> Any:
        y = conv(*given[i], bias, layer.stride, layer.padding)
        return pool(torch.relu(y), 2) if pooled else y

    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    with torch.no_grad():
        np.testing.assert_allclose(
            plain(x).reshape(batch, -1), run(0, False).numpy().reshape(batch, -1), rtol=0, atol=2e-3
        )
        ours, first, second = in_turns(
            lambda: plain(last, channels_last=True),
            lambda: run(0, False),
            lambda: run(1, False),
            seconds=seconds,
        )
        joined, three, three_last = in_turns(
            lambda: fused(last, channels_last=True),
            lambda: run(0, True),
            lambda: run(1, True),
            seconds=seconds,
        )
    return Row(layer, zeros, ours, min(first, second), joined, min(three, three_last))


def break_even(rows: Iterable[Row]) -> str:
    """Says from which share of zeros on skipping beats PyTorch, between what was measured."""
    ordered = sorted(rows, key=lambda row: row.zeros)
    if ordered[0].ours <= ordered[0].theirs:
        return "always"
    for before, after in itertools.pairwise(ordered):
        a, b = before.theirs / before.ours, after.theirs / after.ours
        if a < 1 <= b:
            return f"{before.zeros + (after.zeros - before.zeros) * (1 - a) / (b - a):.2f}"
    return "never"


def print_table(rows: list[Row], batch: int) -> None:
    """Prints a line per layer and share, and the geometric means per share."""
    print(f"batch {batch}; milliseconds, and PyTorch's divided by evonet's")
    print(f"{'layer':<20}{'zeros':>6}{'evonet':>9}{'torch':>9}{'ratio':>7}{'fused':>9}", end="")
    print(f"{'3 calls':>9}{'ratio':>7}{'G/s':>7}")
    for r in rows:
        layer = r.layer
        side = (layer.side + 2 * layer.padding - layer.kernel) // layer.stride + 1
        terms = layer.kernel**2 * layer.channels * layer.outputs * side**2 * batch
        print(
            f"{layer.name:<20}{r.zeros:>6.2f}{r.ours:>9.2f}{r.theirs:>9.2f}"
            f"{r.theirs / r.ours:>7.2f}{r.fused:>9.2f}{r.three_calls:>9.2f}"
            f"{r.three_calls / r.fused:>7.2f}{terms / r.ours / 1e6:>7.0f}"
        )
    for zeros in sorted({r.zeros for r in rows}):
        alone = [r.theirs / r.ours for r in rows if r.zeros == zeros]
        fused = [r.three_calls / r.fused for r in rows if r.zeros == zeros]
        means = [float(np.exp(np.mean(np.log(ratios)))) for ratios in (alone, fused)]
        print(
            f"zeros {zeros:.2f}: kernel alone {means[0]:.2f} (worst {min(alone):.2f}), "
            f"fused {means[1]:.2f} (worst {min(fused):.2f})"
        )
    for name in dict.fromkeys(r.layer.name for r in rows):
        print(f"break-even of {name}: {break_even(r for r in rows if r.layer.name == name)}")


def draw_chart(rows: list[Row], path: Path) -> None:
    """Draws speed against the share of zeros, a line per layer, as an SVG."""
    width, height, left, bottom = 640, 320, 50, 40
    top = max(r.theirs / r.ours for r in rows)
    scale = np.log2(max(top, 2.0) * 2)

    def place(zeros: float, ratio: float) -> tuple[float, float]:
        share = (np.log2(ratio) + 1) / scale
        return left + zeros * (width - left - 10), height - bottom - share * (height - bottom - 10)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" fill="none">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    ratio = 0.5
    while ratio <= top:
        x, y = place(0, ratio)
        lines.append(
            f'<path d="M{x:.1f},{y:.1f}H{width - 10}" '
            f'stroke="{"#555" if ratio == 1 else "#ddd"}"/>'
            f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" fill="#333" text-anchor="end">{ratio:g}x</text>'
        )
        ratio *= 2
    for zeros in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, _ = place(zeros, 1)
        lines.append(
            f'<text x="{x:.1f}" y="{height - 22}" fill="#333" text-anchor="middle">'
            f"{100 * zeros:.0f} %</text>"
        )
    lines.append(
        f'<text x="{width / 2}" y="{height - 6}" fill="#333" text-anchor="middle">'
        "zeros in the input; up: times PyTorch's speed, kernel alone</text>"
    )
    for name in dict.fromkeys(r.layer.name for r in rows):
        at = [place(r.zeros, r.theirs / r.ours) for r in rows if r.layer.name == name]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        colour = "#2563eb" if name.startswith("VGG") else "#d97706"
        lines.append(
            f'<polyline points="{points}" stroke="{colour}" stroke-opacity=".55">'
            f"<title>{name}</title></polyline>"
        )
    lines.append(
        '<text x="60" y="20" fill="#2563eb">VGG-19</text>'
        '<text x="110" y="20" fill="#d97706">LeNet, AlexNet, GoogLeNet</text></svg>\n'
    )
    path.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--layers", choices=("vgg", "small", "all"), default="all")
    parser.add_argument("--zeros", type=float, nargs="+", default=[0, 0.5, 0.7, 0.8, 0.9, 0.95])
    parser.add_argument("--clustered", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.5, help="per pair of timings")
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    # Threads of PyTorch that wait for its next call would hold the core that evonet needs.
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0"}
    import torch

    torch.set_num_threads(2)
    layers = {"vgg": VGG, "small": SMALL, "all": (*VGG, *SMALL)}[options.layers]
    # Layers of equal shape are measured once.
    chosen = {layer[1:]: layer for layer in reversed(layers)}.values()
    rows = [
        measure(layer, options.batch, zeros, options.clustered, options.seconds)
        for layer in reversed(chosen)
        for zeros in options.zeros
    ]
    print_table(rows, options.batch)
    if options.svg is not None:
        draw_chart(rows, options.svg)


if __name__ == "__main__":
    main()
