"""The parts of a config: what can be set, what it means, and what it may be.

Names and meanings are neat-python's. Defaults are those of its XOR example, so that a short TOML
file is enough; settings that only neat-python 2.1 has default to the behaviour of 2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal

from evonet.config.connection import ConnectionRule, InitialConnection
from evonet.config.genes import (
    NOT_NEGATIVE,
    PROBABILITY,
    ActivationGene,
    AggregationGene,
    BoolGene,
    ChoiceGene,
    FloatGene,
)
from evonet.config.rules import (
    FALSE,
    TRUE,
    Conflict,
    Flag,
    Maybe,
    OneOf,
    OneOfOrImport,
    Or,
    Real,
    Spelled,
    Whole,
)
from evonet.config.schema import Part, setting
from evonet.definitions.dynamics import KIND_NAMES, KINDS, MOST_STEPS, PROPAGATIONS
from evonet.schedule.schedule import MOST_THREADS

RECURRENT: Final = ("auto", "recurrent")
TIMED: Final = tuple(kind.name for kind in KINDS if kind.time_step)
# Begins with 1 and never mutates.
CONSTANT_ONE: Final = FloatGene(
    init_mean=1.0, init_stdev=0.0, replace_rate=0.0, mutate_rate=0.0, mutate_power=0.0
)


@dataclass(frozen=True, slots=True)
class Run(Part):
    """How a run is carried out.

    Attributes:
        generations: The most generations to run.
        seed: Fixes all random numbers, 0 to 2^64 - 1.
        backend: Where networks run; "auto" takes the fastest that works.
        threads: CPU threads; 0 takes all.
        algorithm: What evolves networks: "neat", or "module:Class" or "file.py:Class" for an
            algorithm of your own.
    """

    generations: int = setting(Whole(0), 300)
    seed: int = setting(Whole(0, 2**64 - 1), 0)
    backend: Literal["auto", "cuda", "cpu", "reference"] = setting(
        OneOf("auto", "cuda", "cpu", "reference"), "auto"
    )
    threads: int = setting(Whole(0, MOST_THREADS), 0)
    algorithm: str = setting(OneOfOrImport("neat"), "neat")


@dataclass(frozen=True, slots=True)
class Network(Part):
    """What networks remember, and how they work through time.

    Attributes:
        kind: "feedforward" networks remember nothing, "recurrent" ones the value of each node;
            in a "ctrnn" nodes follow their input with their time constants, in an "izhikevich"
            they are spiking neurons. "auto" is "feedforward" where genome.feed_forward forbids
            cycles, and "recurrent" elsewhere.
        propagation: With "next-step" a value travels one link per step, as in neat-python; with
            "same-step" only links that close a cycle wait for the next step. For recurrent
            networks.
        time_step: What a step stands for, in s for a ctrnn ("default" is 0.01) and in ms for an
            izhikevich ("default" is 0.05).
        steps: How many steps a network takes for one input.
    """

    kind: Literal["auto", "feedforward", "recurrent", "ctrnn", "izhikevich"] = setting(
        OneOf("auto", *KIND_NAMES), "auto"
    )
    propagation: Literal["next-step", "same-step"] = setting(OneOf(*PROPAGATIONS), "next-step")
    time_step: float | Literal["default"] = setting(
        Or(Real(above=0.0), {"default": "default"}), "default"
    )
    steps: int = setting(Whole(1, MOST_STEPS), 1)

    conflicts: ClassVar[tuple[Conflict, ...]] = (
        Conflict(
            "propagation",
            "kind",
            lambda propagation, kind: propagation == "same-step" and kind not in RECURRENT,
            "is for recurrent networks, not for",
        ),
        Conflict(
            "time_step",
            "kind",
            lambda time_step, kind: time_step != "default" and kind not in TIMED,
            "is for ctrnn and izhikevich, not for",
        ),
        Conflict(
            "steps",
            "kind",
            lambda steps, kind: steps > 1 and kind == "feedforward",
            "is for networks with memory, not for",
        ),
    )


@dataclass(frozen=True, slots=True)
class Neat(Part):
    """The population, and when evolution is done.

    Attributes:
        pop_size: Genomes per generation.
        fitness_criterion: Which of a generation's fitness values is held against the threshold.
        fitness_threshold: Where evolution is done; None leaves it to the task, and without one
            there to the number of generations.
        reset_on_extinction: Begin anew when all species die out, instead of stopping.
        no_fitness_termination: Ignore the threshold and run all generations.
    """

    pop_size: int = setting(Whole(1), 150)
    fitness_criterion: Literal["max", "min", "mean"] = setting(OneOf("max", "min", "mean"), "max")
    fitness_threshold: float | None = setting(Maybe(Real()), None)
    reset_on_extinction: bool = setting(Flag(), False)
    no_fitness_termination: bool = setting(Flag(), False)


@dataclass(frozen=True, slots=True)
class Genome(Part):
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
        compatibility_enable_penalty: Difference of matching connections, one of them disabled.
        conn_add_prob: Probability that mutation adds a connection.
        conn_delete_prob: Probability that it deletes one.
        node_add_prob: Probability that it splits a connection by a node.
        node_delete_prob: Probability that it deletes a node.
        single_structural_mutation: Whether at most one of these four happens at a time.
        structural_mutation_surer: Whether a mutation that cannot happen gives way to one that
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
    initial_connection: InitialConnection = setting(  # noqa: RUF009
        ConnectionRule(), InitialConnection("full")
    )
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


@dataclass(frozen=True, slots=True)
class Speciation(Part):
    """How genomes are divided into species.

    Attributes:
        threshold: Genomes nearer than this share a species.
        target_num_species: Move the threshold towards this many species; None leaves it alone.
        threshold_adjust_rate: How far it moves per generation.
        threshold_min: The lowest that it moves to.
        threshold_max: The highest that it moves to.
    """

    threshold: float = setting(NOT_NEGATIVE, 3.0)
    target_num_species: int | None = setting(Or(Whole(1), {"none": None}), None)
    threshold_adjust_rate: float = setting(NOT_NEGATIVE, 0.1)
    threshold_min: float = setting(NOT_NEGATIVE, 0.1)
    threshold_max: float = setting(NOT_NEGATIVE, 100.0)

    conflicts: ClassVar[tuple[Conflict, ...]] = (
        Conflict(
            "threshold_min",
            "threshold_max",
            lambda least, most: least > most,
            "must not exceed",
        ),
    )


@dataclass(frozen=True, slots=True)
class Stagnation(Part):
    """Which species die out.

    Attributes:
        species_fitness_func: What of its members' fitness a species is judged by. "median" takes
            the upper of two middle values, "median2" their mean.
        max_stagnation: Generations without improvement that a species survives.
        species_elitism: The best species that never die out.
    """

    species_fitness_func: Literal["max", "min", "mean", "median", "median2"] = setting(
        OneOf("max", "min", "mean", "median", "median2"), "max"
    )
    max_stagnation: int = setting(Whole(0), 20)
    species_elitism: int = setting(Whole(0), 2)


@dataclass(frozen=True, slots=True)
class Reproduction(Part):
    """How many children each species has, and who are the parents.

    Attributes:
        elitism: The best of a species that pass on unchanged.
        survival_threshold: The share of a species that may become parents.
        min_species_size: The fewest genomes of a species.
        fitness_sharing: How species fitness is compared: scaled to the population's range, or
            divided by species size as in the NEAT paper.
        spawn_method: Whether species sizes move half the way, or at once, to their share.
        interspecies_crossover_prob: Probability that the second parent is of another species.
    """

    elitism: int = setting(Whole(0), 2)
    survival_threshold: float = setting(Real(above=0.0, most=1.0), 0.2)
    min_species_size: int = setting(Whole(0), 2)
    fitness_sharing: Literal["normalized", "canonical"] = setting(
        OneOf("normalized", "canonical"), "normalized"
    )
    spawn_method: Literal["smoothed", "proportional"] = setting(
        OneOf("smoothed", "proportional"), "smoothed"
    )
    interspecies_crossover_prob: float = setting(PROBABILITY, 0.0)
