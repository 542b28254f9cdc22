"""What the installed neat-python computes, found out by asking it.

Versions differ in a few formulas, and a version number says little about a patched copy. So tiny
networks are run once, and their answers tell which rule holds.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

from evonet.errors import OptionError
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import load_native

try:  # now, because somebody may put the drop-in classes in their place later
    from neat.activations import ActivationFunctionSet, identity_activation
    from neat.aggregations import AggregationFunctionSet
    from neat.ctrnn import CTRNN as NeatCTRNN  # noqa: N811
    from neat.ctrnn import CTRNNNodeEval
    from neat.graphs import feed_forward_layers
    from neat.iznn import IZNeuron
except ImportError as error:
    raise OptionError(
        "evonet.plugins.neat_python needs neat-python 1.0 or newer. Install it with: "
        "pip install 'evonet-gpu[neat]'"
    ) from error

CtrnnRule = Literal["euler", "exponential", "unknown"]


@functools.cache
def built_in_activations() -> dict[str, Callable[..., Any]]:
    """neat-python's own activation functions by name."""
    return dict(ActivationFunctionSet().functions)


@functools.cache
def built_in_aggregations() -> dict[str, Callable[..., Any]]:
    """neat-python's own aggregation functions by name."""
    return dict(AggregationFunctionSet().functions)


@functools.cache
def network_engine() -> ModuleType | None:
    """The extension, told which functions are neat-python's; None where it was not built."""
    native = load_native()
    if native is not None:
        activations, aggregations = built_in_activations(), built_in_aggregations()
        native.set_neat_functions(
            [activations.get(f.name) for f in ACTIVATIONS],
            [aggregations.get(f.name) for f in AGGREGATIONS],
            sum,
            sum([1e100, 1.0, -1e100]) == 1.0,
        )
    return native


@functools.cache
def ctrnn_rule() -> CtrnnRule:
    """How continuous-time networks take a step: 2.1 is exact, those before it are not.

    "euler" also keeps the two oddities of those versions: a node integrates what its own buffer
    held two steps ago, and `advance` returns the buffer before the last.
    """
    node = CTRNNNodeEval(1.0, identity_activation, sum, 1.0, 1.0, [])
    network = NeatCTRNN([], [0], {0: node})
    found = [network.advance([], 0.25, 0.25)[0] for _ in range(3)]
    decay = math.exp(-0.25)
    exact = [1 - decay, decay * (1 - decay) + (1 - decay)]
    exact.append(decay * exact[1] + (1 - decay))
    if found == exact:
        return "exponential"
    return "euler" if found == [0.0, 0.25, 0.25] else "unknown"


@functools.cache
def takes_time_constant() -> bool:
    """Whether `CTRNN.create` gets one time constant for all nodes, as before 2.0."""
    return "time_constant" in inspect.signature(NeatCTRNN.create).parameters


@functools.cache
def resets_what_is_not_finite() -> bool:
    """Whether a spiking neuron begins anew once it is infinite or no number, as from 2.1 on."""
    neuron = IZNeuron(0.0, 0.02, 0.2, -65.0, 8.0, [])
    neuron.v = math.nan
    neuron.advance(0.05)
    return math.isfinite(neuron.v)


@functools.cache
def evaluates_orphans() -> bool:
    """Whether a node without links counts by its bias, as from 1.1 on."""
    layers, _ = feed_forward_layers([-1], [0], [(-1, 0), (1, 0)])
    return any(1 in layer for layer in layers)
