"""Hypothesis strategies for populations, and neat-python configs and genomes to compare with."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS
from evonet.genes.genome import Connection, Node
from evonet.genes.population import Population

# A busy machine is no defect, so no test of this project has a deadline.
settings.register_profile("evonet", deadline=None)
settings.load_profile("evonet")


def reals(dtype: Any) -> st.SearchStrategy[float]:
    """Draws finite numbers of a type, as Python floats; also -0.0, denormals and the largest."""
    width = np.dtype(dtype).itemsize * 8
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


@st.composite
def genomes(
    draw: st.DrawFn, num_inputs: int, num_outputs: int, dtype: Any = np.float32
) -> tuple[list[Node], list[Connection]]:
    """Draws one genome for `Population.from_genes`: any graph, cyclic and disconnected too."""
    largest = draw(st.sampled_from([num_outputs + 4, 10**6, 2**62]))
    hidden = draw(st.sets(st.integers(num_outputs, largest), max_size=4))
    keys = [*range(num_outputs), *hidden]
    values = reals(dtype)
    tiny = float(np.finfo(dtype).smallest_subnormal)
    nodes = [
        Node(
            key=key,
            bias=draw(values),
            response=draw(values),
            activation=draw(st.sampled_from(sorted(ACTIVATION_IDS))),
            aggregation=draw(st.sampled_from(sorted(AGGREGATION_IDS))),
            time_constant=max(tiny, abs(draw(values))),
        )
        for key in keys
    ]
    possible = [(s, t) for s in [*range(-num_inputs, 0), *keys] for t in keys]
    pairs = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    innovations = draw(
        st.sets(st.integers(0, 2**62), min_size=len(pairs), max_size=len(pairs)).map(sorted)
    )
    order = draw(st.permutations(range(len(pairs))))
    connections = [
        Connection(s, t, draw(values), draw(st.booleans()), innovations[i])
        for i, (s, t) in zip(order, pairs, strict=True)
    ]
    return nodes, connections


@st.composite
def populations(
    draw: st.DrawFn,
    dtypes: tuple[Any, ...] = (np.float32, np.float64),
    num_inputs: int | None = None,
    num_outputs: int | None = None,
    min_genomes: int = 0,
    max_genomes: int = 4,
) -> Population:
    """Draws a valid population of small, arbitrary genomes."""
    inputs = draw(st.integers(0, 3)) if num_inputs is None else num_inputs
    outputs = draw(st.integers(0, 3)) if num_outputs is None else num_outputs
    dtype = draw(st.sampled_from(dtypes))
    listed = draw(
        st.lists(genomes(inputs, outputs, dtype), min_size=min_genomes, max_size=max_genomes)
    )
    return Population.from_genes(inputs, outputs, listed, dtype)


_FLOAT_GENE = """
{name}_init_type = gaussian
{name}_init_mean = {mean}
{name}_init_stdev = {stdev}
{name}_replace_rate = 0.1
{name}_mutate_rate = 0.5
{name}_mutate_power = 0.5
{name}_max_value = 30.0
{name}_min_value = {least}
"""

_CONFIG = """
[NEAT]
fitness_criterion = max
fitness_threshold = 1000000
pop_size = {pop_size}
reset_on_extinction = False
no_fitness_termination = False

[DefaultGenome]
num_inputs = {num_inputs}
num_outputs = {num_outputs}
num_hidden = {num_hidden}
feed_forward = {feed_forward}
initial_connection = {initial_connection}
compatibility_disjoint_coefficient = 1.0
compatibility_weight_coefficient = 0.5
conn_add_prob = 0.6
conn_delete_prob = 0.2
node_add_prob = 0.5
node_delete_prob = 0.1
single_structural_mutation = False
structural_mutation_surer = default
activation_default = sigmoid
activation_options = {activations}
activation_mutate_rate = 0.3
aggregation_default = sum
aggregation_options = {aggregations}
aggregation_mutate_rate = 0.3
enabled_default = True
enabled_mutate_rate = 0.1
enabled_rate_to_true_add = 0.0
enabled_rate_to_false_add = 0.0
{floats}
[DefaultSpeciesSet]
compatibility_threshold = 3.0

[DefaultStagnation]
species_fitness_func = max
max_stagnation = 20
species_elitism = 2

[DefaultReproduction]
elitism = 2
survival_threshold = 0.2
min_species_size = 2
"""


def neat_config(
    num_inputs: int = 3,
    num_outputs: int = 2,
    *,
    num_hidden: int = 0,
    feed_forward: bool = True,
    initial_connection: str = "full_direct",
    activations: str = "sigmoid",
    aggregations: str = "sum",
    pop_size: int = 20,
) -> Any:
    """Makes a neat-python config for the installed version of it."""
    import neat

    floats = [
        _FLOAT_GENE.format(name="bias", mean=0.0, stdev=1.0, least=-30.0),
        _FLOAT_GENE.format(name="response", mean=1.0, stdev=0.1, least=-30.0),
        _FLOAT_GENE.format(name="weight", mean=0.0, stdev=1.0, least=-30.0),
    ]
    if has_time_constants():
        floats.append(_FLOAT_GENE.format(name="time_constant", mean=1.0, stdev=0.1, least=0.01))
    text = _CONFIG.format(
        pop_size=pop_size,
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        num_hidden=num_hidden,
        feed_forward=feed_forward,
        initial_connection=initial_connection,
        activations=activations,
        aggregations=aggregations,
        floats="".join(floats),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "neat.ini"
        path.write_text(text)
        return neat.Config(
            neat.DefaultGenome,
            neat.DefaultReproduction,
            neat.DefaultSpeciesSet,
            neat.DefaultStagnation,
            str(path),
        )


def has_time_constants() -> bool:
    """Tells whether the installed neat-python has time constants (since 2.0)."""
    import neat

    return "time_constant" in {a.name for a in neat.genes.DefaultNodeGene._gene_attributes}


def has_innovations() -> bool:
    """Tells whether the installed neat-python has innovation numbers (since 1.0)."""
    import neat

    return hasattr(neat, "InnovationTracker")


def random_neat_genomes(
    config: Any, count: int, num_mutations: int = 10, seed: int = 0
) -> list[tuple[int, Any]]:
    """Lets neat-python make and mutate genomes, as pairs (id, genome).

    Python's global random state is the same afterwards.
    """
    import neat

    genome_config = config.genome_config
    if has_innovations() and genome_config.innovation_tracker is None:
        genome_config.innovation_tracker = neat.InnovationTracker()
    state = random.getstate()
    random.seed(seed)
    try:
        found = []
        for key in range(1, count + 1):
            genome = config.genome_type(key)
            genome.configure_new(genome_config)
            for _ in range(num_mutations):
                genome.mutate(genome_config)
            found.append((key, genome))
        return found
    finally:
        random.setstate(state)
