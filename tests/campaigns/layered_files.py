"""Files of layered networks, mutated: each is read or refused with one line, and nothing crashes.

    python -m tests.campaigns.layered_files [--mutations 2000] [--seed 0]

Graph Challenge folders, images, the binary cache (with checksums that match, too) and safetensors
files of pruned models are cut, filled with other bytes and given numbers that make no sense.
"""

from __future__ import annotations

import argparse
import collections
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from evonet import EvonetError, Network
from evonet.files.checksummed_tensors import read_tensors, write_tensors
from evonet.genes.layers import Layer
from evonet.layered import (
    load_layers,
    load_pruned,
    radix_layers,
    read_challenge,
    read_inputs,
    save_layers,
)
from evonet.layered.files import ARRAYS, FORMAT, VERSION
from evonet.schedule.layered import schedule_of_layers

NUMBERS = ("0", "-1", "33", "1e30", "nan", "inf", "-inf", "1.5", "x", "", "0x1", "9" * 400, "\0")


def spoil_text(data: bytes, rng: random.Random) -> bytes:
    """Changes a word, a line or the end of a table."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        words = lines[at].split(b"\t")
        words[rng.randrange(len(words))] = rng.choice(NUMBERS).encode()
        lines[at] = b"\t".join(words)
    elif kind == 1:
        lines[at] += b"\t7"
    elif kind == 2:
        lines.insert(at, lines[at])
    elif kind == 3:
        return data[: rng.randrange(len(data))]
    else:
        return spoil_bytes(data, rng)
    return b"\n".join(lines)


def spoil_bytes(data: bytes, rng: random.Random) -> bytes:
    """Cuts a file, changes some bytes or claims a header of 10 GB."""
    changed = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(changed[: rng.randrange(len(changed))])
    if kind == 1 and len(changed) > 8:
        changed[:8] = (10 << 30).to_bytes(8, "little")
        return bytes(changed)
    if kind == 2:
        return bytes(changed) + rng.randbytes(rng.randrange(1, 40))
    for _ in range(rng.choice((1, 1, 3, 20))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def spoil_arrays(path: Path, rng: random.Random) -> None:
    """Changes an array of the cache, with a checksum that matches."""
    settings, arrays = read_tensors(path, FORMAT, VERSION, ARRAYS)
    name = rng.choice(ARRAYS)
    array = arrays[name].copy()
    kind = rng.randrange(4)
    if kind == 0 and array.size:
        bad = (-1, 10**6, 2**31 - 1) if array.dtype.kind == "i" else (np.nan, np.inf, -np.inf)
        array[rng.randrange(array.size)] = rng.choice(bad)
    elif kind == 1:
        array = array[: rng.randrange(array.size)]
    elif kind == 2:
        array = array.reshape(1, -1)
    else:
        settings["activation"] = rng.choice((["relu"], [], "relu", None, ["no", "no", "no"], 7))
    arrays[name] = np.ascontiguousarray(array)
    del settings["format"], settings["version"]
    write_tensors(path, FORMAT, VERSION, settings, arrays)


def make_good(folder: Path) -> None:
    """Writes one good file of each kind."""
    layers = list(radix_layers(32, 3))
    save_layers(folder / "cache.safetensors", layers)
    challenge = folder / "challenge"
    challenge.mkdir()
    for i, layer in enumerate(layers, 1):
        target = np.repeat(np.arange(32), np.diff(layer.start))
        lines = (
            f"{s + 1}\t{t + 1}\t{w:g}\n"
            for s, t, w in zip(layer.source, target, layer.weight, strict=True)
        )
        (challenge / f"n32-l{i}.tsv").write_text("".join(lines))
    rng = np.random.default_rng(0)
    state = {f"{i}.weight": rng.normal(size=(4, 4)).astype(np.float32) for i in range(3)}
    save_file(state | {"0.bias": np.ones(4, np.float32)}, folder / "model.safetensors")
    np.save(folder / "images.npy", rng.random((5, 32)).astype(np.float32))
    (folder / "images.tsv").write_text("1\t2\t1\n2\t32\t1\n4\t1\t1\n")


def run_layers(layers: list[Layer]) -> None:
    """What was read must run."""
    schedule = schedule_of_layers(layers)
    Network(schedule, "cpu", 1)(np.ones((3, schedule.num_inputs), schedule.dtype))


def attempt(rng: random.Random, good: Path, work: Path) -> str:
    """Mutates one file and reads it; returns its kind and what came of it."""
    readers: dict[str, Callable[[Path], object]] = {
        "challenge": lambda path: run_layers(read_challenge(path.parent)),
        "cache": lambda path: run_layers(load_layers(path)),
        "model": lambda path: run_layers(load_pruned(path)),
        "images.npy": lambda path: read_inputs(path, 32),
        "images.tsv": lambda path: read_inputs(path, 32),
    }
    kind = rng.choice(list(readers))
    path = work / "file"
    if kind == "challenge":
        for file in work.glob("*"):
            file.unlink()
        for file in (good / "challenge").glob("*.tsv"):
            (work / file.name).write_bytes(file.read_bytes())
        path = work / f"n32-l{rng.randrange(1, 4)}.tsv"
        path.write_bytes(spoil_text(path.read_bytes(), rng))
    elif kind == "cache":
        path = work / "cache.safetensors"
        path.write_bytes((good / "cache.safetensors").read_bytes())
        if rng.random() < 0.5:
            spoil_arrays(path, rng)
        else:
            path.write_bytes(spoil_bytes(path.read_bytes(), rng))
    elif kind == "model":
        path.write_bytes(spoil_bytes((good / "model.safetensors").read_bytes(), rng))
    else:
        path = work / kind
        spoil = spoil_bytes if kind.endswith("npy") else spoil_text
        path.write_bytes(spoil((good / kind).read_bytes(), rng))
    try:
        readers[kind](path)
    except (EvonetError, OSError) as error:
        if "\n" in str(error) or len(str(error)) > 1000:
            raise AssertionError(f"not one line: {error!r}") from error
        return f"{kind}: refused"
    return f"{kind}: read"


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutates files of layered networks.")
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        good, work = Path(folder) / "good", Path(folder) / "work"
        good.mkdir()
        work.mkdir()
        make_good(good)
        for i in range(options.mutations):
            try:
                outcomes[attempt(random.Random(f"{options.seed} {i}"), good, work)] += 1
            except Exception as error:
                raise SystemExit(f"mutation {i}: {type(error).__name__}: {error}") from error
    for outcome, count in sorted(outcomes.items()):
        print(f"{outcome:24} {count:6}")
    print(f"{options.mutations} mutations, 0 crashes")


if __name__ == "__main__":
    main()
