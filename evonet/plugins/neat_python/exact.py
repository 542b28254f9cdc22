"""Compiles genomes so that they answer together, with neat-python's very bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import Dynamics, KindName
from evonet.errors import GenomeError, ShapeError, check_threads
from evonet.network import Network
from evonet.plugins.neat_python.config_functions import function_ids, warn_of_python
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome, explain_genes
from evonet.plugins.neat_python.genomes import input_and_output_counts
from evonet.plugins.neat_python.installed import ctrnn_rule, evaluates_orphans, network_engine
from evonet.plugins.neat_python.population_networks import (
    ExactNetwork,
    MixedNetwork,
    SteppedNetwork,
)

AnyNetwork = Network | ExactNetwork | SteppedNetwork | MixedNetwork

# What reading a genome that lacks something may raise.
_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, OverflowError)


def compile_exact(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    config: NeatConfig,
    dynamics: Dynamics,
    make: Callable[[NeatGenome], Any],
    threads: int = 0,
) -> ExactNetwork | SteppedNetwork:
    """Compiles genomes; `make` makes the drop-in network of one, and messages use their ids."""
    size = (len(genomes), *input_and_output_counts(config))
    native, settings = network_engine(), config.genome_config
    known = evaluates_orphans() and not (dynamics.kind == "ctrnn" and ctrnn_rule() == "unknown")
    try:
        if native is None or not known or dynamics.kind == "izhikevich":
            return SteppedNetwork(dynamics, size, [make(genome) for genome in genomes])
        engine = native.NeatPopulation.create(
            dynamics.kind == "feedforward",
            genomes,
            settings.input_keys,
            settings.output_keys,
            settings.activation_defs,
            settings.aggregation_function_defs,
            None if dynamics.kind == "ctrnn" else 1.0,
            check_threads(threads),
        )
    except _UNREADABLE as error:
        _explain(ids, genomes, config, dynamics.kind, make, error)
        raise
    in_python = engine.calling_python()
    if in_python:
        functions = (f for i in in_python for f in engine.network(i).python_functions())
        warn_of_python(config, dict.fromkeys(functions))
    return ExactNetwork(dynamics, size, engine)


def _explain(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    config: NeatConfig,
    kind: KindName,
    make: Callable[[NeatGenome], Any],
    error: Exception,
) -> None:
    """Raises an error that names the genome which cannot be compiled, if there is one."""
    if kind != "izhikevich":
        explain_genes(ids, genomes, function_ids(config))
    for index, (key, genome) in enumerate(zip(ids, genomes, strict=True)):
        try:
            make(genome)
        except _UNREADABLE as fault:
            wanted = "neat.iznn.IZGenome" if kind == "izhikevich" else "neat.DefaultGenome"
            raise GenomeError(
                f"genome id {key}: no network can be made of it: {type(fault).__name__}: {fault}. "
                f"Its genes need what those of {wanted} have.",
                index,
            ) from error


def run_samples(network: AnyNetwork, x: npt.ArrayLike) -> npt.NDArray[Any]:
    """Runs networks from their first state on samples [B, I], or on sequences [B, T, I].

    Returns [P, B, O], or [P, B, T, O] for sequences, which only networks with memory take.
    """
    samples = np.asarray(x)
    network.reset()
    if samples.ndim != 3:
        outputs: npt.NDArray[Any] = network(samples)
        return outputs
    if network.kind == "feedforward":
        raise ShapeError(
            f"x has shape {list(samples.shape)}, and feed-forward networks see no sequences. "
            f"Expected [B, {network.num_inputs}]."
        )
    if samples.shape[1] == 0:
        raise ShapeError("x has no steps. Expected [B, T, I] with T of at least 1.")
    return np.stack([network(samples[:, t]) for t in range(samples.shape[1])], axis=2)
