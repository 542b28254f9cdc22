"""Gymnasium environments as tasks: what is stepped, what networks see, and what they can do."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import evonet
from evonet import Config, Network, OptionError, Population
from evonet.cli.app import main
from evonet.errors import EpisodeError
from evonet.files.animated_png import fit_frames
from evonet.runs.start import resume_run, start_run
from evonet.tasks import Control, Task, make_task
from evonet.tasks.environments.environment import Environment
from evonet.tasks.environments.episodes import play
from evonet.tasks.environments.spaces import decoder, flatten, names_of, size_of
from evonet.tasks.environments.statistics import Statistics
from evonet.tasks.gymnasium import GymnasiumTask


def population(task: Task, count: int, seed: int = 5) -> Population:
    return Population.random(
        count,
        task.num_inputs,
        task.num_outputs,
        num_nodes=task.num_outputs + 3,
        num_connections=4 * task.num_outputs + 6,
        activations=("tanh", "sigmoid"),
        seed=seed,
    )


def networks(task: Task, count: int, **options: Any) -> Network:
    return evonet.compile(population(task, count), **options)


def gym_task(name: str, **options: Any) -> GymnasiumTask:
    task = make_task(f"gym:{name}", **options)
    assert isinstance(task, GymnasiumTask)
    return task


class Counting:
    """An environment that lasts as long as its seed says, and counts its steps."""

    limit = None

    def __init__(self) -> None:
        self.left = self.start = self.steps = 0

    def reset(self, seed: int) -> Any:
        assert self.left == 0, "an episode was cut short"
        self.left = self.start = seed
        return np.array([float(seed), 0.0])

    def fail(self, error: Exception) -> NoReturn:
        raise error

    def act(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        assert self.left > 0, "an environment was stepped after its episode"
        self.steps += 1
        self.left -= 1
        return np.array([float(self.start), float(self.left)]), 1.0, self.left == 0, False, {}


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("kind", ["feedforward", "recurrent"])
def test_only_running_episodes_are_stepped(backend: Any, kind: Any) -> None:
    """Answers depend on nothing that was played before, and no step is wasted."""
    genomes = Population.random(5, 2, 1, num_nodes=4, num_connections=8, seed=3)
    seeds = [3, 11, 1, 6]
    heard: list[float] = []

    def decode(outputs: list[float]) -> Any:
        heard.extend(outputs)
        return outputs

    environment = Counting()
    network = evonet.compile(genomes, kind=kind, backend=backend)
    played = play(network, seeds, environment, decode)
    assert played.returns.tolist() == [[3, 11, 1, 6]] * 5
    assert played.steps.tolist() == [[3, 11, 1, 6]] * 5
    assert not played.truncated.any()
    assert environment.steps == 5 * sum(seeds)
    # What networks answer in each episode is what one alone would answer, memory included.
    alone = []
    for g in range(5):
        for seed in seeds:
            network = evonet.compile(genomes[g : g + 1], kind=kind)
            seen = [[seed, 0.0], *([seed, left] for left in range(seed - 1, 0, -1))]
            alone += [float(network(np.array([x]))[0, 0, 0]) for x in seen]
    assert heard == alone


def test_a_gymnasium_environment_is_a_task() -> None:
    task = gym_task("CartPole-v1", episodes=2)
    assert (task.num_inputs, task.num_outputs) == (4, 2)
    assert (task.max_steps, task.fitness_threshold) == (500, 475)
    network = networks(task, 6)
    found = task.evaluate(network, 4)
    assert found.shape == (6,)
    assert found.min() >= 8
    assert len(np.unique(found)) > 1
    assert task.evaluate(network, 4).tolist() == found.tolist()
    alone = evonet.compile(population(task, 6)[2:3])
    assert task.evaluate(alone, 4).tolist() == found[2:3].tolist()
    task.close()


def test_defaults_play_several_episodes_and_test_champions() -> None:
    task = gym_task("CartPole-v1")
    assert (task.episodes, task.retests, task.normalize) == (3, 100, False)
    config = Config.from_dict({"task": {"name": "gym:CartPole-v1"}})
    assert config.genome.activation.default == "tanh"


def test_cartpole_by_gymnasium_and_by_the_kernels_are_the_same_game() -> None:
    """Many episodes of the same networks have the same mean length, within its error."""
    gym, kernel = gym_task("CartPole-v1", episodes=40), Control("cartpole", episodes=40)
    network = networks(kernel, 6)
    theirs, ours = gym.evaluate(network, 1), kernel.evaluate(network, 1)
    spread = network.rollout("cartpole", episodes=40, seed=1).returns.std(axis=1)
    assert (abs(theirs - ours) <= 1 + 5 * spread / np.sqrt(20)).all()


def test_the_step_limit_truncates_and_the_environment_terminates() -> None:
    task = gym_task("CartPole-v1", max_steps=9)
    played = task.play(networks(task, 8), 3, 0, 4)
    assert played.steps.max() == 9
    assert played.truncated.any()
    assert not played.truncated.all()
    assert (played.steps[played.truncated] == 9).all()


def test_no_step_is_wasted(monkeypatch: pytest.MonkeyPatch) -> None:
    task = gym_task("CartPole-v1", episodes=3)
    taken = 0

    class Counted(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            nonlocal taken
            taken += 1
            return super().step(action)

    def make() -> Environment:
        return Environment("x", Counted(gymnasium.make("CartPole-v1")))

    monkeypatch.setattr(task, "make_environment", make)
    played = task.play(networks(task, 20), 1, 0, 3)
    assert taken == played.steps.sum() == task.environment_steps


def test_episodes_are_those_of_gymnasium_itself() -> None:
    """Neither the missing wrappers nor the quick check of actions change anything."""
    for name, limit in (("CartPole-v1", 30), ("MountainCarContinuous-v0", 25)):
        task = gym_task(name, max_steps=limit, episodes=2)
        network = networks(task, 4)
        found = task.play(network, 3, 0, 2)
        plain = gymnasium.make(name, max_episode_steps=limit)
        for g in range(4):
            for e, seed in enumerate(task.episode_seeds(3, 0, 2)):
                x, _ = plain.reset(seed=seed)
                total, steps, over = 0.0, 0, False
                while not over:
                    outputs = network(np.array([x]))[g, 0].tolist()
                    x, reward, terminated, truncated, _ = plain.step(task.decode(outputs))
                    total, steps = total + float(reward), steps + 1
                    over = terminated or truncated
                assert (found.returns[g, e], found.steps[g, e]) == (total, steps)
                assert found.truncated[g, e] == (not terminated)


def test_a_space_still_refuses_what_is_no_action() -> None:
    environment = gym_task("CartPole-v1").make_environment().environment
    space = environment.unwrapped.action_space
    for action in (0, 1, np.int64(1), True):
        assert space.contains(action)
    for action in (-1, 2, 1.0, "1", None, np.array([1])):
        assert not space.contains(action)


def test_threads_play_in_environments_of_their_own() -> None:
    task = gym_task("CartPole-v1", episodes=4)
    network = networks(task, 6)
    wanted = task.play(network, 1, 0, 4).returns
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: task.play(network, 1, 0, 4).returns, range(12)))
    assert all(returns.tobytes() == wanted.tobytes() for returns in found)
    assert task.environment_steps == 13 * wanted.sum()


# ---- spaces -------------------------------------------------------------------------------------

NESTED = spaces.Dict(
    {
        "b": spaces.Tuple((spaces.Discrete(2, start=5), spaces.MultiBinary(2))),
        "a": spaces.Box(-2.0, 4.0, (2, 2), np.float32),
        "c": spaces.MultiDiscrete([2, 3]),
    }
)


@pytest.mark.parametrize(
    ("space", "seen", "numbers"),
    [
        (spaces.Box(0, 255, (2, 2), np.uint8), np.array([[1, 2], [3, 4]]), [1, 2, 3, 4]),
        (spaces.Discrete(3, start=4), 5, [0, 1, 0]),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 0]), [0, 1, 1, 0, 0]),
        (spaces.MultiBinary(3), np.array([1, 0, 1]), [1, 0, 1]),
        (spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (1,)))), (1, [0.5]), [0, 1, 0.5]),
        (spaces.Dict({"x": spaces.Discrete(2)}), {"x": 0}, [1, 0]),
    ],
)
def test_observations_become_numbers(space: Any, seen: Any, numbers: list[float]) -> None:
    assert flatten(space, seen).tolist() == numbers
    assert size_of(space, "x", "observations") == len(numbers)


def test_numbers_of_a_dict_are_named_by_its_keys() -> None:
    names = names_of(NESTED)
    assert names[:4] == ["a 0", "a 1", "a 2", "a 3"]
    assert names[4:8] == ["b.0 = 5", "b.0 = 6", "b.1 0", "b.1 1"]
    assert len(names) == size_of(NESTED, "x", "observations")
    assert names_of(spaces.Dict({"speed": spaces.Box(0, 1, (1,))})) == ["speed"]


def test_any_allowed_space_has_actions_that_it_contains() -> None:
    size = size_of(NESTED, "x", "actions")
    assert size == 2 + 2 + 4 + 5
    for outputs in np.random.default_rng(1).normal(size=(50, size)).tolist():
        assert NESTED.contains(decoder(NESTED)(outputs))


@pytest.mark.parametrize(
    ("box", "outputs", "moves"),
    [
        (spaces.Box(-2, 2, (5,)), [-5.0, -1, 0, 0.5, np.nan], [-2, -2, 0, 1, 2]),
        (spaces.Box(0.0, np.inf, (3,)), [-3.0, 7.5, np.nan], [0, 7.5, 0]),
        (spaces.Box(0, 255, (3,), np.uint8), [-1.0, 0.0, 1.0], [0, 128, 255]),
        (spaces.Box(-1, 3, (2, 1)), [0.0, 1.0], [[1], [3]]),
    ],
)
def test_continuous_actions_are_stretched_to_their_bounds(
    box: Any, outputs: list[float], moves: list[Any]
) -> None:
    found = decoder(box)(outputs)
    assert found.tolist() == moves
    assert box.contains(found)


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_an_unbounded_action_become_its_largest() -> None:
    box = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    most = float(np.finfo(np.float32).max)
    assert decoder(box)([np.inf, -1e300]).tolist() == [most, -most]


def test_the_largest_output_is_the_discrete_action() -> None:
    choose = decoder(spaces.Discrete(3, start=10))
    rows = [[0.1, 0.9, 0.9], [np.nan, -1, -2], [3, 2, 1], [0, np.nan, 1], [np.nan] * 3]
    assert [choose(row) for row in rows] == [11, 11, 10, 12, 10]
    assert decoder(spaces.MultiDiscrete([2, 3]))([0.0, 1, 5, 4, 6]).tolist() == [1, 2]
    assert decoder(spaces.MultiBinary(2))([-0.1, 0.2]).tolist() == [0, 1]


def test_discrete_observations_become_one_input_each() -> None:
    task = gym_task("FrozenLake-v1", options={"is_slippery": False}, max_steps=5)
    assert task.num_inputs == 16
    assert task.make_environment().reset(0).tolist() == [1.0, *[0.0] * 15]
    assert gym_task("Blackjack-v1").num_inputs == 32 + 11 + 2


# ---- options -----------------------------------------------------------------------------------


def test_frames_are_stacked_and_actions_repeated() -> None:
    task = gym_task("CartPole-v1", frame_stack=3, action_repeat=4)
    assert task.num_inputs == 12
    one, stacked = gym_task("CartPole-v1").make_environment(), task.make_environment()
    first = one.reset(7)
    assert stacked.reset(7).tolist() == [*first, *first, *first]
    seen = [one.step(1) for _ in range(4)]
    found, reward, terminated, truncated = stacked.step(1)
    assert found.tolist() == [*first, *first, *np.asarray(seen[-1][0], np.float64).tolist()]
    assert (reward, terminated, truncated) == (4.0, False, False)


@pytest.mark.parametrize(
    "options",
    [{"episodes": 0}, {"frame_stack": 0}, {"action_repeat": 1.5}, {"normalize": 3}, {"retests": 1}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(options))} = .* must be"):
        gym_task("CartPole-v1", **options)


# ---- statistics ----------------------------------------------------------------------------------


def test_statistics_are_those_of_all_observations() -> None:
    task = gym_task("CartPole-v1", normalize=True)
    plain = gym_task("CartPole-v1")
    network = networks(task, 6)
    seen: list[Any] = []
    environment = plain.make_environment()
    for g in range(6):  # while nothing is known, observations stay as they are
        alone = evonet.compile(population(task, 6)[g : g + 1])
        for seed in task.episode_seeds(9, 0, 3):
            x, over = environment.reset(seed), False
            while not over:
                seen.append(np.array(x))
                action = plain.decode(alone(np.array([x]))[0, 0].tolist())
                x, _, terminated, truncated = environment.step(action)
                over = terminated or truncated
    task.evaluate(network, 9)
    state = task.state
    assert state["observations"].tolist() == [len(seen)]
    assert state["observation_mean"] == pytest.approx(np.mean(seen, axis=0), rel=1e-9)
    variance = state["observation_squares"] / len(seen)
    assert variance == pytest.approx(np.var(seen, axis=0), rel=1e-9)


def test_merging_generations_gives_the_statistics_of_all() -> None:
    values = np.random.default_rng(0).normal(3, 2, (3, 40, 2))
    found = Statistics(2)
    for part in values:
        off = part - found.mean
        moments = np.concatenate([np.ones((40, 1)), off, off * off], axis=1)
        found.merge(moments.reshape(8, 5, 5))
    everything = values.reshape(-1, 2)
    assert found.count == 120
    assert found.mean == pytest.approx(everything.mean(axis=0), rel=1e-12)
    assert found.squares / 120 == pytest.approx(everything.var(axis=0), rel=1e-12)
    assert found.scale() == pytest.approx(1 / everything.std(axis=0), rel=1e-6)


def test_statistics_are_frozen_within_a_generation_and_do_not_depend_on_parts() -> None:
    whole, parts = (gym_task("Pendulum-v1", normalize=True, max_steps=20) for _ in range(2))
    genomes = population(whole, 6)
    for seed in (1, 2):
        found = whole.play(evonet.compile(genomes), seed, 0, 2, gathers=True)
        pieces = [
            parts.play(evonet.compile(genomes[a : a + 2]), seed, 0, 2, gathers=True)
            for a in (0, 2, 4)
        ]
        returns = np.concatenate([piece.returns for piece in pieces])
        assert returns.tobytes() == found.returns.tobytes()
        moments = np.concatenate([piece.moments for piece in pieces if piece.moments is not None])
        assert found.moments is not None
        whole.merge({"moments": found.moments})
        parts.merge({"moments": moments})
        for name, array in whole.state.items():
            assert array.tobytes() == parts.state[name].tobytes()


def test_a_normalised_run_resumes_with_equal_bits_and_keeps_the_champions_statistics(
    tmp_path: Path,
) -> None:
    def task() -> GymnasiumTask:
        return gym_task("Pendulum-v1", normalize=True, max_steps=15, episodes=2, retests=4)

    table = {"task": {"name": "gym:Pendulum-v1"}, "neat": {"pop_size": 12}, "run": {"threads": 1}}
    config = Config.from_dict(table).replace({"run.generations": 4})
    result = start_run(tmp_path / "whole", task(), config)
    start_run(tmp_path / "parts", task(), config.replace({"run.generations": 2}))
    resume_run(tmp_path / "parts", task(), config)
    for name in ("champion.json", "checkpoints/checkpoint-000003.safetensors"):
        files = [(tmp_path / run / name).read_bytes() for run in ("whole", "parts")]
        assert files[0] == files[1]
    best, champion = result.best, evonet.read_champion(tmp_path / "whole" / "champion.json")
    assert best is not None
    assert best.tested is not None
    assert set(best.task_state) == set(task().state)
    for name, array in best.task_state.items():
        assert champion.task_state[name].tobytes() == array.tobytes()
    # The claim can be repeated from the file alone.
    again = task()
    again.state = champion.task_state
    from evonet.runs.loop import retest_seed

    returns = again.returns(champion.compile(), retest_seed(config.run.seed), 0, 4)
    assert returns.mean() == pytest.approx(best.fitness, rel=1e-12)


def test_statistics_of_something_else_are_refused() -> None:
    task = gym_task("Pendulum-v1", normalize=True)
    with pytest.raises(OptionError, match="must be finite numbers for 3 inputs"):
        task.state = {**task.state, "observation_mean": np.zeros(2)}
    with pytest.raises(OptionError, match="does not normalise observations"):
        gym_task("Pendulum-v1").state = task.state


# ---- what can go wrong ---------------------------------------------------------------------------


def test_environments_that_cannot_be_made_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="gym:NoSuchGame-v0 cannot be made"):
        make_task("gym:NoSuchGame-v0")
    with pytest.raises(OptionError, match="options = 3 must be a table"):
        make_task("gym:CartPole-v1", options=3)
    with pytest.raises(OptionError, match=r"observations of type Text\. Allowed: Box, Discrete"):
        size_of(spaces.Text(3), "x", "observations")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(OptionError, match=r"pip install 'evonet-gpu\[gym\]'"):
        make_task("gym:CartPole-v1")


MODULE = """
import gymnasium
import numpy as np

class Fragile(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 5
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.left -= 1
        if self.left == 2:
            raise ZeroDivisionError("no luck")
        return np.zeros(2, np.float32), 1.0, self.left == 0, False, {}

gymnasium.register("Fragile-v0", Fragile)
"""


def test_an_environment_of_a_module_in_the_current_folder_may_fail_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fragile_games.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    task = gym_task("fragile_games:Fragile-v0")
    assert (task.num_inputs, task.max_steps) == (2, 1000)
    seed = task.episode_seeds(3, 0, 1)[0]
    message = f"gym:fragile_games:Fragile-v0: .* seed {seed}: ZeroDivisionError: no luck$"
    with pytest.raises(EpisodeError, match=message):
        task.evaluate(networks(task, 2), 3)
    del gymnasium.registry["Fragile-v0"], sys.modules["fragile_games"]


# ---- films ---------------------------------------------------------------------------------------

DRAWN = """
import gymnasium
import numpy as np

class Drawn(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 10 + int(self.np_random.integers(4))
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.zeros(2, np.float32), 1.0, self.left == 0, False, {}

    def render(self):
        frame = np.zeros((30, 40, 3), np.uint8)
        frame[:, : 2 * self.left] = 248
        return frame

gymnasium.register("Drawn-v0", Drawn, reward_threshold=1e9)
"""


def test_an_environment_that_cannot_be_closed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from gymnasium.envs.classic_control import CartPoleEnv

    def fail(_: object) -> None:
        raise RuntimeError("the window\nis gone")

    monkeypatch.setattr(CartPoleEnv, "close", fail)
    with pytest.raises(
        EpisodeError, match=r"gym:CartPole-v1: .* closed: RuntimeError: the window is"
    ):
        gym_task("CartPole-v1")


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "drawn_games.py").write_text(DRAWN)
    monkeypatch.chdir(tmp_path)
    yield "drawn_games:Drawn-v0"
    gymnasium.registry.pop("Drawn-v0", None)
    sys.modules.pop("drawn_games", None)


def read_png(data: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a PNG, whose checksums are right."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, found = 8, []
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            kind + body
        )
        found.append((kind, body))
        at += 12 + size
    return found


def pixels(data: bytes, height: int, width: int) -> Any:
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + 3 * width)
    assert (rows[:, 0] == 2).all()
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)


def test_an_episode_becomes_a_film_that_can_be_read(drawn: str) -> None:
    task = gym_task(drawn)
    data = task.film(networks(task, 1), 5)
    chunks = read_png(data)
    kinds = [kind for kind, _ in chunks]
    (steps,) = task.play(networks(task, 1), 5, 0, 1).steps[0]
    assert kinds.count(b"fcTL") == steps + 1
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    assert dict(chunks)[b"IHDR"][:8] == struct.pack(">II", 40, 30)
    first = pixels(dict(chunks)[b"IDAT"], 30, 40)
    assert (first[:, : 2 * steps] == 248).all()
    assert not first[:, 2 * steps :].any()
    last = [body for kind, body in chunks if kind == b"fdAT"][-1]
    assert not pixels(last[4:], 30, 40).any()


def test_environments_that_cannot_be_drawn_say_so_in_a_line(drawn: str) -> None:
    Path("drawn_games.py").write_text(DRAWN.replace('["rgb_array"]', "[]"))
    task = gym_task(drawn)
    with pytest.raises(OptionError) as caught:
        task.film(networks(task, 1), 5)
    assert str(caught.value) == f'gym:{drawn} cannot be drawn: it has no render mode "rgb_array".'


@pytest.mark.parametrize(
    ("high", "normalize"),
    [("50", False), ("500", True), ("3e38", True), ("np.inf", True), ("[9, np.inf]", False)],
)
def test_observations_with_wide_bounds_are_normalised_by_default(
    high: str, normalize: bool, drawn: str
) -> None:
    box = f"gymnasium.spaces.Box(-np.ones(2, np.float32), np.float32({high}) * np.ones(2, 'f'))"
    space = f"spaces.Dict(a={box})"
    games = Path("drawn_games.py")
    games.write_text(DRAWN.replace("spaces.Box(-1, 1, (2,))", space))
    assert gym_task(drawn).normalize is normalize
    assert gym_task(drawn, normalize=not normalize).normalize is not normalize


def test_a_film_is_thinned_and_shrunk() -> None:
    frames = [np.full((100, 200, 3), i, np.uint8) for i in range(50)]
    fitted = fit_frames(frames, most_frames=7, most_width=80)
    assert [frame.shape for frame in fitted] == [(34, 67, 3)] * 7
    assert (fitted[0][0, 0, 0], fitted[-1][0, 0, 0]) == (0, 49)


def test_a_run_has_a_film_in_its_report_and_can_be_played(
    drawn: str, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--seed", "1", "--population", "10", "--generations", "2", "--out", "run"]
    assert main(["evolve", f"gym:{drawn}", *options, "--set", "task.retests=5"]) == 0
    assert read_png(Path("run/film.png").read_bytes())
    assert "data:image/png;base64," in Path("run/report.html").read_text()
    capfd.readouterr()
    assert main(["play", "run", "--episodes", "3", "--film", "again.png"]) == 0
    printed = capfd.readouterr().out
    assert printed.count("return 1") == 3
    assert "mean 1" in printed
    assert "5 fresh episodes" in printed
    assert read_png(Path("again.png").read_bytes())


def test_what_cannot_be_drawn_or_played_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for task in ("cartpole", "xor"):
        folder = str(tmp_path / task)
        assert main(["evolve", task, "--generations", "1", "--out", folder, "--quiet"]) == 0
    capfd.readouterr()
    assert main(["play", str(tmp_path / "cartpole"), "--episodes", "2"]) == 0
    assert "episode    2  return" in capfd.readouterr().out
    assert main(["play", str(tmp_path / "cartpole"), "--film", str(tmp_path / "f.png")]) == 1
    assert "cannot be drawn" in capfd.readouterr().err
    assert main(["play", str(tmp_path / "cartpole"), "--show"]) == 1
    assert "cannot be drawn" in capfd.readouterr().err
    assert main(["play", str(tmp_path / "xor")]) == 1
    assert "no episodes" in capfd.readouterr().err
