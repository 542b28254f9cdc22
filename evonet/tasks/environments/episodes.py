"""Episodes side by side: only environments whose episode is running are stepped.

A grid has a row per genome and a column per lane. A lane plays an episode of its genome, and then
the genome's next one. When none is left, the lane's environment goes to the next lane that waits.
One call of the network per step answers the whole grid, which costs little beside the
environments. Every episode has its own seed and memory, so that its return depends on nothing that
is played beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from evonet.schedule.cells import first_state

if TYPE_CHECKING:
    from evonet.network import Network

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Act = Callable[[Any], tuple[Any, Any, bool, bool, Any]]

# Environments at a time. More cost memory; fewer make a call of the network serve fewer steps.
MOST_PLACES: Final = 256


class Environment(Protocol):
    """One environment as networks see it; see `evonet.tasks.environments.environment`."""

    def reset(self, seed: int) -> Floats:
        """Starts an episode; gives the first observation [I]."""

    @property
    def act(self) -> Act:
        """Acts; gives observation [I], reward, whether it was terminated, truncated, and more."""

    def fail(self, error: Exception) -> NoReturn:
        """Raises an error that names the environment and the episode's seed."""


@dataclass
class Played:
    """What came out of episodes of G genomes.

    Attributes:
        returns: [G, E] sums of rewards.
        steps: [G, E] how long they lasted.
        truncated: [G, E] whether the step limit ended them, and not the environment.
        moments: [G, E, 1 + 2 I] what they add to statistics of observations; None if not asked for.
    """

    returns: Floats
    steps: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]
    moments: Floats | None = None


@dataclass
class _Lane:
    """An episode that is running."""

    cell: int  # place in the grid, genome * lanes + lane
    genome: int
    episode: int
    environment: Environment
    start: int  # how many steps the grid had taken before


@dataclass
class View:
    """How networks see observations: (x - mean) * scale, clipped; None to leave them alone."""

    mean: Floats
    scale: Floats
    farthest: float

    def apply(self, seen: Floats) -> Floats:
        """Normalises observations [n, I]."""
        return np.clip((seen - self.mean) * self.scale, -self.farthest, self.farthest)


def play(
    network: Network,
    seeds: list[int],
    environment: Callable[[int], Environment],
    decode: Callable[[Floats], Any],
    view: View | None = None,
    gathers: bool = False,
    most_places: int = MOST_PLACES,
) -> Played:
    """Lets every genome play every episode.

    Args:
        network: G networks.
        seeds: [E] the seed of each episode, the same for all genomes.
        environment: Gives the i-th environment, counted from 0, always the same for an i.
        decode: Makes actions of outputs [n, O].
        view: How networks see observations.
        gathers: Whether to gather moments of observations.
        most_places: The most environments at a time.
    """
    grid = _Grid(network, seeds, environment, view, gathers, most_places)
    while grid.live:
        grid.step(decode)
    return grid.played


class _Grid:
    def __init__(
        self,
        network: Network,
        seeds: list[int],
        environment: Callable[[int], Environment],
        view: View | None,
        gathers: bool,
        most_places: int,
    ) -> None:
        genomes, episodes = len(network), len(seeds)
        self._lanes = max(1, min(episodes, most_places // max(1, genomes)))
        self._network = network
        self._seeds = seeds
        self._view = view
        self._x = np.zeros((genomes * self._lanes, network.num_inputs))
        self._next_episode = [0] * genomes
        shape = genomes, episodes
        self.played = Played(np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.bool_))
        if gathers:
            self.played.moments = np.zeros((*shape, 1 + 2 * network.num_inputs))
        network.reset()
        self._first_state: npt.NDArray[Any] | None = None
        if network.schedule.dynamics.has_memory:
            self._first_state = first_state(network.schedule, self._lanes)
        self._steps = 0
        cells = len(self._x) if episodes else 0
        self._waiting = iter(range(cells))
        self.live: list[_Lane] = []
        for place in range(min(cells, most_places)):
            self._enter(environment(place))
        self._list_live()

    def _list_live(self) -> None:
        self._index = np.array([lane.cell for lane in self.live], np.int64)
        pairs = [(lane.genome, lane.episode) for lane in self.live]
        self._pairs = np.array(pairs, np.int64).reshape(-1, 2).T
        self._acts = [lane.environment.act for lane in self.live]

    def step(self, decode: Callable[[Floats], Any]) -> None:
        """Lets all networks act once."""
        live, x = self.live, self._x
        grid = x.reshape(len(self._network), self._lanes, -1)
        outputs = self._network(grid).reshape(len(x), -1)[self._index]
        self._steps += 1
        actions = decode(outputs.astype(np.float64))
        seen = np.empty((len(live), x.shape[1]))
        rewards = [0.0] * len(live)
        ended: list[int] = []
        i = 0
        # Everything in this loop costs time beside every step of every environment.
        try:
            for act, action in zip(self._acts, actions, strict=True):
                seen[i], rewards[i], terminated, truncated, _ = act(action)
                if terminated or truncated:
                    ended.append(i)
                    lane = live[i]
                    self.played.truncated[lane.genome, lane.episode] = not terminated
                i += 1
        except Exception as error:
            live[i].environment.fail(error)
        genomes, episodes = self._pairs
        self.played.returns[genomes, episodes] += np.array(rewards, np.float64)
        if ended:  # the last observation of an episode is not shown to any network
            going = np.delete(np.arange(len(live)), ended)
            self._show(seen[going], self._index[going], self._pairs[:, going])
            self._leave(ended)
        else:
            self._show(seen, self._index, self._pairs)

    def _show(self, seen: Floats, cells: Indices, pairs: Indices) -> None:
        """Gives observations [n, I] to networks.

        Args:
            seen: What the environments gave.
            cells: [n] places in the grid.
            pairs: [2, n] genomes and episodes.
        """
        if self.played.moments is not None:
            off = seen if self._view is None else seen - self._view.mean
            added = np.concatenate([np.ones((len(seen), 1)), off, off * off], axis=1)
            self.played.moments[pairs[0], pairs[1]] += added  # every pair is there once
        if self._view is not None:
            seen = self._view.apply(seen)
        self._x[cells] = seen

    def _leave(self, ended: list[int]) -> None:
        """Takes lanes out whose episode is over, and puts their environments to use again."""
        over = [self.live[i] for i in ended]
        for lane in over:
            self.played.steps[lane.genome, lane.episode] = self._steps - lane.start
        for i in reversed(ended):
            del self.live[i]
        started = len(self.live)
        for lane in over:
            if self._next_episode[lane.genome] < len(self._seeds):
                self._start(lane.cell, lane.environment)
            else:
                self._enter(lane.environment)
        fresh = [lane.cell for lane in self.live[started:]]
        if fresh and self._first_state is not None:
            self._forget(fresh)
        self._list_live()

    def _enter(self, environment: Environment) -> None:
        """Gives an environment to the next lane that waits and whose genome has episodes left."""
        for cell in self._waiting:
            if self._next_episode[cell // self._lanes] < len(self._seeds):
                self._start(cell, environment)
                return

    def _start(self, cell: int, environment: Environment) -> None:
        genome = cell // self._lanes
        episode = self._next_episode[genome]
        self._next_episode[genome] += 1
        self.live.append(_Lane(cell, genome, episode, environment, self._steps))
        seen = environment.reset(self._seeds[episode])[None]
        self._show(seen, np.array([cell]), np.array([[genome], [episode]]))

    def _forget(self, cells: list[int]) -> None:
        """Gives the lanes of new episodes a memory without a past."""
        state = self._network.state
        assert state is not None
        assert self._first_state is not None
        starts = self._network.schedule.node_start
        for cell in cells:
            genome, lane = divmod(cell, self._lanes)
            nodes = slice(int(starts[genome]), int(starts[genome + 1]))
            state[:, nodes, lane] = self._first_state[:, nodes, lane]
        self._network.state = state
