"""What the nodes of networks with memory start with.

`kernels/nodes/cells.h` describes how every step changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import REGULAR_SPIKING
from evonet.functions.registry import ACTIVATION_IDS
from evonet.installation import load_native
from evonet.numerics import elementary

if TYPE_CHECKING:
    from evonet.definitions.dynamics import Dynamics
    from evonet.genes.population import Population
    from evonet.schedule.schedule import Schedule


def node_parameters(
    population: Population,
    dynamics: Dynamics,
    genes: npt.NDArray[np.int64] | None,
    num_nodes: int,
) -> npt.NDArray[Any]:
    """The numbers that only one kind of network has.

    Args:
        population: P genomes.
        dynamics: How the networks work through time.
        genes: [N] position of each live node in the population; None for networks without memory.
        num_nodes: N.

    Returns:
        [N, c].
    """
    dtype = population.dtype
    if genes is not None and dynamics.kind == "ctrnn":
        step = dtype.type(dynamics.time_step)
        with np.errstate(over="ignore", under="ignore"):
            return exponential(-step / population.time_constant[genes]).reshape(-1, 1)
    if genes is not None and dynamics.kind == "izhikevich":
        return np.tile(np.array(REGULAR_SPIKING, dtype), (num_nodes, 1))
    return np.zeros((num_nodes, 0), dtype)


def time_constant_slopes(
    dynamics: Dynamics, time_constant: npt.NDArray[Any], kept: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """[N] the derivatives of what CTRNN cells keep, [N], by their time constants, [N]."""
    step = kept.dtype.type(dynamics.time_step)
    with np.errstate(over="ignore", under="ignore"):
        slopes: npt.NDArray[Any] = kept * (step / time_constant) / time_constant
        slopes[step / time_constant >= 60] = 0
        return slopes


def exponential(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """exp(x) of x <= 0 with the same bits everywhere; below -60, exp(-60), which is next to 0."""
    extension = load_native()
    if extension is None:
        return elementary.exponential(np.maximum(x, x.dtype.type(-60)))
    return np.asarray(extension.activate(ACTIVATION_IDS["exp"], x, extension.simd_levels()[-1]))


def first_state(schedule: Schedule, num_samples: int) -> npt.NDArray[Any]:
    """What nodes remember before the first step, [C, N, B]."""
    state = np.zeros(
        (schedule.dynamics.num_states, schedule.num_nodes, num_samples), schedule.dtype
    )
    if schedule.dynamics.kind == "izhikevich":
        b, c = schedule.cell[:, 1:2], schedule.cell[:, 2:3]
        state[1] = c
        state[2] = b * c
    return state
