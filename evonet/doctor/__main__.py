"""`python -m evonet.doctor`: prints the findings; the exit code is 1 if there is a fault."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from evonet.doctor import Report, examine


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints each finding.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m evonet.doctor",
        description="Examines this installation of evonet and reports how to fix it.",
    )
    parser.add_argument(
        "--verify-gpu",
        action="store_true",
        help="compare GPU and processor bit by bit and measure both; include the output when you "
        "report a problem",
    )
    options = parser.parse_args(arguments)
    findings = []
    for finding in examine(options.verify_gpu):
        print(finding, flush=True)
        findings.append(finding)
    healthy = Report(tuple(findings)).is_healthy
    print("all is well" if healthy else "something is at fault, see the lines marked !!")
    return 0 if healthy else 1


if __name__ == "__main__":
    sys.exit(main())
