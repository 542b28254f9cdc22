"""Who has children with whom, as `kernels/native/mating.cpp` decides it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from evonet.genes.mating import Indices, Mating, MatingShares
from evonet.numerics.philox import Purpose, choose, philox, uniform


def plan_mating(
    scores: npt.NDArray[np.float64], shares: MatingShares, seed: int, generation: int
) -> Mating:
    """Picks elites and parents; see `NativeEngine.mate`."""
    ranked = [
        # Ids ascend with positions: of equals the youngest comes first, as in neat-python.
        members[np.argsort(scores[members], kind="stable")[::-1]]
        for members in (shares.members[a:b] for a, b in pairwise(shares.starts.tolist()))
    ]
    kept = [r[:n] for r, n in zip(ranked, shares.num_elites.tolist(), strict=True)]
    elite = np.sort(np.concatenate(kept))
    pools = [r[:n] for r, n in zip(ranked, shares.num_parents.tolist(), strict=True)]
    first, second = _pick_parents(shares, pools, len(elite), seed, generation)
    first_is_fitter = scores[first] > scores[second]  # ties favour the second, as in neat-python
    return Mating(
        np.concatenate([elite, np.where(first_is_fitter, first, second)]),
        np.concatenate([np.full(len(elite), -1), np.where(first_is_fitter, second, first)]),
        elite,
    )


def _pick_parents(
    shares: MatingShares, pools: list[Indices], first_child: int, seed: int, generation: int
) -> tuple[Indices, Indices]:
    """Draws both parents of every child from the pools of their species."""
    home = np.repeat(np.arange(len(pools)), shares.num_children)
    child = first_child + np.arange(len(home))
    words = philox(seed, generation, child, Purpose.PARENTS, 0)
    start = np.cumsum([0, *map(len, pools)])
    size = np.diff(start)
    pool = np.concatenate(pools)
    first = pool[start[home] + choose(words[0], size[home])]
    second = pool[start[home] + choose(words[1], size[home])]
    if shares.interspecies > 0 and len(pools) > 1:
        away = np.flatnonzero(uniform(words[2]) < np.float32(shares.interspecies))
        foreign = choose(words[3][away], len(pools) - 1)
        foreign += foreign >= home[away]
        more = philox(seed, generation, child[away], Purpose.PARENTS, 1)
        picked = choose(more[0], np.diff(shares.starts)[foreign])
        second[away] = shares.members[shares.starts[foreign] + picked]
    return first, second
