"""Compiled kernels are kept where that is possible, and compiled once where it is not."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evonet
from evonet.backends.cuda import backend as cuda_backend
from evonet.backends.cuda import compiler
from tests.cupy_stand_in import Machine

Lend = Callable[..., Machine]
X = np.ones((2, 3), np.float32)


def population(seed: int = 1) -> evonet.Population:
    return evonet.Population.random(20, 3, 2, num_nodes=6, num_connections=12, seed=seed)


def run(seed: int) -> list[str]:
    """Evaluates a new network with two kernels; returns all that is said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        network = evonet.compile(population(seed), backend="cuda")
        found = network(X), network.loss(X, X[:, :2])
    cpu = evonet.compile(population(seed), backend="cpu")
    np.testing.assert_array_equal(found[0], cpu(X))
    np.testing.assert_array_equal(found[1], cpu.loss(X, X[:, :2]))
    return [str(warning.message) for warning in said]


def forget_what_this_process_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_images", {})


def no_space(path: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"{path}.{os.urandom(4).hex()}")


def quota_exceeded(path: Any) -> Any:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), f"{path}.{os.urandom(4).hex()}")


def read_only(path: Any) -> Any:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"{path}.{os.urandom(4).hex()}")


@pytest.mark.parametrize("fault", [no_space, quota_exceeded, read_only])
def test_a_cache_that_cannot_be_written_warns_once_and_compiles_once(
    fault: Any, imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    compiler._warn_once.cache_clear()
    monkeypatch.setattr(compiler, "open_atomic", fault)
    said = run(1)
    assert len(said) == 1
    assert "cannot keep compiled kernels in" in said[0]
    assert "EVONET_CACHE" in said[0]
    compiled = machine.num_compiled
    assert compiled == 3  # the small kernel of the search for GPUs, a forward pass, a loss
    assert [run(seed) for seed in (2, 3)] == [[], []]
    assert machine.num_compiled == compiled


def test_a_file_in_the_way_of_the_cache_is_no_obstacle(
    imaginary_gpus: Lend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    compiler._warn_once.cache_clear()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EVONET_CACHE", str(tmp_path / "file"))
    assert len(run(1)) == 1
    assert run(2) == []
    assert machine.num_compiled == 3


def test_a_read_only_cache_that_has_the_kernels_is_used_without_a_word(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = imaginary_gpus()
    run(1)
    compiled = machine.num_compiled
    forget_what_this_process_knows(monkeypatch)
    monkeypatch.setattr(compiler, "open_atomic", read_only)
    assert run(2) == []
    assert machine.num_compiled == compiled


def test_several_gpus_compile_a_kernel_once(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    machine = imaginary_gpus(num_devices=2)
    both = threading.Barrier(2)
    honest = compiler.compile_kernel
    network = evonet.compile(population(), backend="cuda")

    def wait_for_the_other(*kernel: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)  # whoever comes second would compile at the same time
        return honest(*kernel)

    monkeypatch.setattr(compiler, "compile_kernel", wait_for_the_other)
    before = machine.num_compiled
    network(X)
    assert {device for name, device in machine.log if name.startswith("forward")} == {0, 1}
    assert machine.num_compiled == before + 1


def test_several_gpus_keep_their_threads(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    imaginary_gpus(num_devices=2)
    for seed in range(4):
        run(seed)
    threads = [t for t in threading.enumerate() if t.name.startswith("evonet-gpu")]
    pool = cuda_backend.threads_for(2)
    assert 1 <= len(pool._threads) <= 2
    assert pool._threads <= set(threads)
