"""Species in a checkpoint.

They lie behind each other: species s has the members `member[member_start[s]:member_start[s + 1]]`,
and its scores likewise, the best forgotten one first. The score of a generation that was told is
not among them: it follows from the fitness.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evonet.evolution.neat.species import MOST_SCORES, ScoreHistory, Species
from evonet.files.saved_state import SavedState, ascends, check
from evonet.genes.arrays import starts_of

PER_SPECIES: Final = ("key", "created", "last_improved", "representative")
SETTINGS: Final = ("threshold", "next_species")
ARRAYS: Final = (
    *("member_start", "member", "score_start", "score"),
    *(f"species_{name}" for name in PER_SPECIES),
)


def pack_species(species: list[Species]) -> dict[str, NDArray[Any]]:
    """Lays out species as arrays, by the names in `ARRAYS`."""
    histories = [s.score_history.packed() for s in species]
    arrays: dict[str, NDArray[Any]] = {
        f"species_{name}": np.array([getattr(s, name) for s in species], np.int64)
        for name in PER_SPECIES
    }
    arrays["member_start"] = starts_of(np.array([len(s) for s in species]))
    arrays["member"] = np.concatenate([s.members for s in species]).astype(np.int64)
    arrays["score_start"] = starts_of(np.array([len(history) for history in histories]))
    arrays["score"] = np.array([score for history in histories for score in history], np.float64)
    return arrays


def unpack_species(
    saved: SavedState, size: int, generation: int, next_species: int
) -> list[Species]:
    """Reads species that partition a population.

    Args:
        saved: A file's contents.
        size: P.
        generation: The current generation.
        next_species: The next species' key.

    Raises:
        CheckpointError: They are no species of any run.
    """
    key = saved.array("species_key", np.int64, None)
    created, improved, representative = (
        saved.array(f"species_{name}", np.int64, len(key)) for name in PER_SPECIES[1:]
    )
    member, start = saved.rows("member", np.int64, len(key))
    score, score_start = saved.rows("score", np.float64, len(key))
    check(len(key) > 0, "there are no species.")
    check(ascends(key, 1, next_species), "species do not ascend from 1 to next_species - 1.")
    in_order = (created >= 0) & (created <= improved) & (improved <= generation)
    check(in_order.all(), "a species improved before it was founded, or in the future.")
    lived = generation - created
    # Runs once saved all scores.
    scored = np.diff(score_start)
    fits = (scored == lived) | (scored == np.minimum(lived, MOST_SCORES + 1))
    check(fits.all(), "a species lacks scores, or has too many.")
    check(np.isfinite(score).all(), "a score of a species is not finite.")

    counts = np.diff(start)
    check((counts > 0).all(), "a species has no members.")
    everybody = np.array_equal(np.sort(member), np.arange(size))
    check(everybody, "species do not partition the genomes.")
    home = np.repeat(np.arange(len(key)), counts)
    check((np.lexsort((member, home)) == np.arange(size)).all(), "members do not ascend.")
    known = (representative >= 0) & (representative < size)
    known[known] = home[np.argsort(member)][representative[known]] == np.flatnonzero(known)
    check(known.all(), "a species is represented by a genome that is no member.")
    return [
        Species(
            key=int(key[s]),
            created=int(created[s]),
            last_improved=int(improved[s]),
            members=member[start[s] : start[s + 1]],
            representative=int(representative[s]),
            score_history=ScoreHistory(score[score_start[s] : score_start[s + 1]].tolist()),
        )
        for s in range(len(key))
    ]
