"""Networks that act: one observation at a time, with the bits of a call for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evonet
from evonet import OptionError, Population, ShapeError
from evonet.definitions.dynamics import KINDS
from evonet.installation import load_native


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_an_actor_answers_as_the_whole_population(kind: Any, dtype: str, backend: Any) -> None:
    genomes = Population.random(
        6, 5, 3, num_nodes=9, num_connections=25, dtype=dtype, feed_forward=kind == "feedforward"
    )
    network = evonet.compile(genomes, kind=kind, backend=backend)
    actors = [network.actor(g) for g in range(6)]
    rng = np.random.default_rng(1)
    for step in range(5):
        if step == 3:
            network.reset()
            for actor in actors:
                actor.reset()
        x = rng.normal(size=5).astype(("float32", "float64")[step % 2])
        wanted = network(x[None])[:, 0].tolist()
        assert [actor(x) for actor in reversed(actors)] == wanted[::-1]


def test_custom_functions_act_too() -> None:
    evonet.register_activation("act_twice", lambda z: z + z)
    try:
        genomes = Population.random(
            3, 2, 1, num_nodes=3, num_connections=5, activations=("act_twice",)
        )
        network = evonet.compile(genomes)
        x = np.array([0.5, -2.0])
        assert [network.actor(g)(x) for g in range(3)] == network(x[None])[:, 0].tolist()
    finally:
        evonet.unregister_activation("act_twice")


def test_what_is_no_observation_is_refused() -> None:
    network = evonet.compile(Population.random(2, 3, 1, num_nodes=2, num_connections=4))
    actor = network.actor(1)
    with pytest.raises(ShapeError, match=r"x must have shape \[3\], found \[4\]"):
        actor(np.zeros(4))
    with pytest.raises(ShapeError, match="float32 or float64"):
        actor(np.zeros(3, np.int64))
    for wrong in (np.zeros((1, 3)), np.zeros(6)[::2], [0.0, 0.0, 0.0], None):
        with pytest.raises(TypeError):
            actor(wrong)  # type: ignore[arg-type]
    off = np.frombuffer(bytes(13), np.uint8)[1:].view(np.float32)
    with pytest.raises(ShapeError, match="multiple of its type's size"):
        actor(off)
    for genome in (-1, 2, 1.5):
        with pytest.raises(OptionError, match="genome"):
            network.actor(genome)  # type: ignore[arg-type]
    native = load_native()
    assert native is not None
    with pytest.raises(ShapeError, match="genome is 2"):
        native.Actor32(network.schedule, 2, "baseline")
