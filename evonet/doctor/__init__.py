"""The doctor: examines an installation, tests it, and reports how to fix it.

    python -m evonet.doctor
    python -m evonet.doctor --verify-gpu

findings     what was found, and how it is printed
machine      Python, compiled extension, workers, driver, CuPy, NVRTC, GPUs
generation   where the time of a generation goes, here and by a model of two cards
self_test    a comparison and a measurement of about a second
speed        throughput of forward passes and of episodes
comparisons  all computations that must have equal bits on a GPU and on the processor
verify       all comparisons, and throughput
"""

from __future__ import annotations

from collections.abc import Iterator

from evonet.doctor.findings import Finding, Report

__all__ = ["Finding", "Report", "examine"]


def examine(verify_gpu: bool = False) -> Iterator[Finding]:
    """Examines everything, and yields each finding as soon as it is made.

    Args:
        verify_gpu: Whether to compare GPU and processor thoroughly, which takes about a minute.
    """
    from evonet.doctor.generation import look_at_generation
    from evonet.doctor.machine import (
        look_at_cuda,
        look_at_extension,
        look_at_python,
        look_at_workers,
    )
    from evonet.doctor.self_test import look_at_results

    yield from look_at_python()
    yield from look_at_extension()
    yield from look_at_workers()
    yield from look_at_cuda()
    yield from look_at_results()
    yield from look_at_generation()
    if verify_gpu:
        from evonet.doctor.verify import verify

        yield from verify()
