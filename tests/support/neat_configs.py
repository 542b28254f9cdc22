"""neat-python configs and genomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import neat

from evonet.installation import resource_folder
from tests.support.random_networks import Genes

XOR_INI = resource_folder("configs") / "xor-neat.ini"
FORWARD_INI = resource_folder("configs") / "forward-neat.ini"
XOR_X = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
XOR_Y = [(0.0,), (1.0,), (1.0,), (0.0,)]


def load(path: Path = XOR_INI) -> Any:
    return neat.Config(
        neat.DefaultGenome,
        neat.DefaultReproduction,
        neat.DefaultSpeciesSet,
        neat.DefaultStagnation,
        str(path),
    )


def forward_config(num_inputs: int, num_outputs: int) -> Any:
    """A config for genomes of all functions, with any number of inputs and outputs."""
    config = load(FORWARD_INI)
    config.genome_config.input_keys = [-1 - i for i in range(num_inputs)]
    config.genome_config.output_keys = list(range(num_outputs))
    return config


def write_ini(folder: Path, **changes: object) -> Path:
    """The XOR example's config with some settings changed."""
    lines = []
    for line in XOR_INI.read_text().splitlines():
        key = line.partition("=")[0].strip()
        lines.append(f"{key} = {changes.pop(key)}" if key in changes else line)
    assert not changes, changes
    path = folder / "config-feedforward"
    path.write_text("\n".join(lines))
    return path


def make_genome(
    config: Any, key: int, nodes: dict[int, dict[str, Any]], links: dict[tuple[int, int], float]
) -> Any:
    """A genome with given nodes, whose other attributes are plain, and links in their order."""
    genome = neat.DefaultGenome(key)
    for node, attributes in nodes.items():
        gene = neat.DefaultGenome.create_node(config.genome_config, node)
        plain = {"bias": 0.0, "response": 1.0, "activation": "identity", "aggregation": "sum"}
        for name, value in {**plain, "time_constant": 1.0, **attributes}.items():
            setattr(gene, name, value)
        genome.nodes[node] = gene
    for number, (ends, weight) in enumerate(links.items()):
        gene = config.genome_config.connection_gene_type(ends, innovation=number)
        gene.weight, gene.enabled = weight, True
        genome.connections[ends] = gene
    return genome


def to_neat_genome(genes: Genes, key: int) -> neat.DefaultGenome:
    """Makes a neat-python genome that lists its genes in the same order."""
    nodes, links = genes
    genome = neat.DefaultGenome(key)
    for values in nodes:
        node = genome.nodes[values["key"]] = neat.genes.DefaultNodeGene(values["key"])
        for name, value in values.items():
            setattr(node, name, value)
        node.time_constant = 1.0
    for innovation, (source, target, weight, enabled) in enumerate(links):
        # Innovation numbers against the order of the genome: the order must win.
        gene = neat.genes.DefaultConnectionGene((source, target), len(links) - innovation)
        gene.weight, gene.enabled = weight, enabled
        genome.connections[gene.key] = gene
    return genome


def eval_xor(genomes: Any, config: Any) -> None:
    """neat-python's XOR example."""
    for _, genome in genomes:
        genome.fitness = 4.0
        net = neat.nn.FeedForwardNetwork.create(genome, config)
        for xi, xo in zip(XOR_X, XOR_Y, strict=True):
            output = net.activate(xi)
            genome.fitness -= (output[0] - xo[0]) ** 2
