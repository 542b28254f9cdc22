"""Builds the extension with another compiler, and runs all tests on it.

    python -m tests.campaigns.compiler clang++ [pytest arguments]

The build has a folder of its own, build/native-COMPILER, and the installed extension stays as it
is. Warnings are printed. The exit code is pytest's.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

from tests.support import native_builds


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    compiler, arguments = sys.argv[1], sys.argv[2:]
    start = time.perf_counter()
    library = native_builds.build(Path(compiler).name, compiler)
    log = (library.parent / "build.log").read_text()
    warnings = re.findall(r"^.*: warning: .*$", log, re.MULTILINE)
    print(f"{compiler}: built in {time.perf_counter() - start:.0f} s", *warnings, sep="\n")
    env = native_builds.environment(library, {})
    native_builds.check(library, env)
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, env=env, cwd=native_builds.ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
