"""The [genome] table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, cast, get_args

from evonet.config.genes import ActivationGene, AggregationGene, BoolGene, ChoiceGene, FloatGene
from evonet.config.rules import (
    FALSE,
    NOT_NEGATIVE,
    PROBABILITY,
    TRUE,
    Flag,
    Maybe,
    Or,
    RefusedError,
    Rule,
    Spelled,
    Whole,
)
from evonet.config.schema import Schema, setting
from evonet.messages import did_you_mean

# Starts at 1 and never mutates.
CONSTANT_ONE: Final = FloatGene(
    init_mean=1.0, init_stdev=0.0, replace_rate=0.0, mutate_rate=0.0, mutate_power=0.0
)

ConnectionKind: TypeAlias = Literal[
    "unconnected",
    "fs_neat",
    "fs_neat_nohidden",
    "fs_neat_hidden",
    "full",
    "full_nodirect",
    "full_direct",
    "partial",
    "partial_nodirect",
    "partial_direct",
]


@dataclass(frozen=True, slots=True)
class InitialConnection:
    """How the first genomes are connected; a file spells it "full" or "partial 0.5".

    Attributes:
        kind: neat-python's name for it.
        fraction: The share of connections that a partial kind makes, 0 to 1; None for others.
    """

    kind: ConnectionKind
    fraction: float | None = None

    def __str__(self) -> str:
        return self.kind if self.fraction is None else f"{self.kind} {self.fraction!r}"


class ConnectionRule(Rule[InitialConnection]):
    """Accepts an `InitialConnection` or its spelling."""

    def check(self, value: object) -> InitialConnection:
        """Requires a fraction for the partial kinds, and for no others."""
        words = str(value).split() if isinstance(value, (str, InitialConnection)) else []
        first, rest = (words[0], words[1:]) if words else ("", [])
        if first not in get_args(ConnectionKind):
            raise RefusedError(f"is not a choice. {did_you_mean(first, get_args(ConnectionKind))}")
        kind = cast(ConnectionKind, first)
        if not kind.startswith("partial"):
            if rest:
                raise RefusedError(
                    f'must be "{kind}" alone. Only the partial kinds take a fraction.'
                )
            return InitialConnection(kind)
        try:
            (fraction,) = map(float, rest)
        except ValueError:
            fraction = -1.0
        if not 0.0 <= fraction <= 1.0:
            raise RefusedError(f'needs one fraction between 0 and 1, such as "{kind} 0.5".')
        return InitialConnection(kind, fraction + 0.0)


@dataclass(frozen=True, slots=True)
class GenomeTable(Schema):
    """What genomes look like, how far apart they are, and how they mutate.

    Attributes:
        num_inputs: Inputs of a network; None until the task fills it in.
        num_outputs: Outputs of a network; None until the task fills it in.
        num_hidden: Hidden nodes of the first genomes.
        feed_forward: Whether cycles are forbidden.
        initial_connection: How the first genomes are connected.
        compatibility_disjoint_coefficient: Distance per disjoint gene.
        compatibility_weight_coefficient: Distance per unit of difference between matching genes.
        compatibility_excess_coefficient: Distance per excess gene; "auto" is the disjoint one.
        compatibility_include_node_genes: Whether nodes count in the distance.
        compatibility_enable_penalty: Difference of matching connections of which one is disabled.
        conn_add_prob: Probability that mutation adds a connection.
        conn_delete_prob: Probability that it deletes one.
        node_add_prob: Probability that it splits a connection by a node.
        node_delete_prob: Probability that it deletes a node.
        single_structural_mutation: Whether at most one of these four happens at a time.
        structural_mutation_surer: Whether a mutation that cannot happen is replaced by one that
            can; "default" follows single_structural_mutation.
        bias: The bias of a node.
        response: What multiplies a node's aggregated input.
        time_constant: How slowly a CTRNN node follows its input.
        activation: The activation of a node.
        aggregation: The aggregation of a node.
        weight: The weight of a connection.
        enabled: Whether a connection is enabled.
    """

    num_inputs: int | None = setting(Maybe(Whole(0)), None)
    num_outputs: int | None = setting(Maybe(Whole(1)), None)
    num_hidden: int = setting(Whole(0), 0)
    feed_forward: bool = setting(Flag(), True)
    initial_connection: InitialConnection = setting(ConnectionRule(), InitialConnection("full"))
    compatibility_disjoint_coefficient: float = setting(NOT_NEGATIVE, 1.0)
    compatibility_weight_coefficient: float = setting(NOT_NEGATIVE, 0.5)
    compatibility_excess_coefficient: float | Literal["auto"] = setting(
        Or(NOT_NEGATIVE, {"auto": "auto"}), "auto"
    )
    compatibility_include_node_genes: bool = setting(Flag(), True)
    compatibility_enable_penalty: float = setting(NOT_NEGATIVE, 1.0)
    conn_add_prob: float = setting(PROBABILITY, 0.5)
    conn_delete_prob: float = setting(PROBABILITY, 0.5)
    node_add_prob: float = setting(PROBABILITY, 0.2)
    node_delete_prob: float = setting(PROBABILITY, 0.2)
    single_structural_mutation: bool = setting(Flag(), False)
    structural_mutation_surer: Literal["default", "true", "false"] = setting(
        Spelled(
            {
                "default": "default",
                **dict.fromkeys(TRUE, "true"),
                **dict.fromkeys(FALSE, "false"),
            }
        ),
        "default",
    )
    bias: FloatGene = field(default=FloatGene())
    response: FloatGene = field(default=CONSTANT_ONE)
    time_constant: FloatGene = field(default=replace(CONSTANT_ONE, max_value=10.0, min_value=0.01))
    activation: ChoiceGene = field(default=ActivationGene())
    aggregation: ChoiceGene = field(default=AggregationGene())
    weight: FloatGene = field(default=FloatGene(mutate_rate=0.8))
    enabled: BoolGene = field(default=BoolGene())

    @property
    def excess_coefficient(self) -> float:
        """Distance per excess gene, with "auto" resolved."""
        if self.compatibility_excess_coefficient == "auto":
            return self.compatibility_disjoint_coefficient
        return self.compatibility_excess_coefficient

    @property
    def surer(self) -> bool:
        """Whether structural mutation is surer, with "default" resolved."""
        if self.structural_mutation_surer == "default":
            return self.single_structural_mutation
        return self.structural_mutation_surer == "true"
