"""TensorNEAT on JAX: whole populations padded to the largest genome. It is made for GPUs."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from evonet.schedule.schedule import Schedule
from evonet.schedule.slots import trace_slots


class TensorneatNetworks:
    """P networks as TensorNEAT's arrays of genes, transformed once and compiled by JAX.

    All nodes must sum, with response 1, and have one activation: "sigmoid", "tanh" or "relu". No
    node may read an output, since TensorNEAT activates outputs last.
    """

    def __init__(self, schedule: Schedule, activation: str) -> None:
        import jax
        import jax.numpy as jnp
        from tensorneat.common import State
        from tensorneat.genome import DefaultGenome, DefaultNode

        formula = {
            "sigmoid": lambda z: 1 / (1 + jnp.exp(-5 * z)),
            "tanh": lambda z: jnp.tanh(2.5 * z),
            "relu": lambda z: jnp.maximum(z, 0),
        }[activation]
        nodes, conns = _genes(schedule)
        genome = DefaultGenome(
            schedule.num_inputs,
            schedule.num_outputs,
            max_nodes=nodes.shape[1],
            max_conns=max(conns.shape[1], schedule.num_inputs * schedule.num_outputs),
            node_gene=DefaultNode(activation_options=formula),
            output_transform=formula,
        )
        state = genome.setup(State())
        transform = jax.jit(jax.vmap(genome.transform, in_axes=(None, 0, 0)))
        transformed = transform(state, jnp.asarray(nodes), jnp.asarray(conns))
        per_sample = jax.vmap(genome.forward, in_axes=(None, None, 0))
        forward = jax.jit(jax.vmap(per_sample, in_axes=(None, 0, None)))
        self._call: Callable[[Any], Any] = lambda x: forward(state, transformed, x)

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Evaluates x [B, I] to [P, B, O]."""
        return np.asarray(self._call(x))


def _genes(schedule: Schedule) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """[P, nodes, 5] and [P, links, 3], NaN where a genome has fewer."""
    inputs, outputs = schedule.num_inputs, schedule.num_outputs
    counts, read = np.diff(schedule.node_start), trace_slots(schedule)
    links = np.diff(schedule.edge_start[schedule.node_start])
    nodes = np.full((len(counts), inputs + outputs + int(counts.max()), 5), np.nan, np.float32)
    conns = np.full((len(counts), int(links.max()), 3), np.nan, np.float32)
    for g, count in enumerate(counts.tolist()):
        first = int(schedule.node_start[g])
        # Inputs and outputs have fixed places; hidden nodes follow in any order.
        place = np.concatenate([np.arange(inputs), np.full(count, -1)])
        place[read.output[g]] = inputs + np.arange(outputs)
        hidden = np.flatnonzero(place < 0)
        place[hidden] = inputs + outputs + np.arange(len(hidden))
        nodes[g, :inputs] = 0.0
        nodes[g, place, 0] = place
        of_nodes = place[inputs:]
        nodes[g, of_nodes, 1] = schedule.bias[first : first + count]
        nodes[g, of_nodes, 2:] = (1.0, 0.0, 0.0)  # response, aggregation, activation
        nodes[g, :inputs, 0] = np.arange(inputs)
        begin, end = schedule.edge_start[[first, first + count]].tolist()
        degree = np.diff(schedule.edge_start[first : first + count + 1])
        conns[g, : end - begin, 0] = place[read.source[begin:end]]
        conns[g, : end - begin, 1] = np.repeat(of_nodes, degree)
        conns[g, : end - begin, 2] = schedule.weight[begin:end]
    return nodes, conns


class TensorneatRun:
    """TensorNEAT's own loop on XOR, one generation per call, compiled by JAX in a minute."""

    def __init__(self, size: int, seed: int) -> None:
        import jax
        from tensorneat.algorithm.neat import NEAT
        from tensorneat.common import ACT
        from tensorneat.genome import DefaultGenome, DefaultMutation
        from tensorneat.pipeline import Pipeline
        from tensorneat.problem.func_fit import XOR

        genome = DefaultGenome(
            2,
            1,
            # evonet's genomes grow to this size in as many generations.
            max_nodes=20,
            max_conns=50,
            mutation=DefaultMutation(conn_add=0.5, conn_delete=0.5, node_add=0.2, node_delete=0.2),
            output_transform=ACT.sigmoid,
        )
        pipeline = Pipeline(NEAT(genome, pop_size=size, species_size=20), XOR(), seed=seed)
        with contextlib.redirect_stdout(io.StringIO()):
            self._state = pipeline.setup()
        self._step = jax.jit(pipeline.step).lower(self._state).compile()

    def generation(self) -> None:
        """Evaluates, breeds and speciates once."""
        import jax

        self._state, _, _ = jax.block_until_ready(self._step(self._state))
