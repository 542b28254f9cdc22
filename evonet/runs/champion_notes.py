"""What a run notes in its champion's file beside the genes, and what a report reads there.

Names of columns and scores on held-out examples come from the task, which reports never import.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from evonet.definitions.dynamics import Dynamics
from evonet.genes.population import Population
from evonet.messages import printable
from evonet.network import compile_with
from evonet.runs.champion_fields import Scalar
from evonet.tasks.base import Task
from evonet.tasks.held_out import Claim

# Longer names would leave no room for the network.
MOST_CHARACTERS: Final = 24
# What files call held-out examples.
HELD_OUT: Final = "kept aside: "
TRAIN: Final = "train: "


def note_champion(
    task: Task, name: object, genome: Population, dynamics: Dynamics
) -> dict[str, Scalar]:
    """Notes what is known about a champion.

    Args:
        task: What it evolved on.
        name: What the config calls the task.
        genome: The champion alone.
        dynamics: How its network works through time.
    """
    notes: dict[str, Scalar] = {"task": name} if isinstance(name, str) else {}
    for pin, names in (("input", task.input_names), ("output", task.output_names)):
        notes |= {f"{pin} {i}": str(given) for i, given in enumerate(names)}
    if task.num_held_out:
        notes[f"{HELD_OUT}examples"] = task.num_held_out
        scores = score_held_out(task, genome, dynamics)
        claim = claim_of(task, genome, dynamics)
        if claim is not None:
            scores |= {f"{claim.score} low": claim.low, f"{claim.score} high": claim.high}
        notes |= {f"{HELD_OUT}{n}": score for n, score in scores.items() if math.isfinite(score)}
    train = score_parts(task, genome, dynamics).get("train", {})
    notes |= {f"{TRAIN}{n}": score for n, score in train.items() if math.isfinite(score)}
    return notes


def score_held_out(task: Task, genome: Population, dynamics: Dynamics) -> dict[str, float]:
    """Scores a champion on examples that no fitness depended on.

    Args:
        task: What it evolved on.
        genome: The champion alone.
        dynamics: How its network works through time.
    """
    if not task.num_held_out:
        return {}
    scores = task.held_out_scores(compile_with(genome, dynamics))
    return {name: float(score[0]) for name, score in scores.items()}


def claim_of(task: Task, genome: Population, dynamics: Dynamics) -> Claim | None:
    """Scores a champion on held-out examples, with an interval; None if there are none.

    Args:
        task: What it evolved on.
        genome: The champion alone.
        dynamics: How its network works through time.
    """
    return task.claim(compile_with(genome, dynamics)) if task.num_held_out else None


def score_parts(task: Task, genome: Population, dynamics: Dynamics) -> dict[str, dict[str, float]]:
    """Scores a champion on each part of the task's examples, if it has some.

    Args:
        task: What it evolved on.
        genome: The champion alone.
        dynamics: How its network works through time.
    """
    parts = task.part_scores(compile_with(genome, dynamics))
    return {
        part: {name: float(score[0]) for name, score in scores.items()}
        for part, scores in parts.items()
    }


def read_name(notes: Mapping[str, object], key: int) -> str:
    """The name of input -1 - i or output i by its key; "" if none was noted.

    Args:
        notes: A champion's metadata, which may come from anywhere.
        key: Negative for an input.
    """
    found = notes.get(f"input {-1 - key}" if key < 0 else f"output {key}")
    return printable(found)[:MOST_CHARACTERS] if isinstance(found, str) else ""


def read_held_out_scores(notes: Mapping[str, object]) -> dict[str, float]:
    """The scores on held-out examples, with the number of "examples"; or nothing.

    "accuracy low" and "accuracy high", or the same of r2, are the ends of its 99 % interval.

    Args:
        notes: A champion's metadata, which may come from anywhere.
    """
    return {
        name.removeprefix(HELD_OUT): float(score)
        for name, score in notes.items()
        if name.startswith(HELD_OUT) and isinstance(score, (int, float))
    }
