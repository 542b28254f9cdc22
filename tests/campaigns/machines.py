"""Runs the native kernels on another processor, emulated, and compares all bits with this one.

    python -m tests.campaigns.machines [--compiler aarch64-linux-gnu-g++] [--run qemu-aarch64]
                                       [--require]

Records inputs for compiling, forward passes, losses, rollouts, breeding and species, and what the
installed extension makes of them at each of its SIMD levels. Then compiles the kernels and a small
program without Python for the other machine, runs it there, and compares the results, bit for bit.
Compiled files are kept in build/machines and made again when a header changed.

The exit code is 1 if a bit differs. If the compiler or the emulator is missing, a line says so;
with --require, that fails too. Debian has them in g++-aarch64-linux-gnu and qemu-user.
`--compiler g++ --run ''` compares the program with the extension on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evonet import _native
from tests.machines import case_file
from tests.machines.cases import all_cases

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
NATIVE = KERNELS / "native"
# The flags of CMakeLists.txt for kernels.
FLAGS = ["-std=c++17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-w"]
FLAGS += [f"-I{KERNELS}", "-DEVONET_ISA=baseline", "-MMD"]
ISA_SOURCES = sorted(path for path in (NATIVE / "isa").glob("isa*.cpp"))
SOURCES = [
    ROOT / "tests" / "machines" / "harness.cpp",
    NATIVE / "breed.cpp",
    NATIVE / "compile_schedule.cpp",
    NATIVE / "lane_groups.cpp",
    NATIVE / "link_readers.cpp",
    NATIVE / "lane_plan.cpp",
    NATIVE / "rollout.cpp",
    NATIVE / "speciate.cpp",
    NATIVE / "thread_pool.cpp",
    NATIVE / "isa" / "usable_isas.cpp",
    *ISA_SOURCES,
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="aarch64-linux-gnu-g++")
    parser.add_argument("--run", default="qemu-aarch64", help="the emulator's command")
    parser.add_argument("--require", action="store_true", help="fail if a tool is missing")
    options = parser.parse_args()
    runner = shlex.split(options.run)
    for tool in (options.compiler, *runner[:1]):
        if shutil.which(tool) is None:
            print(f"there is no {tool} here: no other machine was compared")
            return int(options.require)

    folder = ROOT / "build" / "machines" / options.compiler
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    program = compile_harness(options.compiler, folder)
    built = time.perf_counter()
    expected = record(folder / "inputs.bin")
    recorded = time.perf_counter()
    results = folder / "results.bin"
    subprocess.run([*runner, program, folder / "inputs.bin", results], check=True)
    ran = time.perf_counter()
    differences = compare(expected, case_file.read(results))
    print(
        f"compiled in {built - start:.1f} s, recorded in {recorded - built:.1f} s, "
        f"ran in {ran - recorded:.1f} s; {differences} differences"
    )
    return int(differences > 0)


def compile_harness(compiler: str, folder: Path) -> Path:
    """Compiles what is older than its sources; returns the program's path."""

    def compile_one(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        if _is_old(target):
            command = [compiler, *FLAGS, "-c", str(source), "-o", str(target)]
            subprocess.run(command, check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, SOURCES))
    program = folder / "harness"
    link = [compiler, "-static", "-pthread", *map(str, objects), "-o", str(program)]
    # A static program needs all of the threads' library, which weak symbols would leave out.
    link += ["-Wl,--whole-archive", "-lpthread", "-Wl,--no-whole-archive"]
    subprocess.run(link, check=True)
    return program


def _is_old(target: Path) -> bool:
    """Whether a file that the compiler listed beside an object is newer than the object."""
    listed = target.with_suffix(".d")
    if not target.exists() or not listed.exists():
        return True
    words = listed.read_text().replace("\\\n", " ").split()[1:]
    made = target.stat().st_mtime
    return any(not Path(word).exists() or Path(word).stat().st_mtime > made for word in words)


def record(path: Path) -> dict[str, dict[str, bytes]]:
    """Writes the inputs; returns the extension's results, which are equal at all SIMD levels."""
    inputs: dict[str, case_file.Arrays] = {}
    expected: dict[str, dict[str, bytes]] = {}
    for case in all_cases():
        inputs[case.name] = case.inputs
        for level in _native.simd_levels():
            found = {name: array.tobytes() for name, array in case.run(level).items()}
            if expected.setdefault(case.name, found) != found:
                raise SystemExit(f"{case.name}: SIMD level {level} has other bits")
    case_file.write(path, inputs)
    return expected


def compare(expected: dict[str, dict[str, bytes]], found: dict[str, dict[str, bytes]]) -> int:
    """Prints a hash per operation, and the arrays that differ; returns how many do."""
    differences = 0
    levels = sorted({name.partition("@")[2] for name in found})
    print(f"{len(expected)} cases, here at {', '.join(_native.simd_levels())}; there {levels}")
    digests: dict[str, tuple[hashlib._Hash, hashlib._Hash, list[str]]] = {}
    for name, arrays in expected.items():
        operation = name.split("/")[0]
        here, there, cases = digests.setdefault(operation, (hashlib.sha256(), hashlib.sha256(), []))
        cases.append(name)
        for level in levels:
            other = found.get(f"{name}@{level}", {})
            for array, data in arrays.items():
                here.update(data)
                there.update(other.get(array, b""))
                if other.get(array) != data:
                    differences += 1
                    print(f"  {name}: {array} differs at level {level}")
    for operation, (here, there, cases) in digests.items():
        a, b = here.hexdigest()[:16], there.hexdigest()[:16]
        print(f"  {operation:9} {len(cases):3} cases  here {a}  there {b}")
    return differences


if __name__ == "__main__":
    sys.exit(main())
