"""Environments written in JAX, stepped on their device: Brax, gymnax, and others like them.

All episodes of all genomes are stepped by one compiled call, and one call of the network answers
all of them. Arrays change hands by DLPack, without a copy where both are in the same memory.

A compiled call has a fixed number of episodes. It is rounded up to a power of four, so that few
sizes are ever compiled; what is beyond the episodes that count plays along for nothing.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Maybe, Real, Whole
from evonet.errors import EpisodeError, OptionError, ShapeError
from evonet.evaluation import Evaluation, Round
from evonet.installation import install_command
from evonet.messages import show
from evonet.numerics.philox import Purpose, philox
from evonet.tasks.base import Task, mean_return
from evonet.tasks.jax_worlds import JaxWorld, wrap_environment
from evonet.tasks.options import RETESTS, read_option, read_retests
from evonet.tasks.user import load_object, searching

if TYPE_CHECKING:
    from evonet.network import Network

# The fewest episodes that are stepped at once; vector units work on so many anyway.
FEWEST_LANES: Final = 16


class JaxTask(Task):
    """Fitness = mean return over a few episodes, the same for all genomes of a generation.

    All arguments but `solved` and `options` are attributes.
    """

    def __init__(
        self,
        name: str,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        solved: float | None = None,
        retests: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the environment; `jax_task` documents the arguments."""
        if options is not None and not isinstance(options, Mapping):
            raise OptionError(
                f"options = {show(options)} must be a table of the environment's options, such as "
                '{backend = "spring"}.',
                "options",
            )
        self.name = name
        self._options = dict(options or {})
        self.episodes = read_option("episodes", episodes, Whole(1), 1)
        self.retests = read_retests(retests, RETESTS)
        self.fitness_threshold = read_option("solved", solved, Maybe(Real()))
        world = self._world = make_world(name, self._options)
        self.num_inputs, self.num_outputs = world.num_inputs, world.num_outputs
        self.max_steps = read_option("max_steps", max_steps, Whole(1), world.max_steps)
        self._calls: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Plays all episodes; see `Task.evaluate`."""
        return mean_return(self.play(network, seed, 0, self.episodes)[0])

    def score(self, round: Round) -> Evaluation:
        """Plays all episodes; see `Task.score`."""
        returns, steps = self.play(round.network, round.seed, 0, self.episodes)
        return Evaluation(mean_return(returns), info={"environment_steps": int(steps.sum())})

    def returns(
        self, network: Network, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Plays single episodes; see `Task.returns`."""
        return self.play(network, seed, first_episode, episodes)[0]

    def play(
        self, network: Network, seed: int, first_episode: int, episodes: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Plays episodes of all genomes.

        Args:
            network: G compiled networks.
            seed: The seed for the chance in the task.
            first_episode: Number of the first episode.
            episodes: E, episodes per genome.

        Returns:
            [G, E] sums of rewards, and how many steps each episode took.

        Raises:
            EpisodeError: The environment failed.
            ShapeError: The networks have other inputs or outputs than the environment.
        """
        if (network.num_inputs, network.num_outputs) != (self.num_inputs, self.num_outputs):
            raise ShapeError(
                f"jax:{self.name} has {self.num_inputs} inputs and {self.num_outputs} outputs, the "
                f"networks have {network.num_inputs} and {network.num_outputs}."
            )
        shape = len(network), episodes
        count = shape[0] * shape[1]
        if count == 0:
            return np.zeros(shape), np.zeros(shape, np.int64)
        words = philox(seed, 0, first_episode + np.arange(episodes), Purpose.EPISODE, 0)[0]
        seeds = np.tile((words >> np.uint64(1)).astype(np.int64), shape[0])
        lanes = FEWEST_LANES
        while lanes < count:
            lanes *= 4
        try:
            total, steps = self._play(network, np.resize(seeds, lanes), shape)
        except (EpisodeError, ShapeError):
            raise
        except Exception as error:  # environments may raise anything
            text = " ".join(str(error).split())[:300]
            raise EpisodeError(
                f"jax:{self.name}: the environment failed: {type(error).__name__}: {text}"
            ) from error
        returns = np.asarray(total, np.float64)[:count].reshape(shape)
        return returns, np.asarray(steps, np.int64)[:count].reshape(shape)

    def _play(
        self, network: Network, seeds: npt.NDArray[np.int64], shape: tuple[int, int]
    ) -> tuple[Any, Any]:
        import jax
        import jax.numpy as jnp

        count = shape[0] * shape[1]
        reset, step = self._compiled()
        network.reset()
        # Lanes beyond those that count have ended before they start.
        playing = jnp.arange(len(seeds)) < count
        keys, state, seen = reset(seeds.astype(np.uint32))
        total = jnp.zeros(len(seeds), jnp.float32)
        steps = jnp.zeros(len(seeds), jnp.int32)
        on_host = network.backend != "cuda"
        for number in range(self.max_steps):
            grid = seen[:count].reshape(*shape, self.num_inputs)
            outputs = network(_for_network(grid, on_host), out="device")
            outputs = outputs.reshape(count, self.num_outputs)
            if outputs.dtype != np.float32:
                outputs = outputs.astype(np.float32)
            actions = jax.dlpack.from_dlpack(outputs)
            state, seen, total, steps, playing = step(
                keys, state, seen, actions, total, steps, playing, number
            )
            if not playing.any():
                break
        return total, steps

    def _compiled(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Functions of all lanes, compiled by JAX for every number of them that occurs."""
        if self._calls is None:
            import jax
            import jax.numpy as jnp

            world = self._world
            assert world is not None

            def reset(seeds: Any) -> Any:
                keys = jax.vmap(jax.random.key)(seeds)
                state, seen = jax.vmap(world.reset)(keys)
                return keys, state, seen.reshape(len(seeds), -1).astype(jnp.float32)

            def step(
                keys: Any,
                state: Any,
                seen: Any,
                outputs: Any,
                total: Any,
                steps: Any,
                playing: Any,
                number: Any,
            ) -> Any:
                lanes = len(keys)
                outputs = (
                    jnp.zeros((lanes, outputs.shape[1]), outputs.dtype)
                    .at[: len(outputs)]
                    .set(outputs)
                )
                chance = jax.vmap(jax.random.fold_in, (0, None))(keys, number)
                state, seen, reward, ended = jax.vmap(world.step)(chance, state, outputs)
                total = total + jnp.where(playing, reward.reshape(lanes), 0)
                steps = steps + playing
                playing = playing & ~ended.reshape(lanes).astype(bool)
                seen = seen.reshape(lanes, -1).astype(jnp.float32)
                return state, seen, total.astype(jnp.float32), steps, playing

            self._calls = jax.jit(reset), jax.jit(step)
        return self._calls

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_calls": None, "_world": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._world = make_world(self.name, self._options)

    def __repr__(self) -> str:
        return f"JaxTask({self.name!r}, episodes={self.episodes}, max_steps={self.max_steps})"


def _for_network(grid: Any, on_host: bool) -> Any:
    """Observations as the network takes them; the memory is shared where that is possible."""
    if not on_host:
        return grid
    try:
        return np.from_dlpack(grid)
    except (BufferError, RuntimeError, TypeError):  # on a GPU, and the network is not
        return np.asarray(grid)


def make_world(name: str, options: Mapping[str, Any]) -> JaxWorld:
    """Makes an environment by name.

    Args:
        name: "brax.envs:ant", "gymnax:CartPole-v1", or "module:Class" or "file.py:Class" for an
            environment with the methods of one of these.
        options: Passed to what makes it.

    Raises:
        OptionError: It cannot be made.
    """
    try:
        importlib.import_module("jax")
    except ImportError:
        raise OptionError(
            f"jax: tasks need JAX. Install it with: {install_command('jax')}"
        ) from None
    place, _, what = name.rpartition(":")
    try:
        with searching(os.getcwd()):
            if place == "brax.envs":
                made = importlib.import_module("brax.envs").get_environment(what, **options)
            elif place == "gymnax":
                made = importlib.import_module("gymnax").make(what, **options)[0]
            else:
                found = load_object(name, "environment")
                if not callable(found):
                    raise OptionError(f"{place} has no class or function {what!r}")
                made = found(**options)
        return wrap_environment(made)
    except Exception as error:  # environments may raise anything
        text = " ".join(str(error).split())[:300]
        kind = "" if isinstance(error, (OptionError, ImportError)) else f"{type(error).__name__}: "
        raise OptionError(f"jax:{name} cannot be made: {kind}{text}") from error


def jax_task(
    environment: str,
    *,
    episodes: int | None = None,
    max_steps: int | None = None,
    solved: float | None = None,
    retests: int | None = None,
    options: dict[str, Any] | None = None,
) -> JaxTask:
    """Makes a task of an environment in JAX.

    Args:
        environment: "brax.envs:ant", "gymnax:CartPole-v1", or "module:Class" for one of your own.
        episodes: Episodes per genome; None for 1.
        max_steps: The step limit; None for the environment's own, or 1000.
        solved: The fitness that solves the task; None for none.
        retests: Fresh episodes that test a champion; None for 100.
        options: Passed to the environment, such as {backend = "spring"} for Brax.

    Raises:
        OptionError: JAX is not installed, the environment cannot be made, or an option is out of
            range.
    """
    return JaxTask(
        environment,
        episodes=episodes,
        max_steps=max_steps,
        solved=solved,
        retests=retests,
        options=options,
    )
