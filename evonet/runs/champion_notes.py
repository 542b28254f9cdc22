"""What a run notes in its champion's file beside the genes, and what a report reads there.

Names of columns and scores on examples kept aside come from the task, which reports never import.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from evonet.runs.champion_fields import Scalar
from evonet.messages import printable
from evonet.definitions.dynamics import Dynamics
from evonet.network import compile as compile_network
from evonet.genes.population import Population
from evonet.tasks.base import Task

# Longer names would leave no room for the network.
MOST_CHARACTERS: Final = 24
ASIDE: Final = "kept aside: "


def note_champion(
    task: Task, name: object, genome: Population, dynamics: Dynamics
) -> dict[str, Scalar]:
    """Notes what is known about a champion.

    Args:
        task: What it evolved on. It may have `input_names` and `output_names`, and with `test`
            examples `test_scores`.
        name: Of the task in the config.
        genome: The champion alone.
        dynamics: Of its network.
    """
    notes: dict[str, Scalar] = {"task": name} if isinstance(name, str) else {}
    for pin in ("input", "output"):
        names = getattr(task, f"{pin}_names", ())
        notes |= {f"{pin} {i}": str(given) for i, given in enumerate(names)}
    test: Any = getattr(task, "test", None)
    if test is not None and hasattr(task, "test_scores"):
        found = task.test_scores(compile_network(genome, **dynamics.options()))
        scores = {n: float(score[0]) for n, score in found.items()}
        notes[f"{ASIDE}examples"] = len(test.x)
        notes |= {f"{ASIDE}{n}": score for n, score in scores.items() if math.isfinite(score)}
    return notes


def read_names(notes: Mapping[str, object], num_inputs: int, num_outputs: int) -> dict[int, str]:
    """The names of inputs -1..-I and outputs 0..O-1 by key, those that were noted.

    Args:
        notes: A champion's metadata, which may come from anywhere.
        num_inputs: I.
        num_outputs: O.
    """
    found = {-1 - i: notes.get(f"input {i}") for i in range(num_inputs)}
    found |= {i: notes.get(f"output {i}") for i in range(num_outputs)}
    return {
        key: printable(name)[:MOST_CHARACTERS]
        for key, name in found.items()
        if isinstance(name, str) and name
    }


def read_scores_aside(notes: Mapping[str, object]) -> dict[str, float]:
    """The scores on examples that were kept aside, with the number of "examples"; or nothing.

    Args:
        notes: A champion's metadata, which may come from anywhere.
    """
    return {
        name.removeprefix(ASIDE): float(score)
        for name, score in notes.items()
        if name.startswith(ASIDE) and isinstance(score, (int, float))
    }
