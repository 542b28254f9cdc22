"""How the first genomes are connected: candidates, and how many of them each genome gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evonet.config import Config


@dataclass(frozen=True)
class FirstPlan:
    """What the first genomes have in common; a candidate's position is its innovation number.

    Attributes:
        num_inputs: I.
        num_nodes: Output and hidden nodes, with the keys 0, 1, ...
        source: Sources of the candidate connections, [C].
        target: Their targets, [C].
        num_wanted: How many of the candidates a genome gets, chosen at random.
        one_input: Instead, all candidates of one random input.
    """

    num_inputs: int
    num_nodes: int
    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    num_wanted: int
    one_input: bool


def plan_first_generation(config: Config, num_inputs: int, num_outputs: int) -> FirstPlan:
    """Follows the config's scheme, one of neat-python's for initial_connection."""
    genome = config.genome
    scheme = genome.initial_connection
    inputs = [-1 - i for i in range(num_inputs)]
    outputs = list(range(num_outputs))
    hidden = list(range(num_outputs, num_outputs + genome.num_hidden))
    pairs: list[tuple[int, int]] = []
    one_input = scheme.kind.startswith("fs_neat")
    if one_input:
        targets = [*hidden, *outputs] if scheme.kind == "fs_neat_hidden" else outputs
        pairs = [(i, t) for i in inputs for t in targets]
    elif scheme.kind != "unconnected":
        pairs += [(i, h) for i in inputs for h in hidden]
        pairs += [(h, o) for h in hidden for o in outputs]
        if scheme.kind.endswith("_direct") or not hidden:
            pairs += [(i, o) for i in inputs for o in outputs]
        if not genome.feed_forward:
            pairs += [(n, n) for n in [*outputs, *hidden]]
    fraction = 1.0 if scheme.fraction is None else scheme.fraction
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return FirstPlan(
        num_inputs=num_inputs,
        num_nodes=num_outputs + genome.num_hidden,
        source=np.ascontiguousarray(ends[:, 0]),
        target=np.ascontiguousarray(ends[:, 1]),
        num_wanted=round(len(pairs) * fraction),
        one_input=one_input,
    )
