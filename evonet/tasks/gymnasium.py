"""Gymnasium environments as tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from evonet.config.rules import Flag, Maybe, Real, Whole
from evonet.definitions.lock import Lock
from evonet.errors import OptionError
from evonet.evaluation import Evaluation, Round
from evonet.messages import show
from evonet.numerics.philox import Purpose, philox
from evonet.tasks.base import Task, mean_return
from evonet.tasks.options import RETESTS, read_option, read_retests

if TYPE_CHECKING:
    from evonet.network import Network
    from evonet.tasks.environments.environment import Environment
    from evonet.tasks.environments.episodes import Played
    from evonet.tasks.environments.pixels import Screen

# The step limit of environments that have none.
MOST_STEPS: Final = 1000
EPISODES: Final = 3


class GymnasiumTask(Task):
    """Fitness = mean return over a few episodes, the same for all genomes of a generation.

    All arguments but `solved`, `front`, `channels` and `options` are attributes.

    Attributes:
        kind: What stands before the environment's name, "gym".
        environment_steps: Steps of environments so far; all of them counted for some episode.
        render_modes: How the environment can draw itself, as it declares.
    """

    kind = "gym"
    most_steps = MOST_STEPS

    def __init__(
        self,
        name: str,
        *,
        episodes: int | None = None,
        max_steps: int | None = None,
        solved: float | None = None,
        retests: int | None = None,
        normalize: bool | None = None,
        action_repeat: int | None = None,
        frame_stack: int | None = None,
        front: Mapping[str, Any] | None = None,
        channels: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Makes an environment once to read its spaces.

        Args:
            name: Gymnasium's name of it, such as "LunarLander-v3"; "module:Name-v0" imports the
                module first, which may be in the current folder.
            episodes: Episodes per genome; None for 3.
            max_steps: The step limit; None for the environment's own.
            solved: The fitness that solves the task; None for the environment's own threshold.
            retests: Fresh episodes that test a champion; None for 100.
            normalize: Whether networks see observations less their running mean, divided by their
                running standard deviation; None for where a bound is beyond 50 or no number has
                one, but not for images.
            action_repeat: Steps for which each action is repeated; None for 1.
            frame_stack: Observations that networks see at once, the newest last; None for 1.
            front: Convolutions that images go through, with their layers, as `[task.front]` has
                them; None for all pixels as they are.
            channels: Where images have their channels, "first" or "last"; None for the smallest
                side.
            options: Passed to the environment.

        Raises:
            OptionError: Gymnasium is not installed or has no such environment, or an option is out
                of range.
            EpisodeError: The environment cannot be closed.
        """
        try:
            import gymnasium  # noqa: F401
        except ImportError:
            raise OptionError(
                "gym: tasks need Gymnasium. Install it with: pip install 'evonet-gpu[gym]'"
            ) from None
        from gymnasium.spaces import Dict

        from evonet.tasks.environments.environment import action_names, close_environment
        from evonet.tasks.environments.spaces import decoder, is_wide, names_of, size_of
        from evonet.tasks.environments.statistics import Statistics

        if options is None:
            options = {}
        if not isinstance(options, Mapping):
            raise OptionError(
                f"options = {show(options)} must be a table of the environment's options, such as "
                "{continuous = true}.",
                "options",
            )
        self.name = name
        self._options = dict(options)
        self.episodes = read_option("episodes", episodes, Whole(1), EPISODES)
        self.retests = read_retests(retests, RETESTS)
        self.action_repeat = read_option("action_repeat", action_repeat, Whole(1), 1)
        self.frame_stack = read_option("frame_stack", frame_stack, Whole(1), 1)
        self._front, self._channels = front, channels
        if front is None and channels is not None:
            raise OptionError(
                "channels: only a front asks where they are. Leave it out.", "channels"
            )
        example = self.make()
        try:
            spec = example.spec
            self.render_modes = tuple((example.metadata or {}).get("render_modes") or ())
            self._space = example.observation_space
            seen = size_of(self._space, self.label, "observations")
            wide = front is None and is_wide(self._space)
            screen = self._make_screen()
            self.num_inputs = seen * self.frame_stack if screen is None else screen.num_features
            self.num_outputs = size_of(example.action_space, self.label, "actions")
            self._action_space = example.action_space
            if isinstance(self._space, Dict) and screen is None and self.frame_stack == 1:
                self.input_names = tuple(names_of(self._space))
            self.output_names = action_names(example)
            self._decode = decoder(self._action_space)
        finally:
            close_environment(example, self.label)
        self.normalize = read_option("normalize", normalize, Flag(), wide)
        limit = (spec and spec.max_episode_steps) or self.most_steps
        self.max_steps = read_option("max_steps", max_steps, Whole(1), limit)
        threshold = spec.reward_threshold if spec else None
        self.fitness_threshold = read_option("solved", solved, Maybe(Real()), threshold)
        self.environment_steps = 0
        self._statistics = Statistics(self.num_inputs)
        self._idle: list[Environment] = []
        self._lock = Lock()

    @property
    def label(self) -> str:
        """What users call the environment, such as "gym:CartPole-v1"."""
        return f"{self.kind}:{self.name}"

    def make(self, **more: Any) -> Any:
        """Makes the environment itself.

        Args:
            **more: Arguments of `gymnasium.make`.

        Raises:
            OptionError: It cannot be made.
        """
        from evonet.tasks.environments.environment import make_environment

        return make_environment(self.name, self._options, **more)

    def _make_screen(self) -> Screen | None:
        """What makes features of images; one for each environment, as threads have their own."""
        if self._front is None:
            return None
        from evonet.tasks.environments.pixels import Screen

        return Screen(self._space, self._front, self._channels, self.frame_stack, self.label)

    def evaluate(self, network: Network, seed: int) -> npt.NDArray[Any]:
        """Plays all episodes, then updates statistics of observations; see `Task.evaluate`."""
        played = self.play(network, seed, 0, self.episodes, gathers=self.normalize)
        if played.moments is not None:
            self.merge({"moments": played.moments})
        return mean_return(played.returns)

    def score(self, round: Round) -> Evaluation:
        """Plays all episodes; see `Task.score`."""
        played = self.play(round.network, round.seed, 0, self.episodes, gathers=self.normalize)
        return Evaluation(
            mean_return(played.returns),
            info={
                "environment_steps": int(played.steps.sum()),
                "truncated": float(played.truncated.mean()) if played.truncated.size else 0.0,
            },
            gathered={} if played.moments is None else {"moments": played.moments},
            task_state=self.state,
        )

    def returns(
        self, network: Network, seed: int, first_episode: int, episodes: int
    ) -> npt.NDArray[np.float64]:
        """Plays single episodes; see `Task.returns`."""
        return self.play(network, seed, first_episode, episodes).returns

    def play(
        self,
        network: Network,
        seed: int,
        first_episode: int,
        episodes: int,
        gathers: bool = False,
    ) -> Played:
        """Plays episodes of all genomes.

        Args:
            network: G compiled networks.
            seed: The seed for the chance in the task.
            first_episode: Number of the first episode.
            episodes: E, episodes per genome.
            gathers: Whether to gather what the episodes add to statistics of observations.

        Raises:
            EpisodeError: An environment failed.
        """
        from evonet.tasks.environments.episodes import play

        seeds = self.episode_seeds(seed, first_episode, episodes)
        # Threads play in environments of their own.
        environment = self._idle.pop() if self._idle else self.make_environment()
        try:
            played = play(network, seeds, environment, self._decode, self.view, gathers)
        finally:
            self._idle.append(environment)
        with self._lock:
            self.environment_steps += int(played.steps.sum())
        return played

    @staticmethod
    def episode_seeds(seed: int, first_episode: int, episodes: int) -> list[int]:
        """[E] the seeds of episodes, 0 to 2^31 - 1."""
        numbers = first_episode + np.arange(episodes)
        words = philox(seed, 0, numbers, Purpose.EPISODE, 0)[0]
        seeds: list[int] = (words >> np.uint64(1)).astype(np.int64).tolist()
        return seeds

    @property
    def view(self) -> Any:
        """How networks see observations; None for as they are."""
        from evonet.tasks.environments.episodes import View
        from evonet.tasks.environments.statistics import FARTHEST

        if not self.normalize:
            return None
        return View(self._statistics.mean, self._statistics.scale(), FARTHEST)

    def make_environment(self, **more: Any) -> Environment:
        """Makes another copy of the environment.

        Args:
            **more: Arguments of `gymnasium.make`, such as render_mode="rgb_array".

        Raises:
            OptionError: It cannot be made.
        """
        from evonet.tasks.environments.environment import Environment

        made = self.make(max_episode_steps=self.max_steps, **more)
        screen = self._make_screen()
        return Environment(self.label, made, self.action_repeat, self.frame_stack, screen)

    def decode(self, outputs: list[float]) -> Any:
        """Makes an action of O outputs."""
        return self._decode(outputs)

    def film(self, network: Network, seed: int) -> bytes:
        """Draws episode 0 of a seed, as an animated PNG; see `Task.film`.

        Raises:
            OptionError: The environment cannot draw itself here.
        """
        from evonet.tasks.environments.film import show_episode

        (start,) = self.episode_seeds(seed, 0, 1)
        return show_episode(self, network, start, "rgb_array").encode()

    def results(self, network: Network) -> Mapping[str, Any] | None:
        """Shows what one network sees of screens and how it acts, where it has a front."""
        if self._front is None:
            return None
        from evonet.tasks.environments.sight import describe_screens

        sight = describe_screens(self, network, self.episode_seeds(0, 0, 1)[0])
        return None if sight is None else {"sight": sight}

    def close(self) -> None:
        """Closes all environments that nobody plays in."""
        while self._idle:
            self._idle.pop().close()

    @property
    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Statistics of observations, if they are normalised."""
        return self._statistics.state if self.normalize else {}

    @state.setter
    def state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        if state and not self.normalize:
            raise OptionError(
                f"{self!r} does not normalise observations, so their statistics have no use. "
                "Set normalize = true."
            )
        self._statistics.state = dict(state)

    def merge(self, gathered: Mapping[str, npt.NDArray[Any]]) -> None:
        """Updates the statistics of observations; see `Task.merge`."""
        if "moments" in gathered:
            self._statistics.merge(gathered["moments"])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_idle": [], "_decode": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from evonet.tasks.environments.spaces import decoder

        self.__dict__.update(state)
        self._decode = decoder(self._action_space)

    def __repr__(self) -> str:
        return f"GymnasiumTask({self.name!r}, episodes={self.episodes}, max_steps={self.max_steps})"


# By the name under which scripts know it.
gymnasium_task = GymnasiumTask
