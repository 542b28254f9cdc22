"""The command line. `evonet.cli.app` has the entry point; every command is a module of its own."""
