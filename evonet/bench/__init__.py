"""Benchmarks that anyone can repeat: evonet and other libraries side by side, in one run.

`evonet bench` is the command; `run_suites` is what it calls. Contenders take turns, results are
ratios, and each is compared with the machine's limits, which the same run measures.
"""
