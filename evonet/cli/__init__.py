"""The command line. `evonet.cli.app` is the entry point; each command has a module."""
