"""The GPU backend over imaginary GPUs: equal bits, memory, several GPUs, arrays of others."""

from __future__ import annotations

import functools
import gc
import itertools
import multiprocessing
import random
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import evonet
from evonet import (
    CompileError,
    DeviceError,
    DeviceMemoryError,
    OptionError,
    Population,
    ShapeError,
)
from evonet.backends.cuda import backend as cuda_backend
from evonet.backends.cuda.device import Device
from evonet.backends.cuda.layout import packed_nbytes
from evonet.backends.cuda.packed import HostGenomes
from evonet.functions.registry import LOSSES
from evonet.installation import resource_folder
from evonet.schedule import build_schedule
from evonet.tasks import xor
from tests import cupy_stand_in
from tests.cupy_stand_in import Machine
from tests.support import strategies
from tests.support.random_networks import random_genes, random_samples

Lend = Callable[..., Machine]
DTYPES = (np.float32, np.float64)
MAPPINGS = ("levels", "samples")


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    kind = f"u{expected.itemsize}"
    np.testing.assert_array_equal(found.view(kind), expected.view(kind))


@functools.cache
def population(count: int = 40, dtype: Any = np.float32) -> Population:
    """Genomes of 3 inputs and 2 outputs with all functions, some with cycles."""
    rng = random.Random("cuda")
    genes = [
        random_genes(rng, 3, 2, rng.randint(0, 30), cyclic=rng.random() < 0.1) for _ in range(count)
    ]
    return Population.from_genes(3, 2, genes, dtype)


def samples(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return random_samples(random.Random(str(shape)), shape, dtype)


def on(backend: str, genomes: Population | None = None, **options: Any) -> evonet.Network:
    chosen = population() if genomes is None else genomes
    return evonet.compile(chosen, backend=backend, on_cycle="zero", **options)  # type: ignore[arg-type]


def uploaded(x: np.ndarray) -> Any:
    """A CuPy array of the stand-in that is installed."""
    import cupy

    return cupy.asarray(x)


# ---- equal bits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_the_gpu_has_the_bits_of_the_processor(
    dtype: Any, mapping: Any, own: bool, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    genomes = population(dtype=dtype)
    cpu, gpu = on("cpu", genomes), on("cuda", genomes, mapping=mapping)
    assert gpu.backend == "cuda"
    for size in (1, 5, 33, 130):
        x = samples(*((40, size, 3) if own else (size, 3)), dtype=dtype)
        assert_same_bits(gpu(x), cpu(x))
    assert machine.launches[f"forward_{mapping}"] == 4


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_the_checker_finds_nothing_wrong(mapping: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.mode = "checked"
    x, targets = samples(10, 6), samples(5, 2)
    network = on("cuda", mapping=mapping)
    given = uploaded(x.astype(np.float64))[::2, ::2]
    assert_same_bits(network(given), on("cpu")(x[::2, ::2]))
    assert_same_bits(network.loss(given, targets), on("cpu").loss(x[::2, ::2], targets))
    assert {"gather_samples", f"forward_{mapping}", "loss"} == set(machine.launches)


@pytest.mark.parametrize("order", ["reverse", "random"])
def test_the_order_of_threads_does_not_matter(order: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    machine.order = order
    x = samples(9, 3)
    assert_same_bits(on("cuda")(x), on("cpu")(x))


def test_any_population_has_the_bits_of_the_processor(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    on("cuda")(samples(1, 3))  # Hypothesis draws constants of loaded modules: load all of them

    @settings(max_examples=60)
    @given(strategies.populations())
    def check(genomes: Population) -> None:
        for shape in ((0,), (1,), (6,), (len(genomes), 2)):
            x = samples(*shape, genomes.num_inputs, dtype=genomes.dtype)
            assert_same_bits(on("cuda", genomes)(x), on("cpu", genomes)(x))

    check()


def test_genomes_that_exceed_shared_memory_have_the_bits_of_the_processor(
    imaginary_gpus: Lend,
) -> None:
    imaginary_gpus()
    wide = Population.random(2, 3, 2, num_nodes=30_000, num_connections=40_000, seed=1)
    x = samples(3, 3)
    expected = on("cpu", wide)(x)
    for mapping in MAPPINGS:
        assert_same_bits(on("cuda", wide, mapping=mapping)(x), expected)


def test_evolution_on_the_gpu_gives_the_run_of_the_processor(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    config = evonet.Config.load(resource_folder("configs") / "xor.toml")
    runs = {}
    for backend in ("cpu", "cuda"):
        fitness: list[tuple[float, float]] = []
        result = evonet.evolve(
            xor(),
            config,
            generations=12,
            seed=3,
            backend=backend,
            callbacks=[lambda r, seen=fitness: seen.append((r.best, r.mean))],
        )
        runs[backend] = fitness, result.algorithm.state.fitness, result.algorithm.state.population
    assert runs["cpu"][0] == runs["cuda"][0]
    assert_same_bits(runs["cuda"][1], runs["cpu"][1])
    assert runs["cpu"][2] == runs["cuda"][2]
    assert machine.launches.total() >= 12


def test_ask_and_tell_on_the_gpu(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    config = evonet.Config.load(resource_folder("configs") / "xor.toml")
    champions = []
    for backend in ("cpu", "cuda"):
        neat = evonet.NEAT(config, seed=1, num_inputs=2, num_outputs=1, backend=backend)
        for _ in range(3):
            network = evonet.compile(neat.ask(), backend=neat.backend)  # type: ignore[arg-type]
            assert network.backend == backend
            neat.tell(xor().evaluate(network, seed=0))
        champions.append(neat.state.population)
    assert champions[0] == champions[1]


# ---- memory -------------------------------------------------------------------------------------


def test_a_network_is_uploaded_once(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network = on("cuda")
    before = machine.num_allocations
    network(samples(8, 3))
    first = machine.num_allocations - before
    network(samples(8, 3))
    second = machine.num_allocations - before - first
    assert second == 2  # samples and outputs
    assert first > second


def test_a_network_that_is_gone_leaves_no_memory_in_use(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network = on("cuda")
    network(samples(8, 3))
    assert machine.used[0] > 0
    gc.collect()
    gc.disable()  # a reference cycle would keep the memory of many generations
    try:
        del network
        assert machine.used == [0]
    finally:
        gc.enable()


@pytest.mark.parametrize("out", ["host", "device"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_one_failed_allocation_anywhere_changes_nothing(
    out: Any, own: bool, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    x = samples(*((40, 9, 3) if own else (9, 3)))
    expected = on("cpu")(x)
    network = on("cuda")
    begin = machine.num_allocations
    network(x, out=out)
    num_allocations = machine.num_allocations - begin
    assert num_allocations >= 9
    for n in range(1, num_allocations + 1):
        network = on("cuda")
        machine.fail_at = {machine.num_allocations + n}
        found = network(x, out=out)
        assert machine.num_allocations > max(machine.fail_at)
        assert_same_bits(found if out == "host" else found.get(), expected)


@pytest.mark.parametrize("out", ["host", "device"])
def test_memory_that_runs_out_for_good_is_an_error_and_nothing_leaks(
    out: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    x = samples(9, 3)
    expected = on("cpu")(x)
    network = on("cuda")
    for n in range(1, 12):
        machine.fail_from = machine.num_allocations + n
        with pytest.raises(DeviceMemoryError, match="pass fewer samples at a time") as caught:
            network(x, out=out)
        assert isinstance(caught.value, MemoryError)
        del caught
        gc.collect()
        assert machine.used == [0]
        machine.fail_from = None
    found = network(x, out=out)
    assert_same_bits(found if out == "host" else found.get(), expected)


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_population_larger_than_the_memory_runs_in_pieces(
    own: bool, dtype: Any, imaginary_gpus: Lend
) -> None:
    genomes = population(dtype=dtype)
    x = samples(*((40, 65, 3) if own else (65, 3)), dtype=dtype)
    roomy = imaginary_gpus()
    on("cuda", genomes)(x)
    machine = imaginary_gpus(memory=roomy.peak[0] // 4)
    network = on("cuda", genomes)
    expected = on("cpu", genomes)(x)
    for _ in range(2):
        before = machine.launches.total()
        assert_same_bits(network(x), expected)
        assert machine.launches.total() - before >= 4
    assert machine.peak[0] <= machine.memory


def test_a_piece_that_failed_once_is_not_tried_again(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network, x = on("cuda"), samples(9, 3)
    machine.fail_at = {machine.num_allocations + 3}
    network(x)
    before = machine.launches.total()
    network(x)
    assert machine.launches.total() == before + 2
    network(x[:8])
    assert machine.launches.total() == before + 3


def test_no_more_is_packed_than_should_fit(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus(memory=60_000)
    network, packed, honest = on("cuda"), [], HostGenomes.send

    def watch(self: HostGenomes, device: Device, begin: int, end: int) -> Any:
        packed.append(end - begin)
        return honest(self, device, begin, end)

    monkeypatch.setattr(HostGenomes, "send", watch)
    network(samples(500, 3))
    assert max(packed) <= 60_000 // (500 * 2 * 4)


def test_few_samples_run_whole_again_after_many_did_not_fit(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(memory=60_000)
    network = on("cuda")
    network(samples(500, 3))
    before = machine.launches.total()
    network(samples(2, 3))
    assert machine.launches.total() == before + 1


def test_what_is_uploaded_makes_room_for_many_samples(imaginary_gpus: Lend) -> None:
    upload = packed_nbytes(build_schedule(population(), on_cycle="zero"), 0, 40)
    machine = imaginary_gpus(memory=upload + 6_000)
    network, few, many = on("cuda"), samples(2, 3), samples(500, 3)
    network(few)
    assert machine.used[0] == upload
    assert many.nbytes + 500 * 2 * 4 > 6_000
    assert_same_bits(network(many), on("cpu")(many))


def test_outputs_that_do_not_fit_may_go_to_the_host(imaginary_gpus: Lend) -> None:
    imaginary_gpus(memory=60_000)
    network, x = on("cuda"), samples(500, 3)
    with pytest.raises(DeviceMemoryError, match='out="host"'):
        network(x, out="device")
    assert_same_bits(network(x), on("cpu")(x))


# ---- losses -------------------------------------------------------------------------------------

LOSS_NAMES = tuple(loss.name for loss in LOSSES)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_losses_have_the_bits_of_the_processor(loss: str, dtype: Any, imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    genomes = population(dtype=dtype)
    cpu, gpu = on("cpu", genomes), on("cuda", genomes)
    for size in (0, 1, 33, 100):
        targets = samples(size, 2, dtype=dtype)
        for x in (samples(size, 3, dtype=dtype), samples(40, size, 3, dtype=dtype)):
            assert_same_bits(gpu.loss(x, targets, loss), cpu.loss(x, targets, loss))
    assert machine.launches["loss"] == 6


def test_a_loss_and_a_call_share_one_upload(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network, x, targets = on("cuda"), samples(8, 3), samples(8, 2)
    network(x)
    before = machine.num_allocations
    network.loss(x, targets)
    assert machine.num_allocations == before + 4  # samples, outputs, targets, losses


def test_only_the_losses_leave_the_gpu(
    imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaginary_gpus()
    network = on("cuda")
    shapes, honest = [], Device.download

    def watch(device: Device, array: Any, out: np.ndarray) -> None:
        shapes.append(out.shape)
        honest(device, array, out)

    monkeypatch.setattr(Device, "download", watch)
    network.loss(samples(8, 3), samples(8, 2))
    assert shapes == [(40, 2)]


def test_one_failed_allocation_anywhere_does_not_change_a_loss(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    x, targets = samples(9, 3), samples(9, 2)
    expected = on("cpu").loss(x, targets)
    network = on("cuda")
    begin = machine.num_allocations
    network.loss(x, targets)
    for n in range(1, machine.num_allocations - begin + 1):
        network = on("cuda")
        machine.fail_at = {machine.num_allocations + n}
        assert_same_bits(network.loss(x, targets), expected)
        assert machine.num_allocations > max(machine.fail_at)


def test_targets_may_be_on_the_gpu_in_any_type(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    x, targets = samples(9, 3), np.arange(36).reshape(9, 4)
    found = on("cuda").loss(uploaded(x), uploaded(targets)[:, ::2])
    assert_same_bits(found, on("cpu").loss(x, targets[:, ::2]))
    with pytest.raises(ShapeError, match=r"targets must have shape \[9, 2\]"):
        on("cuda").loss(x, uploaded(targets))


# ---- several GPUs -------------------------------------------------------------------------------


@pytest.fixture
def two_gpus(imaginary_gpus: Lend, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 50)
    return imaginary_gpus(num_devices=2)


@pytest.mark.parametrize("out", ["host", "device"])
@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_several_gpus_have_the_bits_of_the_processor(
    out: Any, own: bool, two_gpus: Machine
) -> None:
    x = samples(*((40, 9, 3) if own else (9, 3)))
    network = on("cuda")
    for _ in range(2):
        two_gpus.log.clear()
        y = network(x, out=out)
        assert {device for _, device in two_gpus.log} == {0, 1}
        assert_same_bits(y if out == "host" else y.get(), on("cpu")(x))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("out", ["host", "device"])
def test_samples_may_be_on_any_of_several_gpus(place: int, out: Any, two_gpus: Machine) -> None:
    x = samples(9, 3)
    network = on("cuda")
    two_gpus.current = place
    given = uploaded(x.astype(np.float64))  # so that a kernel must run before others may read it
    two_gpus.current = 0
    y = network(given, out=out)
    assert_same_bits(y if out == "host" else y.get(), on("cpu")(x))


class OneAfterTheOther:
    """Threads that do not overlap, so that nobody waits by accident for another."""

    def submit(self, *work: Any) -> Future[None]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(*work)


def test_other_threads_wait_for_the_samples(
    two_gpus: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_backend, "threads_for", lambda count: OneAfterTheOther())
    x = samples(9, 3)
    y = on("cuda")(uploaded(x.astype(np.float64)))
    assert_same_bits(y, on("cpu")(x))


def test_several_gpus_share_a_loss(two_gpus: Machine) -> None:
    x, targets = samples(9, 3), samples(9, 2)
    found = on("cuda").loss(x, uploaded(targets.astype(np.float64)))
    assert_same_bits(found, on("cpu").loss(x, targets))
    assert {device for name, device in two_gpus.log if name == "loss"} == {0, 1}


def test_each_of_several_gpus_may_run_out_of_memory(two_gpus: Machine) -> None:
    x = samples(9, 3)
    expected = on("cpu")(x)
    network = on("cuda")
    begin = two_gpus.num_allocations
    network(x)
    for n in range(1, two_gpus.num_allocations - begin + 1):
        network = on("cuda")
        two_gpus.fail_at = {two_gpus.num_allocations + n}
        assert_same_bits(network(x), expected)


def test_the_current_gpu_of_cupy_is_the_first(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus(num_devices=3)
    machine.current = 2
    y = on("cuda")(samples(9, 3), out="device")
    assert y.device.id == 2


def test_work_is_split_by_the_speed_of_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_backend, "LEAST_WORK", 1)
    genomes = Population.random(300, 3, 2, num_nodes=10, num_connections=20, seed=1)
    schedule = build_schedule(genomes)
    before = cuda_backend.work_before(schedule)
    ranges = cuda_backend.split_genomes(schedule, [1, 2, 3])
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 300
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ranges))
    done = [int(before[e] - before[b]) / int(before[-1]) for b, e in ranges]
    assert done == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.01)


def test_little_work_stays_on_one_gpu() -> None:
    schedule = build_schedule(population(), on_cycle="zero")
    assert cuda_backend.split_genomes(schedule, [1, 1]) == [(0, 40)]
    assert cuda_backend.split_genomes(build_schedule(population()[:0]), [1, 1]) == [(0, 0)]


def test_fewer_genomes_than_gpus_leave_some_gpus_idle(two_gpus: Machine) -> None:
    one = population()[7:8]
    assert_same_bits(on("cuda", one)(samples(9, 3)), on("cpu", one)(samples(9, 3)))


# ---- arrays of others ---------------------------------------------------------------------------


class ForeignArray:
    """Somebody else's device array, which offers only what it is told to."""

    def __init__(self, x: np.ndarray, *offers: str) -> None:
        self._array = uploaded(x)
        self._offers = offers

    def __getattr__(self, name: str) -> Any:
        if name in self._offers:
            return getattr(self._array, name)
        raise AttributeError(name)


DLPACK = ("__dlpack__", "__dlpack_device__")


@pytest.mark.parametrize("offers", [DLPACK, ("__cuda_array_interface__",)], ids=["dlpack", "cai"])
def test_arrays_of_other_libraries_are_read_where_they_are(
    offers: Any, imaginary_gpus: Lend
) -> None:
    machine = imaginary_gpus()
    x = samples(9, 3)
    network = on("cuda")
    network(x)
    given = ForeignArray(x, *offers)
    before = machine.num_allocations
    assert_same_bits(network(given), on("cpu")(x))
    assert machine.num_allocations == before + 1  # outputs; the samples are not copied


def test_outputs_may_stay_and_be_the_samples_of_the_next_network(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    second = Population.random(40, 2, 1, num_nodes=6, num_connections=10, seed=2)
    x = samples(9, 3)
    y = on("cuda")(x, out="device")
    assert isinstance(y, cupy_stand_in.Array)
    expected = on("cpu", second)(on("cpu")(x))
    assert_same_bits(on("cuda", second)(y, out="device").get(), expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
@pytest.mark.parametrize("real", DTYPES)
def test_device_samples_of_any_number_type_are_rounded_as_numpy_rounds(
    dtype: str, real: Any, imaginary_gpus: Lend
) -> None:
    imaginary_gpus()
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 256, (16, 3 * np.dtype(dtype).itemsize), np.uint8)
    x = (bits % 2 == 1) if dtype == "?" else bits.view(dtype)
    if dtype == "f8":
        x[0] = [1e-40, -1e-45, 2.0**-149 / 2]  # become denormals of float32, or 0
    genomes = population(dtype=real)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = x.astype(real)  # infinite where float32 ends, which host samples must not be
    assert_same_bits(on("cuda", genomes)(uploaded(x)), on("cpu", genomes)(rounded))


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_device_samples_may_be_strided(own: bool, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    x = samples(*((80, 18, 6) if own else (18, 6)))
    view = x[::2, ::-2, ::2] if own else x[::-2, ::2]
    given = uploaded(x)
    given = given[::2, ::-2, ::2] if own else given[::-2, ::2]
    assert_same_bits(on("cuda")(given), on("cpu")(view))


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (np.zeros((4, 2), np.float32), r"\[B, 3\] or \[40, B, 3\], found \[4, 2\]"),
        (np.zeros(3, np.float32), r"For a single sample write network\(x\[None\]\)"),
        (np.zeros((4, 3), np.complex64), "real numbers, found complex64"),
        (np.zeros((4, 3), np.float16), r"float16.*Convert it first: x.astype\('float32'\)"),
    ],
)
def test_device_samples_that_do_not_fit_are_refused(
    x: Any, says: str, imaginary_gpus: Lend
) -> None:
    imaginary_gpus()
    with pytest.raises(ShapeError, match=says):
        on("cuda")(uploaded(x))


def test_an_array_that_its_owner_does_not_give_away_is_refused(imaginary_gpus: Lend) -> None:
    imaginary_gpus()

    class Guarded(ForeignArray):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it requires grad")

    with pytest.raises(ShapeError, match=r"Guarded on a device.*it requires grad"):
        on("cuda")(Guarded(samples(4, 3), "__dlpack_device__"))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_backends_of_the_processor_ask_for_a_copy_of_device_samples(
    backend: str, imaginary_gpus: Lend
) -> None:
    imaginary_gpus()
    with pytest.raises(ShapeError, match=r"on a GPU, and backend=.* Copy it first: x.get\(\)"):
        on(backend)(uploaded(samples(4, 3)))


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_host_arrays_that_speak_only_dlpack_are_read(backend: str, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    x = samples(4, 3)

    class Exchanged:
        __dlpack__ = staticmethod(x.__dlpack__)
        __dlpack_device__ = staticmethod(x.__dlpack_device__)

    assert_same_bits(on(backend)(Exchanged()), on("cpu")(x))


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: x[::-1], np.ndarray.tolist])
def test_host_samples_may_come_in_any_layout(layout: Any, imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    x = layout(samples(9, 3).astype(np.float64))
    assert_same_bits(on("cuda")(x), on("cpu")(x))


# ---- faults -------------------------------------------------------------------------------------


def test_a_launch_that_cuda_refuses_names_the_gpu_and_the_kernel(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network = on("cuda")
    machine.launch_fault = 700
    says = r"GPU 0 \(Imaginary GPU\) failed while launching forward_.*IllegalAddress.*evonet.doctor"
    with pytest.raises(DeviceError, match=says):
        network(samples(4, 3))


def test_a_launch_for_which_cuda_has_no_memory_counts_as_out_of_memory(
    imaginary_gpus: Lend,
) -> None:
    machine = imaginary_gpus()
    network = on("cuda")
    machine.launch_fault = 2
    with pytest.raises(DeviceMemoryError):
        network(samples(4, 3))


def test_a_kernel_that_stops_compiling_is_an_error_with_the_log(imaginary_gpus: Lend) -> None:
    machine = imaginary_gpus()
    network = on("cuda")
    machine.compile_fault = "node.h(3): error: expected a ;"
    with pytest.raises(CompileError, match="expected a ;") as caught:
        network(samples(4, 3))
    assert caught.value.log == machine.compile_fault


def test_a_forked_child_is_told_that_cuda_does_not_work_there(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    network = on("cuda")
    network(samples(4, 3))
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def child() -> None:
        try:
            network(samples(4, 3))
        except DeviceError as error:
            answers.put(str(error))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            answers.put(on("cuda").backend)
        answers.put(str(said[0].message))

    process = context.Process(target=child)
    process.start()
    process.join(60)
    assert "forked process" in answers.get()
    assert answers.get() == "cpu"
    assert "forked process" in answers.get()


def test_python_threads_may_call_one_network_at_the_same_time(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    network = on("cuda")
    batches = [samples(size, 3) for size in range(1, 9)]
    found: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        found[i] = network(batches[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, x in enumerate(batches):
        assert_same_bits(found[i], on("cpu")(x))


def test_a_mapping_that_does_not_exist_is_refused_everywhere(imaginary_gpus: Lend) -> None:
    imaginary_gpus()
    for backend in ("cpu", "cuda"):
        with pytest.raises(OptionError, match='Did you mean "levels"'):
            on(backend, mapping="level")
