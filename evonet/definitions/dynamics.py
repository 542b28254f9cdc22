"""The kinds of network: what a node remembers from one step to the next.

A kind's position is its id; `kernels/nodes/cells.h` has the formulas, in the same order.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final, Literal, NamedTuple, get_args

from evonet.errors import OptionError, check_option, check_positive, check_whole

KindName = Literal["feedforward", "recurrent", "ctrnn", "izhikevich"]
Propagation = Literal["next-step", "same-step"]


class Kind(NamedTuple):
    """One kind of network.

    Attributes:
        name: What users write.
        states: Names of the numbers that each node remembers; links read the first.
        parameters: Names of the numbers that only nodes of this kind have.
        time_step: The default duration of a step; 0 where time has no unit.
        unit: The unit of time.
    """

    name: KindName
    states: tuple[str, ...]
    parameters: tuple[str, ...]
    time_step: float
    unit: str


KINDS: Final[tuple[Kind, ...]] = (
    Kind("feedforward", (), (), 0.0, ""),
    Kind("recurrent", ("value",), (), 0.0, ""),
    Kind("ctrnn", ("value",), ("kept",), 0.01, "s"),
    Kind("izhikevich", ("fired", "v", "u"), ("a", "b", "c", "d"), 0.05, "ms"),
)
KIND_IDS: Final[dict[str, int]] = {kind.name: i for i, kind in enumerate(KINDS)}
KIND_NAMES: Final[tuple[str, ...]] = tuple(KIND_IDS)
PROPAGATIONS: Final[tuple[Propagation, ...]] = get_args(Propagation)

# The parameters of neurons without genes for them: Izhikevich calls them regular spiking.
REGULAR_SPIKING: Final = (0.02, 0.2, -65.0, 8.0)
MOST_STEPS: Final = 2**20


@dataclasses.dataclass(frozen=True)
class Dynamics:
    """How networks work through time.

    Attributes:
        kind: What nodes remember.
        propagation: When links act: "next-step" lets every value travel one link per step,
            "same-step" delays only the links that close a cycle. Only for recurrent networks.
        time_step: The duration of a step in seconds (ctrnn) or milliseconds (izhikevich); 0 for
            other kinds.
        steps: The number of steps that a call takes while its inputs stay constant.

    Raises:
        OptionError: An option has a value that is not allowed, or that this kind does not have.
    """

    kind: KindName = "feedforward"
    propagation: Propagation = "next-step"
    time_step: float = 0.0
    steps: int = 1

    @classmethod
    def of(
        cls,
        kind: str = "feedforward",
        propagation: str = "next-step",
        time_step: float | None = None,
        steps: int = 1,
    ) -> Dynamics:
        """Checks options that a user wrote; a time step of None is the kind's default.

        Raises:
            OptionError: An option has a value that is not allowed, or that this kind does not have.
        """
        given = kind, propagation, time_step, steps
        if given == _DEFAULTS and type(steps) is int:  # by far the commonest
            return FEEDFORWARD
        check_option("kind", kind, KIND_NAMES)
        check_option("propagation", propagation, PROPAGATIONS)
        known = KINDS[KIND_IDS[kind]]
        if propagation != "next-step" and kind != "recurrent":
            raise OptionError(
                f'propagation="{propagation}" is for kind="recurrent"; kind="{kind}" has no choice.'
            )
        if time_step is not None and not known.time_step:
            raise OptionError(f'time_step is for "ctrnn" and "izhikevich"; kind="{kind}" has none.')
        seconds = known.time_step if time_step is None else check_positive("time_step", time_step)
        count = check_whole("steps", steps, 1, MOST_STEPS)
        if count > 1 and kind == "feedforward":
            raise OptionError('steps is for networks with memory; kind="feedforward" has none.')
        when: Propagation = "same-step" if propagation == "same-step" else "next-step"
        return cls(known.name, when, seconds, count)

    def options(self) -> dict[str, Any]:
        """The options for `evonet.compile`, by name."""
        time_step = self.time_step or None
        return {**dataclasses.asdict(self), "time_step": time_step}

    @functools.cached_property
    def has_memory(self) -> bool:
        """Whether nodes remember anything from one step to the next."""
        return self.num_states > 0

    @functools.cached_property
    def kind_id(self) -> int:
        """The id of the kind in the kernels."""
        return KIND_IDS[self.kind]

    @functools.cached_property
    def num_states(self) -> int:
        """C, the number of values that each node remembers."""
        return len(KINDS[self.kind_id].states)

    @functools.cached_property
    def num_parameters(self) -> int:
        """The number of parameters per node that only this kind has."""
        return len(KINDS[self.kind_id].parameters)


FEEDFORWARD: Final = Dynamics()
_DEFAULTS: Final = ("feedforward", "next-step", None, 1)
