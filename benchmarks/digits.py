"""Digits through a learned front: test accuracy beside a PyTorch CNN of the same shape and time.

python -m benchmarks.digits [--seeds 5] [--generations 30]
python -m benchmarks.digits --gradients

For each seed, which also splits the images, `configs/images.toml` is run to its end: the front
learns, then networks evolve on its features. PyTorch then trains the same convolutions with a
linear layer from all features to all classes, by AdamW with the same rate and batches, on the same
parts, for as many processor seconds, and keeps the weights with the best loss on the validation
part. Seconds are those of the processor, which other work on the machine hardly changes, and of a
clock; PyTorch has one thread, as those that wait for each other would spend its seconds.

--gradients times features and all derivatives of three fronts on 64 images, beside PyTorch with two
threads, in turns. It needs scikit-learn and PyTorch.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Any

import numpy as np

import evonet
from evonet import Config
from evonet.images import Conv, ConvFront
from evonet.installation import resource_folder
from evonet.tasks.images import ImageTask
from evonet.tasks.registry import task_from_config


def run_evonet(seed: int, generations: int) -> tuple[ImageTask, float, float, float, float]:
    """One run; the task, processor seconds of the front and of all, wall seconds, accuracy."""
    base = Config.load(resource_folder("configs") / "images.toml")
    config = base.replace(
        {
            "task": {**base.task, "split_seed": seed},
            "run.seed": seed,
            "run.generations": generations,
        }
    )
    wall, start = time.perf_counter(), time.process_time()
    task = task_from_config(config)
    assert isinstance(task, ImageTask)
    task.learned_front()
    learned = time.process_time()
    best = evonet.evolve(task, config).best
    assert best is not None
    end, wall = time.process_time(), time.perf_counter() - wall
    accuracy = float(task.held_out_scores(evonet.compile(best.population))["accuracy"][0])
    return task, learned - start, end - start, wall, accuracy


def run_torch(task: ImageTask, seed: int, seconds: float) -> tuple[int, float]:
    """Trains for some processor seconds; epochs and accuracy on the held-out part."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    channels = task.encoding.input_shape[0]
    for layer in task.encoding.layers:
        kernel, pool = layer.kernel_size, layer.pooling
        layers += [nn.Conv2d(channels, layer.channels, kernel, layer.stride, layer.padding)]
        layers += [nn.ReLU()]
        if pool is not None:
            join: Any = nn.MaxPool2d if pool.kind == "max" else nn.AvgPool2d
            layers.append(join(pool.size, pool.stride))
        channels = layer.channels
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(task.num_inputs, task.num_outputs))
    parts = {}
    for name, part in task.image_parts().items():
        x, y = part
        parts[name] = torch.from_numpy(x), torch.from_numpy(y.argmax(axis=1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.0)
    loss = nn.CrossEntropyLoss()
    x, y = parts["train"]
    least, best, epochs = float("inf"), copy.deepcopy(model.state_dict()), 0
    end = time.process_time() + seconds
    while time.process_time() < end:
        for batch in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            loss(model(x[batch]), y[batch]).backward()
            optimizer.step()
        epochs += 1
        with torch.no_grad():
            found = float(loss(model(parts["validation"][0]), parts["validation"][1]))
        if found < least:
            least, best = found, copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    with torch.no_grad():
        x, y = parts["held out"]
        return epochs, float((model(x).argmax(dim=1) == y).double().mean())


# Channels and pools of fronts with windows of 3 x 3, by the shape of their images.
FRONTS = {
    (1, 8, 8): ((32, None), (32, 2), (64, 2)),
    (1, 28, 28): ((16, 2), (32, 2)),
    (3, 32, 32): ((32, None), (32, 2), (64, 2)),
}


def time_gradients(turns: int = 15, batch: int = 64) -> None:
    """Prints milliseconds of a forward and a reverse pass."""
    import torch
    from torch import nn

    torch.set_num_threads(2)
    print("image        evonet ms  PyTorch ms  ratio", flush=True)
    for shape, sizes in FRONTS.items():
        front = ConvFront([Conv(c, 3, padding=1, pool=pool) for c, pool in sizes], shape, seed=1)
        rng = np.random.default_rng(0)
        x = rng.random((batch, *shape)).astype(np.float32)
        d = rng.standard_normal((batch, front.num_features)).astype(np.float32)
        layers: list[nn.Module] = []
        channels = shape[0]
        for count, pool in sizes:
            layers += [nn.Conv2d(channels, count, 3, padding=1), nn.ReLU()]
            layers += [] if pool is None else [nn.MaxPool2d(pool)]
            channels = count
        model = nn.Sequential(*layers, nn.Flatten())
        images, adjoints = torch.from_numpy(x), torch.from_numpy(d)
        seconds: list[tuple[float, float]] = []
        for _ in range(turns + 2):
            start = time.perf_counter()
            front.gradients(x, d)
            middle = time.perf_counter()
            model.zero_grad()
            model(images).backward(adjoints)
            seconds.append((middle - start, time.perf_counter() - middle))
        ours, theirs = np.median(seconds[2:], axis=0) * 1000
        size = " x ".join(map(str, shape))
        print(f"{size:12} {ours:9.2f} {theirs:11.2f} {theirs / ours:6.2f}", flush=True)


def main() -> None:
    """Prints a line per seed and the means, or the times of gradients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--generations", type=int, default=30)
    options = parser.parse_args()
    if options.gradients:
        return time_gradients()
    import torch

    torch.set_num_threads(1)
    print("seed  front s  all s  wall s  evonet   PyTorch  its epochs", flush=True)
    rows = []
    for seed in range(options.seeds):
        task, front, total, wall, accuracy = run_evonet(seed, options.generations)
        epochs, other = run_torch(task, seed, total)
        rows.append((accuracy, other))
        print(
            f"{seed:4} {front:8.1f} {total:6.1f} {wall:7.1f}  {accuracy:.4f}   {other:.4f} "
            f"{epochs:11}",
            flush=True,
        )
    means, least = np.mean(rows, axis=0), np.min(rows, axis=0)
    print(f"mean accuracy {means[0]:.4f} beside {means[1]:.4f}")
    print(f"least accuracy {least[0]:.4f} beside {least[1]:.4f}")


if __name__ == "__main__":
    main()
