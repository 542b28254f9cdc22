"""Networks with memory: what they compute, on which backend, and what they remember."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evonet
from evonet import DeviceMemoryError, OptionError, Population, ShapeError
from evonet.backends.base import Episodes
from evonet.backends.cpu import CpuBackend
from evonet.definitions.controls import find_control
from evonet.definitions.dynamics import Dynamics
from evonet.installation import require_native
from evonet.schedule import build_schedule
from evonet.tasks import make_task
from evonet.tasks.stepwise import Stepwise
from tests.campaigns import memory as memory_campaign
from tests.cupy_stand_in import Machine
from tests.support import strategies
from tests.support.cuda_runs import SMALL, TINY, run_forward, run_rollout
from tests.support.random_networks import random_genes, random_samples

Lend = Callable[..., Machine]
DTYPES = (np.float32, np.float64)
LEVELS = require_native().simd_levels()
DYNAMICS = (
    Dynamics.of("recurrent"),
    Dynamics.of("recurrent", "same-step"),
    Dynamics.of("recurrent", "same-step", steps=3),
    Dynamics.of("ctrnn", time_step=0.2, steps=2),
    Dynamics.of("izhikevich", time_step=0.5, steps=4),
)


def name_of(dynamics: Dynamics) -> str:
    return f"{dynamics.kind}-{dynamics.propagation}-{dynamics.steps}"


each_dynamics = pytest.mark.parametrize("dynamics", DYNAMICS, ids=name_of)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def assert_same_bits(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


@functools.cache
def population(count: int = 30, dtype: Any = np.float32, inputs: int = 3) -> Population:
    """Genomes with all functions, most with cycles, self-loops, disabled links and orphans."""
    rng = random.Random("memory")
    genes = [
        random_genes(rng, inputs, 2, rng.randint(0, 14), cyclic=rng.random() < 0.8)
        for _ in range(count)
    ]
    return Population.from_genes(inputs, 2, genes, dtype)


def network(dynamics: Dynamics, genomes: Population, **options: Any) -> evonet.Network:
    return evonet.compile(genomes, **{**dynamics.options(), **options})


def samples(step: int, *shape: int, dtype: Any = np.float32) -> Any:
    x = random_samples(random.Random(f"{step} {shape}"), shape, dtype)
    with np.errstate(all="ignore"):
        return x * np.dtype(dtype).type(20) if step % 3 == 0 else x


# ---- what they compute ---------------------------------------------------------------------------


def one(*genes: Any, inputs: int = 1, outputs: int = 1, dtype: Any = np.float64) -> Population:
    return Population.from_genes(inputs, outputs, [genes], dtype)


IDENTITY = {"activation": "identity"}


def test_a_self_loop_remembers() -> None:
    genome = one([dict(key=0, **IDENTITY)], [(-1, 0, 1.0), (0, 0, 0.5)])
    net = evonet.compile(genome, "recurrent")
    assert [net([[1.0]])[0, 0, 0] for _ in range(3)] == [1.0, 1.5, 1.75]
    net.reset()
    assert net([[1.0]])[0, 0, 0] == 1.0


def chain() -> Population:
    nodes = [dict(key=key, **IDENTITY) for key in (0, 1, 2)]
    return one(nodes, [(-1, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)])


def test_a_value_travels_one_link_per_step() -> None:
    net = evonet.compile(chain(), "recurrent")
    assert [net([[7.0]])[0, 0, 0] for _ in range(4)] == [0.0, 0.0, 7.0, 7.0]
    assert evonet.compile(chain(), "recurrent", steps=3)([[7.0]])[0, 0, 0] == 7.0


def test_within_the_same_step_a_value_travels_all_the_way() -> None:
    assert evonet.compile(chain(), "recurrent", propagation="same-step")([[7.0]])[0, 0, 0] == 7.0


def test_in_the_same_step_only_the_link_that_closes_a_cycle_waits() -> None:
    nodes = [dict(key=key, **IDENTITY) for key in (0, 1)]
    genome = one(nodes, [(-1, 1, 1.0), (0, 1, 0.5), (1, 0, 1.0)])
    net = evonet.compile(genome, "recurrent", propagation="same-step")
    assert [net([[1.0]])[0, 0, 0] for _ in range(3)] == [1.0, 1.5, 1.75]


def test_an_unconnected_output_of_a_recurrent_net_stays_zero() -> None:
    for kind in ("recurrent", "ctrnn"):
        net = evonet.compile(one([{"key": 0, "bias": 3.0}], []), kind)  # type: ignore[arg-type]
        assert net([[1.0]])[0, 0, 0] == 0.0


def test_a_node_that_nothing_reaches_is_read_as_zero() -> None:
    nodes = [dict(key=0, aggregation="product", **IDENTITY), {"key": 1, "bias": 3.0}]
    net = evonet.compile(one(nodes, [(-1, 0, 1.0), (1, 0, 1.0)]), "recurrent")
    assert [net([[2.0]])[0, 0, 0] for _ in range(2)] == [0.0, 0.0]


def test_disabled_links_carry_nothing() -> None:
    genome = one([dict(key=0, **IDENTITY)], [(-1, 0, 1.0), (0, 0, 0.5, False)])
    net = evonet.compile(genome, "recurrent")
    assert [net([[1.0]])[0, 0, 0] for _ in range(2)] == [1.0, 1.0]


def test_a_ctrnn_follows_its_input_exponentially() -> None:
    genome = one([dict(key=0, time_constant=0.5, **IDENTITY)], [(-1, 0, 1.0)])
    net = evonet.compile(genome, "ctrnn", time_step=0.1)
    found = [net([[1.0]])[0, 0, 0] for _ in range(5)]
    expected = 1 - np.exp(-0.1 / 0.5 * np.arange(1, 6))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_neuron_fires_under_current_and_rests_without() -> None:
    genome = one([{"key": 0}], [(-1, 0, 1.0)])
    net = evonet.compile(genome, "izhikevich", time_step=0.5)
    spikes = np.array([[net([[10.0], [0.0]])[0, b, 0] for b in range(2)] for _ in range(1000)])
    assert set(np.unique(spikes)) == {0.0, 1.0}
    assert spikes[:, 1].sum() == 0
    assert 5 < spikes[:, 0].sum() < 40


def test_a_neuron_that_overflows_starts_again_without_a_spike() -> None:
    genome = one([{"key": 0}], [(-1, 0, 1.0)], dtype=np.float32)
    net = evonet.compile(genome, "izhikevich")
    assert net([[1e30]])[0, 0, 0] == 0.0
    state: Any = net.state
    np.testing.assert_array_equal(state[:, 0, 0], np.float32([0, -65, np.float32(0.2) * -65]))


@each_dtype
def test_without_cycles_same_step_is_feed_forward(dtype: Any) -> None:
    genomes = Population.random(
        50, 4, 3, num_nodes=12, num_connections=40, dtype=dtype, activations=("tanh", "relu")
    )
    x = samples(1, 9, 4, dtype=dtype)
    recurrent = evonet.compile(genomes, "recurrent", propagation="same-step")
    for _ in range(2):
        assert_same_bits(recurrent(x), evonet.compile(genomes)(x))


# ---- equal bits ----------------------------------------------------------------------------------


@each_dynamics
@each_dtype
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_fifty_steps_have_the_bits_of_the_reference(
    dynamics: Dynamics, dtype: Any, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    genomes = population(12, dtype)
    nets = [network(dynamics, genomes, backend="reference")]
    for simd in LEVELS:
        monkeypatch.setenv("EVONET_SIMD", simd)
        nets += [network(dynamics, genomes, backend="cpu", threads=t) for t in (1, 3)]
    for step in range(50):
        x = samples(step, *((12, 5, 3) if own else (5, 3)), dtype=dtype)
        expected, *found = [net(x) for net in nets]
        for y in found:
            assert_same_bits(y, expected)
    for net in nets[1:]:
        assert net.schedule == nets[0].schedule
        assert_same_bits(net.state, nets[0].state)


@each_dynamics
@given(data=st.data())
@settings(max_examples=40)
def test_any_population_has_the_schedule_and_the_bits_of_the_reference(
    dynamics: Dynamics, data: st.DataObject
) -> None:
    genomes = data.draw(strategies.populations())
    a, b = (network(dynamics, genomes, backend=backend) for backend in ("reference", "cpu"))
    assert a.schedule == b.schedule
    for step in range(3):
        x = samples(step, 2, genomes.num_inputs, dtype=genomes.dtype)
        assert_same_bits(b(x), a(x))


@each_dynamics
@pytest.mark.parametrize("size", [1, 7, 64, 131])
def test_any_number_of_samples_gives_each_its_own_memory(dynamics: Dynamics, size: int) -> None:
    genomes = population(9)
    together = network(dynamics, genomes)
    alone = [network(dynamics, genomes) for _ in range(3)]
    for step in range(4):
        x = samples(step, size, 3)
        y = together(x)
        for b, net in zip((0, size // 2, size - 1), alone, strict=True):
            assert_same_bits(y[:, b : b + 1], net(x[b : b + 1]))


@each_dynamics
@pytest.mark.parametrize("mapping", ["levels", "samples"])
@each_dtype
def test_fifty_steps_on_the_gpu_have_the_bits_of_the_processor(
    dynamics: Dynamics, mapping: Any, dtype: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    genomes = population(30, dtype)
    cpu = network(dynamics, genomes, backend="cpu")
    gpu = network(dynamics, genomes, backend="cuda", mapping=mapping)
    for step in range(50):
        x = samples(step, 6, 3, dtype=dtype)
        assert_same_bits(gpu(x), cpu(x))
    assert_same_bits(gpu.state, cpu.state)
    assert machine.launches[f"forward_{mapping}"] == 50


@each_dynamics
@pytest.mark.parametrize("mapping", ["levels", "samples"])
def test_the_checker_finds_nothing_wrong(
    dynamics: Dynamics, mapping: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus().mode = "checked"
    cpu = network(dynamics, population(), backend="cpu")
    gpu = network(dynamics, population(), backend="cuda", mapping=mapping)
    for step in range(2):
        x = samples(step, 37, 3)
        assert_same_bits(gpu(x), cpu(x))


@each_dynamics
@pytest.mark.parametrize("mapping", ["levels", "samples"])
@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
def test_large_genomes_have_the_bits_of_the_processor(
    dynamics: Dynamics, mapping: str, limits: Any
) -> None:
    genomes = Population.random(
        3, 3, 2, num_nodes=150, num_connections=700, feed_forward=False, weight_scale=0.3
    )
    schedule = build_schedule(genomes, dynamics)
    x = samples(1, 5, 3)
    found = run_forward(schedule, x, mapping, limits=limits)
    assert_same_bits(found, network(dynamics, genomes, backend="cpu")(x))


@each_dynamics
@pytest.mark.parametrize("control", ["cartpole", "double_pole_no_velocities", "pendulum"])
@pytest.mark.parametrize("episodes", [1, 3, 40])
def test_rollouts_have_the_bits_of_the_reference(
    dynamics: Dynamics, control: str, episodes: int
) -> None:
    task = find_control(control)
    genomes = Population.random(
        19,
        task.num_inputs,
        task.num_outputs,
        num_nodes=task.num_outputs + 4,
        num_connections=14,
        feed_forward=False,
        activations=("tanh", "sigmoid"),
        enabled=0.8,
    )
    options: dict[str, Any] = {"episodes": episodes, "seed": 5, "max_steps": 180 // (episodes + 20)}
    expected = network(dynamics, genomes, backend="reference").rollout(control, **options)
    found = network(dynamics, genomes, backend="cpu").rollout(control, **options)
    for mine, theirs in zip(found, expected, strict=True):
        assert_same_bits(mine, theirs)


@each_dynamics
@each_dtype
@pytest.mark.parametrize("limits", [SMALL, TINY], ids=["shared", "global"])
def test_rollouts_on_the_gpu_have_the_bits_of_the_processor(
    dynamics: Dynamics, dtype: Any, limits: Any
) -> None:
    genomes = Population.random(
        11, 3, 1, num_nodes=6, num_connections=16, feed_forward=False, dtype=dtype
    )
    schedule = build_schedule(genomes, dynamics)
    name = "double_pole_no_velocities"
    for count in (1, 3, 40):
        episodes = Episodes(name, count, 12, 3)
        chosen = np.arange(11)
        for mode in ("plain", "checked"):
            found = run_rollout(schedule, episodes, chosen, limits=limits, mode=mode)
            for mine, theirs in zip(
                found, CpuBackend().bind(schedule, 1).rollout(episodes, chosen), strict=True
            ):
                assert_same_bits(mine, theirs)


def test_an_episode_begins_without_the_memory_of_the_one_before() -> None:
    genomes = Population.random(
        40, 4, 2, num_nodes=6, num_connections=20, feed_forward=False, activations=("tanh",)
    )
    net = evonet.compile(genomes, "recurrent", threads=1)
    many = net.rollout("cartpole", episodes=70, seed=3).returns
    for episode in (0, 1, 33, 69):
        alone = net.rollout("cartpole", episodes=1, seed=3, first_episode=episode).returns
        assert_same_bits(many[:, episode], alone[:, 0])


# ---- several GPUs, little memory -----------------------------------------------------------------


def test_several_gpus_remember_their_own_genomes(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evonet.backends.cuda import backend as cuda_backend

    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    imaginary_gpus(num_devices=2)
    cpu = network(DYNAMICS[0], population(), backend="cpu")
    gpu = network(DYNAMICS[0], population(), backend="cuda")
    for step in range(3):
        x = samples(step, 6, 3)
        assert_same_bits(gpu(x, out="device").get(), cpu(x))
    state = cpu.state
    assert_same_bits(gpu.state, state)
    gpu.reset()
    gpu.state = state
    x = samples(9, 6, 3)
    assert_same_bits(gpu(x), cpu(x))


def test_one_failed_allocation_anywhere_changes_nothing(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    cpu = network(DYNAMICS[0], population(), backend="cpu")
    expected = [cpu(samples(step, 6, 3)) for step in range(2)]
    for n in range(1, 5):
        gpu = network(DYNAMICS[0], population(), backend="cuda")
        gpu(samples(0, 6, 3))
        machine.fail_at = {machine.num_allocations + n}
        assert_same_bits(gpu(samples(1, 6, 3)), expected[1])
        machine.fail_at = set()


def test_a_state_that_does_not_fit_is_an_error(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    gpu = network(DYNAMICS[0], population(), backend="cuda")
    machine.fail_from = machine.num_allocations + 1
    with pytest.raises(DeviceMemoryError, match="do not fit there twice: pass fewer samples"):
        gpu(samples(0, 6, 3))
    machine.fail_from = None
    expected = network(DYNAMICS[0], population(), backend="cpu")(samples(0, 6, 3))
    assert_same_bits(gpu(samples(0, 6, 3)), expected)


# ---- what they remember --------------------------------------------------------------------------


@each_dynamics
def test_a_state_can_be_taken_and_given_back(dynamics: Dynamics) -> None:
    net = network(dynamics, population())
    assert net.state is None
    for step in range(3):
        net(samples(step, 5, 3))
    state = net.state
    assert state is not None
    assert state.shape == (dynamics.num_states, net.schedule.num_nodes, 5)
    expected = net(samples(7, 5, 3))
    other = network(dynamics, population())
    other.state = state
    assert_same_bits(other(samples(7, 5, 3)), expected)


@each_dynamics
def test_a_loss_is_that_of_a_first_state_and_leaves_the_state_alone(dynamics: Dynamics) -> None:
    x, targets = samples(1, 5, 3), samples(2, 5, 2)
    losses = []
    for backend in ("cpu", "reference"):
        net = network(dynamics, population(), backend=backend)
        net(samples(3, 2, 3))
        state = net.state
        losses.append(net.loss(x, targets))
        assert_same_bits(net.state, state)
    assert_same_bits(*losses)
    fresh = network(dynamics, population())(x).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = ((fresh - targets) ** 2).sum(axis=(1, 2))
    known = np.isfinite(expected) & (expected < 1e30)
    np.testing.assert_allclose(losses[0][known], expected[known], rtol=1e-5)


def test_other_samples_need_a_reset() -> None:
    net = evonet.compile(population(), "recurrent")
    net(np.zeros((5, 3)))
    with pytest.raises(ShapeError, match=r"6 samples, and the networks remember 5\. Call"):
        net(np.zeros((6, 3)))
    net.reset()
    assert net(np.zeros((6, 3))).shape == (30, 6, 2)


def test_a_state_of_another_shape_is_refused() -> None:
    net = evonet.compile(population(), "recurrent")
    with pytest.raises(ShapeError, match=r"state must have shape \[1, \d+, B\]"):
        net.state = np.zeros((1, 1, 5))
    with pytest.raises(ShapeError, match="state must be an array of real numbers"):
        net.state = "nothing"  # type: ignore[assignment]
    with pytest.raises(OptionError, match="feed-forward networks remember nothing"):
        evonet.compile(population(), on_cycle="zero").state = np.zeros((1, 1, 1))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "recurent"}, 'Did you mean "recurrent"'),
        ({"kind": "recurrent", "propagation": "now"}, "propagation='now' is not a choice"),
        ({"propagation": "same-step"}, 'propagation="same-step" is for kind="recurrent"'),
        ({"kind": "recurrent", "time_step": 0.1}, 'time_step is for "ctrnn" and "izhikevich"'),
        ({"kind": "ctrnn", "time_step": 0.0}, "time_step=0.0 must be a number above 0"),
        ({"kind": "ctrnn", "time_step": float("nan")}, "time_step=nan must be"),
        ({"kind": "ctrnn", "time_step": "1"}, "time_step='1' must be"),
        ({"kind": "recurrent", "steps": 0}, "steps=0 must be a whole number from 1"),
        ({"kind": "recurrent", "steps": 1.5}, "steps=1.5 must be"),
        ({"steps": 2}, "steps is for networks with memory"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        evonet.compile(population(), **options)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3)])
def test_no_samples_and_no_genomes_are_fine(shape: tuple[int, ...]) -> None:
    for dynamics in DYNAMICS:
        net = network(dynamics, population())
        assert net(np.zeros(shape)).shape == (30, shape[0], 2)
        none = network(dynamics, population()[:0])
        assert none(np.zeros(shape)).shape == (0, shape[0], 2)


# ---- in tasks and campaigns ----------------------------------------------------------------------


def test_a_task_stepped_in_python_begins_without_memories() -> None:
    class Echo:
        """Sees nothing but ones; what a network answers is its reward."""

        num_inputs, num_outputs, max_steps = 1, 1, 3

        def reset(self, seeds: Any) -> Any:
            return np.ones((len(seeds), 1))

        def step(self, outputs: Any) -> Any:
            return np.ones((len(outputs), 1)), outputs[:, 0], np.zeros(len(outputs), bool)

    genome = one([{"key": 0, **IDENTITY}], [(-1, 0, 1.0), (0, 0, 0.5)])
    net = evonet.compile(genome, "recurrent")
    task = Stepwise(Echo(), episodes=2)
    for _ in range(2):
        assert task.evaluate(net, 1).tolist() == [1.0 + 1.5 + 1.75]


def test_a_recurrent_champion_is_read_as_the_network_that_it_was(tmp_path: Any) -> None:
    genome = Population.random(1, 3, 2, num_nodes=7, num_connections=25, feed_forward=False)
    for dynamics in DYNAMICS:
        evonet.save_champion(tmp_path / "c.json", genome, dynamics=dynamics)
        champion = evonet.read_champion(tmp_path / "c.json")
        assert champion.dynamics == dynamics
        net, expected = champion.compile(), network(dynamics, genome)
        for step in range(3):
            x = samples(step, 4, 3)
            assert_same_bits(net(x), expected(x))


@each_dynamics
def test_a_run_with_memory_is_resumed_as_if_nothing_had_happened(
    dynamics: Dynamics, tmp_path: Any
) -> None:
    network_table = {k: v for k, v in dynamics.options().items() if v is not None}
    config = evonet.Config.from_dict(
        {
            "network": network_table,
            "neat": {"pop_size": 30, "no_fitness_termination": True},
            "genome": {
                "feed_forward": False,
                "time_constant_mutate_rate": 0.5,
                "time_constant_mutate_power": 0.3,
            },
        }
    )
    task = make_task("t_maze", episodes=3)
    whole = evonet.evolve(task, config, generations=6)
    saver = evonet.CheckpointSaver(tmp_path)
    evonet.evolve(task, config, generations=3, callbacks=[saver])
    resumed = evonet.evolve(task, resume=tmp_path, generations=6)
    assert resumed.algorithm.state.population == whole.algorithm.state.population
    assert resumed.best is not None
    assert whole.best is not None
    assert resumed.best.fitness == whole.best.fitness
    if dynamics.kind == "ctrnn":
        assert len(np.unique(whole.algorithm.state.population.time_constant)) > 10


def test_a_slice_of_the_campaign_against_neat_python_finds_no_mismatch() -> None:
    report = memory_campaign.run(450, seed=2, chunk=75)
    assert report.first == ""
    assert (report.networks, report.mismatches) == (450, 0)
    assert report.nodes > 8000
    assert report.spikes > 200


@pytest.mark.parametrize("kind", ["recurrent", "ctrnn", "izhikevich"])
def test_the_campaign_sees_a_single_wrong_weight(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_network = evonet.compile

    def bend(genomes: Population, *args: Any, **options: Any) -> Any:
        weight = genomes.weight * (1 + 1e-7)
        return compile_network(genomes._with({"weight": weight}), *args, **options)

    monkeypatch.setattr(evonet, "compile", bend)
    report = memory_campaign.Report()
    chunk = memory_campaign.Chunk(random.Random("bent"), kind, 40, report)
    assert len(list(chunk.run())) > 10
