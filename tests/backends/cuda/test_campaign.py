"""The campaign over the kernels: a short run of it, and that it would notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import sass
from tests.campaigns import cuda as cuda_campaign


@pytest.mark.parametrize(("mode", "networks"), [("plain", 250), ("checked", 20)])
def test_random_networks_have_the_bits_of_the_cpu(mode: str, networks: int) -> None:
    found = cuda_campaign.campaign(networks, seed=7, mode=mode, batch=25 if mode == "plain" else 10)
    assert found.faults == []
    assert (found.networks, found.losses) == (networks, networks)
    assert found.runs >= 2 * networks // 25
    if mode == "plain":
        assert found.largest > 1000


def test_one_wrong_bit_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    run_plan = cuda_campaign.run_plan

    def spoil(*args: Any, **options: Any) -> np.ndarray:
        y = run_plan(*args, **options)
        y.view(f"u{y.itemsize}")[-1, -1, -1] ^= 1
        return y

    monkeypatch.setattr(cuda_campaign, "run_plan", spoil)
    found = cuda_campaign.campaign(5, seed=7, mode="checked", batch=5)
    assert len(found.faults) == 3
    assert "genomes [4] differ" in found.faults[0]


CODE = """
S2R R0, SR_TID.X
FFMA R9, R9, R9, R9
LDS.128 R4, [R2]
@P1 FFMA.FTZ R8, R4, R5, R8
FFMA2 R8, R4, R5, R8
@P0 BRA `(.L_x_1)
DADD R0, R1, R2
@!P0 BRA `(.L_x_0)
EXIT
"""


def test_the_hot_loop_is_the_innermost_with_most_products() -> None:
    loop = sass.hot_loop(
        sass.innermost_loops(CODE.strip().splitlines(), {".L_x_0": 1, ".L_x_1": 2})
    )
    assert loop is not None
    assert (len(loop.code), loop.products) == (4, 3)
    assert loop.per_product == pytest.approx(4 / 3)
    assert sass.hot_loop(sass.innermost_loops(["EXIT"], {})) is None
