"""Mutates XMC texts and saved wide models; each must be read, or refused in one clear line.

    python -m tests.campaigns.wide [--files 1000] [--seed 1]

Half of `--files` are texts, which the native reader and the reference must read alike or refuse in
the same line; the other half are models, of which `WideClassifier.load` must refuse every one whose
contents changed. The exit code is 1 if anything else happened. `--seed` chooses the mutations.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from evonet import EvonetError, WideClassifier
from evonet.installation import require_native
from evonet.learning.wide.planted import plant
from evonet.learning.wide.text import write_xmc
from evonet.learning.wide.text_reference import read_text

WORDS = (b"", b"\n", b" ", b":", b",", b"-1", b"0", b"99999999999", b"nan", b"1e999", b"\xff\x00")


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Replaces, drops or repeats some bytes."""
    text = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        kind = rng.randrange(5)
        if kind == 0:
            text[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            text[at : at + rng.randint(0, 8)] = rng.choice(WORDS)
        elif kind == 2:
            del text[at : at + rng.randint(1, 40)]
        elif kind == 3:
            text[at:at] = text[at : at + rng.randint(1, 40)]
        else:
            del text[at:]
        if not text:
            return b"x"
    return bytes(text)


def outcome(read: object, *arguments: object) -> tuple[str, str]:
    """What a reader makes of something: what it read, or its message."""
    try:
        found = read(*arguments)  # type: ignore[operator]
    except EvonetError as error:
        message = str(error)
        clear = "\n" not in message and 10 < len(message) < 400
        return "refused" if clear else "unclear message", message.split(":")[0]
    except Exception as error:
        return f"raised {type(error).__name__}", str(error)
    shown = [each.tolist() if hasattr(each, "tolist") else each for each in found]
    return "read", str(shown)


def try_text(data: bytes) -> str:
    """Compares both readers on a text."""
    native = outcome(require_native().read_xmc, data, "file")
    reference = outcome(read_text, data, "file")
    return native[0] if native == reference else f"differs: {native} and {reference}"


def try_model(data: bytes, intact: bytes, path: Path) -> str:
    """Loads a damaged model."""
    path.write_bytes(data)
    found = outcome(lambda: [WideClassifier.load(path).n_iter_])[0]
    return "read although it changed" if found == "read" and data != intact else found


def main() -> int:
    """Runs the campaign, and prints how often each outcome happened."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        x, y = plant("small", 6, seed=1)
        write_xmc(home / "text", x, y)
        WideClassifier(hidden=16, epochs=1).fit(*plant("small", 60, seed=1)).save(home / "model")
        text, model = (home / "text").read_bytes(), (home / "model").read_bytes()
        for _ in range(options.files // 2):
            counts[f"text: {try_text(mutate(text, rng))}"] += 1
            damaged = try_model(mutate(model, rng), model, home / "damaged")
            counts[f"model: {damaged}"] += 1
    for name, count in counts.most_common():
        print(f"{count:6} {name}")
    fine = {"text: read", "text: refused", "model: refused", "model: read"}
    return 0 if set(counts) <= fine else 1


if __name__ == "__main__":
    sys.exit(main())
