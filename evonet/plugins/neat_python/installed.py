"""Finds out what the installed neat-python computes, by running it.

Versions differ in a few formulas, and a version number says little about a patched copy. So tiny
networks are run once, and their outputs show which rule holds.
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
from evonet.installation import install_command, load_native

try:  # now, because users may replace these classes by the drop-in ones later
    from neat.activations import ActivationFunctionSet, identity_activation
    from neat.aggregations import AggregationFunctionSet
    from neat.ctrnn import CTRNN as NeatCTRNN  # noqa: N811
    from neat.ctrnn import CTRNNNodeEval
    from neat.graphs import feed_forward_layers
    from neat.iznn import IZNeuron
except ImportError as error:
    raise OptionError(
        "evonet.plugins.neat_python needs neat-python 1.0 or newer. Install it with: "
        f"{install_command('neat')}"
    ) from error

CtrnnRule = Literal["euler", "exponential", "unknown"]


@functools.cache
def built_in_activations() -> dict[str, Callable[..., Any]]:
    """Returns neat-python's activation functions by name."""
    return dict(ActivationFunctionSet().functions)


@functools.cache
def built_in_aggregations() -> dict[str, Callable[..., Any]]:
    """Returns neat-python's aggregation functions by name."""
    return dict(AggregationFunctionSet().functions)


@functools.cache
def network_engine() -> ModuleType | None:
    """Returns the extension, set up with neat-python's functions; None where it was not built."""
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
    """Returns how continuous-time networks take a step: exactly from 2.1 on, before by Euler.

    "euler" includes two oddities of those versions: a node integrates the value that its buffer
    had two steps ago, and `advance` returns the buffer before the last.
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
    """Returns whether `CTRNN.create` takes one time constant for all nodes, as before 2.0."""
    return "time_constant" in inspect.signature(NeatCTRNN.create).parameters


@functools.cache
def resets_what_is_not_finite() -> bool:
    """Returns whether a spiking neuron resets once it is infinite or NaN, as from 2.1 on."""
    neuron = IZNeuron(0.0, 0.02, 0.2, -65.0, 8.0, [])
    neuron.v = math.nan
    neuron.advance(0.05)
    return math.isfinite(neuron.v)


@functools.cache
def evaluates_orphans() -> bool:
    """Returns whether nodes without links are evaluated on their bias, as from 1.1 on."""
    layers, _ = feed_forward_layers([-1], [0], [(-1, 0), (1, 0)])
    return any(1 in layer for layer in layers)
