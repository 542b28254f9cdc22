"""The drop-in networks: neat-python's classes to their users, and its bits."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from typing import Any

import neat
import numpy as np
import pytest

from evonet.plugins.neat_python import (
    CTRNN,
    IZNN,
    FeedForwardNetwork,
    RecurrentNetwork,
    export_json,
    networks,
)
from tests.campaigns import plugin as plugin_campaign
from tests.support.neat_configs import load, make_genome


@pytest.fixture
def config() -> Any:
    return load()


def chain(config: Any, **output: Any) -> Any:
    """Two inputs, a hidden node 1, the output 0, and a loop on the hidden node."""
    return make_genome(
        config,
        1,
        {0: output, 1: {"bias": 0.5}},
        {(-1, 1): 2.0, (1, 0): 3.0, (-2, 0): -1.0},
    )


@pytest.mark.parametrize("kind", plugin_campaign.KINDS)
def test_random_genomes_give_the_bits_of_neat_python(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* runs in Python", RuntimeWarning)
        found = plugin_campaign.campaign(kind, 300, seed=11)
    assert found.faults == []
    assert found.networks == 300
    assert found.values > 5000
    assert found.fired > 0 or kind != "izhikevich"


def test_a_wrong_bit_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    activate = FeedForwardNetwork.activate

    def spoil(self: Any, inputs: Any) -> list[float]:
        answers = activate(self, inputs)
        return [float(np.nextafter(answers[0], np.inf)), *answers[1:]]

    monkeypatch.setattr(networks.FeedForwardNetwork, "activate", spoil)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* runs in Python", RuntimeWarning)
        assert plugin_campaign.campaign("feedforward", 5, seed=3).faults


def test_they_are_neat_pythons_classes(config: Any) -> None:
    assert issubclass(FeedForwardNetwork, neat.nn.FeedForwardNetwork)
    assert issubclass(RecurrentNetwork, neat.nn.RecurrentNetwork)
    assert issubclass(CTRNN, neat.ctrnn.CTRNN)
    assert issubclass(IZNN, neat.iznn.IZNN)


def test_the_wrong_number_of_inputs_is_refused_in_neat_pythons_words(config: Any) -> None:
    genome = chain(config)
    for ours, theirs in (
        (FeedForwardNetwork, neat.nn.FeedForwardNetwork),
        (RecurrentNetwork, neat.nn.RecurrentNetwork),
    ):
        messages = []
        for cls in (ours, theirs):
            with pytest.raises(RuntimeError) as caught:
                cls.create(genome, config).activate([1.0])
            messages.append(str(caught.value))
        assert messages[0] == messages[1] == "Expected 2 inputs, got 1"


def test_nodes_and_values_are_those_of_neat_python(config: Any) -> None:
    genome = chain(config)
    ours = FeedForwardNetwork.create(genome, config)
    theirs = neat.nn.FeedForwardNetwork.create(genome, config)
    assert dict(ours.values) == theirs.values == {-1: 0.0, -2: 0.0, 0: 0.0}
    assert ours.node_evals == theirs.node_evals
    assert ours.activate((1.0, 2)) == theirs.activate((1.0, 2)) == [5.5]
    assert dict(ours.values) == theirs.values
    assert ours.values[1] == 2.5
    with pytest.raises(KeyError):
        ours.values[7]


def test_nodes_of_a_compiled_network_cannot_be_changed_behind_its_back(config: Any) -> None:
    network = FeedForwardNetwork.create(chain(config), config)
    with pytest.raises(TypeError, match="does not follow changes"):
        network.node_evals.append(None)
    with pytest.raises(TypeError, match="does not follow changes"):
        network.node_evals[0][5][0] = (-1, 9.0)
    ctrnn = CTRNN.create(chain(config), config)
    with pytest.raises(TypeError, match="cannot be set"):
        ctrnn.node_evals[0].bias = 1.0


def test_a_network_made_from_changed_nodes_follows_them(config: Any) -> None:
    network = FeedForwardNetwork.create(chain(config), config)
    evals = [(*node[:3], node[3] + 1.0, *node[4:]) for node in network.node_evals]
    changed = FeedForwardNetwork(network.input_nodes, network.output_nodes, evals)
    theirs = neat.nn.FeedForwardNetwork(network.input_nodes, network.output_nodes, evals)
    assert changed.activate([1.0, 2.0]) == theirs.activate([1.0, 2.0]) == [9.5]


def test_state_can_be_read_and_set(config: Any) -> None:
    genome = chain(config)
    ours, theirs = (
        RecurrentNetwork.create(genome, config),
        neat.nn.RecurrentNetwork.create(genome, config),
    )
    for network in (ours, theirs):
        network.activate([1.0, 2.0])
        network.values[network.active][1] = 10.0
    assert ours.activate([1.0, 2.0]) == theirs.activate([1.0, 2.0]) == [28.0]
    assert [dict(v) for v in ours.values] == theirs.values
    ours.reset()
    assert (ours.active, set(ours.values[0].values())) == (0, {0.0})


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))]
)
@pytest.mark.parametrize("cls", [FeedForwardNetwork, RecurrentNetwork])
def test_copies_continue_from_the_same_state(config: Any, cls: Any, duplicate: Any) -> None:
    network = cls.create(chain(config), config)
    network.activate([1.0, 2.0])
    other = duplicate(network)
    assert other.activate([3.0, -1.0]) == network.activate([3.0, -1.0])
    network.activate([5.0, 5.0])
    assert other.activate([0.0, 1.0]) != network.activate([9.0, 1.0])


def test_copies_of_networks_in_continuous_time_continue_too(config: Any) -> None:
    network = CTRNN.create(chain(config), config)
    network.advance([1.0, 2.0], 0.35, 0.1)
    other = pickle.loads(pickle.dumps(network))
    assert other.time_seconds == network.time_seconds
    assert other.advance([1.0, 2.0], 0.2, 0.1) == network.advance([1.0, 2.0], 0.2, 0.1)


def test_a_batch_has_the_bits_of_single_samples(config: Any) -> None:
    genome = chain(config, activation="tanh")
    x = np.random.default_rng(1).standard_normal((150, 2))
    network = FeedForwardNetwork.create(genome, config)
    assert network.activate_batch(x).tolist() == [network.activate(row) for row in x.tolist()]
    population = FeedForwardNetwork.activate_population([(1, genome), (2, genome)], config, x)
    assert population.shape == (2, 150, 1)
    assert (population == network.activate_batch(x)).all()


def test_each_sample_of_a_batch_has_its_own_memory_until_reset(config: Any) -> None:
    genome = chain(config, activation="tanh")
    x = np.random.default_rng(1).standard_normal((3, 5, 2))
    network = RecurrentNetwork.create(genome, config)
    batch = [network.activate_batch(step) for step in x]
    for sample in range(5):
        network.reset()
        alone = [network.activate(step[sample].tolist()) for step in x]
        assert [step[sample].tolist() for step in batch] == alone
    network.reset()
    assert (network.activate_batch(x[0]) == batch[0]).all()
    with pytest.raises(RuntimeError, match="Expected 5 samples, got 2"):
        network.activate_batch(x[0, :2])


def test_sequences_of_a_population_are_stepped(config: Any) -> None:
    genome = chain(config)
    x = np.random.default_rng(2).standard_normal((4, 3, 2))
    answers = RecurrentNetwork.activate_population([genome], config, x)
    network = RecurrentNetwork.create(genome, config)
    for sample in range(4):
        network.reset()
        alone = [network.activate(row) for row in x[sample].tolist()]
        assert answers[0, sample].tolist() == alone


def test_a_square_beyond_the_largest_number_raises_as_in_python(config: Any) -> None:
    genome = chain(config, activation="square")
    messages = []
    for cls in (FeedForwardNetwork, neat.nn.FeedForwardNetwork):
        with pytest.raises(OverflowError) as caught:
            cls.create(genome, config).activate([1e200, 0.0])
        messages.append(caught.value.args)
    assert messages[0] == messages[1]
    with pytest.raises(OverflowError):
        FeedForwardNetwork.create(genome, config).activate_batch([[1e200, 0.0]])
    with pytest.raises(OverflowError):
        FeedForwardNetwork.activate_population([genome], config, [[1e200, 0.0]])


def test_custom_functions_are_called(config: Any) -> None:
    seen: list[float] = []

    def shifted(z: float) -> float:
        seen.append(z)
        return z + 100.0

    config.genome_config.add_activation("shifted", shifted)
    config.genome_config.add_aggregation("second", lambda x: x[1])
    genome = chain(config, activation="shifted", aggregation="second")
    assert FeedForwardNetwork.create(genome, config).activate([1.0, 2.0]) == [98.0]
    assert seen == [-2.0]


def test_a_name_may_mean_another_function_than_neat_pythons(config: Any) -> None:
    config.genome_config.add_activation("identity", lambda z: -z)
    genome = chain(config)
    theirs = neat.nn.FeedForwardNetwork.create(genome, config).activate([1.0, 2.0])
    assert FeedForwardNetwork.create(genome, config).activate([1.0, 2.0]) == theirs


def test_weights_given_at_creation_change_the_genome(config: Any) -> None:
    genome = chain(config)
    network = FeedForwardNetwork.create(genome, config, unique_value=2.0)
    assert {gene.weight for gene in genome.connections.values()} == {2.0}
    assert network.activate([1.0, 1.0]) == [7.0]


def test_a_missing_node_is_named(config: Any) -> None:
    genome = chain(config)
    del genome.nodes[1]
    with pytest.raises(KeyError, match="1"):
        FeedForwardNetwork.create(genome, config)


def test_an_unknown_function_is_refused_by_neat_python_itself(config: Any) -> None:
    genome = chain(config, activation="sigmoidal")
    with pytest.raises(neat.activations.InvalidActivationFunction, match="sigmoidal"):
        FeedForwardNetwork.create(genome, config)


def test_a_network_by_hand_may_read_what_was_left_behind(config: Any) -> None:
    identity = neat.activations.identity_activation
    evals = [(0, identity, sum, 1.0, 1.0, [(-1, 1.0), (0, 0.5)])]
    ours, theirs = (
        FeedForwardNetwork([-1], [0], evals),
        neat.nn.FeedForwardNetwork([-1], [0], evals),
    )
    for value in (1.0, 2.0, -3.0):
        assert ours.activate([value]) == theirs.activate([value])


def test_spiking_neurons_can_be_looked_at_and_set() -> None:
    draw = plugin_campaign.Genomes("izhikevich", 5)
    draw.shape()
    genome = next(g for g in map(draw.draw, range(50)) if g.connections)
    ours, theirs = IZNN.create(genome, draw.config), neat.iznn.IZNN.create(genome, draw.config)
    row = [1.0] * len(ours.inputs)
    for network in (ours, theirs):
        network.set_inputs(row)
        network.neurons[0].v = 29.0
        network.neurons[0].current = 100.0
    fired = [ours.advance(1.0) for _ in range(30)]
    assert fired == [theirs.advance(1.0) for _ in range(30)]
    assert ours.get_time_step_msec() == theirs.get_time_step_msec()
    copied = copy.deepcopy(ours)
    assert copied.advance(1.0) == theirs.advance(1.0)
    ours.reset()
    assert ours.neurons[0].v == ours.neurons[0].c
    with pytest.raises(RuntimeError, match="does not match number of input nodes"):
        ours.set_inputs([*row, 1.0])
    fresh = IZNN.create(genome, draw.config)
    if any(source < 0 for n in fresh.neurons.values() for source, _ in n.inputs):
        with pytest.raises(KeyError):
            fresh.advance(0.05)


def test_exported_networks_are_those_of_neat_python(config: Any, tmp_path: Any) -> None:
    from neat.export import export_network_json

    genome = chain(config, activation="tanh")
    path = tmp_path / "network.json"
    ours = json.loads(export_json(genome, config, path, metadata={"fitness": 1.5}))
    network = neat.nn.FeedForwardNetwork.create(genome, config)
    theirs = json.loads(export_network_json(network, metadata={"fitness": 1.5}))
    for exported in (ours, theirs):
        exported["metadata"].pop("created_timestamp")
    assert ours == theirs
    assert json.loads(path.read_text())["network_type"] == "feedforward"
    recurrent = json.loads(export_json(genome, config, kind="recurrent"))
    assert recurrent["network_type"] == "recurrent"


def neumaier(values: list[float]) -> float:
    """What sum() does from Python 3.12 on."""
    total = rest = 0.0
    for x in values:
        t = total + x
        rest += (total - t) + x if abs(total) >= abs(x) else (x - t) + total
        total = t
    return total + rest


@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_sums_are_compensated_where_pythons_are(config: Any, aggregation: str) -> None:
    from evonet.plugins.neat_python.installed import network_engine

    genome = make_genome(
        config,
        1,
        {0: {"aggregation": aggregation}, 1: {"bias": 1.0}},
        {(-1, 0): 1e16, (1, 0): 1.0, (-2, 0): -1e16},
    )
    network = FeedForwardNetwork.create(genome, config)
    rows = [[1.0, 1.0], [0.3, 0.7], [1e-3, 7.0]]
    count = 3 if aggregation == "mean" else 1
    expected = [[neumaier([x * 1e16, 1.0, -1e16 * y]) / count] for x, y in rows]
    native = network_engine()
    assert native is not None
    try:
        _set_functions(native, compensates_sums=True)
        assert [network.activate(row) for row in rows] == expected
        assert network.activate_batch(rows).tolist() == expected
    finally:
        _set_functions(native, compensates_sums=sum([1e100, 1.0, -1e100]) == 1.0)
    theirs = neat.nn.FeedForwardNetwork.create(genome, config)
    assert [network.activate(row) for row in rows] == [theirs.activate(row) for row in rows]


def _set_functions(native: Any, compensates_sums: bool) -> None:
    from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
    from evonet.plugins.neat_python.installed import built_in_activations, built_in_aggregations

    native.set_neat_functions(
        [built_in_activations()[f.name] for f in ACTIVATIONS],
        [built_in_aggregations()[f.name] for f in AGGREGATIONS],
        sum,
        compensates_sums,
    )


def test_without_the_extension_neat_pythons_own_code_runs(
    config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evonet.plugins.neat_python import drop_in, exact, population_networks

    genome = chain(config, activation="tanh")
    x = [[1.0, 2.0], [0.5, -1.0]]
    batch = FeedForwardNetwork.create(genome, config).activate_batch(x)
    for module in (drop_in, exact, population_networks):
        monkeypatch.setattr(module, "network_engine", lambda: None)
    slow = FeedForwardNetwork.create(genome, config)
    assert slow.activate_batch(x).tolist() == batch.tolist()
    assert slow.values == {-1: 0.5, -2: -1.0, 1: slow.values[1], 0: batch[1, 0]}
    answers = FeedForwardNetwork.activate_population([genome], config, x)
    assert answers[0].tolist() == batch.tolist()
    steps = RecurrentNetwork.create(genome, config)
    assert [steps.activate_batch(x).tolist() for _ in range(2)][1] == batch.tolist()
    ctrnn = CTRNN.create(genome, config)
    assert len(ctrnn.advance_batch(x, 0.1, 0.05)) == 2
    assert pickle.loads(pickle.dumps(steps)).active == steps.active
