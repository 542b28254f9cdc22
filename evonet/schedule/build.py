"""Compiles a population to a Schedule."""

from __future__ import annotations

from typing import Any, Final, Literal

from evonet.definitions.dynamics import FEEDFORWARD, Dynamics
from evonet.errors import CyclicGenomeError, OptionError, check_option, check_threads
from evonet.genes.population import Population
from evonet.installation import load_native, require_native
from evonet.schedule import reference
from evonet.schedule.cells import node_parameters
from evonet.schedule.schedule import Schedule, freeze

# Each input takes a slot, in arrays that threads allocate before they see the first gene.
MOST_INPUTS: Final = 1 << 27

OnCycle = Literal["error", "zero"]


def build_schedule(
    population: Population,
    dynamics: Dynamics = FEEDFORWARD,
    *,
    on_cycle: OnCycle = "error",
    threads: int = 0,
    reuse_slots: bool = True,
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
        reuse_slots: Whether a value's slot is free again after the last level that reads it.
            Otherwise every node keeps a slot of its own, as gradients need it and as networks with
            memory always do. Results never depend on it.
        native: True for the compiled builder, False for the readable one;
            None takes the compiled one where it exists. Both give equal arrays.

    Raises:
        CyclicGenomeError: A genome has a cycle; names it and the cycle.
        GenomeError: The population was made with validate=False, and its genes make no sense.
        BackendError: native is True, and the extension was not built.
        OptionError: on_cycle is neither, threads is no sensible number, or there are too many
            inputs.
    """
    check_option("on_cycle", on_cycle, ("error", "zero"))
    threads = check_threads(threads)
    if population.num_inputs > MOST_INPUTS:
        raise OptionError(
            f"num_inputs={population.num_inputs}: networks of more than {MOST_INPUTS} inputs "
            "cannot be compiled."
        )
    extension = None if native is False else require_native() if native else load_native()
    wiring = wiring_of(dynamics)
    if extension is None:
        fields, cyclic = reference.build(population, wiring, dynamics.num_states, reuse_slots)
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
            dynamics.num_states,
            reuse_slots,
            threads,
        )
    if cyclic >= 0 and on_cycle == "error":
        raise CyclicGenomeError(
            f"genome {cyclic}: the nodes {_cycle_text(population, cyclic)} form a cycle, which a "
            'feed-forward network cannot evaluate. Use kind="recurrent", or on_cycle="zero" to '
            "leave such nodes at 0 as neat-python does.",
            genome=cyclic,
        )
    checked: Any = fields.pop("checked", None)
    genes = fields.pop("gene", None)
    fields["cell"] = node_parameters(population, dynamics, genes, len(fields["bias"]))
    if checked is None:
        freeze(fields)
    else:
        fields["cell"].flags.writeable = False
    schedule = Schedule.of_new_arrays(
        population.num_inputs, population.num_outputs, dynamics, fields
    )
    if checked is not None:  # what was compiled is right, and needs no second look
        checked.complete(schedule)
    return schedule


def wiring_of(dynamics: Dynamics) -> int:
    """When links act, as `kernels/schedule/wiring.h` numbers it."""
    if not dynamics.has_memory:
        return reference.LEVELS
    if dynamics.kind == "izhikevich":
        return reference.SPIKES
    same_step = dynamics.propagation == "same-step"
    return reference.SAME_STEP if same_step else reference.NEXT_STEP


def _cycle_text(population: Population, genome: int) -> str:
    cycle = reference.find_cycle(population, genome)
    shown = [str(key) for key in [*cycle, cycle[0]]]
    if len(shown) > 12:
        shown[8:-1] = ["..."]
    return " -> ".join(shown)
