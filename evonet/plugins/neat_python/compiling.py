"""Compiles genomes with the rules of the installed neat-python, exactly or for kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import KIND_NAMES, Dynamics, KindName
from evonet.errors import OptionError, check_option
from evonet.genes.arrays import owner_of, real_type
from evonet.genes.population import Population
from evonet.network import compile as compile_network
from evonet.plugins.neat_python.config_functions import IN_PYTHON, function_ids
from evonet.plugins.neat_python.continuous import CTRNN
from evonet.plugins.neat_python.exact import AnyNetwork, compile_exact
from evonet.plugins.neat_python.genes import NeatConfig, NeatGenome, NeatGenomes, arrays_from_neat
from evonet.plugins.neat_python.genomes import (
    build_population,
    input_and_output_counts,
    list_genomes,
)
from evonet.plugins.neat_python.installed import (
    ctrnn_rule,
    evaluates_orphans,
    takes_time_constant,
)
from evonet.plugins.neat_python.networks import FeedForwardNetwork, RecurrentNetwork
from evonet.plugins.neat_python.population_networks import MixedNetwork
from evonet.plugins.neat_python.spiking import IZNN

# The drop-in class of every kind of network.
CLASSES: dict[KindName, Any] = {
    "feedforward": FeedForwardNetwork,
    "recurrent": RecurrentNetwork,
    "ctrnn": CTRNN,
    "izhikevich": IZNN,
}


def kind_of(config: NeatConfig, kind: str = "auto") -> KindName:
    """Returns a kind of network; "auto" is what the config's genomes describe, never "ctrnn"."""
    check_option("kind", kind, ("auto", *KIND_NAMES))
    if kind != "auto":
        return cast(KindName, kind)
    settings: Any = getattr(config, "genome_config", config)
    genes = {a.name for a in getattr(settings.node_gene_type, "_gene_attributes", ())}
    if {"a", "b", "c", "d"} <= genes:
        return "izhikevich"
    return "feedforward" if settings.feed_forward else "recurrent"


def compile_genomes(
    genomes: NeatGenomes,
    config: NeatConfig,
    *,
    kind: str = "auto",
    exact: bool = True,
    dtype: npt.DTypeLike = np.float64,
    backend: str = "auto",
    threads: int = 0,
    time_step: float | None = None,
    steps: int = 1,
) -> AnyNetwork:
    """Compiles genomes with neat-python's semantics; `BatchEvaluator` documents the options.

    Neither genomes nor the config change. A GenomeError names the genome's id and the gene.
    """
    counts = input_and_output_counts(config)
    ids, found = list_genomes(genomes)
    name = kind_of(config, kind)
    dynamics = Dynamics.of(name, time_step=time_step, steps=steps)
    if exact or not _has_kernel(name):
        return compile_exact(ids, found, config, dynamics, network_maker(name, config), threads)
    population, in_python = _pack(ids, found, config, counts, dtype)
    options: dict[str, Any] = {"kind": name, "backend": backend, "threads": threads, "steps": steps}
    if name == "feedforward":
        options["on_cycle"] = "zero"
    if time_step is not None:
        options["time_step"] = time_step
    if not in_python.any():
        return compile_network(population, **options)
    places = np.flatnonzero(in_python).tolist()
    chosen = [ids[i] for i in places], [found[i] for i in places]
    return MixedNetwork(
        (len(found), *counts),
        in_python,
        compile_exact(*chosen, config, dynamics, network_maker(name, config), threads),
        compile_network(population[(~in_python).tolist()], **options),
    )


def _has_kernel(kind: KindName) -> bool:
    """Whether evonet's kernels have the rules of the installed neat-python."""
    if kind == "ctrnn" and ctrnn_rule() != "exponential":
        return False
    return kind != "izhikevich" and evaluates_orphans()


def _pack(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    config: NeatConfig,
    counts: tuple[int, int],
    dtype: npt.DTypeLike,
) -> tuple[Population, npt.NDArray[np.bool_]]:
    """Packs genomes, and marks those with nodes that only Python can compute."""
    functions = function_ids(config)
    arrays = arrays_from_neat(ids, genomes, real_type(dtype), functions)
    only_python = np.zeros(len(arrays["node_key"]), bool)
    for kind in ("activation", "aggregation"):
        here = arrays[kind] == IN_PYTHON
        only_python |= here
        arrays[kind] = np.where(here, np.uint8(0), arrays[kind])
    population = build_population(arrays, counts, ids, genomes, functions)
    in_python = np.zeros(len(genomes), bool)
    in_python[owner_of(population.node_start)[only_python]] = True
    return population, in_python


def network_maker(kind: KindName, config: NeatConfig) -> Callable[[NeatGenome], Any]:
    """Returns a function that makes the drop-in network of a genome."""
    if kind == "ctrnn" and takes_time_constant():
        raise OptionError(
            'kind="ctrnn" needs time constants, which genomes have from neat-python 2.0 on.'
        )
    create = CLASSES[kind].create
    return lambda genome: create(genome, config)
