"""Times wide levels beside PyTorch, and measures what their hashing finds.

    python -m benchmarks.wide compare amazon670k [--batches 200] [--dense-batches 200] [--batch 128]
    python -m benchmarks.wide growth
    python -m benchmarks.wide crossover
    python -m benchmarks.wide recall amazon670k [--batches 400]

`compare` trains all on the same planted samples, each in a process of its own: evonet, PyTorch
dense (EmbeddingBag with SparseAdam, Linear with Adam) and PyTorch's sampled softmax (the labels of
the batch and as many random classes as evonet has active, by sparse rows and SparseAdam). It prints
milliseconds per batch after 10 to warm up, also as processor time of all threads, which depends
less on what else the machine does; P@1 and P@5 on 10,000 other samples; and peak memory. `--seed`
draws other data: settings were chosen on seed 2, published figures are those of seed 1.
`growth` fits the exponent of cost by classes, `crossover` looks for the number of classes below
which dense wins, and `recall` compares what buckets hold with the exact best classes.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from evonet import WideClassifier
from evonet.learning.wide.planted import SHAPES, PlantedShape, plant

WARM = 10
HELD_OUT = 10_000
HIDDEN = 128
INPUT_SCALE = 0.25  # as WideClassifier chooses for samples of norm 1
SIZES = (1_000, 4_000, 16_000, 64_000, 205_443, 670_091)


def shape_of(name: str) -> PlantedShape:
    """A shape by its name, or one with so many labels."""
    if name in SHAPES:
        return SHAPES[name]
    return PlantedShape(50_000, int(name), 60, 4, 50)


class Peer:
    """PyTorch, dense or sampled."""

    def __init__(self, shape: PlantedShape, rate: float, sampled: int) -> None:
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(2)
        self.torch, self.sampled, self.shape = torch, sampled, shape
        self.inputs = torch.nn.EmbeddingBag(shape.num_features + 1, HIDDEN, mode="sum", sparse=True)
        torch.nn.init.uniform_(self.inputs.weight, -INPUT_SCALE, INPUT_SCALE)
        rows = [self.inputs.weight]
        if sampled:
            self.rows = torch.nn.Embedding(shape.num_labels, HIDDEN + 1, sparse=True)
            torch.nn.init.uniform_(self.rows.weight, -(HIDDEN**-0.5), HIDDEN**-0.5)
            rows.append(self.rows.weight)
            self.optimizers = [torch.optim.SparseAdam(rows, lr=rate)]
        else:
            self.linear = torch.nn.Linear(HIDDEN, shape.num_labels)
            dense = torch.optim.Adam(self.linear.parameters(), lr=rate)
            self.optimizers = [torch.optim.SparseAdam(rows, lr=rate), dense]

    def hidden(self, x: Any) -> Any:
        """The rectified hidden values of samples."""
        ends = x.indptr[1:]
        columns = np.insert(x.indices, ends, self.shape.num_features).astype(np.int64)
        values = np.insert(x.data, ends, 1.0).astype(np.float32)
        starts = (x.indptr[:-1] + np.arange(x.shape[0])).astype(np.int64)
        tensors = map(self.torch.from_numpy, (columns, starts))
        weights = self.torch.from_numpy(values)
        return self.torch.relu(self.inputs(*tensors, per_sample_weights=weights))

    def train(self, x: Any, y: Any) -> None:
        """Takes one step."""
        torch = self.torch
        hidden = self.hidden(x)
        counts = np.diff(y.indptr)
        sample = torch.from_numpy(np.repeat(np.arange(len(counts)), counts))
        labels = y.indices.astype(np.int64)
        if self.sampled:
            drawn = np.random.default_rng(int(labels.sum())).integers(
                0, self.shape.num_labels, self.sampled
            )
            classes = np.unique(np.concatenate([labels, drawn]))
            labels = np.searchsorted(classes, labels)
            rows = self.rows(torch.from_numpy(classes))
            logits = hidden @ rows[:, :HIDDEN].T + rows[:, HIDDEN]
        else:
            logits = self.linear(hidden)
        share = torch.from_numpy(np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32))
        found = torch.log_softmax(logits, 1)[sample, torch.from_numpy(labels)]
        loss = -(found * share).sum() / len(counts)
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()

    def top(self, x: Any, k: int) -> np.ndarray:
        """The k best classes of each sample."""
        found = []
        with self.torch.no_grad():
            for begin in range(0, x.shape[0], 100):
                hidden = self.hidden(x[begin : begin + 100])
                if self.sampled:
                    weights = self.rows.weight
                    logits = hidden @ weights[:, :HIDDEN].T + weights[:, HIDDEN]
                else:
                    logits = self.linear(hidden)
                found.append(logits.topk(k).indices.numpy())
        return np.concatenate(found)


class Ours:
    """evonet's classifier, a batch at a time."""

    def __init__(self, rate: float, options: dict[str, Any]) -> None:
        self.made = WideClassifier(rate=rate, threads=2, **options)

    def train(self, x: Any, y: Any) -> None:
        """Takes one step."""
        self.made.batch = x.shape[0]
        self.made.partial_fit(x, y)

    def top(self, x: Any, k: int) -> np.ndarray:
        """The k best classes of each sample."""
        return self.made.top(x, k)[0]


def precision(top: np.ndarray, y: Any) -> dict[str, float]:
    """P@1 and P@5."""
    hits = np.array(
        [np.isin(row, y.indices[y.indptr[i] : y.indptr[i + 1]]) for i, row in enumerate(top)]
    )
    return {"p1": float(hits[:, 0].mean()), "p5": float(hits.mean())}


def memory(name: str) -> float:
    """Megabytes of this process, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def run_one(job: dict[str, Any]) -> dict[str, Any]:
    """Trains one contender, and returns its figures."""
    shape, batches, batch = shape_of(job["shape"]), job["batches"], job["batch"]
    x, y = plant(shape, batches * batch, seed=job["seed"])
    held = plant(shape, HELD_OUT, seed=job["seed"], first=10**8)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    base = memory("VmRSS")
    rate = job["rate"]
    ours = job["name"] == "evonet"
    contender: Any = Ours(rate, job["options"]) if ours else Peer(shape, rate, job["sampled"])
    start = spent = 0.0
    for i in range(batches):
        if i == WARM:
            start, spent = time.perf_counter(), time.process_time()
        part = slice(i * batch, (i + 1) * batch)
        contender.train(x[part], y[part])
    seconds = (time.perf_counter() - start) / (batches - WARM)
    processor = (time.process_time() - spent) / (batches - WARM)
    peak = memory("VmHWM") - base
    figures = {"ms": 1000 * seconds, "cpu_ms": 1000 * processor, "mb": peak, "batches": batches}
    if job["score"]:
        figures |= precision(contender.top(held[0], 5), held[1])
    if ours:
        model = contender.made.model_
        figures["touched"] = float((model.outputs.state[:, 3] > 0).mean())
        rows = model.find_active(
            model.hidden_rows(contender.made._batch(_rows(x[part]), *_labels(y[part]))),
            *_labels(y[part]),
        )
        counts = rows.end - rows.begin
        union = np.unique(np.concatenate([rows.rows[b, : counts[b]] for b in range(len(counts))]))
        figures["active"] = float(counts.mean()) / shape.num_labels
        figures["batch_active"] = len(union) / shape.num_labels
    return figures


def _rows(x: Any) -> Any:
    from evonet.learning.wide.rows import read_rows

    return read_rows(x)


def _labels(y: Any) -> tuple[Any, Any]:
    return y.indptr.astype(np.int64), y.indices.astype(np.int32)


def run_apart(**job: Any) -> dict[str, Any]:
    """Runs a contender in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.wide", "one", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(options: argparse.Namespace) -> None:
    job: dict[str, Any] = {
        "shape": options.shape,
        "batch": options.batch,
        "score": True,
        "seed": options.seed,
    }
    common = {**job, "options": {}, "sampled": 0}
    found = {}
    for name, batches, changes in (
        ("evonet", options.batches, {"rate": options.rate, "options": json.loads(options.ours)}),
        ("sampled softmax", options.batches, {"rate": options.rate, "sampled": options.sampled}),
        ("dense", options.dense_batches, {"rate": options.dense_rate}),
    ):
        if not batches:
            continue
        found[name] = run_apart(**{**common, "name": name, "batches": batches, **changes})
        print(name, json.dumps(found[name]), flush=True)
    ours = found["evonet"]["ms"]
    for name, each in found.items():
        print(f"{name:16} {each['ms']:9.2f} ms, {each['ms'] / ours:6.1f} x evonet's time")


def growth(options: argparse.Namespace) -> None:
    """Prints the time of a batch by the number of classes, and the exponent."""
    times = []
    for size in SIZES:
        job: dict[str, Any] = {
            "shape": str(size),
            "batch": options.batch,
            "batches": options.batches,
        }
        job |= {"score": False, "sampled": 0, "rate": options.rate, "seed": options.seed}
        ours = run_apart(name="evonet", options=json.loads(options.ours), **job)
        times.append(ours["ms"])
        print(size, json.dumps(ours), flush=True)
    slope, _ = np.polyfit(np.log(SIZES), np.log(times), 1)
    pairs = [
        math.log(b / a) / math.log(n / m)
        for (a, m), (b, n) in zip(
            zip(times, SIZES, strict=True), zip(times[1:], SIZES[1:], strict=False), strict=False
        )
    ]
    print(f"exponent {slope:.2f}; from size to size: {', '.join(f'{each:.2f}' for each in pairs)}")


def crossover(options: argparse.Namespace) -> None:
    """Prints both times by the number of classes."""
    for size in (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000):
        job: dict[str, Any] = {
            "shape": str(size),
            "batch": options.batch,
            "batches": options.batches,
        }
        job |= {"score": False, "sampled": 0, "seed": options.seed}
        ours = run_apart(name="evonet", rate=options.rate, options=json.loads(options.ours), **job)
        dense = run_apart(name="dense", rate=options.dense_rate, options={}, **job)
        ratio = dense["ms"] / ours["ms"]
        print(f"{size:7} classes: {ours['ms']:7.2f} ms, dense {dense['ms']:7.2f} ms, {ratio:.2f} x")


def recall(options: argparse.Namespace) -> None:
    """Prints how many of the exact best 1, 5 and 10 classes the buckets of a sample hold."""
    shape = shape_of(options.shape)
    x, y = plant(shape, options.batches * options.batch, seed=options.seed)
    held = plant(shape, 200, seed=options.seed, first=10**8)
    made = WideClassifier(rate=options.rate, batch=options.batch, threads=2)
    made.partial_fit(x, y)
    model = made.model_
    hidden = model.hidden_rows(made._batch(_rows(held[0]), *_labels(held[1])))
    best, _ = model.kernels.top(hidden, model.outputs, 10)
    from evonet.learning.wide.hashing import default_bits

    for kind in ("dwta", "simhash"):
        most = default_bits(kind, shape.num_labels)
        for bits in sorted({most, most - 3, most - 6} - {0}):
            for tables in (24, 50, 100):
                print(kind, bits, tables, _recall(model, hidden, best, kind, bits, tables))


def _recall(model: Any, hidden: Any, best: Any, kind: str, bits: int, tables: int) -> str:
    from evonet.backends.wide_level import Buckets
    from evonet.learning.wide.hashing import make_plan

    settings, kernels = model.settings, model.kernels
    plan = make_plan(kind, bits, tables, settings.hidden, settings.width, settings.seed)
    codes = np.ascontiguousarray(kernels.hash(plan, model.outputs.weights).T)
    found = kernels.build(codes, Buckets(1 << bits, settings.capacity, False), 1, 0)
    asked = kernels.hash(plan, hidden)
    hits, sizes = [], []
    for b in range(len(hidden)):
        parts = []
        for table in range(tables):
            start, end = found.starts[table, asked[b, table] :][:2]
            parts.append(found.ids[table, start:end])
        held = np.unique(np.concatenate(parts))
        sizes.append(len(held))
        hits.append([np.isin(best[b, :k], held).mean() for k in (1, 5, 10)])
    shares = ", ".join(f"{each:.3f}" for each in np.mean(hits, 0))
    size = float(np.mean(sizes))
    chance = size / settings.num_classes
    lift = float(np.mean(hits, 0)[2]) / max(chance, 1e-9)
    return f"recall@1, 5, 10: {shares} from {size:.0f} classes, {lift:.0f} x chance"


def main() -> None:
    """Runs one of the measurements."""
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(run_one(json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("compare", "growth", "crossover", "recall"))
    parser.add_argument("shape", nargs="?", default="amazon670k")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--dense-batches", type=int, default=200)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--dense-rate", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sampled", type=int, default=1024)
    parser.add_argument("--ours", default="{}", help="Arguments of WideClassifier as JSON.")
    options = parser.parse_args()
    {"compare": compare, "growth": growth, "crossover": crossover, "recall": recall}[options.what](
        options
    )


if __name__ == "__main__":
    main()
