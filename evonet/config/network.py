"""The [network] table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from evonet.config.rules import Conflict, FunctionName, OneOf, Or, Real, Whole
from evonet.config.schema import Schema, setting
from evonet.definitions.dynamics import KIND_NAMES, KINDS, MOST_STEPS, PROPAGATIONS
from evonet.functions.registry import ACTIVATION_IDS

RECURRENT: Final = ("auto", "recurrent")
TIMED: Final = tuple(kind.name for kind in KINDS if kind.time_step)


@dataclass(frozen=True, slots=True)
class NetworkTable(Schema):
    """What networks remember, and how they work through time.

    Attributes:
        kind: "feedforward" networks remember nothing, "recurrent" ones the value of each node;
            in a "ctrnn" nodes follow their input with their time constants, in an "izhikevich"
            they are spiking neurons. "auto" is "feedforward" where genome.feed_forward forbids
            cycles, and "recurrent" elsewhere.
        propagation: With "next-step" a value travels one link per step, as in neat-python; with
            "same-step" only links that close a cycle wait for the next step. For recurrent
            networks.
        time_step: The time that a step takes, in s for a ctrnn ("default" is 0.01) and in ms for an
            izhikevich ("default" is 0.05).
        steps: Steps that a network takes for one input.
        output_activation: The activation that outputs of the first genomes have; "default" for
            that of all other nodes. Mutation may change it as any other.
    """

    kind: Literal["auto", "feedforward", "recurrent", "ctrnn", "izhikevich"] = setting(
        OneOf("auto", *KIND_NAMES), "auto"
    )
    propagation: Literal["next-step", "same-step"] = setting(OneOf(*PROPAGATIONS), "next-step")
    time_step: float | Literal["default"] = setting(
        Or(Real(above=0.0), {"default": "default"}), "default"
    )
    steps: int = setting(Whole(1, MOST_STEPS), 1)
    output_activation: str = setting(
        Or(FunctionName(ACTIVATION_IDS, "activation"), {"default": "default"}), "default"
    )

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
