"""Breaks config files in many ways, and checks the message for each.

    python -m tests.campaigns.config [--files 10000] [--seed 1]

Takes valid TOML and neat-python INI files and deletes, doubles, renames and moves keys, puts in
values of wrong types, huge numbers and odd characters, cuts files short, swaps sections and writes
random bytes. For every file,

  * `Config.load` returns a config or raises a ConfigError, never another exception;
  * an error has one line per fault, each starts with the file's name, and a fault of a key names
    the key;
  * one error names all keys that were damaged;
  * damage that must be refused is refused, and damage that does no harm is accepted;
  * an accepted config survives being written and read again.

The exit code is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from evonet.config import Config
from evonet.config.neat_keys import DEFAULTS, DEMANDED, find_place
from evonet.config.schema import settings
from evonet.errors import MOST_FAULTS, ConfigError
from evonet.installation import resource_folder

KEY = re.compile(r"^(\w+)(\s*=\s*)(.*)$")
HEADER = re.compile(r"^\[(\w+)\]")
ODD = (
    "\u00e9",
    "\u4e2d",
    "\U0001f9ec",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\x0b",
    "\x7f",
    "\xa0",
    "\u0663",
)
# Wrong for every setting there is.
BAD_TOML = ("{}", "{a = 1}", "1979-05-27", "[[1]]", "nan", "-inf", "1e999", "[]", "9" * 5000, '""')
BAD_INI = (
    "",
    "abc def",
    "nan",
    "-inf",
    "1e999",
    "[]",
    "None!",
    "9" * 5000,
    "0x10",
    "1 # one",
    "5%",
)
OPTIONAL = {
    place.key for name in settings(Config) if name not in DEMANDED and (place := find_place(name))
}
ENDINGS = {"toml": (".toml",), "ini": (".ini", ".cfg", "")}


class Damaged(NamedTuple):
    """A file after an accident.

    Attributes:
        data: What it holds.
        refused: Whether it must be refused; None if it may be either.
        keys: What the error must name if there is one.
    """

    data: bytes
    refused: bool | None = None
    keys: tuple[str, ...] = ()


Damage = Callable[[str, str, random.Random], Damaged]


def key_lines(lines: Sequence[str]) -> list[int]:
    return [i for i, line in enumerate(lines) if KEY.match(line)]


def section_of(lines: Sequence[str], index: int) -> str:
    headers = [m[1] for line in lines[: index + 1] if (m := HEADER.match(line))]
    return headers[-1] if headers else ""


def parts(line: str) -> tuple[str, str, str]:
    match = KEY.match(line)
    assert match
    return match[1], match[2], match[3]


def encode(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode()


# ---- damage to keys: what must happen is known ---------------------------------------------------


def delete_key(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    at = rng.choice(key_lines(lines))
    key = parts(lines.pop(at))[0]
    if form == "toml":
        # A default takes its place, which may not fit what remains.
        harmless = not key.endswith(("_options", "_default", "_value", "threshold_min", "size"))
        return Damaged(encode(lines), False if harmless and key != "elitism" else None)
    return Damaged(encode(lines), None if key in OPTIONAL else True, (key,))


def double_key(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    at = rng.choice(key_lines(lines))
    lines.insert(at + rng.randint(0, 1), lines[at])
    return Damaged(encode(lines), True, (parts(lines[at])[0],))


def rename_key(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    at = rng.choice([i for i in key_lines(lines) if section_of(lines, i) != "task"])
    key, equals, value = parts(lines[at])
    spot = rng.randrange(len(key))
    letter = rng.choice("qxz_7")
    new = rng.choice([key[:spot] + letter + key[spot:], key[:spot] + letter + key[spot + 1 :]])
    if new == key:
        new += "q"
    lines[at] = new + equals + value
    if form == "ini" and section_of(lines, at) == "DefaultGenome":
        return Damaged(encode(lines), None if key in OPTIONAL else True, (key,))
    return Damaged(encode(lines), True, (new,))


def wrong_values(text: str, form: str, rng: random.Random) -> Damaged:
    """Spoils one to five keys; the one error must name them all."""
    lines = text.split("\n")
    spoilt = []
    settable = [i for i in key_lines(lines) if section_of(lines, i) != "task"]
    for at in rng.sample(settable, rng.randint(1, 5)):
        key, equals, _ = parts(lines[at])
        lines[at] = key + equals + rng.choice(BAD_TOML if form == "toml" else BAD_INI)
        spoilt.append(key)
    return Damaged(encode(lines), True, tuple(spoilt))


def unquoted_values(text: str, form: str, rng: random.Random) -> Damaged:
    """Writes text where TOML wants quotes, and forgets to end strings."""
    if form == "ini":
        return wrong_values(text, form, rng)
    lines = text.split("\n")
    spoilt = []
    for at in rng.sample(key_lines(lines), rng.randint(1, 5)):
        key, equals, _ = parts(lines[at])
        lines[at] = key + equals + rng.choice(["max", "True", '"max', "'a", "1 2", "", "01", "1."])
        spoilt.append(key)
    return Damaged(encode(lines), True, tuple(spoilt))


def move_key(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    at = rng.choice([i for i in key_lines(lines) if section_of(lines, i) != "task"])
    home = section_of(lines, at)
    line = lines.pop(at)
    key = parts(line)[0]
    targets = [
        i for i, x in enumerate(lines) if (m := HEADER.match(x)) and m[1] not in (home, "task")
    ]
    target = rng.choice(targets)
    lines.insert(target + 1, line)
    harmless = section_of(lines, target) == "DefaultGenome" and key in OPTIONAL
    return Damaged(encode(lines), None if harmless else True, (key,))


# ---- damage to the whole file: any outcome, but a clean one --------------------------------------


def huge_number(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    at = rng.choice(key_lines(lines))
    key, equals, _ = parts(lines[at])
    size = rng.choice([10, 19, 20, 39, 300, 308, 309, 400, 4299, 4301])
    number = rng.choice(["", "-"]) + rng.choice("123456789") + "0" * size
    lines[at] = key + equals + number + rng.choice(["", ".0", "e5"])
    return Damaged(encode(lines), None, (key,))


def odd_characters(text: str, form: str, rng: random.Random) -> Damaged:
    letters = list(text)
    for _ in range(rng.randint(1, 4)):
        letters.insert(rng.randrange(len(letters) + 1), rng.choice(ODD))
    return Damaged("".join(letters).encode())


def truncate(text: str, form: str, rng: random.Random) -> Damaged:
    data = text.encode()
    return Damaged(data[: rng.randrange(len(data))])


def swap_sections(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    a, b = rng.sample([i for i, line in enumerate(lines) if HEADER.match(line)], 2)
    lines[a], lines[b] = lines[b], lines[a]
    return Damaged(encode(lines), True)


def break_header(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if HEADER.match(line)])
    name = lines[at].strip("[]")
    new = ["", f"[{name}", f"{name}]", f"[{name}x]", f"[[{name}]]", f"[{name}]\n[{name}]", "[]"]
    lines[at] = rng.choice(new)
    return Damaged(encode(lines))


def random_bytes(text: str, form: str, rng: random.Random) -> Damaged:
    data = bytearray(text.encode())
    for _ in range(rng.choice([1, 1, 2, 5, 50])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return Damaged(bytes(data))


def garbage(text: str, form: str, rng: random.Random) -> Damaged:
    kind = rng.randrange(4)
    if kind == 0:
        return Damaged(rng.randbytes(rng.randrange(400)))
    if kind == 1:
        return Damaged("".join(rng.choices("[]{}=.,\"'#\n \\ab1e-", k=rng.randrange(200))).encode())
    if kind == 2:
        return Damaged(f"a = {'[' * rng.choice([10, 100, 5000])}".encode())
    return Damaged(f"[task]\n{'a.' * rng.choice([10, 100, 5000])}a = 1".encode())


def shuffle_lines(text: str, form: str, rng: random.Random) -> Damaged:
    lines = text.split("\n")
    rng.shuffle(lines)
    return Damaged(encode(lines))


def encoding(text: str, form: str, rng: random.Random) -> Damaged:
    comment = "# \u00e9\n" + text
    return rng.choice(
        [
            Damaged(b"\xef\xbb\xbf" + text.encode(), False),
            Damaged(text.replace("\n", "\r\n").encode(), False),
            Damaged(comment.encode(), False),
            Damaged(comment.encode("latin-1"), True),
            Damaged(text.encode("utf-16"), True),
            Damaged(text.encode("utf-16-le"), True),
            Damaged(text.replace("\n", "\r").encode(), form == "toml"),
            Damaged(b"#" * (1 << 19), True),
            Damaged(b"", form == "ini"),
        ]
    )


def untouched(text: str, form: str, rng: random.Random) -> Damaged:
    return Damaged(text.encode(), False)


DAMAGES: tuple[Damage, ...] = (
    delete_key,
    double_key,
    rename_key,
    wrong_values,
    unquoted_values,
    move_key,
    huge_number,
    odd_characters,
    truncate,
    swap_sections,
    break_header,
    random_bytes,
    garbage,
    shuffle_lines,
    encoding,
    untouched,
)


# ---- the campaign --------------------------------------------------------------------------------


def valid_files() -> list[tuple[str, str]]:
    """Gives the texts that are damaged, with their formats."""
    configs = resource_folder("configs")
    xor = (configs / "xor.toml").read_text()
    ini = (configs / "forward-neat.ini").read_text()
    newest = ini.replace(
        "[DefaultSpeciesSet]", "compatibility_excess_coefficient = auto\n\n[DefaultSpeciesSet]"
    ).replace("[DefaultStagnation]", "target_num_species = none\n\n[DefaultStagnation]")
    task = '[task]\nname = "x"\nlist = [1, 2.5, "\u00e9"]\ninner = {a = true, b = {c = []}}'
    full = Config.loads(xor.replace('[task]\nname = "xor"', task)).to_toml()
    return [
        (xor, "toml"),
        (full, "toml"),
        (ini, "ini"),
        (newest + "fitness_sharing = canonical\n", "ini"),
    ]


def problem_of(path: Path, damaged: Damaged) -> tuple[str, str]:
    """Loads a damaged file; returns what happened, and what is wrong with that or ""."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            config = Config.load(path)
    except ConfigError as error:
        return "refused", _problem_of_error(error, str(path), damaged)
    except Exception:
        return "crashed", traceback.format_exc()
    if damaged.refused:
        return "accepted", "It should have been refused."
    again = Config.loads(config.to_toml())
    same = again == config and again.digest() == config.digest()
    return "accepted", "" if same else "It differs after being written and read again."


def _problem_of_error(error: ConfigError, path: str, damaged: Damaged) -> str:
    lines = str(error).split("\n")
    if damaged.refused is False:
        return f"It should have been accepted:\n{error}"
    more = len(error.faults) - MOST_FAULTS
    if more > 0 and lines.pop() != f"{path}: There are {more:,} more faults.":
        return f"The last line does not count the rest:\n{error}"
    if not error.faults or len(lines) != min(len(error.faults), MOST_FAULTS):
        return f"There are {len(error.faults)} faults on {len(lines)} lines:\n{error}"
    for line, fault in zip(lines, error.faults, strict=False):
        if not line.startswith(f"{path}: ") or fault.key not in fault.message:
            return f"A line does not name the file and the key {fault.key}:\n{line}"
        if not line.isprintable() or len(line) > len(path) + 1000:
            return f"A line is long or garbled:\n{line[:2000]!r}"
    missing = [key for key in damaged.keys if not any(key in f.message for f in error.faults)]
    return f"No line names {', '.join(missing)}:\n{error}" if missing else ""


def run(
    files: int, seed: int, folder: Path
) -> tuple[Counter[tuple[str, str]], list[str], tuple[float, str]]:
    """Damages and loads files.

    Args:
        files: The number of files.
        seed: Fixes all damage.
        folder: Where they are written.

    Returns:
        How often each damage had which outcome; all problems; seconds and damage of the slowest.
    """
    rng = random.Random(seed)
    texts = valid_files()
    counts: Counter[tuple[str, str]] = Counter()
    problems = []
    slowest = (0.0, "")
    for number in range(files):
        damage = DAMAGES[number % len(DAMAGES)]
        text, form = rng.choice(texts)
        damaged = damage(text, form, rng)
        path = folder / f"damaged{rng.choice(ENDINGS[form])}"
        path.write_bytes(damaged.data)
        begin = time.perf_counter()
        outcome, problem = problem_of(path, damaged)
        slowest = max(slowest, (time.perf_counter() - begin, damage.__name__))
        counts[damage.__name__, outcome] += 1
        if problem:
            counts[damage.__name__, "PROBLEM"] += 1
            problems.append(f"file {number}, {damage.__name__}, {form}: {problem}")
    return counts, problems, slowest


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    unknown = [name for name in (*DEMANDED, *DEFAULTS) if name not in settings(Config)]
    assert not unknown, unknown
    with tempfile.TemporaryDirectory() as folder:
        counts, problems, slowest = run(options.files, options.seed, Path(folder))
    outcomes = ("accepted", "refused", "crashed", "PROBLEM")
    print(f"{'damage':<18}" + "".join(f"{outcome:>10}" for outcome in outcomes))
    for damage in DAMAGES:
        row = "".join(f"{counts[damage.__name__, outcome]:>10}" for outcome in outcomes)
        print(f"{damage.__name__:<18}{row}")
    totals = (sum(n for (_, what), n in counts.items() if what == outcome) for outcome in outcomes)
    print(f"{'all':<18}" + "".join(f"{total:>10}" for total in totals))
    print(f"{options.files} files, seed {options.seed}")
    print(f"slowest load: {slowest[0] * 1e3:.0f} ms, after {slowest[1]}")
    for problem in problems[:20]:
        print(f"\n{problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
