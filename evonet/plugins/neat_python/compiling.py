"""From neat-python genomes to networks that run together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import KIND_NAMES, Dynamics, KindName
from evonet.errors import GenomeError, OptionError, ShapeError, UnknownFunctionError, check_option
from evonet.genes.arrays import owner_of, real_type
from evonet.genes.population import Population
from evonet.genes.validation import check_population
from evonet.network import Network
from evonet.network import compile as compile_network
from evonet.plugins.neat_python.config_functions import IN_PYTHON, function_ids, warn_of_python
from evonet.plugins.neat_python.exact import ExactNetwork, MixedNetwork, SteppedNetwork
from evonet.plugins.neat_python.genes import (
    NeatConfig,
    NeatGenome,
    NeatGenomes,
    arrays_from_neat,
    explain_genes,
    list_genomes,
    pin_counts,
)
from evonet.plugins.neat_python.installed import (
    ctrnn_rule,
    evaluates_orphans,
    network_engine,
)
from evonet.schedule.schedule import check_threads

AnyNetwork = Network | ExactNetwork | SteppedNetwork | MixedNetwork


def kind_of(config: NeatConfig) -> KindName:
    """The kind of network that a config's genomes describe.

    A config does not tell continuous time: such networks are asked for by name.

    Args:
        config: A `neat.Config`.
    """
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
    """Compiles genomes with neat-python's semantics; neither they nor the config change.

    Args:
        genomes: P of them, in any form in which neat-python hands them around.
        config: A `neat.Config`.
        kind: A kind of network; "auto" for what the config says.
        exact: Whether answers have neat-python's very bits; False for evonet's kernels, whose
            functions are within two units in the last place.
        dtype: float64, as in neat-python, or float32; for kernels only.
        backend: Where kernels run.
        threads: 0 for all available.
        time_step: How much time a step takes; None for the kind's own.
        steps: How many steps a call takes.

    Raises:
        OptionError: The genomes or the config are something else, or an option is not allowed.
        UnknownFunctionError: A node names a function that the config does not know.
        GenomeError: A gene makes no sense; the message names the genome's id and the gene.
    """
    check_option("kind", kind, ("auto", *KIND_NAMES))
    pins = pin_counts(config)
    ids, found = list_genomes(genomes)
    name = kind_of(config) if kind == "auto" else cast(KindName, kind)
    dynamics = Dynamics.of(name, time_step=time_step, steps=steps)
    if exact or not _has_kernel(name):
        return _exact(ids, found, config, pins, dynamics, threads)
    population, in_python = _pack(ids, found, config, pins, dtype)
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
        (len(found), *pins),
        in_python,
        _exact(*chosen, config, pins, dynamics, threads),
        compile_network(_part(population, ~in_python), **options),
    )


def _part(population: Population, chosen: npt.NDArray[np.bool_]) -> Population:
    part = population[chosen]
    assert isinstance(part, Population)
    return part


def _has_kernel(kind: KindName) -> bool:
    """Whether evonet's kernels have the rules of the installed neat-python."""
    if kind == "ctrnn" and ctrnn_rule() != "exponential":
        return False
    return kind != "izhikevich" and evaluates_orphans()


def _exact(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    config: NeatConfig,
    pins: tuple[int, int],
    dynamics: Dynamics,
    threads: int,
) -> ExactNetwork | SteppedNetwork:
    size = (len(genomes), *pins)
    native, settings = network_engine(), config.genome_config
    known = evaluates_orphans() and not (dynamics.kind == "ctrnn" and ctrnn_rule() == "unknown")
    make = network_maker(dynamics.kind, config)
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
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        _explain(ids, genomes, config, dynamics.kind, error)
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
    error: Exception,
) -> None:
    """Says which genome no network could be made of, and why.

    Raises:
        GenomeError: Always, once the genome is found.
    """
    if kind != "izhikevich":
        _say_how_to_add(lambda: explain_genes(ids, genomes, function_ids(config)))
    make = network_maker(kind, config)
    for index, (key, genome) in enumerate(zip(ids, genomes, strict=True)):
        try:
            make(genome)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as fault:
            wanted = "neat.iznn.IZGenome" if kind == "izhikevich" else "neat.DefaultGenome"
            raise GenomeError(
                f"genome id {key}: no network can be made of it: {type(fault).__name__}: {fault}. "
                f"Its genes need what those of {wanted} have.",
                index,
            ) from error


def _say_how_to_add(look: Callable[[], object]) -> Any:
    try:
        return look()
    except UnknownFunctionError as error:
        raise UnknownFunctionError(
            f"{error} Make a function of your own known to the config with "
            "config.genome_config.add_activation(name, f), or add_aggregation.",
            error.genome,
        ) from error


def run_samples(network: AnyNetwork, x: npt.ArrayLike) -> npt.NDArray[Any]:
    """Runs networks from a first state, on samples or on sequences of them.

    Args:
        network: P networks.
        x: [B, I]; or [B, T, I] for networks with memory, T calls after each other.

    Returns:
        [P, B, O], or [P, B, T, O].

    Raises:
        ShapeError: x has another shape.
    """
    samples = np.asarray(x)
    network.reset()
    if samples.ndim != 3:
        answers: npt.NDArray[Any] = network(samples)
        return answers
    if network.kind == "feedforward":
        raise ShapeError(
            f"x has shape {list(samples.shape)}, and feed-forward networks see no sequences. "
            f"Expected [B, {network.num_inputs}]."
        )
    if samples.shape[1] == 0:
        raise ShapeError("x has no steps. Expected [B, T, I] with T of at least 1.")
    return np.stack([network(samples[:, t]) for t in range(samples.shape[1])], axis=2)


def _pack(
    ids: Sequence[Any],
    genomes: Sequence[NeatGenome],
    config: NeatConfig,
    pins: tuple[int, int],
    dtype: npt.DTypeLike,
) -> tuple[Population, npt.NDArray[np.bool_]]:
    """Packs genomes, and tells which have nodes that only Python can compute."""
    functions = function_ids(config)
    arrays = _say_how_to_add(lambda: arrays_from_neat(ids, genomes, real_type(dtype), functions))
    odd = np.zeros(len(arrays["node_key"]), bool)
    for kind in ("activation", "aggregation"):
        here = arrays[kind] == IN_PYTHON
        odd |= here
        arrays[kind] = np.where(here, np.uint8(0), arrays[kind])
    num_inputs, num_outputs = pins
    population = Population(
        num_inputs=num_inputs, num_outputs=num_outputs, **arrays, validate=False
    )
    try:
        check_population(population, _Labels(ids))
    except GenomeError:
        explain_genes(ids, genomes, functions)
        raise
    in_python = np.zeros(len(genomes), bool)
    in_python[owner_of(population.node_start)[odd]] = True
    return population, in_python


class _Labels(Sequence[str]):
    """What messages call each genome, written only when one is needed."""

    def __init__(self, ids: Sequence[Any]) -> None:
        self._ids = ids

    def __getitem__(self, index: Any) -> Any:
        return f"genome id {self._ids[index]}"

    def __len__(self) -> int:
        return len(self._ids)


def network_maker(kind: KindName, config: NeatConfig) -> Callable[[NeatGenome], Any]:
    """What makes a drop-in network of a genome.

    Args:
        kind: Of network.
        config: A `neat.Config`.

    Raises:
        OptionError: The installed neat-python has no time constants, and the kind needs them.
    """
    from evonet.plugins.neat_python import continuous, installed, networks, spiking

    if kind == "ctrnn" and installed.takes_time_constant():
        raise OptionError(
            'kind="ctrnn" needs time constants, which genomes have from neat-python 2.0 on.'
        )
    made_by: dict[str, Any] = {
        "feedforward": networks.FeedForwardNetwork,
        "recurrent": networks.RecurrentNetwork,
        "ctrnn": continuous.CTRNN,
        "izhikevich": spiking.IZNN,
    }
    create = made_by[kind].create
    return lambda genome: create(genome, config)
