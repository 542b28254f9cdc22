"""Schedules: what kernels run instead of genomes.

A genome is compiled once per generation to an order in which its nodes can be
computed. Nodes on one level never read each other, so a kernel may compute a
whole level at once and needs one barrier per level. Only what the outputs need
is kept.

Every genome sees its values as numbered slots: slot i < I is input i, slot
I + k is the k-th live node of its schedule. In networks with memory, slot
I + n + k is what the k-th of its n nodes has remembered from the last step.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from evonet.definitions.dynamics import Dynamics
from evonet.errors import CyclicGenomeError, check_option, check_threads
from evonet.genes.population import Population
from evonet.installation import load_native, require_native
from evonet.schedule import reference as schedule_reference
from evonet.schedule.cells import node_parameters

if TYPE_CHECKING:
    from evonet.schedule.analysis import Analysis

OnCycle = Literal["error", "zero"]

FEEDFORWARD: Final = Dynamics()


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Schedule:
    """The level schedules of a whole population, packed without padding.

    Live nodes of a genome are ordered by (level, aggregation, activation,
    in-degree, key), so that neighbouring threads and neighbouring loop turns
    do the same work; the links of a node keep the genome's link order.

    Attributes:
        num_inputs: I.
        num_outputs: O.
        dynamics: How the networks work through time.
        node_start: [P + 1] first live node of each genome, int64.
        node_key: [N] key of each live node, int64.
        bias: [N].
        response: [N].
        activation: [N] ids, uint8.
        aggregation: [N] ids, uint8.
        edge_start: [N + 1] first link of each live node, int64.
        source: [E] slot that the link reads, int32.
        weight: [E].
        level_start: [P + 1] first level of each genome, int64.
        level_end: [L] number of the genome's live nodes up to and including
            the level, int32.
        output_slot: [P, O] slot of each output, int32; -1 for an output on or
            behind a cycle, which is never evaluated and stays 0.
        cell: [N, c] the numbers of each live node that only this kind of network has; see
            `evonet.definitions.dynamics.KINDS`.
    """

    num_inputs: int
    num_outputs: int
    dynamics: Dynamics = FEEDFORWARD
    node_start: npt.NDArray[np.int64]
    node_key: npt.NDArray[np.int64]
    bias: npt.NDArray[Any]
    response: npt.NDArray[Any]
    activation: npt.NDArray[np.uint8]
    aggregation: npt.NDArray[np.uint8]
    edge_start: npt.NDArray[np.int64]
    source: npt.NDArray[np.int32]
    weight: npt.NDArray[Any]
    level_start: npt.NDArray[np.int64]
    level_end: npt.NDArray[np.int32]
    output_slot: npt.NDArray[np.int32]
    cell: npt.NDArray[Any]

    def __post_init__(self) -> None:
        for array in self.arrays().values():
            array.flags.writeable = False

    @property
    def num_genomes(self) -> int:
        """P."""
        return len(self.node_start) - 1

    @property
    def num_nodes(self) -> int:
        """N, the live nodes of all genomes."""
        return int(self.node_start[-1])

    @property
    def num_edges(self) -> int:
        """E, the links that live nodes read."""
        return int(self.edge_start[-1])

    @property
    def num_levels(self) -> npt.NDArray[np.int64]:
        """[P] levels of each genome."""
        return np.diff(self.level_start)

    @property
    def num_slots(self) -> npt.NDArray[np.int64]:
        """[P] values that each genome holds: inputs, live nodes and what these remember."""
        return self.num_inputs + (1 + self.dynamics.num_states) * np.diff(self.node_start)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all values, float32 or float64."""
        return self.weight.dtype

    @property
    def nbytes(self) -> int:
        """Memory that the arrays hold."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name, in the order of the class."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("num_inputs", "num_outputs", "dynamics")
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return (self.num_inputs, self.num_outputs, self.dtype, self.dynamics) == (
            other.num_inputs,
            other.num_outputs,
            other.dtype,
            other.dynamics,
        ) and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        depth = int(self.num_levels.max(initial=0))
        return (
            f"Schedule({self.num_genomes} genomes, {self.num_inputs} -> {self.num_outputs}, "
            f"{self.num_nodes} nodes, {self.num_edges} links, at most {depth} levels, {self.dtype})"
        )

    def analyze(self) -> Analysis:
        """Measures how parallel each schedule can be: work, span, slack, bounds."""
        from evonet.schedule.analysis import analyze

        return analyze(self)


def build_schedule(
    population: Population,
    dynamics: Dynamics = FEEDFORWARD,
    *,
    on_cycle: OnCycle = "error",
    threads: int = 0,
    native: bool | None = None,
) -> Schedule:
    """Orders every node of every genome by its longest path from an input.

    In networks with memory, links that act in the next step lengthen no path.

    Args:
        population: P genomes.
        dynamics: How the networks work through time.
        on_cycle: What to do with a feed-forward genome whose outputs need a
            node on or behind a cycle: "error", or "zero" to leave those nodes
            at 0 as neat-python does.
        threads: Threads to use; 0 for all available.
        native: True for the compiled builder, False for the readable one;
            None takes the compiled one where it exists. Both give equal arrays.

    Raises:
        CyclicGenomeError: A genome has a cycle; names it and the cycle.
        BackendError: native is True, and the extension was not built.
        OptionError: on_cycle is neither, or threads is no sensible number.
    """
    check_option("on_cycle", on_cycle, ("error", "zero"))
    threads = check_threads(threads)
    extension = None if native is False else require_native() if native else load_native()
    wiring = _wiring(dynamics)
    if extension is None:
        fields, cyclic = schedule_reference.build(population, wiring)
    else:
        fields, cyclic = extension.compile_schedule(
            population.num_inputs,
            population.num_outputs,
            population.node_start,
            population.node_key,
            population.bias,
            population.response,
            population.activation,
            population.aggregation,
            population.conn_start,
            population.source,
            population.target,
            population.weight,
            population.enabled,
            population.rank,
            wiring,
            threads,
        )
    if cyclic >= 0 and on_cycle == "error":
        raise CyclicGenomeError(
            f"genome {cyclic}: the nodes {_cycle_text(population, cyclic)} form a cycle, which a "
            'feed-forward network cannot evaluate. Use kind="recurrent", or on_cycle="zero" to '
            "leave such nodes at 0 as neat-python does.",
            genome=cyclic,
        )
    genes = fields.pop("gene", None)
    return Schedule(
        num_inputs=population.num_inputs,
        num_outputs=population.num_outputs,
        dynamics=dynamics,
        cell=node_parameters(population, dynamics, genes, len(fields["bias"])),
        **fields,
    )


def _wiring(dynamics: Dynamics) -> int:
    if not dynamics.has_memory:
        return schedule_reference.LEVELS
    if dynamics.kind == "izhikevich":
        return schedule_reference.SPIKES
    same_step = dynamics.propagation == "same-step"
    return schedule_reference.SAME_STEP if same_step else schedule_reference.NEXT_STEP


def _cycle_text(population: Population, genome: int) -> str:
    cycle = schedule_reference.find_cycle(population, genome)
    shown = [str(key) for key in [*cycle, cycle[0]]]
    if len(shown) > 12:
        shown[8:-1] = ["..."]
    return " -> ".join(shown)
