"""The doctor: what it finds, what it advises, and that it would see a single wrong bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evonet.backends.cuda import discovery
from evonet.backends.cuda.cards import CARDS
from evonet.backends.cuda.device import Device
from evonet.doctor import Finding, Report, generation, machine, self_test, verify
from evonet.doctor.__main__ import main
from evonet.doctor.comparisons import COMPARISONS, BitComparison, compare
from evonet.doctor.speed import Load, Play
from evonet.installation import require_native
from tests.cupy_stand_in import Machine

Lend = Callable[..., Machine]


@pytest.fixture(autouse=True)
def be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "SECONDS", 0.0)


def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "has_cupy", lambda: False)
    monkeypatch.setattr(discovery, "driver_version", lambda: 0)
    monkeypatch.setattr(discovery, "_search", lambda: (os.getpid(), "CuPy is not installed."))


def find(findings: Any, name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


# ---- the report ---------------------------------------------------------------------------------


def test_a_finding_shows_its_fix_below() -> None:
    finding = Finding("CuPy", "fault", "broken\nbadly", "install it")
    assert str(finding).splitlines() == [
        "!!  CuPy        broken",
        "                badly",
        "                fix: install it",
    ]


def test_what_is_absent_is_no_fault() -> None:
    assert Report((Finding("a", "ok", ""), Finding("b", "absent", "no"))).is_healthy
    assert not Report((Finding("a", "ok", ""), Finding("b", "fault", "no"))).is_healthy


def test_a_processor_alone_is_healthy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    no_cupy(monkeypatch)
    assert main([]) == 0
    said = capsys.readouterr().out
    for part in (
        "ok  evonet ",
        "ok  Python ",
        "ok  NumPy ",
        "ok  extension   built; ",
        "ok  SIMD ",
        "--  driver      no NVIDIA driver",
        "--  CuPy        not installed",
        "fix: only for GPUs: pip install 'evonet-gpu[cuda13]'",
        "ok  self-test   cpu has the bits of the reference",
        "all is well",
    ):
        assert part in said


def test_a_gpu_is_described_and_tested(
    imaginary_gpus: Lend, capsys: pytest.CaptureFixture[str]
) -> None:
    imaginary_gpus(num_devices=2)
    assert main([]) == 0
    said = capsys.readouterr().out
    for part in (
        "ok  driver      runs CUDA up to 13.2",
        "ok  CuPy        14.2.0 for CUDA 13",
        "ok  NVRTC       13.999, compiles our kernels",
        "compiled kernels in ",
        "ok  GPU 0       Imaginary GPU, sm_86, 4 multiprocessors, 8.0 GiB, 8.0 GiB free; runs our",
        "ok  GPU 1       Imaginary GPU, sm_86, 6 multiprocessors",
        "ok  self-test   cuda has the bits of the reference",
    ):
        assert part in said


def test_the_module_runs_from_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evonet.doctor"],
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        check=False,
    )
    assert "self-test" in done.stdout, done.stderr
    assert done.returncode in (0, 1)


# ---- faults -------------------------------------------------------------------------------------


def test_a_missing_extension_is_a_fault_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evonet.installation.load_native", lambda: None)
    finding = find(machine.look_at_extension(), "extension")
    assert finding.state == "fault"
    assert machine.REINSTALL in finding.fix
    monkeypatch.setattr("shutil.which", lambda name: None)
    finding = find(machine.look_at_extension(), "extension")
    assert "no C++ compiler" in finding.found
    assert finding.fix.startswith("apt install g++")


def test_the_reference_alone_has_nothing_to_be_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_cupy(monkeypatch)
    monkeypatch.setattr("evonet.installation.load_native", lambda: None)
    (finding,) = self_test.look_at_results()
    assert finding.state == "absent"


@pytest.mark.parametrize(("processor", "state"), [(1, "ok"), (3, "fault"), (4, "fault")])
def test_an_extension_for_another_processor_is_a_fault(
    processor: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = require_native()
    monkeypatch.setattr(native, "simd_levels", lambda: ["baseline"])
    monkeypatch.setattr(native, "processor_level", lambda: processor)
    finding = find(machine.look_at_extension(), "SIMD")
    assert (finding.state, bool(finding.fix)) == (state, state == "fault")
    assert finding.found.startswith("baseline in use")


def test_an_instruction_set_that_does_not_exist_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVONET_SIMD", "v9000")
    finding = find(machine.look_at_extension(), "SIMD")
    assert (finding.state, finding.fix) == ("fault", "unset EVONET_SIMD")


@pytest.mark.parametrize(
    ("cause", "name", "says", "fix"),
    [
        ({"driver": 12040}, "GPU", "driver runs CUDA 12.4, and this CuPy needs CUDA 13", ""),
        ({"num_devices": 0}, "GPU", "CUDA finds no GPU", ""),
        ({"compile_fault": "no such arch"}, "NVRTC", "no such arch", "pip install 'evonet-gpu"),
        ({"launch_fault": 700}, "GPU 0", "failed while launching gather_samples", ""),
    ],
)
def test_what_is_wrong_with_a_gpu_is_a_fault(
    cause: dict[str, Any], name: str, says: str, fix: str, imaginary_gpus: Lend
) -> None:
    imagined = imaginary_gpus()
    for attribute, value in cause.items():
        setattr(imagined, attribute, value)
    finding = find(machine.look_at_cuda(), name)
    assert finding.state == "fault"
    assert says in finding.found
    assert fix in finding.fix


def test_a_busy_gpu_is_a_fault_and_the_others_are_listed(imaginary_gpus: Lend) -> None:
    imaginary_gpus(num_devices=3).unavailable = {1}
    found = {finding.name: finding for finding in machine.look_at_cuda()}
    assert [found[f"GPU {index}"].state for index in range(3)] == ["ok", "fault", "ok"]
    assert "busy or unavailable" in found["GPU 1"].found


def test_a_cupy_that_is_installed_twice_is_a_fault(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    monkeypatch.setattr(machine, "_installed", lambda packages: ["cupy-cuda12x", "cupy-cuda13x"])
    finding = find(machine.look_at_cuda(), "CuPy")
    assert finding.state == "fault"
    assert "pip uninstall cupy-cuda12x cupy-cuda13x" in finding.fix


def test_a_cache_that_cannot_be_written_is_a_fault(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    monkeypatch.setenv("EVONET_CACHE", "/dev/null/cache")
    finding = machine._look_at_cache()
    assert finding.state == "fault"
    assert "EVONET_CACHE" in finding.fix


# ---- the comparisons ----------------------------------------------------------------------------


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_an_imaginary_gpu_has_the_bits_of_the_processor(
    comparison: BitComparison, imaginary_gpus: Lend
) -> None:
    imagined = imaginary_gpus(num_devices=2)
    total, mismatches = comparison.run()
    assert total > 0
    assert mismatches == []
    kernels = {name for name, _ in imagined.log}
    assert kernels & {"forward_levels", "forward_samples", "rollout", "gradient", "convolve"}


def test_verification_uses_several_gpus(imaginary_gpus: Lend) -> None:
    imagined = imaginary_gpus(num_devices=2)
    (shared,) = [c for c in COMPARISONS if "several GPUs" in c.name]
    shared.run()
    used = {device for name, device in imagined.log if name.startswith("forward")}
    assert used == {0, 1}


def test_verification_measures_and_reports(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    monkeypatch.setattr(verify, "COMPARISONS", COMPARISONS[-1:])
    loads = (Load(5, 4, 8, 3), Play(5, 4, 8, 3, max_steps=2))
    equal, speed, played = verify.verify(loads, seconds=0.0)
    assert {equal.state, speed.state, played.state} == {"ok"}
    assert equal.found.startswith("evolution: 20 numbers")
    lines = speed.found.splitlines()
    assert lines[0] == "5 genomes, 4 nodes, 8 links, 3 samples: G links/s"
    assert [line.split("  ")[-1] for line in lines[1:]] == [
        "cpu",
        "levels, data on the GPU",
        "levels, data on the host",
        "samples, data on the GPU",
        "samples, data on the host",
        "wide, data on the GPU",
        "wide, data on the host",
    ]
    lines = played.found.splitlines()
    assert lines[0] == "5 genomes, 4 nodes, 8 links, 3 episodes of 2 steps: M steps/s"
    assert [line.split("  ")[-1] for line in lines[1:]] == ["cpu", "cuda"]


def test_verification_without_a_gpu_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, imaginary_gpus: Lend
) -> None:
    imaginary_gpus(num_devices=0)
    (finding,) = verify.verify()
    assert finding.state == "fault"
    assert "CUDA finds no GPU" in finding.found


def test_a_single_wrong_bit_is_found(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    imaginary_gpus()
    discovery.usable_devices()
    honest = Device.download

    def flip(device: Device, array: Any, out: Any) -> None:
        honest(device, array, out)
        out.reshape(-1).view(f"u{out.itemsize}")[-1] ^= 1

    monkeypatch.setattr(Device, "download", flip)
    monkeypatch.setattr(verify, "COMPARISONS", COMPARISONS[:1])
    monkeypatch.setattr(verify.verify, "__defaults__", ((), 0.0))
    assert main(["--verify-gpu"]) == 1
    said = capsys.readouterr().out
    assert "cuda and reference: 1 of 720 numbers differ, first at [39, 8, 1]" in said
    assert "!!  equal bits  every activation and aggregation" in said
    assert "fix: report it, with this text" in said


def test_comparing_reports_what_differs() -> None:
    ones = np.ones((2, 3), np.float32)
    assert compare("x", ones, ones) is None
    assert "float32 [2, 3] instead of float32 [3, 2]" in str(compare("x", ones, ones.T))
    other = ones.copy()
    other[1, 2] = 2
    assert str(compare("x", other, ones)) == (
        "x: 1 of 6 numbers differ, first at [1, 2]: np.float32(2.0) instead of np.float32(1.0)"
    )
    zero, minus = np.array([0.0]), np.array([-0.0])
    assert compare("x", minus, zero) is not None


def test_a_generation_is_described_phase_by_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = [load._replace(measured=20) for load in generation.LOADS]
    monkeypatch.setattr(generation, "LOADS", loads)
    for load, finding in zip(loads, generation.look_at_generation(), strict=True):
        first, here, *cards = finding.found.splitlines()
        assert f"{load.genomes:,} genomes" in first
        assert here.startswith("here, scaled from 20 genomes: choose parents ")
        assert [line.split(",")[0] for line in cards] == [card.name for card in CARDS]
        assert all(
            "a model: choose parents here " in line and "; in all " in line for line in cards
        )


def test_the_model_of_a_generation_scales_with_genomes() -> None:
    host = generation.measure_host(generation.LOADS[0]._replace(measured=20))
    assert host.work.num_genomes == 10_000
    assert host.work.num_edges > 100 * host.work.num_genomes
    assert min(host.plan, host.rank, host.breed, host.compile, host.evaluate) > 0
    slow, fast = (generation.price_on(card, host) for card in CARDS)
    assert slow.calls == fast.calls  # the host's
    for phase in ("breed", "speciate", "compile", "evaluate", "copies"):
        assert getattr(slow, phase) > getattr(fast, phase)
