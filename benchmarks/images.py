"""Times convolutions that skip zeros beside PyTorch's (oneDNN), in one process and in turns.

    python -m benchmarks.images [--batch 1] [--layers vgg|small|all] [--zeros 0 0.5 0.9]
                                [--clustered] [--svg FILE] [--break-even FILE]
    python -m benchmarks.images --real [--batch 64]

Per layer and share of zeros: milliseconds of the kernel alone (bias and identity, no pool) beside
`conv2d` in its faster memory format, then convolution, relu and 2 x 2 max pool fused beside
PyTorch's three calls. Zeros are random, or `--clustered` in squares of 4 x 4 pixels. Neither side
pays for converting its weights; evonet's images have their channels last, as PyTorch's do in that
format, and its times include copying and packing them.

`--real` takes activations instead: digits (scikit-learn) and screens of MinAtar's Breakout, which a
player of random moves has seen, and what a first layer with drawn weights makes of them.
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


def digits(batch: int) -> Any:
    """Digits of 8 x 8 pixels, three times as large, as images [B, 1, 24, 24]."""
    from sklearn.datasets import load_digits

    images = load_digits().images[:batch].astype(np.float32) / 16
    return images.repeat(3, axis=1).repeat(3, axis=2)[:, None]


def screens(batch: int) -> Any:
    """Screens of Breakout that a player of random moves sees, as images [B, 4, 10, 10]."""
    from evonet.tasks import make_task

    task: Any = make_task("minatar:breakout")
    game, rng, seen = task.make(), np.random.default_rng(0), []
    screen, _ = game.reset(seed=0)
    while len(seen) < batch:
        seen.append(np.asarray(screen, np.float32).transpose(2, 0, 1))
        screen, _, over, _, _ = game.step(int(rng.integers(task.num_outputs)))
        if over:
            screen, _ = game.reset(seed=len(seen))
    return np.array(seen)


def real_maps(batch: int) -> Iterable[tuple[Layer, Any]]:
    """Layers and the maps that they have from real images: two of each kind."""
    for name, images in (("digits", digits(batch)), ("breakout", screens(batch))):
        _, channels, side, _ = images.shape
        yield Layer(f"{name} conv1", channels, side, 32), images
        first = ConvFront([Conv(32, 3, padding=1, pool=2)], images.shape[1:], backend="cpu")
        maps = first(images).reshape(batch, *first.output_shape)
        yield Layer(f"{name} conv2", 32, side // 2, 64), maps


def measure(layer: Layer, x: Any, zeros: float, seconds: float) -> Row:
    """Times a layer beside PyTorch on maps [B, C, H, W], and checks that both agree."""
    import torch

    batch, shape = len(x), (layer.channels, layer.side, layer.side)

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


def break_even(rows: Iterable[Row], fused: bool = False) -> float | None:
    """From which share of zeros on evonet beats PyTorch, between what was measured.

    The last crossing counts; None if the largest share of zeros still loses.
    """
    ordered = sorted(rows, key=lambda row: row.zeros)
    ratios = [
        (row.zeros, row.three_calls / row.fused if fused else row.theirs / row.ours)
        for row in ordered
    ]
    if ratios[-1][1] < 1:
        return None
    for (zeros, ratio), (after, better) in reversed(list(itertools.pairwise(ratios))):
        if ratio < 1:
            return zeros + (after - zeros) * (1 - ratio) / (better - ratio)
    return 0.0


def draw_break_even(rows: list[Row], path: Path) -> None:
    """Draws the break-even share of zeros of each layer, kernel alone and fused, as an SVG."""
    names = list(dict.fromkeys(r.layer.name for r in rows))
    width, left, step = 640, 150, 18
    height = step * len(names) + 50

    def place(share: float) -> float:
        return left + share * (width - left - 20)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" fill="none">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        lines.append(
            f'<path d="M{place(share):.1f},10V{height - 36}" stroke="#ddd"/>'
            f'<text x="{place(share):.1f}" y="{height - 22}" fill="#333" text-anchor="middle">'
            f"{100 * share:.0f} %</text>"
        )
    for i, name in enumerate(names):
        y = 18 + step * i
        lines.append(
            f'<text x="{left - 8}" y="{y + 4}" fill="#333" text-anchor="end">{name}</text>'
        )
        own = [r for r in rows if r.layer.name == name]
        for fused, colour in ((False, "#2563eb"), (True, "#d97706")):
            share = break_even(own, fused)
            if share is None:
                lines.append(f'<text x="{place(1):.1f}" y="{y + 4}" fill="{colour}">×</text>')
            else:
                shift = 3 if fused else -3
                lines.append(
                    f'<path d="M{place(0):.1f},{y + shift}H{place(share):.1f}" stroke="{colour}" '
                    f'stroke-opacity=".4"/><circle cx="{place(share):.1f}" cy="{y + shift}" r="3" '
                    f'fill="{colour}"/>'
                )
    lines.append(
        f'<text x="{left}" y="{height - 6}" fill="#2563eb">kernel alone</text>'
        f'<text x="{left + 90}" y="{height - 6}" fill="#d97706">with relu and pool</text>'
        f'<text x="{left + 210}" y="{height - 6}" fill="#333">faster than PyTorch from this share '
        "of zeros on; × never</text></svg>\n"
    )
    path.write_text("\n".join(lines))


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
        share = break_even(r for r in rows if r.layer.name == name)
        print(f"break-even of {name}: {'never' if share is None else f'{share:.0%}'}")


def draw_chart(rows: list[Row], path: Path) -> None:
    """Draws speed against the share of zeros, a line per layer, as an SVG."""
    width, height, left, bottom = 640, 320, 50, 40
    top = max(r.theirs / r.ours for r in rows)
    scale = np.log2(max(top, 2.0) * 2)

    def place(zeros: float, ratio: float) -> tuple[float, float]:
        share = (np.log2(ratio) + 1) / scale
        return left + zeros * (width - left - 10), height - bottom - share * (height - bottom - 10)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 10} {height}" '
        'font-family="sans-serif" font-size="11" fill="none">',
        f'<rect width="{width + 10}" height="{height}" fill="#fff"/>',
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
    parser.add_argument("--real", action="store_true", help="activations of real images")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--break-even", type=Path)
    options = parser.parse_args()
    # Threads of PyTorch that wait for its next call would hold the core that evonet needs.
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0"}
    import torch

    torch.set_num_threads(2)
    layers = {"vgg": VGG, "small": SMALL, "all": (*VGG, *SMALL)}[options.layers]
    # Layers of equal shape are measured once.
    chosen = {layer[1:]: layer for layer in reversed(layers)}.values()
    rows = []
    if options.real:
        for layer, x in real_maps(options.batch):
            rows.append(measure(layer, x, float(np.mean(x == 0)), options.seconds))
    else:
        for layer, zeros in itertools.product(reversed(chosen), options.zeros):
            shape = (options.batch, layer.channels, layer.side, layer.side)
            x = draw_map(np.random.default_rng(0), shape, zeros, options.clustered)
            rows.append(measure(layer, x, zeros, options.seconds))
    print_table(rows, options.batch)
    if options.svg is not None:
        draw_chart(rows, options.svg)
    if options.break_even is not None:
        draw_break_even(rows, options.break_even)


if __name__ == "__main__":
    main()
