"""Runs the command line: python -m evonet."""

from evonet.cli.app import main

if __name__ == "__main__":
    raise SystemExit(main())
