"""Benchmarks that anyone can repeat: evonet and others side by side, in one run.

`evonet bench` is the command; `run_suites` is what it calls. Contenders take turns, results are
ratios, and each is held against what the machine can do, measured in the same run.
"""
