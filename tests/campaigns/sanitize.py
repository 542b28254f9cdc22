"""Runs the native tests and the file fuzzers on an extension that a sanitizer watches.

    python -m tests.campaigns.sanitize address    [pytest arguments]
    python -m tests.campaigns.sanitize undefined  [pytest arguments]
    python -m tests.campaigns.sanitize thread     [pytest arguments]

Builds the extension apart from the installed one, in build/native-SANITIZER, and runs the tests of
all folders that use it, then the fuzzers of checkpoints, configs and expressions. With arguments,
pytest gets those instead, and no fuzzer runs: `sanitize address tests/genes -k file`.

`address` finds reads and writes outside of arrays, of freed memory and of ended scopes; leaks are
not looked for, since Python never frees everything. `undefined` finds overflows, wild shifts and
conversions, null and misaligned pointers. `thread` finds data races.

Tests of CUDA kernels do not run: the SIMT runner has sanitizers of its own. Nor do tests that limit
memory or address space (marked limits_memory), of which sanitizers need more, nor those with JAX,
whose threads were compiled without them. The kernels are compiled for this machine's processor and
the baseline. The exit code is 1 if there is a finding, or if a test fails. Findings are files in
build/native-SANITIZER/findings.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import native_builds

COMPILER = "g++"
# -O1: stack traces have the source's lines, and a build takes a quarter of the time.
FLAGS = ["-O1", "-g1", "-fno-omit-frame-pointer"]
CHECKS = {
    "address": "address",
    "undefined": "undefined,float-cast-overflow",
    "thread": "thread",
}
LIBRARIES = {"address": "libasan.so", "undefined": "libubsan.so", "thread": "libtsan.so"}

ROOMS = ["backends", "evaluation", "evaluators", "evolution", "functions", "genes", "images"]
ROOMS += ["layered", "learning", "machines", "native", "numerics", "plugins", "runs", "schedule"]
ROOMS += ["tasks", "test_network.py"]
FUZZERS = [
    ["checkpoints", "damage", "--flips", "500"],
    ["checkpoints", "tamper", "--files", "300"],
    ["config", "--files", "500"],
    ["expressions", "--expressions", "300"],
]


class Selection:
    """A pytest plugin that leaves out the tests that cannot run under a sanitizer."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leaves out files that import JAX, which starts threads at once."""
        return True if "jax" in collection_path.name else None

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leaves out tests by their folder, fixtures, parameters and markers."""
        unfit = {x for x in items if _runs_simt(x) or x.get_closest_marker("limits_memory")}
        config.hook.pytest_deselected(items=list(unfit))
        items[:] = [item for item in items if item not in unfit]


def _runs_simt(item: pytest.Item) -> bool:
    folders = ("tests/simt/", "tests/backends/cuda/")
    fixtures = getattr(item, "fixturenames", ())
    return (
        item.nodeid.startswith(folders)
        or "imaginary_gpus" in fixtures
        or any(word in item.nodeid.lower() for word in ("cuda", "simt"))
    )


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        print(__doc__)
        return 2
    name, arguments = sys.argv[1], sys.argv[2:]
    start = time.perf_counter()
    flags = [*FLAGS, f"-fsanitize={CHECKS[name]}"]
    library = native_builds.build(name, COMPILER, flags, levels="native")
    print(f"{name}: built in {time.perf_counter() - start:.0f} s", flush=True)
    findings = library.parent / "findings"
    shutil.rmtree(findings, ignore_errors=True)
    findings.mkdir()
    env = native_builds.environment(library, _options(name, findings))
    native_builds.check(library, env)

    folders = [f"tests/{room}" for room in ROOMS]
    pytest_command = ["pytest", "-q", "-p", "tests.campaigns.sanitize", *(arguments or folders)]
    commands = [pytest_command]
    if not arguments:
        commands += [[f"tests.campaigns.{fuzzer[0]}", *fuzzer[1:]] for fuzzer in FUZZERS]
    failed = 0
    for command in commands:
        line = [sys.executable, "-m", *command]
        failed += subprocess.run(line, env=env, cwd=native_builds.ROOT).returncode != 0
    count = _show(findings)
    seconds = time.perf_counter() - start
    print(f"{name}: {count} findings, {failed} failed commands of {len(commands)}, {seconds:.0f} s")
    return int(count + failed > 0)


def _options(name: str, findings: Path) -> dict[str, str]:
    """Returns the environment that a sanitizer needs inside an ordinary Python."""
    preload = [_library(LIBRARIES[name]), _library("libstdc++.so.6")]
    common = f"log_path={findings}/{name}:exitcode=66:handle_segv=0"
    return {
        # The sanitizer must come before all libraries, and libstdc++ before it looks for throw.
        "LD_PRELOAD": " ".join(preload),
        # GCC 12 puts vectors of 64 bytes at multiples of 32 into frames that outlive a function,
        # and then faults on them; so frames are not watched after their end.
        "ASAN_OPTIONS": f"{common}:detect_leaks=0:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TSAN_OPTIONS": f"{common}:halt_on_error=0:die_after_fork=0",
        # Each of Python's objects becomes a block of memory with guards of its own.
        "PYTHONMALLOC": "malloc",
    }


def _library(name: str) -> str:
    command = [COMPILER, f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _show(findings: Path) -> int:
    """Prints the findings' first lines; returns how many there are."""
    count = 0
    for path in sorted(findings.iterdir()):
        text = path.read_text(errors="replace")
        heads = [x for x in text.splitlines() if "ERROR:" in x or "runtime error:" in x]
        heads += [x for x in text.splitlines() if x.startswith("WARNING: ")]
        count += max(1, len(heads))
        print(f"{path}:", *heads[:20], sep="\n  ")
    return count


def pytest_configure(config: pytest.Config) -> None:
    """Makes this module a pytest plugin (-p), also in workers of xdist."""
    config.pluginmanager.register(Selection(), "sanitized")


if __name__ == "__main__":
    sys.exit(main())
