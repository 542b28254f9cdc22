"""How each kind of gene starts and mutates; [genome] has several of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from evonet.config.rules import (
    FALSE,
    PROBABILITY,
    TRUE,
    Conflict,
    FunctionName,
    FunctionNames,
    InitType,
    Real,
    Spelled,
    at_most,
)
from evonet.config.schema import Schema, setting
from evonet.functions.registry import ACTIVATION_IDS, AGGREGATION_IDS

# Genes are float32, whose largest number this is.
LARGEST: Final = 3.4028234663852886e38


@dataclass(frozen=True, slots=True)
class FloatGene(Schema):
    """How a real-valued gene starts and mutates.

    Attributes:
        init_mean: Mean of the first value.
        init_stdev: Its standard deviation; a uniform draw spans twice that to either side.
        init_type: Distribution of the first value.
        replace_rate: Probability of drawing a new value.
        mutate_rate: Probability of adding a Gaussian. It comes first: where both rates exceed 1
            together, fewer values are drawn.
        mutate_power: Standard deviation of that Gaussian.
        max_value: The value never exceeds this.
        min_value: The value never falls below this.
    """

    init_mean: float = setting(Real(-LARGEST, LARGEST), 0.0)
    init_stdev: float = setting(Real(0.0, LARGEST), 1.0)
    init_type: Literal["gaussian", "uniform"] = setting(InitType(), "gaussian")
    replace_rate: float = setting(PROBABILITY, 0.1)
    mutate_rate: float = setting(PROBABILITY, 0.7)
    mutate_power: float = setting(Real(0.0, LARGEST), 0.5)
    max_value: float = setting(Real(-LARGEST, LARGEST), 30.0)
    min_value: float = setting(Real(-LARGEST, LARGEST), -30.0)

    conflicts: ClassVar[tuple[Conflict, ...]] = (at_most("min_value", "max_value"),)


@dataclass(frozen=True, slots=True)
class ChoiceGene(Schema):
    """How a gene that names a function starts and mutates.

    Attributes:
        default: The first value; "random" picks one of the options.
        options: What mutation picks from; a name that is repeated is picked more often.
        mutate_rate: Probability of picking another option.
    """

    default: str
    options: tuple[str, ...]
    mutate_rate: float = setting(PROBABILITY, 0.0)

    conflicts: ClassVar[tuple[Conflict, ...]] = (
        Conflict(
            "default",
            "options",
            lambda default, options: default != "random" and default not in options,
            "must be among",
        ),
    )


@dataclass(frozen=True, slots=True)
class ActivationGene(ChoiceGene):
    """The activation of a node, one of `evonet.functions.registry.ACTIVATIONS`."""

    default: str = setting(FunctionName(ACTIVATION_IDS, "activation"), "sigmoid")
    options: tuple[str, ...] = setting(FunctionNames(ACTIVATION_IDS, "activation"), ("sigmoid",))


@dataclass(frozen=True, slots=True)
class AggregationGene(ChoiceGene):
    """The aggregation of a node, one of `evonet.functions.registry.AGGREGATIONS`."""

    default: str = setting(FunctionName(AGGREGATION_IDS, "aggregation"), "sum")
    options: tuple[str, ...] = setting(FunctionNames(AGGREGATION_IDS, "aggregation"), ("sum",))


@dataclass(frozen=True, slots=True)
class BoolGene(Schema):
    """How the enabled flag of a connection starts and mutates.

    Attributes:
        default: The first value; "random" tosses a coin.
        mutate_rate: Probability of tossing a coin.
        rate_to_true_add: Added to that probability while the flag is false.
        rate_to_false_add: Added to it while the flag is true.
    """

    default: bool | Literal["random"] = setting(
        Spelled(
            {
                **dict.fromkeys(TRUE, True),
                **dict.fromkeys(FALSE, False),
                **dict.fromkeys(("random", "none"), "random"),
            }
        ),
        True,
    )
    mutate_rate: float = setting(PROBABILITY, 0.01)
    rate_to_true_add: float = setting(Real(-1.0, 1.0), 0.0)
    rate_to_false_add: float = setting(Real(-1.0, 1.0), 0.0)
