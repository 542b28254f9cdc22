"""How many genomes each species contributes, as `kernels/native/sharing.cpp` decides it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from evonet.genes.mating import Indices, SharingRules
from evonet.numerics.exact_sum import group_means

Scores = npt.NDArray[np.float64]


def share_out(
    scores: Scores, members: Indices, starts: Indices, rules: SharingRules
) -> tuple[Indices, Indices, Indices]:
    """Shares out a generation; see `evonet.evolution.neat.reproduction.share_out`.

    Returns:
        Elites, parents and children of each species, [S] each.
    """
    sizes = np.diff(starts)
    shares = np.maximum(_ideal_shares(scores[members], starts, rules), rules.least)
    if rules.proportional:
        amounts = np.rint(shares)
    else:
        amounts = _half_way(sizes, shares)
        norm = rules.pop_size / amounts.sum()
        amounts = np.maximum(np.rint(amounts * norm), rules.least)
    settled = _settle(amounts.astype(np.int64), rules.pop_size, rules.least)
    kept = np.minimum(np.minimum(settled, rules.elitism), sizes)
    best = np.ceil(rules.survival * sizes).astype(np.int64)
    return kept, np.minimum(sizes, np.maximum(best, 2)), settled - kept


def _ideal_shares(scores: Scores, starts: Indices, rules: SharingRules) -> Scores:
    # Only ratios matter. Powers of two leave them alone, and sums of huge scores stay finite.
    means = np.array(group_means(scores, starts)) * 2.0**-64
    if rules.canonical:
        lowest = means.min()
        adjusted = means + (1e-6 * 2.0**-64 - lowest if lowest < 0 else 0.0)
    else:
        low, high = scores.min() * 2.0**-64, scores.max() * 2.0**-64
        adjusted = (means - low) / max(2.0**-64, high - low)
    total = math.fsum(adjusted.tolist())
    return adjusted / total * rules.pop_size if total > 0 else np.zeros_like(adjusted)


def _half_way(sizes: Indices, shares: Scores) -> Scores:
    """Moves species half the way to their shares, and by at least one."""
    steps = (shares - sizes) * 0.5
    whole = np.rint(steps)
    moved: Scores = np.add(sizes, np.where(whole != 0, whole, np.sign(steps)), dtype=np.float64)
    return moved


def _settle(amounts: Indices, pop_size: int, least: int) -> Indices:
    """Adds to the smallest or takes from the largest, one by one, until the sum is right."""
    missing = pop_size - int(amounts.sum())
    if missing == 0:
        return amounts
    left = amounts.tolist()
    order = sorted(range(len(left)), key=left.__getitem__, reverse=missing < 0)
    while missing:
        for i in order:
            if missing > 0:
                left[i] += 1
                missing -= 1
            elif missing < 0 and left[i] > least:
                left[i] -= 1
                missing += 1
    return np.array(left)
