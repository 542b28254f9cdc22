"""Episodes one after the other, in one environment: no step is wasted, and little is added to it.

One environment stays in the caches of a processor, where hundreds side by side would not. A network
answers by its actor, so that an observation goes in and numbers come out without an array between.
Every episode has its own seed and memory: its return depends on nothing that was played before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from evonet.errors import ShapeError

if TYPE_CHECKING:
    from evonet.backends.actor import Actor
    from evonet.network import Network

Floats = npt.NDArray[np.float64]
Act = Callable[[Any], tuple[Any, Any, bool, bool, Any]]


class Environment(Protocol):
    """One environment as networks see it; see `evonet.tasks.environments.environment`."""

    act: Act
    limit: int | None

    def reset(self, seed: int) -> Floats:
        """Starts an episode; gives the first observation [I]."""

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
class View:
    """How networks see observations: (x - mean) * scale, clipped; None to leave them alone."""

    mean: Floats
    scale: Floats
    farthest: float

    def apply(self, seen: Floats) -> Floats:
        """Normalises an observation [I]."""
        seen = (seen - self.mean) * self.scale
        return np.minimum(np.maximum(seen, -self.farthest), self.farthest)


def play(
    network: Network,
    seeds: list[int],
    environment: Environment,
    decode: Callable[[list[float]], Any],
    view: View | None = None,
    gathers: bool = False,
) -> Played:
    """Lets every genome play every episode.

    Args:
        network: G networks.
        seeds: [E] the seed of each episode, the same for all genomes.
        environment: Where they play.
        decode: Makes an action of O outputs.
        view: How networks see observations.
        gathers: Whether to gather moments of observations.
    """
    shape = len(network), len(seeds)
    played = Played(np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.bool_))
    center = np.zeros(network.num_inputs) if view is None else view.mean
    if gathers:
        played.moments = np.zeros((*shape, 1 + 2 * network.num_inputs))
    for genome in range(shape[0]):
        actor = network.actor(genome)
        answer = actor if view is None else _seeing(actor, view)
        for episode, seed in enumerate(seeds):
            rows: list[Floats] = []
            answer_here = _noting(answer, rows) if gathers else answer
            actor.reset()
            played.returns[genome, episode], steps, terminated = _run(
                environment, seed, answer_here, decode
            )
            played.steps[genome, episode] = steps
            played.truncated[genome, episode] = not terminated
            if played.moments is not None:
                played.moments[genome, episode] = _moments(rows, center)
    return played


def _run(
    environment: Environment,
    seed: int,
    answer: Callable[[Any], list[float]],
    decode: Callable[[list[float]], Any],
) -> tuple[float, int, bool]:
    """Plays one episode; gives its return, its length, and whether the environment ended it."""
    seen: Any = environment.reset(seed)
    act, limit = environment.act, environment.limit
    total, steps = 0.0, 0
    # Everything in this loop costs time beside every step of the environment.
    try:
        while True:
            try:
                outputs = answer(seen)
            except (TypeError, ShapeError):  # not an array of floats, as its space promised
                outputs = answer(np.array(seen, np.float64).reshape(-1))
            seen, reward, terminated, truncated, _ = act(decode(outputs))
            total += float(reward)
            steps += 1
            if terminated or truncated or steps == limit:
                return total, steps, bool(terminated)
    except Exception as error:
        environment.fail(error)


def _seeing(actor: Actor, view: View) -> Callable[[Any], list[float]]:
    return lambda seen: actor(view.apply(seen))


def _noting(
    answer: Callable[[Any], list[float]], rows: list[Floats]
) -> Callable[[Any], list[float]]:
    def note(seen: Any) -> list[float]:
        outputs = answer(seen)
        rows.append(np.array(seen, np.float64))  # environments may reuse their arrays
        return outputs

    return note


def _moments(rows: list[Floats], center: Floats) -> Floats:
    """[1 + 2 I] what the observations of an episode add to statistics, summed in their order."""
    off = np.array(rows) - center
    sums = np.add.accumulate(np.concatenate([off, off * off], axis=1), axis=0)[-1]
    return np.concatenate([[float(len(rows))], sums])
