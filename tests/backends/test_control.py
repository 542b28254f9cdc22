"""Control tasks: the dynamics of Gymnasium, the laws of mechanics, and the reference's bits."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from evonet import OptionError, _native
from evonet.backends.reference import control as reference_control
from evonet.definitions.controls import CONTROL_IDS, CONTROLS, find_control
from evonet.installation import resource_folder
from evonet.numerics.elementary import cosine, sine
from tests import simt
from tests.simt.samples import needs_compiler

SIMD_LEVELS = _native.simd_levels()
DTYPES = (np.float32, np.float64)
GYMNASIUM = {
    "cartpole": "CartPole-v1",
    "mountain_car": "MountainCar-v0",
    "mountain_car_continuous": "MountainCarContinuous-v0",
    "pendulum": "Pendulum-v1",
    "acrobot": "Acrobot-v1",
}
# Where states may be, beyond the region in which an episode goes on.
STATES = {
    "cartpole": ((-2.5, 2.5), (-3, 3), (-0.25, 0.25), (-3, 3)),
    "mountain_car": ((-1.2, 0.6), (-0.07, 0.07)),
    "mountain_car_continuous": ((-1.2, 0.6), (-0.07, 0.07)),
    "pendulum": ((-np.pi, np.pi), (-8, 8)),
    # At the fastest speeds that are allowed a step magnifies the last bit ten thousand times.
    "acrobot": ((-np.pi, np.pi), (-np.pi, np.pi), (-6, 6), (-12, 12)),
}
POLES = ("single_pole", "double_pole")
each_control = pytest.mark.parametrize("name", [control.name for control in CONTROLS])
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
each_simd = pytest.mark.parametrize("simd", SIMD_LEVELS)
each_gymnasium = pytest.mark.parametrize("name", GYMNASIUM)


def native(name: str, dtype: Any, simd: str = SIMD_LEVELS[-1]) -> Any:
    kind = _native.Control32 if dtype == np.float32 else _native.Control64
    return kind(CONTROL_IDS[name], simd)


WHOLE_STATES: dict[str, list[Any]] = {
    "copy": [range(6), (-1, 1), (-1, 1), (-1, 1)],
    "t_maze": [range(11), (-1, 1), range(3, 11)],
    "catch": [range(7), range(8), (-1, 0, 1), range(8)],
    "pong": [
        range(1, 7),
        range(8),
        (-1, 1),
        (-1, 0, 1),
        range(8),
        range(8),
        (0, 1),
        range(0, 1024, 93),
        range(5),
    ],
}


@functools.cache
def random_states(name: str, dtype: Any, count: int = 400) -> NDArray[Any]:
    rng = np.random.default_rng(CONTROL_IDS[name])
    if name in WHOLE_STATES:
        rows = [rng.choice(values, count) for values in WHOLE_STATES[name]]
    elif name in STATES:
        rows = [rng.uniform(low, high, count) for low, high in STATES[name]]
    else:
        reach = [2.5, 3] + [0.7, 3] * (find_control(name).state_size // 2 - 1)
        rows = [rng.uniform(-r, r, count) for r in reach]
    return np.array(rows, dtype)


@functools.cache
def random_outputs(name: str, dtype: Any, count: int = 400) -> NDArray[Any]:
    rng = np.random.default_rng(100 + CONTROL_IDS[name])
    return rng.normal(0, 0.8, (find_control(name).num_outputs, count)).astype(dtype)


def assert_same_bits(found: NDArray[Any], expected: NDArray[Any]) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


# ---- the list ----


def test_the_kernels_and_the_list_agree() -> None:
    listed = [(c.name, c.state_size, c.num_inputs, c.num_outputs, c.max_steps) for c in CONTROLS]
    assert _native.controls() == listed


def test_an_unknown_control_task_is_refused_with_a_hint() -> None:
    with pytest.raises(OptionError, match='Did you mean "cartpole"'):
        find_control("cartpol")


@each_gymnasium
def test_limits_and_thresholds_are_gymnasiums(name: str) -> None:
    spec = gymnasium.spec(GYMNASIUM[name])
    control = find_control(name)
    assert control.max_steps == spec.max_episode_steps
    assert control.solved == spec.reward_threshold


# ---- equal bits ----


@each_control
@each_dtype
@each_simd
def test_steps_and_observations_have_the_bits_of_the_reference(
    name: str, dtype: Any, simd: str
) -> None:
    control = native(name, dtype, simd)
    state = random_states(name, dtype, 97)
    for turn in range(8):
        output = random_outputs(name, dtype, 97 + turn)[:, turn:].copy()
        assert_same_bits(control.observe(state), reference_control.observe(name, state))
        found, expected = control.step(state, output), reference_control.step(name, state, output)
        for mine, theirs in zip(found, expected, strict=True):
            assert_same_bits(mine, theirs)
        state = found[0]


@each_control
@each_dtype
def test_outputs_that_are_no_number_have_the_bits_of_the_reference(name: str, dtype: Any) -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30], dtype)
    count = find_control(name).num_outputs
    output = np.stack([odd[i] for i in np.meshgrid(*[np.arange(6)] * count)]).reshape(count, -1)
    state = random_states(name, dtype, output.shape[1])
    found = native(name, dtype).step(state, output)
    for mine, theirs in zip(found, reference_control.step(name, state, output), strict=True):
        assert_same_bits(mine, theirs)
        assert np.isfinite(mine).all()


@each_control
@each_dtype
def test_episodes_begin_as_in_the_reference(name: str, dtype: Any) -> None:
    for seed in (0, 1, 2**64 - 1):
        found = native(name, dtype).reset(seed, 5, 33)
        expected = reference_control.reset(name, seed, np.arange(5, 38), np.dtype(dtype))
        assert_same_bits(found, expected)


def test_no_episodes_are_fine_too() -> None:
    control = native("acrobot", np.float32)
    empty = control.reset(0, 0, 0)
    assert empty.shape == (4, 0)
    assert control.observe(empty).shape == (6, 0)
    assert control.step(empty, np.zeros((3, 0), np.float32))[1].shape == (0,)


def test_wrong_shapes_are_refused() -> None:
    control = native("acrobot", np.float32)
    state = np.zeros((4, 3), np.float32)
    with pytest.raises(ValueError, match=r"state must have shape \[4, any\], found \[3, 3\]"):
        control.observe(state[:3].copy())
    with pytest.raises(ValueError, match=r"output must have shape \[3, 3\], found \[2, 3\]"):
        control.step(state, np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"output must have shape \[3, 3\], found \[3, 2\]"):
        control.step(state, np.zeros((3, 2), np.float32))
    with pytest.raises(IndexError, match="no such control task"):
        _native.Control32(99, SIMD_LEVELS[0])


# ---- how episodes begin ----


@each_gymnasium
def test_first_states_spread_as_gymnasiums_do(name: str) -> None:
    count = 400
    ours = native(name, np.float64).reset(7, 0, count)
    environment: Any = gymnasium.make(GYMNASIUM[name]).unwrapped
    theirs = []
    for seed in range(count):
        environment.reset(seed=seed)
        theirs.append(np.array(environment.state, np.float64))
    for mine, other in zip(ours, np.array(theirs).T, strict=True):
        spread = other.max() - other.min()
        assert abs(mine.min() - other.min()) <= 0.05 * spread
        assert abs(mine.max() - other.max()) <= 0.05 * spread
        assert abs(mine.mean() - other.mean()) <= 0.1 * spread
        assert abs(mine.std() - other.std()) <= 0.1 * spread


@pytest.mark.parametrize("name", GYMNASIUM)
def test_every_episode_and_seed_begins_differently(name: str) -> None:
    control = native(name, np.float32)
    states = np.concatenate([control.reset(seed, 0, 50) for seed in range(4)], axis=1)
    assert len(np.unique(states, axis=1).T) == 200


@pytest.mark.parametrize("name", POLES)
def test_a_pole_starts_four_degrees_off(name: str) -> None:
    state = native(name, np.float64).reset(3, 0, 2)
    assert state[2].tolist() == [np.radians(4)] * 2
    assert np.delete(state, 2, axis=0).tolist() == np.zeros((len(state) - 1, 2)).tolist()


# ---- Gymnasium's dynamics ----


def gymnasium_step(name: str, state: NDArray[Any], output: NDArray[Any]) -> tuple[Any, ...]:
    """A step of Gymnasium from a given state: the next state, what is seen, reward, terminated."""
    environment: Any = gymnasium.make(GYMNASIUM[name]).unwrapped
    environment.reset(seed=0)
    found = []
    for column, out in zip(state.T.astype(np.float64), output.T.astype(np.float64), strict=True):
        environment.state = column.copy()
        environment.steps_beyond_terminated = None
        if name == "pendulum":
            action: Any = np.clip(out, -1, 1) * 2
        elif name == "mountain_car_continuous":
            action = np.clip(out, -1, 1)
        else:
            action = int(np.argmax(out))
        seen, reward, terminated, _, _ = environment.step(action)
        found.append((np.array(environment.state, np.float64), seen, reward, terminated))
    states, inputs, rewards, flags = zip(*found, strict=True)
    return np.array(states).T, np.array(inputs).T, np.array(rewards), np.array(flags)


def near_a_threshold(name: str, state: NDArray[Any]) -> NDArray[Any]:
    if name == "cartpole":
        edge = np.minimum(abs(abs(state[0]) - 2.4), abs(abs(state[2]) - np.radians(12)))
    elif name == "acrobot":
        edge = abs(-np.cos(state[0]) - np.cos(state[0] + state[1]) - 1)
    elif name == "pendulum":
        edge = np.ones(state.shape[1])
    else:
        goal = 0.5 if name == "mountain_car" else 0.45
        edge = np.minimum(abs(state[0] - goal), np.minimum(abs(state[1]), abs(state[0] + 1.2)))
    return edge < 1e-4


@each_gymnasium
@each_dtype
def test_a_step_is_gymnasiums(name: str, dtype: Any) -> None:
    state, output = random_states(name, dtype), random_outputs(name, dtype)
    control = native(name, dtype)
    after, reward, ended = control.step(state, output)
    wanted, seen, rewards, terminated = gymnasium_step(name, state, output)
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    if name == "mountain_car_continuous":
        tolerance = max(tolerance, 1e-7)  # its state is float32
    difference = after - wanted
    if name in ("pendulum", "acrobot"):  # whole turns make no difference
        angles = difference[:1] if name == "pendulum" else difference[:2]
        angles -= 2 * np.pi * np.round(angles / (2 * np.pi))
    clear = ~near_a_threshold(name, wanted)
    assert clear.mean() > 0.9
    assert (abs(difference) <= tolerance * np.maximum(1, abs(wanted)))[:, clear].all()
    # Gymnasium gives what is seen in float32.
    assert abs(control.observe(after) - seen)[:, clear].max() <= 1e-5
    size = np.maximum(1, abs(rewards))
    assert (abs(reward - rewards) <= tolerance * size)[clear].all()
    assert (ended == terminated)[clear].all()
    if name != "pendulum":
        assert 0 < ended.mean() < 1


def test_a_car_that_meets_the_wall_stops() -> None:
    state = np.array([[-1.19, -1.19], [-0.06, 0.06]], np.float32)
    after, _, _ = native("mountain_car", np.float32).step(state, np.zeros((3, 2), np.float32))
    assert after[:, 0].tolist() == [np.float32(-1.2), 0]
    assert after[1, 1] > 0


# ---- the laws of mechanics, for the poles ----


def lagrange(y: NDArray[np.float64], force: float, poles: int) -> NDArray[np.float64]:
    """Accelerations from the equations of motion, solved as a linear system."""
    mass, half, friction = (0.1, 0.01), (0.5, 0.05), 2e-6
    matrix, right = np.zeros((1 + poles, 1 + poles)), np.zeros(1 + poles)
    matrix[0, 0] = 1.0 + sum(mass[:poles])
    right[0] = force
    for p in range(poles):
        angle, turn = y[2 + 2 * p], y[3 + 2 * p]
        matrix[0, 1 + p] = matrix[1 + p, 0] = mass[p] * half[p] * np.cos(angle)
        matrix[1 + p, 1 + p] = 4 / 3 * mass[p] * half[p] ** 2
        right[0] += mass[p] * half[p] * turn**2 * np.sin(angle)
        right[1 + p] = mass[p] * half[p] * 9.8 * np.sin(angle) - friction * turn
    acceleration = np.linalg.solve(matrix, right)
    slope = np.empty_like(y)
    slope[::2], slope[1::2] = y[1::2], acceleration
    return slope


def integrate(y: NDArray[np.float64], force: float, poles: int) -> NDArray[np.float64]:
    """0.02 s in a hundred small steps."""
    h = 0.0002
    for _ in range(100):
        k1 = lagrange(y, force, poles)
        k2 = lagrange(y + h / 2 * k1, force, poles)
        k3 = lagrange(y + h / 2 * k2, force, poles)
        k4 = lagrange(y + h * k3, force, poles)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@pytest.mark.parametrize("name", POLES)
@each_dtype
def test_poles_move_as_mechanics_says(name: str, dtype: Any) -> None:
    state, output = random_states(name, dtype, 12), random_outputs(name, dtype, 12)
    after, reward, ended = native(name, dtype).step(state, output)
    poles = 1 if name == "single_pole" else 2
    limit = np.radians(12 if poles == 1 else 36)
    for column in range(12):
        force = 10 * float(np.clip(output[0, column], -1, 1))
        wanted = integrate(state[:, column].astype(np.float64), force, poles)
        # The short pole turns fast: steps of 0.01 s are that far from the truth.
        assert abs(after[:, column] - wanted).max() <= 5e-4
        outside = abs(wanted[0]) > 2.4 or (abs(wanted[2::2]) > limit).any()
        assert ended[column] == outside
    assert reward.tolist() == [1] * 12


def test_without_velocities_a_network_sees_only_positions() -> None:
    state = random_states("double_pole", np.float64)
    seen = native("double_pole", np.float64).observe(state)
    assert_same_bits(native("double_pole_no_velocities", np.float64).observe(state), seen[::2])
    assert abs(seen[2] - state[2] / 0.52).max() < 1e-15


# ---- sine and cosine ----


@each_dtype
def test_sine_and_cosine_are_within_two_ulp(dtype: Any) -> None:
    x = np.concatenate([np.linspace(-60, 60, 100_003), np.geomspace(1e-30, 60, 50_000)])
    x = np.concatenate([x, np.arange(-38, 39) * np.pi / 2]).astype(dtype)
    exact = x.astype(np.longdouble)
    for found, wanted in ((sine(x), np.sin(exact)), (cosine(x), np.cos(exact))):
        assert found.dtype == dtype
        assert abs(found).max() <= 1
        allowed = 2 * np.spacing(abs(wanted.astype(dtype))).astype(np.longdouble)
        if dtype == np.float64:
            allowed += 1e-28
        assert (abs(found - wanted) <= allowed).all()


# ---- as CUDA code ----

KERNEL = """
#include "control/tasks.h"

using namespace evonet;

#define EVONET_CONTROL(name, Task, ...)                                                     \\
  extern "C" __global__ void step_##name(int count, float* state, const float* output,      \\
                                         float* input, float* reward, int* ended) {         \\
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                          \\
    if (i >= count) return;                                                                 \\
    float s[Task::kStateSize], o[Task::kNumOutputs], seen[Task::kNumInputs];                \\
    for (int k = 0; k < Task::kStateSize; ++k) s[k] = state[k * count + i];                 \\
    for (int k = 0; k < Task::kNumOutputs; ++k) o[k] = output[k * count + i];               \\
    Task::observe(s, seen);                                                                 \\
    Outcome<float> outcome = Task::step(s, o);                                              \\
    for (int k = 0; k < Task::kStateSize; ++k) state[k * count + i] = s[k];                 \\
    for (int k = 0; k < Task::kNumInputs; ++k) input[k * count + i] = seen[k];              \\
    reward[i] = outcome.reward;                                                             \\
    ended[i] = outcome.ended != 0;                                                          \\
  }
#include "control/controls.def"
"""


@needs_compiler
@each_control
def test_a_cuda_thread_has_the_bits_of_the_reference(name: str) -> None:
    """The headers are CUDA code too; here the SIMT runner executes them."""
    module = simt.compile(KERNEL, include_dirs=[str(resource_folder("kernels"))], mode="plain")
    state, output = random_states(name, np.float32, 97).copy(), random_outputs(name, np.float32, 97)
    expected = reference_control.step(name, state, output)
    expected_inputs = reference_control.observe(name, state).copy()
    inputs = np.zeros(expected_inputs.shape, np.float32)
    reward, ended = np.zeros(97, np.float32), np.zeros(97, np.int32)
    kernel = module.get_function(f"step_{name}")
    kernel((2,), (64,), (np.int32(97), state, output, inputs, reward, ended))
    assert_same_bits(state, expected.state)
    assert_same_bits(inputs, expected_inputs)
    assert_same_bits(reward, expected.reward)
    assert (ended != 0).tolist() == expected.ended.tolist()


# ---- tasks that need memory ----


@each_dtype
def test_copies_of_all_bits_score_one_and_guesses_less(dtype: Any) -> None:
    control = native("copy", dtype)
    first = control.reset(3, 0, 64)
    assert {tuple(bits) for bits in first[1:].T.tolist()} == set(
        itertools.product((-1.0, 1.0), repeat=3)
    )
    for right in (True, False):
        state, total, heard = first, np.zeros(64), list[Any]()
        for step in range(6):
            seen = control.observe(state)
            if step < 3:
                heard.append(seen[0].copy())
                output = np.zeros((1, 64), dtype)
            else:
                assert (seen == [[0.0], [1.0]]).all()
                output = (heard[step - 3] if right else np.zeros(64, dtype))[None].astype(dtype)
            state, reward, ended = control.step(state, output)
            total += reward
            assert ended.all() == (step == 5)
        np.testing.assert_allclose(total, 1.0 if right else 0.75, rtol=1e-6)


@each_dtype
def test_whoever_remembers_the_sign_finds_the_way(dtype: Any) -> None:
    control = native("t_maze", dtype)
    state = control.reset(3, 0, 200)
    assert set(state[2].tolist()) == set(map(float, range(3, 11)))
    assert set(state[1].tolist()) == {-1.0, 1.0}
    sign = control.observe(state)[0].copy()
    total, going = np.zeros(200), np.ones(200, bool)
    for _ in range(12):
        junction = control.observe(state)[1] > 0
        turn = np.where(junction, sign, 0)
        output = np.stack([turn == -1, turn == 0, turn == 1]).astype(dtype)
        state, reward, ended = control.step(state, output)
        total[going] += reward[going]
        going &= ~ended
    assert not going.any()
    assert (total == 1.0).all()


def test_running_into_walls_costs_a_little() -> None:
    control = native("t_maze", np.float64)
    state, reward, ended = control.step(
        control.reset(1, 0, 5), np.array([[1.0], [0], [0]]) * np.ones(5)
    )
    assert (state[0] == 0).all()
    assert not ended.any()
    np.testing.assert_allclose(reward, -0.05)
