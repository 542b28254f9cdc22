"""Runs the command line: `evonet`, or python -m evonet."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line, which takes a while to import; Ctrl-C may come before it is."""
    try:
        from evonet.cli.app import main as run

        return run()
    except KeyboardInterrupt:
        print("evonet: interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
