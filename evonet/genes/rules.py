"""The settings of a config as the numbers that `kernels/genetics/gene_rules.h` reads, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evonet.config import BoolGene, ChoiceGene, Config, FloatGene
from evonet.errors import OptionError
from evonet.functions.registry import OWN

Rules = dict[str, Any]


def genome_rules(config: Config) -> Rules:
    """Returns the rules of breeding."""
    genome = config.genome
    return {
        "bias": _float_rule(genome.bias),
        "response": _float_rule(genome.response),
        "time_constant": _float_rule(genome.time_constant),
        "weight": _float_rule(genome.weight),
        "activation": _choice_rule(genome.activation, _ids(config, "activations")),
        "aggregation": _choice_rule(genome.aggregation, _ids(config, "aggregations")),
        "enabled": _bool_rule(genome.enabled),
        "conn_add": genome.conn_add_prob,
        "conn_delete": genome.conn_delete_prob,
        "node_add": genome.node_add_prob,
        "node_delete": genome.node_delete_prob,
        "single_structural_mutation": genome.single_structural_mutation,
        "structural_mutation_surer": genome.surer,
        "feed_forward": genome.feed_forward,
    }


def distance_rules(config: Config) -> Rules:
    """Returns the rules of genetic distance."""
    genome = config.genome
    return {
        "disjoint": genome.compatibility_disjoint_coefficient,
        "excess": genome.excess_coefficient,
        "weight": genome.compatibility_weight_coefficient,
        "enable_penalty": genome.compatibility_enable_penalty,
        "include_nodes": genome.compatibility_include_node_genes,
    }


def check_time_constants(config: Config, dtype: np.dtype[Any]) -> None:
    """Refuses a config under which time constants may fall to 0, which makes nodes invalid."""
    gene = config.genome.time_constant
    constant = gene.mutate_rate == 0 and gene.init_stdev == 0 and gene.init_mean > 0
    if not constant and dtype.type(gene.min_value) <= 0:
        raise OptionError(
            f"genome.time_constant_min_value={gene.min_value} lets time constants fall to 0, but "
            "they must stay above it. Use 0.01, for example."
        )


def _float_rule(gene: FloatGene) -> Rules:
    numbers = ("init_mean", "init_stdev", "mutate_power", "mutate_rate", "replace_rate")
    rule = {name: getattr(gene, name) for name in (*numbers, "min_value", "max_value")}
    return {**rule, "init_uniform": gene.init_type == "uniform"}


def _ids(config: Config, title: str) -> dict[str, int]:
    """Returns the ids of function names in a config, whatever they mean elsewhere by now."""
    functions, custom = OWN[title], config.functions.get(title, {})
    return {**functions.ids, **{name: functions.id_of(name, text) for name, text in custom.items()}}


def _choice_rule(gene: ChoiceGene, ids: Mapping[str, int]) -> Rules:
    return {
        "mutate_rate": gene.mutate_rate,
        "first": -1 if gene.default == "random" else ids[gene.default],
        "options": [ids[name] for name in gene.options],
    }


def _bool_rule(gene: BoolGene) -> Rules:
    return {
        "mutate_rate": gene.mutate_rate,
        "to_true_add": gene.rate_to_true_add,
        "to_false_add": gene.rate_to_false_add,
        "first": {"true": 1, "false": 0, "random": -1}[str(gene.default).lower()],
    }
