"""Networks: call shapes, options, and the same bits however the work is cut."""

from __future__ import annotations

import functools
import itertools
import os
import random
import subprocess
import sys
import textwrap
import threading
from typing import Any

import neat
import numpy as np
import pytest
from hypothesis import given, settings

import evonet
from evonet import (
    BackendError,
    CyclicGenomeError,
    GenomeError,
    Network,
    OptionError,
    Population,
    ShapeError,
)
from evonet.backends import resolve_backend
from evonet.definitions.dynamics import Dynamics
from evonet.functions.registry import ACTIVATIONS, AGGREGATIONS
from evonet.installation import require_native
from evonet.network import compile_with
from evonet.schedule import build_schedule
from tests.campaigns import forward as forward_campaign
from tests.support import strategies
from tests.support.random_networks import random_genes, random_samples

LEVELS = tuple(require_native().simd_levels())
DTYPES = (np.float32, np.float64)
BATCHES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200)


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    kind = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(kind), expected.view(kind))


@functools.cache
def mixed_population(count: int, dtype: Any) -> Population:
    """Genomes of 3 inputs and 2 outputs with all functions, some with cycles."""
    rng = random.Random("mixed")
    genes = [
        random_genes(rng, 3, 2, rng.randint(0, 30), cyclic=rng.random() < 0.1, degree=3.0)
        for _ in range(count)
    ]
    return Population.from_genes(3, 2, genes, dtype)


@functools.cache
def mixed_samples(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    x = random_samples(random.Random(str(shape)), shape, dtype)
    x.flags.writeable = False
    return x


@functools.cache
def expected_outputs(count: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    population = mixed_population(count, dtype)
    network = evonet.compile(population, backend="reference", on_cycle="zero")
    return network(mixed_samples(shape, dtype))


def small_network(dtype: Any = np.float32, **options: Any) -> Network:
    population = Population.random(
        3, 2, 1, num_nodes=5, num_connections=9, activations=("tanh",), dtype=dtype, seed=1
    )
    return evonet.compile(population, **options)


def run_script(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- equal bits ---------------------------------------------------------------------------------


def test_the_mixed_population_holds_every_function() -> None:
    live = build_schedule(mixed_population(60, np.float32), on_cycle="zero")
    reads = np.diff(live.edge_start) > 0
    assert set(live.activation[reads].tolist()) == set(range(len(ACTIVATIONS)))
    assert set(live.aggregation[reads].tolist()) == set(range(len(AGGREGATIONS)))


@pytest.mark.parametrize("simd", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_every_batch_size_has_the_bits_of_the_reference(
    simd: str, dtype: Any, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    shape = (60, 200, 3) if own else (200, 3)
    x, expected = mixed_samples(shape, dtype), expected_outputs(60, shape, dtype)
    network = evonet.compile(mixed_population(60, dtype), backend="cpu", on_cycle="zero")
    for size in BATCHES:
        assert_same_bits(network(x[..., :size, :]), expected[:, :size])


@pytest.mark.parametrize("simd", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_threads_and_splits_do_not_change_a_bit(
    simd: str, dtype: Any, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVONET_SIMD", simd)
    shape = (250, 131, 3) if own else (131, 3)  # enough work for many tasks
    x, expected = mixed_samples(shape, dtype), expected_outputs(250, shape, dtype)
    population = mixed_population(250, dtype)
    for threads in (1, 2, 3, 7, 2, 1):  # fewer threads than the pool has started, too
        network = evonet.compile(population, backend="cpu", threads=threads, on_cycle="zero")
        assert_same_bits(network(x), expected)
        for cuts in ([1], [64], [3, 20, 21, 130]):
            parts = [network(x[..., a:b, :]) for a, b in itertools.pairwise([0, *cuts, 131])]
            assert_same_bits(np.concatenate(parts, axis=1), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_genomes_too_large_for_the_cache_have_the_bits_of_the_reference(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = Population.random(
        2,
        3,
        2,
        num_nodes=2003,
        num_connections=4999,
        activations=[f.name for f in ACTIVATIONS],
        aggregations=[f.name for f in AGGREGATIONS],
        dtype=dtype,
    )
    x = mixed_samples((150, 3), dtype)
    expected = evonet.compile(population, backend="reference")(x)
    for simd in LEVELS:
        monkeypatch.setenv("EVONET_SIMD", simd)
        assert_same_bits(evonet.compile(population, backend="cpu")(x), expected)


@settings(max_examples=100)
@given(strategies.populations(num_inputs=2))
def test_extreme_genes_give_the_bits_of_the_reference(population: Population) -> None:
    x = mixed_samples((9, 2), population.dtype.type)
    expected = evonet.compile(population, backend="reference", on_cycle="zero")(x)
    for threads in (1, 2):
        network = evonet.compile(population, backend="cpu", on_cycle="zero", threads=threads)
        assert_same_bits(network(x), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_genome_gives_the_same_bits_among_any_others(dtype: Any) -> None:
    x, expected = mixed_samples((131, 3), dtype), expected_outputs(250, (131, 3), dtype)
    population = mixed_population(250, dtype)
    for part in (slice(0, 1), slice(17, 18), slice(100, 249), slice(249, 250)):
        found = evonet.compile(population[part], backend="cpu", on_cycle="zero")(x)
        assert_same_bits(found, expected[part])
    for seed in range(5):  # enough genomes to cut them into tasks on every instruction set
        order = np.random.default_rng(seed).integers(0, 250, 1000 + seed)
        found = evonet.compile(population[order], backend="cpu", threads=2, on_cycle="zero")(x)
        assert_same_bits(found, expected[order])


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_same_samples_for_all_may_be_given_to_each(backend: str) -> None:
    x = mixed_samples((33, 3), np.float32)
    network = evonet.compile(
        mixed_population(60, np.float32)[:20], backend=backend, on_cycle="zero"
    )
    assert_same_bits(network(np.broadcast_to(x, (20, 33, 3))), network(x))


def test_each_genome_sees_only_its_own_samples() -> None:
    # Outputs are the inputs themselves, so a block of samples that was not loaded shows.
    genome = ([(o, 0.0, 1.0, "identity") for o in range(3)], [(-1 - o, o, 1.0) for o in range(3)])
    network = evonet.compile(Population.from_genes(3, 3, [genome] * 50), threads=2)
    x = np.random.default_rng(1).normal(size=(50, 300, 3)).astype(np.float32)
    assert_same_bits(network(x), x)
    assert_same_bits(network(x[7]), np.broadcast_to(x[7], x.shape).copy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_kernel_writes_every_output(dtype: Any, threads: int) -> None:
    order = np.arange(2000) % 250
    schedule = build_schedule(mixed_population(250, dtype)[order], on_cycle="zero")
    make = require_native().Forward32 if dtype is np.float32 else require_native().Forward64
    x, expected = mixed_samples((131, 3), dtype), expected_outputs(250, (131, 3), dtype)
    for simd in LEVELS:
        found = np.full((2000, 131, 2), -12345, dtype)
        make(schedule, threads, simd)(x, found)
        assert_same_bits(found, expected[order])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_nan_has_the_same_bits_wherever_it_comes_from(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # inf - inf, 0 inf, and NaN of any sign and payload, through every function.
    genomes = [
        ([(0, 0.0, 1.0, act.name, agg.name)], [(-1, 0, 1.0), (-2, 0, -1.0), (-3, 0, 0.0)])
        for act, agg in itertools.product(ACTIVATIONS, AGGREGATIONS)
    ]
    population = Population.from_genes(3, 1, genomes, dtype)
    kind = np.uint32 if dtype is np.float32 else np.uint64
    bits = np.array([np.nan, np.inf], dtype).view(kind)
    sign = kind(1) << kind(8 * bits.itemsize - 1)
    odd = np.array([bits[0] | sign, bits[0] | kind(5), bits[1] | kind(1)]).view(dtype)
    rows = list(itertools.product([1.0, np.inf, -np.inf, np.nan, *odd], repeat=3))
    x = np.array(rows, dtype)
    expected = evonet.compile(population, backend="reference")(x)
    nans = expected[np.isnan(expected)]
    assert len(nans) > 1000
    assert set(nans.view(kind).tolist()) == {int(bits[0])}
    for simd in LEVELS:
        monkeypatch.setenv("EVONET_SIMD", simd)
        network = evonet.compile(population, backend="cpu")
        for size in (1, 6, len(x)):
            assert_same_bits(network(x[:size]), expected[:, :size])


def test_repeated_calls_give_the_same_bits() -> None:
    x = mixed_samples((131, 3), np.float32)
    network = evonet.compile(mixed_population(250, np.float32), threads=3, on_cycle="zero")
    first = network(x)
    for _ in range(20):
        assert_same_bits(network(x), first)


@pytest.mark.parametrize("aggregation", ["sum", "mean", "max", "min", "maxabs", "median"])
@pytest.mark.parametrize("samples", [1, 9])
def test_a_node_may_read_600011_links(aggregation: str, samples: int) -> None:
    count = 600_011
    population = Population(
        num_inputs=count,
        num_outputs=1,
        node_start=np.array([0, 1]),
        node_key=np.array([0]),
        bias=np.zeros(1),
        response=np.ones(1),
        activation=np.array([evonet.functions.registry.activation_id("identity")], np.uint8),
        aggregation=np.array([evonet.functions.registry.aggregation_id(aggregation)], np.uint8),
        time_constant=np.ones(1),
        conn_start=np.array([0, count]),
        innovation=np.arange(count),
        source=-1 - np.arange(count),
        target=np.zeros(count, np.int64),
        weight=np.random.default_rng(0).normal(size=count),
        enabled=np.ones(count, np.bool_),
        rank=np.arange(count, dtype=np.int32),
    )
    x = np.random.default_rng(samples).normal(size=(samples, count))
    terms = x * population.weight
    left_fold = np.cumsum(terms, axis=1)[:, -1]
    expected = {
        "sum": left_fold,
        "mean": left_fold / count,
        "max": terms.max(axis=1),
        "min": terms.min(axis=1),
        "maxabs": np.take_along_axis(terms, np.abs(terms).argmax(axis=1)[:, None], 1)[:, 0],
        "median": np.median(terms, axis=1),
    }[aggregation]
    assert_same_bits(evonet.compile(population)(x)[0, :, 0], expected)


def test_a_slice_of_the_campaign_for_equal_bits_finds_no_mismatch() -> None:
    report = forward_campaign.run_bits(networks=158, seed=2, chunk=22, max_hidden=20)
    assert report.networks == 158
    assert len(report.pairs) == len(ACTIVATIONS) * len(AGGREGATIONS)
    assert report.mismatches == 0, str(report)


# ---- neat-python --------------------------------------------------------------------------------


def test_a_slice_of_the_campaign_against_neat_python_finds_no_mismatch() -> None:
    report = forward_campaign.run_neat(networks=450, seed=2, chunk=50)
    assert report.networks == 450
    assert report.cyclic > 10
    assert len(report.worst_ulp) == len(ACTIVATIONS)
    assert report.mismatches == 0, str(report)


def test_the_campaigns_see_a_single_wrong_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Network.__call__

    def off_by_one_ulp(self: Network, x: Any, out: Any = "host") -> Any:
        y = call(self, x, out)
        if self.backend == "cpu" and y.size:
            y.reshape(-1)[0] = np.nextafter(y.flat[0], np.inf, dtype=y.dtype)
        return y

    monkeypatch.setattr(Network, "__call__", off_by_one_ulp)
    assert forward_campaign.run_bits(networks=40, seed=3, chunk=10, max_hidden=5).mismatches > 0
    assert forward_campaign.run_neat(networks=40, seed=3, chunk=10).mismatches > 0


@pytest.mark.parametrize("feed_forward", [True, False])
def test_whole_networks_come_close_to_neat_python(feed_forward: bool) -> None:
    config = strategies.neat_config(
        3, 2, num_hidden=2, feed_forward=feed_forward, activations="sigmoid tanh gauss sin"
    )
    genomes = strategies.random_neat_genomes(config, 25, num_mutations=12)
    x = np.random.default_rng(0).normal(size=(10, 3))
    network = evonet.compile(Population.from_neat(genomes, config), on_cycle="zero")
    nets = [neat.nn.FeedForwardNetwork.create(genome, config) for _, genome in genomes]
    expected = np.array([[net.activate(row) for row in x.tolist()] for net in nets])
    assert network.dtype == np.float64
    np.testing.assert_allclose(network(x), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_outputs_on_or_behind_a_cycle_stay_zero(backend: str) -> None:
    links = [(0, 0, 1.0), (0, 1, 1.0), (-1, 2, 1.0)]
    nodes = [(o, 5.0, 1.0, "identity") for o in range(3)]
    network = evonet.compile(
        Population.from_genes(1, 3, [(nodes, links)]), backend=backend, on_cycle="zero"
    )
    y = network([[1.0], [2.0]])
    assert_same_bits(y, np.array([[[0, 0, 6], [0, 0, 7]]], np.float32))


# ---- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("genomes", [0, 1, 3])
@pytest.mark.parametrize("outputs", [0, 2])
@pytest.mark.parametrize("inputs", [0, 2])
@pytest.mark.parametrize("samples", [0, 1, 7])
def test_outputs_have_a_place_for_every_genome_sample_and_output(
    backend: str, dtype: Any, genomes: int, outputs: int, inputs: int, samples: int
) -> None:
    genome = ([*range(outputs), 9], [(9, o, 1.0) for o in range(outputs)])
    population = Population.from_genes(inputs, outputs, [genome] * genomes, dtype)
    network = evonet.compile(population, backend=backend)
    for shape in ((samples, inputs), (genomes, samples, inputs)):
        y = network(np.zeros(shape, dtype))
        assert (y.shape, y.dtype) == ((genomes, samples, outputs), dtype)
        assert len(np.unique(y)) == min(y.size, 1)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_network_without_inputs_computes_its_biases(backend: str) -> None:
    population = Population.from_genes(0, 1, [([(0, 0.25, 1.0, "identity")], [])])
    y = evonet.compile(population, backend=backend)(np.zeros((5, 0)))
    assert_same_bits(y, np.full((1, 5, 1), 0.25, np.float32))


def strided(x: np.ndarray) -> np.ndarray:
    wide = np.full((2 * x.shape[0], 3 * x.shape[1]), np.nan, x.dtype)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def misaligned(x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(np.asfortranarray, id="fortran"),
        pytest.param(strided, id="strided"),
        pytest.param(misaligned, id="misaligned"),
        pytest.param(lambda x: x[::-1].copy()[::-1], id="reversed"),
        pytest.param(lambda x: x.tolist(), id="list"),
        pytest.param(lambda x: tuple(map(tuple, x.tolist())), id="tuples"),
        pytest.param(lambda x: x.astype(np.float64), id="float64"),
        pytest.param(lambda x: x.astype(np.longdouble), id="longdouble"),
        pytest.param(lambda x: x.astype(np.float16), id="float16"),
        pytest.param(lambda x: x.astype(x.dtype.newbyteorder()), id="swapped"),
        pytest.param(lambda x: x.astype(np.int8), id="int8"),
        pytest.param(lambda x: x.astype(np.uint64), id="uint64"),
        pytest.param(lambda x: np.ma.array(x), id="masked"),
        pytest.param(lambda x: memoryview(x), id="memoryview"),
    ],
)
def test_samples_may_come_in_any_layout_and_number_type(change: Any, backend: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, (11, 2)).astype(np.float32)
    network = small_network(backend=backend)
    assert_same_bits(network(change(x)), network(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_truth_values_are_zeros_and_ones(dtype: Any) -> None:
    network = small_network(dtype)
    x = np.array([[True, False], [False, False], [True, True]])
    assert_same_bits(network(x), network(x.astype(dtype)))


def test_samples_stay_as_they_are_and_may_be_read_only() -> None:
    x = mixed_samples((131, 3), np.float32)
    before = x.tobytes()
    assert not x.flags.writeable
    evonet.compile(mixed_population(60, np.float32), on_cycle="zero")(x)
    assert x.tobytes() == before


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_results_are_new_arrays_that_nobody_else_holds(backend: str) -> None:
    network = small_network(backend=backend)
    x = np.ones((4, 2), np.float32)
    first, second = network(x), network(x)
    assert first.flags.owndata
    assert first.flags.writeable
    assert first.flags.c_contiguous
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, x)
    expected = second.copy()
    first[...] = np.nan
    x[...] = 0
    assert_same_bits(second, expected)
    assert_same_bits(network(np.ones((4, 2), np.float32)), expected)


def test_a_network_outlives_everything_it_was_made_of() -> None:
    network = small_network()
    expected = network(np.ones((4, 2), np.float32))
    forward = network._evaluate
    del network
    junk = [np.full(1000, np.nan, np.float32) for _ in range(100)]
    assert_same_bits(forward(np.ones((4, 2), np.float32)), expected)
    del junk


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(
    ("x", "says"),
    [
        (np.zeros((4, 3)), r"x must have shape \[B, 2\] or \[3, B, 2\], found \[4, 3\]\."),
        (np.zeros((3, 4, 1)), r"found \[3, 4, 1\]\."),
        (np.zeros((2, 4, 2)), r"found \[2, 4, 2\]\."),
        (np.zeros((1, 4, 2)), r"found \[1, 4, 2\]\."),
        (np.zeros((0, 4, 2)), r"found \[0, 4, 2\]\."),
        (np.zeros((1, 3, 4, 2)), r"found \[1, 3, 4, 2\]\."),
        (np.zeros(2), r"found \[2\]\. For a single sample write network\(x\[None\]\)\."),
        (np.zeros(3), r"found \[3\]\.$"),
        (1.5, r"found \[\]\."),
        ([], r"found \[0\]\."),
        ([[1.0, 2.0], [3.0]], "x must be an array of real numbers: .*inhomogeneous"),
        ([["1", "2"]], "x must be an array of real numbers, found <U1"),
        ("12", "x must be an array of real numbers, found <U2"),
        ([[1j, 2.0]], "x must be an array of real numbers, found complex128"),
        (np.zeros((4, 2), np.complex64), "found complex64"),
        ([[None, 1.0]], "x must be an array of real numbers, found object"),
        (None, "x must be an array of real numbers, found object"),
        ([[10**400, 1]], "x must be an array of real numbers, found object"),
        (np.zeros((4, 2), "M8[s]"), "found datetime64"),
        (np.zeros((4, 2), "f4,f4"), "x must be an array of real numbers, found "),
    ],
)
def test_what_is_not_a_batch_of_samples_is_refused(x: Any, says: str, backend: str) -> None:
    with pytest.raises(ShapeError, match=says):
        small_network(backend=backend)(x)


# ---- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"kind": "feed_forward"}, OptionError, 'kind=.* Did you mean "feedforward"'),
        ({"kind": None}, OptionError, "kind=None is not a choice"),
        ({"backend": "cpus"}, OptionError, 'backend=.* Did you mean "cpu"'),
        ({"backend": "tpu9000"}, OptionError, "Allowed: auto, cpu, cuda, reference"),
        ({"backend": None}, OptionError, "backend=None is not a choice"),
        ({"mapping": "level"}, OptionError, 'mapping=.* Did you mean "levels"'),
        ({"on_cycle": "zeros"}, OptionError, 'on_cycle=.* Did you mean "zero"'),
        ({"threads": -1}, OptionError, "threads=-1 must be a whole number"),
        ({"threads": 1.0}, OptionError, "threads=1.0 must be a whole number"),
        ({"threads": True}, OptionError, "threads=True must be a whole number"),
        ({"threads": None}, OptionError, "threads=None must be a whole number"),
        ({"threads": 2**31}, OptionError, "threads=2147483648 must be a whole number"),
        ({"dtype": np.float16}, ShapeError, "float16.* Use float32 or float64"),
        ({"dtype": "int32"}, ShapeError, "int32.* Use float32 or float64"),
        ({"dtype": "nonsense"}, ShapeError, "nonsense.* Use float32 or float64"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        small_network(**options)


def test_only_populations_are_compiled() -> None:
    with pytest.raises(OptionError, match=r"found list\. .*Population.from_neat"):
        evonet.compile([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["cpu", "reference", "auto"])
def test_a_cycle_is_an_error_unless_asked_for(backend: str) -> None:
    population = Population.from_genes(1, 1, [([0], []), ([0], [(0, 0, 1.0)])])
    with pytest.raises(CyclicGenomeError, match="genome 1: the nodes 0 -> 0") as caught:
        evonet.compile(population, backend=backend)
    assert caught.value.genome == 1


def test_a_gene_too_large_for_float32_is_named() -> None:
    population = Population.from_genes(1, 1, [([0], [(-1, 0, 1e300)])], np.float64)
    with pytest.raises(GenomeError, match="genome 0: connection"):
        evonet.compile(population, dtype=np.float32)


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("devise", 'Did you mean "device"'),
        (None, 'out must be "host" or "device", found NoneType'),
        (np.zeros((3, 1, 1), np.float32), "found ndarray. Results are always new arrays"),
    ],
)
def test_a_wrong_out_is_refused(out: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        small_network()(np.zeros((1, 2)), out=out)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_device_of_a_processor_is_its_own_memory(backend: str) -> None:
    network = small_network(backend=backend)
    y = network(np.ones((4, 2)), out="device")
    assert isinstance(y, np.ndarray)
    assert_same_bits(y, network(np.ones((4, 2)), out="host"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_another_type_gives_the_network_of_the_rounded_population(dtype: Any) -> None:
    population = mixed_population(60, np.float64)
    x = mixed_samples((33, 3), dtype)
    expected = evonet.compile(population.astype(dtype), on_cycle="zero")
    found = evonet.compile(population, dtype=dtype, on_cycle="zero")
    assert found.dtype == dtype
    assert_same_bits(found(x), expected(x))


def test_threads_may_be_numpy_numbers_and_more_than_there_is_work() -> None:
    expected = small_network(threads=1)(np.ones((4, 2)))
    assert_same_bits(small_network(threads=np.int64(2))(np.ones((4, 2))), expected)
    assert_same_bits(small_network(threads=4096)(np.ones((4, 2))), expected)


def test_a_network_tells_what_it_is() -> None:
    network = small_network(np.float64, backend="cpu")
    assert (network.kind, network.backend) == ("feedforward", "cpu")
    assert (network.num_genomes, network.num_inputs, network.num_outputs) == (3, 2, 1)
    assert len(network) == 3
    assert network.dtype == np.float64
    assert repr(network) == f"Network(feedforward, backend='cpu', {network.schedule!r})"
    assert network.reset() is None
    assert network.schedule.analyze().work.shape == (3,)


def test_auto_is_the_compiled_backend_where_it_exists_and_no_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EVONET_BACKEND")
    monkeypatch.setattr("evonet.backends.cuda.discovery.has_cupy", lambda: False)
    assert small_network().backend == "cpu"
    assert resolve_backend("auto").name == "cpu"
    assert small_network(backend="reference").backend == "reference"


def test_an_instruction_set_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVONET_SIMD", "v9000")
    with pytest.raises(OptionError, match=r"EVONET_SIMD='v9000' is not a choice.*baseline"):
        small_network()
    monkeypatch.setenv("EVONET_SIMD", "")
    assert small_network().backend == "cpu"


def test_without_the_extension_the_compiled_backend_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evonet.installation._find", lambda: None)
    with pytest.raises(BackendError, match='backend="cpu" needs the compiled extension'):
        small_network(backend="cpu")


# ---- threads, processes, signals ----------------------------------------------------------------


def test_python_threads_may_call_one_network_at_the_same_time() -> None:
    x, expected = mixed_samples((131, 3), np.float32), expected_outputs(250, (131, 3), np.float32)
    population = mixed_population(250, np.float32)
    networks = [evonet.compile(population, threads=n, on_cycle="zero") for n in (3, 2)]
    wrong: list[str] = []

    def call(number: int) -> None:
        for turn in range(12):
            begin = (17 * number + 5 * turn) % 100
            network = networks[(number + turn) % 2]
            found = network(x[begin : begin + 31])
            build_schedule(population[:50], on_cycle="zero", threads=2)
            if found.tobytes() != expected[:, begin : begin + 31].tobytes():
                wrong.append(f"thread {number}, turn {turn}")

    workers = [threading.Thread(target=call, args=(n,)) for n in range(5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


FORK = """
    import os, sys
    import numpy as np
    import evonet

    population = evonet.Population.random(
        500, 4, 2, num_nodes=30, num_connections=90, activations=("tanh",), seed=1
    )
    network = evonet.compile(population, threads=3)
    x = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    expected = network(x).tobytes()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_the_network_of_its_parent() -> None:
    script = (
        FORK
        + """
    def num_threads():
        return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 3

    assert num_threads() >= 3
    child = os.fork()
    if child == 0:
        same = network(x).tobytes() == expected
        same &= num_threads() == 3  # its own: threads do not survive a fork
        same &= evonet.compile(population, threads=2)(x).tobytes() == expected
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if network(x).tobytes() == expected else 1)
        same &= os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if same else 1)
    assert network(x).tobytes() == expected
    assert os.waitpid(child, 0)[1] == 0
    assert network(x).tobytes() == expected
    print("done")
    """
    )
    assert run_script(script, PYTHONWARNINGS="ignore").endswith("done")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_worker_processes_use_the_network_of_their_parent() -> None:
    script = (
        FORK
        + """
    import multiprocessing, threading

    def work(number):
        return network(x).tobytes() == expected

    # The pool of threads is at work in the parent while it forks.
    stop = threading.Event()
    def keep_busy():
        while not stop.is_set():
            network(x)
    busy = threading.Thread(target=keep_busy)
    busy.start()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(8)) == [True] * 8
    stop.set()
    busy.join()
    assert network(x).tobytes() == expected
    print("done")
    """
    )
    assert run_script(script, PYTHONWARNINGS="ignore").endswith("done")


INTERRUPT = """
    import os, signal, threading, time
    import numpy as np
    import evonet
    from evonet.installation import require_native
    from evonet.schedule import build_schedule

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

    def press_during(call, presses):
        # Presses Ctrl-C so many times while the call runs.
        running = threading.Event()
        def press():
            running.wait()
            for _ in range(presses):
                time.sleep(0.03)
                if not running.is_set():
                    break
                os.kill(os.getpid(), signal.SIGINT)
        finger = threading.Thread(target=press)
        finger.start()
        try:
            running.set()
            call()
        finally:
            running.clear()
            finger.join()

    def random_population(genomes, nodes, links, aggregation="sum"):
        return evonet.Population.random(
            genomes, 4, 1, num_nodes=nodes, num_connections=links, seed=1,
            aggregations=(aggregation,),
        )

    small = evonet.compile(random_population(2000, 30, 90), threads=3)
    samples = np.ones((64, 4), np.float32)
    expected = small(samples).tobytes()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "sizes",
    ["200, 300, 3000", "1, 20_000, 400_000", "1, 20_000, 400_000, 'median'"],
    ids=["many", "one", "median"],
)
def test_ctrl_c_stops_an_evaluation_halfway_and_the_next_one_works(
    sizes: str, threads: int
) -> None:
    # Uninterrupted, the call would fill all of y in many seconds.
    script = f"""
    schedule = build_schedule(random_population({sizes}))
    kernel = require_native().Forward32(schedule, {threads}, "baseline")
    num_samples = 40_000_000_000 // schedule.num_edges
    x = np.ones((num_samples, 4), np.float32)
    y = np.empty((schedule.num_genomes, num_samples, 1), np.float32)
    for _ in range(3):
        y[...] = -12345
        try:
            press_during(lambda: kernel(x, y), 1)
        except KeyboardInterrupt:
            assert (y == -12345).any(), "it went on to the end"
        else:
            raise AssertionError("Ctrl-C was not met")
        assert small(samples).tobytes() == expected
    print("done")
    """
    assert run_script(INTERRUPT + script).endswith("done")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("sizes", ["10_000, 50, 200", "1, 100_000, 2_000_000"], ids=["many", "one"])
def test_ctrl_c_stops_a_compilation_and_the_next_one_works(sizes: str) -> None:
    script = f"""
    population = random_population({sizes})
    schedule = build_schedule(population)
    for threads in (1, 3):
        try:
            press_during(lambda: build_schedule(population, threads=threads), 1)
        except KeyboardInterrupt:
            pass
        assert build_schedule(population, threads=threads) == schedule
    assert small(samples).tobytes() == expected
    print("done")
    """
    assert run_script(INTERRUPT + script).endswith("done")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize(
    "setup",
    [
        """
    network = evonet.compile(random_population(1000, 50, 200), threads=3)
    x = np.ones((1000, 4), np.float32)
    call = lambda: network(x)
        """,
        """
    network = evonet.compile(random_population(1, 10_000, 100_000, "median"), threads=1)
    x = np.ones((500, 4), np.float32)
    call = lambda: network(x)
        """,
        """
    population = random_population(1, 200_000, 3_000_000)
    call = lambda: build_schedule(population, threads=2).weight
        """,
    ],
    ids=["genomes", "genome", "compilation"],
)
def test_signal_handlers_run_during_a_call_and_may_let_it_finish(setup: str) -> None:
    # All signals of a call that never looks up would be handled once, after its end.
    script = """
    result = call().tobytes()
    handled, inside = [], []
    def handler(*_):
        handled.append(True)
        if len(handled) == 1:  # a handler may use networks itself
            inside.append(small(samples).tobytes() == expected)
    signal.signal(signal.SIGINT, handler)
    again = []
    press_during(lambda: again.append(call().tobytes()), 1000)
    assert again == [result]
    assert len(handled) > 1 and inside == [True], (handled, inside)
    print("done")
    """
    assert run_script(INTERRUPT + setup + script, EVONET_SIMD="baseline").endswith("done")


def test_the_campaign_script_tells_its_result_and_exit_code() -> None:
    for campaign in ("bits", "neat"):
        done = subprocess.run(
            [sys.executable, "-m", forward_campaign.__name__, campaign, "--networks", "12"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert f"{campaign}: 12 float" in done.stdout
        assert "mismatches 0" in done.stdout


# ---- parts of a population -----------------------------------------------------------------------


def test_genomes_are_numbered_from_0_unless_somebody_splits_the_population() -> None:
    network = small_network()
    assert network.genome_index.dtype == np.int64
    assert network.genome_index.tolist() == list(range(len(network)))
    part = compile_with(
        mixed_population(9, np.float32)[4:7], Dynamics(), genome_index=[4, 5, 6], on_cycle="zero"
    )
    assert part.genome_index.dtype == np.int64
    assert part.genome_index.tolist() == [4, 5, 6]


@pytest.mark.parametrize("index", [[0, 1], [[0, 1, 2]], [0.0, 1.0, 2.0], 3, ["a", "b", "c"]])
def test_a_wrong_genome_index_is_refused(index: Any) -> None:
    with pytest.raises(ShapeError, match="genome_index must be 3 whole numbers, one per genome"):
        evonet.Network(small_network().schedule, "cpu", 1, genome_index=index)


@pytest.mark.parametrize("dynamics", [Dynamics(), Dynamics.of("ctrnn", time_step=0.2, steps=3)])
def test_dynamics_compile_as_their_options_do(dynamics: Dynamics) -> None:
    population = mixed_population(9, np.float32)
    found = compile_with(population, dynamics, on_cycle="zero")
    expected = evonet.compile(population, on_cycle="zero", **dynamics.options())
    assert found.schedule == expected.schedule
    x = np.ones((5, population.num_inputs), np.float32)
    assert_same_bits(found(x), expected(x))
