"""Timings, run as python -m benchmarks.NAME."""
